"""Mechanisms: bodies, joints and frames as a graph, with the actuators and forces that act on it;
a builder, generators of examples and tabular notations."""

from catena.mechanism import generators, notations, profiles, shapes
from catena.mechanism.couplings import CamCoupling, Coupling, LinearCoupling, PolynomialCoupling
from catena.mechanism.elements import (
    Actuator,
    ForceElement,
    InitialState,
    JointSpringElement,
    KindElement,
    PointSpringElement,
    Spring,
    WrenchElement,
)
from catena.mechanism.flexible_bodies import MODES
from catena.mechanism.linkage import Linkage
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.mounted_sensors import MountedSensor
from catena.mechanism.naming import LIMITS, VIRTUAL_ROOT
from catena.mechanism.nodal import nodal
from catena.mechanism.notations import from_denavit_hartenberg, from_sdof, sdof_coordinates, sdof_gammas
from catena.mechanism.parts import GROUND, Body, Frame, Joint
from catena.mechanism.segmented import segmented
from catena.mechanism.shapes import Shape

__all__ = [
    "GROUND",
    "LIMITS",
    "MODES",
    "VIRTUAL_ROOT",
    "Actuator",
    "Body",
    "CamCoupling",
    "Coupling",
    "ForceElement",
    "Frame",
    "KindElement",
    "InitialState",
    "Joint",
    "JointSpringElement",
    "LinearCoupling",
    "Linkage",
    "Mechanism",
    "MountedSensor",
    "PointSpringElement",
    "PolynomialCoupling",
    "Shape",
    "Spring",
    "WrenchElement",
    "from_denavit_hartenberg",
    "from_sdof",
    "generators",
    "nodal",
    "notations",
    "profiles",
    "sdof_coordinates",
    "sdof_gammas",
    "segmented",
    "shapes",
]
