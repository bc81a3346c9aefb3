"""A table of a run as comma-separated text."""

from __future__ import annotations

import csv
import io

from catena.simulation.results.recording.table import RunTable


def write(table: RunTable, units: bool = False) -> bytes:
    """Return the table as text: the names of the columns, with `units` as "q.elbow [rad]", then numbers to the last
    digit, with empty cells where there is none."""
    stream = io.StringIO(newline="")
    out = csv.writer(stream)
    out.writerow(column.title if units else column.name for column in table.columns)
    for row in zip(*(column.values.tolist() for column in table.columns), strict=True):
        out.writerow("" if x != x else repr(x) for x in row)
    return stream.getvalue().encode("utf-8")
