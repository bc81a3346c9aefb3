"""Time stepping with contacts: a thousand walkers and some humanoids dropped askew, against `mujoco.rollout`.

Tilts, heights and friction are drawn at random. Errors are distances of the trunk and of all points that touch, at the
end, against the exact way of a random few.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catena as ct
from benchmarks.peers.mujoco_contacts import contact_rollout
from benchmarks.timing import best_of
from benchmarks.walkers import LEGS, standing_walker
from catena.mechanism.generators import humanoid

DURATION, LOOKED_AT = 0.6, 8
# Exact runs that are to tell an error may take so long [s of the processor]; those that take longer are left out.
PATIENCE = 4.0
TILT, MUJOCO_STEP = np.array([0.08, 0.05, 0.0]), 1e-3
STEPS = (1e-3, 2e-3, 4e-3)

NOT_SHOWN = (
    "contacts of other shapes than points; loops; controllers. MuJoCo's contacts are soft by design and its friction "
    "creeps, at any step; Catena's are rigid. MuJoCo writes the state after every step, Catena is asked for the last. "
    "Both take the smaller of several turns in one process; errors are medians and maxima [mm] over states looked at, "
    "without those that the exact way does not get through in a few seconds."
)


@dataclass(frozen=True)
class Family:
    """Mechanisms that are dropped: the tree without springs, the frames that touch, the body whose error counts
    besides, stiffness and damping at all hinges, how many of them, and the aim as a ratio."""

    name: str
    mechanism: Any
    frames: tuple[str, ...]
    trunk: str
    spring: tuple[float, float]
    count: int
    aim: float

    def system(self) -> ct.System:
        """The system with its springs."""
        m = self.mechanism.copy()
        for name, joint in list(m.joints.items()):
            if joint.kind.nv == 1:
                m.add_spring(f"{name} spring", name, stiffness=self.spring[0], damping=self.spring[1])
        return m.system()

    def states(self, system: ct.System, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """So many configurations (count, nq) over the floor, and coefficients of friction (count,); all by default."""
        count = self.count if count is None else count
        rng = np.random.default_rng(0)
        turn = np.zeros((count, system.nv))
        turn[:, system.slice_v("base")][:, :3] = TILT + 0.05 * rng.standard_normal((count, 3))
        q = system.integrate(np.tile(system.neutral(), (count, 1)), turn)
        low = np.min([system.pose(q, frame)[:, 2, 3] for frame in self.frames], axis=0)
        q[:, system.slice_q("base")][:, 2] += rng.choice([0.02, 0.05], count) - low
        return q, rng.uniform(0.3, 1.0, count)


def walker_family() -> Family:
    """Walkers on springs with four point feet."""
    frames = tuple(f"{leg}/foot" for leg in LEGS)
    return Family("walker, 4 points", standing_walker(), frames, "trunk", (600.0, 15.0), 1024, 3.0)


def humanoid_family() -> Family:
    """Humanoids on springs with four points below each foot."""
    m, frames = humanoid(), []
    for side in ("left", "right"):
        for k, (x, y) in enumerate(((0.12, 0.04), (0.12, -0.04), (-0.06, 0.04), (-0.06, -0.04))):
            frames.append(f"{side}_sole/{k}")
            m.add_frame(frames[-1], f"{side}_foot", ct.Pose(p=(x, y, -0.07)))
    return Family("humanoid, 8 points", m, tuple(frames), "pelvis", (300.0, 10.0), 256, 2.0)


def report() -> str:
    """The table of this benchmark as Markdown."""
    lines = [
        f"### Time stepping with contacts: {DURATION:g} s",
        "",
        "| family | threads | step [ms] | Catena, x real time | mujoco.rollout at 1 ms | ratio | aim "
        "| Catena's error [mm] | MuJoCo's |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for family in (walker_family(), humanoid_family()):
        exact: list[np.ndarray] = []
        for threads in (1, 2):
            lines += compare(family, threads, STEPS if threads == 1 else STEPS[:1], exact)
    ct.set_threads(1)
    return "\n".join([*lines, "", f"Not shown: {NOT_SHOWN}", ""])


def compare(family: Family, threads: int, steps: tuple[float, ...], exact: list[np.ndarray]) -> list[str]:
    """Rows of a family: all in turns on the same states; `exact` has those at the end by the exact way, once they are
    known."""
    ct.set_threads(threads)
    sides, errors = rivals(family, threads, steps, exact)
    best = best_of(sides, rounds=2)
    told = {name: found() for name, found in errors.items()}
    rows = []
    for step in steps:
        ours, theirs = (family.count * DURATION / best[name] for name in (f"{step:g}", "mujoco"))
        mine, other = told[f"{step:g}"], told["mujoco"]
        rows.append(
            f"| {family.count} x {family.name} | {threads} | {1e3 * step:g} "
            f"| {ours:.0f} | {theirs:.0f} | {ours / theirs:.2g} | >= {family.aim:g} "
            f"| {np.median(mine):.2g} (max {np.max(mine):.2g}) | {np.median(other):.2g} (max {np.max(other):.2g}) |"
        )
        if not np.median(mine) <= np.median(other):
            raise AssertionError(f"Catena's error {np.median(mine):.2g} mm is larger than MuJoCo's.")
    return rows


def rivals(
    family: Family, threads: int, steps: tuple[float, ...], exact: list[np.ndarray]
) -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], np.ndarray]]]:
    """Catena by steps and MuJoCo, each as a call and as its errors [mm] (looked at,)."""
    system, batch = family.system(), family.count
    q, friction = family.states(system)
    v = np.zeros((batch, system.nv))
    contacts = [ct.Contact(frame) for frame in family.frames]
    varied = {f"{frame}.friction": friction for frame in family.frames}
    last: dict[str, Any] = {}
    chosen = np.random.default_rng(1).choice(batch, min(LOOKED_AT, batch), replace=False)

    def catena(step: float) -> Callable[[], Any]:
        def call() -> None:
            last[f"{step:g}"] = ct.simulate(
                system, q, v, DURATION, contacts=contacts, parameters=varied, integrator="time_stepping", step=step,
                samples=2, progress=False, check=False,
            )  # fmt: skip

        return call

    mujoco, ends = contact_rollout(
        family.mechanism, list(family.frames), family.spring, q, v, friction, MUJOCO_STEP,
        round(DURATION / MUJOCO_STEP), threads,
    )  # fmt: skip

    def places(q: np.ndarray) -> np.ndarray:
        """Where the trunk and points are, (..., points, 3)."""
        return np.stack(
            [system.pose(q, frame)[..., :3, 3] for frame in (family.trunk, *family.frames)], axis=-2
        )

    def error(end: np.ndarray) -> np.ndarray:
        if not exact:
            exact.extend(_exactly(system, family, q[k], float(friction[k])) for k in chosen)
        there = np.isfinite(exact).all(axis=-1)
        apart = places(end[chosen][there]) - places(np.array(exact)[there])
        return 1e3 * np.max(np.linalg.norm(apart, axis=-1), axis=-1)

    sides: dict[str, Callable[[], Any]] = {f"{step:g}": catena(step) for step in steps} | {"mujoco": mujoco}
    errors = {f"{step:g}": lambda step=step: error(last[f"{step:g}"].q[:, -1]) for step in steps}
    return sides, errors | {"mujoco": lambda: error(ends())}


@dataclass(frozen=True)
class _Impatience:
    """An event that is set from a time of the processor on."""

    until: float

    def is_set(self) -> bool:
        """Whether it is."""
        return time.process_time() > self.until


def _exactly(system: ct.System, family: Family, q: np.ndarray, friction: float) -> np.ndarray:
    """The configuration (nq,) at the end by the exact way; not a number where that takes too long."""
    contacts = [ct.Contact(frame, friction=friction) for frame in family.frames]
    run = ct.simulate(
        system,
        q,
        np.zeros(system.nv),
        DURATION,
        contacts=contacts,
        rtol=1e-6,
        atol=1e-8,
        samples=2,
        check=False,
        cancel=_Impatience(time.process_time() + PATIENCE),
    )
    return np.asarray(run.q[-1]) if run.t[-1] == DURATION else np.full(system.nq, np.nan)
