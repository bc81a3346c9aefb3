"""Which variants there are: the value of every number that is varied, for each of them.

Values follow from the seed alone, whoever computes them: every number has a stream of its own
(`numpy.random.SeedSequence`), and every variant a seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation import Scenario
from catena.studies.ways import Correlated, Levels, SampledValues
from catena.validation import real_array, shown

# More than this would fill the memory of the one who hands them out.
MOST = 500_000_000


@dataclass(frozen=True, eq=False)
class Design:
    """The variants of a study: `columns` maps what is varied to values (variants, ...), numbers or objects; `shape` are
    the levels of a full grid, empty where there are samples. `seed` is that of the study."""

    columns: Mapping[str, np.ndarray]
    shape: tuple[int, ...]
    seed: int
    count: int

    def rows(self, which: slice | np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of some variants by name."""
        return {name: x[which] for name, x in self.columns.items()}

    def seed_of(self, variant: int) -> np.random.SeedSequence:
        """Return the seed of one variant, which depends on nothing but the study's and its number."""
        return np.random.SeedSequence(self.seed, spawn_key=(1, int(variant)))

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Return the columns that are numbers."""
        return {name: x for name, x in self.columns.items() if x.dtype != object}


def design(vary: Any, samples: int | None, seed: int) -> Design:
    """Return the variants that users ask for: ways to vary by name, arrays with a row for each variant, or a table."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise StateError(f"seed is {shown(seed)}; give a whole number, 0 or more.")
    vary = as_columns(vary)
    if not isinstance(vary, Mapping) or not vary or not all(isinstance(name, str) for name in vary):
        raise StateError(
            f"vary is {shown(vary)}; give ways to vary by name, {{'pole.mass': ct.grid(0.1, 0.3, 21)}}, or a table."
        )
    ways = {name: _way(name, source) for name, source in vary.items()}
    tables = {name: x for name, x in ways.items() if isinstance(x, np.ndarray)}
    levels = {name: x for name, x in ways.items() if isinstance(x, Levels)}
    sampled = {name: x for name, x in ways.items() if isinstance(x, SampledValues | Correlated)}
    lengths = {len(x) for x in tables.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} {len(x)}" for name, x in tables.items())
        raise StateError(
            f"vary: arrays have a row for each variant, and these have different numbers of rows: {sizes}."
        )
    if tables and (levels or samples is not None):
        if levels:
            raise StateError(
                "vary: arrays say the variants one by one, and grids and lists combine them; give one or the other "
                "(a list is a grid, np.array(list) is an array)."
            )
        if samples not in lengths:
            raise StateError(
                f"samples is {samples}, and the arrays have {lengths.pop()} rows; leave samples out."
            )
    combined = int(np.prod([len(x.values) for x in levels.values()], dtype=float)) if levels else 1
    if sampled and samples is None and not tables:
        raise StateError("samples is missing: say how many variants are drawn, samples=1000.")
    count = lengths.pop() if lengths else int(samples) if samples is not None and sampled else combined
    if samples is not None and not sampled and levels and samples != combined:
        raise StateError(
            f"samples is {samples}, but the grid has {combined} combinations; leave samples out."
        )
    if levels and sampled and count < combined:
        raise StateError(
            f"samples is {samples}, fewer than the {combined} combinations of levels beside what is drawn; give "
            "at least so many, or draw these too."
        )
    if not 1 <= count <= MOST:
        raise StateError(f"There are {count} variants; give at least one, and no more than {MOST}.")
    columns: dict[str, np.ndarray] = {}
    drawn = _drawn(sampled, count, int(seed))
    # Beside samples, levels are gone through in turns, so that all of them are there.
    places = (
        np.unravel_index(np.arange(count) % combined, [len(x.values) for x in levels.values()])
        if levels
        else ()
    )
    for name, way in ways.items():
        if isinstance(way, Levels):
            values = way.values if isinstance(way.values, np.ndarray) else _array(way.values)
            columns[name] = values[places[list(levels).index(name)]]
        elif isinstance(way, np.ndarray):
            columns[name] = way
        else:
            columns |= {
                inner: drawn[inner] for inner in (way.means if isinstance(way, Correlated) else (name,))
            }
    shape = tuple(len(x.values) for x in levels.values()) if levels and not sampled else ()
    return Design(columns, shape, int(seed), count)


