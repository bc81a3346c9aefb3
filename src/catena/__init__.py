"""Catena: the dynamics of mechanisms whose chains branch, close into loops and change their structure while they move.

Describe a `Mechanism`, plan it with `m.system()`, compute with the `System`.
"""

from catena.dynamics.closed.diagnosis import Diagnosis
from catena.dynamics.closed.tip_contact import Support, TipContact
from catena.errors import (
    CatenaError,
    FormatError,
    KernelError,
    LoopError,
    ModelError,
    PlanError,
    SimulationError,
    SingularDynamicsError,
    StaleSystemError,
    StateError,
    UnknownNameError,
)
from catena.formats import load, save
from catena.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Sdof,
    Spherical,
    Universal,
)
from catena.kernels import compilations, plain_numbers, set_threads, threads
from catena.mechanism import Mechanism, generators, notations, register_planner, register_writer
from catena.simulation import Trajectory, simulate
from catena.spatial import Pose
from catena.system import System

__version__ = "0.1.0"

register_planner(System)
register_writer(save)

__all__ = [
    "CatenaError",
    "Cylindrical",
    "Diagnosis",
    "Fixed",
    "FormatError",
    "Free",
    "Helical",
    "JointKind",
    "KernelError",
    "LoopError",
    "Mechanism",
    "ModelError",
    "PlanError",
    "Planar",
    "Pose",
    "Prismatic",
    "Revolute",
    "Sdof",
    "SimulationError",
    "SingularDynamicsError",
    "Spherical",
    "StaleSystemError",
    "StateError",
    "Support",
    "System",
    "TipContact",
    "Trajectory",
    "Universal",
    "UnknownNameError",
    "compilations",
    "generators",
    "load",
    "notations",
    "plain_numbers",
    "set_threads",
    "simulate",
    "threads",
]
