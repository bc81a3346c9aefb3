"""What drives joints: controllers as objects, and laws that compile into the loop of a simulation."""

from catena.simulation.acting import symbols
from catena.simulation.control.computed_torque import ComputedTorque
from catena.simulation.control.constant_forces import ConstantForces
from catena.simulation.control.feedforward import Feedforward
from catena.simulation.control.gravity_compensation import GravityCompensation
from catena.simulation.control.holding import hold
from catena.simulation.control.pid import PID
from catena.simulation.control.protocol import Controller, Law
from catena.simulation.control.sampled import sampled
from catena.simulation.control.servos import ServoSignals
from catena.simulation.control.sum import Sum
from catena.simulation.control.symbolic import SymbolicControl
from catena.simulation.control.task_space import TaskSpace

__all__ = [
    "PID",
    "ComputedTorque",
    "ConstantForces",
    "Controller",
    "Feedforward",
    "GravityCompensation",
    "Law",
    "ServoSignals",
    "Sum",
    "SymbolicControl",
    "TaskSpace",
    "hold",
    "sampled",
    "symbols",
]
