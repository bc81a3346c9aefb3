"""A phase of a motion, in which nothing of the structure changes: its system, how long it lasts and what is asked of
it, checked and made a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.flying.independent import Independent, choose_independent, follow_independent
from catena.kernels import arrays
from catena.mechanism.validation import known
from catena.planning import goals
from catena.planning.closed_plan import choose_plan
from catena.planning.formulas import loop_places
from catena.planning.objectives import Expression
from catena.planning.task import MotionTask
from catena.spatial import Pose
from catena.system import System
from catena.system.load_friction import require_none
from catena.validation import can_take, entries, is_count, is_finite, is_positive, shown

# A motion may begin with loops open by this [rad, m, rad/s, m/s], as rounding and projection have it.
OPEN = 1e-6


@dataclass(frozen=True, eq=False)
class MotionPhase:
    """One phase of a motion over changes of the structure, as `plan_motions` joins them: the `system` that moves then,
    how long that lasts, and what is asked of it in the words of `plan_motion`. `attitude` counts from where the whole
    motion begins, times of `track` from the beginning of the phase. Of phases that others follow nothing is asked to
    `rest` in the end unless that is said. `near` is a configuration (nq,) of its system to look near to for the place
    where the structure changes to it."""

    system: System
    duration: float | tuple[float, float]
    frame: str | None = None
    reach: Pose | ArrayLike | None = None
    reach_attitude: Pose | ArrayLike | None = None
    reach_twist: ArrayLike | None = None
    track: Callable[[float], ArrayLike] | None = None
    track_from: float = 0.0
    end: Mapping[str, ArrayLike] | None = None
    rest: bool | str | Iterable[str] | None = None
    rates: float | Mapping[str, float] | None = None
    torques: float | Mapping[str, float] | None = None
    attitude: float | Mapping[str, float] | None = None
    momentum: ArrayLike | None = None
    independent: Iterable[str] | None = None
    nodes: int = 25
    near: ArrayLike | None = None

    def task(
        self,
        objective: str | Expression,
        q: np.ndarray,
        v: np.ndarray,
        origin: tuple[System, np.ndarray] | None = None,
    ) -> MotionTask:
        """Return the task of a phase that begins at q (nq,) with v (nv,), or near there if the motion has another
        `origin`, without what is asked of it."""
        spans = _spans(self.duration, objective, self.track)
        self._check(spans)
        system = self.system
        chosen = _independent(system, q, v, self.independent)
        if not len(chosen.components):
            raise StateError(
                f"plan_motion: nothing of {system.mechanism.name!r} can move; unlock a joint, or detach what holds it."
            )
        return MotionTask(system, spans, int(self.nodes), q, v, chosen, origin)

    def ask(self, task: MotionTask, rest: bool = True) -> None:
        """Ask a task for everything that the phase is to do; `rest` says whether it ends at rest unless it says so
        itself."""
        system, frame = self.system, self.frame
        task.move()
        task.keep_within(self.rates)
        task.drive(self.torques)
        if self.attitude is not None:
            goals.keep_attitude(task, self.attitude)
        if self.momentum is not None:
            goals.keep_momentum(task, self.momentum)
        for joint, position in ({} if self.end is None else self.end).items():
            joints = (*system.joints, *loop_places(system))
            goals.end_at(task, known("joint", joint, joints, "plan_motion"), position)
        if frame is not None:
            goals.reach(task, frame, self.reach, self.reach_attitude, self.reach_twist)
            goals.track(task, frame, self.track, float(self.track_from))
        moves = self.track is not None or self.reach_twist is not None
        still = self.rest if self.rest is not None else (rest and not moves)
        if still is not False:
            goals.rest(task, still)

    def _check(self, spans: tuple[float, float]) -> None:
        """Complain about what is no task."""
        require_none(self.system, "plan_motion")
        if not is_count(self.nodes) or self.nodes < 3:
            raise StateError(f"plan_motion: nodes is {shown(self.nodes)}; give at least 3 nodes.")
        if not is_finite(self.track_from):
            raise StateError(f"plan_motion: track_from is {shown(self.track_from)}; give a time.")
        if self.rest is not None and not isinstance(self.rest, bool | np.bool_ | str | Iterable):
            raise StateError(
                f"plan_motion: rest is {shown(self.rest)}; give True, False, 'all', names of joints, or None."
            )
        if self.track is not None and not can_take(self.track, "t"):
            raise StateError(f"plan_motion: track is {shown(self.track)}; give a function of t.")
        if self.track is not None and self.track_from > spans[1]:
            raise StateError(
                f"plan_motion: from {self.track_from:g} s on nothing is tracked in {spans[1]:g} s; let track_from be "
                "less."
            )
        if self.end is not None and not isinstance(self.end, Mapping):
            raise StateError(
                f"plan_motion: end is {shown(self.end)}; give a mapping from joints to positions."
            )
        goal_names = ("reach", "reach_attitude", "reach_twist", "track")
        asked = [name for name in goal_names if getattr(self, name) is not None]
        if self.frame is not None:
            known("body or frame", self.frame, self.system.plan.body_pose, "plan_motion")
        if self.frame is None and asked:
            raise StateError("plan_motion: something is to be reached or tracked, but no frame was named.")
        if self.frame is not None and not asked:
            raise StateError(
                f"plan_motion: nothing is asked of {self.frame!r}; give reach, reach_attitude, reach_twist or track."
            )


def _spans(duration: Any, objective: str | Expression, track: Any) -> tuple[float, float]:
    """Return the shortest and the longest duration, or the complaint that they are none."""
    try:
        span = entries(duration) if not is_positive(duration) else (duration, duration)
    except ValueError:
        span = (duration,)
    if len(span) != 2 or not all(is_positive(x) for x in span) or span[0] > span[1]:
        raise StateError(
            f"plan_motion: duration is {shown(duration)}; give a positive time, or the shortest and the longest."
        )
    if span[0] < span[1] and track is not None:
        raise StateError("plan_motion: what is tracked depends on time; give one duration.")
    if isinstance(objective, str) and objective == "time" and not span[0] < span[1]:
        raise StateError(
            f"plan_motion: time cannot be least in {shown(duration)} s; give the shortest and the longest duration."
        )
    return float(span[0]), float(span[1])


def _independent(system: System, q: np.ndarray, v: np.ndarray, names: Iterable[str] | None) -> Independent:
    """Return the independent components of a motion that begins at a state, which must be one of the closed
    mechanism."""
    if not choose_plan(system, q).total_constraints:
        if names is not None and {*arrays.as_list("independent", names, str, "joints")} != set(system.joints):
            raise StateError(
                f"plan_motion: {system.mechanism.name!r} has no loops, so all its joints are independent; leave out "
                "independent."
            )
        return Independent(np.arange(system.nv), np.zeros(0, dtype=np.int64))
    errors = system.closure(q, v)
    if max(float(np.abs(x).max(initial=0.0)) for x in errors) > OPEN:
        raise StateError(
            f"plan_motion: {system.mechanism.name!r} begins with loops that are open by {np.abs(errors[0]).max():.2g} "
            f"[rad or m] and open at {np.abs(errors[1]).max():.2g} [rad/s or m/s]; begin closed, by s.assemble."
        )
    chosen = choose_independent(system, q, names)
    follow_independent(system.closure_jacobian(q), chosen, "plan_motion")
    return chosen
