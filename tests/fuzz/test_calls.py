"""Bad calls of every public function: an answer or a CatenaError, never anything else, and never slow.

Functions and their parameters are found by looking at them, so that a new one is called too: a parameter whose name
`GOOD` does not know fails the test. Of a call that would be good one argument, sometimes two, are replaced by something
that is not what it should be. Complex numbers must be refused, and answers must not be NaN.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena.simulation import control, references
from tests.fuzz.watching import faults

# Left alone, because they open windows and write pictures; their tests try what is wrong there.
SHOWN = {"view", "show", "save_html", "save_video", "save_drawing"}
# Left alone, because users do not call them: they take what is known to be good.
INSIDE = {
    "alone",
    "with_parts",
    "names",
    "system_of",
}
# Functions of a system, and what its `forces` are asked.
OF_SYSTEM = [
    "branches", "compare_plans", "connectivity", "contact_dynamics", "contact_velocity", "energy_derivatives",
    "inertial_parameters", "reach",
]  # fmt: skip
OF_FORCES = ["loads", "energy", "outputs", "powers"]
SYSTEM = [
    *(n for n, _ in inspect.getmembers(ct.System, callable) if n[0] != "_" and n not in SHOWN | INSIDE),
    *OF_SYSTEM, *OF_FORCES,
]  # fmt: skip
MECHANISM = [
    name
    for name, member in inspect.getmembers(ct.Mechanism, callable)
    if name[0] != "_" and name not in SHOWN | INSIDE
]
TRAJECTORY = [
    "__getitem__",
    *(n for n, m in inspect.getmembers(ct.Trajectory, callable) if n[0] != "_" and n not in SHOWN | INSIDE),
]
REFERENCES = [
    "JointPath", "OrientationPath", "PosePath", "TaskPath", "constant", "cubic", "function", "quintic", "spline",
]  # fmt: skip
CONTROL = [
    "PID",
    "ComputedTorque",
    "Feedforward",
    "GravityCompensation",
    "SymbolicControl",
    "TaskSpace",
    "sampled",
]
FORCES = [
    "Bushing", "Cable", "Drag", "GasSpring", "JointSpring", "JointStop", "PointSpring", "Table", "TabledJointSpring",
    "TabledPointSpring", "ConstantWrench",
]  # fmt: skip
DESCRIPTIONS = [
    "Pose", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Planar", "Sdof", "Mechanism", "Event",
    "Projection", "Baumgarte", "Corrective", "TipContact", "Support", "set_threads", "ExternalWrench", "Stepper",
]  # fmt: skip

# What came later; seeds keep their meaning, so these have seeds of their own.
LATER = [
    "Beam", "BeamFrame", "Contact", "Encoder", "FiniteElements", "ForceSensor", "FreeFlyer", "IMU", "Linkage", "Member",
    "Sensed", "System", "at_limit", "at_time", "check", "connectivity_before", "convert", "identify_inertia", "load",
    "load_run", "plan_motion", "save", "segmented", "sensitivities", "transfer",
]  # fmt: skip
FLYING = [name for name, _ in inspect.getmembers(ct.FreeFlyer, callable) if name[0] != "_"]
LINKAGE = [name for name, _ in inspect.getmembers(ct.Linkage, callable) if name[0] != "_"]
GENERATORS = [
    "add_arm", "arm7", "arms_on_object", "chain", "delta", "four_bar", "free_flyer", "hand", "n_four_bars",
    "nested_loops", "random_mechanism", "scissor_lift", "spatial_four_bar", "stewart", "tree", "two_links_and_load",
    "walker",
]  # fmt: skip

FOLDER = Path(tempfile.gettempdir())


class Subject:
    """A system and what good arguments are made of."""

    def __init__(self, mechanism: ct.Mechanism) -> None:
        self.mechanism, self.system = mechanism, mechanism.system()
        self.q = self.system.assemble()
        self.v = np.zeros(self.system.nv)
        self.joint = (self.system.joints or ("none",))[0]
        self.frame = list(mechanism.bodies)[-1]
        kind = mechanism.joints[self.joint].kind if self.joint in mechanism.joints else ct.Fixed()
        self.position, self.rates = kind.neutral(), np.zeros(kind.nv)

    @property
    def run(self) -> ct.Trajectory:
        return ct.simulate(self.system, self.q, self.v, 0.02, samples=4, check=False, progress=False)


def _mixed() -> ct.Mechanism:
    m = ct.Mechanism("mixed")
    last = "ground"
    kinds = [ct.Free(), ct.Universal("x", "y"), ct.Revolute("z"), ct.Spherical()]
    for k, kind in enumerate(kinds):
        m.add_body(f"body{k}", 1.0, (0.1, 0.2, 0.3), 0.1)
        m.add_joint(f"joint{k}", last, f"body{k}", kind, ct.Pose(p=(0.3, 0.1, 0.0)), damping=0.1)
        last = f"body{k}"
    m.add_spring("spring", "joint2", 3.0)
    m.add_actuator("motor", "joint2", limits=2.0)
    m.add_frame("tool", last)
    return m


def _welded() -> ct.Mechanism:
    m = ct.Mechanism("welded")
    m.add_body("stone", 1.0, inertia=0.1)
    m.add_joint("weld", "ground", "stone", ct.Fixed())
    return m


@cache
def subject(number: int) -> Subject:
    """One of a few systems: a tree of many kinds, loops, loops on a floating base, and nothing that moves."""
    makers = [
        _mixed,
        ct.generators.four_bar,
        lambda: ct.generators.walker(2),
        ct.generators.spatial_four_bar,
        _welded,
    ]
    return Subject(makers[number]())


@cache
def run_of(number: int) -> ct.Trajectory:
    return subject(number).run


@cache
def flyer() -> Subject:
    """A robot that floats; and there are files to read."""
    ct.save(subject(1).mechanism, FOLDER / "catena_fuzz.toml")
    run_of(1).save(FOLDER / "catena_fuzz.nc")
    return Subject(ct.generators.free_flyer(1, 3, 0))


def linkage() -> ct.Linkage:
    """A four-bar as one draws it."""
    made = ct.Linkage("drawn", {"A": (0.0, 0.0), "D": (1.0, 0.0)})
    return made.bars({"A-B": 0.4, "B-C": 1.1, "C-D": 0.9}).sketch({"B": (0.1, 0.4), "C": (1.0, 0.9)})


ROD = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10)
CORNERS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.3, 0.3]])


def springs() -> np.ndarray:
    """The stiffness matrix of springs between all corners of a tetrahedron."""
    K = np.zeros((12, 12))
    for a in range(4):
        for b in range(a):
            along = np.zeros(12)
            along[3 * a : 3 * a + 3], along[3 * b : 3 * b + 3] = (
                CORNERS[a] - CORNERS[b],
                CORNERS[b] - CORNERS[a],
            )
            K += 1e4 * np.outer(along, along)
    return K


# What a parameter of this name should be, from the subject where it depends on it.
Good = Callable[[Subject], Any]
GOOD: dict[str, Any] = {
    "symbols": (), "names": "forward_dynamics", "visuals": (), "collisions": (), "density": None, "physical": True,
    "armature": 0.0, "velocity_limit": None, "static_friction": None, "stribeck_velocity": None,
    "load_friction": None, "angular_stiffness": None, "angular_damping": None,
    "kinds": (), "accuracy": 1e-7,
    "dt": 0.1, "given": {}, "slack": 1e-5, "held": (), "stiffness": 3.0, "damping": 0.5, "tolerance": 1e-10,
    "base_acceleration": np.zeros(6), "method": "auto", "member": None, "name": "new", "gravity": (0, 0, -9.81),
    "mass": 1.0, "com": (0.1, 0, 0), "inertia": 0.1, "parent": "ground", "kind": ct.Revolute("x"), "friction": 0.1,
    "in_parent": ct.Pose(), "in_child": ct.Pose(), "limits": (-1.0, 1.0), "actuated": True, "limit_stiffness": 100.0,
    "limit_damping": 1.0, "pose": ct.Pose(), "components": [0], "gear": 2.0, "rest": None, "frame_a": "ground",
    "rest_length": 0.3, "moment": (0, 0, 1), "force": (1, 0, 0), "axes": "ground", "root": None, "cut": (),
    "path": FOLDER / "catena_fuzz.toml", "times": [0.0, 0.01], "what": "positions", "show": False, "title": "title",
    "since": 0.0,
    "duration": 0.01, "control": None, "motion": None, "forces": None, "integrator": "dopri5", "step": None,
    "rtol": 1e-6, "atol": 1e-8, "drift": "projection", "events": (), "samples": 3, "progress": False, "check": True,
    "kp": 1.0, "ki": 0.0, "kd": 0.1, "bias": 0.0, "joints": None, "anti_windup": "clamping", "tracking": None,
    "rate": 100.0, "partial": True, "memory": 0, "inputs": None, "posture_kp": 1.0, "position": (0.1, 0.2, 0.3),
    "rotation": (1.0, 0.0, 0.0, 0.0), "nv": None, "points": [[0.0], [1.0]], "velocities": None, "accelerations": None,
    "degree": 3, "ends": "rest", "vector": references.constant((0.1, 0.2, 0.3)), "start": (1.0, 0.0, 0.0, 0.0),
    "orientations": [[1.0, 0, 0, 0], [0, 1.0, 0, 0]], "law": "cubic", "velocity": None, "acceleration": None,
    "p": (1, 2, 3), "quat": None, "rpy": (0.1, 0.2, 0.3), "R": None, "axis": "y", "pitch": 0.1, "axis1": "x",
    "axis2": "y", "normal": "z", "motions": "rx", "direction": 1, "terminal": True, "every": 2, "time": 0.1,
    "constrained": ("dz",), "support": ct.Support(), "twist": np.zeros(6), "count": 1, "k": 0, "arguments": ct.Pose(),
    "options": 0.1, "between": None, "x": (0.0, 1.0), "y": (0.0, 2.0), "smooth": False, "beyond": "line", "length": 1.0,
    "column": 0.5, "exponent": 1.4, "outside": 0.0, "linear": 0.1, "quadratic": 0.0, "angular": 0.0, "symbolic": False,
    "angular_quadratic": 0.0, "low": (-1.0,), "high": (1.0,), "spring": ct.forces.Table((0.0, 1.0), (0.0, 2.0)),
    "damper": None, "component": 0, "base": "ground", "to": (0.0, 0.1), "hold": None, "seek": "any", "out": None,
    "of": "forward_dynamics", "elements": False, "no_load_speed": None, "shapes": (), "offset": 0.1, "keep": (),
    "polynomial": (0.0, 1.0), "profile": ((0.0, 1.0, 2.0), (0.0, 1.0, 0.0)), "detach": (), "unlock": (), "lock": (),
    "attach": {}, "numbers": 1.0, "more": 1.0, "flexible": None,
    "bodies": (), "frames": (), "restitution": 0.0, "restitution_law": "newton", "coordinates": "joint",
    "driven": {}, "then": None,
    "area": 1e-4, "young": 7e10, "shear": None, "modes": 2, "torsion": None, "stations": (), "rotary": None,
    "interface": False, "extension": False, "values": {}, "batches": False,
    "nodes": {"a": (0, 0, 0), "b": (1, 0, 0)}, "members": (), "interfaces": ("a", "b"),
    "masses": None, "stiffening": None, "a": "a", "b": "b", "up": None, "on": "ground", "radius": 0.0, "rim": 0.0,
    "resolution": 0.0, "fixed": {"A": (0.0, 0.0), "D": (1.0, 0.0)}, "sensors": {}, "end": "high", "search": (),
    "loops": None, "fix": False, "macros": False, "into": None, "reach": None, "reach_twist": None, "track": None,
    "track_from": 0.0, "rates": None, "torques": None, "attitude": None, "iterations": 3, "beam": ROD, "segments": 2,
    "plane": None, "intervals": None, "assemble": False, "lengths": {"B-E": 0.4, "C-E": 0.9}, "point": "B",
    "along": (1.0, 0.0),
    "through": (0.0, 0.0), "momentum": None, "v_m": np.zeros(3), "prefix": "", "dof": 3, "m": 2, "n": 2,
    "branching": 2, "fingers": 2, "arms": 1, "wheels": 0, "seed": 3, "reversed_joints": True, "floating": False,
    "base_radius": 1.0, "platform_radius": 0.5, "height": 1.0, "arm": 0.25, "forearm": 0.5, "width": 0.1, "angle": 0.4,
    "crank": 0.4, "coupler": 1.2, "rocker": 0.9, "ground": 1.0, "misalignment": 0.0, "standing": 4,
    "contact": "point", "depth": 2, "grip": None, "posture": None,
    "on_radius": None, "floor": None, "places": {}, "near": None, "at_loops": None, "on_error": "raise",
    "mimic": True, "power": True, "reactions": True, "units": False, "motors": None, "t": 0.005, "steps": 4,
    "acted": {}, "changes": {}, "euler": None, "euler_tensor": None, "signals": {}, "state": None,
    "observe": None, "cancel": None, "independent": None, "objective": "force", "reach_attitude": None,
    "states": np.array([0]), "batch": (1,),
}  # fmt: skip
OF_SUBJECT: dict[str, Good] = {
    **dict.fromkeys(("q", "q0", "q1", "guess", "posture"), lambda s: s.q),
    **dict.fromkeys(("v", "tau", "vdot"), lambda s: s.v),
    **dict.fromkeys(("frame", "child", "body", "frame_b"), lambda s: s.frame),
    **dict.fromkeys(("reference", "references"), lambda s: {s.joint: s.position}),
    "joint": lambda s: s.joint,
    "of": lambda s: list(s.mechanism.joints)[-1],
    "coefficients": lambda s: {s.joint: 1.0},
    "system": lambda s: s.system,
    "at": lambda s: s.position,
    "prescribed": lambda s: {s.joint: s.rates},
    "f_ext": lambda s: {s.frame: np.ones(6)},
    "contacts": lambda s: [ct.TipContact(s.frame, ("dz",))],
    "function": lambda s: lambda t, q, v: -v,
    "parameters": lambda s: {f"{s.frame}.mass": 1.5},
    **dict.fromkeys(("before", "after"), lambda s: s.system),
    "sensor": lambda s: ct.Encoder(s.joint),
    "goals": lambda s: {s.frame: s.system.pose(s.q, s.frame)},
    "index": lambda s: 0,
    "mechanism": lambda s: s.mechanism.copy(),
    "other": lambda s: s.mechanism.copy(),
    "new": lambda s: s.mechanism.system(),
}
# The same name means something else here.
SPECIAL: dict[tuple[str, str], Good] = {
    ("function", "position"): lambda s: lambda t: 0.1 * t,
    ("TaskPath", "path"): lambda s: references.constant(s.system.pose(s.q, s.frame).p),
    ("TaskSpace", "path"): lambda s: (0.1, 0.2, 0.3),
    ("mass_matrix", "method"): lambda s: "composite_body",
    ("PID", "limits"): lambda s: "actuators",
    ("add_actuator", "limits"): lambda s: 5.0,
    ("TipContact", "force"): lambda s: None,
    ("TipContact", "friction"): lambda s: None,
    ("TipContact", "axes"): lambda s: "tip",
    ("TipContact", "velocity"): lambda s: None,
    ("TipContact", "motion"): lambda s: None,
    ("Support", "acceleration"): lambda s: np.zeros(6),
    ("save", "acceleration"): lambda s: True,
    ("table", "acceleration"): lambda s: True,
    ("set_initial", "q"): lambda s: {s.joint: s.position},
    ("set_initial", "v"): lambda s: {s.joint: s.rates},
    ("save", "path"): lambda s: FOLDER / "catena_fuzz.csv",
    ("report", "path"): lambda s: FOLDER / "catena_fuzz.html",
    ("plot", "path"): lambda s: None,
    ("load", "path"): lambda s: FOLDER / "catena_fuzz.nc",
    ("GasSpring", "force"): lambda s: 10.0,
    ("JointStop", "stiffness"): lambda s: (100.0,),
    ("JointStop", "damping"): lambda s: (1.0,),
    ("add_bushing", "stiffness"): lambda s: (1.0,) * 6,
    ("add_bushing", "damping"): lambda s: (1.0,) * 6,
    ("Bushing", "stiffness"): lambda s: (1.0,) * 6,
    ("Bushing", "damping"): lambda s: (1.0,) * 6,
    ("add_force", "kind"): lambda s: ct.forces.PointSpring(3.0),
    ("add_force", "joint"): lambda s: None,
    ("add_force", "between"): lambda s: ("ground", s.frame),
    ("ExternalWrench", "function"): lambda s: lambda t: np.ones(6),
    ("ExternalWrench", "axes"): lambda s: None,
    ("Stepper", "step"): lambda s: 1e-3,
    ("Stepper", "integrator"): lambda s: "rk4",
    ("JointPath", "rest"): lambda s: s.q,
    ("parameter_derivatives", "names"): lambda s: [f"{s.frame}.mass"],
    ("parameter_derivatives", "given"): lambda s: s.v,
    **{(name, "of"): lambda s: s.joint for name in ("add_cam", "add_polynomial_coupling", "add_mimic")},
    ("inverse_dynamics", "actuated"): lambda s: None,
    ("replace_body", "body"): lambda s: s.mechanism.bodies.get(s.frame, s.frame),
    ("drive", "samples"): lambda s: 5,
    **{(name, "name"): lambda s: s.frame for name in ("with_body",)},
    **{(name, "name"): lambda s: s.joint for name in ("with_joint", "reduce_to", "lock", "unlock", "detach")},
    ("with_spring", "name"): lambda s: "spring",
    **{(name, "name"): lambda s: "*" for name in ("without_coupling", "without_actuator")},
    ("with_force", "name"): lambda s: "spring",
    ("JointPath", "step"): lambda s: 0.01,
    ("TaskPath", "step"): lambda s: 0.01,
    ("ct.Beam", "inertia"): lambda s: 1e-9,
    ("ct.Beam", "density"): lambda s: 2700.0,
    ("ct.Beam", "ends"): lambda s: "clamped-free",
    ("ct.BeamFrame", "members"): lambda s: (ct.Member("a", "b", 1e-4, 1e-9, 2700.0, 7e10, elements=2),),
    ("ct.FiniteElements", "mass"): lambda s: np.eye(12),
    ("ct.FiniteElements", "stiffness"): lambda s: springs(),
    ("ct.FiniteElements", "nodes"): lambda s: CORNERS,
    ("ct.FiniteElements", "interfaces"): lambda s: {"root": [0, 1, 2]},
    ("ct.Member", "inertia"): lambda s: 1e-9,
    ("ct.Member", "density"): lambda s: 2700.0,
    ("ct.Member", "elements"): lambda s: 2,
    ("ct.Linkage", "gravity"): lambda s: 9.81,
    ("ct.Linkage", "density"): lambda s: 1.0,
    ("Linkage.mechanism", "at"): lambda s: None,
    ("Linkage.points", "at"): lambda s: None,
    ("Linkage.sketch", "points"): lambda s: {"B": (0.1, 0.4)},
    ("Linkage.slide", "mass"): lambda s: 0.1,
    ("ct.Sensed", "sensors"): lambda s: {"angle": ct.Encoder(s.joint)},
    ("ct.Sensed", "law"): lambda s: lambda t, y: {},
    ("ct.System", "mechanism"): lambda s: s.mechanism,
    ("ct.connectivity_before", "mechanism"): lambda s: s.mechanism,
    ("ct.convert", "into"): lambda s: FOLDER / "catena_fuzz.urdf",
    ("ct.load_run", "path"): lambda s: FOLDER / "catena_fuzz.nc",
    ("ct.load_run", "system"): lambda s: None,
    ("ct.identify_inertia", "bodies"): lambda s: [s.frame],
    ("ct.plan_motion", "start"): lambda s: s.q,
    ("ct.plan_motion", "duration"): lambda s: 0.5,
    ("ct.plan_motion", "nodes"): lambda s: 4,
    ("ct.plan_motion", "end"): lambda s: {s.joint: s.position},
    ("ct.plan_motion", "frame"): lambda s: None,
    ("ct.plan_motion", "guess"): lambda s: None,
    ("ct.plan_motion", "smooth"): lambda s: 1e-3,
    ("ct.segmented", "at"): lambda s: None,
    ("ct.sensitivities", "parameters"): lambda s: [f"{s.frame}.mass"],
    ("ct.sensitivities", "options"): lambda s: None,
    ("FreeFlyer.follow", "path"): lambda s: lambda t: (s.system.pose(s.q, s.frame).p, np.zeros(3)),
    ("FreeFlyer.follow", "start"): lambda s: s.q,
    ("ct.FreeFlyer", "base"): lambda s: None,
    ("arm7", "posture"): lambda s: None,
    ("add_arm", "posture"): lambda s: None,
    ("delta", "base_radius"): lambda s: 0.2,
    ("delta", "platform_radius"): lambda s: 0.06,
    ("chain", "axes"): lambda s: ("y", "x"),
    ("random_mechanism", "bodies"): lambda s: 3,
    ("random_mechanism", "kinds"): lambda s: None,
    ("random_mechanism", "loops"): lambda s: 1,
    ("four_bar", "masses"): lambda s: (1.0, 2.0, 1.5),
    ("add_arm", "at"): lambda s: None,
    ("spatial_four_bar", "twist"): lambda s: 0.9,
}
# Numbers that ask for a mechanism too large to wait for.
MANY = {
    "n", "m", "dof", "depth", "segments", "nodes", "iterations", "intervals", "fingers", "arms", "wheels", "bodies",
    "loops", "elements", "modes", "branching", "standing", "seed",
}  # fmt: skip
# Anything may be taken for true or false, and names of things need not be text to be printed.
ANYTHING = {
    "actuated", "progress", "check", "show", "partial", "terminal", "periodic", "fix", "macros", "floating",
    "reversed_joints", "assemble", "search",
}  # fmt: skip
# What is called as it is, and raises what it likes.
FUNCTIONS = {
    "function", "control", "inputs", "events", "motion", "forces", "position", "velocity", "acceleration", "kind",
    "law",
}  # fmt: skip
# Numbers that ask for something good that never ends, or that takes all memory.
LASTING = {
    "duration", "samples", "step", "rate", "rtol", "atol", "tracking", "times", "count", "every", "degree", "memory",
}  # fmt: skip


def recursive() -> list[Any]:
    x: list[Any] = []
    x.append(x)
    return x


class Event:
    """Something with the name of a thing, and nothing of it."""

    function = None
    at = 3


class Odd:
    """Something that pretends to be a number and fails at it."""

    def __float__(self) -> float:
        raise KeyError("no number")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise IndexError("no array")


# What is something else than it should be wherever it stands.
ANYWHERE = [
    None, True, 0, -1, 3, 0.5, 1e308, -1e308, 1e-320, 10**400, 10**5000, np.nan, np.inf, -np.inf, 1 + 2j,
    np.complex128(1j), "", "abc", "1.0", b"x", [], [[]], [1, [2, 3]], [[1, 2], [3]], {}, {"x": 1}, {1: 2}, set(),
    object(), Odd(), [Odd()], ..., slice(1), int, float, recursive(), Fraction(1, 3), Decimal("0.1"), "x" * 10_000,
    np.array("text"), np.zeros(0), ["nobody", None, 3], [np.zeros(3), np.zeros(2)], ct.Pose(), lambda *a: 1.0,
    lambda *a: "x", lambda *a: None, lambda *a: 1j, lambda *a: [1, [2, 3]], Event(),
]  # fmt: skip


def nearly(random: np.random.Generator, s: Subject, good: Any) -> list[Any]:
    """Things that are nearly what is good: of its width, but of another shape, type or value, and names."""
    sized = np.ndim(good) > 0 and not isinstance(good, Mapping | str)
    width = np.shape(good)[-1] if sized else int(random.integers(1, 8))
    row = np.zeros(width)
    batch = tuple(random.integers(0, 4, size=int(random.integers(1, 3))))
    spoiled = np.array(good if isinstance(good, np.ndarray) and good.size else row, dtype=float)
    if spoiled.size:
        values = [np.nan, np.inf, -np.inf, 1e300, -1e308, 1e-320]
        spoiled.flat[int(random.integers(spoiled.size))] = random.choice(values)
    return [
        spoiled, spoiled, spoiled.tolist(), row + 1j, (row + 1j).tolist(), row.astype(complex), [row.tolist(), [0.0]],
        np.zeros((*batch, width)), np.zeros((0, width)), np.zeros((2, 0, width)), np.zeros(width + 1), range(width),
        np.zeros((width, 1)), np.array([None] * width), np.array(["a"] * width), np.zeros(width, dtype="datetime64[s]"),
        np.zeros(width, dtype=[("a", float)]), (x for x in range(3)), row.astype(int), row.astype(object),
        row.astype(">f8"), row.astype(np.float16), np.zeros(2 * width)[::2], np.full((*batch, width), np.nan), s.joint,
        s.frame, [s.joint], [s.joint, s.joint], {s.joint: None}, {s.frame: [1, [2]]}, {s.joint: 1 + 1j}, s.system,
        {s.frame: np.ones(6) * 1j}, s.mechanism.copy(),
    ]  # fmt: skip


def bad(random: np.random.Generator, s: Subject, good: Any) -> Any:
    """Something else than what is good."""
    if isinstance(good, Mapping) and random.random() < 0.7:
        key = s.joint if random.random() < 0.7 else random.choice(["nobody", "", s.frame])
        more = {str(random.choice([s.frame, "x"])): 1.0} if random.random() < 0.2 else {}
        return {str(key): bad(random, s, s.rates), **more}
    choices = [*ANYWHERE, *nearly(random, s, good)]
    return choices[int(random.integers(len(choices)))]


def is_complex(x: Any) -> bool:
    if isinstance(x, Mapping):
        return any(is_complex(value) for value in x.values())
    if isinstance(x, (list, tuple)) and len(x) < 100 and not any(entry is x for entry in x):
        return any(is_complex(entry) for entry in x)
    return isinstance(x, complex) or (
        isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c" and x.size > 0
    )


def arrays_in(x: Any) -> list[np.ndarray]:
    """The arrays of numbers that an answer consists of."""
    if isinstance(x, np.ndarray):
        return [x] if x.dtype.kind == "f" else []
    if isinstance(x, Mapping):
        return [y for value in x.values() for y in arrays_in(value)]
    return [y for value in x for y in arrays_in(value)] if isinstance(x, (list, tuple)) else []


def good(name: str, parameter: str, s: Subject) -> Any:
    """What a parameter of a function should be; None where nobody knows."""
    maker = SPECIAL.get((name, parameter), OF_SUBJECT.get(parameter))
    return GOOD.get(parameter) if maker is None else maker(s)


def later(random: np.random.Generator) -> tuple[str, Subject, Callable[..., Any]]:
    """A function of those that came later, with its name."""
    where, s, flying = random.random(), subject(int(random.integers(5))), flyer()
    if where < 0.15:
        name = str(random.choice(FLYING))
        return f"FreeFlyer.{name}", flying, getattr(ct.FreeFlyer(flying.system), name)
    if where < 0.25:
        name = str(random.choice(LINKAGE))
        return f"Linkage.{name}", s, getattr(linkage(), name)
    if where < 0.4:
        name = str(random.choice(GENERATORS))
        return name, s, getattr(ct.generators, name)
    name = str(random.choice(LATER))
    return f"ct.{name}", flying if name in ("FreeFlyer", "plan_motion") else s, getattr(ct, name)


def target(random: np.random.Generator) -> tuple[str, Subject, Callable[..., Any]]:
    """A function to call, with its name."""
    number = int(random.integers(5))
    s = subject(number)
    where = random.random()
    if where < 0.45:
        name = str(random.choice(SYSTEM))
        owner = ct if name in OF_SYSTEM else s.system.forces if name in OF_FORCES else s.system
        return name, s, getattr(owner, name)
    if where < 0.65:
        name = str(random.choice(MECHANISM))
        return name, s, getattr(s.mechanism.copy(), name)
    if where < 0.72:
        return "simulate", s, ct.simulate
    if where < 0.8:
        name = str(random.choice(TRAJECTORY))
        return name, s, getattr(run_of(number % 4), name)
    if where < 0.88:
        name = str(random.choice(REFERENCES))
        return name, s, getattr(references, name)
    if where < 0.94:
        name = str(random.choice(CONTROL))
        return name, s, getattr(control, name)
    name = str(random.choice([*DESCRIPTIONS, *FORCES]))
    return name, s, getattr(ct.forces if name in FORCES else ct, name)


def used(name: str, s: Subject, found: Any) -> Any:
    """What follows from an answer: references are asked at a time, controllers for a state."""
    if hasattr(found, "at") and not isinstance(found, ct.Trajectory | ct.ExternalWrench):
        return found.at(0.005)
    if isinstance(found, ct.Member):
        return ct.BeamFrame({"a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0)}, [found], ("a", "b"))
    if isinstance(found, ct.Stepper):
        return found.step(s.v)
    if isinstance(found, control.Controller) and s.system.nv:
        found.start(s.system)
        return found(0.0, s.q, s.v)
    return found


class Call:
    """One bad call."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng([seed, 2])
        self.name, self.subject, self.function = (target if seed % 5 else later)(random)
        parameters = {
            p: x
            for p, x in inspect.signature(self.function).parameters.items()
            if x.kind is not x.VAR_KEYWORD
        }
        self.keywords: dict[str, Any] = {}
        self.positional: list[Any] = []
        self.complex = False
        count = min(len(parameters), 1 + int(random.random() < 0.15))
        spoil = set(random.choice(list(parameters), size=count, replace=False)) if parameters else set()
        for p, parameter in parameters.items():
            value = good(self.name, p, self.subject)
            if p in spoil:
                value = self.spoiled(random, p, value)
            elif parameter.default is not parameter.empty and random.random() < 0.5:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                # What comes before stars is given by position as well.
                self.positional = [*self.keywords.values(), value]
                self.keywords = {}
            else:
                self.keywords[p] = value

    def spoiled(self, random: np.random.Generator, p: str, value: Any) -> Any:
        while True:
            other = bad(random, self.subject, value)
            takes_long = (p in LASTING and lasting(other)) or (p in MANY and many(other))
            if not takes_long and not (p in FUNCTIONS and isinstance(other, type)):
                self.complex = self.complex or (p not in ANYTHING and is_complex(other))
                return other

    def __str__(self) -> str:
        given = ", ".join(
            [*map(short, self.positional), *(f"{k}={short(x)}" for k, x in self.keywords.items())]
        )
        return f"{self.name}({given}) of {self.subject.mechanism.name}"

    def run(self) -> list[str]:
        try:
            found = used(self.name, self.subject, self.function(*self.positional, **self.keywords))
        except ct.CatenaError as error:
            return [] if str(error) else [f"{self} says nothing: {type(error).__name__}"]
        except Exception as error:
            return [f"{self} ends in a bare {type(error).__name__}: {error}"]
        told = self.name == "ct.check" and any(finding.severity.value == "error" for finding in found)
        if self.complex and not told:
            return [f"{self} takes complex numbers"]
        if self.name in SYSTEM and any(np.isnan(x).any() for x in arrays_in(found)):
            return [f"{self} gives NaN"]
        return []


