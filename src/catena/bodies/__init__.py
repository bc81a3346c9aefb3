"""Kinds of bodies: what a body of the graph is made of. A rigid body is the kind without modes and needs nothing from
here; a flexible one has modes, and says how its points move with them."""

from catena.bodies.beam import Beam
from catena.bodies.contract import FlexibleBody, Particles, Shapes
from catena.bodies.points import Points, few_points

__all__ = ["Beam", "FlexibleBody", "Particles", "Points", "Shapes", "few_points"]
