"""Mappings and numbers that are computed when somebody first looks at one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


class OnDemand(Mapping[str, np.ndarray]):
    """A mapping with these names, whose arrays `compute()` returns, all at once, when the first of them is read.

    A copy, pickled or not, is a plain dictionary.
    """

    def __init__(self, names: tuple[str, ...], compute: Callable[[], dict[str, np.ndarray]]) -> None:
        self._names = names
        self._compute: Callable[[], dict[str, np.ndarray]] | None = compute
        self._values: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        if self._compute is not None:
            self._values, self._compute = self._compute(), None
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class NumberOnDemand:
    """A number of a class that may be given as a function of nothing, which is asked when somebody first looks."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, of: Any, owner: type | None = None) -> float:
        if of is None:
            raise AttributeError(self._name)
        value = of.__dict__[self._name]
        if callable(value):
            value = of.__dict__[self._name] = float(value())
        return float(value)

    def __set__(self, of: Any, value: float | Callable[[], float]) -> None:
        of.__dict__[self._name] = value
