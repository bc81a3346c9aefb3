"""What formats that say trees share when they are written beside a side file: which joints that file names, and what
of actuators, couplings and friction stands in the format itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.forces import JointFriction
from catena.formats.findings import NamedParts
from catena.joints.contract import FREE
from catena.mechanism import Actuator, Coupling, LinearCoupling, Mechanism

SIDE = ".loops.toml"
"""The ending of the side file."""
EARTH = (0.0, 0.0, -9.81)
"""The gravity that files mean which say nothing about it."""


def with_friction_apart(
    mechanism: Mechanism, lost: NamedParts, types: tuple[str, ...] = (FREE,)
) -> Mechanism:
    """Return the mechanism with forces that do what joints of some simple motions do by damping and friction: a
    floating joint of URDF has a place and nothing else, nor has a ball of SDF, and the side file has the forces."""
    changed = mechanism.copy()
    for joint in mechanism.joints.values():
        if not any(map(joint.kind.consists_of, types)):
            continue
        if joint.kind.is_floating and (joint.armature is not None or joint.limits is not None):
            lost.add("armature and limits of the free joints", joint.name)
        if joint.damping.any() or joint.friction.any():
            friction = JointFriction(tuple(joint.damping), tuple(joint.friction))
            name = f"{joint.name} friction"
            while name in changed.force_elements:
                name += "'"
            changed = changed.with_joint(joint.name, damping=0.0, friction=0.0)
            changed.add_force(name, friction, joint=joint.name)
    return changed


def referred_joints(mechanism: Mechanism) -> set[str]:
    """Return the joints that the side file names, which therefore have to be there under their own name."""
    named = {force.at_joint for force in mechanism.force_elements.values() if force.at_joint is not None}
    named |= {actuator.joint for actuator in mechanism.actuators.values()}
    named |= {joint for coupling in mechanism.couplings.values() for joint in coupling.joints}
    states = (mechanism.initial, *mechanism.states.values())
    return named | {name for state in states for name in (*state.q, *state.v)}


def is_plain_limit(mechanism: Mechanism, actuator: Actuator) -> bool:
    """Return whether an actuator is no more than a limit of the effort of its joint, which is all that URDF says."""
    joint = mechanism.joints[actuator.joint]
    low, high = actuator.limits[0]
    is_alone = actuator.name == actuator.joint and joint.kind.nv == 1 and actuator.gear[0] == 1.0
    return bool(is_alone and low == -high and 0.0 < high < np.inf and np.isinf(actuator.no_load_speed[0]))


def mimics_of(mechanism: Mechanism, said: set[str]) -> dict[str, Any]:
    """Return the couplings that a <mimic> can say, by the joint that follows: the other joint, multiplier and offset.
    Both joints must be among those that are `said`, in the file by themselves."""
    found: dict[str, Any] = {}
    for coupling in mechanism.couplings.values():
        if isinstance(coupling, LinearCoupling) and len(coupling.coefficients) == 2:
            (joint, own), (other, factor) = coupling.coefficients.items()
            is_said = joint in said and other in said and joint not in found
            if is_said and coupling.name == f"{joint} mimics {other}" and own == 1.0:
                found[joint] = other, -factor, coupling.offset
    return found


def is_mimic(coupling: Coupling, mimics: dict[str, Any]) -> bool:
    """Return whether a <mimic> says a coupling."""
    joint = coupling.joints[0]
    return joint in mimics and coupling.name == f"{joint} mimics {mimics[joint][0]}"
