"""Studies: what a study of two processes costs beyond the runs in it, and what an event costs a batch.

`python -m benchmarks.studies 1000000 100000 20` runs a million cart-poles, a hundred thousand platforms, and 20 chunks
by processes and by Dask, in some ten minutes on two cores that nobody else uses.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from catena.kernels import set_threads
from catena.mechanism.generators import arm7, four_bar, stewart

CHUNK, PLATFORMS, BATCH, ROUNDS, WORKERS = 4096, 512, 1024, 3, 2
# After so many chunks one of the workers does the same runs by itself.
EVERY = 8
FIXED: dict[str, Any] = {"integrator": "rk4", "keep": "final", "check": False, "progress": False}
VARY = {"pole.mass": ct.sobol(0.1, 0.3), "initial.hinge": ct.uniform(0.2, 0.8)}


def never(t: float, q: Any, v: Any) -> Any:
    """A function that no motion here brings to zero."""
    return v[0] - 1e3


NEVER = ct.Event(never, terminal=True)


def report(cart_poles: int = 16_384, platforms: int = 2048, chunks: int = 0) -> str:
    """The tables of this benchmark as Markdown; executors are compared by so many chunks, not at all by none."""
    return "\n".join(tables(cart_poles, platforms, chunks))


def tables(cart_poles: int = 16_384, platforms: int = 2048, chunks: int = 0) -> Iterator[str]:
    """Each table of the report as soon as it is known."""
    yield _cart_poles(cart_poles)
    yield _platforms(platforms)
    yield _events()
    if chunks:
        yield _executors(chunks)


def _executors(chunks: int) -> str:
    """The rate of Dask with two workers against that of two processes, by turns, at chunks of about a second."""
    from distributed import Client, LocalCluster

    spent: dict[str, list[float]] = {"processes": [], "dask": []}
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        _pool() as pool,
    ):
        for turn in range(1 + ROUNDS):
            for name, executor in (("processes", pool), ("dask", client)):
                asked = {"samples": chunks * CHUNK, "chunk": CHUNK, "executor": executor, "progress": False}
                taken = _timed(lambda asked=asked: ct.study(_swing(), VARY, **asked))
                # In the first turn workers load and compile.
                spent[name] += [taken] if turn else []
    best = {name: min(x) for name, x in spent.items()}
    rows = [
        Figure("processes", best["processes"] / chunks, "s a chunk", ""),
        Figure("Dask", best["processes"] / best["dask"], "of the processes' rate", ">= 0.85"),
    ]
    return figure_table(f"{chunks} chunks of {CHUNK} by two workers", rows, "other clusters.")


def _events() -> str:
    rows = []
    for name, mechanism in (
        ("cart-pole", cart_pole()),
        ("four-bar", four_bar()),
        ("arm7", arm7()),
        ("Stewart", stewart()),
    ):
        system = mechanism.system()
        q, v = _starts(system, BATCH)

        def run(system: ct.System = system, q: Any = q, v: Any = v, **more: Any) -> Any:
            return ct.simulate(system, q, v, 1.0, step=5e-3, **FIXED, **more)

        bound = float(np.quantile(run().v[:, -1, 0], 0.98))
        some = ct.Event(lambda t, q, v, bound=bound: v[0] - bound, terminal=True)
        spent = _processor_seconds(
            {"plain": run, "never": partial(run, events=NEVER), "some": partial(run, events=some)}
        )
        rows += [
            Figure(f"{name}, never", spent["never"] / spent["plain"], "x the run without", "<= 1.3"),
            Figure(f"{name}, ends some", spent["some"] / spent["plain"], "x the run without", ""),
        ]
    return figure_table(
        f"An event in batches of {BATCH}, 200 steps of rk4, processor time by turns",
        rows,
        "other steps: the arm falls freely and whips; and functions that branch, which are asked state by state.",
    )


def _processor_seconds(calls: dict[str, Callable[..., object]]) -> dict[str, float]:
    """The medians of the processor time that calls take by turns; the first turn, which compiles, does not count."""
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(1 + ROUNDS):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            spent[name] += [time.process_time() - begin] if turn else []
    return {name: float(np.median(x)) for name, x in spent.items()}


class Interleaved:
    """An executor of so many processes, one of which does something else after every few chunks: `beside`, a function
    without arguments, is so measured by the same processes under the same load as the study."""

    def __init__(self, pool: ProcessPoolExecutor, beside: Callable[[], object]) -> None:
        self.pool, self.beside, self.num_workers, self.chunks = pool, beside, WORKERS, 0
        self.measured: list[Future[tuple[float, float]]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a chunk, and now and then what is measured beside it."""
        if self.chunks % EVERY == 0:
            self.measured.append(self.pool.submit(_when, self.beside))
        self.chunks += 1
        return self.pool.submit(function, *arguments)

    def timed(self, study: Callable[[], ct.Study]) -> tuple[ct.Study, float, float]:
        """A study, the seconds of the clock that it took without what was measured meanwhile, and the seconds that
        this took one worker, in the median."""
        begin = time.time()
        found = study()
        end = time.time()
        pairs = [one.result() for one in self.measured]
        lost = sum(max(0.0, min(b, end) - max(a, begin)) for a, b in pairs)
        return found, end - begin - lost / WORKERS, float(np.median([b - a for a, b in pairs]))


def _when(call: Callable[[], object]) -> tuple[float, float]:
    """When a call began and ended."""
    set_threads(1)
    begin = time.time()
    call()
    return begin, time.time()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"))


