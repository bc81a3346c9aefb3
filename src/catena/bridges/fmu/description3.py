"""The model description of FMI 3.0, and how its sources are built."""

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

FACE = "fmi3.c"


def description(
    model: Model, identifier: str, token: str, kinds: Iterable[str], duration: float, rtol: float
) -> str:
    """Return modelDescription.xml."""
    common = {
        "modelIdentifier": identifier,
        "canGetAndSetFMUState": True,
        "canSerializeFMUState": True,
        "providesDirectionalDerivatives": model.has_slopes,
    }
    own = {
        "model-exchange": element("ModelExchange", {**common, "needsCompletedIntegratorStep": True}),
        "co-simulation": element(
            "CoSimulation",
            {
                **common,
                "canHandleVariableCommunicationStepSize": True,
                "mightReturnEarlyFromDoStep": any(event.terminal for event in model.events),
            },
        ),
    }
    structure = [
        *_unknowns("Output", outputs(model)),
        *_unknowns("ContinuousStateDerivative", model.derivatives),
        *_unknowns("InitialUnknown", initial_unknowns(model)),
        *_unknowns("EventIndicator", model.indicators),
    ]
    attributes = {
        "fmiVersion": "3.0", "modelName": model.title, "instantiationToken": token, "generationTool": TOOL,
        "variableNamingConvention": "structured",
    }  # fmt: skip
    inside = [
        *(own[kind] for kind in own if kind in kinds),
        units(model),
        log_categories(),
        experiment(duration, rtol),
        element("ModelVariables", {}, [_variable(k, v) for k, v in enumerate(model.variables)]),
        element("ModelStructure", {}, structure),
    ]
    return "\n".join([HEAD, element("fmiModelDescription", attributes, inside, 0), ""])


def build_description(identifier: str) -> str:
    """Return sources/buildDescription.xml."""
    files = element(
        "SourceFileSet", {"language": "C99"}, [element("SourceFile", {"name": FACE}, depth=3)], depth=2
    )
    configuration = element("BuildConfiguration", {"modelIdentifier": identifier}, [files])
    return "\n".join([HEAD, element("fmiBuildDescription", {"fmiVersion": "3.0"}, [configuration], 0), ""])


def _variable(reference: int, variable: Variable) -> str:
    has_initial = variable.initial and variable.causality not in ("input", "independent")
    attributes = {
        "name": variable.signal.name, "valueReference": reference, "description": variable.signal.about,
        "causality": variable.causality, "variability": variable.variability,
        "initial": variable.initial if has_initial else None, **numbers(variable), "derivative": variable.of,
    }  # fmt: skip
    return element("Int32" if variable.is_integer else "Float64", attributes, depth=2)


def _unknowns(tag: str, places: Iterable[int]) -> list[str]:
    return [element(tag, {"valueReference": k}, depth=2) for k in places]
