"""The words of the tables of a run: their keys, and for controllers, paths and remedies against drift what each word
makes. Reading, writing and the schema ask here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.simulation.control import (
    PID,
    ComputedTorque,
    Feedforward,
    GravityCompensation,
    TaskSpace,
    hold,
)
from catena.simulation.references import OrientationPath, cubic, quintic, spline
from catena.simulation.references.piecewise import piecewise
from catena.simulation.scenario.changes import OPTIONS
from catena.simulation.scenario.formulas import formula_control
from catena.simulation.stepping.drift import NAMES

Keys = tuple[tuple[str, ...], tuple[str, ...]]
"""The keys of a table: those it must have, and those it may have."""

CONTROLLERS: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "pid": (
        PID,
        {
            "reference": "followed", "kp": "gains", "ki": "gains", "kd": "gains", "bias": "gains", "joints": "texts",
            "limits": "limits", "anti_windup": "text", "tracking": "number", "rate": "rate",
        },
    ),
    "hold": (hold, {"gain": "numbers", "rate": "rate"}),
    "computed_torque": (
        ComputedTorque,
        {"reference": "followed", "kp": "gains", "kd": "gains", "damping": "number", "rate": "rate"},
    ),
    "gravity_compensation": (GravityCompensation, {"partial": "switch", "rate": "rate"}),
    "feedforward": (Feedforward, {"reference": "followed", "rate": "rate"}),
    "task_space": (
        TaskSpace,
        {
            "frame": "text", "path": "path", "kp": "number", "kd": "number", "posture": "numbers",
            "posture_kp": "gains", "damping": "number", "rate": "rate",
        },
    ),
    "formula": (formula_control, {"forces": "formulas", "rate": "rate"}),
}  # fmt: skip
"""What makes the controller of each kind, and of what sort its arguments are."""
NEEDED = {"pid": ("reference",), "computed_torque": ("reference", "kp"), "feedforward": ("reference",),
          "task_space": ("frame", "path", "kp"), "formula": ("forces",)}  # fmt: skip
"""The arguments that a kind of controller cannot do without."""

PATHS: dict[str, tuple[Callable[..., Any], Keys]] = {
    "cubic": (cubic, (("times", "points"), ("velocities",))),
    "quintic": (quintic, (("times", "points"), ("velocities", "accelerations"))),
    "spline": (spline, (("times", "points"), ("degree", "ends"))),
    "polynomial": (piecewise, (("times", "coefficients"), ("periodic",))),
    "turns": (OrientationPath.through, (("times", "orientations"), ("law",))),
}
"""What makes the path of each kind, and its keys besides `kind`. A table without kind has `position` and `rotation`."""

REMEDIES: dict[str, tuple[str, ...]] = {
    "projection": ("every",), "baumgarte": ("time",), "none": (),
    "corrective": ("stiffness", "damping", "angular_stiffness", "angular_damping"),
}  # fmt: skip
"""The keys of each remedy against drift, besides `kind`."""
assert set(REMEDIES) == set(NAMES)

DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}
ALWAYS = "always"
"""The rate of a controller that is asked at every stage."""
NO_LIMITS = "none"

KEYS: dict[str, Keys] = {
    "drive": (("joint",), ("position", "path")),
    "contact": (
        ("frame",),
        ("on", "friction", "restitution", "restitution_law", "radius", "on_radius", "rim", "floor", "name"),
    ),
    "floor": (("x", "y", "z"), ()),
    "tip_contact": (
        ("frame", "constrained"),
        (
            "axes",
            "velocity",
            "acceleration",
            "since",
            "force",
            "friction",
            "support",
            "path",
            "name",
        ),
    ),
    "stop": (("joint",), ("lower", "upper", "restitution", "index")),
    "event": ((), ("name", "when", "at", "direction", "terminal")),
    "change": ((), ("at", "event", "lock", "unlock", "detach", "attach", "free", "fix")),
    "run": (
        (),
        (
            "duration",
            "start",
            "integrator",
            "step",
            "rtol",
            "atol",
            "drift",
            "coordinates",
            "independent",
            "samples",
            "keep",
            "near",
            "vary",
            "plan",
        ),
    ),
    "plot": ((), ("show", "file")),
    "view": ((), ("traces", "forces")),
    "plan": ((), ("root", "cut", "keep", "accuracy")),
}
"""The keys of the tables of a run; those of a controller follow from its kind."""

ATTACHED = OPTIONS
"""The keys of a joint that is attached, besides those of every joint and of its kind."""
