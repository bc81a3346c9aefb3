"""The public face of a planned mechanism."""

from catena.questions.joint_bases import JointBases
from catena.questions.operational_dynamics import OperationalDynamics
from catena.questions.velocity_transformation import VelocityTransformation
from catena.system.checking import check
from catena.system.joint_wrenches import JointWrench, joint_bases, joint_wrench
from catena.system.operational_dynamics import (
    BiasParts,
    bias_parts,
    operational_dynamics,
)
from catena.system.system import System
from catena.system.velocity_transformation import velocity_transformation

__all__ = [
    "BiasParts",
    "JointBases",
    "JointWrench",
    "OperationalDynamics",
    "System",
    "VelocityTransformation",
    "bias_parts",
    "check",
    "joint_bases",
    "joint_wrench",
    "operational_dynamics",
    "velocity_transformation",
]
