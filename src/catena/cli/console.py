"""What a command writes and how it ends: lines on the terminal, faults in words, exit codes."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import traceback
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from catena.errors import CatenaError

# Longer lines are hard to read on any terminal.
WIDTH = 110
BOLD, DIM, RED, YELLOW = "1", "2", "31", "33"


class Exit(IntEnum):
    """What the shell gets to know."""

    OK = 0
    STOPPED = 1  # the simulation stopped with an error; what there is was saved
    USAGE = 2  # unknown names, wrong options, a model that is none
    INTERRUPTED = 3  # Ctrl-C; what there is was saved
    OUTPUT = 4  # a file could not be written; all others were


class UsageError(CatenaError, ValueError):
    """Something on the command line, or in a file it names, that cannot be meant."""


class Console:
    """Where a command writes to. A reader that went away (`catena info ... | head`) is no fault: the rest of the
    output is dropped and the command goes on."""

    def __init__(self, quiet: bool = False, debug: bool = False) -> None:
        self.quiet, self.debug = quiet, debug

    def say(self, text: str = "") -> None:
        """A line of the result, unless the command is to be quiet."""
        if not self.quiet:
            self.result(text)

    def title(self, text: str) -> None:
        """A line that stands out."""
        self.say(painted(text, BOLD, sys.stdout))

    def table(self, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> None:
        """Rows of cells in columns, under the words in `head`."""
        body = [tuple(row) for row in rows]
        lines = [tuple(head), *body] if head else body
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for number, line in enumerate(lines):
            text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            self.say(painted(text, DIM, sys.stdout) if head and number == 0 else text)

    def entries(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names with sentences beside them, in lines that fit the terminal."""
        indent = max(len(name) for name, _ in rows) + 2
        for name, text in rows:
            first = painted(name.ljust(indent), BOLD, sys.stdout)
            self.say(first + _filled(text, indent).lstrip())

    def paragraph(self, text: str, indent: int = 0) -> None:
        """A text in lines that fit the terminal."""
        self.say(_filled(text, indent))

    def result(self, text: str) -> None:
        """A line of the result that is wanted even when the command is quiet."""
        _write(sys.stdout, text)

    def note(self, text: str) -> None:
        """A remark beside the result."""
        if not self.quiet:
            _write(sys.stderr, text)

    def warning(self, text: str) -> None:
        """Something that should be looked at."""
        _write(sys.stderr, f"{painted('warning:', YELLOW, sys.stderr)} {text}")

    def error(self, text: str) -> None:
        """Why the command did not do what it was asked for."""
        _write(sys.stderr, f"{painted('catena: error:', RED, sys.stderr)} {text}")

    def trace(self, error: BaseException) -> None:
        """Where an error came from, for those who asked for it."""
        if self.debug:
            _write(sys.stderr, "".join(traceback.format_exception(error)).rstrip())


def in_words(error: BaseException, file: Path | None = None) -> str:
    """One paragraph about an error; where it came up in `file`, if it came from there."""
    words = str(error) if isinstance(error, CatenaError) else f"{type(error).__name__}: {error}".rstrip(": ")
    words = " ".join(words.split())
    line = _line_in(error, file) if file is not None else None
    return words if line is None else f"{file}:{line}: {words}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 loop`, `2 loops`; `many` where the plural is not formed with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def painted(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour, where the stream is a terminal and NO_COLOR is not set."""
    return f"\x1b[{colour}m{text}\x1b[0m" if _has_colours(stream) else text


def drop(stream: TextIO) -> None:
    """Let all that is still written to a stream disappear, because nobody reads it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _line_in(error: BaseException, file: Path) -> int | None:
    """The last line of `file` that an error passed through."""
    own = {str(file), str(file.resolve())}
    if isinstance(error, SyntaxError) and error.filename in own:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in own]
    return lines[-1] if lines else None


def _filled(text: str, indent: int) -> str:
    margin = " " * indent
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)
    lines = textwrap.wrap(text, max(width, indent + 40), initial_indent=margin, subsequent_indent=margin)
    return "\n".join(lines)


def _has_colours(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    # The old console of Windows shows the codes themselves.
    return os.name != "nt" or "WT_SESSION" in os.environ or "TERM" in os.environ


def _write(stream: TextIO, text: str) -> None:
    try:
        try:
            print(text, file=stream, flush=True)
        except UnicodeEncodeError:
            # A name in letters that the terminal does not have.
            print(text.encode("ascii", "backslashreplace").decode("ascii"), file=stream, flush=True)
    except BrokenPipeError:
        drop(stream)
