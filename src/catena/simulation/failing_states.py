"""Batches of which some states cannot be simulated: which these are and why, and the run of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.equations.parameters import find_parameters
from catena.errors import CatenaError, SimulationError, StateError
from catena.given import real_array, shown
from catena.simulation.results.trajectory import Trajectory
from catena.system import System

OneRun = Callable[[System, np.ndarray, np.ndarray], Trajectory]
"""Simulates the states q (n, nq), v (n, nv) of a system."""
# How many of the words are in the message where no state is left.
SHOWN = 5


def without_failing_states(
    simulate: OneRun, system: System, q: Any, v: Any, parameters: Mapping[str, Any] | None
) -> Trajectory:
    """Return the run of the states of a batch that can be simulated, one behind the other, with `failed` that says of
    the others why not. Halves of the batch that fail are halved again, so that one state more that fails costs a few
    more runs, and those that are left are run together."""
    given, batch = _rows(system, {"q": q, "v": v, **(parameters or {})})
    failed: dict[int, CatenaError] = {}

    def run(rows: np.ndarray) -> Trajectory:
        own = {name: given[name][rows] for name in parameters or {}}
        return simulate(system.vary(own) if own else system, given["q"][rows], given["v"][rows])

    def good(rows: np.ndarray) -> tuple[np.ndarray, Trajectory | None]:
        try:
            return rows, run(rows)
        except CatenaError as error:
            if len(rows) == 1:
                failed[int(rows[0])] = error
                return rows[:0], None
        halves = [good(half)[0] for half in np.array_split(rows, 2)]
        return np.concatenate(halves), None

    rows, found = good(np.arange(int(np.prod(batch, dtype=int))))
    words = {
        tuple(int(i) for i in np.unravel_index(k, batch)): str(error) for k, error in sorted(failed.items())
    }
    if not len(rows):
        first = "; ".join(f"{index}: {text}" for index, text in list(words.items())[:SHOWN])
        raise SimulationError(f"None of the {len(words)} states could be simulated. {first}")
    made = run(rows) if found is None else found
    return Trajectory(made.segments, made.transitions, made.note, words)


def _rows(system: System, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
    """Return q, v and parameters with a row for each state of the batch that they have together, and its shape."""
    arrays, sizes = {}, {"q": 1, "v": 1}
    for name, value in given.items():
        try:
            arrays[name] = real_array(value)
        except (TypeError, ValueError) as error:
            raise StateError(
                f"on_error='record' needs q, v and parameters as arrays; {name} is {shown(value)} ({error})."
            ) from None
        if name not in sizes:
            (parameter,) = find_parameters(system.mechanism, [name])
            sizes[name] = 0 if len(parameter.value) == 1 else 1
    shapes = {name: x.shape[: x.ndim - sizes[name]] for name, x in arrays.items()}
    try:
        batch = np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise StateError(f"The batch dimensions do not fit together: {shapes}.") from None
    if not batch:
        raise StateError("on_error='record' is for batches; a single state that fails raises its error.")
    rows = {
        name: np.broadcast_to(x, (*batch, *x.shape[x.ndim - sizes[name] :])).reshape(
            -1, *x.shape[x.ndim - sizes[name] :]
        )
        for name, x in arrays.items()
    }
    return rows, batch
