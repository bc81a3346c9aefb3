"""Writing and reading runs: the ending of the name says which format, and every fault names the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from catena.errors import FormatError
from catena.formats.complete import file_path, is_device, write_complete
from catena.formats.kinds import Kinds
from catena.simulation.recording import csv, netcdf, segmented
from catena.simulation.segments import SegmentedTrajectory
from catena.simulation.trajectory import Trajectory
from catena.system import System

PathLike = str | os.PathLike[str]

WRITERS: dict[str, Callable[[Trajectory], bytes]] = {
    ".nc": netcdf.write,
    ".h5": netcdf.write,
    ".csv": csv.write,
}
SEGMENTED: dict[str, Callable[[SegmentedTrajectory], bytes]] = {
    ".nc": segmented.write_netcdf,
    ".h5": segmented.write_netcdf,
    ".csv": segmented.write_csv,
}


def save_run(run: Trajectory | SegmentedTrajectory, path: PathLike) -> None:
    """Write a run to a .nc, .h5 or .csv file. One of several structures has one time axis and joints by
    name. The file appears complete or not at all, and the run is still in memory
    whatever happens."""
    file = file_path(path)
    writers: dict[str, Any] = SEGMENTED if isinstance(run, SegmentedTrajectory) else WRITERS
    write = writers.get(file.suffix.lower())
    if write is None and is_device(file):
        write = writers[".csv"]
    if write is None:
        found = f"the ending {file.suffix!r} is" if file.suffix else "a name without an ending is"
        raise FormatError(f"{file}: {found} no format for runs: name a .nc, .h5 or .csv file")
    write_complete(file, write(run), "Nothing is lost: the run is still in memory, so save it elsewhere")


def load_run(
    path: PathLike, system: System | None = None, kinds: Iterable[type[Any] | str] = ()
) -> Trajectory | SegmentedTrajectory:
    """Read a run from a .nc or .h5 file. Its mechanism comes from the file and is planned as it was then, unless a
    system is given, which must have the same joints. A run whose structure changed comes with all its mechanisms.

    `kinds` are classes of joints and forces of your own that the mechanism in the file may use, or their names
    "module:Class"; nothing is imported otherwise.
    """
    file = file_path(path)
    if file.suffix.lower() == ".csv":
        raise FormatError(
            f"{file}: a table is for other programs and lacks the mechanism: read a .nc or .h5 file"
        )
    if file.suffix.lower() not in WRITERS:
        raise FormatError(f"{file}: runs are read from .nc and .h5 files: name one of those")
    if not os.path.exists(file):
        raise FormatError(f"{file}: there is no such file: check the path")
    return netcdf.read(file, system, Kinds(kinds))
