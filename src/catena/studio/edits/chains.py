"""Chains by tables: Denavit-Hartenberg rows or SDOF rows, with masses beside them, as cells that are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit

from catena.errors import StateError
from catena.studio.edits.document import Document, append, parameters_of
from catena.studio.edits.registry import edit
from catena.studio.parts import field_text, value_from
from catena.studio.quantities import quantity
from catena.validation import shown

GEOMETRY = {
    "denavit_hartenberg": (("a", "length"), ("alpha", "angle"), ("d", "length"), ("theta", "angle")),
    "sdof": (("rx", "angle"), ("ry", "angle"), ("rz", "angle"), ("dx", "length"), ("dy", "length"), ("dz", "length")),
}  # fmt: skip
"""The cells that place a link on the one before it, and what they hold."""
LAST = {"denavit_hartenberg": "kind", "sdof": "motions"}
"""The cell that says how a link moves."""
COM, INERTIA = ("com x", "com y", "com z"), ("Ixx", "Iyy", "Izz")
PLACE = ("on", "base", "prefix", "tool", "tip")


def columns(notation: str) -> list[str]:
    """Return the cells of a row."""
    return [*(name for name, _ in GEOMETRY[notation]), LAST[notation], "mass", *COM, *INERTIA]


@edit
def set_chain(
    document: Document,
    notation: str,
    rows: Sequence[Mapping[str, Any]],
    number: int | None = None,
    **place: Any,
) -> None:
    """Write a chain from the cells of a table, one row a link; a new one, or the one with a number counted from 0.
    `place` are the fields `on`, `base`, `prefix`, `tool` and `tip` as they are typed."""
    if notation not in GEOMETRY:
        raise StateError(f"a notation is {shown(notation)}; give denavit_hartenberg or sdof.")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise StateError("a chain has a row for each of its links; add one.")
    if not {*place} <= {*PLACE}:
        raise StateError(f"a chain has no {', '.join({*place} - {*PLACE})}.")
    names = parameters_of(document)
    table = tomlkit.table()
    table["notation"] = notation
    for key, text in place.items():
        if str(text).strip():
            table[key] = str(text) if key == "prefix" else value_from(text, key)

    def cell(row: int, key: str, sort: str, least: float | None = None) -> float | str:
        text = rows[row].get(key, "")
        who = f"{key} of link {row + 1}"
        return quantity(0.0 if str(text).strip() == "" else text, sort, who, least, names)

    count = range(len(rows))
    placed: list[Any] = [[cell(k, key, sort) for key, sort in GEOMETRY[notation]] for k in count]
    if notation == "sdof":
        table["gammas"] = placed
        table["phis"] = [str(rows[k].get("motions", "")).replace(",", " ").split() for k in count]
    else:
        for k in count:
            kind = str(rows[k].get("kind") or "revolute")
            placed[k] += [kind] if kind != "revolute" else []
        table["rows"] = placed
    if any(str(row.get("mass", "")).strip() for row in rows):
        table["masses"] = [cell(k, "mass", "mass") for k in count]
        table["coms"] = [[cell(k, key, "length") for key in COM] for k in count]
        table["inertias"] = [[cell(k, key, "inertia") for key in INERTIA] for k in count]
    if number is None:
        append(document, "chain", table)
        return
    try:
        was = document["chain"][number]
    except (KeyError, IndexError, TypeError):
        raise StateError(f"there is no chain {shown(number)}.") from None
    # Fields that the table does not show stay.
    for key in ("notation", "rows", "gammas", "phis", "masses", "coms", "inertias", *PLACE):
        if key in was:
            was.pop(key)
    was.update(table)


def cells(chain: Any) -> dict[str, Any] | None:
    """Return a chain of a text as the cells of a table: {"notation", "columns", "rows", and where it hangs}; None where
    it has something that no table shows."""
    notation = str(chain.get("notation", ""))
    plain = chain.unwrap() if hasattr(chain, "unwrap") else chain
    if notation not in GEOMETRY:
        return None
    try:
        placed = plain["gammas" if notation == "sdof" else "rows"]
        rows = [_row(plain, notation, k, row) for k, row in enumerate(placed)]
    except (KeyError, IndexError, TypeError):
        return None
    where = {
        key: str(plain[key]) if key == "prefix" else field_text(plain[key]) for key in PLACE if key in plain
    }
    return {"notation": notation, "columns": columns(notation), "rows": rows} | {"place": where}


def _row(chain: Any, notation: str, k: int, entries: Any) -> dict[str, str]:
    row = {key: str(entries[i]) for i, (key, _) in enumerate(GEOMETRY[notation])}
    if notation == "sdof":
        row["motions"] = " ".join(chain["phis"][k])
    else:
        row["kind"] = str(entries[4]) if len(entries) > 4 else "revolute"
    if "masses" in chain:
        row["mass"] = str(chain["masses"][k])
        row |= {key: str(x) for key, x in zip(COM, chain.get("coms", [[0.0] * 3] * (k + 1))[k], strict=True)}
        inertia = chain.get("inertias", [0.0] * (k + 1))[k]
        three = inertia if isinstance(inertia, list) else [inertia] * 3
        row |= {key: str(x) for key, x in zip(INERTIA, three, strict=True)}
    return row
