"""Whether an HDF5 file has all that it holds in itself. Such a file may name others, as the place of its numbers or as
the end of a link, and may declare more numbers than any computer has room for; the library follows, and makes room."""

from __future__ import annotations

import os
import stat
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from catena.errors import FormatError
from catena.validation import shown

MOST_LINKS = 100_000
"""How many names a file may have."""
ROOM = 16 * 2**20
"""How many bytes a file may declare, however short it is."""
TIGHTEST = 100
"""How many times as long as the file its numbers may be; runs are not compressed, but somebody may do that later."""


def require_plain(file: Path) -> None:
    """Raise a `FormatError` if a file is no regular one, or if anything in it lies elsewhere or is too large. Of the
    numbers in it none is read; texts are, one after the other, because only they themselves tell how long they are."""
    import h5py

    if not stat.S_ISREG(os.stat(file).st_mode):
        raise FormatError(
            f"{file}: this is no file but a folder, a pipe or a device: give the name of a file"
        )
    try:
        with h5py.File(file, "r") as opened:
            _Inspection(file, h5py).group(opened)
    except (FormatError, OSError):
        raise
    except Exception as error:
        # The binding raises whatever it likes on a damaged file.
        raise FormatError(f"{file}: the file is damaged: {error}") from error


class _Inspection:
    """One walk through a file."""

    def __init__(self, file: Path, h5py: Any) -> None:
        self._file, self._h5py = file, h5py
        self._size = os.path.getsize(file)
        self._room = max(ROOM, TIGHTEST * self._size)
        self._links = 0
        self._seen: set[int] = set()

    def group(self, group: Any) -> None:
        """Look at everything in a group that was not looked at under another name."""
        self._attributes(group)
        for name in group:
            self._links += 1
            if self._links > MOST_LINKS:
                raise FormatError(f"{self._file}: it has more than {MOST_LINKS} names: this is no run")
            link = group.get(name, getlink=True)
            if not isinstance(link, self._h5py.HardLink):
                self._refuse(name, "a link to somewhere else")
            found = group[name]
            address = self._h5py.h5o.get_info(found.id).addr
            if address in self._seen:
                continue
            self._seen.add(address)
            if isinstance(found, self._h5py.Group):
                self.group(found)
            elif isinstance(found, self._h5py.Dataset):
                self._dataset(name, found)

    def _dataset(self, name: str, dataset: Any) -> None:
        properties = dataset.id.get_create_plist()
        if properties.get_layout() == self._h5py.h5d.VIRTUAL:
            self._refuse(name, "put together from other files")
        if properties.get_layout() != self._h5py.h5d.CHUNKED and properties.get_external_count():
            self._refuse(name, "kept in another file")
        self._declare(name, dataset.shape, dataset.dtype)
        self._attributes(dataset)
        if self._h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype.kind == "O":
            self._texts(name, dataset)

    def _texts(self, name: str, dataset: Any) -> None:
        """Count texts of any length. Many may be one and the same in the file; none is longer than the file."""
        if dataset.shape == ():
            self._take(name, len(dataset[()]))
            return
        if len(dataset.shape) != 1:
            self._refuse(name, "a table of texts")
        at, count = 0, dataset.shape[0]
        while at < count:
            few = max(1, min(1000, self._room // max(self._size, 1)))
            self._take(name, sum(map(len, dataset[at : at + few])))
            at += few

    def _attributes(self, owner: Any) -> None:
        for name in owner.attrs:
            about = owner.attrs.get_id(name)
            self._declare(name, about.shape, about.dtype)

    def _declare(self, name: str, shape: tuple[int, ...] | None, dtype: Any) -> None:
        self._take(name, prod(shape or ()) * int(dtype.itemsize))

    def _take(self, name: str, count: int) -> None:
        self._room -= count
        if self._room < 0:
            self._refuse(name, f"larger than a file of {self._size} bytes can be")

    def _refuse(self, name: str, what: str) -> NoReturn:
        raise FormatError(f"{self._file}: {shown(name)} is {what}: a run has all its numbers in its file")
