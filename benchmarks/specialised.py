"""Kernels specialised to a mechanism against the general code, what they take to compile, and where the recursive form
of the equations of motion overtakes the non-recursive one."""

import tempfile
from typing import Any

import numpy as np

import catena as ct
from benchmarks.starting import seconds_in_a_new_process
from benchmarks.states import closed_states, random_states
from benchmarks.table import Comparison, Figure, comparison_table, figure_table
from benchmarks.timing import best_of
from catena.equations import program_of
from catena.equations.papers.chains import general_chain
from catena.equations.papers.non_recursive import non_recursive
from catena.equations.papers.recursive import recursive
from catena.mechanism.generators import arm7, four_bar, humanoid, stewart

BATCH = 4096
# Mechanisms, and how many times quicker than the general code their specialised one is meant to be.
RIVALS = {
    "arm7": (arm7, 1.7),
    "humanoid": (humanoid, 1.5),
    "stewart": (stewart, 1.5),
    "four_bar": (four_bar, None),
}
COMPILED_WITHIN = {"arm7": 3.0, "humanoid": 30.0, "stewart": None}
LENGTHS = range(2, 13)

NOT_SHOWN = (
    "mechanisms whose numbers are general, of which folding leaves more: these have right angles and symmetric links, "
    "as machines do. The peer is Catena's own general code."
)


def report() -> str:
    """The tables of this benchmark as Markdown."""
    rows = [compare(name, make(), aim) for name, (make, aim) in RIVALS.items()]
    compiling = [compile_time(name, aim) for name, aim in COMPILED_WITHIN.items()]
    return "\n".join(
        [
            comparison_table(f"Specialised forward dynamics, {BATCH} states, one thread", rows, NOT_SHOWN),
            figure_table(
                "Until a specialised kernel is there", compiling, "the general code, which serves meanwhile."
            ),
            figure_table(
                "Recursive against non-recursive form", break_even(), "forms that share what they can."
            ),
        ]
    )


def compare(name: str, mechanism: Any, aim: float | None) -> Comparison:
    """Both codes in turns on the same states."""
    ct.set_threads(1)
    system = mechanism.system()
    fast = system.specialise()
    fast.variants.specialiser.wait()
    q, v, tau, _ = closed_states(system, BATCH, spread=0.1) if system.loops else random_states(system, BATCH)
    error = np.max(np.abs(fast.forward_dynamics(q, v, tau) - system.forward_dynamics(q, v, tau)))
    if not error < 1e-9 * np.max(np.abs(tau)) * 1e3:
        raise AssertionError(f"{name}: results differ by {error:.1e}; the times mean nothing.")
    seconds = best_of(
        {
            "fast": lambda: fast.forward_dynamics(q, v, tau),
            "general": lambda: system.forward_dynamics(q, v, tau),
        }
    )
    return Comparison(name, "general code", seconds["fast"] / BATCH, seconds["general"] / BATCH, aim)


def compile_time(name: str, aim: float | None) -> Figure:
    """From asking for a specialised kernel to having it, in a new process with an empty cache."""
    program = (
        f"from catena.mechanism.generators import {name}\n"
        f"start = perf_counter()\n{name}().system().specialise().variants.specialiser.wait()"
    )
    with tempfile.TemporaryDirectory() as cache:
        seconds = seconds_in_a_new_process(program, CATENA_CACHE=cache)
    return Figure(f"specialise {name}, empty cache", seconds, "s", "" if aim is None else f"<= {aim:g}")


def break_even() -> list[Figure]:
    """The first length of a chain for which the recursive form is quicker, both unrolled and compiled alike."""
    rows = []
    for letter, kind in (("R", "revolute"), ("S", "spherical")):
        first = next((n for n in LENGTHS if _ratio(letter, n) > 1.0), None)
        what = f"recursive form overtakes, chain of {kind} joints"
        rows.append(Figure(what, float("nan") if first is None else first, "joints"))
    return rows


def _ratio(letter: str, joints: int) -> float:
    """The time of the non-recursive form over that of the recursive one."""
    plan = general_chain(letter * joints).system().plan
    rows, programs = {}, {}
    random = np.random.default_rng(0)
    for name, (graph, data) in (
        ("non-recursive", non_recursive(plan, along_the_chain=True)),
        ("recursive", recursive(plan)),
    ):
        programs[name] = program_of(graph)
        rows[name] = {
            "q": random.normal(size=(512, plan.nq)), "v": random.normal(size=(512, plan.nv)),
            "tau": random.normal(size=(512, plan.nv)), **data,
        }  # fmt: skip
    seconds = best_of(
        {name: (lambda name=name: programs[name].run(rows[name], 512, 1)) for name in programs}, rounds=9
    )
    return seconds["non-recursive"] / seconds["recursive"]
