"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from catena.errors import FormatError
from catena.validation import shown


def file_path(path: Any) -> Path:
    """Return the path of a file as users give it."""
    try:
        return Path(path)
    except (TypeError, ValueError):
        raise FormatError(f"{shown(path)} is not a path: give the name of a file") from None


def is_device(file: Path) -> bool:
    """Return whether this is a device that takes what is written to it, such as /dev/stdout."""
    try:
        return file.is_char_device()
    except (OSError, ValueError):
        # A name that the system does not take, such as one that is too long.
        return False


def own_name(file: Path) -> Path:
    """Return a path that Catena chose and nobody named. A link there raises: in a stranger's folder it may lead to any
    file of the user's."""
    if os.path.islink(file):
        raise FormatError(
            f"{file}: this is a link, and nobody asked to write there: remove it, or name a file"
        )
    return file


def write_complete(file: Path, content: bytes, comfort: str = "") -> None:
    """Put `content` in the place of a file in one step: written beside it under another name, then renamed. A device,
    such as /dev/stdout, stays what it is and gets the content. `comfort` is a sentence that follows what went wrong."""
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
        after = f". {comfort}" if comfort else ""
        raise FormatError(f"{file}: the file cannot be written: {reason(error)}{after}") from error


def _rename_complete(target: Path, content: bytes) -> None:
    """Write a file of another name in the same folder and rename it, so that nothing half-written is ever seen."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        mode = target.stat().st_mode & 0o7777 if target.exists() else None
        # What replaces a file that nobody else may read is never to be read by others, not even half of it.
        with open(beside, "xb", opener=_for_all if mode is None else _for_me_alone) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _for_all(path: str, flags: int) -> int:
    return os.open(path, flags, 0o666)


def _for_me_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def reason(error: Exception) -> str:
    """Return what the operating system says, as part of a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower().rstrip(".")