def _memory() -> tuple[float, float]:
    """The most memory [GB] that this process has taken so far, and that the largest of its workers that ended has."""
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    own, worker = (resource.getrusage(who).ru_maxrss / 1e6 for who in whose)
    return own, worker


@cache
def _raw_numbers() -> tuple[ct.System, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    angles, masses = random.uniform(0.2, 0.8, CHUNK), random.uniform(0.1, 0.3, CHUNK)
    return cart_pole().system(), np.stack([np.zeros(CHUNK), angles], axis=1), np.zeros((CHUNK, 2)), masses


def raw_cart_poles() -> object:
    """The runs of a chunk without a study."""
    system, q, v, masses = _raw_numbers()
    return ct.simulate(system, q, v, 10.0, step=1e-2, **FIXED, parameters={"pole.mass": masses})


def _cart_poles(count: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "swing.zarr"
        with _pool() as pool:
            # Workers load their code; the study begins with workers that wait.
            ct.study(_swing(), VARY, samples=2 * WORKERS * CHUNK, chunk=CHUNK, executor=pool, progress=False)
            between = Interleaved(pool, raw_cart_poles)
            asked: dict[str, Any] = {"samples": count, "chunk": CHUNK, "store": store, "executor": between}
            found, spent, raw = between.timed(lambda: ct.study(_swing(), VARY, **asked, progress=False))
        written = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        failed = len(found.failed)
    own, worker = _memory()
    raw_rate, rate = WORKERS * CHUNK / raw, count / spent
    rows = [
        Figure("raw lanes of two processes", raw_rate, "runs a second", ""),
        Figure("study with its store", rate, "runs a second", ""),
        Figure("efficiency", rate / raw_rate, "of the raw rate", ">= 0.9"),
        Figure("most memory, driver and two workers", own + WORKERS * worker, "GB", "< 1"),
        Figure("of these, the driver", own, "GB", ""),
        Figure("store", written / 1e6, "MB", ""),
        Figure("failed", failed, f"of {count}", "0"),
        Figure("taken, without what was measured beside", spent, "s", ""),
    ]
    return figure_table(
        f"{count} cart-poles of 10 s, 1000 steps of rk4, by two processes", rows, "other machines."
    )


@cache
def _platform() -> tuple[ct.Scenario, str]:
    mechanism = stewart()
    q, v = _starts(mechanism.system(), 1)
    scenario = ct.Scenario(mechanism, q[0], v[0], duration=1.0, integrator="rk4", step=5e-3)
    return scenario, next(reversed(mechanism.bodies))


def _platform_study(events: Any, masses: np.ndarray, **more: Any) -> ct.Study:
    scenario, body = _platform()
    vary = {f"{body}.mass": masses}
    asked = {"chunk": PLATFORMS, "key": "platform", "progress": False, **more}
    return ct.study(scenario.with_(events=events), vary, **asked)


def plain_platforms() -> object:
    """A chunk of platforms without an event, all of which can be, in a study without a store."""
    return _platform_study((), np.random.default_rng(1).uniform(5.0, 15.0, PLATFORMS))


def _platforms(count: int) -> str:
    random = np.random.default_rng(0)
    masses = random.uniform(5.0, 15.0, count)
    wrong = np.sort(random.permutation(count)[: count // 100])
    masses[wrong] = -1.0
    with tempfile.TemporaryDirectory() as folder, _pool() as pool:
        _platform_study([NEVER], masses[: 2 * WORKERS * PLATFORMS], executor=pool)
        between = Interleaved(pool, plain_platforms)
        store = Path(folder) / "platform.zarr"
        found, spent, plain = between.timed(
            lambda: _platform_study([NEVER], masses, executor=between, store=store)
        )
        failed, there = found.failed, np.isfinite(found["q"]).all(axis=1)
    rows = [
        Figure("with an event, a store, and failures", spent * WORKERS / count / (plain / PLATFORMS),
               "x the study without", "<= 1.3"),
        Figure("failed, each with its words", sum(map(bool, failed.values())), f"of {count}", f"{len(wrong)}"),
        Figure("the right ones", int(np.array_equal(sorted(failed), wrong)), "", "1"),
        Figure("there", int(there.sum()), f"of {count}", f"{count - len(wrong)}"),
        Figure("a run without", plain / PLATFORMS * 1e6, "us of a worker", ""),
        Figure("taken, without what was measured beside", spent, "s", ""),
    ]  # fmt: skip
    return figure_table(
        f"{count} Stewart platforms of 1 s by two processes, one in a hundred of which cannot be", rows,
        "other machines.",
    )  # fmt: skip


def _starts(system: ct.System, count: int) -> tuple[np.ndarray, np.ndarray]:
    """So many states of a system with random velocities."""
    random, q = np.random.default_rng(1), system.assemble()
    v = random.normal(0.0, 0.3, (count, system.nv))
    if system.loops:
        v = np.stack([system.project(q, row)[1] for row in v])
    return np.tile(q, (count, 1)), v


def _timed(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _swing() -> ct.Scenario:
    return ct.Scenario(cart_pole(), {"hinge": 0.5}, duration=10.0, integrator="rk4", step=1e-2)


def cart_pole() -> ct.Mechanism:
    """A pole on a cart."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


if __name__ == "__main__":
    for table in tables(*(int(word) for word in sys.argv[1:])):
        print(table, flush=True)
