"""Control of a frame in space.

Operational-space control: the frame is asked to accelerate by A + kd (V_d - V) + kp e in its own axes, where e is the
way to the pose wanted, and the actuated joints get the forces for it. What the task leaves free (the elbow of a
redundant arm) is brought to rest, or to a posture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kinematics.stacks import apply
from catena.mechanism.validation import known
from catena.simulation.control.forces import forces
from catena.simulation.control.gains import gains
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references import Constant, PosePath, is_reference
from catena.simulation.references.protocol import as_configuration, as_system
from catena.simulation.references.task_path import FrameTask
from catena.spatial import Pose
from catena.system import System
from catena.validation import real_number, shown

# Directions in which the frame moves less than this part as easily as in the best one are damped.
SINGULAR = 1e-3


class TaskSpace(Controller):
    """Makes a frame follow a path, with errors that decay with kp [1/s^2] and kd [1/s] in its own axes.

    `path` is a reference of three coordinates (a place), a `PosePath`, a `Pose`, or three numbers. kd is 2 sqrt(kp)
    unless given. Joints that the task leaves free are led to `posture` (nq,) with the gain `posture_kp`, and brought to
    rest with `damping` [1/s]. Loops are respected, and only actuated joints get forces.
    """

    def __init__(
        self,
        system: System,
        frame: str,
        path: Any,
        kp: float,
        kd: float | None = None,
        *,
        posture: Any = None,
        posture_kp: Any = 10.0,
        damping: float = 5.0,
        rate: float | None = None,
    ) -> None:
        as_system(system, "TaskSpace")
        known("body or frame", frame, system.plan.body_pose, repr(system.mechanism.name))
        self.system, self.frame = system, frame
        self.rate = checked_rate(rate, "TaskSpace")
        if isinstance(path, Pose):
            path = PosePath(path.p, path.quat)
        self.path = path if is_reference(path) else Constant(path)
        self._task = FrameTask(system, frame, self.path)
        self.kp = _gain("kp", kp)
        self.kd = 2.0 * np.sqrt(self.kp) if kd is None else _gain("kd", kd)
        self.damping = _gain("damping", damping)
        self.posture = None if posture is None else as_configuration(system, posture, "TaskSpace", "posture")
        self.posture_kp = gains(system, "TaskSpace", "posture_kp", posture_kp)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("TaskSpace", self.system, system)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        task, goal = self._task, self._task.goal(t)
        rows = task.rows(q)
        wanted = task.acceleration(goal, q, v) + self.kp * task.error(goal, q)
        wanted = wanted + self.kd * (task.rate(goal, q) - apply(rows, v))
        rest = -self.damping * v
        if self.posture is not None:
            rest = rest + self.posture_kp * self.system.difference(q, self.posture)
        return forces(self.system, q, v, rows, wanted, rest, SINGULAR)


def _gain(what: str, value: Any) -> float:
    try:
        gain = real_number(value)
    except ValueError as error:
        raise StateError(f"TaskSpace: {what} is {shown(value)} ({error}); give a number.") from error
    if not (np.isfinite(gain) and gain >= 0.0):
        raise StateError(f"TaskSpace: {what} is {gain}; give a finite number, 0 or more.")
    return gain
