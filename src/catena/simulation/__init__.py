"""From a state to a trajectory."""

from catena.simulation import control, references
from catena.simulation.drift import Baumgarte, Corrective, Projection
from catena.simulation.events import Event
from catena.simulation.external import ExternalWrench
from catena.simulation.recording import load_run
from catena.simulation.segments import SegmentedTrajectory
from catena.simulation.sensitivities import Gradient, Sensitivities, sensitivities
from catena.simulation.simulate import simulate
from catena.simulation.stepper import Stepper
from catena.simulation.trajectory import Found, Trajectory

__all__ = [
    "Baumgarte",
    "Corrective",
    "Event",
    "ExternalWrench",
    "Found",
    "Projection",
    "SegmentedTrajectory",
    "Stepper",
    "Trajectory",
    "control",
    "load_run",
    "references",
    "Gradient",
    "Sensitivities",
    "sensitivities",
    "simulate",
]
