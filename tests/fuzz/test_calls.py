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

# Left alone: `program` takes arrays that are known to be good, and these are not called by users.
SYSTEM = [
    name for name, member in inspect.getmembers(ct.System, callable) if name[0] != "_" and name != "program"
]
MECHANISM = [name for name, member in inspect.getmembers(ct.Mechanism, callable) if name[0] != "_"]
TRAJECTORY = ["__getitem__", *(n for n, m in inspect.getmembers(ct.Trajectory, callable) if n[0] != "_")]
REFERENCES = ["JointPath", "PosePath", "TaskPath", "constant", "cubic", "function", "quintic", "spline", "turning", "turns"]
CONTROL = ["PID", "ComputedTorque", "Feedforward", "GravityCompensation", "SymbolicControl", "TaskSpace", "sampled"]
DESCRIPTIONS = [
    "Pose", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Planar", "Sdof", "Mechanism", "Event",
    "Projection", "Baumgarte", "Corrective", "TipContact", "Support", "set_threads",
]  # fmt: skip


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
    makers = [_mixed, ct.generators.four_bar, lambda: ct.generators.walker(2), ct.generators.spatial_four_bar, _welded]
    return Subject(makers[number]())


@cache
def run_of(number: int) -> ct.Trajectory:
    return subject(number).run


