"""Kinds of bodies: what a body of the graph is made of. A rigid body is the kind without modes and needs nothing from
here; a flexible one has modes, and says how its points move with them."""

from catena.bodies.beam import Beam
from catena.bodies.beam_frame import BeamFrame, Member
from catena.bodies.conformance import check_flexible_body
from catena.bodies.contract import FlexibleBody, Particles, Points, Shapes
from catena.bodies.finite_elements import FiniteElements
from catena.bodies.points import few_points

__all__ = [
    "Beam", "BeamFrame", "FiniteElements", "FlexibleBody", "Member", "Particles", "Points", "Shapes",
    "check_flexible_body", "few_points",
]  # fmt: skip
