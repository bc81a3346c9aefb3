"""What acts on a mechanism during a run: a controller behind actuators with limits, the mechanism's own springs, stops
and wrenches, wrenches as functions of time, and joints whose motion is prescribed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.errors import SimulationError, StateError
from catena.mechanism.validation import known
from catena.simulation import loads
from catena.system import System

Control = Callable[[float, np.ndarray, np.ndarray], Any]


class Acting:
    """The forces on a batch of states of one system. `batch` is the shape that controllers see."""

    def __init__(
        self,
        system: System,
        batch: tuple[int, ...],
        control: Control | None,
        forces: Mapping[str, Callable[[float], Any]] | None,
        motion: Mapping[str, Any] | None,
    ) -> None:
        self.system, self.batch, self.control = system, batch, control
        self.forces = dict(forces or {})
        self.motion = dict(motion or {})
        self.rate: float | None = getattr(control, "rate", None)
        self.low, self.high = _limits(system)
        for frame in self.forces:
            known("frame", frame, list(system.plan.body_pose), "forces")
        for joint in self.motion:
            known("joint", joint, system.joints, "motion")
        self.driven = np.array(
            [k for joint in self.motion for k in range(system.nv)[system.slice_v(joint)]], dtype=int
        )
        self.has_elements = not system.elements.is_empty
        start = getattr(control, "start", None)
        if start is not None:
            start(system, batch)

    @property
    def is_continuous(self) -> bool:
        """Whether something changes within a step that only Python can tell."""
        return (self.control is not None and self.rate is None) or bool(self.forces) or bool(self.motion)

    def command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the controller gives for the states q (states, nq), v (states, nv) within the limits of the actuators,
        (states, nv)."""
        nv = self.system.nv
        if self.control is None:
            return np.zeros((len(q), nv))
        batch = self.batch if len(q) == int(np.prod(self.batch)) else (len(q),)
        given = np.asarray(
            self.control(t, q.reshape(*batch, q.shape[-1]), v.reshape(*batch, nv)), dtype=np.float64
        )
        if given.shape[-1:] != (nv,):
            raise SimulationError(
                f"The controller gave shape {given.shape} at t = {t:.9g} s; it must end in {nv}, one for each velocity "
                f"component of the joints {', '.join(self.system.joints[:8])}."
            )
        try:
            tau = np.array(np.broadcast_to(given, (*batch, nv)).reshape(-1, nv))
        except ValueError as error:
            raise SimulationError(
                f"The controller gave shape {given.shape} at t = {t:.9g} s; it must fit to {(*batch, nv)}."
            ) from error
        if not np.isfinite(tau).all():
            component = int(np.argwhere(~np.isfinite(tau))[0][1])
            raise SimulationError(
                f"The controller gave {tau[~np.isfinite(tau)][0]} for joint {joint_of(self.system, component)!r} at "
                f"t = {t:.9g} s; the trajectory so far is in the attribute `trajectory` of this error."
            )
        return np.clip(tau, self.low, self.high)

    def wrenches(self, t: float) -> dict[str, np.ndarray]:
        """The wrenches that are functions of time, (6,) each or (states, 6)."""
        found = {}
        for frame, force in self.forces.items():
            wrench = np.asarray(force(t), dtype=np.float64)
            if wrench.shape[-1:] != (6,) or not np.isfinite(wrench).all():
                raise SimulationError(
                    f"The wrench on {frame!r} is {wrench.tolist()} at t = {t:.9g} s; give six finite numbers, moment "
                    f"and force."
                )
            found[frame] = wrench
        return found

    def prescribed(self, t: float) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Position, velocity and acceleration of the joints whose motion is prescribed."""
        found = {}
        for joint, motion in self.motion.items():
            parts = motion.at(t) if hasattr(motion, "at") else motion(t)
            try:
                q, v, vdot = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in parts)
            except (TypeError, ValueError) as error:
                raise SimulationError(
                    f"The motion of joint {joint!r} at t = {t:.9g} s is {parts!r}; give position, velocity and "
                    f"acceleration."
                ) from error
            sizes = (
                len(range(self.system.nq)[self.system.slice_q(joint)]),
                len(range(self.system.nv)[self.system.slice_v(joint)]),
            )
            if (q.shape[-1], v.shape[-1], vdot.shape[-1]) != (*sizes, sizes[1]):
                raise SimulationError(
                    f"The motion of joint {joint!r} has {q.shape[-1]}, {v.shape[-1]} and {vdot.shape[-1]} components; "
                    f"it needs {sizes[0]}, {sizes[1]} and {sizes[1]}."
                )
            if not all(np.isfinite(x).all() for x in (q, v, vdot)):
                raise SimulationError(f"The motion of joint {joint!r} is not finite at t = {t:.9g} s.")
            found[joint] = (q, v, vdot)
        return found

    def impose(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states with the prescribed joints where they must be."""
        if not self.motion:
            return q, v
        q, v = q.copy(), v.copy()
        for joint, (q_joint, v_joint, _) in self.prescribed(t).items():
            q[:, self.system.slice_q(joint)] = q_joint
            v[:, self.system.slice_v(joint)] = v_joint
        return q, v

    def accelerations(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The accelerations (states, nv) under the control forces tau and everything else."""
        given, f_ext = tau, None
        if self.has_elements or self.forces:
            given, f_ext = loads.acting(self.system, q, v, tau, self.wrenches(t))
        if self.motion:
            vdot = {joint: parts[2] for joint, parts in self.prescribed(t).items()}
            return self.system.hybrid_dynamics(q, v, given, vdot, f_ext=f_ext)[0]
        if f_ext is None and len(q) == 1:
            # One state takes the short way.
            return self.system.forward_dynamics(q[0], v[0], given[0])[None]
        return self.system.forward_dynamics(q, v, given, f_ext=f_ext)


def joint_of(system: System, component: int) -> str:
    """The joint that a velocity component belongs to."""
    return next(j for j in system.joints if component in range(system.nv)[system.slice_v(j)])


def _limits(system: System) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest joint forces (nv,) that the actuators can give; two motors at one joint add up."""
    low, high = np.zeros(system.nv), np.zeros(system.nv)
    driven = np.zeros(system.nv, dtype=bool)
    for actuator in system.mechanism.actuators.values():
        if actuator.joint not in system.joints:
            continue
        for component, (least, most) in zip(actuator.components, actuator.joint_limits, strict=True):
            k = range(system.nv)[system.slice_v(actuator.joint)][component]
            low[k] += least
            high[k] += most
            driven[k] = True
    return np.where(driven, low, -np.inf), np.where(driven, high, np.inf)


def check_control(control: Any) -> None:
    """Refuse what cannot be asked."""
    if control is not None and not callable(control):
        raise StateError(f"control is {control!r}; give a function of (t, q, v), or a controller.")
