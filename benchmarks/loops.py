"""Forward dynamics of mechanisms with loops: a batch of states against Pinocchio and MuJoCo, and how the cost grows
with the number of chains."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import catena as ct
from benchmarks.peers.loop_calls import mujoco_batch, pinocchio_batch
from benchmarks.states import closed_states
from benchmarks.table import Comparison, Figure, comparison_table, figure_table
from benchmarks.timing import best_of, exponent
from catena.mechanism.generators import arms_on_object, n_four_bars, stewart, walker

BATCH = 4096
# A state of 160 four-bars or 32 arms takes many times longer than one of a Stewart platform.
SCALING_BATCH = 256

NOT_SHOWN = (
    f"batches too small to fill the lanes; states that the elimination hands to the slower rank-revealing solve; "
    f"the cost of making states closed (64 different ones are repeated to fill {BATCH}). Pinocchio's "
    f"constraintDynamics has no batched form and is called from Python for every state; its translation of "
    f"coordinates is done before, "
    f"and its proximal settings (1e-12, mu 1e-10, at most 10 iterations) give the exact result. Loops are points and "
    f"welds for the peers; in the planar four-bars one point in each loop is all they need. MuJoCo's loops are soft: "
    f"with its default settings, which are timed here, its accelerations are not the exact ones, see the table of "
    f"errors; they come near as its solimp goes to 1."
)
NOT_SHOWN_SCALING = "other shapes than stars and paths; what the peers need."


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    comparisons, errors = [], []
    quadruped = walker()
    contacts = tuple(name for name in quadruped.joints if name.endswith("contact"))
    for name, mechanism, cut, alike, planar, aim in (
        ("Stewart platform", stewart(), (), False, False, 10.0),
        ("two 7-dof arms on an object", arms_on_object(2, 7), ("grip2",), False, False, 8.0),
        ("40 four-bars", n_four_bars(40), (), False, True, 20.0),
        ("quadruped on four feet, floating in the tree", quadruped, contacts, True, False, 5.0),
    ):
        rows, figures = compare(name, mechanism, cut, alike, planar, aim)
        comparisons += rows
        errors += figures
    return "\n".join(
        [
            comparison_table(
                f"Loops: {BATCH} states at once, one thread; time for one state", comparisons, NOT_SHOWN
            ),
            figure_table(
                "Loops: largest error of accelerations against the rank-revealing solve", errors,
                "accelerations after many steps; positions, which MuJoCo pulls back by springs.",
            ),
            scaling(),
        ]
    )  # fmt: skip


def compare(
    name: str, mechanism: Any, cut: tuple[str, ...], alike: bool, planar: bool, aim: float
) -> tuple[list[Comparison], list[Figure]]:
    """Catena and its peers in turns on the same states; `cut` are loop joints that the peers have, and Catena too if it
    is to plan `alike`."""
    theirs = mechanism.system(cut=cut)
    system = theirs if alike else mechanism.system()
    state = closed_states(theirs, BATCH)
    q, v, tau, _ = state
    own = state if system.loops == theirs.loops else _carried(theirs, state, system)
    pinocchio, to_pin = pinocchio_batch(theirs, q, v, tau, planar)
    mujoco, to_mj = mujoco_batch(theirs, q, v, tau, planar)
    rivals: dict[str, Callable[[], Any]] = {
        "catena": lambda: system.forward_dynamics(own.q, own.v, own.tau),
        "pinocchio": pinocchio,
        "mujoco": mujoco,
    }
    exact = theirs.forward_dynamics(q[:64], v[:64], tau[:64], method="kkt")
    ours = rivals["catena"]()[:64]
    shared = [theirs.slice_v(joint) for joint in system.joints]
    errors = {
        "Catena": _error(ours, np.concatenate([exact[:, at] for at in shared], axis=-1)),
        "Pinocchio constraintDynamics": _error(to_pin.catena_acceleration(q, v, pinocchio())[:64], exact),
        "MuJoCo mj_forward": _error(to_mj.catena_acceleration(q, v, mujoco())[:64], exact),
    }
    for who in ("Catena", "Pinocchio constraintDynamics"):
        if not errors[who] < 1e-9:
            raise AssertionError(f"{who} is off by {errors[who]:.1e} of the largest; the times mean nothing.")
    best = {rival: seconds / BATCH for rival, seconds in best_of(rivals, rounds=5).items()}
    work = f"forward dynamics, {name}"
    return [
        Comparison(work, "Pinocchio constraintDynamics", best["catena"], best["pinocchio"], aim),
        Comparison(work, "MuJoCo mj_forward", best["catena"], best["mujoco"], 5.0),
    ], [Figure(f"{who}, {name}", error, "of the largest") for who, error in errors.items()]


def scaling() -> str:
    """How the cost grows with the number of arms on an object and of four-bars in a row."""
    rows = []
    for what, make, sizes in (
        ("arms on an object", partial(arms_on_object, dof=6), (8, 16, 32)),
        ("four-bars", n_four_bars, (10, 20, 40, 80, 160)),
    ):
        calls = {size: _forward(make(size)) for size in sizes}
        best = best_of({str(size): call for size, call in calls.items()}, rounds=7)
        seconds = [best[str(size)] / SCALING_BATCH for size in sizes]
        rows += [Figure(f"{size} {what}", 1e6 * s, "us per state") for size, s in zip(sizes, seconds)]
        slope = exponent(list(sizes), seconds)
        rows.append(Figure(f"{what}, exponent from {sizes[0]} to {sizes[-1]}", slope, "", "<= 1.1"))
    return figure_table(f"Loops: growth, {SCALING_BATCH} states at once, one thread", rows, NOT_SHOWN_SCALING)


def _forward(mechanism: Any) -> Callable[[], Any]:
    system = mechanism.system()
    # Making states closed is dense work, so few are made of large mechanisms.
    q, v, tau, _ = closed_states(system, SCALING_BATCH, distinct=8, spread=0.1)
    return lambda: system.forward_dynamics(q, v, tau)


def _carried(source: Any, state: Any, target: Any) -> Any:
    """The same states in a plan whose tree joints are some of those of `source`; joints that only the source has in
    its tree get no effort in either."""
    q, v, tau, vdot = state
    for joint in source.joints:
        if joint not in target.joints:
            tau[:, source.slice_v(joint)] = 0.0
    parts = [[x[:, at(joint)] for joint in target.joints] for x, at in (
        (q, source.slice_q), (v, source.slice_v), (tau, source.slice_v), (vdot, source.slice_v),
    )]  # fmt: skip
    return type(state)(*(np.ascontiguousarray(np.concatenate(part, axis=-1)) for part in parts))


def _error(ours: Any, exact: Any) -> float:
    return float(np.max(np.abs(ours - exact)) / np.max(np.abs(exact)))
