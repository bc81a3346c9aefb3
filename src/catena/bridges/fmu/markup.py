"""XML of model descriptions: elements that are written with their attributes escaped, and what both versions share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import quoteattr

from catena.bridges.fmu.model import Model
from catena.bridges.fmu.naming import UNITS, printable
from catena.bridges.fmu.variables import Variable

TOOL = "Catena"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def element(
    tag: str, attributes: Mapping[str, object | None], inside: Iterable[str] = (), depth: int = 1
) -> str:
    """Return an element with the attributes that are not None, and others `inside` of it."""
    given = "".join(
        f" {name}={quoteattr(_text(value))}" for name, value in attributes.items() if value is not None
    )
    lines = list(inside)
    pad = "  " * depth
    if not lines:
        return f"{pad}<{tag}{given}/>"
    return "\n".join([f"{pad}<{tag}{given}>", *lines, f"{pad}</{tag}>"])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else printable(str(value))


def units(model: Model) -> str:
    """Return the definitions of the units that variables have; angles may be shown in degrees."""
    used = dict.fromkeys(variable.signal.unit for variable in model.variables if variable.signal.unit)
    degrees = element("DisplayUnit", {"name": "deg", "factor": 57.29577951308232}, depth=3)
    return element(
        "UnitDefinitions",
        {},
        [
            element(
                "Unit",
                {"name": unit},
                [element("BaseUnit", UNITS[unit], depth=3), *([degrees] if unit == "rad" else [])],
                depth=2,
            )
            for unit in used
        ],
    )


def log_categories() -> str:
    """Return the categories of messages."""
    about = {"logStatusError": "what went wrong", "logStatusWarning": "what should be known"}
    inside = [element("Category", {"name": n, "description": d}, depth=2) for n, d in about.items()]
    return element("LogCategories", {}, inside)


def experiment(duration: float, rtol: float) -> str:
    """Return what importers begin with unless they are told otherwise."""
    return element("DefaultExperiment", {"startTime": 0.0, "stopTime": duration, "tolerance": rtol})


def numbers(variable: Variable) -> dict[str, object | None]:
    """Return the attributes of a variable's number."""
    signal = variable.signal
    start: object | None = signal.start if variable.has_start else None
    unit = None if variable.is_integer else signal.unit or None
    return {"start": start, "unit": unit, "nominal": variable.nominal}


def outputs(model: Model) -> list[int]:
    """Return the places of the outputs among the variables."""
    return [k for k, variable in enumerate(model.variables) if variable.causality == "output"]


def initial_unknowns(model: Model) -> list[int]:
    """Return the places of what importers may ask for in the initialisation."""
    wanted = {*outputs(model), *model.states, *model.derivatives}
    return [k for k in sorted(wanted) if model.variables[k].initial in ("approx", "calculated")]
