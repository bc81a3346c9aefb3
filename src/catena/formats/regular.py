"""Reading files that a stranger's file may name: regular files only, and no more of them than was said."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from catena.errors import FormatError

# A pipe that nobody writes to would be waited for, and a terminal would become the one of this process.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)


def read_regular(file: Path, most: int, what: str) -> bytes:
    """Return the content of a file of at most `most` bytes; `what` is what messages call such files.

    A pipe, a socket or a device raises a `FormatError` and is not even opened, because opening can wait for ever and
    reading can go on for ever. Whatever the system says against reading is raised as the OSError that it is.
    """
    _require_regular(file, os.stat(file))
    with open(os.open(file, _FLAGS), "rb") as stream:
        # Another file may have taken its place in the meantime.
        status = os.fstat(stream.fileno())
        _require_regular(file, status)
        if status.st_size > most:
            raise FormatError(f"{file}: it has {status.st_size} bytes: {what} has at most {most}")
        content = stream.read(most + 1)
    if len(content) > most:
        raise FormatError(f"{file}: it has more than {most} bytes: {what} has at most so many")
    return content


def _require_regular(file: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{file}: this is a pipe, a socket or a device: give the name of a file")
