"""Rollouts: a batch of states of an arm stepped for a second, against `mujoco.rollout`."""

from collections.abc import Callable
from typing import Any

import numpy as np

import catena as ct
from benchmarks.peers.mujoco_rollouts import mujoco_rollout
from benchmarks.states import random_states
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7

BATCH, STEPS, STEP = 1024, 1000, 1e-3
# States whose error is looked at.
LOOKED_AT = 16
# The same method on both sides: Catena's name, MuJoCo's name.
METHODS = (("semi_implicit", "Euler"), ("rk4", "RK4"))
AIM = 5.0

NOT_SHOWN = (
    "control, contacts and constraints, of which there are none; trees other than the arm. MuJoCo writes the state "
    "after every step, which it cannot be told to leave, into memory that is there before; Catena is asked for the "
    "last one. "
    "Errors are the largest of any joint angle [rad] at the end, against steps chosen by an error of 1e-12; both sides "
    "use the same method and have the same error."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    lines = [
        f"### Rollouts: arm7, {BATCH} states, {STEPS} steps of {STEP:g} s",
        "",
        "| method | threads | Catena, states x steps / s | mujoco.rollout | ratio | aim | Catena's error | MuJoCo's |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for ours, theirs in METHODS:
        for threads in (1, 2):
            lines.append(compare(ours, theirs, threads))
    ct.set_threads(1)
    return "\n".join([*lines, "", f"Not shown: {NOT_SHOWN}", ""])


def compare(ours: str, theirs: str, threads: int) -> str:
    """One row: both in turns on the same states."""
    ct.set_threads(threads)
    catena, mujoco, exact = rivals(ours, theirs, threads, BATCH, STEPS)
    best = best_of({"catena": catena[0], "mujoco": mujoco[0]}, rounds=2)
    errors = [float(np.max(np.abs(side[1]()[:LOOKED_AT] - exact))) for side in (catena, mujoco)]
    if not errors[0] <= 1.01 * errors[1]:
        raise AssertionError(f"Catena's error {errors[0]:.1e} is larger than MuJoCo's {errors[1]:.1e}.")
    rates = [BATCH * STEPS / best[name] for name in ("catena", "mujoco")]
    return (
        f"| {ours} | {threads} | {rates[0]:.3g} | {rates[1]:.3g} | {rates[0] / rates[1]:.3g} | >= {AIM:g} "
        f"| {errors[0]:.1e} | {errors[1]:.1e} |"
    )


Side = tuple[Callable[[], Any], Callable[[], Any]]


def rivals(ours: str, theirs: str, threads: int, batch: int, steps: int) -> tuple[Side, Side, Any]:
    """Catena and MuJoCo, each as a call and its positions (batch, nq) at the end, and exact positions of the first
    states."""
    mechanism = arm7()
    system = mechanism.system()
    q, v, _, _ = random_states(system, batch)
    # Gentle enough for a second without wild swings, in which any method of first order is lost.
    q, v = 0.3 * q, 0.3 * v
    duration = steps * STEP
    last: list[Any] = [None]

    def catena() -> None:
        last[0] = ct.simulate(
            system, q, v, duration, integrator=ours, step=STEP, samples=2, progress=False, check=False
        )

    few = slice(None, LOOKED_AT)
    exact = ct.simulate(
        system, q[few], v[few], duration, integrator="dop853", rtol=1e-12, atol=1e-13, samples=2, check=False
    )
    mujoco = mujoco_rollout(mechanism, q, v, theirs, STEP, steps, threads)
    return (catena, lambda: last[0].q[:, -1]), mujoco, exact.q[:, -1]
