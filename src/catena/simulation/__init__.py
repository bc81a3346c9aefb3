"""From a state to a trajectory."""

from catena.simulation import control, references
from catena.simulation.drift import Baumgarte, Corrective
from catena.simulation.events import Event
from catena.simulation.simulate import simulate
from catena.simulation.trajectory import Found, Trajectory

__all__ = ["Baumgarte", "Corrective", "Event", "Found", "Trajectory", "control", "references", "simulate"]
