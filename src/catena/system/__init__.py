"""The public face of a planned mechanism."""

from catena.system.checking import check
from catena.system.conventions import (
    from_mujoco_qpos,
    from_mujoco_qvel,
    from_pinocchio_q,
    from_pinocchio_v,
    to_mujoco_qpos,
    to_mujoco_qvel,
    to_pinocchio_q,
    to_pinocchio_v,
)
from catena.system.system import System

__all__ = [
    "System",
    "check",
    "from_mujoco_qpos",
    "from_mujoco_qvel",
    "from_pinocchio_q",
    "from_pinocchio_v",
    "to_mujoco_qpos",
    "to_mujoco_qvel",
    "to_pinocchio_q",
    "to_pinocchio_v",
]
