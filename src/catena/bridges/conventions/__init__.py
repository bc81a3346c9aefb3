"""The same state as other programs write it, and back: Pinocchio, MuJoCo, Drake, and joint states by name.

Joints are found by name and may come in any order. Nothing of the other programs is imported.
"""

from catena.bridges.conventions.coordinates import Coordinates, JointCoordinates
from catena.bridges.conventions.drake import drake_coordinates
from catena.bridges.conventions.joint_state import JointState, joint_state
from catena.bridges.conventions.mujoco import (
    from_mujoco_qpos,
    from_mujoco_qvel,
    mujoco_coordinates,
    to_mujoco_qpos,
    to_mujoco_qvel,
)
from catena.bridges.conventions.pinocchio import (
    from_pinocchio_q,
    from_pinocchio_v,
    pinocchio_coordinates,
    to_pinocchio_q,
    to_pinocchio_v,
)

__all__ = [
    "JointCoordinates",
    "Coordinates",
    "JointState",
    "drake_coordinates",
    "from_mujoco_qpos",
    "from_mujoco_qvel",
    "from_pinocchio_q",
    "from_pinocchio_v",
    "joint_state",
    "mujoco_coordinates",
    "pinocchio_coordinates",
    "to_mujoco_qpos",
    "to_mujoco_qvel",
    "to_pinocchio_q",
    "to_pinocchio_v",
]
