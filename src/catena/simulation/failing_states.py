"""Batches of which some states cannot be simulated: which these are and why, and the run of the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.equations.parameters import find_parameters
from catena.errors import CatenaError, SimulationError, StateError
from catena.mechanism import InitialState
from catena.simulation.arguments import initial_state
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.system import System
from catena.validation import real_array, shown

OneRun = Callable[[System, np.ndarray, np.ndarray], tuple[Segment, Mapping[int, str]]]
"""Simulates the states q (n, nq), v (n, nv) of a system: the run of those that come to the end, and words for the
others."""
_NUMBERED = re.compile(r" in state (\d+|\([\d, ]*\))")
_ABOUT_ERROR = re.compile(
    r"[.;] [Tt]he trajectory so far is in the attribute `trajectory` of this error(?=\.)"
)
# How many of the words are in the message where no state is left.
SHOWN = 5


class FailingStates:
    """A batch of states of a system, of which some may fail, with `parameters` of their own. `simulate` runs some of
    them."""

    def __init__(self, simulate: OneRun, system: System, parameters: Mapping[str, Any] | None) -> None:
        self.simulate, self.system = simulate, system
        self.failed: dict[int, str] = {}
        self.starts: dict[str, np.ndarray] = {}
        self.batch: tuple[int, ...] = ()
        self.sizes = {"q": 1, "v": 1}
        for name in parameters or {}:
            (parameter,) = find_parameters(system.mechanism, [name])
            self.sizes[name] = 0 if len(parameter.value) == 1 else 1
        self.parameters = {name: _numbers(name, x) for name, x in (parameters or {}).items()}

    def run(self, q: Any, v: Any) -> Trajectory:
        """Return the run of the states that can be simulated, one behind the other, with `failed` that says of the
        others why not."""
        self._spread(self._started(q, v))
        for name in ("q", "v"):
            for k in np.flatnonzero(~np.isfinite(self.starts[name]).all(axis=-1)):
                self.failed.setdefault(
                    int(k), f"{name} is {shown(self.starts[name][k].tolist())}, not finite."
                )
        rows = np.setdiff1d(np.arange(int(np.prod(self.batch, dtype=int))), list(self.failed))
        rows, found = self._good(rows)
        words = {
            tuple(int(i) for i in np.unravel_index(k, self.batch)): text
            for k, text in sorted(self.failed.items())
        }
        require_some(len(rows), words)
        return Trajectory([self._simulated(rows)[1] if found is None else found], failed=words)

    def _good(self, rows: np.ndarray) -> tuple[np.ndarray, Segment | None]:
        """Return those of the rows that can be simulated, and their run, unless they were run apart. States that
        are at fault by themselves are left out. Where only the whole batch is known to fail, it is halved, so that one
        more such state costs a few more runs."""
        while len(rows):
            try:
                return self._simulated(rows)
            except CatenaError as error:
                if error.failed:
                    own = {
                        int(np.ravel_multi_index(k, (len(rows),))): text for k, text in error.failed.items()
                    }
                    rows = self._without(rows, own)
                    continue
                if len(rows) == 1:
                    return self._without(rows, {0: str(error)}), None
            halves = [self._good(half)[0] for half in np.array_split(rows, 2)]
            return np.concatenate(halves), None
        return rows, None

    def _simulated(self, rows: np.ndarray) -> tuple[np.ndarray, Segment]:
        """Return the run of some states, without those that fail on the way, and which states are in it."""
        own = {name: self.starts[name][rows] for name in self.parameters}
        system = self.system.vary(own) if own else self.system
        found, lost = self.simulate(system, self.starts["q"][rows], self.starts["v"][rows])
        return self._without(rows, lost), found

    def _without(self, rows: np.ndarray, lost: Mapping[int, str]) -> np.ndarray:
        """Return the rows without some, counted among them, which have failed with these words."""
        for k, text in lost.items():
            self.failed[int(rows[k])] = _by_itself(text)
        return np.delete(rows, list(lost))

    def _started(self, q: Any, v: Any) -> dict[str, np.ndarray]:
        """Return the states to begin with as arrays: as they are given, or closed around what is given of them, with
        any numbers in the rows of those that do not close."""
        if not (
            q is None or v is None or isinstance(q, str | InitialState | Mapping) or isinstance(v, Mapping)
        ):
            return {"q": _numbers("q", q), "v": _numbers("v", v)}
        system = self._varied()
        initial = self.system.mechanism.initial
        if isinstance(q, str | InitialState):
            # A state that has a name is one for all.
            found = initial_state(system, q, v)
            return {"q": found[0], "v": found[1]}
        if q is None or isinstance(q, Mapping):
            q = self._closed(lambda: system.assemble(initial.q if q is None else q))
        if v is None or isinstance(v, Mapping):
            velocities = initial.v if v is None else v
            v = self._closed(lambda: system.velocity(q, velocities))
        return {"q": _numbers("q", q), "v": _numbers("v", v)}

    def _varied(self) -> System:
        """Return the system of all states, with any numbers in the place of parameters that no state can have."""
        if not self.parameters:
            return self.system
        try:
            return self.system.vary(self.parameters)
        except CatenaError as error:
            if not error.failed:
                raise
            self._spread({})
            self.failed |= {
                int(np.ravel_multi_index(k, self.batch)): _by_itself(text) for k, text in error.failed.items()
            }
        good = np.setdiff1d(np.arange(int(np.prod(self.batch, dtype=int))), list(self.failed))
        if not len(good):
            return self.system
        possible = {}
        for name in self.parameters:
            rows = self.starts[name].copy()
            rows[list(self.failed)] = rows[good[0]]
            possible[name] = rows.reshape(*self.batch, *rows.shape[1:])
        return self.system.vary(possible)

    def _closed(self, close: Callable[[], np.ndarray]) -> np.ndarray:
        """Return closed states (..., n), with the numbers of one that closes in the place of those that do not, which
        have failed."""
        try:
            return close()
        except CatenaError as error:
            if not error.failed or error.found is None:
                raise
            found, batch = np.array(error.found), error.found.shape[:-1]
            good = np.isfinite(found).all(axis=-1)
            for index, text in error.failed.items():
                self.failed.setdefault(int(np.ravel_multi_index(index, batch)), _by_itself(text))
            require_some(
                int(np.count_nonzero(good)), {index: _by_itself(text) for index, text in error.failed.items()}
            )
            found[~good] = found[good][0]
            return found

    def _spread(self, states: Mapping[str, np.ndarray]) -> None:
        """Give every state of the batch that states and parameters have together a row of each of them."""
        arrays = {**states, **self.parameters}
        shapes = {name: x.shape[: x.ndim - self.sizes[name]] for name, x in arrays.items()}
        try:
            self.batch = np.broadcast_shapes(*shapes.values())
        except ValueError:
            raise StateError(f"The batch dimensions do not fit together: {shapes}.") from None
        if not self.batch:
            raise StateError("on_error='record' is for batches; a single state that fails raises its error.")
        self.starts = {
            name: np.broadcast_to(x, (*self.batch, *x.shape[x.ndim - self.sizes[name] :])).reshape(
                -1, *x.shape[x.ndim - self.sizes[name] :]
            )
            for name, x in arrays.items()
        }


def require_some(left: int, failed: Mapping[tuple[int, ...], str]) -> None:
    """Raise where no state is left to tell about."""
    if not left:
        first = "; ".join(f"{index}: {text}" for index, text in list(failed.items())[:SHOWN])
        error = SimulationError(f"None of the {len(failed)} states could be simulated. {first}")
        error.failed = failed
        raise error


def _by_itself(text: str) -> str:
    """Return words about a state without its number among others, and without an attribute that nobody has: states
    that failed are told by their index."""
    return _ABOUT_ERROR.sub("", _NUMBERED.sub("", text))


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return real_array(value)
    except (TypeError, ValueError) as error:
        raise StateError(
            f"on_error='record' needs {name} as an array of numbers; it is {shown(value)} ({error})."
        ) from None
