"""Equations of a mechanism as one object: evaluate them, read them, count them, export them."""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from catena.equations.building import unrolled_graph
from catena.equations.c_source import CSource, c_source
from catena.equations.counting import Counts, count_equations, count_operations
from catena.equations.dataflow import OPERATIONS, UNIT, Costs, DataFlow, dataflow
from catena.equations.derivation import OUTSIDE
from catena.equations.graph import ExpressionGraph, identifier
from catena.equations.named import EQUATIONS
from catena.equations.parameters import Parameter
from catena.equations.python_source import python_source
from catena.equations.sums import WRITTEN
from catena.equations.sympy_form import latex_text, sympy_results
from catena.equations.unrolling import Unrolled
from catena.errors import EquationsError, ModelError, StateError
from catena.formats.complete import file_path, write_complete
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
        return unrolled_graph(self.unrolled)

    def __call__(self, *arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return the results for one state or a batch: an array (..., *shape), or a tuple of arrays where there are
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
            value = (parameters or {}).get(name)
            values[name] = self._array(
                name, parameter.value if value is None else value, len(parameter.entries), parameter
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
        results = [y.reshape((*batch, *y.shape[1:])) for y in self.graph.evaluate(rows).values()]
        return results[0] if len(results) == 1 else tuple(results)

    def _array(self, name: str, value: Any, size: int, parameter: Parameter | None = None) -> np.ndarray:
        try:
            x = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"{self.name}: {name} is {value!r}, which are not numbers.") from None
        if size == 1 and x.shape[-1:] != (1,):
            x = x[..., None]
        if parameter is not None and size > 1:
            try:
                return parameter.rows(x)
            except ModelError as error:
                raise StateError(f"{self.name}: {error}.") from None
        if x.shape[-1:] != (size,):
            raise StateError(f"{self.name}: {name} has shape {x.shape}; its last dimension must be {size}.")
        return x

    @property
    def meaning(self) -> str:
        """What the equations give, as a sentence."""
        return EQUATIONS[self.name].meaning

    def example(self) -> dict[str, np.ndarray]:
        """Arguments of one state that has nothing special about it, {name: (n,)}."""
        plan = self.plan
        values = {n: 0.1 + 0.3 * np.cos(1.0 + np.arange(size)) for n, size in self.arguments.items()}
        if "q" in values:
            for i in range(1, plan.n):
                kind, where = plan.kind[i], plan.q_of(i)
                assert kind is not None
                values["q"][where] = kind.integrate(kind.neutral(), 0.2 + 0.1 * np.arange(kind.nv))
        return values

    def casadi(self) -> Any:
        """Return the equations as a CasADi `Function` of the arguments and then of the parameters, with derivatives."""
        return self.graph.function

    def count(self) -> Counts:
        """Multiplications, additions, divisions, roots and sines: of the general code, and after folding; in all, by
        body and by step. Print it for a table."""
        # What is solved between algorithms is no step of the general code; it is counted as it was folded.
        outside = {k for k, call in enumerate(self.unrolled.calls) if call.owner < 0 and call.step in OUTSIDE}
        owned = [op for op, owner in zip(self.graph.op, self.graph.owner.tolist()) if owner in outside]
        title = f"{self.name} of {self.plan.name!r}"
        return count_equations(title, self.plan, self.graph, self.unrolled.played, count_operations(owned))

    def dataflow(self, grain: str = OPERATIONS, costs: Costs = UNIT, sums: str = WRITTEN) -> DataFlow:
        """Return what waits for what: critical path, width, largest speed-up, and schedules on any number of
        processors.

        The `grain` is "operations", "steps" for one body in one sweep, or "chains" for what is done for a chain of
        bodies until it needs something from elsewhere; `costs` say how long operations take; `sums` are taken as
        "written", "in turn" (one term after the other) or as "trees".
        """
        # Steps wait for each other's results, not for what they happen to have in common.
        graph = self.graph if grain == OPERATIONS else unrolled_graph(self.unrolled, shared=False)
        return dataflow(graph, grain, costs, sums, self.plan)

    def sympy(self, simplify: bool = True, numbered: bool = False) -> Any:
        """Return the equations in SymPy: a Matrix, an expression for a single number, or a tuple where there are
        several results. Symbols are called q_A, v_A, tau_A after joints, or q_1, q_2, ... if `numbered`. Unless
        `simplify` is False, small equations are brought into a form to read, with sines and cosines of sums of
        angles."""
        results = list(sympy_results(self, simplify, numbered).values())
        return results[0] if len(results) == 1 else tuple(results)

    def latex(self, numbered: bool = False) -> str:
        """Return the equations in LaTeX; symbols as for `sympy`."""
        return latex_text(self, numbered)

    def python(self, name: str | None = None) -> str:
        """Return the equations as the text of a Python module that needs only NumPy; its function is called `name`."""
        return python_source(self, name or self.name)

    def c(self, name: str | None = None, single: bool = False) -> CSource:
        """Return the equations as standalone C99: a function called `name`, its header with a description of the
        arguments, and a test program. With `single` in single precision."""
        return c_source(self, identifier(name or self.name), single)

    def save(self, path: str | PathLike[str]) -> list[Path]:
        """Write the equations to a file of the kind that the path ends with, and return the files that were written:
        .c (with a header and a test program beside it), .py, .tex or .casadi."""
        place = file_path(path)
        name = identifier(place.stem)
        if place.suffix == ".c":
            return self.c(name).save(place.parent)
        if place.suffix == ".py":
            write_complete(place, self.python(name).encode())
        elif place.suffix == ".tex":
            write_complete(place, self.latex().encode())
        elif place.suffix == ".casadi":
            with TemporaryDirectory(prefix="catena_") as folder:
                # CasADi tells nothing of what keeps it from writing.
                beside = Path(folder) / "equations.casadi"
                self.casadi().save(str(beside))
                write_complete(place, beside.read_bytes())
        else:
            raise EquationsError(
                f"{place}: equations are written to files that end with .c, .py, .tex or .casadi, not with "
                f"{place.suffix or 'nothing'!r}."
            )
        return [place]


__all__ = ["EQUATIONS", "Equations"]
