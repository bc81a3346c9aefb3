"""A table of a run as a .mat file of MATLAB, which Octave and Scilab read too."""

from __future__ import annotations

import io
import re

import numpy as np

from catena.simulation.results.recording.table import RunTable

LONGEST_NAME = 63
"""How many letters MATLAB lets a name have."""
# MATLAB takes these for itself.
KEYWORDS = frozenset({
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global", "if",
    "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while",
})  # fmt: skip


def write(table: RunTable, about: dict[str, str]) -> bytes:
    """Return the content of the file: the structure `run` with a column (rows, 1) for each of the table, named as
    MATLAB can (`run.q_elbow`), and `names`, `units` and `meanings` as cell arrays in the same order; `fields` are the
    names in `run`, and `about` is a structure of texts."""
    from scipy.io import savemat

    fields = valid_names(table.names)
    columns = {
        field: np.asarray(column.values, dtype=np.float64)[:, None]
        for field, column in zip(fields, table.columns, strict=True)
    }
    content = {
        "run": columns,
        "fields": _cells(fields),
        "names": _cells([column.name for column in table.columns]),
        "units": _cells([column.unit for column in table.columns]),
        "meanings": _cells([column.meaning for column in table.columns]),
        "about": dict(zip(valid_names(about), about.values(), strict=True)),
    }
    stream = io.BytesIO()
    savemat(stream, content, long_field_names=True, do_compression=True)
    return stream.getvalue()


def valid_names(names: tuple[str, ...] | dict[str, str]) -> list[str]:
    """Return names that MATLAB takes, one for each, no two of them the same."""
    found: dict[str, None] = {}
    for name in names:
        start = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match(r"[A-Za-z]", start) or start in KEYWORDS:
            start = f"x{start}"
        start = start[:LONGEST_NAME]
        own, number = start, 1
        while own in found:
            number += 1
            ending = f"_{number}"
            own = start[: LONGEST_NAME - len(ending)] + ending
        found[own] = None
    return list(found)


def _cells(texts: list[str]) -> np.ndarray:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells
