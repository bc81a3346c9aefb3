"""What objects hold at one time, so that a motion can be taken up again from there."""

from __future__ import annotations

from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from catena.simulation.control.protocol import Controller
from catena.simulation.control.remembered import Remembered
from catena.simulation.turns import TurnCounter


class Snapshot:
    """The attributes of objects: arrays and containers as they are now, everything else by reference; and what other
    snapshots have."""

    def __init__(self, objects: Iterable[Any], others: Iterable[Snapshot] = ()) -> None:
        self._held = [(one, {name: _copied(x) for name, x in vars(one).items()}) for one in objects]
        self._others = list(others)

    def restore(self) -> None:
        """Put everything back."""
        for other in self._others:
            other.restore()
        for one, held in self._held:
            vars(one).clear()
            vars(one).update({name: _copied(x) for name, x in held.items()})


def _copied(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) is dict:
        return {key: _copied(value) for key, value in x.items()}
    if type(x) in (list, tuple, set):
        return type(x)(_copied(value) for value in x)
    return x


def memory_of(control: Any) -> list[Any]:
    """Return the objects in which a controller may remember something: itself unless it `keeps_nothing`, the parts of a
    sum, what it samples.
    What a plain function keeps in its surroundings, nobody sees."""
    found: list[Any] = []
    _gather(control, found)
    return found


def _gather(one: Any, found: list[Any]) -> None:
    if isinstance(one, MethodType):
        one = one.__self__
    plain = isinstance(one, type | FunctionType | BuiltinFunctionType) or not hasattr(one, "__dict__")
    if plain or any(one is other for other in found):
        return
    if not getattr(one, "keeps_nothing", False):
        found.append(one)
    for value in vars(one).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if callable(part) or isinstance(part, Controller | Remembered | TurnCounter):
                _gather(part, found)
