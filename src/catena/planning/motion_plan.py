"""What planning leaves: a motion at nodes in time, with the forces that it takes, and what the solver said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.errors import StateError
from catena.mechanism.validation import known
from catena.system import System

# The part of the time of a plan by which one may be beyond it and still be there, as rounding has it.
SLACK = 1e-12
Motion = Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A planned motion: times t (n,), q (n, nq), v (n, nv), vdot (n, nv) and the forces tau (n, nv) of actuated joints.
    Between these times accelerations are straight lines. `success` says whether the solver was satisfied,
    `message` what it said and, if it was not, which conditions are missed most; then the motion is the best that it
    had. `missed` is the largest error of all conditions, `seconds` how long it took."""

    system: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray
    success: bool
    message: str
    missed: float
    iterations: int
    seconds: float

    def __repr__(self) -> str:
        verdict = "solved" if self.success else "not solved"
        return (
            f"MotionPlan({self.system.mechanism.name!r}, {self.t[-1]:g} s, {len(self.t)} times, {verdict} in "
            f"{self.iterations} iterations, {self.seconds:.2g} s)"
        )

    def motion(self, joint: str) -> Motion:
        """Return the motion of a joint whose positions are plain numbers, as `simulate` prescribes it: a function of t
        that gives position, velocity and acceleration; before the beginning and after the end it stays there."""
        known("joint", joint, self.system.joints, repr(self.system.mechanism.name))
        at, where = self.system.slice_v(joint), self.system.slice_q(joint)
        if at.stop - at.start != where.stop - where.start:
            raise StateError(
                f"joint {joint!r} turns freely and has no plain positions to prescribe; where it is driven, give its "
                "forces, tau of the plan, else it moves as the others make it."
            )
        t, q, v, a = self.t, self.q[:, where], self.v[:, at], self.vdot[:, at]

        def moved(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            # A run that ends where the plan does ends with its velocity.
            if not t[0] - SLACK * t[-1] <= time <= t[-1] * (1.0 + SLACK):
                return q[0 if time < t[0] else -1], np.zeros_like(v[-1]), np.zeros_like(a[-1])
            k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 2))
            h, s = t[k + 1] - t[k], float(time) - t[k]
            jerk = (a[k + 1] - a[k]) / h
            return (
                q[k] + s * (v[k] + s * (a[k] / 2 + s * jerk / 6)),
                v[k] + s * (a[k] + s * jerk / 2),
                a[k] + s * jerk,
            )

        return moved
