"""The two C files that are written for one mechanism: its numbers, with how it takes its steps, and its equations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.bridges.fmu.model import Model
from catena.equations.c_source import function_text
from catena.equations.plain_text import in_comment
from catena.errors import StateError
from catena.validation import is_one_of, is_positive, shown

INTEGRATORS = ("dopri5", "rk4")


@dataclass(frozen=True)
class Solver:
    """Relative and absolute tolerance of steps, or the length of fixed ones, and the time [s] in which gaps of loops
    fade where somebody else takes the steps."""

    rtol: float
    atol: float
    step: float | None
    stabilisation: float


def make_solver(integrator: Any, step: Any, rtol: Any, atol: Any, stabilisation: Any) -> Solver:
    """Return what was asked for; a StateError says what is wrong with it."""
    if not is_one_of(integrator, INTEGRATORS):
        raise StateError(
            f"integrator is {shown(integrator)}; an FMU has {' and '.join(map(repr, INTEGRATORS))}."
        )
    for name, value in (("rtol", rtol), ("atol", atol), ("stabilisation", stabilisation)):
        if not is_positive(value):
            raise StateError(f"{name} is {shown(value)}; give a positive number.")
    if integrator == "rk4" and not is_positive(step):
        raise StateError(
            f"step is {shown(step)}; integrator='rk4' takes steps of `step` seconds: give a positive number."
        )
    if integrator != "rk4" and step is not None:
        raise StateError(
            f"step is {shown(step)}, but {integrator!r} chooses its steps by rtol and atol: leave it out."
        )
    return Solver(float(rtol), float(atol), None if step is None else float(step), float(stabilisation))


# Functions that a mechanism without loops has no equations for.
_OPEN = """static void closure(const double *q, const double *v, const double *p, double *position, double *velocity) {
    (void)q;
    (void)v;
    (void)p;
    (void)position;
    (void)velocity;
}

static void closure_jacobian(const double *q, const double *p, double *J) {
    (void)q;
    (void)p;
    (void)J;
}
"""

_OPEN_SLOPE = """static void closure_slope(const double *q, const double *v, const double *p, const double *dq,
                          const double *dv, const double *dp, double *position, double *velocity) {
    (void)q;
    (void)v;
    (void)p;
    (void)dq;
    (void)dv;
    (void)dp;
    (void)position;
    (void)velocity;
}
"""


def numbers_text(model: Model, solver: Solver, token: str, kinds: Iterable[str]) -> str:
    """Return mechanism.h: sizes, numbers to begin with, and how steps are taken."""
    system, events = model.system, model.events
    sizes = {
        "NQ": system.nq, "NV": system.nv, "NX": system.nq + system.nv, "NU": len(model.inputs),
        "NP": len(model.parameters), "NY": model.functions["outputs"].outputs["y"].size, "NE": len(events),
        "NG": len(model.rows), "NROTATIONS": len(model.rotations), "IS_FIXED": int(solver.step is not None),
        "HAS_SLOPES": int(model.has_slopes),
        "HAS_CO_SIMULATION": int("co-simulation" in kinds), "HAS_MODEL_EXCHANGE": int("model-exchange" in kinds),
    }  # fmt: skip
    numbers = {
        "RTOL": solver.rtol, "ATOL": solver.atol, "STEP": solver.step or 0.0,
        "STABILISATION": 1.0 / solver.stabilisation, "LENGTH": model.length,
    }  # fmt: skip
    lines = [
        f"/* The numbers of {in_comment(model.title)}. */",
        "#ifndef CATENA_MECHANISM_H",
        "#define CATENA_MECHANISM_H",
        "",
        f'#define TOKEN "{token}"',
        *(f"#define {name} {value}" for name, value in sizes.items()),
        *(f"#define {name} {_number(value)}" for name, value in numbers.items()),
        "",
        _array("double", "START", map(_number, model.start)),
        _array("double", "NOMINAL", map(_number, model.nominal)),
        _array("double", "INPUTS", map(_number, model.inputs)),
        _array("double", "PARAMETERS", map(_number, model.parameters)),
        _array("unsigned char", "TUNABLE", map(str, model.tunable.astype(int))),
        _array("double", "ROWS", map(_number, model.rows)),
        _array("double", "UNITS", map(_number, model.units)),
        _array("char *const", "CONSTRAINTS", (f'"{_spoken(name)}"' for name in model.constraints)),
        _array("unsigned char", "PLACED", map(str, model.placed.astype(int))),
        _array("unsigned char", "DRIVEN", map(str, model.driven.astype(int))),
        _array("int", "MOVED_BY", (str(first) for first, _ in model.moved)),
        _array("int", "MOVED", (str(count) for _, count in model.moved)),
        _array("int", "ROTATIONS", map(str, model.rotations)),
        _array("int", "DIRECTION", (str(int(event.direction)) for event in events)),
        _array("unsigned char", "TERMINAL", (str(int(bool(event.terminal))) for event in events)),
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def equations_text(model: Model) -> str:
    """Return equations.h: everything that is computed, as functions."""
    texts = [function_text(graph, name, "double", static=True) for name, graph in model.functions.items()]
    if "closure" not in model.functions:
        texts += [_OPEN, _OPEN_SLOPE] if model.has_slopes else [_OPEN]
    guard = "CATENA_EQUATIONS_H"
    head = [f"/* The equations of {in_comment(model.title)}. */", f"#ifndef {guard}", f"#define {guard}", ""]
    return "\n".join([*head, *texts, "#endif", ""])


def _array(kind: str, name: str, entries: Iterable[str]) -> str:
    return f"static const {kind} {name}[] = {{{', '.join(entries) or '0'}}};"


def _spoken(name: str) -> str:
    """Return a text for a message: FMI 2.0 takes messages for formats, in which a percent sign means something."""
    return in_comment(name).replace("%", "<U+0025>")


def _number(x: float) -> str:
    text = repr(float(np.float64(x)))
    return text if "." in text or "e" in text or "n" in text else f"{text}.0"
