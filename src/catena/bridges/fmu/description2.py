"""The model description of FMI 2.0."""

from __future__ import annotations

from collections.abc import Iterable

from catena.bridges.fmu.markup import (
    HEAD,
    TOOL,
    element,
    experiment,
    initial_unknowns,
    log_categories,
    numbers,
    outputs,
    units,
)
from catena.bridges.fmu.model import Model
from catena.bridges.fmu.variables import Variable

FACE = "fmi2.c"


def description(
    model: Model, identifier: str, token: str, kinds: Iterable[str], duration: float, rtol: float
) -> str:
    """Return modelDescription.xml."""
    sources = [element("SourceFiles", {}, [element("File", {"name": FACE}, depth=3)], depth=2)]
    common = {
        "modelIdentifier": identifier,
        "canGetAndSetFMUstate": True,
        "canSerializeFMUstate": True,
        "providesDirectionalDerivative": model.has_slopes,
    }
    own = {
        "model-exchange": element("ModelExchange", common, sources),
        "co-simulation": element(
            "CoSimulation", {**common, "canHandleVariableCommunicationStepSize": True}, sources
        ),
    }
    structure = [
        element("Outputs", {}, _unknowns(outputs(model)), 2) if outputs(model) else "",
        element("Derivatives", {}, _unknowns(model.derivatives), 2),
        element("InitialUnknowns", {}, _unknowns(initial_unknowns(model)), 2),
    ]
    attributes = {
        "fmiVersion": "2.0", "modelName": model.title, "guid": token, "generationTool": TOOL,
        "variableNamingConvention": "structured", "numberOfEventIndicators": len(model.events),
    }  # fmt: skip
    inside = [
        *(own[kind] for kind in own if kind in kinds),
        units(model),
        log_categories(),
        experiment(duration, rtol),
        element("ModelVariables", {}, [_variable(k, v) for k, v in enumerate(model.variables)]),
        element("ModelStructure", {}, [part for part in structure if part]),
    ]
    return "\n".join([HEAD, element("fmiModelDescription", attributes, inside, 0), ""])


def _variable(reference: int, variable: Variable) -> str:
    has_initial = variable.initial and variable.causality not in ("input", "independent")
    attributes = {
        "name": variable.signal.name, "valueReference": reference, "description": variable.signal.about,
        "causality": variable.causality, "variability": variable.variability,
        "initial": variable.initial if has_initial else None,
    }  # fmt: skip
    given = numbers(variable)
    # The places of variables are counted from 1.
    given["derivative"] = None if variable.of is None else variable.of + 1
    if variable.is_integer:
        given = {name: value for name, value in given.items() if name == "start"}
    kind = element("Integer" if variable.is_integer else "Real", given, depth=3)
    return element("ScalarVariable", attributes, [kind], 2)


def _unknowns(places: Iterable[int]) -> list[str]:
    return [element("Unknown", {"index": k + 1}, depth=3) for k in places]
