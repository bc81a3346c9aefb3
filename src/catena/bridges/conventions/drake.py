"""Coordinates of Drake. Its plant is only read; nothing of it is imported.

Drake has the positions of a floating body as (w, x, y, z of the quaternion, then p) and its velocity as [omega; v],
both in the axes of the world; a ball joint has the angles roll, pitch and yaw, and its angular velocity in the axes of
its parent-side frame.
`vdot` are the derivatives of these velocities. Other joints have the coordinates of Catena.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from catena.bridges.conventions.coordinates import Coordinates, JointCoordinates
from catena.bridges.conventions.joint_maps import (
    BallOfAngles,
    FreeInWorldAxes,
    FreeQuaternionFirst,
    JointMap,
    Same,
    kind_of,
    own_name,
)
from catena.errors import StateError
from catena.joints import Free, Helical, JointKind, Planar, Prismatic, Revolute, Spherical, Universal
from catena.system import System

if TYPE_CHECKING:
    from pydrake.multibody.plant import MultibodyPlant

KINDS: dict[str, type[JointKind]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "screw": Helical,
    "universal": Universal,
    "planar": Planar,
    "ball_rpy": Spherical,
    "quaternion_floating": Free,
}
"""The joints that both have, by Drake's name of the type."""


def drake_coordinates(
    system: System, plant: MultibodyPlant, names: Mapping[str, str] | None = None
) -> Coordinates:
    """Return the translation between a system and a finalised `pydrake.multibody.plant.MultibodyPlant` of the same
    mechanism. Joints are found by name; `names` has Catena's for those that are called otherwise there, such as the
    floating joints that Drake adds and calls like their body."""
    there, blocks = np.zeros(int(plant.num_positions())), []
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if int(joint.num_velocities()) == 0:
            continue
        q, v = int(joint.position_start()), int(joint.velocity_start())
        name = own_name(system, str(joint.name()), names)
        map = _map(system, name, str(joint.type_name()))
        if isinstance(map, FreeQuaternionFirst):
            there[q] = 1.0
        blocks.append(
            JointCoordinates(
                system.slice_q(name),
                system.slice_v(name),
                slice(q, q + int(joint.num_positions())),
                slice(v, v + int(joint.num_velocities())),
                map,
            )
        )
    return Coordinates(system.neutral(), system.nv, there, int(plant.num_velocities()), tuple(blocks))


def _map(system: System, name: str, type_name: str) -> JointMap:
    kind = kind_of(system, name)
    if not isinstance(kind, KINDS.get(type_name, ())):
        raise StateError(
            f"joint {name!r} is a {type(kind).__name__} here and a {type_name!r} joint in Drake, whose coordinates "
            "have nothing in common: load both from the same file"
        )
    if type_name == "ball_rpy":
        return BallOfAngles()
    if type_name == "quaternion_floating":
        joint = system.mechanism.joints.get(name)
        poses = (joint.in_parent.matrix(), joint.in_child.matrix()) if joint else ()
        return FreeQuaternionFirst(FreeInWorldAxes(*poses))
    return Same()
