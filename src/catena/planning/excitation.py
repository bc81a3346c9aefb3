"""Motions that make unknown inertias show: led joints swing as sums of harmonics, from rest and back to rest, and the
amplitudes are those of the best of many tries (Lampariello and Hirzinger on identification by manoeuvres of one arm).

    q_j(t) = q_j(0) + w(t) sum_k (a_jk sin(2 pi k t / T) + b_jk cos(2 pi k t / T)),   w = (1 - cos(2 pi t / T)) / 2

What nothing drives moves as the others make it, found by a Runge-Kutta method for all tries at once. The regressor
along the motions whose forces are known, each unknown in units of its size, has singular values: their ratio is the
condition, and their inverses are the errors of combinations of unknowns for unit errors of forces. Amplitudes are
drawn anew about the best tries, narrower from round to round (the cross-entropy method), because the condition has
kinks and many local optima.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import CatenaError, StateError
from catena.flying.identification import known_motions
from catena.flying.independent import Independent, choose_independent, follow_independent
from catena.kernels import arrays
from catena.kinematics.stacks import apply
from catena.mechanism.naming import selected
from catena.planning.task import limits_by_name
from catena.questions.inertial_parameters import moving_bodies
from catena.system import System
from catena.system.of_system import as_one_system
from catena.validation import is_count, is_one_of, is_positive, shown

AIMS = ("condition", "confidence")
# Part of the tries that the next ones are drawn about.
ELITE = 0.25
# Singular values below this part of the largest belong to combinations that no motion tells.
RANK = 1e-7
# A try that asks too much of motors counts as worse by as much, to this power.
BEYOND = 4.0


@dataclass(frozen=True, eq=False)
class Swing:
    """The motion of a joint as a function of t that gives position, velocity and acceleration, each (1,)."""

    begin: float
    span: float
    sines: np.ndarray
    cosines: np.ndarray

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inside = min(max(float(t), 0.0), self.span)
        x = _harmonics(np.array([inside]), self.span, len(self.sines))
        both = np.concatenate([self.sines, self.cosines])
        q, v, a = ((x[d, 0] @ both)[None] for d in range(3))
        return self.begin + q, v if inside == t else 0.0 * v, a if inside == t else 0.0 * a


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that tells inertias: `motions` {joint: function of t} for `simulate`, and states at times t (n,), q (n,
    nq), v (n, nv), vdot (n, nv) that they lead to. `condition` is that of the equations, each unknown in units of
    `sizes`, and `random` the median over motions of the same limits that nobody chose; `rank` of `unknowns`
    combinations are told. `information` (unknowns, unknowns) is the sum of squares of the equations."""

    system: System
    bodies: tuple[str, ...]
    motions: Mapping[str, Swing]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    condition: float
    random: float
    rank: int
    unknowns: int
    sizes: np.ndarray
    information: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Excitation({self.system.mechanism.name!r}, {self.t[-1]:g} s, {', '.join(self.motions)}: tells "
            f"{self.rank} of {self.unknowns} numbers of {', '.join(self.bodies)}, condition {self.condition:.3g}, by "
            f"chance {self.random:.3g})"
        )

    def deviations(self, noise: float) -> dict[str, np.ndarray]:
        """Return the standard deviations (10,) to expect of each body's inertial numbers if forces at all components,
        in the states of this motion, scatter by `noise` [N m or N]; infinite where the motion does not tell a
        number."""
        scaled = self.information * np.outer(self.sizes, self.sizes)
        values, vectors = np.linalg.eigh(scaled)
        kept = values > RANK**2 * values.max()
        determined = 1.0 - np.sum(vectors[:, kept] ** 2, axis=1) < 1e-6
        spread = self.sizes * noise * np.linalg.norm(vectors[:, kept] / np.sqrt(values[kept]), axis=1)
        found = np.where(determined, spread, np.inf)
        return {name: found[10 * k : 10 * k + 10] for k, name in enumerate(self.bodies)}


