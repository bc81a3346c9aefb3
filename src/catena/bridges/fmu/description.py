"""The model descriptions of FMI 2.0 and 3.0, and how the sources of the latter are built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import quoteattr

from catena.bridges.fmu.model import Model
from catena.bridges.fmu.naming import UNITS, printable
from catena.bridges.fmu.variables import Variable

TOOL = "Catena"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
FACES = {"2.0": "fmi2.c", "3.0": "fmi3.c"}
"""The source file of each version that says what importers call."""


def description(
    version: str,
    model: Model,
    identifier: str,
    token: str,
    kinds: Iterable[str],
    duration: float,
    rtol: float,
) -> str:
    """Return modelDescription.xml."""
    is_old = version == "2.0"
    own = (_interfaces_2 if is_old else _interfaces_3)(model, identifier)
    attributes = {
        "fmiVersion": version, "modelName": model.title, "guid" if is_old else "instantiationToken": token,
        "generationTool": TOOL, "variableNamingConvention": "structured",
        "numberOfEventIndicators": len(model.events) if is_old else None,
    }  # fmt: skip
    variable = _variable_2 if is_old else _variable_3
    inside = [
        *(own[kind] for kind in own if kind in kinds),
        _units(model),
        _log_categories(),
        element("DefaultExperiment", {"startTime": 0.0, "stopTime": duration, "tolerance": rtol}),
        element("ModelVariables", {}, [variable(k, v) for k, v in enumerate(model.variables)]),
        element("ModelStructure", {}, (_structure_2 if is_old else _structure_3)(model)),
    ]
    return "\n".join([HEAD, element("fmiModelDescription", attributes, inside, 0), ""])


def build_description(identifier: str) -> str:
    """Return sources/buildDescription.xml of version 3.0."""
    files = element(
        "SourceFileSet",
        {"language": "C99"},
        [element("SourceFile", {"name": FACES["3.0"]}, depth=3)],
        depth=2,
    )
    configuration = element("BuildConfiguration", {"modelIdentifier": identifier}, [files])
    return "\n".join([HEAD, element("fmiBuildDescription", {"fmiVersion": "3.0"}, [configuration], 0), ""])


def _interfaces_2(model: Model, identifier: str) -> dict[str, str]:
    sources = [element("SourceFiles", {}, [element("File", {"name": FACES["2.0"]}, depth=3)], depth=2)]
    common = {
        "modelIdentifier": identifier, "canGetAndSetFMUstate": True, "canSerializeFMUstate": True,
        "providesDirectionalDerivative": model.has_slopes,
    }  # fmt: skip
    steps = {**common, "canHandleVariableCommunicationStepSize": True}
    return {
        "model-exchange": element("ModelExchange", common, sources),
        "co-simulation": element("CoSimulation", steps, sources),
    }


def _interfaces_3(model: Model, identifier: str) -> dict[str, str]:
    common = {
        "modelIdentifier": identifier, "canGetAndSetFMUState": True, "canSerializeFMUState": True,
        "providesDirectionalDerivatives": model.has_slopes,
    }  # fmt: skip
    steps = {
        **common, "canHandleVariableCommunicationStepSize": True,
        "mightReturnEarlyFromDoStep": any(event.terminal for event in model.events),
    }  # fmt: skip
    return {
        "model-exchange": element("ModelExchange", {**common, "needsCompletedIntegratorStep": True}),
        "co-simulation": element("CoSimulation", steps),
    }


def _structure_2(model: Model) -> list[str]:
    parts = (
        ("Outputs", _outputs(model)), ("Derivatives", model.derivatives), ("InitialUnknowns", _initial_unknowns(model)),
    )  # fmt: skip
    return [
        element(tag, {}, [element("Unknown", {"index": k + 1}, depth=3) for k in places], 2)
        for tag, places in parts
        if places or tag != "Outputs"
    ]


def _structure_3(model: Model) -> list[str]:
    parts = (
        ("Output", _outputs(model)), ("ContinuousStateDerivative", model.derivatives),
        ("InitialUnknown", _initial_unknowns(model)), ("EventIndicator", model.indicators),
    )  # fmt: skip
    return [element(tag, {"valueReference": k}, depth=2) for tag, places in parts for k in places]


def _variable_2(reference: int, variable: Variable) -> str:
    attributes = _numbers(variable)
    # The places of variables are counted from 1.
    attributes["derivative"] = None if variable.of is None else variable.of + 1
    if variable.is_integer:
        attributes = {name: value for name, value in attributes.items() if name == "start"}
    kind = element("Integer" if variable.is_integer else "Real", attributes, depth=3)
    return element("ScalarVariable", _attributes(reference, variable), [kind], 2)


def _variable_3(reference: int, variable: Variable) -> str:
    attributes = {**_attributes(reference, variable), **_numbers(variable), "derivative": variable.of}
    return element("Int32" if variable.is_integer else "Float64", attributes, depth=2)


def _attributes(reference: int, variable: Variable) -> dict[str, object | None]:
    has_initial = variable.initial and variable.causality not in ("input", "independent")
    return {
        "name": variable.signal.name, "valueReference": reference, "description": variable.signal.about,
        "causality": variable.causality, "variability": variable.variability,
        "initial": variable.initial if has_initial else None,
    }  # fmt: skip


def element(
    tag: str, attributes: Mapping[str, object | None], inside: Iterable[str] = (), depth: int = 1
) -> str:
    """Return an element with the attributes that are not None, and others `inside` of it."""
    attributes_text = "".join(
        f" {name}={quoteattr(_text(value))}" for name, value in attributes.items() if value is not None
    )
    lines = list(inside)
    pad = "  " * depth
    if not lines:
        return f"{pad}<{tag}{attributes_text}/>"
    return "\n".join([f"{pad}<{tag}{attributes_text}>", *lines, f"{pad}</{tag}>"])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else printable(str(value))


def _units(model: Model) -> str:
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


def _log_categories() -> str:
    """Return the categories of messages."""
    about = {"logStatusError": "what went wrong", "logStatusWarning": "what should be known"}
    inside = [element("Category", {"name": n, "description": d}, depth=2) for n, d in about.items()]
    return element("LogCategories", {}, inside)


def _numbers(variable: Variable) -> dict[str, object | None]:
    """Return the attributes of a variable's number."""
    signal = variable.signal
    start: object | None = signal.start if variable.has_start else None
    unit = None if variable.is_integer else signal.unit or None
    return {"start": start, "unit": unit, "nominal": variable.nominal}


def _outputs(model: Model) -> list[int]:
    """Return the places of the outputs among the variables."""
    return [k for k, variable in enumerate(model.variables) if variable.causality == "output"]


def _initial_unknowns(model: Model) -> list[int]:
    """Return the places of what importers may ask for in the initialisation."""
    wanted = {*_outputs(model), *model.states, *model.derivatives}
    return [k for k in sorted(wanted) if model.variables[k].initial in ("approx", "calculated")]
