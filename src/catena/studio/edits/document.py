"""How edits reach into the document that a text is: tables that are made where they are missing, points, names."""

from __future__ import annotations

from typing import Any

import numpy as np
import tomlkit
from tomlkit.items import AoT, Item, Table

from catena.errors import StateError
from catena.studio.quantities import value_of
from catena.validation import shown

Document = tomlkit.TOMLDocument
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = 6
"""Decimals of a metre that a place which was pointed at keeps: micrometres."""
ALL_DIGITS = 15
"""Decimals of a metre that a place which follows from typed numbers keeps."""


def linkage_of(document: Document) -> Any:
    linkage = inner(document, "linkage")
    for key in ("fixed", "bars", "sketch"):
        inner(linkage, key)
    return linkage


def inner(table: Any, key: str) -> Any:
    """Return a table inside of a table, made where it is not there."""
    if key not in table:
        table[key] = _apart(tomlkit.table())
    return table[key]


def append(document: Document, word: str, table: Table) -> None:
    if word not in document:
        document[word] = tomlkit.aot()
    tables = document[word]
    if isinstance(tables, AoT):
        tables.append(_apart(table))
    else:
        inline = tomlkit.inline_table()
        inline.update(table.unwrap())
        tables.append(inline)


def _apart(table: Table) -> Table:
    """Return a table with an empty line before it, as people write them."""
    table.trivia.indent = "\n"
    return table


def drop_empty(table: Any, key: str) -> None:
    if key in table and not table[key]:
        table.pop(key)


def point_named(linkage: Any, place: Any) -> str:
    """Return the name of a point, which is new where a place is given."""
    if isinstance(place, str):
        if place not in linkage["fixed"] and place not in linkage["sketch"]:
            raise StateError(f"no point is called {shown(place)}.")
        return place
    taken = {*linkage["fixed"], *linkage["sketch"]}
    name = next(
        name
        for name in (f"{letter}{number or ''}" for number in range(1000) for letter in LETTERS)
        if name not in taken
    )
    linkage["sketch"][name] = coordinates(place)
    return name


def forget_point(document: Document, point: str) -> None:
    linkage = document["linkage"]
    for key in ("fixed", "sketch", "slides"):
        if point in linkage.get(key, {}):
            linkage[key].pop(point)
    drop_empty(linkage, "slides")
    for k, spring in reversed(list(enumerate(document.get("spring", [])))):
        if point in spring.get("between", []):
            del document["spring"][k]


def places_of(linkage: Any) -> dict[str, np.ndarray]:
    return {
        name: np.array(pair(place), dtype=np.float64)
        for key in ("fixed", "sketch")
        for name, place in linkage[key].items()
    }


def pair(place: Any) -> list[float]:
    return [value_of(x.unwrap() if isinstance(x, Item) else x) for x in place]


def coordinates(place: Any, digits: int = DIGITS) -> list[float]:
    try:
        x, z = (round(float(value), digits) + 0.0 for value in place)
    except (TypeError, ValueError):
        raise StateError(f"a place is {shown(place)}; give (x, z) in metres.") from None
    if not np.isfinite([x, z]).all() or max(abs(x), abs(z)) > 1e6:
        raise StateError(f"a place is {shown(place)}; give (x, z) in metres.")
    return [x, z]


def ends_of(bar: str) -> tuple[str, str]:
    a, _, b = str(bar).partition("-")
    return a.strip(), b.strip()


def frame_at(document: Document, place: Any) -> str:
    """Return the name of a frame, which is new on ground where a place is given."""
    if isinstance(place, str):
        return place
    x, z = coordinates(place)
    table = tomlkit.table()
    table["name"] = new_name("anchor", [each.get("name") for each in document.get("frame", [])])
    table["body"] = "ground"
    pose = tomlkit.inline_table()
    pose["p"] = [x, 0.0, z]
    table["pose"] = pose
    append(document, "frame", table)
    return str(table["name"])


def distance(document: Document, start: Any, end: Any) -> float:
    known = places_of(linkage_of(document)) if "linkage" in document else {}

    def place(point: Any) -> np.ndarray:
        if not isinstance(point, str):
            return np.array(coordinates(point))
        if point not in known:
            raise StateError(f"how far {point} is away is not known here; give the length at rest.")
        return known[point]

    return float(np.hypot(*(place(end) - place(start))))


def new_name(word: str, taken: list[Any]) -> str:
    return next(name for name in (f"{word}{k}" for k in range(1, 10_000)) if name not in taken)


def parameters_of(document: Document) -> dict[str, float]:
    """Return the parameters that are numbers by themselves."""
    found: dict[str, float] = {}
    for name, value in document.get("parameters", {}).items():
        try:
            found[str(name)] = value_of(value.unwrap() if isinstance(value, Item) else value, found)
        except Exception:  # what it is computed from stands below
            continue
    return found


def is_simple(formula: float | str) -> bool:
    return not isinstance(formula, str) or not any(sign in formula for sign in "+-")
