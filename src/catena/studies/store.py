"""Where a study keeps what it has found: in memory, or in a Zarr store of version 3 that grows chunk by chunk.

Arrays have the variants along their first axis and one chunk of the store for each chunk of the study. A chunk is done
when its number in `done` is 1, which is written last: whatever was half written before is computed again. xarray opens
the store while it grows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from catena.errors import FormatError, StateError
from catena.studies.job import VariantOutcomes

VARIANT, FAILED, WORDS, DONE = "variant", "failed", "words", "done"
# Letters of the words about a variant that are kept.
LONGEST = 400
FORMAT = 1


class Store(Protocol):
    """What keeps what was found."""

    @property
    def done(self) -> np.ndarray:
        """Return which chunks are done, (chunks,)."""

    def put(self, chunk: int, rows: slice, outcomes: VariantOutcomes) -> None:
        """Keep what was found for a chunk."""

    def again(self, chunk: int) -> None:
        """Take a chunk for not done."""

    def arrays(self) -> dict[str, Any]:
        """Return what there is, by name: arrays (variants, ...), NaN where nothing is known yet."""

    def words(self) -> dict[int, str]:
        """Return the variants that failed, and why."""


class InMemory:
    """Keeps what was found in arrays."""

    def __init__(self, count: int, chunks: int) -> None:
        self.count = count
        self._done = np.zeros(chunks, dtype=bool)
        self._arrays: dict[str, np.ndarray] = {}
        self._words: dict[int, str] = {}

    @property
    def done(self) -> np.ndarray:
        """Return which chunks are done, (chunks,)."""
        return self._done.copy()

    def put(self, chunk: int, rows: slice, outcomes: VariantOutcomes) -> None:
        """Keep what was found for a chunk."""
        for name, x in outcomes.arrays.items():
            if name not in self._arrays:
                self._arrays[name] = np.full((self.count, *x.shape[1:]), np.nan)
            self._arrays[name][rows] = x
        for k in range(rows.start, rows.stop):
            self._words.pop(k, None)
        self._words |= {rows.start + k: words for k, words in outcomes.failed.items()}
        self._done[chunk] = True

    def again(self, chunk: int) -> None:
        """Take a chunk for not done."""
        self._done[chunk] = False

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what there is."""
        return dict(self._arrays)

    def words(self) -> dict[int, str]:
        """Return the variants that failed, and why."""
        return dict(sorted(self._words.items()))


