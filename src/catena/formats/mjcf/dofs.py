"""What a MuJoCo model has at its joints: inertia, friction, dampers and springs, of the joints and of the actuators
that drive them, without what its flags switch off.

Dampers and springs are polynomials: rows (c0, c1, ...) of the forces -(c0 + c1 |v| + c2 v^2) v and
-(k0 + k1 d + k2 d^2) d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.formats.mjcf.names import HINGE, SLIDE

Floats = NDArray[np.float64]
FLAGS = ("GRAVITY", "SPRING", "DAMPER", "PASSIVE", "FRICTIONLOSS", "LIMIT", "EQUALITY", "CONSTRAINT", "ACTUATION",
         "CLAMPCTRL")  # fmt: skip
JOINT, JOINT_IN_PARENT, TENDON = 0, 1, 3
"""The transmissions of `actuator_trntype` to a joint, in the axes of the child or of the parent, and to a tendon."""


@dataclass(frozen=True)
class AtDofs:
    """Numbers for each velocity coordinate: `damping` (nv, n), `friction` (nv,), `armature` (nv,); and for each joint
    `stiffness` (njnt, n)."""

    damping: Floats
    friction: Floats
    armature: Floats
    stiffness: Floats


def disabled(model: Any, bits: Any) -> frozenset[str]:
    """Return the flags that a model has switched off, by the names in `bits`, which is `mujoco.mjtDisableBit`: their
    bits differ from version to version."""
    found = {
        word
        for word in FLAGS
        if hasattr(bits, f"mjDSBL_{word}")
        and int(model.opt.disableflags) & int(getattr(bits, f"mjDSBL_{word}"))
    }
    if "CONSTRAINT" in found:
        found |= {"FRICTIONLOSS", "LIMIT", "EQUALITY"}
    if "PASSIVE" in found:
        found |= {"SPRING", "DAMPER"}
    return frozenset(found)


def at_dofs(model: Any, off: frozenset[str]) -> AtDofs:
    """Return the numbers at the joints of a model; what its flags switch off is zero."""
    damping = _polynomials(model, "dof_damping")
    armature = np.array(model.dof_armature, dtype=np.float64)
    count = len(model.actuator_trntype)
    rotors, dampers = (
        getattr(model, "actuator_armature", np.zeros(count)),
        _polynomials(model, "actuator_damping"),
    )
    for k in range(count):
        if drives_one_freedom(model, k):
            dof = int(model.jnt_dofadr[int(model.actuator_trnid[k, 0])])
            # The joint feels rotors and dampers of a motor by the square of its gear, at the speed of the joint.
            square = float(model.actuator_gear[k, 0]) ** 2
            armature[dof] += square * float(rotors[k])
            damping[dof, : dampers.shape[1]] += square * dampers[k]
    friction = np.array(model.dof_frictionloss, dtype=np.float64)
    stiffness = _polynomials(model, "jnt_stiffness")
    if "DAMPER" in off:
        damping = np.zeros_like(damping)
    if "FRICTIONLOSS" in off:
        friction = np.zeros_like(friction)
    if "SPRING" in off:
        stiffness = np.zeros_like(stiffness)
    return AtDofs(damping, friction, armature, stiffness)


def drives_one_freedom(model: Any, actuator: int) -> bool:
    """Return whether an actuator drives a hinge or a slide."""
    if int(model.actuator_trntype[actuator]) not in (JOINT, JOINT_IN_PARENT):
        return False
    return int(model.jnt_type[int(model.actuator_trnid[actuator, 0])]) in (HINGE, SLIDE)


def _polynomials(model: Any, name: str) -> Floats:
    """Return the rows of a coefficient and of those of higher order, which older versions of MuJoCo have not."""
    linear = getattr(model, name, None)
    if linear is None:
        return np.zeros((len(model.actuator_trntype), 1))
    first = np.array(linear, dtype=np.float64)
    first = first.reshape(len(first), first.size // max(len(first), 1) or 1)
    more = getattr(model, f"{name}poly", None)
    return first if more is None else np.hstack([first, np.array(more, dtype=np.float64)])