def plan_excitation(
    system: System,
    start: ArrayLike,
    duration: float,
    bodies: Iterable[str],
    *,
    joints: str | Iterable[str] | None = None,
    measured: bool = False,
    amplitude: float = 0.5,
    rates: float | Mapping[str, float] | None = None,
    torques: float | Mapping[str, float] | None = None,
    harmonics: int = 3,
    aim: str = "condition",
    samples: int = 60,
    tries: int = 24,
    rounds: int = 8,
    seed: int = 0,
) -> Excitation:
    """Return a motion of `duration` seconds from rest at `start` (nq,) that tells the inertial numbers of `bodies`
    well.

    `joints` are led, all actuated ones that are independent unless given, each by so many `harmonics` of the duration
    and by `amplitude` [rad or m] at most from where it begins, within its limits and `rates`; their forces stay within
    those of actuators and `torques` as far as tries find. `measured` says whether forces of motors will be known when
    inertias are identified, as `identify_inertia` has them. The `aim` is a small "condition", or "confidence": small
    errors of the worst told combination.

    It is the best of `tries` in each of so many `rounds`, drawn by `seed`, looked at in `samples` states.
    """
    _check(system, duration, amplitude, harmonics, aim, samples, tries, rounds, seed)
    q0 = system.mechanics.states(start, np.zeros(system.nv))[1]
    if len(q0) != 1:
        raise StateError("plan_excitation: start has batch dimensions; give one configuration.")
    names = tuple(dict.fromkeys(arrays.as_list("bodies", bodies, str, "bodies")))
    if not names:
        raise StateError("plan_excitation: bodies are none; name at least one whose inertia is asked for.")
    trial = _Trial(system, q0[0], float(duration), names, joints, measured, int(samples), torques)
    most = trial.largest(float(amplitude), rates)
    rng = np.random.default_rng(int(seed))
    shape = (len(trial.joints), 2 * int(harmonics))
    mean, spread = np.zeros(shape), np.ones(shape)
    best: tuple[float, Any, Any] | None = None
    random = np.inf
    for turn in range(int(rounds)):
        drawn = mean + spread * rng.normal(size=(int(tries), *shape))
        amplitudes = np.array([trial.fitted(x, *most) for x in drawn])
        moved = trial.moved(amplitudes)
        judged = [trial.judged([x[k] for x in moved], aim) for k in range(int(tries))]
        scores = np.array([x[0] for x in judged])
        if not turn:
            random = float(np.median([x[1] for x in judged]))
        order = np.argsort(scores)
        if best is None or scores[order[0]] < best[0]:
            k = int(order[0])
            best = (float(scores[k]), amplitudes[k], tuple(x[k] for x in moved))
        elite = amplitudes[order[: max(2, int(ELITE * tries))]]
        # Amplitudes are told in those that limits allow, so that all of them are of one size.
        scaled = elite / np.maximum(np.abs(elite).max(axis=(1, 2), keepdims=True), 1e-300)
        mean, spread = scaled.mean(axis=0), np.maximum(scaled.std(axis=0), 0.05)
    assert best is not None
    if not np.isfinite(best[0]):
        raise StateError(
            f"plan_excitation: no try was a motion of {system.mechanism.name!r} that tells {', '.join(names)}; begin "
            "at another configuration, give a smaller amplitude, or let other joints lead."
        )
    return trial.excitation(best[1], best[2], random)


