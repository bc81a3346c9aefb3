"""Kinds of forces: the contract every kind obeys, and one file per kind."""

from catena.forces.applied_joint_force import AppliedJointForce
from catena.forces.buoyancy import Buoyancy
from catena.forces.bushing import Bushing
from catena.forces.cable import Cable
from catena.forces.conformance import check_force_kind
from catena.forces.contract import AtJoint, ForceKind, FrameForce, JointForce, Relative
from catena.forces.drag import Drag
from catena.forces.ellipsoid import EllipsoidInFluid
from catena.forces.fluid import BoxInFluid
from catena.forces.gas_spring import GasSpring
from catena.forces.joint_friction import JointFriction
from catena.forces.joint_spring import JointSpring
from catena.forces.joint_stop import JointStop
from catena.forces.line import LineForce
from catena.forces.load_friction import BearingFriction, SlideFriction
from catena.forces.placed import PlacedForce
from catena.forces.point_spring import PointSpring
from catena.forces.polynomial_joint import PolynomialJointSpring
from catena.forces.registry import KINDS
from catena.forces.servo import Servo
from catena.forces.table import Table
from catena.forces.tabled_joint import TabledJointSpring
from catena.forces.tabled_point import TabledPointSpring
from catena.forces.watch import Watch
from catena.forces.wrench import AppliedWrench, ConstantWrench

__all__ = [
    "KINDS",
    "AppliedJointForce",
    "AppliedWrench",
    "AtJoint",
    "BearingFriction",
    "BoxInFluid",
    "Buoyancy",
    "Bushing",
    "Cable",
    "ConstantWrench",
    "Drag",
    "EllipsoidInFluid",
    "ForceKind",
    "FrameForce",
    "GasSpring",
    "JointForce",
    "JointFriction",
    "JointSpring",
    "JointStop",
    "LineForce",
    "PlacedForce",
    "PointSpring",
    "PolynomialJointSpring",
    "Relative",
    "Servo",
    "SlideFriction",
    "Table",
    "TabledJointSpring",
    "TabledPointSpring",
    "Watch",
    "check_force_kind",
]
