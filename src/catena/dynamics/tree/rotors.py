"""Rotors geared to joints: inertias that joint accelerations feel and bodies do not.

A rotor on the axis of a motor, geared to a joint, adds its inertia times the square of the gear ratio to the joint's
own: tau = H vdot + bias with H + diag(rotor). Joints without rotors have none of this in their code.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from catena.spatial import ArticulatedInertia, ForceSpace, MotionSpace
from catena.spatial.scalars import array
from catena.structure import Plan


def with_rotor(joint: Any, D: np.ndarray) -> np.ndarray:
    """Return D (nv, nv), what a joint feels of the bodies that it moves, with the inertia of its rotors."""
    rotor = joint.rotor
    if rotor is None:
        return D
    n = len(rotor)
    return array([[D[i, j] + (rotor[i] if i == j else 0.0) for j in range(n)] for i in range(n)])


def felt_through(
    joint: Any, IA: ArticulatedInertia, S: MotionSpace, U: ForceSpace, D_inv: np.ndarray
) -> ArticulatedInertia:
    """Return what is felt of an articulated inertia through a joint, whose rotors resist."""
    if joint.rotor is None:
        return IA.felt_through(S, U, D_inv)
    return IA - ArticulatedInertia.from_outer(U, D_inv)


def rotor_force(joint: Any, vdot: Any) -> Any:
    """Return the joint force (nv,) that rotors take for joint accelerations (nv,); zero without rotors."""
    return 0.0 if joint.rotor is None else joint.rotor * vdot


def rotor_inertias(plan: Plan) -> np.ndarray:
    """Return the inertias (nv,) of the rotors of all tree joints, of objects where they are symbols."""
    found: list[Any] = [0.0] * plan.nv
    for i in range(1, plan.n):
        kind = plan.kind[i]
        if kind is not None and kind.rotor is not None:
            found[plan.v_of(i)] = list(kind.rotor)
    return array(found)


@lru_cache(maxsize=64)
def has_rotors(plan: Plan) -> bool:
    """Return whether some joint, of the tree or of a loop, has a rotor."""
    return any(k is not None and k.rotor is not None for k in plan.kind) or any(
        loop.armature.any() for loop in plan.loop_joints
    )


def with_rotors(plan: Plan, H: np.ndarray, by_state: Callable[[], np.ndarray] | None = None) -> np.ndarray:
    """Return the joint-space inertia H (..., nv, nv) of the bodies of a tree with that of the rotors of its joints;
    `by_state` tells these (..., nv) where they differ from state to state."""
    if not any(kind is not None and kind.rotor is not None for kind in plan.kind):
        return H
    rotors = rotor_inertias(plan) if by_state is None else by_state()
    return np.asarray(H + rotors[..., None] * np.eye(plan.nv))
