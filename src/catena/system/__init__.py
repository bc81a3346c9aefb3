"""The public face of a planned mechanism."""

from catena.questions.velocity_transformation import VelocityTransformation
from catena.system.checking import check
from catena.system.system import System
from catena.system.velocity_transformation import velocity_transformation

__all__ = ["System", "VelocityTransformation", "check", "velocity_transformation"]
