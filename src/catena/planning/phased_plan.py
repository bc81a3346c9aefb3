"""What planning over changes of the structure leaves: a plan for each phase, and the instants between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.changing.transfer import Transfer, transfer
from catena.errors import StateError
from catena.planning.motion_plan import MotionPlan, PlannedMotion


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
