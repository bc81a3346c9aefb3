"""Mechanisms: bodies, joints and frames as a graph; a builder, generators of examples and tabular
notations."""

from catena.mechanism import generators, notations
from catena.mechanism.mechanism import VIRTUAL_ROOT, Mechanism
from catena.mechanism.notations import from_denavit_hartenberg, from_sdof, sdof_coordinates
from catena.mechanism.parts import GROUND, Body, Frame, Joint
from catena.mechanism.planner import register_planner

__all__ = [
    "GROUND",
    "VIRTUAL_ROOT",
    "Body",
    "Frame",
    "Joint",
    "Mechanism",
    "from_denavit_hartenberg",
    "from_sdof",
    "generators",
    "notations",
    "register_planner",
    "sdof_coordinates",
]
