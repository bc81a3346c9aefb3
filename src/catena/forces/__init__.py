"""Kinds of forces: the contract every kind obeys, and one file per kind."""

from catena.forces.contract import AtJoint, ForceKind, FrameForce, JointForce, Relative
from catena.forces.joint_spring import JointSpring
from catena.forces.placed import PlacedForce
from catena.forces.point_spring import PointSpring
from catena.forces.wrench import AppliedWrench, ConstantWrench

__all__ = [
    "AppliedWrench",
    "AtJoint",
    "ConstantWrench",
    "ForceKind",
    "FrameForce",
    "JointForce",
    "JointSpring",
    "PlacedForce",
    "PointSpring",
    "Relative",
]
