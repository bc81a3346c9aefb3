"""What acts at loops: forces of their joints as forces of the tree, and what closes them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.dynamics.loops.closing import projection, restoring
from catena.errors import StateError
from catena.kernels import arrays
from catena.system.by_name import Given, as_tree_forces
from catena.system.by_state import by_state
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System


@by_state
def tree_forces(system: System, q: ArrayLike, forces: Given) -> np.ndarray:
    """Return the forces tau (..., nv) of joints of the tree that move the mechanism at q (..., nq) as forces given
    by joint do, of the tree or of loops: {joint: (..., nv of the joint)}, or a number where there is one."""
    if not isinstance(forces, Mapping):
        raise StateError(f"forces is {shown(forces)}; give a mapping from joints to forces.")
    evaluator = system.mechanics.evaluator
    return as_tree_forces(evaluator, evaluator.checked(kinematics.rate, "q", q), forces)


@by_state
def correction(system: System, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes (..., nv) of position and velocity, in the sense of kinetic energy, that close the
    loops to first order: J dq = -(position error), J dv = -(velocity error)."""
    system.mechanics.settle()
    return projection.correction(system.mechanics.evaluator, q, v)


@by_state
def restoring_acceleration(
    system: System, q: ArrayLike, v: ArrayLike, stiffness: float, damping: float,
    angular_stiffness: float | None = None, angular_damping: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the part of the accelerations (states, nv) that forces at the loops have, which pull them together:
    -stiffness times the position errors and -damping times the velocity errors of `closure`, along the
    constraints; angles have a stiffness and a damping of their own where these are given. q is (states, nq) and v
    (states, nv)."""
    _, q, v = system.mechanics.states(q, v)
    stiffness = arrays.as_number("stiffness", stiffness, "a stiffness")
    damping = arrays.as_number("damping", damping, "a damping")
    k = (
        stiffness
        if angular_stiffness is None
        else arrays.as_number("stiffness", angular_stiffness, "a stiffness")
    )
    d = damping if angular_damping is None else arrays.as_number("damping", angular_damping, "a damping")
    system.mechanics.settle()
    return restoring.restoring_acceleration(system.mechanics.evaluator, q, v, (stiffness, damping, k, d))


def suitable_strength(system: System, q: np.ndarray) -> tuple[float, float, float, float]:
    """Return stiffness and damping, for distances and for angles, of forces that pull loops together and suit the
    inertia that constraints feel at q (nq,)."""
    system.mechanics.settle()
    return restoring.suitable_strength(system.mechanics.evaluator, q)
