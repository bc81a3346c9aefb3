"""Systems whose mechanism differs from state to state: masses, lengths and stiffnesses are numbers for each lane.

What one plan serves is computed in lanes, with the constants as one more input, and what is decomposed in NumPy with
numbers of each state in the plan (`Evaluator.numbers`). The rest (dry friction that sticks, derivatives, loops that do
not close at once, whatever is wrong with some state) is asked of the system of each state, which gives the same answers
and takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from math import nan, prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from catena.errors import CatenaError, StateError, raise_for_states
from catena.kernels.evaluation import Evaluator
from catena.system.own_forces import is_left_out
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.questions.variation import Variation, VariedConstants
    from catena.system.system import System

# Systems of single states that are kept.
KEPT = 64
Method = TypeVar("Method", bound=Callable[..., Any])


class States:
    """The states of a system that was made by `vary`: the `base` with the plan that serves all of them, their
    `variation`, and the `origin` that they differ from."""

    def __init__(self, base: System, variation: Variation, origin: System) -> None:
        self.base, self.variation, self.origin = base, variation, origin
        self.batch, self.count = variation.batch, prod(variation.batch)
        self._alone: dict[int, System] = {}

    def alone(self, k: int) -> System:
        """Return the system of one state, counted from 0 through the batch of the parameters."""
        if not (isinstance(k, int | np.integer) and 0 <= k < self.count):
            raise StateError(f"There is no state {shown(k)}; the parameters have numbers for {self.count}.")
        if k not in self._alone:
            if len(self._alone) >= KEPT:
                del self._alone[next(iter(self._alone))]
            index = tuple(int(i) for i in np.unravel_index(int(k), self.batch)) if self.batch else ()
            plan = self.base.plan
            self._alone[k] = self.variation.at(index).system(
                plan.root, plan.cut, self.base.mechanics.accuracy, plan.keep
            )
        return self._alone[k]

    def constants(self, evaluator: Evaluator) -> VariedConstants:
        """Return the numbers of the states on the plan of an evaluator."""
        from catena.questions.variation import VariedConstants

        return VariedConstants(
            self.variation, evaluator.plan, lambda k: self.alone(k).mechanics.evaluator, self._rigid_stops
        )

    def _rigid_stops(self, joint: str) -> np.ndarray:
        """Return the parameters (*batch, n) of stops that are as stiff as the inertia asks for that a joint feels."""
        own = [self.alone(k).mechanics.elements.stops[joint].kind.params() for k in range(self.count)]
        return np.array(own).reshape(*self.batch, -1)

    def bare(self) -> System | None:
        """Return the system without anything of the mechanism that acts, for the same states; None where nothing
        does."""
        mechanism, values = self.origin.mechanism, self.variation.values
        kept = {n: x for n, x in values.items() if not is_left_out(mechanism, n)}
        if self.origin.variants.bare is self.origin and len(kept) == len(values):
            return None
        numbers = {name: x[..., 0] if x.shape[-1] == 1 else x for name, x in kept.items()}
        if not any(name.partition(".")[0] == "gravity" for name in kept):
            # It keeps the batch where all that differs is left out.
            numbers["gravity"] = np.broadcast_to(mechanism.gravity, (*self.batch, 3))
        return self.origin.variants.bare.vary(numbers)


def by_state(method: Method) -> Method:
    """Let the system of each state answer a call where parameters differ from state to state."""

    @wraps(method)
    def answer(self: System, *arguments: Any, **named: Any) -> Any:
        if self._states is None:
            return method(self, *arguments, **named)
        return ask_each(self, answer, *arguments, **named)

    return answer  # type: ignore[return-value]


def in_lanes(method: Method) -> Method:
    """Let all states answer a call together where parameters differ from state to state (`ask_together`)."""

    @wraps(method)
    def answer(self: System, *arguments: Any, **named: Any) -> Any:
        if self._states is None:
            return method(self, *arguments, **named)
        return ask_together(self, method, answer, *arguments, **named)

    return answer  # type: ignore[return-value]


def one_by_one(method: Method) -> Method:
    """Let the system of each state answer a call about one mechanism where parameters differ from state to state: the
    answers are an array of objects in the shape of their batch. Arguments that have that batch are told apart."""

    @wraps(method)
    def answer(self: System, *whole: Any, **named: Any) -> Any:
        if self._states is None:
            return method(self, *whole, **named)
        states = self._states
        found = np.empty(states.batch, dtype=object)
        for k, index in enumerate(np.ndindex(states.batch)):
            arguments = [_told_apart(x, states.batch, index) for x in whole]
            options = {name: _told_apart(x, states.batch, index) for name, x in named.items()}
            found[index] = answer(states.alone(k), *arguments, **options)
        return found if states.batch else found[()]

    return answer  # type: ignore[return-value]


def ask_together(
    system: System,
    together: Callable[..., Any] | None,
    alone: str | Callable[..., Any],
    *whole: Any,
    **named: Any,
) -> Any:
    """Return what a function `together` says of all states, one after the other in arrays of one leading dimension; or
    what the systems of the states say to `alone`, as in `ask_each`, where there is no such function, more than numbers
    of the plan differ, or something is wrong with some state."""
    states, constants = system._states, system._constants
    assert states is not None and constants is not None
    batch = _batch(states, whole, named)
    if together is not None and 0 not in batch and system._counted.found is None and constants.is_stacked:
        every = np.ones(batch, dtype=bool)
        flat = system if states.batch == (every.size,) else system.variants.over(batch)
        arguments = [_taken(x, batch, every) for x in whole]
        options = {name: _taken(x, batch, every) for name, x in named.items()}
        try:
            return _joined([together(flat, *arguments, **options)], [every], batch)
        except CatenaError:
            # Who is asked alone tells what is wrong with whom.
            pass
    return ask_each(system, alone, *whole, **named)


def ask_each(
    system: System, asked: str | Callable[..., Any], *whole: Any, only: np.ndarray | None = None, **named: Any
) -> Any:
    """Return what the systems of the states say to a call `asked`, of a method by its name or of a function, put
    together. Arrays have batch dimensions before their last one; with `only` (...) the other states are left out and
    get zeros."""
    states = system._states
    assert states is not None
    batch = _batch(states, whole, named)
    which = np.broadcast_to(np.arange(states.count).reshape(states.batch), batch)
    wanted = np.ones(batch, dtype=bool) if only is None else only
    numbers = np.unique(which[wanted]).tolist()
    if not numbers:
        # No state is asked for, so that anybody can say what shape nothing has.
        systems = [(states.alone(0) if states.count else states.base, wanted)]
    else:
        systems = [(states.alone(k), (which == k) & wanted) for k in numbers]
    parts, places = [], []
    errors: dict[tuple[int, ...], CatenaError] = {}
    for own, mine in systems:
        arguments = [_taken(x, batch, mine) for x in whole]
        options = {n: _taken(x, batch, mine) for n, x in named.items()}
        try:
            call = asked if callable(asked) else getattr(type(own), asked)
            parts.append(call(own, *arguments, **options))
        except CatenaError as error:
            # The others are told to whoever asks for them.
            errors |= {tuple(int(i) for i in index): error for index in np.argwhere(mine)}
            continue
        places.append(mine)
    found = _joined(parts, places, batch, nan if errors else 0.0) if parts else None
    raise_for_states(errors, found)
    return found


def _batch(states: States, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the batch dimensions of the parameters and all arguments together."""
    spread = [_spread(x) for x in (*arguments, *named.values())]
    return np.broadcast_shapes(states.batch, *(s for shapes in spread for s in shapes))