# What a parameter of this name should be, from the subject and random numbers.
Good = Callable[[Subject, np.random.Generator], Any]
CONSTANT = references.constant
GOOD: dict[str, Good] = {
    "q": lambda s, r: s.q, "q0": lambda s, r: s.q, "q1": lambda s, r: s.q, "v": lambda s, r: s.v, "tau": lambda s, r: s.v,
    "vdot": lambda s, r: s.v, "dt": lambda s, r: 0.1, "frame": lambda s, r: s.frame, "joint": lambda s, r: s.joint,
    "given": lambda s, r: {}, "guess": lambda s, r: s.q, "slack": lambda s, r: 1e-5, "held": lambda s, r: (),
    "stiffness": lambda s, r: 3.0, "damping": lambda s, r: 0.5, "tolerance": lambda s, r: 1e-10,
    "contacts": lambda s, r: [ct.TipContact(s.frame, ("dz",))], "f_ext": lambda s, r: {s.frame: np.ones(6)},
    "base_acceleration": lambda s, r: np.zeros(6), "method": lambda s, r: "auto", "member": lambda s, r: None,
    "prescribed": lambda s, r: {s.joint: s.rates}, "name": lambda s, r: "new", "gravity": lambda s, r: (0, 0, -9.81),
    "mass": lambda s, r: 1.0, "com": lambda s, r: (0.1, 0, 0), "inertia": lambda s, r: 0.1, "parent": lambda s, r: "ground",
    "child": lambda s, r: s.frame, "kind": lambda s, r: ct.Revolute("x"), "in_parent": lambda s, r: ct.Pose(),
    "in_child": lambda s, r: ct.Pose(), "friction": lambda s, r: 0.1, "limits": lambda s, r: (-1.0, 1.0),
    "actuated": lambda s, r: True, "limit_stiffness": lambda s, r: 100.0, "limit_damping": lambda s, r: 1.0,
    "body": lambda s, r: s.frame, "pose": lambda s, r: ct.Pose(), "components": lambda s, r: [0], "gear": lambda s, r: 2.0,
    "rest": lambda s, r: None, "frame_a": lambda s, r: "ground", "frame_b": lambda s, r: s.frame,
    "rest_length": lambda s, r: 0.3, "moment": lambda s, r: (0, 0, 1), "force": lambda s, r: (1, 0, 0),
    "axes": lambda s, r: "ground", "at": lambda s, r: s.position, "root": lambda s, r: None, "cut": lambda s, r: (),
    "path": lambda s, r: Path(tempfile.gettempdir()) / "catena_fuzz.toml", "times": lambda s, r: [0.0, 0.01],
    "what": lambda s, r: "positions", "show": lambda s, r: False, "title": lambda s, r: "title", "system": lambda s, r: s.system,
    "duration": lambda s, r: 0.01, "control": lambda s, r: None, "motion": lambda s, r: None, "forces": lambda s, r: None,
    "integrator": lambda s, r: str(r.choice(["dopri5", "rk4", "radau"])), "step": lambda s, r: None,
    "rtol": lambda s, r: 1e-6, "atol": lambda s, r: 1e-8, "drift": lambda s, r: "projection", "events": lambda s, r: (),
    "samples": lambda s, r: 3, "progress": lambda s, r: False, "check": lambda s, r: True,
    "reference": lambda s, r: {s.joint: s.position}, "references": lambda s, r: {s.joint: s.position},
    "kp": lambda s, r: 1.0, "ki": lambda s, r: 0.0, "kd": lambda s, r: 0.1, "bias": lambda s, r: 0.0,
    "joints": lambda s, r: None, "anti_windup": lambda s, r: "clamping", "tracking": lambda s, r: None,
    "rate": lambda s, r: 100.0, "partial": lambda s, r: True, "function": lambda s, r: lambda t, q, v: -v,
    "memory": lambda s, r: 0, "inputs": lambda s, r: None, "posture": lambda s, r: s.q, "posture_kp": lambda s, r: 1.0,
    "position": lambda s, r: (0.1, 0.2, 0.3), "rotation": lambda s, r: (1.0, 0.0, 0.0, 0.0), "nv": lambda s, r: None,
    "points": lambda s, r: [[0.0], [1.0]], "velocities": lambda s, r: None, "accelerations": lambda s, r: None,
    "degree": lambda s, r: 3, "ends": lambda s, r: "rest", "vector": lambda s, r: CONSTANT((0.1, 0.2, 0.3)),
    "start": lambda s, r: (1.0, 0.0, 0.0, 0.0), "orientations": lambda s, r: [[1.0, 0, 0, 0], [0, 1.0, 0, 0]],
    "law": lambda s, r: "cubic", "velocity": lambda s, r: None, "acceleration": lambda s, r: None,
    "p": lambda s, r: (1, 2, 3), "quat": lambda s, r: None, "rpy": lambda s, r: (0.1, 0.2, 0.3), "R": lambda s, r: None,
    "axis": lambda s, r: "y", "pitch": lambda s, r: 0.1, "axis1": lambda s, r: "x", "axis2": lambda s, r: "y",
    "normal": lambda s, r: "z", "motions": lambda s, r: "rx", "direction": lambda s, r: 1, "terminal": lambda s, r: True,
    "every": lambda s, r: 2, "time": lambda s, r: 0.1, "constrained": lambda s, r: ("dz",), "support": lambda s, r: ct.Support(),
    "twist": lambda s, r: np.zeros(6), "count": lambda s, r: 1, "arguments": lambda s, r: ct.Pose(), "options": lambda s, r: 0.1,
}  # fmt: skip
# The same name means something else here.
SPECIAL: dict[tuple[str, str], Good] = {
    ("function", "position"): lambda s, r: lambda t: 0.1 * t,
    ("TaskPath", "path"): lambda s, r: CONSTANT(np.asarray(s.system.pose(s.q, s.frame).p)),
    ("TaskSpace", "path"): lambda s, r: (0.1, 0.2, 0.3),
    ("mass_matrix", "method"): lambda s, r: "composite_body",
    ("PID", "limits"): lambda s, r: "actuators",
    ("add_actuator", "limits"): lambda s, r: 5.0,
    ("TipContact", "force"): lambda s, r: None,
    ("TipContact", "friction"): lambda s, r: None,
    ("TipContact", "axes"): lambda s, r: "tip",
    ("Support", "acceleration"): lambda s, r: np.zeros(6),
    ("set_initial", "q"): lambda s, r: {s.joint: s.position},
    ("set_initial", "v"): lambda s, r: {s.joint: s.rates},
    ("add_spring_between", "stiffness"): lambda s, r: 2.0,
    ("save", "path"): lambda s, r: Path(tempfile.gettempdir()) / "catena_fuzz.csv",
    ("report", "path"): lambda s, r: Path(tempfile.gettempdir()) / "catena_fuzz.html",
    ("plot", "path"): lambda s, r: None,
    ("load", "path"): lambda s, r: Path(tempfile.gettempdir()) / "catena_fuzz.nc",
    ("sampled", "rate"): lambda s, r: 50.0,
    ("JointPath", "rest"): lambda s, r: s.q,
    ("JointPath", "step"): lambda s, r: 0.01,
    ("TaskPath", "step"): lambda s, r: 0.01,
}
# Anything may be taken for true or false, and names of things need not be text to be printed.
ANYTHING = {"actuated", "progress", "check", "show", "partial", "terminal", "periodic"}
# What is called as it is, and raises what it likes.
FUNCTIONS = {"function", "control", "inputs", "events", "motion", "forces", "position", "velocity", "acceleration"}
# Numbers that ask for something good that never ends, or that takes all memory.
LASTING = {"duration", "samples", "step", "rate", "rtol", "atol", "tracking", "times", "count", "every", "degree", "memory"}


