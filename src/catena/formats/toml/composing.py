"""Parts that are written once and stand for many: included files, repeated tables, chains told by numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from catena.errors import FormulaError
from catena.formats.toml.schema import KEYS, PARTS
from catena.formats.toml.tables import FileTable
from catena.formulas import parse
from catena.mechanism import Mechanism
from catena.mechanism.merging import include
from catena.mechanism.notations import add_denavit_hartenberg_chain, add_sdof_chain
from catena.validation import shown

MOST = 1000
"""How often tables may be repeated."""
NOTATIONS = ("denavit_hartenberg", "sdof")
_BRACES = re.compile(r"\{([^{}]*)\}")


def add_included(mechanism: Mechanism, table: FileTable) -> Mechanism:
    """Add the parts of the file that a table names."""
    table.check_keys(*KEYS["include"])
    source = table.document.source
    written = table.text("file")
    found = source.find(written, table.where("file"), "include")
    if found is None or source.open_file is None:
        table.fail(
            f"the file {written!r} is not known here: only a file in a folder can include another", "file"
        )
    if len(source.opened) > 20:
        table.fail("files include each other more than 20 deep", "file")
    with table.at_fault("file"):
        other = source.open_file(found, source)
    options: dict[str, Any] = {key: table.text(key) for key in ("prefix", "on") if key in table}
    if "at" in table:
        options["at"] = table.pose("at")
    with table.at_fault():
        include(mechanism, other, **options)
    return mechanism


def add_chain(mechanism: Mechanism, table: FileTable) -> Mechanism:
    """Add a chain of bodies and joints that is told by Denavit-Hartenberg rows or SDOF tables."""
    table.check_keys(*KEYS["chain"])
    notation = table.text("notation")
    if notation not in NOTATIONS:
        table.fail(f"no notation is named {shown(notation)}: there are {', '.join(NOTATIONS)}", "notation")
    is_sdof = notation == "sdof"
    needed, other = (
        (("gammas", "phis"), ("rows", "tool")) if is_sdof else (("rows",), ("gammas", "phis", "tip"))
    )
    for key in needed:
        if key not in table:
            table.fail(f"the key {key!r} is missing: {notation} needs {' and '.join(needed)}")
    for key in other:
        if key in table:
            table.fail(f"{notation} has no key {key!r}", key)
    options: dict[str, Any] = {key: table.text(key) for key in ("on", "prefix") if key in table}
    columns = ("masses", "coms", "inertias", "dampings", "frictions")
    options |= {key: table.numbers(key) for key in (*columns, "tip") if key in table}
    for key in columns:
        if key in options and not isinstance(options[key], list):
            table.fail(f"{key} is one number: give an array with one entry for each link", key)
    options |= {key: table.pose(key) for key in ("base", "tool") if key in table}
    if not is_sdof:
        rows = _rows(table)
        with table.at_fault("rows"):
            add_denavit_hartenberg_chain(mechanism, rows, **options)
        return mechanism
    gammas, phis = table.numbers("gammas"), _phis(table)
    if not isinstance(gammas, list):
        table.fail("gammas is one number: give six for each link", "gammas")
    with table.at_fault("gammas"):
        add_sdof_chain(mechanism, gammas, phis, **options)
    return mechanism


def _rows(table: FileTable) -> list[list[Any]]:
    """Return the rows a, alpha, d, theta and perhaps the type of joint."""
    found = []
    rows = table.array("rows")
    for k, row in enumerate(rows):
        if not isinstance(row, list) or not 4 <= len(row) <= 5:
            table.fail(
                f'row {k + 1} is {shown(row)}: give a, alpha, d, theta and perhaps "prismatic"', "rows", k
            )
        numbers = [table.number_in("rows", x, k, j) for j, x in enumerate(row[:4])]
        found.append([*numbers, *row[4:]])
    return found


def _phis(table: FileTable) -> list[Any]:
    phis = table.array("phis")
    for k, phi in enumerate(phis):
        if not isinstance(phi, list) or not all(isinstance(motion, str) for motion in phi):
            table.fail(f'phi {k + 1} is {shown(phi)}: give the names of motions, such as ["rz"]', "phis", k)
    return phis


def repeated(table: FileTable) -> Iterator[tuple[str, FileTable]]:
    """The tables that a [[repeat]] stands for, copy after copy, each with the word of its part.

    In all text of a copy {name} is replaced: by the number of the copy from 0 or its entry in `values` for the name
    `index`, and by the entry of a list in `let`.
    """
    table.check_keys(*KEYS["repeat"])
    index = table.text("index") if "index" in table else "k"
    labels = _labels(table)
    lists = table.inner("let", "repeat let").content if "let" in table else {}
    for name, values in lists.items():
        if not isinstance(values, list) or len(values) != len(labels):
            table.fail(f"let {name} is {shown(values)}: give an array of {len(labels)} entries", "let", name)
    budget = table.document.source.budget
    sizes: dict[int, int] = {}
    for k, label in enumerate(labels):
        words = {index: label} | {name: values[k] for name, values in lists.items()}
        # The number of a copy may be computed with even where its label is a name.
        words.setdefault("copy", k)
        for word in ("include", *PARTS, "initial"):
            if word not in table:
                continue
            inner = [table.inner(word, word)] if word == "initial" else table.tables(word)
            for one in inner:
                if id(one.content) not in sizes:
                    sizes[id(one.content)] = _size(one.content)
                too_many = budget.add_part(sizes[id(one.content)])
                if too_many:
                    table.fail(f"{too_many}: split the file")
                yield word, _copy(one, word, words)


def _size(value: Any) -> int:
    """Return how many characters and numbers a value of a file has."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + _size(entry) for key, entry in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 1


def _labels(table: FileTable) -> list[Any]:
    """Return what tells the copies apart: whole numbers from 0, or the values given."""
    if ("count" in table) == ("values" in table):
        table.fail("give either count = 6 or values = [...]")
    if "values" in table:
        values = table.array("values")
        if len(values) > MOST or not all(isinstance(x, str | int | float) for x in values):
            table.fail(f"values are {shown(values)}: give at most {MOST} names or numbers", "values")
        return values
    count = table.integers("count")
    if not isinstance(count, int) or not 0 <= count <= MOST:
        table.fail(f"count is {shown(count)}: give a whole number up to {MOST}", "count")
    return list(range(count))


def _copy(table: FileTable, word: str, words: Mapping[str, Any]) -> FileTable:
    def put(value: Any, *keys: str | int) -> Any:
        if isinstance(value, str):
            return _BRACES.sub(lambda match: replaced(match.group(1), keys), value)
        if isinstance(value, list):
            return [put(entry, *keys, k) for k, entry in enumerate(value)]
        if isinstance(value, dict):
            return {put(key, *keys): put(entry, *keys, key) for key, entry in value.items()}
        return value

    def replaced(text: str, keys: tuple[str | int, ...]) -> str:
        name = text.strip()
        if name in words:
            return _as_text(words[name])
        numbers = {
            n: float(x) for n, x in words.items() if isinstance(x, int | float) and not isinstance(x, bool)
        }
        try:
            value = table.document.evaluate(parse(name), numbers)
        except FormulaError as error:
            table.fail(f"{{{text}}} is not known: there are {', '.join(words)} ({error.reason})", *keys)
        return _as_text(int(value) if value == int(value) and abs(value) < 1e15 else value)

    content = put(dict(table.content))
    copied = FileTable(content, table.who, table.path, table.document)
    name = content.get("name")
    copied.who = f"{word} {shown(name)}" if isinstance(name, str) else table.who
    return copied


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
