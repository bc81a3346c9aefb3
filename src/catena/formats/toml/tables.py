"""A table of a model file as its reader sees it: values by key, checked for their type, and faults by line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log10
from re import search
from typing import Any, NoReturn

from catena.errors import CatenaError, FormatError, FormulaError
from catena.formats.source import Source
from catena.formats.toml.lines import Lines, Path
from catena.formats.toml.schema import POSE
from catena.formulas import ParsedFormula, Place, parse
from catena.spatial import Pose
from catena.validation import shown, suggestion

TYPES = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


@dataclass(frozen=True)
class Document:
    """A file being read: where it comes from, the lines of its values, its parameters by name, and those in use."""

    source: Source
    lines: Lines
    parameters: dict[str, float] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def evaluate(self, formula: ParsedFormula, more: Mapping[str, float] | None = None) -> float:
        """Return the number that a formula of parameters stands for, and remember which of them it names."""
        self.used.update(name for name in formula.names if name in self.parameters)
        return float(formula.number({**self.parameters, **(more or {})}))


class FileTable:
    """One table of a file: what it holds, what messages call it (`who`), and where it stands.

    Every method that returns a value takes a key and raises a `FormatError` with file and line when the value
    is of the wrong type.
    """

    def __init__(self, content: Mapping[str, Any], who: str, path: Path, document: Document) -> None:
        self.content = content
        self.who = who
        self.document = document
        self._path = path
        self._file, self._lines = document.source.name, document.lines

    @property
    def path(self) -> Path:
        """Where the table is in the document."""
        return self._path

    @property
    def line(self) -> int:
        """The line on which the table begins."""
        return self._lines.of(self._path)

    def where(self, *keys: str | int) -> str:
        """Return the place of the value that the keys lead to, as messages begin."""
        return f"{self._file}:{self._lines.of((*self._path, *keys))}"

    def fail(self, message: str, *keys: str | int) -> NoReturn:
        """Raise a fault of this table, on the line of the value that the keys lead to."""
        who = f"{self.who}: " if self.who else ""
        raise FormatError(f"{self._file}:{self._lines.of((*self._path, *keys))}: {who}{message}") from None

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def check_keys(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """Refuse a key that is unknown, with those that are close, and the lack of one that is required."""
        allowed = [*required, *optional]
        for key in self.content:
            if key not in allowed:
                self.fail(f"unknown key {shown(key)}: {suggestion(key, allowed)}", key)
        for key in required:
            if key not in self.content:
                self.fail(f"the key {key!r} is missing: {', '.join(required)} must be given")

    def text(self, key: str) -> str:
        """Return a string."""
        return self._of_type(key, str, "give a string in quotes")

    def texts(self, key: str) -> list[str]:
        """Return an array of strings."""
        values = self._of_type(key, list, "give an array of strings")
        for k, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key} holds {_found(value)}: give strings in quotes", key, k)
        return values

    def switch(self, key: str) -> bool:
        """Return true or false."""
        return self._of_type(key, bool, "give true or false")

    def switches(self, key: str) -> bool | list[bool]:
        """Return true or false, or an array of these."""
        value = self.content[key]
        if not isinstance(value, list):
            return self.switch(key)
        for k, one in enumerate(value):
            if not isinstance(one, bool):
                self.fail(f"{key} holds {_found(one)}: give true or false for each", key, k)
        return value

    def inner(self, key: str, who: str) -> FileTable:
        """Return a table inside this one, which messages call `who`."""
        content = self._of_type(key, dict, f"give a table, {key} = {{ ... }}")
        return FileTable(content, who, (*self._path, key), self.document)

    def tables(self, key: str) -> list[FileTable]:
        """Return the tables of an array of tables."""
        found = self._of_type(key, list, f"write [[...{key}]] above each of them, or {key} = [{{ ... }}]")
        for k, one in enumerate(found):
            if not isinstance(one, dict):
                self.fail(f"{key} holds {_found(one)}: give tables", key, k)
        return [
            FileTable(one, f"{self.who}: {key} {k + 1}", (*self._path, key, k), self.document)
            for k, one in enumerate(found)
        ]

    def numbers(self, key: str) -> Any:
        """Return a number as a float, or an array of numbers, nested or not, as lists of floats. Text stands for the
        number it tells: "30 deg", "2 * length"."""
        return self._numbers(self.content[key], key, (key,))

    def formula(self, key: str, *place: int) -> ParsedFormula:
        """Return a formula, whatever its names stand for; a number is one too. `place` leads into an array."""
        value = self.content[key]
        for k in place:
            value = value[k]
        text = value if isinstance(value, str) else repr(self.number_in(key, value, *place))
        return self._formula(text, key, (key, *place))

    def bound(self, key: str, *names: str) -> ParsedFormula:
        """Return a formula of some names, with the values of parameters in the places of all others."""
        formula = self.formula(key)
        parameters = {name: x for name, x in self.document.parameters.items() if name not in names}
        self.document.used.update(name for name in formula.names if name in parameters)
        try:
            # What is neither is refused here, with those that there are.
            formula.symbolic({**parameters, **dict.fromkeys(names, 0.0)})
            return formula.bound(parameters)
        except FormulaError as error:
            self.no_number(formula.text, key, (key,), error)

    def number_in(self, key: str, value: Any, *place: int) -> float:
        """Return one number of an array that holds other things as well."""
        found = self._numbers(value, key, (key, *place))
        if not isinstance(found, float):
            self.fail(f"{key} holds {_found(value)}: give numbers", key, *place)
        return found

    def array(self, key: str) -> list[Any]:
        """Return an array of anything."""
        return list(self._of_type(key, list, "give an array, [...]"))

    def integers(self, key: str) -> int | list[int]:
        """Return a whole number or an array of them."""
        value = self.content[key]
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if not isinstance(entry, int) or isinstance(entry, bool):
                self.fail(f"{key} is {_found(entry)}: give whole numbers", key)
        return value

    def axis(self, key: str) -> Any:
        """Return a direction: a string such as "x" or "-z", or an array of numbers."""
        return self.content[key] if isinstance(self.content[key], str) else self.numbers(key)

    def pose(self, key: str) -> Pose:
        """Return a pose from a table of p and at most one of quat, rpy and R."""
        inner = self.inner(key, f"{self.who}: {key}")
        inner.check_keys((), POSE)
        with inner.at_fault():
            return Pose(**{name: inner.numbers(name) for name in inner.content})

    @contextmanager
    def at_fault(self, *keys: str | int) -> Iterator[None]:
        """Raise what the builder refuses inside as a fault of this table.

        The line is that of the value the keys lead to; without keys, of the key that the message names first.
        """
        try:
            yield
        except FormatError as error:
            if str(error).startswith(f"{self._file}:"):
                raise
            self._refused(error, keys)
        except CatenaError as error:
            self._refused(error, keys)

    def _refused(self, error: CatenaError, keys: tuple[str | int, ...]) -> NoReturn:
        message = str(error).removeprefix(f"{self.who}: ").removeprefix("Pose: ")
        place = keys or tuple(self._named_in(message)[:1])
        line = self._lines.of((*self._path, *place))
        raise FormatError(f"{self._file}:{line}: {self.who}: {message}") from error

    def _named_in(self, message: str) -> list[str]:
        """Return the keys that a message speaks of, in the order it names them: by the names they refer to, or else
        by themselves."""
        by_value = [
            key
            for key, value in self.content.items()
            if any(f"named {n!r}" in message for n in _names(value))
        ]
        if by_value:
            return by_value
        matches = {key: search(rf"(?<![\w'\"]){key}(?![\w'\"])", message) for key in self.content}
        places = {key: match.start() for key, match in matches.items() if match}
        return sorted(places, key=lambda key: places[key])

    def _of_type(self, key: str, kind: type, advice: str) -> Any:
        value = self.content[key]
        if not isinstance(value, kind):
            self.fail(f"{key} is {_found(value)}: {advice}", key)
        return value

    def _formula(self, text: str, key: str, place: tuple[str | int, ...]) -> ParsedFormula:
        path = (*self._path, *place)
        where = Place(self._file, self._lines.of(path), self._lines.column(path, text))
        try:
            return parse(text, where)
        except FormulaError as error:
            self.no_number(text, key, place, error)

    def no_number(self, text: str, key: str, place: tuple[str | int, ...], error: FormulaError) -> NoReturn:
        """Raise the fault of a formula as one of this table."""
        path = (*self._path, *place)
        column = self._lines.column(path, text)
        where = Place(self._file, self._lines.of(path), column).at(error.column)
        _, _, mark = str(error).partition("\n")
        raise FormatError(
            f'{where}: {self.who}: {key} is {_found(text)}: give numbers, or text such as "30 deg" or "2 * length" '
            f"({error.reason})\n{mark}"
        ) from None

    def _numbers(self, value: Any, key: str, place: tuple[str | int, ...]) -> Any:
        if isinstance(value, list):
            return [self._numbers(entry, key, (*place, k)) for k, entry in enumerate(value)]
        if isinstance(value, str):
            formula = self._formula(value, key, place)
            try:
                return self.document.evaluate(formula)
            except FormulaError as error:
                self.no_number(value, key, place, error)
        if isinstance(value, bool) or not isinstance(value, int | float):
            inside = "holds" if len(place) > 1 else "is"
            self.fail(f"{key} {inside} {_found(value)}: give numbers", *place)
        try:
            return float(value)
        except OverflowError:
            # Python does not write whole numbers of thousands of digits, because that takes long.
            digits = int(log10(abs(value))) + 1
            self.fail(f"{key} has a number of {digits} digits: give less than 1e308", *place)


def _names(value: Any) -> list[str]:
    """Return the strings that a value consists of."""
    return [entry for entry in (value if isinstance(value, list) else [value]) if isinstance(entry, str)]


def _found(value: Any) -> str:
    """Return a value and the TOML type it has."""
    return f"{shown(value)}, {TYPES.get(type(value), 'a date or time')}"
