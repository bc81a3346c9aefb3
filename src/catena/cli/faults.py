"""How a command ends: the exit codes, and the faults that belong to the command line alone."""

from __future__ import annotations

import traceback
from enum import IntEnum
from pathlib import Path

from catena.errors import CatenaError


class Exit(IntEnum):
    """What the shell gets to know."""

    OK = 0
    STOPPED = 1  # the simulation stopped with an error; what there is was saved
    USAGE = 2  # unknown names, wrong options, a model that is none
    INTERRUPTED = 3  # Ctrl-C; what there is was saved
    OUTPUT = 4  # a file could not be written; all others were


class UsageError(CatenaError, ValueError):
    """Something on the command line, or in a file it names, that cannot be meant."""


def in_words(error: BaseException, file: Path | None = None) -> str:
    """One paragraph about an error; where it came up in `file`, if it came from there."""
    words = str(error) if isinstance(error, CatenaError) else f"{type(error).__name__}: {error}".rstrip(": ")
    words = " ".join(words.split())
    line = _line_in(error, file) if file is not None else None
    return words if line is None else f"{file}:{line}: {words}"


def _line_in(error: BaseException, file: Path) -> int | None:
    """The last line of `file` that an error passed through."""
    own = {str(file), str(file.resolve())}
    if isinstance(error, SyntaxError) and error.filename in own:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in own]
    return lines[-1] if lines else None
