"""The time before the first result: importing, planning, and going on after an edit."""

import os
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.kernels.machine_code.engine import compilations
from catena.mechanism.generators import arm7, free_flyer

NOT_SHOWN = "the start of the Python interpreter itself; disks slower than this one."

IMPORT = "import catena"
FIRST_RESULT = """
import catena
from catena.mechanism.generators import arm7
system = arm7().system()
q = system.neutral()
system.forward_dynamics(q, 0 * q, 0 * q)
"""


def report() -> str:
    """The table of this benchmark as Markdown."""
    edit_seconds, compiled = from_edit_to_result()
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds_in_a_new_process(FIRST_RESULT, CATENA_CACHE=cache)
        warm = min(seconds_in_a_new_process(FIRST_RESULT, CATENA_CACHE=cache) for _ in range(3))
    importing = min(seconds_in_a_new_process(IMPORT) for _ in range(5))
    mechanism = free_flyer()
    planning = best_of({"plan": mechanism.system})["plan"]
    rows = [
        Figure("import catena", importing, "s", "<= 0.4"),
        Figure("first forward dynamics of arm7 in a new process, empty cache", cold, "s", "<= 3"),
        Figure("the same, warm cache", warm, "s", "<= 0.6"),
        Figure(f"planning the free-flyer ({mechanism.system().nv} dof)", planning * 1e3, "ms", "<= 2"),
        Figure("from an edit to the first result, free-flyer", edit_seconds * 1e3, "ms", "<= 5"),
        Figure("compilations in that time", compiled, "", "0"),
    ]
    return figure_table("Before the first result", rows, NOT_SHOWN)


def from_edit_to_result() -> tuple[float, int]:
    """The least seconds from locking a joint to accelerations, and how much was compiled."""
    ct.set_threads(1)
    first_result(free_flyer())
    first_result(arm7())
    before, best = compilations(), float("inf")
    mechanism = free_flyer()
    moving = [name for name, joint in mechanism.joints.items() if joint.kind.nv == 1]
    for name in moving[:10]:
        start = perf_counter()
        first_result(mechanism.lock(name, at=0.2))
        best = min(best, perf_counter() - start)
    return best, compilations() - before


def first_result(mechanism: Any) -> Any:
    """Plan and compute at the neutral configuration at rest."""
    system = mechanism.system()
    rest = np.zeros(system.nv)
    return system.forward_dynamics(system.neutral(), rest, rest)


def seconds_in_a_new_process(code: str, **environment: str) -> float:
    """What `code` takes in a Python process of its own, without the start of the interpreter."""
    program = f"from time import perf_counter\nstart = perf_counter()\n{code}\nprint(perf_counter() - start)"
    command = [sys.executable, "-c", program]
    result = subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
    return float(result.stdout)