class InZarr:
    """Keeps what was found in a folder of Zarr's format, version 3. `key` stands for all that numbers follow from: a
    store with another one is not gone on with."""

    def __init__(self, path: str | os.PathLike[str], count: int, chunk: int, key: str, about: Mapping[str, Any],
                 columns: Mapping[str, np.ndarray]) -> None:  # fmt: skip
        self.path, self.count, self.chunk = Path(path), count, chunk
        self._zarr = _zarr()
        group = self._opened(key)
        if group is None:
            group = self._made(key, about, columns)
        self.group = group
        self._done = self._read_done()

    @staticmethod
    def chunk_of(path: str | os.PathLike[str]) -> int | None:
        """Return the size of the chunks of a store, None if there is none."""
        try:
            with open(Path(path) / "zarr.json", encoding="utf-8") as file:
                return int(json.load(file)["attributes"]["catena"]["chunk"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _opened(self, key: str) -> Any:
        if not (self.path / "zarr.json").is_file():
            if self.path.exists() and any(self.path.iterdir()) and not (self.path / DONE).exists():
                raise FormatError(f"{self.path}: there is something else at this place; name another store.")
            return None
        try:
            group = self._zarr.open_group(self.path, mode="r+")
            about = dict(group.attrs)["catena"]
        except Exception as error:
            raise FormatError(f"{self.path}: this is no store of a study ({error}); name another.") from error
        if about["key"] != key:
            raise StateError(
                f"{self.path} holds another study: its scenario, variants, outcomes or seed are not these. Name "
                "another store, or remove this one."
            )
        return group

    def _made(self, key: str, about: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> Any:
        chunks = -(-self.count // self.chunk)
        group = self._zarr.open_group(self.path, mode="a")
        self._array(group, DONE, (chunks,), "uint8", (1,), ("chunk",), 0)
        self._array(group, FAILED, (self.count,), "uint8", (self.chunk,), (VARIANT,), 0)
        self._array(
            group, WORDS, (self.count, LONGEST), "uint8", (self.chunk, LONGEST), (VARIANT, "letter"), 0
        )
        for name, x in columns.items():
            made = self._array(
                group,
                name,
                x.shape,
                "float64",
                (self.chunk, *x.shape[1:]),
                _dimensions(name, x.shape),
                np.nan,
            )
            made[...] = x
        # The attributes come last: a store without them is made anew.
        group.attrs["catena"] = {
            "format": FORMAT,
            "key": key,
            "chunk": self.chunk,
            "variants": self.count,
            **about,
        }
        return group

    def _array(
        self, group: Any, name: str, shape: tuple[int, ...], dtype: str, chunks: tuple[int, ...], dims: tuple[str, ...],
        fill: Any,
    ) -> Any:  # fmt: skip
        chunks = tuple(max(1, n) for n in chunks)
        return group.create_array(
            name,
            shape=shape,
            dtype=dtype,
            chunks=chunks,
            dimension_names=dims,
            fill_value=fill,
            overwrite=True,
        )

    def _read_done(self) -> np.ndarray:
        array = self.group[DONE]
        found = np.zeros(array.shape[0], dtype=bool)
        try:
            found[:] = array[:] == 1
        except Exception:
            # One that was being written when everything ended.
            for k in range(len(found)):
                try:
                    found[k] = array[k] == 1
                except Exception:
                    found[k] = False
        return found

    @property
    def done(self) -> np.ndarray:
        """Return which chunks are done, (chunks,)."""
        return self._done.copy()

    def put(self, chunk: int, rows: slice, outcomes: VariantOutcomes) -> None:
        """Keep what was found for a chunk."""
        for name, x in outcomes.arrays.items():
            if name not in self.group:
                shape, dims = (self.count, *x.shape[1:]), _dimensions(name, x.shape)
                self._array(self.group, name, shape, "float64", (self.chunk, *x.shape[1:]), dims, np.nan)
            self.group[name][rows] = x
        failed = np.zeros(rows.stop - rows.start, dtype=np.uint8)
        failed[list(outcomes.failed)] = 1
        if outcomes.failed or self.group[FAILED][rows].any():
            words = np.zeros((len(failed), LONGEST), dtype=np.uint8)
            for k, text in outcomes.failed.items():
                letters = text.encode()[:LONGEST].decode(errors="ignore").encode()
                words[k, : len(letters)] = np.frombuffer(letters, dtype=np.uint8)
            self.group[WORDS][rows] = words
            self.group[FAILED][rows] = failed
        self.group[DONE][chunk] = 1
        self._done[chunk] = True

    def again(self, chunk: int) -> None:
        """Take a chunk for not done."""
        self.group[DONE][chunk] = 0
        self._done[chunk] = False

    def arrays(self) -> dict[str, Any]:
        """Return what there is."""
        columns = dict(self.group.attrs)["catena"]["names"]
        return {
            name: array
            for name, array in sorted(self.group.arrays())
            if name not in (DONE, FAILED, WORDS) and name not in columns
        }

    def words(self) -> dict[int, str]:
        """Return the variants that failed, and why."""
        found: dict[int, str] = {}
        failed = np.flatnonzero(self.group[FAILED][:])
        for first in np.unique(failed // self.chunk) * self.chunk:
            some = failed[(failed >= first) & (failed < first + self.chunk)]
            rows = self.group[WORDS][int(first) : int(first) + self.chunk]
            found |= {int(k): bytes(rows[k - first]).rstrip(b"\0").decode() for k in some}
        return found


def _dimensions(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    return (VARIANT, *(f"{name}_{k}" for k in range(1, len(shape))))


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise StateError(
            "A store needs the package zarr, version 3: pip install 'catena-dynamics[study]'; or leave `store` out and "
            "keep all in memory."
        ) from None
    return zarr
