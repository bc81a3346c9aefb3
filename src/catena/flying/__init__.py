"""Free-flying robots: momentum, generalised Jacobian, motion without momentum or reaction, identification."""

from catena.flying.free_flyer import FreeFlyer
from catena.flying.identification import Identification, identify_inertia

__all__ = ["FreeFlyer", "Identification", "identify_inertia"]
