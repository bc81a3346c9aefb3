"""Catena: the dynamics of mechanisms whose chains branch, close into loops and change their structure while they move.

Describe a `Mechanism`, plan it with `m.system()`, compute with the `System`.
"""

from collections.abc import Callable
from importlib import import_module
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
from catena.mechanism import (
    Mechanism,
    generators,
    notations,
    register_pictures,
    register_planner,
    register_writer,
    shapes,
)
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


def _painter(module: str, name: str) -> Callable[..., Any]:
    """A function of the pictures, which are imported when something is drawn."""

    def paint(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(f"catena.view.{module}"), name)(*arguments, **options)

    return paint


register_pictures(
    plot=_painter("plots", "plot"),
    report=_painter("report", "report"),
    view=_painter("live.view", "view"),
    save_html=_painter("exports", "save_html"),
    save_video=_painter("video", "save_video"),
    save_drawing=_painter("line_drawing", "save_drawing"),
)

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
    "set_threads",
    "shapes",
    "simulate",
    "spline",
    "symbols",
    "threads",
    "turning",
    "turns",
]
