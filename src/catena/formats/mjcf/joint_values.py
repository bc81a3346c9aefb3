"""What MJCF says of a joint: damping, friction, rotors and one spring, summed up over a joint and the forces at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena import forces
from catena.forces.deflection import is_vector
from catena.formats.named import NamedParts
from catena.mechanism import ForceElement, Joint, Mechanism

Floats = NDArray[np.float64]
ORDER = 3
"""How many coefficients the polynomials of MuJoCo have."""
SERVOS = "servos of joints that close loops or have a quaternion"


@dataclass
class JointValues:
    """Numbers of a joint: polynomials of `damping` (nv, 3) and `stiffness` (nv, 3), the position `rest` (nv,) where the
    springs are relaxed, `friction` (nv,), `armature` (nv,), and the servos at it by name."""

    damping: Floats
    stiffness: Floats
    rest: Floats
    friction: Floats
    armature: Floats
    servos: dict[str, forces.Servo] = field(default_factory=dict)

    @property
    def has_any(self) -> bool:
        """Whether anything has to be said."""
        numbers = (self.damping, self.stiffness, self.friction, self.armature)
        return any(x.any() for x in numbers) or bool(self.servos)


def joint_values(mechanism: Mechanism, lost: NamedParts) -> dict[str, JointValues]:
    """Return the values of each joint; forces at joints that MJCF cannot say are told in `lost`."""
    found = {name: _own(joint) for name, joint in mechanism.joints.items()}
    for force in mechanism.force_elements.values():
        if force.at_joint is not None and not _take(
            found[force.at_joint], mechanism.joints[force.at_joint], force
        ):
            lost.add("springs and forces at joints", force.name)
    return found


def _own(joint: Joint) -> JointValues:
    nv = joint.kind.nv
    damping, stiffness = np.zeros((nv, ORDER)), np.zeros((nv, ORDER))
    damping[:, 0] = joint.damping
    armature = np.zeros(nv) if joint.armature is None else np.array(joint.armature)
    return JointValues(damping, stiffness, np.zeros(nv), np.array(joint.friction), armature)


def _take(values: JointValues, joint: Joint, force: ForceElement) -> bool:
    """Add what a force does at a joint to its values; False if they cannot hold it."""
    kind = force.kind
    if isinstance(kind, forces.JointSpring):
        rest = joint.kind.neutral() if not kind.rest else np.array(kind.rest)
        d = joint.kind.difference(joint.kind.neutral(), rest)
        if kind.stiffness:
            d = np.asarray(d, dtype=np.float64)
            # Rests of quaternions have no mean, and MuJoCo knows springs from the neutral position only.
            is_told = is_vector(joint.kind) or not d.any()
            if not is_told or not _add_springs(values, np.array(kind.stiffness), d):
                return False
        if kind.damping:
            values.damping[:, 0] += kind.damping
        return True
    if isinstance(kind, forces.JointFriction):
        if kind.damping:
            values.damping[:, 0] += kind.damping
        if kind.friction:
            values.friction += kind.friction
        return True
    if isinstance(kind, forces.PolynomialJointSpring):
        return _add_polynomial(values, kind)
    if isinstance(kind, forces.Servo):
        values.servos[force.name] = kind
        return True
    return False


def _add_springs(values: JointValues, stiffness: Any, rest: Any) -> bool:
    """Add linear springs: several are one, relaxed at the mean of where they are, weighed by their stiffness."""
    if values.stiffness[stiffness > 0.0, 1:].any():
        return False
    total = values.stiffness[:, 0] + stiffness
    weighed = values.stiffness[:, 0] * values.rest + stiffness * rest
    mean = np.divide(weighed, total, out=values.rest.copy(), where=total > 0.0)
    values.rest = np.where(values.stiffness[:, 0] == 0.0, rest, mean)
    values.stiffness[:, 0] = total
    return True


def _add_polynomial(values: JointValues, kind: forces.PolynomialJointSpring) -> bool:
    k = kind.component
    if max(len(kind.stiffness), len(kind.damping)) > ORDER:
        return False
    if kind.stiffness:
        if values.stiffness[k].any() and values.rest[k] != kind.rest:
            return False
        values.stiffness[k, : len(kind.stiffness)] += kind.stiffness
        values.rest[k] = kind.rest
    values.damping[k, : len(kind.damping)] += kind.damping
    return True
