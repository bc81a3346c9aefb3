"""Writing and reading runs: the ending of the name says which format, and every fault names the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from catena.errors import FormatError
from catena.formats.complete import file_path, is_device, write_complete
from catena.formats.kinds import Kinds
from catena.simulation.results.recording import csv, excel, matlab, netcdf, parquet
from catena.simulation.results.recording.table import RunTable, table
from catena.simulation.results.trajectory import Trajectory
from catena.system import System
from catena.validation import shown

PathLike = str | os.PathLike[str]

WHOLE = (".nc", ".h5")
"""Endings of files that hold a whole run, with its mechanism, and are read back."""
TABLES: dict[str, Callable[[Trajectory, RunTable, bool], bytes]] = {
    ".csv": lambda run, table, units: csv.write(table, units),
    ".xlsx": lambda run, table, units: excel.write(table, _about(run), _events(run)),
    ".parquet": lambda run, table, units: parquet.write(table, _about(run)),
    ".mat": lambda run, table, units: matlab.write(table, _about(run)),
}
"""What writes the table of a run, by ending."""
ENDINGS = (*WHOLE, *TABLES)


def save_run(run: Trajectory, path: PathLike, units: bool = False, **columns: Any) -> None:
    """Write a run to a file: .nc or .h5, which hold all of it, or its table as .csv, .xlsx, .parquet or .mat. One of
    several structures has one time axis and joints by name. The file appears complete or not at all, and the run is
    still in memory whatever happens.

    `columns` choose what a table has besides: `reactions`, `frames`, `power` and `acceleration`, see `table`. With
    `units` the names in a .csv file have them; the other tables have a place of their own for that.
    """
    file = file_path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS and is_device(file):
        ending = ".csv"
    if ending not in ENDINGS:
        found = f"the ending {file.suffix!r} is" if file.suffix else "a name without an ending is"
        raise FormatError(
            f"{file}: {found} no format for runs: name a file that ends in {', '.join(ENDINGS)}"
        )
    if not isinstance(units, bool):
        raise FormatError(f"{file}: units is {shown(units)}: give True or False")
    asked = [
        name
        for name, value in (*columns.items(), ("units", units))
        if value is not False and not (isinstance(value, tuple) and not value)
    ]
    if ending in WHOLE:
        if asked:
            raise FormatError(
                f"{file}: {asked[0]} chooses columns of a table, and a {ending} file holds the run from which all of "
                f"them follow: leave it out, or name a {', '.join(TABLES)} file"
            )
        content = netcdf.write(run)
    else:
        try:
            content = TABLES[ending](run, table(run, **columns), units)
        except FormatError as error:
            raise FormatError(f"{file}: {error}") from error
    write_complete(file, content, "Nothing is lost: the run is still in memory, so save it elsewhere")


def _about(run: Trajectory) -> dict[str, str]:
    """Return what a reader should know of a run besides its numbers, as texts."""
    parts = run.all_segments
    first = parts[0]
    starts, ends = [float(part.t[0]) for part in parts], [float(part.t[-1]) for part in parts]
    texts = {
        "mechanism": first.system.mechanism.name,
        "duration": f"{max(ends) - min(starts):g} s",
        "samples": str(sum(len(part.t) for part in parts)),
        "states": str(prod(run.batch)),
        "steps": str(run.steps),
        "ended": run.ended,
        "control forces": "held between samples" if first.held else "vary between samples",
    }
    return {**texts, **{str(key): str(value) for key, value in first.settings.items()}}


def _events(run: Trajectory) -> list[tuple[str, float, str]]:
    return [(found.name, float(found.t), ", ".join(map(str, found.state))) for found in run.events]


def load_run(path: PathLike, system: System | None = None, kinds: Iterable[type | str] = ()) -> Trajectory:
    """Read a run from a .nc or .h5 file. Its mechanism comes from the file and is planned as it was then, unless a
    system is given, which must have the same joints. A run whose structure changed comes with all its mechanisms.

    `kinds` are classes of joints and forces of your own that the mechanism in the file may use, or their names
    "module:Class"; nothing is imported otherwise.
    """
    file = file_path(path)
    if file.suffix.lower() in TABLES:
        raise FormatError(
            f"{file}: a table is for other programs and lacks the mechanism: read a .nc or .h5 file"
        )
    if file.suffix.lower() not in WHOLE:
        raise FormatError(f"{file}: runs are read from .nc and .h5 files: name one of those")
    if not os.path.exists(file):
        raise FormatError(f"{file}: there is no such file: check the path")
    return netcdf.read(file, system, Kinds(kinds))