def lasting(x: Any) -> bool:
    """Whether a number is too large or too small to wait for."""
    try:
        size = np.abs(np.asarray(x, dtype=float))
    except Exception:
        return False
    return bool(np.any(np.isfinite(size) & (size > 0.0) & ((size > 3.0) | (size < 1e-3))))


def many(x: Any) -> bool:
    """Whether a whole number asks for more than one waits for."""
    return isinstance(x, int | float | Fraction) and np.isfinite(float(min(x, 1e300))) and x > 6


def short(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"ndarray of shape {x.shape}: {x.ravel()[:4].tolist()}"
    try:
        text = repr(x)
    except ValueError:
        return f"a huge {type(x).__name__}"
    return text if len(text) < 90 else text[:80] + "..."


def check(seed: int) -> list[str]:
    """What is wrong with the call of a seed."""
    warnings.simplefilter("ignore")
    check.doing = "making a call"  # type: ignore[attr-defined]
    call = Call(seed)
    check.doing = str(call)  # type: ignore[attr-defined]
    return call.run()


def test_every_parameter_is_known():
    """A function or parameter that is new has to be told what is good for it."""
    places = [
        (ct.System, [n for n in SYSTEM if n not in {*OF_SYSTEM, *OF_FORCES}]), (ct, OF_SYSTEM),
        (type(ct.generators.four_bar().system().forces), OF_FORCES),
        (ct.Mechanism, MECHANISM), (ct.Trajectory, TRAJECTORY), (references, REFERENCES),
        (control, CONTROL), (ct, [*DESCRIPTIONS, *LATER, "simulate"]), (ct.forces, FORCES), (ct.FreeFlyer, FLYING),
        (ct.Linkage, LINKAGE), (ct.generators, GENERATORS),
    ]  # fmt: skip
    unknown = {
        f"{name}({parameter})"
        for place, names in places
        for name in names
        for parameter in inspect.signature(getattr(place, name)).parameters
        if parameter not in GOOD and parameter not in OF_SUBJECT and parameter != "self"
    }
    assert not unknown, f"{sorted(unknown)}: say in GOOD or OF_SUBJECT what these should be"


def test_some_calls():
    assert not faults("test_calls", range(400))


@pytest.mark.slow
def test_calls():
    assert not faults("test_calls", range(4_000), os.cpu_count() or 1)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(4_000, 24_000, 4_000))
def test_many_calls(first):
    assert not faults("test_calls", range(first, first + 4_000), os.cpu_count() or 1)
