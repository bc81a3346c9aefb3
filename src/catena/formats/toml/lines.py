"""Where each value of a TOML text stands, which the standard reader does not tell.

The text is one that `tomllib` has accepted, so nothing is checked here: it is walked through once, by table
headers, keys and brackets.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import NamedTuple

Path = tuple[str | int, ...]

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\])*"|' r"'[^']*'",
    re.DOTALL,
)
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*""")
_PLAIN = re.compile(r"[^,\]}\n#]*")


class Header(NamedTuple):
    """A line [a.b] or [[a.b]]: the path of the table it opens, and from where to where it goes in the text."""

    path: Path
    start: int
    end: int


class Lines:
    """The lines of the tables, keys and array entries of a TOML text, by path.

    A path is that of the value in the result of `tomllib`: ("joint", 2, "in_parent", "quat") is the
    orientation in the third [[joint]] table. `headers` are the lines that open tables, in their order; `keys` tells
    where a pair begins and `values` from where to where a value goes, both as places in the text; of entries of arrays
    there are those that are strings, unless `every` one is asked for.
    """

    def __init__(self, text: str, every: bool = False) -> None:
        self._text, self._every = text, every
        self.headers: list[Header] = []
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self._at = 0
        self._line, self._counted = 1, 0
        self._found: dict[Path, int] = {}
        self._count: dict[Path, int] = {}
        self._statements()

    def of(self, path: Sequence[str | int]) -> int:
        """Return the line (from 1) of a value, or of the nearest table around it that stands in the text."""
        known = tuple(path)
        while known and known not in self._found:
            known = known[:-1]
        return self._found.get(known, 1)

    def column(self, path: Sequence[str | int], text: str) -> int:
        """Return the column (from 1) in which the string of a value begins, 0 where it is not written as `text`."""
        start, end = self.values.get(tuple(path), (0, 0))
        if self._text[start + 1 : end - 1] != text:
            return 0
        return start + 2 - (self._text.rfind("\n", 0, start) + 1)

    def _statements(self) -> None:
        table: Path = ()
        while True:
            self._skip_blank()
            if self._at >= len(self._text):
                return
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        """Read [a.b] or [[a.b]] and return the path of the table it opens."""
        many = self._text.startswith("[[", self._at)
        here, start = self._mark(), self._at
        self._at += 2 if many else 1
        *outer, last = self._key()
        self._at += 2 if many else 1
        path: Path = ()
        for part in outer:
            path = self._latest((*path, part))
        path = (*path, last)
        if many:
            self._count[path] = self._count.get(path, 0) + 1
            self._found.setdefault(path, here)
            path = self._latest(path)
        self._found[path] = here
        self.headers.append(Header(path, start, self._at))
        return path

    def _latest(self, path: Path) -> Path:
        """Return the path of the last table of an array of tables; any other path as it is."""
        return (*path, self._count[path] - 1) if path in self._count else path

    def _pair(self, table: Path) -> None:
        """Read `key = value` below a table."""
        here, start = self._mark(), self._at
        path = table
        for part in self._key():
            path = (*path, part)
            self._found.setdefault(path, here)
        self.keys[path] = start
        self._at += 1  # the equals sign
        self._value(path)

    def _key(self) -> list[str]:
        """Read a key, dotted or not, and return its parts."""
        parts = []
        while True:
            match = _KEY_PART.match(self._text, self._at)
            assert match is not None
            part = match.group(1)
            parts.append(next(iter(tomllib.loads(f"{part} = 0"))) if part[0] in "\"'" else part)
            self._at = match.end()
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, path: Path, in_array: bool = False) -> None:
        self._skip_blank()
        start = self._at
        self._pass_value(path)
        # Of long arrays of numbers nobody asks where each one is.
        if not in_array or self._every or self._text[start] in "\"'":
            self.values[path] = (start, start + len(self._text[start : self._at].rstrip()))

    def _pass_value(self, path: Path) -> None:
        string = _STRING.match(self._text, self._at)
        if string:
            self._at = string.end()
        elif self._text[self._at] == "[":
            self._entries(path, "]")
        elif self._text[self._at] == "{":
            self._entries(path, "}")
        else:
            plain = _PLAIN.match(self._text, self._at)
            assert plain is not None
            self._at = plain.end()

    def _entries(self, path: Path, closing: str) -> None:
        """Read what stands between brackets: values for "]", pairs for "}"."""
        self._at += 1
        count = 0
        while True:
            self._skip_blank()
            if self._text[self._at] == closing:
                self._at += 1
                return
            if self._text[self._at] == ",":
                self._at += 1
            elif closing == "}":
                self._pair(path)
            else:
                self._found[(*path, count)] = self._mark()
                self._value((*path, count), in_array=True)
                count += 1

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _mark(self) -> int:
        """Return the line of the place reached so far."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line