def recursive() -> list[Any]:
    x: list[Any] = []
    x.append(x)
    return x


class Odd:
    """Something that pretends to be a number and fails at it."""

    def __float__(self) -> float:
        raise KeyError("no number")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise IndexError("no array")


def bad(random: np.random.Generator, s: Subject, good: Any) -> Any:
    """Something else than what is good, some of it nearly right."""
    width = np.shape(good)[-1] if np.ndim(good) and not isinstance(good, (Mapping, str)) else int(random.integers(1, 8))
    if isinstance(good, Mapping) and random.random() < 0.7:
        key = s.joint if random.random() < 0.7 else random.choice(["nobody", "", s.frame])
        value = bad(random, s, s.rates)
        return {str(key): value, **({str(random.choice([s.frame, "x"])): 1.0} if random.random() < 0.2 else {})}
    row = np.zeros(width)
    batch = tuple(random.integers(0, 4, size=int(random.integers(1, 3))))
    spoiled = np.array(good, dtype=float) if isinstance(good, np.ndarray) and good.size else row
    spoiled = spoiled.copy()
    if spoiled.size:
        spoiled.flat[int(random.integers(spoiled.size))] = random.choice([np.nan, np.inf, -np.inf, 1e300, -1e308, 1e-320])
    choices: list[Callable[[], Any]] = [
        lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 3, lambda: 0.5, lambda: 1e308, lambda: -1e308,
        lambda: 1e-320, lambda: 10**400, lambda: np.nan, lambda: np.inf, lambda: -np.inf, lambda: 1 + 2j,
        lambda: np.complex128(1j), lambda: row + 1j, lambda: (row + 1j).tolist(), lambda: row.astype(complex), lambda: "",
        lambda: "abc", lambda: "1.0", lambda: b"x", lambda: [], lambda: [[]], lambda: [1, [2, 3]], lambda: [[1, 2], [3]],
        lambda: [row.tolist(), row[:-1].tolist()], lambda: {}, lambda: {"x": 1}, lambda: {1: 2}, lambda: set(), lambda: object(),
        lambda: lambda *a: 1.0, lambda: lambda *a: "x", lambda: lambda *a: None, lambda: np.zeros((*batch, width)),
        lambda: np.zeros((0, width)), lambda: np.zeros((2, 0, width)), lambda: np.zeros(width + 1), lambda: np.zeros((width, 1)),
        lambda: np.zeros(0), lambda: np.array("text"), lambda: np.array([None] * width), lambda: np.array(["a"] * width),
        lambda: np.zeros(width, dtype="datetime64[s]"), lambda: np.zeros(width, dtype=[("a", float)]),
        lambda: Fraction(1, 3), lambda: Decimal("0.1"), lambda: (x for x in range(3)), lambda: range(width), lambda: int,
        recursive, lambda: s.joint, lambda: s.frame, lambda: "x" * 10_000, lambda: spoiled, lambda: spoiled,
        lambda: spoiled.tolist(), lambda: row.astype(int), lambda: row.astype(object), lambda: row.astype(">f8"),
        lambda: row.astype(np.float16), lambda: np.zeros(2 * width)[::2], lambda: [s.joint], lambda: [s.joint, s.joint],
        lambda: ["nobody", None, 3], lambda: {s.joint: None}, lambda: {s.frame: [1, [2]]}, Odd, lambda: [Odd()], lambda: ct.Pose(),
        lambda: s.system, lambda: s.mechanism, lambda: np.full((*batch, width), np.nan), lambda: [np.zeros(3), np.zeros(2)],
        lambda: float, lambda: ..., lambda: slice(1), lambda: {s.joint: 1 + 1j}, lambda: {s.frame: np.ones(6) * 1j},
    ]  # fmt: skip
    return choices[int(random.integers(len(choices)))]()


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


