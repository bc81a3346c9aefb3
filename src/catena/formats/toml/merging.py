"""Changes of a file that leave everything else in it alone: its comments, its order, its formulas.

What a text stands for is known as tables in their canonical form, before and after. Where the two differ, the text is
changed, and nowhere else: a formula stays as long as the number it stands for does, and a comment as long as the table
that it is in.

Whatever is made of a text is read again before it is taken: it has to stand for the very same mechanism, to the last
digit and in the same order, with the same parameters. Where no text does, a file is written anew.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from catena.errors import CatenaError
from catena.formats.toml.blocks import Block, key_text, value_text
from catena.formats.toml.lines import Lines, Path

MAKERS = ("include", "repeat", "chain", "linkage")
"""Tables that stand for several parts of a mechanism."""


class CannotMergeError(Exception):
    """A change that cannot be made in a text without writing it anew."""


class TextEdit(NamedTuple):
    """What stands from `start` to `end` of a text becomes `text`."""

    start: int
    end: int
    text: str


def merged(
    text: str,
    before: Sequence[Block],
    after: Sequence[Block],
    expand: bool = False,
    rows: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> str:
    """Return a text that stands for the tables `after`, made from one that stands for those `before`.

    Parts that come from other tables, such as [[repeat]], can be changed only if these are written out: with `expand`.
    Of tables that are known by number, `rows` says which of their sort in the text they are, by word. A
    CannotMergeError tells that there is no way.
    """
    merger = _Merger(text, rows)
    old, new = ({block.label: block for block in blocks} for blocks in (before, after))
    places = {label: merger.place(block) for label, block in old.items()}
    if expand:
        merger.remove_makers()
        old = {label: block for label, block in old.items() if places[label] is not None}
    for label, block in old.items():
        if label not in new:
            merger.remove(_found(places[label]))
        elif new[label] != block:
            merger.change(_found(places[label]), block, new[label])
    anchors = _anchors(after, {label: place for label, place in places.items() if label in old})
    for anchor, words, added in anchors:
        merger.add(anchor, words, added)
    return merger.text()


def _found(place: Path | None) -> Path:
    if place is None:
        raise CannotMergeError
    return place


def _anchors(
    after: Sequence[Block], places: Mapping[tuple[str, ...], Path | None]
) -> Iterator[tuple[tuple[Path, bool] | None, tuple[str, ...], list[Block]]]:
    """New tables in groups, each with the table of the same sort that it stands behind (True) or before (False)."""
    sorts: dict[tuple[str, ...], list[Block]] = {}
    for block in after:
        sorts.setdefault(block.words, []).append(block)
    for words, blocks in sorts.items():
        waiting: list[Block] = []
        last: Path | None = None
        for block in blocks:
            place = places.get(block.label)
            if block.label not in places:
                waiting.append(block)
                continue
            if place is None:
                # It comes from another table, and what is new cannot be put before or behind it.
                continue
            if waiting:
                yield ((last, True) if last is not None else (place, False)), words, waiting
            waiting, last = [], place
        if waiting:
            yield ((last, True) if last is not None else None), words, waiting


class _Merger:
    """A text, where everything is in it, and the changes that are to be made."""

    def __init__(self, text: str, rows: Mapping[str, Sequence[int]] = MappingProxyType({})) -> None:
        self._rows = rows
        self._text = text if text.endswith("\n") or not text else text + "\n"
        self._content = tomllib.loads(self._text)
        self._lines = Lines(self._text, every=True)
        self._changes: list[TextEdit] = []
        self._headers = {header.path: header for header in self._lines.headers}
        self._ends = sorted(end for _, end in self._lines.values.values())

    def text(self) -> str:
        """Return the text with all changes made."""
        result, at = [], 0
        for change in sorted(self._changes, key=lambda one: (one.start, one.end)):
            if change.start < at:
                raise CannotMergeError
            result += [self._text[at : change.start], change.text]
            at = change.end
        return "".join([*result, self._text[at:]])

    def place(self, block: Block) -> Path | None:
        """Return the path of a table in the text, None if it is not there as a table of its own."""
        if not block.many:
            found = self._at(block.words)
            return block.words if isinstance(found, dict) else None
        (word,) = block.words
        if block.number is not None:
            return word, self._rows[word][block.number]
        wanted = tomllib.loads(f"name = {block.pairs['name']}")["name"]
        tables = self._content.get(word, [])
        return next(((word, k) for k, one in enumerate(tables) if one.get("name") == wanted), None)

    def remove(self, path: Path) -> None:
        """Take a table out, with the comment above it."""
        if path not in self._headers:
            raise CannotMergeError
        for start, end in self._regions(path):
            self._changes.append(TextEdit(start, end, ""))

    def remove_makers(self) -> None:
        """Take out the tables that stand for several parts."""
        for header in self._lines.headers:
            if header.path[0] in MAKERS and len(header.path) <= 2 and self._is_whole(header.path):
                self.remove(header.path)

    def _is_whole(self, path: Path) -> bool:
        """Return whether a header is that of a table and not of one inside it."""
        return len(path) == 1 or isinstance(path[1], int) or (path[0],) not in self._headers

    def change(self, path: Path, old: Block, new: Block) -> None:
        """Change a table from one form to another, key by key; where that cannot be, write its own keys anew."""
        before, after = _values(old), _values(new)
        kept = list(self._changes)
        try:
            self._table(path, before, after)
        except CannotMergeError:
            if path not in self._headers:
                raise
            self._changes = kept
            first, *others = self._regions(path)
            start = self._headers[path].start
            self._changes.append(TextEdit(start, first[1], new.text + "\n"))
            self._changes += [TextEdit(*other, "") for other in others]

    def set(self, path: Path, value: float | str) -> None:
        """Put another value under a key that is there, unless it is the same."""
        if path not in self._lines.values:
            raise CannotMergeError
        if self._at(path) != value:
            self._changes.append(TextEdit(*self._lines.values[path], value_text(value)))

    def add(self, anchor: tuple[Path, bool] | None, words: tuple[str, ...], blocks: Sequence[Block]) -> None:
        """Put new tables behind or before another one, or at the end of the text."""
        text = "\n".join(block.text for block in blocks)
        if anchor is None:
            self._changes.append(TextEdit(len(self._text), len(self._text), f"\n{text}"))
            return
        path, behind = anchor
        if path not in self._headers:
            raise CannotMergeError
        regions = self._regions(path)
        at = regions[-1][1] if behind else regions[0][0]
        blank = "" if not behind or self._text[:at].endswith("\n\n") else "\n"
        after = "\n" if at < len(self._text) else ""
        self._changes.append(TextEdit(at, at, blank + text + after))

    def _at(self, path: Path) -> Any:
        found: Any = self._content
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def _regions(self, path: Path) -> list[tuple[int, int]]:
        """From where to where a table goes, with the tables inside it, the comments right above, and the blank lines
        behind. A comment that stands alone between two tables belongs to neither."""
        headers = self._lines.headers
        nexts = [header.start for header in headers[1:]] + [len(self._text)]
        found: list[tuple[int, int]] = []
        last = -2
        for k, header in enumerate(headers):
            if header.path[: len(path)] != path:
                continue
            start = found.pop()[0] if found and last == k - 1 else self._above(header.start)
            found.append((start, self._below(header.end, nexts[k])))
            last = k
        return found

    def _below(self, at: int, most: int) -> int:
        """Return the end of what stands below a header, up to the next one: its last value or comment, and blank
        lines."""
        inside = bisect_left(self._ends, at), bisect_left(self._ends, most)
        at = self._ends[inside[1] - 1] if inside[1] > inside[0] else at
        at = self._text.find("\n", at) + 1
        # Comments without a blank line before them are about the table; those right above the next header are not.
        rest = self._above(most) if most < len(self._text) else most
        while at < rest and self._text.startswith("#", _first(self._text, at)):
            at = self._text.find("\n", at) + 1
        while at < rest and not self._text[at : self._text.find("\n", at)].strip():
            at = self._text.find("\n", at) + 1
        return at

    def _above(self, at: int) -> int:
        """Return the place of the first of the lines of comments right above a header."""
        at = self._text.rfind("\n", 0, at) + 1
        while at:
            line = self._text.rfind("\n", 0, at - 1) + 1
            if not self._text[line:at].lstrip().startswith("#"):
                break
            at = line
        return at

    def _table(self, path: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Change the keys of a table that differ."""
        for key in before:
            if key not in after:
                self._drop((*path, key))
        new = {key: value for key, value in after.items() if key not in before}
        for key, value in after.items():
            if key in before:
                self._value((*path, key), before[key], value)
        if new:
            self._insert(path, new)

    def _value(self, path: Path, before: Any, after: Any) -> None:
        """Change a value where it differs: single entries of an array, single keys of a table."""
        if before == after:
            return
        raw = self._at(path)
        if isinstance(before, list) and isinstance(after, list) and isinstance(raw, list):
            if len(before) == len(after) == len(raw):
                for k, (a, b) in enumerate(zip(before, after)):
                    self._value((*path, k), a, b)
                return
        if isinstance(before, dict) and isinstance(after, dict) and isinstance(raw, dict):
            inline = path in self._lines.values
            if raw.keys() >= before.keys() and (not inline or before.keys() == after.keys()):
                self._table(path, before, after)
                return
        if path not in self._lines.values:
            raise CannotMergeError
        self._changes.append(TextEdit(*self._lines.values[path], value_text(after)))

    def _drop(self, path: Path) -> None:
        """Take a key out, with its line if nothing else is on it."""
        if path not in self._lines.keys or path[:-1] not in self._headers:
            raise CannotMergeError
        start, end = self._lines.keys[path], self._lines.values[path][1]
        newline = self._text.find("\n", end)
        self._changes.append(TextEdit(start, newline + 1, ""))

    def _insert(self, path: Path, pairs: Mapping[str, Any]) -> None:
        """Put keys behind those that a table has."""
        if path not in self._headers:
            raise CannotMergeError
        own = [
            span[1]
            for inner, span in self._lines.values.items()
            if inner[: len(path)] == path and self._is_own(inner, path)
        ]
        at = self._text.find("\n", max([self._headers[path].end, *own])) + 1
        text = "".join(f"{key_text(key)} = {value_text(value)}\n" for key, value in pairs.items())
        self._changes.append(TextEdit(at, at, text))

    def _is_own(self, path: Path, table: Path) -> bool:
        """Return whether a value stands below the header of a table and not below that of another inside it."""
        return not any(path[:k] in self._headers for k in range(len(table) + 1, len(path)))


