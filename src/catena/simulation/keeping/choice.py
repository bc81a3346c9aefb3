"""What a run is asked to keep, in words: "final", signals such as "A" or "q.A + 0.1 * t", and what follows from all of
a signal, such as "max(A)" or "integral(v.A^2)"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.formulas import parse
from catena.system import System
from catena.validation import entries, is_one_of, real_array, shown

FINAL = "final"
TALLIES = ("last", "min", "max", "mean", "integral", "time_of_min", "time_of_max", "crossing")
"""What may be told of all of a signal: its value at the end, extremes and their times, mean and integral over time, and
when it is first zero (NaN where it never is)."""

Values = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""The values (n,) of a signal at times (n,) and states q (n, nq), v (n, nv)."""
Asked = str | Values | tuple[str, str | Values]
"""What users say for one signal: a formula, a function, or the name of what is told of all of one of these with it."""
Choice = Asked | Sequence[Asked] | Mapping[str, Asked]
"""What users say for all that is kept: "final", a signal, a list of them, or signals by name."""


@dataclass(frozen=True)
class Signal:
    """What is kept under a `name`: the values of a signal at the samples, or, with a `tally`, one number that follows
    from all of it. The signal is a formula over t, q, v, joints and named numbers, or a function of times t (n,) and
    states q (n, nq), v (n, nv) that gives (n,)."""

    name: str
    signal: str | Callable[..., Any]
    tally: str = ""

    def on(self, system: System, parameters: Mapping[str, float]) -> Values:
        """Return the function that gives its values for the states of a system."""
        who = f"keep {self.name!r}"
        if isinstance(self.signal, str):
            # Scenarios know formulas, and are made of runs.
            from catena.simulation.scenario.formulas import of_state

            function = of_state([parse(self.signal, who)], system, parameters, who)

            def values(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
                return np.array(np.broadcast_to(np.asarray(function(t, q, v)[0], dtype=np.float64), t.shape))

            return values
        asked = self.signal

        def checked_values(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            found = asked(t.copy(), q.copy(), v.copy())
            try:
                numbers = np.array(real_array(found))
            except (TypeError, ValueError) as error:
                raise StateError(
                    f"{who}: the function gives {shown(found)} ({error}); numbers are needed."
                ) from error
            if numbers.shape != t.shape:
                raise StateError(
                    f"{who}: the function gives an array of shape {numbers.shape} for {len(t)} states; give one number "
                    f"for each, ({len(t)},)."
                )
            return numbers

        return checked_values


@dataclass(frozen=True)
class Keep:
    """What is kept of a run: the states at its start and end, and these signals."""

    signals: tuple[Signal, ...] = ()

    @staticmethod
    def of(choice: Any) -> Keep | None:
        """Return what users ask for: None for everything, "final", one signal, a list of them, or signals by name."""
        if choice is None or isinstance(choice, Keep):
            return choice
        if isinstance(choice, str):
            choice = [choice]
        if isinstance(choice, Mapping):
            named = list(choice.items())
        else:
            try:
                named = [(one, one) for one in entries(choice)]
            except ValueError as error:
                raise StateError(
                    f"keep is {shown(choice)} ({error}); give 'final', signals such as 'max(A)', or signals by name."
                ) from error
        found = [_signal(name, one) for name, one in named if not is_one_of(one, (FINAL,))]
        names = [one.name for one in found]
        for name in names:
            if names.count(name) > 1:
                raise StateError(f"keep names {name!r} twice; give each signal a name of its own.")
        return Keep(tuple(found))

    @property
    def gathered(self) -> tuple[Signal, ...]:
        """Return what follows from all of a signal, but for its value at the end."""
        return tuple(one for one in self.signals if one.tally not in ("", "last"))

    @property
    def last(self) -> tuple[Signal, ...]:
        """Return the signals of which the value at the end is asked for."""
        return tuple(one for one in self.signals if one.tally == "last")

    @property
    def sampled(self) -> tuple[Signal, ...]:
        """Return the signals that are kept at samples."""
        return tuple(one for one in self.signals if not one.tally)


def _signal(name: Any, choice: Any) -> Signal:
    if isinstance(choice, Signal):
        return choice
    if not isinstance(name, str):
        raise StateError(
            f"keep has the key {shown(name)}; give functions names, keep={{'height': function}}."
        )
    if (
        isinstance(choice, Sequence)
        and not isinstance(choice, str)
        and len(choice) == 2
        and is_one_of(choice[0], TALLIES)
    ):
        return Signal(name, choice[1], choice[0])
    if callable(choice):
        return Signal(name, choice)
    if not isinstance(choice, str):
        raise StateError(f"keep {name!r} is {shown(choice)}; give a formula such as 'max(A)', or a function.")
    text = choice.strip()
    for tally in TALLIES:
        inside = text[len(tally) + 1 : -1]
        if text.startswith(f"{tally}(") and text.endswith(")") and _is_one_argument(inside):
            parse(inside, f"keep {name!r}")
            return Signal(name, inside, tally)
    parse(text, f"keep {name!r}")
    return Signal(name, text)


def _is_one_argument(text: str) -> bool:
    """Return whether a text could be the one argument of a call: it closes what it opens, and no comma parts it."""
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0 or (depth == 0 and letter == ","):
            return False
    return depth == 0