def target(random: np.random.Generator) -> tuple[str, Subject, Callable[..., Any]]:
    """A function to call, with its name."""
    number = int(random.integers(5))
    s = subject(number)
    where = random.random()
    if where < 0.45:
        name = str(random.choice(SYSTEM))
        return name, s, getattr(s.system, name)
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
    name = str(random.choice(DESCRIPTIONS))
    return name, s, getattr(ct, name)


def used(name: str, s: Subject, found: Any) -> Any:
    """What follows from an answer: references are asked at a time, controllers for a state."""
    if hasattr(found, "at") and not isinstance(found, ct.Trajectory):
        return found.at(0.005)
    if isinstance(found, control.Controller) and s.system.nv:
        found.start(s.system)
        return found(0.0, s.q, s.v)
    return found


class Call:
    """One bad call."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng([seed, 2])
        self.name, self.subject, self.function = target(random)
        names = inspect.signature(self.function).parameters
        unknown = [p for p in names if (self.name, p) not in SPECIAL and p not in GOOD]
        assert not unknown, f"{self.name} has the parameters {unknown}: say in GOOD what they should be"
        self.keywords: dict[str, Any] = {}
        spoil = set(random.choice(list(names), size=min(len(names), 1 + int(random.random() < 0.15)), replace=False)) if names else set()
        self.positional: list[Any] = []
        self.complex = False
        for p, parameter in names.items():
            good = SPECIAL.get((self.name, p), GOOD.get(p))(self.subject, random)  # type: ignore[misc]
            value = good
            if p in spoil:
                value = bad(random, self.subject, good)
                while (p in LASTING and lasting(value)) or (p in FUNCTIONS and isinstance(value, type)):
                    value = bad(random, self.subject, good)
                self.complex = self.complex or (p not in ANYTHING and is_complex(value))
            elif parameter.default is not parameter.empty and random.random() < 0.5:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY:
                self.keywords[p] = value
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self.positional.append(value)
            elif parameter.kind is not parameter.VAR_KEYWORD:
                self.keywords[p] = value
        if self.positional:
            # What comes before stars is given by position as well.
            before = [p for p, x in names.items() if x.kind is x.POSITIONAL_OR_KEYWORD]
            self.positional = [self.keywords.pop(p) for p in before if p in self.keywords] + self.positional

    def __str__(self) -> str:
        given = ", ".join([*map(short, self.positional), *(f"{k}={short(x)}" for k, x in self.keywords.items())])
        return f"{self.name}({given}) of {self.subject.mechanism.name}"

    def run(self) -> list[str]:
        try:
            found = used(self.name, self.subject, self.function(*self.positional, **self.keywords))
        except ct.CatenaError as error:
            return [] if str(error) else [f"{self} says nothing: {type(error).__name__}"]
        except Exception as error:
            return [f"{self} ends in a bare {type(error).__name__}: {error}"]
        if self.complex:
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


def short(x: Any) -> str:
    text = f"{type(x).__name__} of shape {x.shape}: {x.ravel()[:4].tolist()}" if isinstance(x, np.ndarray) else repr(x)
    return text if len(text) < 90 else text[:80] + "..."


def check(seed: int) -> list[str]:
    """What is wrong with the call of a seed."""
    warnings.simplefilter("ignore")
    check.doing = "making a call"  # type: ignore[attr-defined]
    call = Call(seed)
    check.doing = str(call)  # type: ignore[attr-defined]
    return call.run()


def test_some_calls():
    assert not faults("test_calls", range(400))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 24_000, 4_000))
def test_calls(first):
    assert not faults("test_calls", range(first, first + 4_000), os.cpu_count() or 1)
