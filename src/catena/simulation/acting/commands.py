"""What controllers give: joint forces as arrays or by joint, checked, with words for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.errors import SimulationError
from catena.questions.actuator_limits import ActuatorLimits
from catena.simulation.stepping.faults import joint_of
from catena.system import System, tree_forces
from catena.validation import real_array, shown


def forces_given(
    system: System, control: Any, t: float, answer: Any, batch: tuple[int, ...]
) -> tuple[np.ndarray, str]:
    """Return forces (states, nv) from what a controller gave at a time for states of the shape `batch`, and words if
    some of them are not finite."""
    nv, name = system.nv, getattr(control, "__name__", "")
    wanted = f"one for each velocity component of the joints {', '.join(system.joints[:8])}"
    who = f"The controller {name!r}" if name and name != "<lambda>" else "The controller"
    try:
        answer = real_array(answer if answer is not None else "nothing")
    except ValueError:
        raise SimulationError(
            f"{who} gave {shown(answer)} at t = {t:.9g} s; it must give numbers, {wanted}."
        ) from None
    if answer.shape[-1:] != (nv,):
        raise SimulationError(
            f"{who} gave shape {answer.shape} at t = {t:.9g} s; it must end in {nv}, {wanted}."
        )
    try:
        tau = np.array(np.broadcast_to(answer, (*batch, nv)).reshape(-1, nv))
    except ValueError as error:
        raise SimulationError(
            f"The controller gave shape {answer.shape} at t = {t:.9g} s; it must fit to {(*batch, nv)}."
        ) from error
    if np.isfinite(tau).all():
        return tau, ""
    component = int(np.argwhere(~np.isfinite(tau))[0][1])
    return tau, (
        f"The controller gave {tau[~np.isfinite(tau)][0]} for joint {joint_of(system, component)!r} at t = {t:.9g} s; "
        f"the trajectory so far is in the attribute `trajectory` of this error."
    )


def forces_by_name(
    system: System, forces: Mapping[str, Any], q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return forces (..., nv) at joints of the tree from those given by joint at q (..., nq) and v (..., nv), and
    those at loop joints by joint, (..., nv of the joint), within the limits of their actuators."""
    own = {joint: x for joint, x in forces.items() if joint not in system.loops}
    closing = {joint: x for joint, x in forces.items() if joint in system.loops}
    for motor in system.mechanism.actuators.values():
        if motor.joint in closing:
            at = list(motor.components)
            rate = system.joint_velocity(q, v, motor.joint)
            force = np.atleast_1d(real_array(closing[motor.joint]))
            force = np.array(np.broadcast_to(force, np.broadcast_shapes(force.shape, rate.shape)))
            low, high = motor.joint_limits.T
            limits = ActuatorLimits(low, high, motor.joint_speed)
            force[..., at] = limits.limited(force[..., at], rate[..., at])
            closing[motor.joint] = force
    at_tree = tree_forces(system, q, own) if own else np.zeros(system.nv)
    if closing:
        # What is wrong with forces at loop joints is said as for those of the tree.
        tree_forces(system, q, closing)
    return at_tree, {joint: np.atleast_1d(real_array(x)) for joint, x in closing.items()}


def require_actuated(system: System, t: float, tau: np.ndarray, idle_at_loops: Sequence[str]) -> None:
    """Refuse forces tau (states, nv), or those at loop joints, where joints are not actuated. What comes there later
    on, the audit tells: no run is lost for it."""
    for joint in idle_at_loops:
        raise SimulationError(
            f"The controller gave a force for joint {joint!r} at t = {t:.9g} s, which is not actuated: add the "
            f"joint with actuated=True, or let the controller give zero."
        )
    actuated = system.plan.actuated
    for component in np.flatnonzero(~actuated & np.any(tau != 0.0, axis=0)):
        force = tau[np.flatnonzero(tau[:, component])[0], component]
        joint = joint_of(system, int(component))
        own = system.slice_v(joint)
        part = f"component {component - own.start} of " if actuated[own].any() else ""
        raise SimulationError(
            f"The controller gave {force:.6g} for {part}joint {joint!r} at t = {t:.9g} s, which is not actuated: add "
            f"the joint with actuated=True, or let the controller give zero."
        )
