"""Proportional, integral and derivative control of joints.

    u = bias + kp e + kd (v_d - v) + z,    tau = u within the limits,    z(next) = z + dt (ki e + correction)

e leads from the position to the reference on the manifold of the joint, the derivative acts on the measured velocity
(and its reference), and the memory z is the integral part as a force. Against wind-up the integral stops while tau is
at a limit and the error drives it further (clamping), or u - tau is led back to zero with a time constant
(back-calculation, correction = (tau - u) / tracking).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.joints import JointKind
from catena.simulation.acting.symbols import both, join, less, maximum, minimum, where
from catena.simulation.control.following import Ahead, FollowedMotion, as_path, known_in_step, paths_of
from catena.simulation.control.gains import PerJoint, components, effort_limits, gains
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.control.remembered import Remembered
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.system.of_system import as_system
from catena.validation import entries, is_finite, is_one_of, shown

WINDUP = ("clamping", "back_calculation", "none")
# Stands for no limit in formulas, where infinity is an error.
UNLIMITED = 1e300


class PID(Controller):
    """PID control of joints, with limits and without wind-up; PD control with ki = 0.

    `reference` is a mapping {joint: position or reference}, a `JointPath`, or a `TaskPath`; controlled are the joints
    named, or those of `joints`, by default all actuated ones that the reference knows. `kp`, `ki`, `kd` and `bias` (a
    constant force, where the integral begins) are numbers, mappings by joint, or (nv,); with (..., nv) every state of
    a batch has its own. `limits` are those of the mechanism's actuators, unless numbers, pairs or a mapping of them are
    given; None for no limits. `anti_windup` is "clamping", "back_calculation" (with the time constant `tracking` [s],
    kp / ki unless given) or "none". `rate` is the sampling rate [Hz]; without integral it may be None: continuous.
    """

    def __init__(
        self,
        system: System,
        reference: FollowedMotion,
        kp: PerJoint = 0.0,
        ki: PerJoint = 0.0,
        kd: PerJoint = 0.0,
        *,
        bias: PerJoint = 0.0,
        joints: Iterable[str] | None = None,
        limits: PerJoint | None = "actuators",
        anti_windup: str = "clamping",
        tracking: float | None = None,
        rate: float | None = 1000.0,
    ) -> None:
        self.system = as_system(system, "PID")
        self.path = as_path(system, "PID", reference)
        self.rate = checked_rate(rate, "PID")
        self._joints = self._controlled(joints)
        self._at = np.concatenate([np.arange(system.nv)[system.slice_v(j)] for j in self._joints])
        self._at_q = np.concatenate([np.arange(system.nq)[system.slice_q(j)] for j in self._joints])
        self._is_whole = len(self._at) == system.nv and bool(system.plan.actuated.all())
        self.kp, self.ki, self.kd = (
            gains(system, "PID", name, value)[..., self._at]
            for name, value in (("kp", kp), ("ki", ki), ("kd", kd))
        )
        self.bias = components(system, "PID", "bias", bias)[..., self._at]
        low, high = effort_limits(system, "PID", limits)
        self.limited = bool(
            np.isfinite(np.concatenate([low, high])[[*self._at, *self._at + system.nv]]).any()
        )
        self.low, self.high = np.maximum(low, -UNLIMITED)[self._at], np.minimum(high, UNLIMITED)[self._at]
        self.integral = bool(self.ki.any())
        if self.integral and self.rate is None:
            raise StateError(
                "PID: an integral adds up samples, so it needs a rate: give rate=1000.0, or ki=0."
            )
        if not is_one_of(anti_windup, WINDUP):
            raise StateError(f"PID: anti_windup is {shown(anti_windup)}; choose {', '.join(WINDUP)}.")
        self.anti_windup = anti_windup if self.limited else "none"
        self._per_tracking = self._tracking(tracking)
        self._kinds = self._curved()
        constants = (self.kp, self.ki, self.kd, self.bias, self.low, self.high, self._per_tracking)
        self._constants = join(constants)
        self._ahead = Ahead(self.path, self.path.given, self.rate)
        self._known = known_in_step(self.path)
        self._remembered = Remembered()

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("PID", self.system, system)
        self._remembered.forget()
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._remembered.call(self, self.memory(self.system), t, q, v)

    # The law.

    def memory(self, system: System) -> int:
        """Return how many integrals there are."""
        return len(self._at) if self.integral else 0

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the reference of the controlled joints, gains and limits: they are data, so that other gains
        compile nothing."""
        constants = self._constants if np.ndim(t) == 0 else self._constants[..., None, :]
        if self._known is not None:
            return join([self._known.table.at(t), constants])
        q_d, v_d, _ = self._ahead.at(t)
        return join([q_d[..., self._at_q], v_d[..., self._at], constants])

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return references, gains and limits as polynomials, where the references are made of such."""
        return paths_of(self._known, self._constants)

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau (..., nv) and the next integrals."""
        n, nq = len(self._at), len(self._at_q)
        along, rest = inputs[..., : -7 * n], inputs[..., -7 * n :]
        kp, ki, kd, bias, low, high, per_tracking = (rest[..., k * n : (k + 1) * n] for k in range(7))
        if self._known is None:
            q_d, v_d = along[..., :nq], along[..., nq:]
        else:
            q_all, v_all, _ = self._known.motion(t, along)
            q_d, v_d = self._of(q_all, self._at_q), self._of(v_all, self._at)
        e = self._error(q, q_d)
        u = bias + kp * e + kd * (v_d - self._of(v, self._at))
        if self.integral:
            u = u + memory
        tau = minimum(maximum(u, low), high) if self.limited else u
        if self.integral:
            dt = 1.0 / float(self.rate or 1.0)
            step = ki * e
            if self.anti_windup == "clamping":
                step = where(both(less(u, low), less(step, 0.0)), 0.0, step)
                step = where(both(less(high, u), less(0.0, step)), 0.0, step)
            elif self.anti_windup == "back_calculation":
                step = step + (tau - u) * per_tracking
            memory = memory + dt * step
        return self._spread(tau), memory

    def _error(self, q: Any, q_d: Any) -> Any:
        """Return the way from the controlled joints to their reference, (..., n)."""
        if not self._kinds:
            return q_d - self._of(q, self._at_q)
        if is_symbolic(q) or is_symbolic(q_d):
            at, parts = 0, []
            for joint, kind in self._kinds:
                here = self.system.slice_q(joint)
                parts.append(kind.difference(q[here], q_d[at : at + kind.nq]))
                at += kind.nq
            return join(parts)
        batch = np.broadcast_shapes(q.shape[:-1], q_d.shape[:-1])
        goal = np.broadcast_to(q, (*batch, self.system.nq)).copy()
        goal[..., self._at_q] = q_d
        return self.system.difference(q, goal)[..., self._at]

    def _of(self, x: Any, at: np.ndarray) -> Any:
        """Return the coordinates or components of the controlled joints."""
        return x if self._is_whole else x[..., at]

    def _spread(self, tau: Any) -> Any:
        """Return the forces of the controlled joints among those of all, (..., nv)."""
        if self._is_whole:
            return tau
        whole = np.zeros((*tau.shape[:-1], self.system.nv), dtype=tau.dtype)
        powered = self.system.plan.actuated[self._at]
        # Of a joint that motors drive in part the other components get nothing.
        whole[..., self._at[powered]] = tau[..., powered]
        return whole

    # What was asked for.

    def _controlled(self, joints: Iterable[str] | None) -> list[str]:
        system, chosen = self.system, []
        actuated = system.plan.actuated
        if joints is not None:
            try:
                named = list(entries(joints))
            except ValueError as error:
                raise StateError(
                    f"PID: joints is {shown(joints)} ({error}); give a list of joints."
                ) from error
        else:
            named = [
                j for j in system.joints
                if self.path.followed[system.slice_v(j)].any() and actuated[system.slice_v(j)].any()
            ]  # fmt: skip
        for joint in named:
            where = system.slice_v(joint)
            if where.start == where.stop:
                continue
            if not actuated[where].any():
                raise StateError(
                    f"PID: joint {joint!r} is not actuated; control joints that have an actuator."
                )
            if not self.path.followed[where].all():
                raise StateError(
                    f"PID: joint {joint!r} has no reference; name it in the reference, or leave it out."
                )
            chosen.append(joint)
        if not chosen:
            raise StateError(
                f"PID: there is nothing to control in {system.mechanism.name!r}: none of the joints with a reference "
                f"is actuated."
            )
        return sorted(set(chosen), key=lambda joint: system.slice_v(joint).start)

    def _curved(self) -> list[tuple[str, JointKind]]:
        """Return all controlled joints with their kinds if the way to the reference is not simply a difference for
        one."""
        plan = self.system.plan
        kinds = [(joint, plan.kind[plan.joint.index(joint)]) for joint in self._joints]
        known = [(joint, kind) for joint, kind in kinds if kind is not None]
        return known if any(kind.nq != kind.nv or not is_flat(kind) for _, kind in known) else []

    def _tracking(self, tracking: float | None) -> np.ndarray:
        """Return one over the time constants of back-calculation, (..., n)."""
        if tracking is not None and not is_finite(tracking):
            raise StateError(f"PID: tracking is {shown(tracking)}; give a time in seconds.")
        if self.anti_windup != "back_calculation" or not self.integral:
            return np.zeros(len(self._at))
        period = 1.0 / float(self.rate or 1.0)
        if tracking is not None:
            if not (is_finite(tracking) and tracking >= period):
                raise StateError(
                    f"PID: tracking is {shown(tracking)}; give a time of at least one sampling period, {period:g} s."
                )
            return np.full(len(self._at), 1.0 / tracking)
        if (self.kp[self.ki > 0.0] == 0.0).any() if self.kp.shape == self.ki.shape else not self.kp.all():
            raise StateError(
                "PID: kp is zero where ki is not, so back-calculation needs the time tracking= [s]."
            )
        return np.minimum(self.ki / np.where(self.kp > 0.0, self.kp, 1.0), 1.0 / period)


def is_flat(kind: JointKind) -> bool:
    """Return whether positions of a kind are subtracted like numbers."""
    return type(kind).difference is JointKind.difference
