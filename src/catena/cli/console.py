"""What a command writes and how it ends: lines on the terminal, faults in words, exit codes."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from catena.errors import CatenaError
from catena.validation import printable, printable_lines

if TYPE_CHECKING:
    from rich.console import Console as Terminal

# Longer lines are hard to read on any terminal.
WIDTH = 110
# Nobody reads more of one sentence, whatever a file has put into it.
LONGEST = 4000
# The last two lines about a formula: its text, and a mark below what is wrong.
_PICTURE = re.compile(r"\n    [^\n]*\n    *\^$")
BOLD, DIM, RED, YELLOW = "bold", "dim", "red", "yellow"


class Exit(IntEnum):
    """What the shell gets to know."""

    OK = 0
    STOPPED = 1  # the simulation stopped with an error; what there is was saved
    USAGE = 2  # unknown names, wrong options, a model that is none
    INTERRUPTED = 3  # Ctrl-C; what there is was saved
    OUTPUT = 4  # a file could not be written; all others were


class UsageError(CatenaError, ValueError):
    """Something on the command line, or in a file it names, that cannot be meant."""


class OutputError(CatenaError, OSError):
    """Standard output cannot take what is written, as on a disk that is full."""


class Console:
    """Where a command writes to. A reader that went away (`catena info ... | head`) is no fault: the rest of the
    output is dropped and the command goes on.

    Texts hold names from files of strangers, which must not move the cursor, colour what follows or turn letters
    around: everything passes through `printable` here, before styles are put on."""

    def __init__(self, quiet: bool = False, debug: bool = False) -> None:
        self.quiet, self.debug = quiet, debug

    def say(self, text: str = "") -> None:
        """Write a line of the result, unless the command is to be quiet."""
        self._show(printable(text))

    def title(self, text: str) -> None:
        """Write a line of the result in bold."""
        self._show(painted(printable(text), BOLD, sys.stdout))

    def table(self, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> None:
        """Write rows of cells in columns, under the words in `head`.

        On a terminal the columns are made to fit; elsewhere every row is one line, whatever its length.
        """
        lines = [tuple(map(printable, row)) for row in rows]
        terminal = _terminal(sys.stdout)
        if lines and terminal is not None:
            self._show(_fitted(lines, tuple(head), terminal))
            return
        lines = [tuple(head), *lines] if head else lines
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            self._show("  ".join(map(str.ljust, line, widths)).rstrip())

    def entries(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write names with sentences beside them, in lines that fit the terminal."""
        indent = max(len(name) for name, _ in rows) + 2
        for name, text in rows:
            first = painted(printable(name).ljust(indent), BOLD, sys.stdout)
            self._show(first + _filled(printable_lines(text), indent).lstrip())

    def paragraph(self, text: str, indent: int = 0) -> None:
        """Write a text in lines that fit the terminal."""
        self._show(_filled(printable_lines(text), indent))

    def line(self, text: str) -> None:
        """Write a line of the result that is wanted even when the command is quiet."""
        write(sys.stdout, _cut(printable(text)))

    def result(self, text: str) -> None:
        """Write lines of the result for programs to read, which are wanted even when the command is quiet."""
        write(sys.stdout, printable_lines(text))

    def note(self, text: str) -> None:
        """Write a remark on standard error, unless the command is to be quiet."""
        if not self.quiet:
            write(sys.stderr, printable(text))

    def warning(self, text: str) -> None:
        """Write a warning on standard error."""
        write(sys.stderr, f"{painted('warning:', YELLOW, sys.stderr)} {_cut(printable(text))}")

    def error(self, text: str) -> None:
        """Write on standard error why the command did not do what it was asked for."""
        write(sys.stderr, f"{painted('catena: error:', RED, sys.stderr)} {_cut(_with_picture(text))}")

    def trace(self, error: BaseException) -> None:
        """Write the traceback of an error on standard error, if --debug asks for it."""
        if self.debug:
            write(sys.stderr, printable_lines("".join(traceback.format_exception(error)).rstrip()))

    def _show(self, rendered: str) -> None:
        """Write lines of the result that may have styles in them, unless the command is to be quiet."""
        if not self.quiet:
            write(sys.stdout, rendered)


