"""Equations of a mechanism as one object: evaluate them, read them, count them, export them."""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from catena.equations.graph import ExpressionGraph
from catena.equations.named import EQUATIONS
from catena.equations.parameters import Parameter
from catena.equations.unrolling import Unrolled
from catena.errors import StateError
from catena.mechanism.validation import known
from catena.structure import Plan


class Equations:
    """Equations over a whole mechanism. Made by `System.equations`.

    Call it with the arguments (`arguments`: numbers for one state, or arrays with leading batch dimensions) and,
    where parameters stayed symbols, with `parameters={name: value}`; a parameter that is not given has the value of the
    mechanism.
    """

    def __init__(self, name: str, plan: Plan, unrolled: Unrolled, parameters: tuple[Parameter, ...]) -> None:
        self.name, self.plan, self.unrolled = name, plan, unrolled
        self.parameters = {p.name: p for p in parameters}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} ({size},)" for n, size in self.arguments.items())
        results = ", ".join(f"{n} {where.shape}" for n, where in self.graph.outputs.items())
        symbols = f"; symbols {list(self.parameters)}" if self.parameters else ""
        return f"Equations({self.name!r} of {self.plan.name!r}: {sizes} -> {results}{symbols})"

    @property
    def arguments(self) -> dict[str, int]:
        """What the equations take, by name, with the number of entries for one state."""
        return {n: len(x) for n, x in self.unrolled.inputs.items()}

    @cached_property
    def graph(self) -> ExpressionGraph:
        """The operations, each done once, with constants folded."""
        return ExpressionGraph.of(self.unrolled)

    def __call__(self, *arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """The results for one state or a batch: an array (..., *shape), or a tuple of arrays where there are
        several."""
        names = list(self.arguments)
        if len(arguments) != len(names):
            raise StateError(
                f"{self.name} takes {len(names)} arguments ({', '.join(names)}), but {len(arguments)} were given; "
                f"parameters go to parameters={{name: value}}."
            )
        values = {n: self._array(n, x, size) for (n, size), x in zip(self.arguments.items(), arguments)}
        for name in parameters or {}:
            known("symbol", name, self.parameters, f"parameters of {self.name}")
        for name, parameter in self.parameters.items():
            given = (parameters or {}).get(name)
            values[name] = self._array(
                name, parameter.value if given is None else given, len(parameter.entries)
            )
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in values.values()))
        except ValueError:
            shapes = {n: x.shape for n, x in values.items()}
            raise StateError(f"{self.name}: the batch dimensions do not fit together: {shapes}.") from None
        rows = {
            n: np.broadcast_to(x, (*batch, x.shape[-1])).reshape(prod(batch), x.shape[-1])
            for n, x in values.items()
        }
        results = [y.reshape(*batch, *y.shape[1:]) for y in self.graph.evaluate(rows).values()]
        return results[0] if len(results) == 1 else tuple(results)

    def _array(self, name: str, value: Any, size: int) -> np.ndarray:
        try:
            x = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"{self.name}: {name} is {value!r}, which are not numbers.") from None
        if size == 1 and x.shape[-1:] != (1,):
            x = x[..., None]
        if x.shape[-1:] != (size,):
            raise StateError(f"{self.name}: {name} has shape {x.shape}; its last dimension must be {size}.")
        return x

    def casadi(self) -> Any:
        """The equations as a CasADi `Function` of the arguments and then of the parameters."""
        return self.graph.function


__all__ = ["EQUATIONS", "Equations"]