class _Trial:
    """What all tries have in common: the mechanism, where it begins, who is led, and what is asked for."""

    def __init__(
        self, system: System, q0: np.ndarray, span: float, bodies: tuple[str, ...], joints: Any, measured: bool,
        samples: int, torques: Any,
    ) -> None:  # fmt: skip
        self.system, self.q0, self.span, self.bodies = system, q0, span, bodies
        system.mechanics.settle(q0)
        closed = bool(system.plan.total_constraints)
        self.chosen: Independent | None = choose_independent(system, q0) if closed else None
        self.joints = self._led(joints)
        moving = moving_bodies(system.mechanism, system.plan)
        for name in bodies:
            if name not in moving:
                raise StateError(
                    f"plan_excitation: {name!r} is no rigid body of {system.mechanism.name!r} that moves; there are "
                    f"{', '.join(map(repr, moving))}."
                )
        self.asked = np.concatenate([np.arange(10 * k, 10 * k + 10) for k in map(moving.index, bodies)])
        self.sizes = _sizes(system, bodies)
        self.measured = measured
        self.t = np.linspace(0.0, span, samples + 1)
        self.torques = limits_by_name(system, "torques", torques, self.joints)
        self.q_led = np.array([system.slice_q(name).start for name in self.joints])
        self.v_led = np.array([system.slice_v(name).start for name in self.joints])

    def _led(self, joints: Any) -> tuple[str, ...]:
        """Return the joints that are led: independent, with one plain coordinate."""
        system = self.system
        free = set(range(system.nv)) if self.chosen is None else set(self.chosen.components.tolist())
        able = [
            name for name in system.joints
            if (at := system.slice_v(name)).stop - at.start == 1 and at.start in free and system.plan.actuated[at].all()
            and system.slice_q(name).stop - system.slice_q(name).start == 1
        ]  # fmt: skip
        if joints is None:
            led: tuple[str, ...] = tuple(able)
        else:
            led = selected("joint", joints, system.joints)
            others = [name for name in led if name not in able]
            if others:
                raise StateError(
                    f"plan_excitation: {', '.join(map(repr, others))} cannot be led; those that can, with one "
                    f"coordinate, an actuator and independent of others, are {', '.join(map(repr, able)) or 'none'}."
                )
        if not led:
            raise StateError(
                f"plan_excitation: no joint of {system.mechanism.name!r} can be led; give it an actuator."
            )
        return led

    def largest(self, amplitude: float, rates: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return how far (joints,) each led joint may go and how fast."""
        asked = limits_by_name(self.system, "rates", rates, self.joints)
        far, fast = [], []
        for name, begin in zip(self.joints, self.q0[self.q_led], strict=True):
            joint = self.system.mechanism.joints[name]
            low, high = (-np.inf, np.inf) if joint.limits is None else joint.limits[0]
            far.append(min(amplitude, begin - low, high - begin))
            own = np.inf if joint.velocity_limit is None else joint.velocity_limit[0]
            fast.append(min(own, asked.get(name, np.inf)))
            if far[-1] <= 0.0:
                raise StateError(f"plan_excitation: joint {name!r} begins at its limit; begin within.")
        return np.array(far), np.array(fast)

    def fitted(self, x: np.ndarray, far: np.ndarray, fast: np.ndarray) -> np.ndarray:
        """Return amplitudes (joints, 2 harmonics) made so small that positions and rates keep within limits."""
        shapes = _harmonics(np.linspace(0.0, self.span, 200), self.span, x.shape[1] // 2)
        reached, sped = (np.abs(shapes[d] @ x.T).max(axis=0) for d in (0, 1))
        scale = np.minimum(far / np.maximum(reached, 1e-300), fast / np.maximum(sped, 1e-300))
        return x * scale[:, None]

    def moved(self, amplitudes: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q, v, vdot and the forces of all tries, (tries, samples + 1, ...); NaN of those that come to a place
        where the mechanism cannot go on."""
        try:
            return self._moved(amplitudes)
        except CatenaError:
            if len(amplitudes) == 1:
                sizes = (self.system.nq, *[self.system.nv] * 3)
                return tuple(np.full((1, len(self.t), size), np.nan) for size in sizes)
            parts = [self.moved(one[None]) for one in amplitudes]
            return tuple(np.concatenate(x) for x in zip(*parts, strict=True))

    def _moved(self, amplitudes: np.ndarray) -> tuple[np.ndarray, ...]:
        k = amplitudes.shape[2] // 2
        q, v = np.tile(self.q0, (len(amplitudes), 1)), np.zeros((len(amplitudes), self.system.nv))
        rows, h = [], self.t[1] - self.t[0]
        for t in self.t:
            q, v, a, tau = self._state(float(t), q, v, amplitudes, k)
            rows.append((q, v, a, tau))
            if t == self.t[-1]:
                break
            v1, a1 = v, a
            _, v2, a2, _ = self._state(t + h / 2, self._on(q, v1, h / 2), v + h / 2 * a1, amplitudes, k)
            _, v3, a3, _ = self._state(t + h / 2, self._on(q, v2, h / 2), v + h / 2 * a2, amplitudes, k)
            _, v4, a4, _ = self._state(t + h, self._on(q, v3, h), v + h * a3, amplitudes, k)
            q = self._on(q, (v1 + 2 * v2 + 2 * v3 + v4) / 6, h)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return tuple(np.stack([row[i] for row in rows], axis=1) for i in range(4))

    def _on(self, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        return self.system.integrate(q, v, h)

    def _state(
        self, t: float, q: np.ndarray, v: np.ndarray, amplitudes: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the closed states (tries, ...) at a time, with led joints where they are led, and their motion on."""
        shapes = _harmonics(np.array([t]), self.span, k)[:, 0]
        x, w, acceleration = (amplitudes @ shape for shape in shapes)
        q, v = q.copy(), v.copy()
        q[:, self.q_led], v[:, self.v_led] = self.q0[self.q_led] + x, w
        if self.chosen is not None:
            held = [name for name in self.system.joints if self._independent(name)]
            q = self.system.project(q, held=held)
            E = follow_independent(self.system.closure_jacobian(q), self.chosen, "plan_excitation")
            v = apply(E, v[:, self.chosen.components])
        prescribed = {name: acceleration[:, [j]] for j, name in enumerate(self.joints)}
        a, tau = self.system.hybrid_dynamics(q, v, None, prescribed)
        return q, v, a, tau

    def _independent(self, joint: str) -> bool:
        assert self.chosen is not None
        at = self.system.slice_v(joint)
        return set(range(at.start, at.stop)) <= set(self.chosen.components.tolist())

    def judged(self, motion: list[np.ndarray], aim: str) -> tuple[float, float]:
        """Return the score of a try, the less the better, and its condition."""
        q, v, a, tau = motion
        if not np.isfinite(q).all():
            return np.inf, np.inf
        try:
            s = np.linalg.svd(self._equations(q, v, a) * self.sizes, compute_uv=False)
        except CatenaError:
            return np.inf, np.inf
        kept = s[s > RANK * s.max(initial=0.0)]
        if not len(kept):
            return np.inf, np.inf
        # What tells more combinations is better, whatever its condition.
        condition = float(kept[0] / kept[-1])
        score = condition if aim == "condition" else float(1.0 / kept[-1])
        beyond = max(
            [
                1.0,
                *(
                    np.abs(tau[:, k]).max() / self._limit(name)
                    for k, name in zip(self.v_led, self.joints, strict=True)
                ),
            ]
        )
        return score * beyond**BEYOND * RANK ** -(len(s) - len(kept)), condition

    def _limit(self, name: str) -> float:
        own = [m.joint_limits for m in self.system.mechanism.actuators.values() if m.joint == name]
        return float(min([self.torques.get(name, np.inf), *(np.abs(x).min() for x in own)]))

    def _equations(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the equations (n d, unknowns) of a motion, of unit errors where forces have them."""
        E = known_motions(self.system, q, np.zeros(0) if self.measured else None)
        kept = np.linalg.qr(E)[0]
        Y = self.system.regressor(q, v, a)[..., self.asked]
        return (np.swapaxes(kept, -1, -2) @ Y).reshape(-1, len(self.asked))

    def excitation(self, amplitudes: np.ndarray, moved: tuple[np.ndarray, ...], random: float) -> Excitation:
        """Return the excitation of some amplitudes."""
        q, v, a, _ = moved
        A = self._equations(q, v, a)
        s = np.linalg.svd(A * self.sizes, compute_uv=False)
        kept = s[s > RANK * s.max()]
        half = amplitudes.shape[1] // 2
        motions = {
            name: Swing(float(begin), self.span, own[:half], own[half:])
            for name, begin, own in zip(self.joints, self.q0[self.q_led], amplitudes, strict=True)
        }
        return Excitation(
            self.system, self.bodies, motions, self.t, q, v, a, float(kept[0] / kept[-1]), random, len(kept),
            len(self.asked), self.sizes, A.T @ A,
        )  # fmt: skip


def _harmonics(t: np.ndarray, span: float, count: int) -> np.ndarray:
    """Return sines, then cosines, under the window, with two derivatives: (3, times, 2 count)."""
    w = 2.0 * np.pi / span
    k = np.arange(1, count + 1) * w
    window = np.array([(1.0 - np.cos(w * t)) / 2.0, w * np.sin(w * t) / 2.0, w * w * np.cos(w * t) / 2.0])[
        ..., None
    ]
    phase = np.outer(t, k)
    s, c = np.sin(phase), np.cos(phase)
    waves = np.array([np.hstack([s, c]), np.hstack([k * c, -k * s]), np.hstack([-k * k * s, -k * k * c])])
    return np.array([
        window[0] * waves[0],
        window[1] * waves[0] + window[0] * waves[1],
        window[2] * waves[0] + 2.0 * window[1] * waves[1] + window[0] * waves[2],
    ])  # fmt: skip


def _sizes(system: System, bodies: tuple[str, ...]) -> np.ndarray:
    """Return what counts as one unit of each unknown: mass, mass times radius of gyration, and times its square."""
    found = []
    for name in bodies:
        body = system.mechanism.bodies[name]
        mass = max(float(body.mass), 1e-12)
        turned = float(np.trace(np.asarray(body.inertia, dtype=float))) / 2.0 + mass * float(
            np.sum(np.square(body.com))
        )
        radius = max(np.sqrt(turned / mass), 1e-6)
        found += [mass, *[mass * radius] * 3, *[mass * radius**2] * 6]
    return np.array(found)


def _check(
    system: Any, duration: Any, amplitude: Any, harmonics: Any, aim: Any, samples: Any, tries: Any, rounds: Any,
    seed: Any,
) -> None:  # fmt: skip
    """Complain about what is no task."""
    as_one_system(system, "plan_excitation")
    if not is_positive(duration) or not is_positive(amplitude):
        raise StateError(
            f"plan_excitation: duration is {shown(duration)} and amplitude {shown(amplitude)}; give positive numbers."
        )
    if not is_one_of(aim, AIMS):
        raise StateError(f"plan_excitation: aim is {shown(aim)}; give one of {', '.join(AIMS)}.")
    for what, value, least in (
        ("harmonics", harmonics, 1),
        ("samples", samples, 10),
        ("tries", tries, 4),
        ("rounds", rounds, 1),
        ("seed", seed, 0),
    ):
        if not is_count(value) or value < least:
            raise StateError(
                f"plan_excitation: {what} is {shown(value)}; give a whole number from {least} on."
            )
