"""The table [study] of a scenario's file: what is varied, how often, and what is told of it."""

from __future__ import annotations

from typing import Any

from catena.errors import CatenaError, FormatError
from catena.formats.toml.reading import open_document
from catena.formats.toml.schema import STUDY
from catena.formats.toml.tables import FileTable
from catena.simulation import Scenario
from catena.simulation.scenario.file.loading import source_of
from catena.studies import ways

WAYS = {
    "grid": (ways.grid, 3),
    "uniform": (ways.uniform, 2),
    "latin": (ways.latin, 2),
    "sobol": (ways.sobol, 2),
    "halton": (ways.halton, 2),
    "normal": (ways.normal, 2),
}
"""The words for ways to vary, and how many numbers they take."""


def study_arguments(scenario: Scenario) -> dict[str, Any]:
    """Return the arguments of `ct.study` that the file of a scenario says, nothing if it has no such table."""
    origin = scenario.origin
    if origin is None:
        return {}
    top = open_document(origin.text, source_of(origin))
    if STUDY not in top:
        return {}
    table = top.inner(STUDY, STUDY)
    table.check_keys(("vary",), ("samples", "seed", "outcomes", "keep", "chunk"))
    found: dict[str, Any] = {}
    for key in ("samples", "seed", "chunk"):
        if key in table:
            found[key] = table.integers(key)
    inner = table.inner("vary", "study vary")
    found["vary"] = {name: _way(inner, name) for name in inner.content}
    if "outcomes" in table:
        outcomes = table.inner("outcomes", "study outcomes")
        found["outcomes"] = {name: outcomes.text(name) for name in outcomes.content}
    if "keep" in table:
        signals = table.content["keep"]
        if isinstance(signals, dict):
            kept = table.inner("keep", "study keep")
            found["keep"] = {name: kept.text(name) for name in kept.content}
        else:
            found["keep"] = table.texts("keep")
    return found


def _way(table: FileTable, name: str) -> Any:
    if not isinstance(table.content[name], dict):
        values = table.numbers(name)
        return (
            values if isinstance(values, list) else list(values) if hasattr(values, "__len__") else [values]
        )
    inner = table.inner(name, f"study vary {name}")
    if len(inner.content) != 1 or next(iter(inner.content)) not in WAYS:
        inner.fail(f"say one way to vary: {', '.join(WAYS)}, or a list of numbers")
    word = next(iter(inner.content))
    make, count = WAYS[word]
    numbers = list(inner.numbers(word))
    if len(numbers) != count:
        inner.fail(f"{word} takes {count} numbers, and {len(numbers)} are given", word)
    try:
        if word == "grid":
            return ways.grid(float(numbers[0]), float(numbers[1]), int(numbers[2]))
        return make(*(float(x) for x in numbers))  # type: ignore[operator]
    except FormatError:
        raise
    except CatenaError as error:
        inner.fail(str(error), word)
