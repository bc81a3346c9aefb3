"""Reading and writing model files: the ending of the name says which format, and every fault names the file.

A format is a pair of functions between a mechanism and text. Files are touched only here, so that every format
reports missing and unwritable files alike and never leaves half a file behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from catena.errors import FormatError
from catena.formats import toml
from catena.formats.complete import file_path, reason, write_complete
from catena.mechanism import Mechanism

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Format:
    """How a kind of file becomes a mechanism and back: `read(text, file)` and `write(mechanism, file)` -> text.

    `file` is what messages call the file. A format whose functions are None is known by name only.
    """

    name: str
    read: Callable[[str, str], Mechanism] | None = None
    write: Callable[[Mechanism, str], str] | None = None


FORMATS = {
    ".toml": Format("Catena model", toml.read, toml.write),
    ".urdf": Format("URDF"),
    ".xml": Format("MJCF"),
    ".sdf": Format("SDF"),
}


def load(path: PathLike) -> Mechanism:
    """Read a mechanism from a model file; the ending of its name says the format: .toml.

    A fault in the file raises a `FormatError` that starts with the file and the line.
    """
    file = file_path(path)
    read = _format(file).read
    if read is None:
        raise FormatError(f"{file}: {_format(file).name} files {_LATER}")
    return read(_text(file), str(file))


def save(mechanism: Mechanism, path: PathLike) -> None:
    """Write a mechanism to a model file; the ending of its name says the format: .toml.

    The file appears complete or not at all: one that exists is replaced in one step, and stays as it is if
    anything goes wrong.
    """
    file = file_path(path)
    write = _format(file).write
    if write is None:
        raise FormatError(f"{file}: {_format(file).name} files {_LATER}")
    text = write(mechanism, str(file))
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(
            f"{file}: {text[error.start : error.end]!r} in a name is not valid text: rename the part"
        ) from None
    write_complete(file, content)


_LATER = "come later: use a .toml file, or describe the mechanism in Python"


def _format(file: Path) -> Format:
    """The format that the ending of a name says, in either case."""
    try:
        return FORMATS[file.suffix.lower()]
    except KeyError:
        found = f"the ending {file.suffix!r} is" if file.suffix else "a name without an ending is"
        raise FormatError(f"{file}: {found} no model format: name a .toml file") from None


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise FormatError(f"{file}: there is no such file{_similar(file)}") from error
    except IsADirectoryError as error:
        raise FormatError(f"{file}: this is a folder: give the name of a file in it") from error
    except (OSError, ValueError) as error:
        raise FormatError(f"{file}: the file cannot be read: {reason(error)}") from error
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{file}:{line}: byte 0x{content[error.start]:02x} is not UTF-8 text: save the file as UTF-8"
        ) from None


def _similar(file: Path) -> str:
    """What to say after a missing file: names in its folder that are close, or that the folder is missing."""
    folder = file.parent
    try:
        names = [entry.name for entry in folder.iterdir() if entry.suffix.lower() in FORMATS]
    except OSError:
        return f", and no folder {str(folder)!r}: check the path"
    close = get_close_matches(file.name, names, n=3, cutoff=0.6)
    return f": did you mean {' or '.join(map(repr, close))}?" if close else ": check the path"
