"""What planning leaves: a motion at nodes in time, with the forces that it takes, and what the solver said; over
changes of the structure a plan for each phase, and the instants between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.changing.transfer import Transfer, transfer
from catena.errors import StateError
from catena.mechanism.validation import known
from catena.system import System

# The part of the time of a plan by which one may be beyond it and still be there, as rounding has it.
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """The motion of a joint as a function of t that gives position, velocity and acceleration, each (k,): polynomials
    with `coefficients` (n - 1, 4, k) in powers of the time since each of `times` (n,). Before the beginning and after
    the end it stays there, at `last` (k,) in the end. Runs follow the polynomials by themselves, from one of the times
    to the next."""

    times: np.ndarray
    coefficients: np.ndarray
    last: np.ndarray

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        times, c = self.times, self.coefficients
        still = np.zeros(len(self.last))
        # A run that ends where the plan does ends with its velocity.
        if not times[0] - SLACK * times[-1] <= t <= times[-1] * (1.0 + SLACK):
            return (c[0, 0] if t < times[0] else self.last), still, still
        k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(c) - 1))
        s, (q, v, half, sixth) = float(t) - times[k], c[k]
        return (
            q + s * (v + s * (half + s * sixth)),
            v + s * (2.0 * half + 3.0 * s * sixth),
            2.0 * half + 6.0 * s * sixth,
        )


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A planned motion: times t (n,), q (n, nq), v (n, nv), vdot (n, nv) and the forces tau (n, nv) of actuated joints
    of the tree; `loop_forces` {joint: (n, nv of the joint)} are those of actuated joints that close loops. Between
    these times accelerations of `independent` joints are straight lines, and all others follow from them.

    `cost` is what the motion spends of its `objective`: "force" [N^2 m^2 s, N^2 s, ...], "energy" [J], "time" [s], or
    the integral of an "expression". `success` says whether the solver was satisfied, `message` what it said and, if it
    was not, which conditions are missed most; then the motion is the best that it had. `missed` is the largest error
    of all conditions, `seconds` how long it took."""

    system: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray
    loop_forces: Mapping[str, np.ndarray]
    independent: tuple[str, ...]
    objective: str
    cost: float
    success: bool
    message: str
    missed: float
    iterations: int
    seconds: float

    def __repr__(self) -> str:
        verdict = "solved" if self.success else "not solved"
        return (
            f"MotionPlan({self.system.mechanism.name!r}, {self.t[-1]:g} s, {len(self.t)} times, {self.objective} "
            f"{self.cost:.4g}, {verdict} in {self.iterations} iterations, {self.seconds:.2g} s)"
        )

    @property
    def forces(self) -> dict[str, np.ndarray]:
        """The forces {joint: (n, nv of the joint)} of all actuated joints, of the tree and of loops."""
        driven = {name: self.system.slice_v(name) for name in self.system.joints}
        tree = {name: self.tau[:, at] for name, at in driven.items() if self.system.plan.actuated[at].any()}
        return tree | dict(self.loop_forces)

    def motions(self) -> dict[str, PlannedMotion]:
        """Return the motions of actuated independent joints whose positions are plain numbers, as `simulate`
        prescribes them: all others follow, or move as these make them."""
        actuated = self.system.plan.actuated
        return {
            name: self.motion(name)
            for name in self.independent
            if actuated[self.system.slice_v(name)].all() and self._plain(name)
        }

    def _plain(self, joint: str) -> bool:
        at, where = self.system.slice_v(joint), self.system.slice_q(joint)
        return at.stop - at.start == where.stop - where.start

    def motion(self, joint: str) -> PlannedMotion:
        """Return the motion of a joint whose positions are plain numbers, as `simulate` prescribes it: a function of t
        that gives position, velocity and acceleration; before the beginning and after the end it stays there."""
        known("joint", joint, self.system.joints, repr(self.system.mechanism.name))
        at, where = self.system.slice_v(joint), self.system.slice_q(joint)
        if not self._plain(joint):
            raise StateError(
                f"joint {joint!r} turns freely and has no plain positions to prescribe; where it is driven, give its "
                "forces, tau of the plan, else it moves as the others make it."
            )
        t, q, v, a = self.t, self.q[:, where], self.v[:, at], self.vdot[:, at]
        jerk = np.diff(a, axis=0) / np.diff(t)[:, None]
        return PlannedMotion(t, np.stack([q[:-1], v[:-1], a[:-1] / 2.0, jerk / 6.0], axis=1), q[-1])


@dataclass(frozen=True, eq=False)
class PhasedPlan(Sequence[MotionPlan]):
    """The plans of phases of one motion, in their order; times of each count from where it begins.

    `cost` is what all of them spend together of their `objective`. `success` says whether the solver was satisfied,
    `message` what it said, `missed` is the largest error of all conditions, those between phases too; `iterations` and
    `seconds` are what the search took."""

    plans: tuple[MotionPlan, ...]
    objective: str
    cost: float
    success: bool
    message: str
    missed: float
    iterations: int
    seconds: float

    def __getitem__(self, index: Any) -> Any:
        return self.plans[index]

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[MotionPlan]:
        return iter(self.plans)

    def __repr__(self) -> str:
        verdict = "solved" if self.success else "not solved"
        names = ", ".join(repr(plan.system.mechanism.name) for plan in self.plans)
        return (
            f"PhasedPlan({names}, {self.begins[-1] + self.plans[-1].t[-1]:g} s, {self.objective} {self.cost:.4g}, "
            f"{verdict} in {self.iterations} iterations, {self.seconds:.2g} s)"
        )

    @property
    def begins(self) -> np.ndarray:
        """When each phase begins (phases,) [s]."""
        return np.cumsum([0.0, *(float(plan.t[-1]) for plan in self.plans[:-1])])

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """What happens between phases, as `transfer` tells it of where each of them ends: impulses, energy that is lost
        there."""
        return tuple(
            transfer(one.system, one.q[-1], one.v[-1], other.system)
            for one, other in zip(self.plans, self.plans[1:], strict=False)
        )

    def motion(self, joint: str) -> PlannedMotion:
        """Return the motion of a joint over all phases, as `simulate` prescribes it. It must be in the tree of all of
        them; where the structure changes its velocity may jump."""
        for plan in self.plans:
            if joint not in plan.system.joints:
                raise StateError(
                    f"joint {joint!r} is not in the tree of {plan.system.mechanism.name!r}, where it has no motion "
                    "of its own; prescribe motions phase by phase."
                )
        parts = [plan.motion(joint) for plan in self.plans]
        times = [part.times + begin for part, begin in zip(parts, self.begins, strict=True)]
        joined = np.concatenate([some[:-1] for some in times] + [times[-1][-1:]])
        return PlannedMotion(joined, np.concatenate([part.coefficients for part in parts]), parts[-1].last)
