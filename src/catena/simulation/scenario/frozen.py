"""Values that do not change any more: what a description was given, copied so that nobody else holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


class FrozenMapping(Mapping[str, Any]):
    """A mapping that cannot be written to, and that can be pickled."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = {key: frozen(value) for key, value in content.items()}

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return repr(self._content)


def frozen(value: Any) -> Any:
    """Return a value whose mappings, lists and arrays are copies that cannot be written to."""
    if isinstance(value, FrozenMapping):
        return value
    if isinstance(value, Mapping):
        return FrozenMapping(value)
    if type(value) in (list, tuple):
        return tuple(frozen(entry) for entry in value)
    if isinstance(value, np.ndarray):
        copied = value.copy()
        copied.setflags(write=False)
        return copied
    return value
