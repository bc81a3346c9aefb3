"""Studies: what an event costs a batch, and what a study costs beyond the runs in it.

`python -m benchmarks.studies 1000000 100000 20` runs a million cart-poles, a hundred thousand platforms, and 20 chunks
by processes and by Dask.
"""

import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7, four_bar, stewart

CHUNK, BATCH, ROUNDS = 4096, 1024, 3
FIXED: dict[str, Any] = {"integrator": "rk4", "keep": "final", "check": False, "progress": False}
VARY = {"pole.mass": ct.sobol(0.1, 0.3), "initial.hinge": ct.uniform(0.2, 0.8)}
NEVER = ct.Event(lambda t, q, v: v[0] - 1e3, terminal=True)


def report(cart_poles: int = 16_384, platforms: int = 2048, chunks: int = 0) -> str:
    """The tables of this benchmark as Markdown; executors are compared by so many chunks, not at all by none."""
    tables = [_events(), _cart_poles(cart_poles), _platforms(platforms)]
    return "\n".join([*tables, _executors(chunks)] if chunks else tables)


def _executors(chunks: int) -> str:
    """The rate of Dask with two workers against that of two processes, by turns, at chunks of about a second."""
    from distributed import Client, LocalCluster

    spent: dict[str, list[float]] = {"processes": [], "dask": []}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
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

        def run(system: ct.System = system, q: Any = q, v: Any = v, **more: Any) -> object:
            return ct.simulate(system, q, v, 1.0, step=5e-3, **FIXED, **more)

        seconds = best_of(
            {"plain": run, "event": lambda run=run: run(events=NEVER)}, rounds=ROUNDS, seconds_per_turn=0.0
        )
        rows.append(Figure(name, seconds["event"] / seconds["plain"], "x the run without", "<= 1.3"))
    return figure_table(
        f"An event that never happens, in batches of {BATCH}, 200 steps of rk4",
        rows,
        "events that happen often, and functions that branch, which are asked state by state.",
    )


def _cart_poles(count: int) -> str:
    mechanism = cart_pole()
    system, random = mechanism.system(), np.random.default_rng(0)
    angles, masses = random.uniform(0.2, 0.8, CHUNK), random.uniform(0.1, 0.3, CHUNK)
    q, v = np.stack([np.zeros(CHUNK), angles], axis=1), np.zeros((CHUNK, 2))

    def raw() -> object:
        return ct.simulate(system, q, v, 10.0, step=1e-2, **FIXED, parameters={"pole.mass": masses})

    raw()
    before = _timed(raw) / CHUNK
    folder = tempfile.mkdtemp()
    try:
        store = Path(folder) / "swing.zarr"
        spent = _timed(
            lambda: ct.study(_swing(), VARY, samples=count, chunk=CHUNK, store=store, progress=False)
        )
    finally:
        shutil.rmtree(folder)
    between = 0.5 * (before + _timed(raw) / CHUNK)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows = [
        Figure("raw lanes", between * 1e6, "us a run", ""),
        Figure("study with its store", spent / count * 1e6, "us a run", ""),
        Figure("efficiency", between * count / spent, "of the raw rate", ">= 0.9"),
        Figure("most memory of this process so far", memory, "GB", "< 1"),
    ]
    return figure_table(f"{count} cart-poles of 10 s, 1000 steps of rk4", rows, "other machines.")


def _platforms(count: int) -> str:
    mechanism = stewart()
    system, random = mechanism.system(), np.random.default_rng(0)
    q, v = _starts(system, 1)
    scenario = ct.Scenario(mechanism, q[0], v[0], duration=1.0, integrator="rk4", step=5e-3)
    masses = random.uniform(5.0, 15.0, count)
    masses[random.permutation(count)[: count // 100]] = -1.0
    body = next(reversed(mechanism.bodies))

    def run(events: Any, some: int = count) -> ct.Study:
        vary = {f"{body}.mass": masses[:some]}
        return ct.study(scenario.with_(events=events), vary, chunk=512, key="platform", progress=False)

    for events in ((), [NEVER]):
        # The first runs compile.
        run(events, 64)

    spent = {"plain": _timed(lambda: run(())), "event": 0.0}
    found: list[ct.Study] = []
    spent["event"] = _timed(lambda: found.append(run([NEVER])))
    failed, there = found[0].failed, np.isfinite(found[0]["q"]).all(axis=1)
    rows = [
        Figure("with an event", spent["event"] / spent["plain"], "x the study without", "<= 1.3"),
        Figure("failed", len(failed), f"of {count}", f"{count // 100}"),
        Figure("there", int(there.sum()), f"of {count}", f"{count - count // 100}"),
        Figure("a run", spent["plain"] / count * 1e6, "us", ""),
    ]
    return figure_table(
        f"{count} Stewart platforms of 1 s, one in a hundred of which cannot be", rows, "other machines."
    )


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
    print(report(*(int(word) for word in sys.argv[1:])))
