"""The mechanisms of `test_pairs` once more, as bodies in a plane that share no code with what they judge.

Every rigid body has three coordinates, x and z of its mass centre and the angle about y, and every joint is a row of
constraints between them:

    M a = F + J^T lambda,   J a = -gamma

integrated by SciPy from one jump to the next: samples of a controller, and the impact of a joint that is locked. A ball
that bounces has a closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import catena as ct

GRAVITY = 9.81
LOCKED, RATE = 0.025, 50.0
FRICTION = 0.4
THROWN = {"ball": (0.01, 0.3), "puck": (0.004, 0.0)}
"""Bodies that are thrown on the floor, at 0.4 m/s along it and 0.3 m/s down: their heights [m], and restitution."""


def turn(angle: float) -> np.ndarray:
    """The rotation about y of vectors [x, z]."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def turned(angle: float) -> np.ndarray:
    """The derivative of `turn`."""
    return np.array([[-np.sin(angle), np.cos(angle)], [-np.cos(angle), -np.sin(angle)]])


class Plane:
    """Rigid bodies of a mechanism in the plane of x and z, with what the ingredients `having` let act on them; `base`
    and `slide` are functions of t that give position, velocity and acceleration of driven joints."""

    def __init__(self, m: ct.Mechanism, having: tuple[str, ...], base, slide) -> None:
        self.having, self.base, self.slide = having, base, slide
        self.names = [name for name in m.bodies if name not in ("ground", "beam", *THROWN)]
        self.at = {name: slice(3 * k, 3 * k + 3) for k, name in enumerate(self.names)}
        self.com = {name: np.asarray(m.bodies[name].com)[[0, 2]] for name in self.names}
        rows = [
            (body.mass, body.mass, np.asarray(body.inertia)[1, 1]) for body in map(m.bodies.get, self.names)
        ]
        self.mass = np.array(rows).ravel()
        self.locks = False

    def state(self, system: ct.System, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and their rates at a state of the mechanism."""
        x, rate = np.zeros(len(self.mass)), np.zeros(len(self.mass))
        for name, own in self.at.items():
            pose, twist = np.asarray(system.pose(q, name)), system.twist(q, v, name)
            angle, R = np.arctan2(pose[0, 2], pose[0, 0]), pose[:3, :3]
            arm = R @ np.array([self.com[name][0], 0.0, self.com[name][1]])
            speed = R @ twist[3:] + np.cross(R @ twist[:3], arm)
            x[own] = *(pose[:3, 3] + arm)[[0, 2]], angle
            rate[own] = *speed[[0, 2]], twist[1]
        return x, rate

    def rows(self, t: float, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The constraints J v = given, and gamma, so that J a = -gamma."""
        J, given, gamma = [], [], []

        def add(row: np.ndarray, speed: float = 0.0, rest: float = 0.0) -> None:
            J.append(row), given.append(speed), gamma.append(rest)

        def point(body: str, place, moves=(0.0, 0.0)) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Rows of the velocity of a point of a body that moves in it along its x axis, its speed and gamma."""
            own, r, (speed, acceleration) = self.at[body], np.asarray(place) - self.com[body], moves
            angle, rate, along = x[own][2], v[own][2], np.array([1.0, 0.0])
            row = np.zeros((2, len(x)))
            row[:, own.start : own.start + 2] = np.eye(2)
            row[:, own.start + 2] = turned(angle) @ r
            bent = -turn(angle) @ r * rate**2 + 2.0 * rate * speed * turned(angle) @ along
            return row, turn(angle) @ along * speed, bent + turn(angle) @ along * acceleration

        def pin(parent: str | None, place, child: str, own, moves=(0.0, 0.0)) -> None:
            rows, speed, bent = point(child, own)
            if parent is not None:
                other, drawn, more = point(parent, place, moves)
                rows, speed, bent = rows - other, speed - drawn, bent - more
            for k in range(2):
                add(rows[k], -speed[k], bent[k])

        def unit(body: str, k: int, factor: float = 1.0) -> np.ndarray:
            row = np.zeros(len(x))
            row[self.at[body].start + k] = factor
            return row

        root = None
        if "base" in self.at:
            root, (_, speed, acceleration) = "base", (float(y) for y in np.ravel(self.base(t)))
            add(unit("base", 0), speed, -acceleration), add(unit("base", 1)), add(unit("base", 2))
        pin(root, (0.0, 0.0), "link A", (0.0, 0.0))
        pin("link A", (0.0, -0.8), "link B", (0.0, 0.0))
        if self.locks:
            add(unit("link B", 2) - unit("link A", 2))
        if "bar C" in self.at:
            pin(None, (2.0, 0.0), "bar C", (0.0, 0.0))
            pin("bar C", (0.0, -0.6), "bar D", (0.0, 0.0))
            pin("bar D", (0.0, -0.7), "bar G", (0.0, 0.0))
            pin(None, (2.7, -0.1), "bar G", (0.0, -0.6))
        if "wheel" in self.at:
            add(unit("wheel", 0)), add(unit("wheel", 1))
            add(unit("link A", 2, 2.0) - unit("wheel", 2))
        if "slide" in self.at:
            place, speed, acceleration = (float(y) for y in self.slide(t))
            pin("link A", (place, 0.0), "slide", (0.0, 0.0), (speed, acceleration))
            add(unit("slide", 2) - unit("link A", 2))
        return np.array(J), np.array(given), np.array(gamma)

    def torque(self, t: float, x: np.ndarray, v: np.ndarray) -> float:
        """What controllers give at the first joint."""
        angle, rate = (float(y[self.at["link A"]][2]) for y in (x, v))
        laws = {
            "sampled controller": np.sin(9.0 * t) - 2.0 * angle,
            "law": 0.5 * np.cos(5.0 * t) - angle,
            "function": -0.3 * rate,
        }
        return sum(given for name, given in laws.items() if name in self.having)

    def forces(self, t: float, x: np.ndarray, v: np.ndarray, held: float | None) -> np.ndarray:
        """What acts on all coordinates, with a torque that is `held` at the first joint, or given now."""
        F = np.zeros(len(x))
        F[1::3] = -GRAVITY * self.mass[1::3]
        a, b = self.at["link A"].start + 2, self.at["link B"].start + 2
        F[b] -= 0.02 * (v[b] - v[a])
        F[a] += 0.02 * (v[b] - v[a]) - 0.02 * v[a] + (self.torque(t, x, v) if held is None else held)
        if "spring at a loop joint" in self.having:
            g = self.at["bar G"].start + 2
            F[g] -= 4.0 * (x[g] - 0.3)
        return F

    def acceleration(self, t: float, x: np.ndarray, v: np.ndarray, held: float | None) -> np.ndarray:
        J, _, gamma = self.rows(t, x, v)
        n, m = len(x), len(J)
        left = np.block([[np.diag(self.mass), J.T], [J, np.zeros((m, m))]])
        return np.linalg.solve(left, np.concatenate([self.forces(t, x, v, held), -gamma]))[:n]

    def end(self, x: np.ndarray, v: np.ndarray, until: float) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates and their rates after `until` seconds."""
        samples = [k / RATE for k in range(round(until * RATE) + 1) if "sampled controller" in self.having]
        jumps = [LOCKED] if "structure change" in self.having else []
        # Controllers that are added to a sampled one are asked when that is.
        held, self.locks = None, False
        times = sorted({0.0, *(t for t in (*samples, *jumps) if t < until), until})
        for start, stop in zip(times[:-1], times[1:], strict=True):
            if start in jumps:
                self.locks = True
                J, given, _ = self.rows(start, x, v)
                W = J / self.mass
                v = v - W.T @ np.linalg.solve(W @ J.T, J @ v - given)
            # A controller that is made for another structure is asked there too.
            if start in samples or (samples and start in jumps):
                held = self.torque(start, x, v)

            def rate(t: float, y: np.ndarray, held: float | None = held) -> np.ndarray:
                x, v = np.split(y, 2)
                return np.concatenate([v, self.acceleration(t, x, v, held)])

            y = np.concatenate([x, v])
            x, v = np.split(solve_ivp(rate, (start, stop), y, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1], 2)
        return x, v


def bounced(height: float, restitution: float, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a body that is thrown on the floor is after `until` seconds, [x, z], and its velocity: it falls, bounces
    and rubs, and then slides."""
    t, x, z, u, w = 0.0, 0.0, height, 0.4, -0.3
    while True:
        flight = (w + np.sqrt(w * w + 2.0 * GRAVITY * z)) / GRAVITY
        if t + flight >= until:
            left = until - t
            return np.array([x + u * left, z + w * left - 0.5 * GRAVITY * left**2]), np.array(
                [u, w - GRAVITY * left]
            )
        t, x, z = t + flight, x + u * flight, 0.0
        hit = GRAVITY * flight - w
        u, w = max(0.0, u - FRICTION * (1.0 + restitution) * hit), restitution * hit
        if w == 0.0:
            slides = min(until - t, u / (FRICTION * GRAVITY))
            x += u * slides - 0.5 * FRICTION * GRAVITY * slides**2
            return np.array([x, 0.0]), np.array([u - FRICTION * GRAVITY * slides, 0.0])
