"""The values of an event's function for many states, asked at once where the function can answer so.

A function of (t, q, v) is written for one state: q[1] is a number. With the numbers of each state in a column, q (nq,
n), the same text gives all n values, unless it branches, or adds up what it should not. So a function is asked for all
states together and for a few of them alone: where it cannot answer, or says something else, it is asked state by state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from catena.simulation.guards.events import Event
from catena.simulation.guards.instants import Instants
from catena.simulation.turns import TurnsBehind
from catena.system import System

# Fewer states are asked one by one.
FEW = 5
# Answers for many and for one differ by rounding only, up to this part of the larger of them and of all.
SAME = 1e-9


class EventValues:
    """The function of an `event` in a run of states of a `system`."""

    def __init__(self, event: Event, system: System) -> None:
        self.event, self.system = event, system
        self.answers_many = True
        """Whether it may be asked for many states at once."""

    def at(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        states: np.ndarray,
        turns: Callable[[np.ndarray], TurnsBehind] | None = None,
    ) -> np.ndarray:
        """Return the values (n,) at times t (n,) and states q (n, nq), v (n, nv), which are these `states` (n,) of the
        batch. `turns` gives what is known of the turns of loop joints at some of the rows."""
        if len(t) >= FEW and self.answers_many:
            found = self._together(t, q, v, states, turns)
            if found is not None:
                return found
            self.answers_many = False
        return np.array([self._one(t, q, v, states, turns, k) for k in range(len(t))], dtype=np.float64)

    def _one(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, states: np.ndarray,
        turns: Callable[[np.ndarray], TurnsBehind] | None, k: int,
    ) -> float:  # fmt: skip
        """Return the value of one of the rows."""
        event, looked, named = self.event, self.event.looked, self.event.by_name
        if looked is not None and turns is not None:
            looked.turns = turns(np.array([k]))
        if named is not None and self.system.variants.shape:
            event = replace(event, function=replace(named, system=self.system.variants.state(int(states[k]))))
        return event.value(float(t[k]), q[k], v[k])

    def _together(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, states: np.ndarray,
        turns: Callable[[np.ndarray], TurnsBehind] | None,
    ) -> np.ndarray | None:  # fmt: skip
        """Return the values (n,) of all rows at once, None where they cannot be had so."""
        answer: Any
        asked, by_name = self.event.asked, self.event.by_name
        columns = t.copy(), np.array(q.T), np.array(v.T)
        try:
            with np.errstate(all="ignore"):
                if by_name is None:
                    answer = asked(*columns)
                else:
                    everyone = None if turns is None else turns(np.arange(len(t)))
                    answer = by_name.asked(Instants(self.system, *columns, states, everyone))
        except Exception:
            # Whatever it is that it cannot do for many: what is wrong for one is said there.
            return None
        if type(answer) is not np.ndarray or answer.shape != t.shape or answer.dtype != np.float64:
            return None
        size = float(np.max(np.abs(answer), initial=0.0))
        if not np.isfinite(size):
            return None
        for k in {0, len(t) // 2, len(t) - 1}:
            if abs(self._one(t, q, v, states, turns, k) - answer[k]) > SAME * size:
                return None
        return np.array(answer)
