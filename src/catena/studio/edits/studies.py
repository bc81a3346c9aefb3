"""The study: which numbers of a run are varied, and what is told of each variant."""

from __future__ import annotations

import math
from typing import Any

import tomlkit

from catena.errors import CatenaError, StateError
from catena.studio.edits.document import Document, parameters_of
from catena.studio.edits.registry import edit
from catena.studio.quantities import value_of
from catena.validation import shown

WAYS = ("grid", "sobol", "uniform", "normal")
"""How numbers are varied: in even steps, by points that fill the room evenly, or by chance."""


@edit
def set_study(document: Document, vary: Any, outcomes: Any, samples: Any = None) -> None:
    """Say what is varied, [{"name", "way", "low", "high", "count"}], and what is told of each variant, [{"name",
    "formula"}]; `samples` is how many are drawn where numbers are not varied in steps."""
    table, varied, outcome_table = tomlkit.table(), tomlkit.table(), tomlkit.table()
    names = parameters_of(document)
    for row in _rows(vary, "choose a number to vary"):
        name, way = str(row.get("name", "")).strip(), row.get("way")
        if not name or way not in WAYS:
            raise StateError(
                f"{shown(name)} is varied by {shown(way)}; give a name and one of {', '.join(WAYS)}."
            )
        numbers: list[float | int] = [_number(row.get(key), name, names) for key in ("low", "high")]
        if way == "grid":
            numbers.append(_whole(row.get("count"), f"the steps of {name}"))
        varied[name] = tomlkit.inline_table()
        varied[name][way] = numbers
    for row in _rows(outcomes, "say what is told of each variant, such as max(A)"):
        name, formula = (str(row.get(key, "")).strip() for key in ("name", "formula"))
        if not formula:
            raise StateError(f"what is told as {shown(name)} has no formula; give one such as max(A).")
        outcome_table[name or formula] = formula
    if any("grid" not in way for way in varied.values()):
        table["samples"] = _whole(samples, "how many are drawn")
    table["vary"], table["outcomes"] = varied, outcome_table
    document["study"] = table


@edit
def remove_study(document: Document) -> None:
    """Take the study away."""
    if "study" not in document:
        raise StateError("there is no study.")
    del document["study"]


def study_of(document: Any) -> dict[str, Any] | None:
    """Return what `set_study` takes, from the text; None where it has no study that a form can show."""
    study = document.get("study")
    if not isinstance(study, dict) or not isinstance(study.get("vary"), dict):
        return None
    vary = []
    for name, way in study["vary"].items():
        if not isinstance(way, dict) or len(way) != 1 or next(iter(way)) not in WAYS:
            return None
        ((word, numbers),) = way.items()
        low, high, *count = map(str, numbers)
        vary.append({"name": name, "way": word, "low": low, "high": high, "count": (count or ["11"])[0]})
    outcomes = [
        {"name": name, "formula": str(formula)} for name, formula in study.get("outcomes", {}).items()
    ]
    return {"vary": vary, "outcomes": outcomes, "samples": str(study.get("samples", 200))}


def _rows(rows: Any, otherwise: str) -> list[dict[str, Any]]:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise StateError(f"{otherwise}.")
    return rows


def _number(text: Any, name: str, names: dict[str, float]) -> float:
    try:
        number = value_of(str(text), names)
    except CatenaError:
        number = math.nan
    if not math.isfinite(number):
        raise StateError(f"{name} goes from or to {shown(text)}; give a number.")
    return number


def _whole(text: Any, who: str) -> int:
    try:
        count = int(str(text))
    except ValueError:
        count = 0
    if not 1 <= count <= 100_000:
        raise StateError(f"{who}: {shown(text)}; give a whole number from 1 to 100000.")
    return count