def as_columns(vary: Any) -> Any:
    """Return a table of numbers as arrays by name: that of a .csv file, or what has columns, as a data frame."""
    if isinstance(vary, str | os.PathLike):
        try:
            read = np.genfromtxt(
                vary, delimiter=",", names=True, dtype=float, deletechars="", replace_space=" "
            )
        except (OSError, ValueError) as error:
            raise StateError(
                f"vary: {os.fspath(vary)} is no table of numbers with names in its first line ({error})."
            ) from error
        return {name: np.atleast_1d(read[name]) for name in read.dtype.names or ()}
    if hasattr(vary, "columns") and hasattr(vary, "to_numpy"):
        return {str(name): np.asarray(vary[name], dtype=float) for name in vary.columns}
    return vary


def _way(name: str, source: Any) -> Levels | SampledValues | Correlated | np.ndarray:
    if isinstance(source, Levels | SampledValues | Correlated):
        return source
    if callable(getattr(source, "ppf", None)):
        return SampledValues("random", distribution=source)
    if isinstance(source, np.ndarray) or hasattr(source, "to_numpy"):
        try:
            found = np.array(real_array(np.asarray(source)))
        except (TypeError, ValueError) as error:
            raise StateError(f"vary {name!r} is {shown(source)} ({error}); give numbers.") from error
        if not found.ndim:
            raise StateError(
                f"vary {name!r} is one number; give an array with a row for each variant, or a list."
            )
        return found
    if isinstance(source, Sequence) and not isinstance(source, str):
        return Levels(source)
    raise StateError(
        f"vary {name!r} is {shown(source)}; give ct.grid, ct.sobol, ct.latin, ct.halton, ct.uniform, ct.normal, a "
        "distribution of scipy.stats, a list, or an array."
    )


def _array(values: Sequence[Any]) -> np.ndarray:
    """Return values as numbers (n, ...), or as objects (n,) where they are something else."""
    if not any(isinstance(x, Scenario | str) for x in values):
        try:
            return np.array(real_array(values))
        except (TypeError, ValueError):
            pass
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found


def _drawn(ways: Mapping[str, SampledValues | Correlated], count: int, seed: int) -> dict[str, np.ndarray]:
    """Return the values (count,) of numbers that are sampled, by name. Points of Latin hypercubes and sequences are
    drawn for all numbers that want them together."""
    found: dict[str, np.ndarray] = {}
    for sort in ("latin", "sobol", "halton"):
        names = [name for name, way in ways.items() if isinstance(way, SampledValues) and way.points == sort]
        if names:
            points = _low_discrepancy(sort, len(names), count, seed)
            found |= {name: ways[name].at(points[:, k]) for k, name in enumerate(names)}  # type: ignore[union-attr]
    for number, (name, way) in enumerate(ways.items()):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, number)))
        if isinstance(way, Correlated):
            found |= way.rows(stream.standard_normal((count, len(way.means))))
        elif way.points == "random":
            found[name] = way.at(stream.random(count))
    return found


def _low_discrepancy(sort: str, dimensions: int, count: int, seed: int) -> np.ndarray:
    """Return points (count, dimensions) of the unit cube."""
    from scipy.stats import qmc

    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    if sort == "latin":
        return np.asarray(qmc.LatinHypercube(dimensions, rng=stream).random(count))
    if sort == "halton":
        return np.asarray(qmc.Halton(dimensions, rng=stream).random(count))
    # A Sobol sequence is balanced for powers of two; the first of more points than are asked for are the same ones.
    more = max(1, int(count - 1).bit_length())
    return np.asarray(qmc.Sobol(dimensions, rng=stream).random_base2(more))[:count]
