"""Coordinates of Pinocchio. Its model is only read; nothing of it is imported.

Pinocchio has quaternions as (x, y, z, w), the cosine and sine of joints without limits instead of their angle, the
velocity of a free joint as [v; omega] in its own axes, and that of a planar joint in its child's. Accelerations are the
derivatives of these velocities, as Catena's are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena.bridges.conventions.coordinates import Coordinates, JointCoordinates
from catena.bridges.conventions.joint_maps import (
    Array,
    CosineAndSine,
    JointMap,
    PlanarInChildAxes,
    Reordered,
    Same,
    kind_of,
    own_name,
)
from catena.system import System

if TYPE_CHECKING:
    from pinocchio import Model

SPHERICAL = Reordered(q_order=(1, 2, 3, 0), v_order=(0, 1, 2))
FLOATING = Reordered(q_order=(0, 1, 2, 4, 5, 6, 3), v_order=(3, 4, 5, 0, 1, 2))


def pinocchio_coordinates(
    system: System, model: Model, names: Mapping[str, str] | None = None
) -> Coordinates:
    """Return the translation between a system and a `pinocchio.Model` of the same mechanism. Joints are found by name;
    `names` has Catena's for those that are called otherwise there, as {"root_joint": "base"}."""
    blocks = []
    for k in range(1, len(model.names)):
        name = own_name(system, str(model.names[k]), names)
        q, v = int(model.idx_qs[k]), int(model.idx_vs[k])
        size, nv = int(model.nqs[k]), int(model.nvs[k])
        blocks.append(
            JointCoordinates(
                system.slice_q(name),
                system.slice_v(name),
                slice(q, q + size),
                slice(v, v + nv),
                _map(system, name, size),
            )
        )
    return Coordinates(system.neutral(), system.nv, np.zeros(int(model.nq)), int(model.nv), tuple(blocks))


def _map(system: System, name: str, size: int) -> JointMap:
    kind = kind_of(system, name)
    if kind.quaternion_start is not None:
        return FLOATING if kind.is_floating else SPHERICAL
    if size != kind.nq + 1:
        return Same()
    return CosineAndSine() if kind.plane_normal is None else PlanarInChildAxes()


def from_pinocchio_q(system: System, q: ArrayLike, model: Model) -> Array:
    """Return Catena's positions (..., nq) from those (..., model.nq) of a `pinocchio.Model`."""
    return pinocchio_coordinates(system, model).catena_configuration(q)


def to_pinocchio_q(system: System, q: ArrayLike, model: Model) -> Array:
    """Return the positions (..., model.nq) of a `pinocchio.Model` from Catena's (..., nq)."""
    return pinocchio_coordinates(system, model).configuration(q)


def from_pinocchio_v(system: System, q: ArrayLike, v: ArrayLike, model: Model) -> Array:
    """Return Catena's velocities (..., nv) from the positions and velocities (..., model.nv) of a `pinocchio.Model`."""
    there = pinocchio_coordinates(system, model)
    return there.catena_velocity(there.catena_configuration(q), v)


def to_pinocchio_v(system: System, q: ArrayLike, v: ArrayLike, model: Model) -> Array:
    """Return the velocities (..., model.nv) of a `pinocchio.Model` from Catena's positions and velocities."""
    return pinocchio_coordinates(system, model).velocity(q, v)
