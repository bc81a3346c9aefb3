"""Rollouts by MuJoCo: `mujoco.rollout`, the threaded path of its own Python package."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import NDArray

from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.mujoco_runs import INTEGRATORS

Array = NDArray[np.float64]


def mujoco_rollout(
    mechanism: Any, q: Array, v: Array, integrator: str, step: float, steps: int, threads: int
) -> tuple[Callable[[], Any], Callable[[], Array]]:
    """A call that steps every state (batch, n) of a tree, and one that then gives Catena's positions (batch, nq) at
    the end. The place for all states is made before, and threads are kept from call to call."""
    model, to = to_mujoco(mechanism)
    model.opt.integrator, model.opt.timestep = INTEGRATORS[integrator], step
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    # The full state of a model without actuators is time, positions and velocities.
    if size != 1 + model.nq + model.nv:
        raise ValueError(f"MuJoCo's state has {size} numbers; the tree has {1 + model.nq + model.nv}.")
    start = np.concatenate([np.zeros((len(q), 1)), to.configuration(q), to.velocity(q, v)], axis=-1)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    states = np.zeros((len(q), steps, size))

    def call() -> Any:
        rollout.rollout(model, datas, start, nstep=steps, state=states, persistent_pool=True)

    return call, lambda: to.catena_configuration(states[:, -1, 1 : 1 + model.nq])
