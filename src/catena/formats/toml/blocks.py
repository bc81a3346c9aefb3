"""What a model file consists of when it is written: tables, their keys, and values as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Block:
    """A table of a file: the words in its header, whether it is one of `many` ([[body]], not [mechanism]), and the text
    of the value under each key. One of many is known by its name, or by its `number` among those of its sort."""

    words: tuple[str, ...]
    many: bool
    pairs: Mapping[str, str]
    number: int | None = None

    @property
    def label(self) -> tuple[str, ...]:
        """What tells the table from all others."""
        own = self.pairs["name"] if self.number is None and self.many else self.number
        return (*self.words, str(own)) if self.many else self.words

    @property
    def text(self) -> str:
        """The table as it is written."""
        name = ".".join(map(key_text, self.words))
        header = f"[[{name}]]" if self.many else f"[{name}]"
        return "\n".join([header, *(f"{key_text(key)} = {value}" for key, value in self.pairs.items()), ""])


def value_text(value: Any) -> str:
    """Return a number, boolean, string, or array or mapping of them, nested or not; numbers to the last digit."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        # Adding zero turns -0.0, which says nothing more than 0.0, into it.
        return repr(float(value) + 0.0)
    if isinstance(value, Mapping):
        return inline({key: value_text(entry) for key, entry in value.items()})
    return "[" + ", ".join(value_text(entry) for entry in value) + "]"


def inline(pairs: Mapping[str, str]) -> str:
    """Return a table in one line, of texts by key."""
    return "{ " + ", ".join(f"{key_text(key)} = {value}" for key, value in pairs.items()) + " }"


def rows_text(matrix: np.ndarray) -> str:
    """Return a matrix with a line for each row."""
    return "[\n" + "".join(f"    {value_text(row)},\n" for row in matrix) + "]"


def key_text(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else string_text(name)


def string_text(text: str) -> str:
    """Return a text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'