def _spread(x: Any) -> list[tuple[int, ...]]:
    """Return the batch dimensions of an argument that is an array, or of those in a mapping."""
    if isinstance(x, Mapping):
        return [s for value in x.values() for s in _spread(value)]
    rows = _numbers(x)
    return [] if rows is None or rows.ndim == 0 else [rows.shape[:-1]]


def _numbers(x: Any) -> np.ndarray | None:
    """Return an argument as an array, None for one that is none."""
    if x is None or isinstance(x, str | bool | int | float) or (isinstance(x, list | tuple) and not x):
        return None
    try:
        return real_array(x)
    except ValueError:
        return None


def _taken(x: Any, batch: tuple[int, ...], mine: np.ndarray) -> Any:
    """Return an argument for some states of the batch, (states, n)."""
    if isinstance(x, Mapping):
        return {name: _taken(value, batch, mine) for name, value in x.items()}
    rows = _numbers(x)
    if rows is None or rows.ndim == 0:
        return x
    return np.broadcast_to(rows, (*batch, rows.shape[-1]))[mine]


def _told_apart(x: Any, batch: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """Return what an argument says about one state: an entry where it has the batch before dimensions of its own."""
    if isinstance(x, Mapping):
        return {name: _told_apart(value, batch, index) for name, value in x.items()}
    rows = _numbers(x)
    if rows is None or rows.ndim <= len(batch) or rows.shape[: len(batch)] != batch:
        return x
    return rows[index]


def _joined(parts: list[Any], places: list[np.ndarray], batch: tuple[int, ...], rest: float = 0.0) -> Any:
    """Return results (states, ...) of portions of a batch as one of the whole batch, with the number `rest` for all
    others."""
    first = parts[0]
    if isinstance(first, dict):
        return {name: _joined([part[name] for part in parts], places, batch, rest) for name in first}
    if isinstance(first, tuple):
        return tuple(_joined([part[k] for part in parts], places, batch, rest) for k in range(len(first)))
    if is_dataclass(first) and not isinstance(first, type):
        rows = {f.name: [getattr(part, f.name) for part in parts] for f in fields(first)}
        return type(first)(**{name: _joined(x, places, batch, rest) for name, x in rows.items()})
    found = np.full((*batch, *np.shape(first)[1:]), rest)
    for part, mine in zip(parts, places, strict=True):
        found[mine] = part
    return found
