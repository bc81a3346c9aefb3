"""Derivatives of forward dynamics of a batch of states, of trees and with loops, against Pinocchio."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import catena as ct
from benchmarks.peers.loop_calls import ACCURACY, ITERATIONS, REGULARISATION
from benchmarks.peers.pinocchio_loops import pinocchio_loops
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import closed_states, random_states
from benchmarks.table import Comparison, comparison_table
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7, four_bar, humanoid, stewart

# Three matrices of the humanoid take 31 KB for each state, so batches are kept small enough to stay in the caches.
BATCHES = {"arm7": 1024, "humanoid": 256, "stewart": 512, "four_bar": 1024}

NOT_SHOWN = (
    "the cost of new arrays for the results, which are written to those of an earlier call (`out`), as Pinocchio "
    "writes to its own; the translation of coordinates, done before. Pinocchio has no batched form of either and "
    "is called from Python for every state, its matrices staying where they are. Catena's time has forward "
    "dynamics in it, and so does computeABADerivatives; computeConstraintDynamicsDerivatives takes what "
    "constraintDynamics has left, so both are told with their forward dynamics, less it, and Catena's with it against "
    "Pinocchio's without it."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = [tree("arm7", arm7()), tree("humanoid", humanoid())]
    rows += [*loops("stewart", stewart(), False), *loops("four_bar", four_bar(), True)]
    title = "Derivatives of forward dynamics by q, v and tau, one thread; time for one state"
    return comparison_table(title, rows, NOT_SHOWN)


def tree(name: str, mechanism: Any) -> Comparison:
    """Catena and `computeABADerivatives` in turns."""
    batch, system = BATCHES[name], mechanism.system()
    q, v, tau, _ = random_states(system, batch)
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    states = list(zip(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)))
    out = system.forward_dynamics_derivatives(q, v, tau)

    def theirs() -> None:
        for state in states:
            pin.computeABADerivatives(model, data, *state)

    H_inv = pin.computeABADerivatives(model, data, *states[0])[2]
    _agree(np.linalg.eigvalsh(out[2][0]), np.linalg.eigvalsh(0.5 * (H_inv + H_inv.T)))
    rivals: dict[str, Callable[[], Any]] = {
        "catena": lambda: system.forward_dynamics_derivatives(q, v, tau, out=out),
        "pinocchio": theirs,
    }
    best = {rival: seconds / batch for rival, seconds in best_of(rivals, rounds=9).items()}
    peer = "Pinocchio computeABADerivatives"
    return Comparison(f"{name}, {batch} states", peer, best["catena"], best["pinocchio"], 6.0)


def loops(name: str, mechanism: Any, planar: bool) -> list[Comparison]:
    """Catena and `computeConstraintDynamicsDerivatives` in turns."""
    batch, system = BATCHES[name], mechanism.system()
    q, v, tau, _ = closed_states(system, batch)
    peer = pinocchio_loops(system, planar)
    model, models, datas = peer.model, peer.constraints, peer.datas
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(ACCURACY, REGULARISATION, ITERATIONS)
    states = list(zip(peer.to.configuration(q), peer.to.velocity(q, v), peer.to.effort(q, v, tau)))
    out = system.forward_dynamics_derivatives(q, v, tau)

    def dynamics() -> None:
        for state in states:
            pin.constraintDynamics(model, data, *state, models, datas, settings)

    def both() -> None:
        for state in states:
            pin.constraintDynamics(model, data, *state, models, datas, settings)
            pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    rivals: dict[str, Callable[[], Any]] = {
        "catena": lambda: system.forward_dynamics_derivatives(q, v, tau, out=out),
        "catena dynamics": lambda: system.forward_dynamics(q, v, tau),
        "dynamics": dynamics,
        "both": both,
    }
    best = {rival: seconds / batch for rival, seconds in best_of(rivals, rounds=7).items()}
    work, alone = f"{name}, {batch} states", best["both"] - best["dynamics"]
    called = "Pinocchio computeConstraintDynamicsDerivatives"
    return [
        Comparison(
            f"{work}, with dynamics", f"{called} after constraintDynamics", best["catena"], best["both"], 5.0
        ),
        Comparison(f"{work}, less dynamics", called, best["catena"] - best["catena dynamics"], alone, 5.0),
        Comparison(f"{work}, with dynamics", called, best["catena"], alone),
    ]


def _agree(ours: Any, theirs: Any) -> None:
    error = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
    if not error < 1e-8:
        raise AssertionError(f"Results differ by {error:.1e} of the largest; the times mean nothing.")