def in_words(error: BaseException, file: Path | None = None) -> str:
    """Return one paragraph about an error; where it came up in `file`, if it came from there."""
    words = str(error) if isinstance(error, CatenaError) else f"{type(error).__name__}: {error}".rstrip(": ")
    picture = _PICTURE.search(words)
    # What shows where a formula is wrong stays as it is, below the sentence.
    words = (
        " ".join(words[: picture.start()].split()) + picture.group() if picture else " ".join(words.split())
    )
    line = _line_in(error, file) if file is not None else None
    return words if line is None else f"{file}:{line}: {words}"


def _with_picture(text: str) -> str:
    """Return a text in one line, and below it what shows where a formula in it is wrong, if that is there."""
    picture = _PICTURE.search(text)
    if picture is None:
        return printable(text)
    return printable(text[: picture.start()]) + printable_lines(picture.group())


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 loop`, `2 loops`; `many` where the plural is not formed with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def painted(text: str, style: str, stream: TextIO) -> str:
    """Return the text in a style, or as it is where the stream shows no styles."""
    terminal = _terminal(stream)
    if terminal is None:
        return text
    with terminal.capture() as rendered:
        terminal.print(text, style=style, end="", soft_wrap=True)
    return rendered.get()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"


def drop(stream: TextIO) -> None:
    """Discard all that is still written to a stream, because nobody reads it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _line_in(error: BaseException, file: Path) -> int | None:
    """Return the last line of `file` that an error passed through."""
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


def _terminal(stream: TextIO) -> Terminal | None:
    """Return what rich knows about a terminal; None for files and pipes, and where rich is not installed.

    rich only renders to text: `write` is the one way to a stream.
    """
    if not stream.isatty() or find_spec("rich") is None:
        return None
    from rich.console import Console as Terminal

    # To rich NO_COLOR leaves bold and dim; here it leaves plain text, as do consoles that show the codes themselves.
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    terminal = Terminal(file=stream, color_system=colours, markup=False, emoji=False, highlight=False)
    return None if terminal.legacy_windows or terminal.is_dumb_terminal else terminal


def _fitted(rows: Sequence[tuple[str, ...]], head: tuple[str, ...], terminal: Terminal) -> str:
    """Return a table as lines of the terminal's width; cells that are too long go on below."""
    from rich.table import Table

    columns = head or ("",) * len(rows[0])
    table = Table(
        *columns, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM, show_header=bool(head)
    )
    for row in rows:
        table.add_row(*row)
    with terminal.capture() as rendered:
        terminal.print(table, end="")
    return rendered.get().rstrip("\n")


def flush(stream: TextIO) -> None:
    """Hand on what was written to a stream."""
    with _taken(stream):
        stream.flush()


def write(stream: TextIO, text: str) -> None:
    """Write a text and the end of its line to a stream."""
    with _taken(stream):
        try:
            print(text, file=stream, flush=True)
        except UnicodeEncodeError:
            # A name in letters that the terminal does not have.
            print(text.encode("ascii", "backslashreplace").decode("ascii"), file=stream, flush=True)


@contextmanager
def _taken(stream: TextIO) -> Iterator[None]:
    """Drop what a stream does not take, and all that is still written to it. That standard output takes nothing,
    although somebody reads it, is an error."""
    try:
        yield
    except BrokenPipeError:
        drop(stream)
    except OSError as error:
        drop(stream)
        # Of what standard error cannot take nobody can be told.
        if stream is sys.stdout:
            words = (error.strerror or str(error)).lower()
            raise OutputError(f"standard output cannot be written: {words}") from error
