"""Kinds of joints: the contract every kind obeys, and one file per kind."""

from catena.joints.around import Reduced, WithRotor, described
from catena.joints.axes import axis
from catena.joints.conformance import check_joint_kind
from catena.joints.contract import JointKind
from catena.joints.cylindrical import Cylindrical
from catena.joints.fixed import Fixed
from catena.joints.flipped import Flipped
from catena.joints.free import Free
from catena.joints.helical import Helical
from catena.joints.planar import Planar
from catena.joints.prismatic import Prismatic
from catena.joints.revolute import Revolute
from catena.joints.sdof import Sdof
from catena.joints.spherical import Spherical
from catena.joints.universal import Universal

__all__ = [
    "KINDS",
    "Cylindrical",
    "Fixed",
    "Flipped",
    "Free",
    "Helical",
    "JointKind",
    "Planar",
    "Prismatic",
    "Reduced",
    "Revolute",
    "Sdof",
    "Spherical",
    "Universal",
    "WithRotor",
    "axis",
    "check_joint_kind",
    "described",
]


KINDS: list[JointKind] = [
    Fixed(),
    Revolute("z"),
    Revolute((1.0, -2.0, 3.0)),
    Prismatic("-y"),
    Prismatic((0.3, 0.4, -0.5)),
    Helical("x", pitch=0.2),
    Helical((1.0, 1.0, 0.0), pitch=-0.05),
    Cylindrical("y"),
    Cylindrical((-1.0, 2.0, 2.0)),
    Universal("x", "y"),
    Universal((1.0, 0.0, 1.0), (0.0, 1.0, 0.5)),
    Spherical(),
    Planar("z"),
    Planar((1.0, 2.0, -2.0)),
    Free(),
    Sdof("ry", "rz", "dx"),
    Sdof("rz", "ry", "rx", "dx", "dy", "dz"),
    Sdof("rz", "ry", "rz"),
    Sdof("rx", ("rz", 0.5), "dx"),
]
"""An example of every built-in kind, for tests and for listings."""
