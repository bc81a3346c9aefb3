"""Kinds of forces: the contract every kind obeys, and one file per kind."""

import numpy as np

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


_SOFTENING = Table((-1.0, 0.0, 0.5, 2.0), (-3.0, 0.0, 1.0, 1.5), smooth=True)
_PROGRESSIVE = Table((0.2, 0.6, 1.0), (0.0, 5.0, 20.0))
_BLOW_OFF = Table((-1.0, -0.2, 0.0, 0.2, 1.0), (-3.0, -2.0, 0.0, 1.0, 1.2), beyond="hold")
_COUPLED = np.diag([3.0, 4.0, 5.0, 60.0, 70.0, 80.0]) + np.outer(np.arange(6.0), np.arange(6.0))

KINDS: list[ForceKind] = [
    JointSpring((7.0,)),
    JointSpring((7.0,), (0.3,), (0.4,)),
    JointSpring(damping=(0.3,)),
    JointSpring((1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (0.6, 0.0, 0.8, 0.0)),
    JointStop((-0.2,), (0.1,), (30.0,), (2.0,)),
    JointStop((-0.1, -np.inf, -0.3), (0.1, 0.0, np.inf), (9.0, 8.0, 7.0), (0.3, 0.2, 0.1)),
    JointFriction((0.3,), (0.7,)),
    TabledJointSpring(_SOFTENING, _BLOW_OFF),
    PolynomialJointSpring((3.0, -0.4, 0.7), (0.3, 0.2, 0.1), 0.2),
    PolynomialJointSpring(damping=(0.0, 0.2), component=1),
    Servo((5.0,), (0.1, -5.0, -0.3), 0.4, -2.0),
    Servo((5.0, 0.2, 0.3), (0.1, -5.0, -0.3), 0.4, 2.0, (-1.0, 2.0), 1),
    PointSpring(30.0, 0.4, 0.8),
    TabledPointSpring(_PROGRESSIVE, _BLOW_OFF),
    Cable(50.0, 0.3, 0.7),
    GasSpring(300.0, 0.5, 0.4, outside=40.0, damping=2.0),
    GasSpring(300.0, 0.5, 0.4, exponent=1.0),
    Bushing((1.0, 2.0, 3.0, 40.0, 50.0, 60.0), (0.1, 0.2, 0.3, 4.0, 5.0, 6.0)),
    Bushing(tuple(_COUPLED.ravel().tolist())),
    Drag(0.4, 1.2, 0.1, 0.3),
    BoxInFluid((0.2, 0.3, 0.4), 1.2, 0.1, (0.3, -0.2, 0.1)),
    EllipsoidInFluid(
        (0.2, 0.5, 0.3),
        1.2,
        0.1,
        (0.3, -0.2, 0.1),
        added_mass=(0.1, 0.02, 0.05),
        added_inertia=(1e-3, 2e-3, 3e-3),
    ),
    ConstantWrench((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
    Buoyancy(0.7),
    AppliedWrench(),
]
"""An example of every built-in kind, for tests and for listings."""