def _first(text: str, at: int) -> int:
    """Return the first place that is not blank, of a line that begins at a place."""
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _values(block: Block) -> dict[str, Any]:
    """Return the values of a table, by key."""
    return {key: tomllib.loads(f"x = {value}")["x"] for key, value in block.pairs.items()}


def with_settings(text: str, settings: Mapping[str, float | str]) -> str:
    """Return a text whose [parameters] have these values."""
    merger = _Merger(text)
    for name, value in settings.items():
        merger.set(("parameters", name), value)
    return merger.text()


class Meaning(NamedTuple):
    """What a text stands for: its tables in canonical form, and the values of its parameters."""

    blocks: Sequence[Block]
    parameters: Mapping[str, float]


def text_like(
    wanted: Meaning,
    settings: Mapping[str, Any],
    bases: Iterable[str],
    meaning_of: Callable[[str], Meaning],
) -> str | None:
    """Return a text that stands for what is wanted, made from the first of some texts from which that can be, None if
    there is none. `settings` are values that were given for parameters, `meaning_of` reads a text."""
    for base in bases:
        for expand in (False, True):
            try:
                text = with_settings(base, settings) if settings else base
                found = meaning_of(text)
                if found.parameters != wanted.parameters:
                    break
                text = merged(text, found.blocks, wanted.blocks, expand)
                again = meaning_of(text)
            except (CatenaError, CannotMergeError, ValueError):
                # A text that cannot be read, changed or read again is none to build on.
                continue
            if list(again.blocks) == list(wanted.blocks) and again.parameters == wanted.parameters:
                return text
    return None
