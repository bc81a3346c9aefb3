"""Many runs of one scenario: what is varied, who computes, what is kept, and what follows from all of it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.equations.parameters import find_parameters
from catena.errors import SimulationError, StateError, UnknownNameError
from catena.mechanism.validation import known
from catena.simulation import Scenario, Trajectory
from catena.simulation.keeping import Keep
from catena.simulation.scenario.contents import contents, digest as digest_of
from catena.studies.design import Design, as_columns, design
from catena.studies.executors import computed
from catena.studies.functions import by_code
from catena.studies.job import CONTACT, INITIAL, SCENARIO, VELOCITY, Batched, Job, contact_numbers
from catena.studies.progress import StudyProgress
from catena.studies.store import FAILED, VARIANT, InMemory, InZarr, Store
from catena.validation import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

# Seconds that a chunk should take, and the fewest and most variants in one.
CHUNK_SECONDS, FEWEST, MOST = 0.5, 64, 4096
# Variants of a first try, by which chunks are measured.
TRIED = 64
VERSION = "catena study 1"


class Study:
    """Runs of a `scenario` with other numbers, made by `ct.study`. `dataset` has what was found, `failed` why variants
    failed, `run(k)` runs one of them again, all of it."""

    def __init__(
        self, job: Job, design: Design, chunk: int | None, executor: object, store: str | os.PathLike[str] | None,
        key: str | None, on_error: str,
    ) -> None:  # fmt: skip
        self.job, self.design, self.executor, self.on_error = job, design, executor, on_error
        self.store_path = store
        self._key = key
        found = InZarr.chunk_of(store) if store is not None else None
        self.chunk = found or chunk or self._measured_chunk()
        chunks = -(-design.count // self.chunk)
        if store is None:
            self._store: Store = InMemory(design.count, chunks)
        else:
            about = {"names": list(design.numbers), "scenario": repr(job.scenario), "seed": design.seed}
            self._store = InZarr(store, design.count, self.chunk, self.key, about, design.numbers)

    def __repr__(self) -> str:
        done = int(self._store.done.sum())
        state = "done" if done == len(self._store.done) else f"{done} of {len(self._store.done)} chunks done"
        failed = len(self.failed)
        return (
            f"Study({self.job.scenario.mechanism.name!r}, {self.design.count} variants of "
            f"{', '.join(self.design.columns)}, {state}{f', {failed} failed' if failed else ''})"
        )

    def __len__(self) -> int:
        return self.design.count

    @cached_property
    def key(self) -> str:
        """What stands for all that the numbers follow from: scenario, variants, outcomes and what is kept. Functions
        count by their code, or by a `key` of the user's."""
        parts: list[Any] = [VERSION, self._key]
        opaque = by_code() if self._key is None else (lambda value, place: ("by key", place))
        try:
            parts.append(contents(self.job.scenario, opaque))
            parts.append(contents({n: _function_of(x) for n, x in self.job.outcomes.items()}, opaque))
            parts.append(
                contents({one.name: (one.signal, one.tally) for one in self.job.keep.signals}, opaque)
            )
        except StateError as error:
            raise StateError(
                f"A study in a store is found again by what it does, and {error} Or give it a name of its own, "
                "study(..., key='swing 3'), and another one when what it does changes."
            ) from error
        found = hashlib.sha256(repr(parts).encode())
        for name, x in self.design.columns.items():
            found.update(repr((name, x.shape)).encode())
            found.update(x.tobytes() if x.dtype != object else repr([digest_of(s) for s in x]).encode())
        return found.hexdigest()

    # Computing.

    def _rows(self, chunk: int) -> slice:
        return slice(chunk * self.chunk, min((chunk + 1) * self.chunk, self.design.count))

    def _tasks(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for chunk in np.flatnonzero(~self._store.done):
            yield int(chunk), self.design.rows(self._rows(int(chunk)))

    def _measured_chunk(self) -> int:
        """Return how many variants make a chunk that is worth sending away and soon done."""
        if self.design.count <= FEWEST:
            return self.design.count
        some = self.design.rows(slice(0, min(TRIED, self.design.count)))
        self.job.run(some)
        begin = time.perf_counter()
        self.job.run(some)
        each = (time.perf_counter() - begin) / TRIED
        wanted = int(CHUNK_SECONDS / each) if each > 0.0 else MOST
        return max(FEWEST, min(MOST, 1 << max(0, wanted.bit_length() - 1)))

    def resume(
        self, executor: object = None, progress: bool | None | Callable[[dict[str, float]], None] = None
    ) -> Study:
        """Compute what is not done yet, by another executor if one is given, and return this study."""
        done = self._store.done
        finished = sum(self._rows(int(k)).stop - self._rows(int(k)).start for k in np.flatnonzero(done))
        shower, failed = StudyProgress(self.design.count, finished, progress), len(self._store.words())
        try:
            for chunk, outcomes in computed(
                executor if executor is not None else self.executor, self.job, self._tasks()
            ):
                if outcomes.failed and self.on_error == "raise":
                    first = min(outcomes.failed)
                    raise SimulationError(
                        f"Variant {self._rows(chunk).start + first}: {outcomes.failed[first]}"
                    )
                self._store.put(chunk, self._rows(chunk), outcomes)
                failed += len(outcomes.failed)
                shower.add(self._rows(chunk).stop - self._rows(chunk).start, failed)
        finally:
            self.__dict__.pop("dataset", None)
            shower.close()
        return self

    def retry(self, executor: object = None) -> Study:
        """Compute the chunks with failed variants again, and return this study."""
        for chunk in sorted({k // self.chunk for k in self.failed}):
            self._store.again(chunk)
        return self.resume(executor)

    # What was found.

    @property
    def is_done(self) -> bool:
        """Whether all variants are computed."""
        return bool(self._store.done.all())

    @property
    def failed(self) -> dict[int, str]:
        """The variants that failed, and why."""
        return self._store.words()

    @cached_property
    def dataset(self) -> Dataset:
        """What was found as an xarray dataset: numbers that are varied are coordinates along `variant`."""
        import xarray

        n = self.design.count
        coordinates: dict[str, Any] = {VARIANT: np.arange(n)}
        for name, x in self.design.columns.items():
            if x.dtype == object:
                x = np.array([str(value) for value in x])
            coordinates[name] = ((VARIANT, *(f"{name}_{k}" for k in range(1, x.ndim))), x)
        arrays = {
            name: ((VARIANT, *(f"{name}_{k}" for k in range(1, x.ndim))), np.asarray(x[...]))
            for name, x in self._found().items()
        }
        failed = np.zeros(n, dtype=bool)
        failed[list(self.failed)] = True
        arrays[FAILED] = ((VARIANT,), failed)
        return xarray.Dataset(
            arrays, coordinates, {"scenario": repr(self.job.scenario), "seed": self.design.seed}
        )

    def _found(self) -> dict[str, Any]:
        """Return what was found by name (variants, ...), NaN for an outcome that no variant has told."""
        found = dict(self._store.arrays())
        for name in (*self.job.outcomes, *(one.name for one in self.job.keep.signals)):
            found.setdefault(name, np.full(self.design.count, np.nan))
        return found

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an outcome or a signal (variants, ...), or a number that is varied."""
        if name in self.design.columns:
            return self.design.columns[name]
        found = self._found()
        if name not in found:
            raise UnknownNameError(
                f"The study has no {name!r}; there are {', '.join([*self.design.columns, *found])}."
            )
        return np.asarray(found[name][...])

    @property
    def digest(self) -> str:
        """A text of 64 letters that is the same where all numbers are, bit by bit."""
        found = hashlib.sha256()
        for name, x in sorted(self._store.arrays().items()):
            found.update(name.encode())
            found.update(np.ascontiguousarray(x[...]).tobytes())
        found.update(repr(sorted(self.failed)).encode())
        return found.hexdigest()

    def best(self, outcome: str, count: int = 1, largest: bool = False) -> np.ndarray:
        """Return the variants (count,) with the smallest outcomes, or the largest, the best first."""
        x = self[outcome]
        if x.ndim != 1:
            raise StateError(
                f"best: {outcome!r} has several numbers a variant; name an outcome that is one number."
            )
        order = np.argsort(-x if largest else x, kind="stable")
        return order[np.isfinite(x[order])][:count]

    def scenario(self, variant: int) -> Scenario:
        """Return the scenario of one variant."""
        if (
            isinstance(variant, bool)
            or not isinstance(variant, int | np.integer)
            or not 0 <= variant < len(self)
        ):
            raise StateError(
                f"There is no variant {shown(variant)}; they are counted from 0 to {len(self) - 1}."
            )
        return self.job.variant({name: x[int(variant)] for name, x in self.design.columns.items()})

    def run(self, variant: int) -> Trajectory:
        """Run one variant again and return all of it."""
        return self.scenario(variant).run()

    def function(
        self, names: Sequence[str] | None = None, outcome: str | None = None
    ) -> Callable[[ArrayLike], np.ndarray]:
        """Return the function of numbers (n, d) of these names that gives the outcome (n,), in lanes, for optimisers
        and analyses of sensitivity; other numbers are as in the scenario. Variants that fail give NaN."""
        names = list(self.design.numbers if names is None else [names] if isinstance(names, str) else names)
        for name in names:
            known("number", name, list(self.design.columns), "function")
        outcomes = list(self.job.outcomes) or [one.name for one in self.job.keep.signals]
        if outcome is None:
            if len(outcomes) != 1:
                raise StateError(f"function: say which outcome, one of {', '.join(outcomes)}.")
            outcome = outcomes[0]
        wanted = known("outcome", outcome, outcomes, "function")
        outcomes_kept = {wanted: self.job.outcomes[wanted]} if wanted in self.job.outcomes else {}
        keep = Keep(tuple(one for one in self.job.keep.signals if one.name == wanted))
        job = Job(self.job.scenario, tuple(names), outcomes_kept, keep, final=False)

        def function(x: ArrayLike) -> np.ndarray:
            rows = np.atleast_2d(np.asarray(x, dtype=np.float64))
            if rows.ndim != 2 or rows.shape[1] != len(names):
                raise StateError(
                    f"The function takes (n, {len(names)}) numbers of {', '.join(names)}; got {rows.shape}."
                )
            results = job.run({name: rows[:, k] for k, name in enumerate(names)})
            found = results.arrays.get(wanted)
            return np.full(len(rows), np.nan) if found is None else found

        return function

    def plot(self, x: str, y: str, colour: str | None = None) -> Figure:
        """Draw one outcome or number over another, variants as points."""
        from catena.studies.pictures import scatter

        return scatter(self, x, y, colour)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page: histograms, maps, what matters most (tornado), parallel coordinates, and failures."""
        from catena.studies.report import write_report

        write_report(self, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dataset to a .nc file, or its table to .parquet or .csv."""
        end = os.path.splitext(os.fspath(path))[1].lower()
        if end == ".nc":
            self.dataset.to_netcdf(path, engine="h5netcdf", invalid_netcdf=False)
        elif end in (".parquet", ".csv"):
            flat = self.dataset.drop_dims([d for d in self.dataset.dims if d != VARIANT]).to_dataframe()
            if end == ".csv":
                flat.to_csv(path)
            else:
                flat.to_parquet(path)
        else:
            raise StateError(f"{os.fspath(path)}: a study is written to .nc, .parquet or .csv.")


def study(
    scenario: Scenario | Sequence[Scenario],
    vary: Mapping[str, object] | str | os.PathLike[str] | None = None,
    *,
    samples: int | None = None,
    seed: int = 0,
    outcomes: Mapping[str, str | Callable[..., object]] | None = None,
    keep: str | Sequence[str] | Mapping[str, object] | None = "final",
    executor: object = None,
    store: str | os.PathLike[str] | None = None,
    key: str | None = None,
    chunk: int | None = None,
    on_error: str = "record",
    progress: bool | None | Callable[[dict[str, float]], None] = None,
) -> Study:
    """Run a scenario with other numbers many times, and return what was found.

    `vary` maps names to ways to vary: `ct.grid` and lists, which are combined; `ct.sobol`, `ct.latin`, `ct.halton`,
    `ct.uniform`, `ct.normal`, `ct.correlated` or any distribution of `scipy.stats`, of which `samples` are drawn by the
    `seed`; arrays with a row for each variant; or it is a table (a data frame, a .csv file). Names are numbers of the
    mechanism ("pole.mass"), "initial.A" and "velocity.A" for the start, "contact.foot.friction" for contacts, and named
    numbers of the scenario or its file.
    A list of scenarios may be given in the place of one.

    `outcomes` are formulas ("max(A)", as `keep` of `simulate`), functions of a run that give numbers, or
    `ct.batched` functions of many runs at once. `keep` are further signals; "final" keeps states at the end.

    `executor` computes: None this process, a number of processes, an Executor of `concurrent.futures`, a client of
    Dask, an MPIPoolExecutor, an executor of submitit, or the module ray. The numbers are the same whoever computes. In
    a `store`, a folder of Zarr's format, a study goes on where it was ended, also by kill -9; it is found again by a
    digest of all it depends on, and by a `key` where there are functions. A variant that fails has NaN, and words
    in `failed`; on_error="raise" ends the study there.
    """
    if isinstance(scenario, Scenario):
        ways = {} if vary is None else vary
    elif isinstance(scenario, Sequence) and scenario and all(isinstance(x, Scenario) for x in scenario):
        ways = {SCENARIO: list(scenario), **({} if vary is None else as_columns(vary))}
        scenario = scenario[0]
    else:
        raise StateError(
            f"ct.study: the scenario is {shown(scenario)}; give a ct.Scenario, or a list of them."
        )
    if on_error not in ("record", "raise"):
        raise StateError(f"on_error is {shown(on_error)}; choose 'record' or 'raise'.")
    if chunk is not None and (
        isinstance(chunk, bool) or not isinstance(chunk, int | np.integer) or chunk < 1
    ):
        raise StateError(f"chunk is {shown(chunk)}; give how many variants are computed together.")
    planned = design(ways, samples, seed)
    kept = Keep.of(keep) or Keep()
    named = {} if outcomes is None else dict(outcomes)
    job = Job(scenario, tuple(planned.columns), named, kept, keep is not None)
    _check(job, planned)
    made = Study(job, planned, chunk, executor, store, key, on_error)
    return made.resume(progress=progress)


def _check(job: Job, planned: Design) -> None:
    """Refuse names that nothing has, and outcomes that cannot be, before anything is computed."""
    scenario = job.scenario
    joints = list(scenario.mechanism.joints)
    for name in planned.columns:
        if name == SCENARIO:
            continue
        for begin in (INITIAL, VELOCITY):
            if name.startswith(begin):
                known("joint", name.removeprefix(begin), joints, f"vary {begin[:-1]}")
        if name.startswith(CONTACT):
            known("number of a contact", name, contact_numbers(scenario), "vary")
        if name.startswith((INITIAL, VELOCITY, CONTACT)):
            continue
        if "." in name or name == "gravity":
            find_parameters(scenario.mechanism, [name])
        else:
            origin = scenario.origin
            there = [n for n in scenario.parameters if "." not in n]
            known("named number", name, [*there, *(origin.parameters if origin is not None else ())], "vary")
    functions = False
    for name, x in job.outcomes.items():
        if isinstance(x, str):
            Keep.of({name: x})
        elif not callable(x):
            raise StateError(
                f"Outcome {name!r} is {shown(x)}; give a formula such as 'max(A)', or a function of a run."
            )
        functions = functions or not isinstance(x, str)
    if functions and job.keep.sampled:
        raise StateError("keep takes no signals at samples beside functions: let these be outcomes too.")


def _function_of(outcome: Any) -> Any:
    return outcome.function if isinstance(outcome, Batched) else outcome
