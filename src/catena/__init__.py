"""Catena: the dynamics of mechanisms whose chains branch, close into loops and change their structure while they move.

Describe a `Mechanism`, plan it with `m.system()`, compute with the `System`.
"""

from typing import Any

from catena import forces
from catena.dynamics.closed.diagnosis import Diagnosis
from catena.dynamics.closed.tip_contact import Support, TipContact
from catena.errors import (
    CatenaError,
    CatenaWarning,
    EquationsError,
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
from catena.forces import ForceKind, FrameForce, JointForce
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
from catena.simulation import (
    Baumgarte,
    Corrective,
    Event,
    ExternalWrench,
    Found,
    Projection,
    Stepper,
    Trajectory,
    control,
    load_run,
    references,
    register_pictures,
    sensitivities,
    simulate,
)
from catena.simulation.control import (
    PID,
    ComputedTorque,
    Feedforward,
    GravityCompensation,
    SymbolicControl,
    TaskSpace,
    sampled,
    symbols,
)
from catena.simulation.references import (
    JointPath,
    PosePath,
    TaskPath,
    constant,
    cubic,
    quintic,
    spline,
    turning,
    turns,
)
from catena.spatial import Pose
from catena.system import System

__version__ = "0.1.0"

register_planner(System)
register_writer(save)


def _plot(*arguments: Any, **options: Any) -> Any:
    """Draw with matplotlib, which is imported when something is drawn."""
    from catena.view.plots import plot

    return plot(*arguments, **options)


def _report(*arguments: Any, **options: Any) -> Any:
    """Write a page, with what is imported for it."""
    from catena.view.report import report

    return report(*arguments, **options)


register_pictures(_plot, _report)

__all__ = [
    "PID",
    "Baumgarte",
    "CatenaError",
    "CatenaWarning",
    "ComputedTorque",
    "Corrective",
    "Cylindrical",
    "Diagnosis",
    "EquationsError",
    "Event",
    "ExternalWrench",
    "Feedforward",
    "Fixed",
    "ForceKind",
    "FormatError",
    "Found",
    "FrameForce",
    "Free",
    "GravityCompensation",
    "Helical",
    "JointForce",
    "JointKind",
    "JointPath",
    "KernelError",
    "LoopError",
    "Mechanism",
    "ModelError",
    "PlanError",
    "Planar",
    "Pose",
    "PosePath",
    "Prismatic",
    "Projection",
    "Stepper",
    "Revolute",
    "Sdof",
    "SimulationError",
    "SingularDynamicsError",
    "Spherical",
    "StaleSystemError",
    "StateError",
    "Support",
    "SymbolicControl",
    "System",
    "TaskPath",
    "TaskSpace",
    "TipContact",
    "Trajectory",
    "Universal",
    "UnknownNameError",
    "compilations",
    "constant",
    "control",
    "cubic",
    "forces",
    "generators",
    "load",
    "load_run",
    "notations",
    "plain_numbers",
    "quintic",
    "references",
    "sampled",
    "sensitivities",
    "set_threads",
    "simulate",
    "spline",
    "symbols",
    "threads",
    "turning",
    "turns",
]
