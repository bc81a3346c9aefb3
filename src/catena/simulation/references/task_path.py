"""A frame that follows a path in space, and the joints that make it do so."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.kinematics import stacks
from catena.kinematics.extent import characteristic_length
from catena.mechanism.validation import known
from catena.simulation.references.fitted import fitted
from catena.simulation.references.in_step import ReferenceInStep, in_step, thirds
from catena.simulation.references.inverse_kinematics import InverseKinematics
from catena.simulation.references.protocol import (
    Reference,
    ReferenceMotion,
    as_configuration,
    as_reference,
    as_times,
)
from catena.simulation.references.rotation import rotations
from catena.system import System
from catena.system.of_system import as_system
from catena.validation import is_positive, shown

# A path of known length is followed in so many steps, another one in steps of so many seconds.
NODES, STEP = 200, 0.01


class FrameTask:
    """A frame at a place (a path of three coordinates), or at a pose (a path like that of a `Free` joint).

    Errors and rates are in the frame's own axes at its origin, angular before linear.
    """

    def __init__(self, system: System, frame: str, path: Reference) -> None:
        self.system, self.frame, self.path = system, frame, path
        width = path.at(0.0).q.shape[-1:]
        if width not in ((3,), (7,)):
            raise StateError(
                f"frame {frame!r}: the path has {width[0] if width else 1} coordinates; give 3 for a place (x, y, "
                f"z), or a PosePath for a place and an orientation."
            )
        self.whole = width == (7,)
        length = characteristic_length(system.plan)
        self.units = np.array([1.0] * 3 * self.whole + [length] * 3)

    def goal(self, t: Any) -> ReferenceMotion:
        return self.path.at(t)

    def rows(self, q: np.ndarray) -> np.ndarray:
        return self._chosen(self.system.jacobian(q, self.frame), -2)

    def error(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        R, p = self._pose(q)
        place = stacks.apply(stacks.transposed(R), goal.q[..., :3] - p)
        if not self.whole:
            return place
        turn = stacks.transposed(R) @ rotations(goal.q[..., 3:])
        X = stacks.motion_matrices(stacks.transposed(turn), np.zeros(3))
        return np.concatenate([stacks.logarithm(X)[..., :3], place], axis=-1)

    def rate(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        return self._carried(goal, q, goal.v)

    def acceleration(self, goal: ReferenceMotion, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        twist = self.system.twist(q, v, self.frame)
        wanted = goal.vdot
        if self.whole:
            # A path of poses gives the derivative of R_d^T p' in axes that turn with the path.
            turning = np.cross(goal.v[..., :3], goal.v[..., 3:])
            wanted = np.concatenate([wanted[..., :3], wanted[..., 3:] + turning], axis=-1)
        wanted = self._carried(goal, q, wanted)
        # And what is wanted is the derivative in axes that turn with the frame.
        wanted[..., -3:] -= np.cross(twist[..., :3], twist[..., 3:])
        return wanted - self._chosen(self.system.bias_acceleration(q, v, self.frame), -1)

    def complaint(self, t: float, error: np.ndarray) -> str:
        """Say that the frame does not get where it should."""
        name = f"frame {self.frame!r} of {self.system.mechanism.name!r}"
        if not error.any():
            return f"{name} cannot follow its path at t = {t:.6g} s"
        turn = f" and {np.linalg.norm(error[:3]):.3g} rad" if self.whole else ""
        missing = f"{np.linalg.norm(error[-3:]):.3g} m{turn}"
        return f"{name} cannot reach where its path is at t = {t:.6g} s: it stays {missing} away"

    def _carried(self, goal: ReferenceMotion, q: np.ndarray, motion: np.ndarray) -> np.ndarray:
        """Return a motion of the path in the axes of the frame: from those of ground for a place, and for a pose from
        those of the path, which the frame's differ from where there is an error."""
        R = stacks.transposed(self._pose(q)[0])
        if not self.whole:
            return stacks.apply(R, motion)
        R = R @ rotations(goal.q[..., 3:])
        return np.concatenate([stacks.apply(R, motion[..., :3]), stacks.apply(R, motion[..., 3:])], axis=-1)

    def _pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pose = self.system.pose(q, self.frame)
        matrix = pose if isinstance(pose, np.ndarray) else pose.matrix()
        return matrix[..., :3, :3], matrix[..., :3, 3]

    def _chosen(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Return all six components, or the linear ones, along an axis."""
        return x if self.whole else np.take(x, [3, 4, 5], axis=axis)


class TaskPath:
    """The joints of a system while a frame follows a path: a reference for all of q, found by inverse kinematics.

    `path` gives the frame's place in ground (a reference of three coordinates) or its pose (a `PosePath`). The loops of
    the mechanism stay closed. The branch is that of `guess` (nq,), a configuration near the beginning; the neutral one
    unless given. A path with a known end is followed to its end at once, so that a pose out of reach is found now; the
    others as far as they are asked for. `step` [s] is the distance of the configurations that are kept.
    """

    lasting = True
    """The configurations on the way are found once."""

    def __init__(
        self,
        system: System,
        frame: str,
        path: Reference,
        guess: ArrayLike | None = None,
        step: float | None = None,
    ) -> None:
        as_system(system, "TaskPath")
        known("body or frame", frame, system.plan.body_pose, repr(system.mechanism.name))
        as_reference(path, f"frame {frame!r}", "path")
        self.system, self.frame, self.path = system, frame, path
        self._task = FrameTask(system, frame, path)
        span = getattr(path, "span", None)
        begin = span[0] if span is not None else 0.0
        if step is None:
            step = (span[1] - span[0]) / NODES if span is not None else STEP
        if not is_positive(step):
            raise StateError(f"frame {frame!r}: step is {shown(step)}; give a positive number of seconds.")
        near = (
            system.neutral()
            if guess is None
            else as_configuration(system, guess, f"frame {frame!r}", "guess")
        )
        self._inverse = InverseKinematics(system, self._task, near, begin, step)
        self.end = np.inf if span is None else span[1]
        if span is not None:
            self.at(span[1])

    @cached_property
    def followed(self) -> np.ndarray:
        """Return which velocity components (nv,) have a reference: all."""
        return np.ones(self.system.nv, dtype=bool)

    @cached_property
    def knots(self) -> np.ndarray | None:
        """Return the times (n,) between which it is smooth, and before and after which it rests; None where the path
        has no end."""
        if not np.isfinite(self.end):
            return None
        known, begin, step = in_step(self.path), self._inverse.begin, self._inverse.step
        # What the task leaves free is smooth between the nodes of the inverse kinematics only.
        nodes = begin + step * np.arange(np.ceil((self.end - begin) / step - 1e-9))
        knots = np.concatenate(
            [nodes, [self.end], *(path.times for path, _ in (known.paths if known else ()))]
        )
        return np.clip(knots, begin, self.end)

    @cached_property
    def in_step(self) -> ReferenceInStep | None:
        """Return it for the compiled step, as polynomials that agree to many digits; None where the path has no end,
        or joints have positions whose rates are not their velocities."""
        if not np.isfinite(self.end) or self.system.nq != self.system.nv:
            return None
        assert self.knots is not None
        polynomial = fitted(self.at, self.knots)
        if polynomial is None:
            return None
        return ReferenceInStep(tuple((polynomial, k) for k in range(3)), thirds, self)

    def at(self, t: ArrayLike) -> ReferenceMotion:
        """Return q (..., nq), v (..., nv) and vdot (..., nv); after the end it stands there."""
        times = as_times(t, f"frame {self.frame!r}")
        found = self._inverse.at(np.minimum(times.ravel(), self.end))
        moving = (times.ravel() <= self.end)[:, None]
        kept = (found.q, np.where(moving, found.v, 0.0), np.where(moving, found.vdot, 0.0))
        return ReferenceMotion(*(x.reshape(*times.shape, x.shape[-1]) for x in kept))

    def given(self, t: ArrayLike) -> ReferenceMotion:
        """Return the reference as controllers of single joints take it: the same as `at`."""
        return self.at(t)
