"""An engine with flywheel and gas force: its speed and its bearing forces against an integration by hand.

Usage: python examples/25_engine.py [folder for the pictures; default: out/25_engine]
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
# Crank radius, rod length and where its mass centre is from the crank pin [m]; masses [kg] and inertias [kg m^2].
R, L, A = 0.04, 0.14, 0.04
CRANK, ROD, PISTON = 1.2, 0.4, 0.3
I_CRANK, I_ROD = 0.03, 1.2e-3
LOAD = 8.0


def gas(angle: np.ndarray) -> np.ndarray:
    """The force of the gas on the piston towards the crank [N], over two turns of a four-stroke engine."""
    return 9e3 * np.exp(-(((angle - 0.35 + 2 * np.pi) % (4 * np.pi) - 2 * np.pi) ** 2) / 0.18)


def engine() -> ct.Mechanism:
    """A crank with a flywheel, a rod and a piston that slides along x; nobody says which joint closes the loop."""
    m = ct.Mechanism("engine", gravity=(0, 0, 0))
    m.add_body("crank", CRANK, (0, 0, 0), (0.02, I_CRANK, 0.02))
    m.add_body("rod", ROD, (A, 0, 0), (1e-5, I_ROD, I_ROD))
    m.add_body("piston", PISTON, (0, 0, 0), 1e-4)
    y = ct.Revolute("y")
    m.add_joint("main bearing", "ground", "crank", y)
    m.add_joint("crank pin", "crank", "rod", y, in_parent=ct.Pose(p=(R, 0, 0)))
    m.add_joint("piston pin", "rod", "piston", y, in_parent=ct.Pose(p=(L, 0, 0)))
    m.add_joint("cylinder", "ground", "piston", ct.Prismatic("x"), in_parent=ct.Pose(p=(R + L, 0, 0)))
    return m


def by_hand(angle: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The acceleration of the crank, and the force (..., 3) of its main bearing, from one coordinate.

    The crank turns about y, so that a positive angle lowers its pin; the rod's angle b has L sin b = -R sin(angle).
    """
    s, c = np.sin(angle), np.cos(angle)
    sin_b = -R * s / L
    cos_b = np.sqrt(1.0 - sin_b**2)
    b1 = -R * c / (L * cos_b)
    b2 = (R * s / L + sin_b * b1**2) / cos_b
    # Positions by the angle: of the piston, and of the rod's mass centre, once and twice.
    pin, pin2 = np.stack([-R * s, -R * c], axis=-1), np.stack([-R * c, R * s], axis=-1)

    def along(d: float) -> tuple[np.ndarray, np.ndarray]:
        first = pin + d * np.stack([-sin_b * b1, -cos_b * b1], axis=-1)
        second = pin2 + d * np.stack([-cos_b * b1**2 - sin_b * b2, sin_b * b1**2 - cos_b * b2], axis=-1)
        return first, second

    (x1, x2), (g1, g2) = along(L), along(A)
    x1, x2 = x1[..., 0], x2[..., 0]
    inertia = I_CRANK + ROD * np.sum(g1 * g1, axis=-1) + I_ROD * b1**2 + PISTON * x1**2
    bent = ROD * np.sum(g1 * g2, axis=-1) + I_ROD * b1 * b2 + PISTON * x1 * x2
    force = gas(angle)
    acceleration = (-force * x1 - LOAD - bent * speed**2) / inertia
    # Newton for piston and rod; moments about the rod's mass centre give the part of the pin's force across the slide.
    a_x = x1 * acceleration + x2 * speed**2
    a_g = g1 * acceleration[..., None] + g2 * speed[..., None] ** 2
    a_b = b1 * acceleration + b2 * speed**2
    on_piston = PISTON * a_x + force
    near, far = A * np.stack([cos_b, -sin_b], axis=-1), (L - A) * np.stack([cos_b, -sin_b], axis=-1)
    # B = ROD a_g + P at the crank pin, -P at the piston pin; a turn about y has the moment z f_x - x f_z.
    known = -near[..., 1] * (ROD * a_g[..., 0] + on_piston) + near[..., 0] * ROD * a_g[..., 1]
    known = known - far[..., 1] * on_piston
    across = (I_ROD * a_b - known) / (near[..., 0] + far[..., 0])
    bearing = ROD * a_g + np.stack([on_piston, across], axis=-1)
    return acceleration, np.stack([bearing[..., 0], 0.0 * across, bearing[..., 1]], axis=-1)


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = engine().system()
    print(f"planned with the coordinates of {', '.join(s.joints)}; {', '.join(s.loops)} closes the loop")

    # Forces by name, whatever the plan cut: the gas at the cylinder, the load at the crank.
    def forces(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        return {"cylinder": -gas(s.joint_position(q, "main bearing")), "main bearing": np.array([-LOAD])}

    start = {"main bearing": 0.3}
    times = np.linspace(0.0, 0.25, 501)
    run = ct.simulate(s, start, {"main bearing": 150.0}, duration=0.25, control=forces, samples=times)
    known = solve_ivp(
        lambda t, y: [y[1], float(by_hand(y[0], y[1])[0])],
        (0.0, 0.25), [0.3, 150.0], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times,
    )  # fmt: skip
    angle, speed = run["main bearing"][:, 0], run.velocity("main bearing")[:, 0]
    print(f"speed off the integration of one coordinate by {np.max(np.abs(speed / known.y[1] - 1.0)):.1e}")
    given = {"cylinder": -gas(angle)[:, None], "main bearing": np.full((len(angle), 1), -LOAD)}
    wrench = s.reactions(run.q, run.v, given)["main bearing"]
    # The bearing's frame turns with the crank.
    turned = np.stack([
        np.cos(angle) * wrench[:, 3] + np.sin(angle) * wrench[:, 5], wrench[:, 4],
        -np.sin(angle) * wrench[:, 3] + np.cos(angle) * wrench[:, 5],
    ], axis=-1)  # fmt: skip
    exact = by_hand(known.y[0], known.y[1])[1]
    off = np.max(np.abs(turned - exact)) / np.max(np.abs(exact))
    print(
        f"force of the main bearing, at most {np.max(np.linalg.norm(exact, axis=-1)):.0f} N, off by {off:.1e}"
    )
    print(f"the speed varies between {speed.min():.2f} and {speed.max():.2f} rad/s")

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(run.t, speed, color=BLUE)
    left.set(title="speed of the crank [rad/s]", xlabel="t [s]")
    right.plot(turned[:, 0], turned[:, 2], color=ORANGE, linewidth=0.8)
    right.set(title="force of the main bearing [N]", xlabel="along the cylinder", ylabel="across it")
    out.figure(figure, "engine.png")
    out.film(run.resample(np.linspace(0.0, 0.05, 101)))


if __name__ == "__main__":
    main(sys.argv[1:])
