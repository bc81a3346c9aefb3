"""One state from Python: what a control loop or a plain integrator sees."""

from typing import Any

import catena as ct
from benchmarks.peers import mujoco_calls, pinocchio_calls
from benchmarks.states import random_states
from benchmarks.table import Comparison, comparison_table
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7, humanoid

NOT_SHOWN = (
    "the first call, which may load or compile; calls from C++ or C, where the peers shed Python. "
    "Catena checks its inputs in every call, the peers do not."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = [row for name, make in (("arm7", arm7), ("humanoid", humanoid)) for row in compare(name, make())]
    return comparison_table("One state from Python", rows, NOT_SHOWN)


def compare(name: str, mechanism: Any) -> list[Comparison]:
    """Catena and its peers in turns on the same state."""
    system = mechanism.system()
    q, v, tau, vdot = random_states(system, 1).first()
    seconds = best_of(
        {
            "forward": lambda: system.forward_dynamics(q, v, tau),
            "aba": pinocchio_calls.forward_single(mechanism, q, v, tau),
            "mj_forward": mujoco_calls.forward_single(mechanism, q, v, tau),
            "inverse": lambda: system.inverse_dynamics(q, v, vdot),
            "rnea": pinocchio_calls.inverse_single(mechanism, q, v, vdot),
        }
    )
    forward, inverse = f"forward dynamics, {name}", f"inverse dynamics, {name}"
    return [
        Comparison(forward, "Pinocchio aba", seconds["forward"], seconds["aba"], 1.0),
        Comparison(forward, "MuJoCo mj_forward", seconds["forward"], seconds["mj_forward"]),
        Comparison(inverse, "Pinocchio rnea", seconds["inverse"], seconds["rnea"], 1.0),
    ]
