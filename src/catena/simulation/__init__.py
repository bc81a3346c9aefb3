"""From a state to a trajectory."""

from catena.simulation.simulate import simulate
from catena.simulation.trajectory import Trajectory

__all__ = ["Trajectory", "simulate"]
