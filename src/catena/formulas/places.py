"""Where a formula stands, and how a fault in it is told: file, line, column, and a mark below the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from catena.errors import FormulaError

WIDEST = 100
"""How much of a long text is shown around a fault."""


@dataclass(frozen=True)
class Place:
    """The file, line and column (from 1) at which the text of a formula begins; a column of 0 is one not known."""

    file: str
    line: int
    column: int = 0

    def at(self, column: int) -> str:
        """Return the place of a letter of the text (from 0), as messages begin."""
        return f"{self.file}:{self.line}" + (f":{self.column + column}" if self.column else "")


def fail(reason: str, text: str, column: int, where: Place | str) -> NoReturn:
    """Raise a fault of a formula at a column (from 0) of its text."""
    place = where.at(column) if isinstance(where, Place) else where
    error = FormulaError(f"{place}{': ' if place else ''}{reason}{marked(text, column)}")
    error.reason, error.text, error.column = reason, text, column
    raise error


def marked(text: str, column: int) -> str:
    """Return a text on a line of its own with a mark below one of its letters; of a long one what is near."""
    first = 0 if len(text) <= WIDEST else max(0, min(column - WIDEST // 2, len(text) - WIDEST))
    # One glyph for each letter, so that the mark is below the right one.
    line = "".join(c if c.isprintable() else "?" for c in text[first : first + WIDEST])
    return f"\n    {line}\n    {' ' * (column - first)}^"
