"""The named numbers of a file: each a number or a formula of the others, in any order, or what the caller gives."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from catena.errors import FormulaError, UnknownNameError
from catena.formats.toml.tables import FileTable
from catena.formulas import RESERVED, ParsedFormula, parse
from catena.validation import is_finite, shown, suggestion

TIME = "t"
"""What formulas call the time, which no parameter can be."""


def read_parameters(top: FileTable, replaced: Mapping[str, float | str]) -> dict[str, float]:
    """Return the values of the parameters of a file by name, in its order; `replaced` replaces what the file says, by
    numbers or formulas."""
    table = top.inner("parameters", "parameters") if "parameters" in top else None
    names = list(table.content) if table is not None else []
    _check_names(names, replaced, top)
    if table is None:
        return {}
    entries: dict[str, float | ParsedFormula] = {}
    for name in names:
        if name in RESERVED or name == TIME:
            meaning = "the time" if name == TIME else "a word of formulas"
            table.fail(f"no parameter can be called {name!r}, which is {meaning}: choose another name", name)
        value = table.content[name]
        if name in replaced:
            entries[name] = as_number(name, replaced[name])
        elif isinstance(value, str):
            entries[name] = table.formula(name)
        else:
            found = table.numbers(name)
            if not isinstance(found, float):
                table.fail(f"{name} is an array: a parameter is one number", name)
            entries[name] = found
    values: dict[str, float] = {}
    for name in _order(entries, table):
        one = entries[name]
        values[name] = one if isinstance(one, float) else _value(one, name, values, table, name in replaced)
    return {name: values[name] for name in names}


def as_number(name: str, value: Any) -> float | ParsedFormula:
    """Return what a caller gives for a parameter: a number, or text that is a formula."""
    if isinstance(value, str):
        return parse(value, f"parameter {name!r}")
    if not is_finite(value):
        raise FormulaError(f"parameter {name!r} is {shown(value)}: give a number, or text such as '400 mm'")
    return float(value)


def _check_names(names: list[str], replaced: Mapping[str, float | str], top: FileTable) -> None:
    for name in replaced:
        if name not in names:
            advice = suggestion(str(name), names) if names else "it has no [parameters]"
            raise UnknownNameError(
                f"{top.document.source.name}: no parameter is named {shown(name)}: {advice}"
            )


def _order(entries: Mapping[str, float | ParsedFormula], table: FileTable) -> list[str]:
    """Return the names, each after those that it is computed from."""
    needed = {
        name: [other for other in sorted(map(str, one.names)) if other in entries]
        if isinstance(one, ParsedFormula)
        else []
        for name, one in entries.items()
    }
    try:
        return list(TopologicalSorter(needed).static_order())
    except CycleError as error:
        # A node of the circle needs the one before it.
        circle = list(reversed(error.args[1]))
        way = ", ".join(f"{a} from {b}" for a, b in zip(circle, circle[1:]))
        table.fail(
            f"parameters are computed from each other: {way[:500]}: give one of them as a number", circle[0]
        )


def _value(
    formula: ParsedFormula, name: str, values: Mapping[str, float], table: FileTable, is_replaced: bool
) -> float:
    table.document.used.update(str(other) for other in formula.names if other in values)
    try:
        return float(formula.number(values))
    except FormulaError as error:
        if is_replaced:
            raise
        table.no_number(formula.text, name, (name,), error)
