"""From a state to a trajectory."""

from catena.simulation import control, references
from catena.simulation.acting.external import ExternalWrench
from catena.simulation.contacts import Contact, HeightField, Stop, contacts_of
from catena.simulation.control.sensors import IMU, Encoder, ForceSensor, Gauge, Sensed, Sensor, sensors_of
from catena.simulation.guards.common_events import at_limit, at_time
from catena.simulation.guards.events import Event
from catena.simulation.guards.instant import Instant
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.recording import load_run
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.scenario import Change, Described, Plot, Scenario, formula_control
from catena.simulation.sensitivities import Gradient, Sensitivities, sensitivities
from catena.simulation.simulate import simulate
from catena.simulation.stepper import Stepper
from catena.simulation.stepping.drift import Baumgarte, Corrective, Projection
from catena.simulation.structure_changes import PerStructure
from catena.simulation.warming import Warmed, Warming, warm

__all__ = [
    "Baumgarte",
    "Change",
    "Contact",
    "Corrective",
    "Described",
    "Encoder",
    "Event",
    "EventHit",
    "ExternalWrench",
    "ForceSensor",
    "Gauge",
    "HeightField",
    "IMU",
    "Instant",
    "PerStructure",
    "Plot",
    "Projection",
    "Scenario",
    "Segment",
    "Sensed",
    "Sensor",
    "Stepper",
    "Stop",
    "Trajectory",
    "Transition",
    "at_limit",
    "at_time",
    "contacts_of",
    "sensors_of",
    "control",
    "formula_control",
    "load_run",
    "references",
    "Gradient",
    "Sensitivities",
    "sensitivities",
    "simulate",
    "Warmed",
    "Warming",
    "warm",
]
