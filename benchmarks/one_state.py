"""One state and one run of large mechanisms on one thread and on two, in turns.

Two threads that wait for each other every few microseconds are lost as soon as one of them has to share its core. So
bursts of calls are made at real-time priority where this process may ask for it, with as long a pause after each.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter, sleep

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from catena.dynamics import articulated_body
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.kernels.teams.team import Team
from catena.mechanism import Mechanism
from catena.mechanism.generators import arm7, arms_on_object, n_four_bars, tree

MACHINES: dict[str, Callable[[], Mechanism]] = {
    "32 arms on an object": partial(arms_on_object, 32),
    "160 four-bars in a row": partial(n_four_bars, 160),
    "tree of 1000 bodies": partial(tree, 1000),
    "arm7": arm7,
}
# Calls of one state until threads help, and calls that are timed one by one before the other number of threads comes:
# so many that helpers who slept meanwhile are there for most of them.
BEFORE, CALLS = 700, 1000
# How many bursts there are, and how long [s] they are: so long that threads try again which is quicker.
BURSTS, LONG = 12, 0.3

NOT_SHOWN = (
    "more than two threads; what other work on the machine takes from both: each figure is the best of many."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    rows = []
    for name, make in MACHINES.items():
        system = make().system()
        q, v = system.assemble(), np.zeros(system.nv)
        best = _in_turns(partial(system.forward_dynamics, q, v, v), BEFORE, CALLS)
        rows += _rows(f"forward dynamics, {name}", best, 1e6, "us")
        if name != "arm7":
            rows.append(
                Figure(f"forward dynamics, {name}, ratio by calls and messages", _by_calls(system), "")
            )
            run = partial(
                ct.simulate, system, q, v, 0.1, integrator="rk4", step=1e-3, check=False, samples=[0.0, 0.1]
            )
            rows += _rows(f"0.1 s by rk4, {name}", _in_turns(run, 4, 1), 1e3, "ms")
    return figure_table("One state on one thread and on two", rows, NOT_SHOWN)


def _by_calls(system: ct.System) -> float:
    """What two threads gain by the schedule of their tasks, if a message takes as long as fifteen calls."""
    plan, absent = system.plan, frozenset({"f_ext", "a_base"})
    algorithm = elimination_of(plan) if plan.loop_joints else articulated_body
    return Team(system.mechanics.evaluator.program(algorithm, absent, None, 2).tape, 2).gain


def _rows(name: str, best: dict[int, float], factor: float, unit: str) -> list[Figure]:
    """The times of both, and their ratio."""
    times = [Figure(f"{name}, threads: {count}", factor * t, unit) for count, t in best.items()]
    return [*times, Figure(f"{name}, ratio", best[1] / best[2], "", ">= 1.6 where it is large")]


def _in_turns(work: Callable[[], object], before: int, calls: int) -> dict[int, float]:
    """The shortest time [s] of a call on one thread and on two."""
    best = {1: np.inf, 2: np.inf}
    ct.set_threads(2)
    for _ in range(before):
        work()
    for _ in range(BURSTS):
        end = perf_counter() + LONG
        with _before_others():
            while perf_counter() < end:
                for count in best:
                    ct.set_threads(count)
                    for _ in range(calls):
                        began = perf_counter()
                        work()
                        best[count] = min(best[count], perf_counter() - began)
        sleep(LONG / 2.0)
    ct.set_threads(1)
    return best


@contextmanager
def _before_others() -> Iterator[None]:
    """Let the threads of this process go before those of other processes, where the system allows it."""
    try:
        _schedule("SCHED_FIFO", 20)
        yield
    finally:
        _schedule("SCHED_OTHER", 0)


def _schedule(policy: str, priority: int) -> None:
    if hasattr(os, policy):
        for thread in os.listdir("/proc/self/task"):
            # Threads end meanwhile, and few users may ask for priority.
            with suppress(OSError):
                os.sched_setscheduler(int(thread), getattr(os, policy), os.sched_param(priority))
