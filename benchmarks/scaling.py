"""How the cost grows with the number of bodies: serial chains of 10 to 1000 bodies."""

import tracemalloc
from functools import partial

import numpy as np

import catena as ct
from benchmarks.states import random_states
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of, exponent
from catena.mechanism.generators import chain

SIZES = (10, 30, 100, 200, 500, 1000)
BATCH = 256

NOT_SHOWN = "the effect of larger batches on the caches; other shapes than serial chains."


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows, seconds = [], {}
    for size in SIZES:
        system = chain(size).system()
        q, v, tau, vdot = random_states(system, BATCH)
        best = best_of(
            {
                "forward": partial(system.forward_dynamics, q, v, tau),
                "inverse": partial(system.inverse_dynamics, q, v, vdot),
            },
            rounds=7,
        )
        seconds[size] = {work: total / BATCH for work, total in best.items()}
        for work in best:
            rows.append(Figure(f"{work} dynamics, {size} bodies", 1e6 * seconds[size][work], "us per state"))
    large = [size for size in SIZES if size >= 100]
    for work in ("forward", "inverse"):
        slope = exponent(large, [seconds[size][work] for size in large])
        rows.append(Figure(f"{work} dynamics, exponent from 100 to 1000 bodies", slope, "", "<= 1.05"))
    memory = [memory_for(size) for size in large]
    rows.append(Figure("memory of a system of 1000 bodies after its first result", memory[-1] / 2**20, "MiB"))
    rows.append(Figure("memory, exponent from 100 to 1000 bodies", exponent(large, memory), "", "<= 1.05"))
    return figure_table(f"Serial chains, {BATCH} states at once, one thread", rows, NOT_SHOWN)


def memory_for(size: int) -> float:
    """Bytes that planning a chain and computing its first accelerations take and keep."""
    mechanism = chain(size)
    tracemalloc.start()
    system = mechanism.system()
    system.forward_dynamics(system.neutral(), np.zeros(system.nv), np.zeros(system.nv))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(kept)
