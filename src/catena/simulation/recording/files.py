"""Writing and reading runs: the ending of the name says which format, and every fault names the file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from catena.errors import FormatError
from catena.simulation.recording import csv, netcdf
from catena.simulation.trajectory import Trajectory
from catena.system import System

PathLike = str | os.PathLike[str]

WRITERS: dict[str, Callable[[Trajectory], bytes]] = {
    ".nc": netcdf.write,
    ".h5": netcdf.write,
    ".csv": csv.write,
}


def save_run(run: Trajectory, path: PathLike) -> None:
    """Write a run to a .nc, .h5 or .csv file. The file appears complete or not at all, and the run is still in memory
    whatever happens."""
    file = _path(path)
    write = WRITERS.get(file.suffix.lower())
    if write is None and file.is_char_device():
        write = csv.write
    if write is None:
        found = f"the ending {file.suffix!r} is" if file.suffix else "a name without an ending is"
        raise FormatError(f"{file}: {found} no format for runs: name a .nc, .h5 or .csv file")
    write_complete(file, write(run))


def load_run(path: PathLike, system: System | None = None) -> Trajectory:
    """Read a run from a .nc or .h5 file. Its mechanism comes from the file and is planned as it was then, unless a
    system is given, which must have the same joints."""
    file = _path(path)
    if file.suffix.lower() == ".csv":
        raise FormatError(
            f"{file}: a table is for other programs and lacks the mechanism: read a .nc or .h5 file"
        )
    if file.suffix.lower() not in WRITERS:
        raise FormatError(f"{file}: runs are read from .nc and .h5 files: name one of those")
    if not file.exists():
        raise FormatError(f"{file}: there is no such file: check the path")
    return netcdf.read(file, system)


def write_complete(file: Path, content: bytes) -> None:
    """Put `content` in the place of a file in one step: written beside it under another name, then renamed. A device,
    such as /dev/stdout, stays what it is and gets the content."""
    try:
        # A link stays a link: what it leads to is replaced.
        target = Path(os.path.realpath(file))
        if target.is_dir():
            raise FormatError(f"{file}: this is a folder: give the name of a file in it")
        if not target.parent.is_dir():
            raise FormatError(f"{file}: there is no folder {str(target.parent)!r}: make it first")
        # Renaming would replace even a file that is protected against writing.
        if target.exists() and not os.access(target, os.W_OK):
            raise FormatError(f"{file}: the file is protected against writing: choose another name")
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _rename_complete(target, content)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(
            f"{file}: the file cannot be written: {_reason(error)}. Nothing is lost: the run is still in memory, so "
            f"save it elsewhere"
        ) from error


def _rename_complete(target: Path, content: bytes) -> None:
    """Write a file of another name in the same folder and rename it, so that nothing half-written is ever seen."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(beside, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(beside, target.stat().st_mode & 0o7777)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _path(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise FormatError(f"{path!r} is not a path: give the name of a file") from None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
