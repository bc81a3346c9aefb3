"""Forward and inverse dynamics of a batch of states, against Pinocchio and MuJoCo, and on two threads."""

from collections.abc import Callable
from typing import Any

import numpy as np

import catena as ct
from benchmarks.peers import mujoco_calls, pinocchio_calls
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import random_states
from benchmarks.table import Comparison, Figure, comparison_table, figure_table
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7, humanoid

BATCH = 4096

NOT_SHOWN = (
    "batches too small to fill the lanes (see single states); the translation of coordinates, done before; "
    "Pinocchio built for this very processor or with generated code. MuJoCo does more than is asked "
    "(mass matrix and its factorisation, frames and mass centres of all bodies) and is called in a loop of "
    "machine code, Catena's and Pinocchio's from Python with the call included."
)


def report() -> str:
    """The tables of this benchmark as Markdown."""
    comparisons, threads = [], []
    for name, make in (("arm7", arm7), ("humanoid", humanoid)):
        comparisons += compare(name, make())
        threads.append(two_threads(name, make()))
    title = f"{BATCH} states at once, one thread; time for one state"
    return "\n".join(
        [
            comparison_table(title, comparisons, NOT_SHOWN),
            figure_table("Two threads against one", threads, "what else the second core had to do."),
        ]
    )


def compare(name: str, mechanism: Any) -> list[Comparison]:
    """Catena and its peers in turns on the same states."""
    ct.set_threads(1)
    system = mechanism.system()
    q, v, tau, vdot = random_states(system, BATCH)
    rivals: dict[str, Callable[[], Any]] = {
        "forward": lambda: system.forward_dynamics(q, v, tau),
        "aba": pinocchio_calls.forward_batch(mechanism, q, v, tau),
        "mj_forward": mujoco_calls.forward_batch(mechanism, q, v, tau),
        "inverse": lambda: system.inverse_dynamics(q, v, vdot),
        "rnea": pinocchio_calls.inverse_batch(mechanism, q, v, vdot),
        "mj_inverse": mujoco_calls.inverse_batch(mechanism, q, v, vdot),
    }
    # Times are worth comparing only where the results are the same.
    to_pin, to_mj = to_pinocchio(mechanism)[1], to_mujoco(mechanism)[1]
    _agree(rivals["forward"](), to_pin.catena_acceleration(q, v, rivals["aba"]().T))
    _agree(rivals["forward"](), to_mj.catena_acceleration(q, v, rivals["mj_forward"]()))
    _agree(rivals["inverse"](), to_pin.catena_effort(q, v, rivals["rnea"]().T))
    _agree(rivals["inverse"](), to_mj.catena_effort(q, v, rivals["mj_inverse"]()))
    seconds = {rival: best / BATCH for rival, best in best_of(rivals).items()}
    forward, inverse = f"forward dynamics, {name}", f"inverse dynamics, {name}"
    return [
        Comparison(forward, "Pinocchio abaInParallel(1)", seconds["forward"], seconds["aba"], 8.0),
        Comparison(forward, "MuJoCo mj_forward", seconds["forward"], seconds["mj_forward"], 6.0),
        Comparison(inverse, "Pinocchio rneaInParallel(1)", seconds["inverse"], seconds["rnea"], 8.0),
        Comparison(inverse, "MuJoCo mj_inverse", seconds["inverse"], seconds["mj_inverse"]),
    ]


def two_threads(name: str, mechanism: Any) -> Figure:
    """How many times quicker two threads are than one; both in turns in the same run."""
    system = mechanism.system()
    q, v, tau, _ = random_states(system, BATCH)

    def on(threads: int) -> Callable[[], Any]:
        def call() -> Any:
            ct.set_threads(threads)
            return system.forward_dynamics(q, v, tau)

        return call

    seconds = best_of({"one": on(1), "two": on(2)})
    ct.set_threads(1)
    ratio = seconds["one"] / seconds["two"]
    return Figure(f"forward dynamics, {name}, {BATCH} states", ratio, "times", ">= 1.8")


def _agree(ours: Any, theirs: Any) -> None:
    error = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
    if not error < 1e-9:
        raise AssertionError(f"Results differ by {error:.1e} of the largest; the times mean nothing.")
