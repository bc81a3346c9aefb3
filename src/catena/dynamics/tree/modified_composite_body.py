"""The joint-space inertia H by the modified composite-rigid-body method, which van der Merwe's section 5.2 names beside
the structurally recursive one (Walker and Orin; Lilly and Orin): a composite body is its mass, its mass centre and its
inertia about that, and a unit acceleration of a joint takes the force that moves the mass centre. Cost O(N d), d the
depth of the tree."""

from typing import Any

import numpy as np

from catena.dynamics.tree.joint_space import Joints, add_column
from catena.spatial import Force, Motion, RigidInertia
from catena.spatial.scalars import array, less, reciprocal, where

Composite = tuple[Any, np.ndarray, np.ndarray]


def modified_composite_body(joints: Joints) -> np.ndarray:
    """H, shape (nv, nv), of numbers or symbols."""
    plan, H = joints.plan, joints.zero()
    composites = [_own(RigidInertia.from_entries(list(row))) for row in plan.inertia]
    for i in range(plan.n - 1, 0, -1):
        mass, centre, E = composites[i]
        for k, s in joints.motions(i):
            add_column(joints, H, i, k, _force(mass, centre, E, s))
        X, parent = joints.X[i], int(plan.parent[i])
        if parent:
            # The mass centre and the inertia about it, in the axes of the parent.
            seen = (mass, X.R.T @ centre + X.p, X.R.T @ E @ X.R)
            composites[parent] = _together(composites[parent], seen)
    return H


def _own(inertia: RigidInertia) -> Composite:
    """Return a body by itself."""
    centre = array([x * _inverse(inertia.mass) for x in inertia.h.tolist()])
    return inertia.mass, centre, inertia.I - _times(inertia.mass, _spread(centre))


def _together(a: Composite, b: Composite) -> Composite:
    """Two bodies that move as one."""
    mass = a[0] + b[0]
    part = b[0] * _inverse(mass)
    apart = b[1] - a[1]
    return mass, a[1] + _times(part, apart), a[2] + b[2] + _times(a[0] * part, _spread(apart))


def _spread(d: np.ndarray) -> np.ndarray:
    """Return the inertia (3, 3) of a unit mass at d."""
    return _times(d @ d, np.eye(3)) - np.outer(d, d)


def _force(mass: Any, centre: np.ndarray, E: np.ndarray, s: Motion) -> Force:
    """Return the force, at the origin, that an acceleration takes."""
    turn, move = s.array[:3], s.array[3:]
    force = _times(mass, move + np.cross(turn, centre))
    return Force(np.concatenate([E @ turn + np.cross(centre, force), force]))


def _times(x: Any, values: np.ndarray) -> np.ndarray:
    """Return an array times one number or symbol."""
    return array([x * y for y in values.ravel().tolist()]).reshape(values.shape)


def _inverse(mass: Any) -> Any:
    """1 / mass, zero where there is none."""
    return where(less(0.0, mass), reciprocal(where(less(0.0, mass), mass, 1.0)), 0.0)
