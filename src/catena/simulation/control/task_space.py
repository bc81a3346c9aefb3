"""Control of a frame in space.

Operational-space control: the frame is asked to accelerate by A + kd (V_d - V) + kp e in its own axes, where e is the
way to the pose wanted, and the actuated joints get the forces for it. What the task leaves free (the elbow of a
redundant arm) is brought to rest, or to a posture.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.errors import StateError
from catena.kernels.plain import play
from catena.kinematics.stacks import apply
from catena.mechanism.validation import known
from catena.simulation.acting.symbols import join
from catena.simulation.control.following import paths_of
from catena.simulation.control.forces import forces
from catena.simulation.control.gains import PerJoint, gains
from catena.simulation.control.mechanism_law import mobility, way
from catena.simulation.control.one_call import OneCall
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.control.task_forces import is_moderate, leaves_nothing, task_forces
from catena.simulation.references import Constant, PosePath, Reference, ReferenceMotion, is_reference
from catena.simulation.references.as_polynomial import InputPath
from catena.simulation.references.in_step import in_step
from catena.simulation.references.protocol import as_configuration
from catena.simulation.references.rotation import rotations
from catena.simulation.references.task_path import FrameTask
from catena.spatial import Pose, quaternion
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.system.of_system import as_system
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
        path: Reference | Pose | ArrayLike,
        kp: float,
        kd: float | None = None,
        *,
        posture: ArrayLike | None = None,
        posture_kp: PerJoint = 10.0,
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
        self._has_loops = bool(system.plan.total_constraints)
        self.kp = _gain("kp", kp)
        self.kd = 2.0 * np.sqrt(self.kp) if kd is None else _gain("kd", kd)
        self.damping = _gain("damping", damping)
        self.posture = None if posture is None else as_configuration(system, posture, "TaskSpace", "posture")
        self.posture_kp = gains(system, "TaskSpace", "posture_kp", posture_kp)

        self._constants = join(
            [
                [self.kp, self.kd, self.damping],
                *([] if self.posture is None else [self.posture, self.posture_kp]),
            ]
        )
        self._known = in_step(self.path)
        self._call = OneCall(self, system)

    @cached_property
    def compiles(self) -> bool:
        """Return whether it controls a mechanism of moderate size that a formula tells."""
        return is_moderate(self.system, 6 if self._task.whole else 3)

    @cached_property
    def _is_determined(self) -> bool:
        """Return whether the frame determines all that actuators can do."""
        return self._has_loops and leaves_nothing(self.system, self._task.rows)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("TaskSpace", self.system, system)
        self._call.begin()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._call(t, q, v)

    def _found(
        self, goal: ReferenceMotion, q: np.ndarray, v: np.ndarray, constants: np.ndarray
    ) -> np.ndarray:
        """Return tau (..., nv) by decompositions, which any mechanism allows."""
        task, (kp, kd, damping) = self._task, (constants[..., k : k + 1] for k in range(3))
        rows = task.rows(q)
        wanted = task.acceleration(goal, q, v) + kp * task.error(goal, q)
        wanted = wanted + kd * (task.rate(goal, q) - apply(rows, v))
        rest = -damping * v
        if self.posture is not None:
            posture, gain = np.split(constants[..., 3:], [self.system.nq], axis=-1)
            rest = rest + gain * self.system.difference(q, np.broadcast_to(posture, np.shape(q)))
        return forces(self.system, q, v, rows, wanted, rest, SINGULAR, task.units)

    # The law, where it compiles.

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the path, the gains and the posture: they are data, so that others compile nothing."""
        constants = self._constants if np.ndim(t) == 0 else self._constants[..., None, :]
        along = self._task.goal(t) if self._known is None else [self._known.table.at(t)]
        return join([*along, constants])

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the path, the gains and the posture as polynomials, where the path is made of such."""
        return paths_of(self._known, self._constants)

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau (..., nv) from the state, the path and the gains."""
        count = self._constants.shape[-1]
        along, constants = inputs[..., :-count], inputs[..., -count:]
        if self._known is None:
            size = 3 if not self._task.whole else 7
            rate = 3 if not self._task.whole else 6
            goal = ReferenceMotion(
                along[..., :size], along[..., size : size + rate], along[..., size + rate :]
            )
        else:
            goal = ReferenceMotion(*self._known.motion(t, along))
        if not is_symbolic(q):
            return self._found(goal, q, v, constants), memory
        return self._in_symbols(goal, q, v, constants), memory

    def _in_symbols(self, goal: ReferenceMotion, q: Any, v: Any, constants: Any) -> np.ndarray:
        """Return tau (nv,) as a formula."""
        system, task, nq = self.system, self._task, self.system.nq
        plan, frame = system.plan, system.plan.body_pose[self.frame]
        kp, kd, damping = (constants[k : k + 1] for k in range(3))
        pose = play(kinematics.frame_pose, plan, plan.gravity, {"q": q}, frame)["pose_of_frame"]
        R, p = pose[:9].reshape(3, 3), pose[9:]
        J = play(kinematics.jacobian, plan, plan.gravity, {"q": q}, frame)["J"]
        bias = play(kinematics.frame_bias_acceleration, plan, plan.gravity, {"q": q, "qd": v}, frame)
        twist = J @ v
        wanted = place_acceleration(goal, R, twist) - bias["acceleration"][3:]
        wanted = wanted + kp * (R @ (goal.q[:3] - p)) + kd * (place_rate(goal, R) - twist[3:])
        if task.whole:
            turn = R @ rotations(goal.q[3:])
            spin = turn @ goal.vdot[:3] - bias["acceleration"][:3]
            spin = (
                spin
                + kp * quaternion.log(quaternion.from_rotation(turn))
                + kd * (turn @ goal.v[:3] - twist[:3])
            )
            wanted = np.concatenate([spin, wanted])
        rest = -damping * v
        if self.posture is not None:
            rest = rest + constants[3 + nq :] * way(system, q, constants[3 : 3 + nq])
        return task_forces(
            mobility(system, q, v), J if task.whole else J[3:], wanted, None if self._is_determined else rest,
            task.units.tolist(), SINGULAR, np.flatnonzero(plan.actuated).tolist(), self._has_loops,
        )  # fmt: skip


def place_rate(goal: ReferenceMotion, R: Any) -> Any:
    """Return the velocity of a path's origin in the axes of a frame, R from ground's to these."""
    if len(goal.v) == 3:
        return R @ goal.v
    return R @ rotations(goal.q[3:]) @ goal.v[3:]


def place_acceleration(goal: ReferenceMotion, R: Any, twist: Any) -> Any:
    """Return the derivative of that in the axes of a frame that moves with this twist."""
    if len(goal.v) == 3:
        wanted = R @ goal.vdot
    else:
        wanted = R @ rotations(goal.q[3:]) @ (goal.vdot[3:] + np.cross(goal.v[:3], goal.v[3:]))
    return wanted - np.cross(twist[:3], twist[3:])


def _gain(what: str, value: Any) -> float:
    try:
        gain = real_number(value)
    except ValueError as error:
        raise StateError(f"TaskSpace: {what} is {shown(value)} ({error}); give a number.") from error
    if not (np.isfinite(gain) and gain >= 0.0):
        raise StateError(f"TaskSpace: {what} is {gain}; give a finite number, 0 or more.")
    return gain
