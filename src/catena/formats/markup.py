"""XML as elements that know their line, read without anything that makes XML dangerous.

Entities are refused where they are declared, so nothing expands and nothing is fetched; depth and number of elements
are bounded. Faults begin with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, NoReturn
from xml.parsers import expat

from catena.errors import CatenaError, FormatError
from catena.formats.source import Budget
from catena.validation import shown

DEEPEST = 100
"""How deep elements may be nested: models need about ten."""


class Element:
    """One element: its tag, attributes, children, the text directly inside it, and its line in the file."""

    __slots__ = ("attributes", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, file: str) -> None:
        self.tag, self.attributes, self.line, self.file = tag, attributes, line, file
        self.children: list[Element] = []
        self.text = ""

    @property
    def where(self) -> str:
        """The place of the element as messages begin."""
        return f"{self.file}:{self.line}"

    @property
    def who(self) -> str:
        """What messages call the element: its tag and name."""
        name = self.attributes.get("name")
        return self.tag if name is None else f"{self.tag} {shown(name)}"

    def fail(self, message: str, who: str | None = None) -> NoReturn:
        """Raise a fault of this element."""
        raise ElementFault(self, self.who if who is None else who, message) from None

    def refuse(self, error: CatenaError, who: str | None = None) -> NoReturn:
        """Raise what a builder refused as a fault of this element; a fault that has its place already stays."""
        if isinstance(error, ElementFault):
            raise error
        called = self.who if who is None else who
        message = str(error).removeprefix(f"{called}: ").removeprefix("Pose: ")
        raise ElementFault(self, called, message) from error

    def all(self, tag: str) -> Iterator[Element]:
        """Return the children with a tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Return the first child with a tag, None if there is none."""
        return next(self.all(tag), None)

    def get(self, key: str, default: str = "") -> str:
        """Return an attribute, or the default."""
        return self.attributes.get(key, default)

    def needed(self, key: str) -> str:
        """Return an attribute that must be there and not empty."""
        found = self.attributes.get(key, "").strip()
        if not found:
            self.fail(f'the attribute {key!r} is missing: write {key}="..."')
        return found

    def number(self, key: str, default: float | None = None) -> float:
        """Return an attribute that is one number."""
        text = self.attributes.get(key)
        if text is None or not text.strip():
            if default is None:
                self.fail(f'the attribute {key!r} is missing: write {key}="0.0"')
            return default
        return self._numbers(key, text, 1)[0]

    def numbers(self, key: str, count: int, default: Sequence[float] | None = None) -> list[float]:
        """Return an attribute that is several numbers with blanks between them."""
        text = self.attributes.get(key)
        if text is None or not text.strip():
            if default is None:
                self.fail(f"the attribute {key!r} is missing: give {count} numbers")
            return list(default)
        return self._numbers(key, text, count)

    def content(self, default: str | None = None) -> str:
        """Return the text inside the element."""
        found = self.text.strip()
        if not found and default is None:
            self.fail("it is empty: give a value")
        return found or str(default)

    def value(self, tag: str, default: float | None = None) -> float:
        """Return the number inside the child with a tag."""
        child = self.first(tag)
        if child is None or not child.text.strip():
            if default is None:
                self.fail(f"there is no <{tag}> in it: give one with a number")
            return default
        return child._numbers("its value", child.text, 1)[0]

    def values(self, tag: str, count: int, default: Sequence[float] | None = None) -> list[float]:
        """Return the numbers inside the child with a tag."""
        child = self.first(tag)
        if child is None or not child.text.strip():
            if default is None:
                self.fail(f"there is no <{tag}> in it: give one with {count} numbers")
            return list(default)
        return child._numbers("its value", child.text, count)

    def _numbers(self, key: str, text: str, count: int) -> list[float]:
        parts = text.split()
        try:
            found = [float(part) for part in parts]
        except ValueError:
            self.fail(f"{key} is {shown(text)}, which is not made of numbers")
        if len(found) != count:
            self.fail(f"{key} is {shown(text)}: give {count} number{'s' if count > 1 else ''}")
        if not all(map(isfinite, found)):
            self.fail(f"{key} is {shown(text)}: give finite numbers")
        return found


class ElementFault(FormatError):
    """A fault of an element: its line, who it is about, and what is wrong, for readers that can do without the part."""

    def __init__(self, element: Element, who: str, message: str) -> None:
        super().__init__(f"{element.where}: {who}: {message}")
        self.line, self.who, self.message = element.line, who, message


class _ElementBuilder:
    """Collects elements while expat reads."""

    def __init__(self, file: str, budget: Budget) -> None:
        self.file = file
        self._budget = budget
        self.root: Element | None = None
        self._open: list[Element] = []
        self._parser: Any = expat.ParserCreate()
        self._parser.buffer_text = True
        # Long texts come in few pieces, because each is put behind those before it.
        self._parser.buffer_size = 2**20
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity
        self._parser.ExternalEntityRefHandler = self._external
        self._parser.SkippedEntityHandler = self._skipped
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def read(self, text: str) -> Element:
        try:
            self._parser.Parse(_without_declaration(text).encode("utf-8"), True)
        except expat.ExpatError as error:
            message = expat.errors.messages.get(error.code, "not well formed")
            raise FormatError(
                f"{self.file}:{error.lineno}: this is not XML: {message} in column {error.offset + 1}"
            ) from None
        except UnicodeEncodeError:
            raise FormatError(f"{self.file}: this is not XML: it holds what is no character") from None
        assert self.root is not None
        return self.root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._budget.add_element(f"{self.file}:{line}")
        if len(self._open) >= DEEPEST:
            raise FormatError(
                f"{self.file}:{line}: elements are nested more than {DEEPEST} deep: this is no model"
            )
        element = Element(tag, attributes, line, self.file)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text

    def _entity(self, *declared: Any) -> NoReturn:
        raise FormatError(
            f"{self.file}:{self._parser.CurrentLineNumber}: the entity {shown(declared[0])} is declared: "
            "models have no entities, which can be made to fill the memory or to read other files"
        )

    def _external(self, *reference: Any) -> NoReturn:
        raise FormatError(
            f"{self.file}:{self._parser.CurrentLineNumber}: an external entity is used: models have none"
        )

    def _skipped(self, *reference: Any) -> NoReturn:
        raise FormatError(
            f"{self.file}:{self._parser.CurrentLineNumber}: the entity {shown(reference[0])} is not known"
        )


_DECLARATION = re.compile(r"\s*<\?xml\b.*?\?>", re.DOTALL)


def _without_declaration(text: str) -> str:
    """Return the text with its XML declaration blanked out: the text is decoded already, and files with something in
    front of the declaration are common. Lines stay where they are."""
    found = _DECLARATION.match(text)
    return text if found is None else "\n" * found.group().count("\n") + text[found.end() :]


def parse(text: str, file: str, budget: Budget) -> Element:
    """Return the outermost element of an XML text; `file` is what messages call it, `budget` counts its elements."""
    return _ElementBuilder(file, budget).read(text)


_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def quoted(text: str) -> str:
    """Return a text as the value of an attribute, with its quotation marks."""
    if _NO_CHARACTER.search(text):
        raise FormatError(f"{shown(text)} holds a character that XML has not: rename the part")
    return f'"{text.translate(_ESCAPES)}"'
