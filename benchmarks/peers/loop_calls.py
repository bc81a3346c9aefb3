"""Forward dynamics with loops in other engines, as calls without arguments, ready to be timed.

Pinocchio's `constraintDynamics` is called from Python once for each state, since it has no batched form; its inputs
are translated before. MuJoCo's `mj_forward` is called in a loop of machine code.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.peers import mujoco_calls
from benchmarks.peers.coordinates import Coordinates
from benchmarks.peers.loops import holds, spanning_tree
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.pinocchio_loops import pinocchio_loops

Array = NDArray[np.float64]
# Pinocchio's proximal settings: the regularisation that its documentation uses, and enough iterations to converge.
ACCURACY, REGULARISATION, ITERATIONS = 1e-12, 1e-10, 10


def pinocchio_batch(
    system: Any, q: Array, v: Array, tau: Array, planar: bool = False,
    accuracy: float = ACCURACY, mu: float = REGULARISATION, iterations: int = ITERATIONS,
) -> tuple[Callable[[], Array], Coordinates]:  # fmt: skip
    """`constraintDynamics` for every state; the call returns Pinocchio's accelerations (batch, nv)."""
    loops = pinocchio_loops(system, planar)
    model, models, datas, to = loops.model, loops.constraints, loops.datas, loops.to
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(accuracy, mu, iterations)
    states = list(zip(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)))
    result = np.empty((len(states), model.nv))

    def call() -> Array:
        for k, (q_k, v_k, tau_k) in enumerate(states):
            result[k] = pin.constraintDynamics(model, data, q_k, v_k, tau_k, models, datas, settings)
        return result

    return call, to


def mujoco_batch(
    system: Any, q: Array, v: Array, tau: Array, planar: bool = False
) -> tuple[Callable[[], Array], Coordinates]:
    """`mj_forward` for every state with loops as equality constraints; the call returns MuJoCo's accelerations
    (batch, nv)."""
    model, to = to_mujoco(spanning_tree(system), holds(system, planar))
    arguments = (to.configuration(q), to.velocity(q, v), to.effort(q, v, tau))
    return mujoco_calls.batch_of("mj_forward", model, arguments, ("qpos", "qvel", "qfrc_applied"), "qacc"), to
