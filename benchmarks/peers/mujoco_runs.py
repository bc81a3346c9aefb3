"""Motions by MuJoCo: `mj_step` in its own loop in C, with loops as equality constraints.

They are springs and dampers. Here they are as hard as MuJoCo goes: the impedance is its largest (0.9999), so that the
constraint takes all but 1e-4 of the force, and the time constant of the spring is one or two time steps; shorter ones
are unstable. With two the default protection of MuJoCo agrees, for one it is switched off. Newton's method is exact
after one or two iterations, since equality constraints leave a quadratic problem.
"""

from typing import Any

import mujoco
import numpy as np

from benchmarks.peers.loops import holds, spanning_tree
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.runs import Run

INTEGRATORS = {
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}
IMPEDANCE = 0.9999


def mujoco_run(problem: Any, integrator: str, steps: int, time_constant: float | None) -> Run:
    """A motion of `steps` steps between each two sample times. `time_constant` is that of the loops in steps; None
    leaves all of MuJoCo's settings for constraints as they are."""
    step = problem.duration / (problem.samples * steps)
    model, to = to_mujoco(spanning_tree(problem.system), holds(problem.system, problem.planar))
    model.opt.integrator, model.opt.timestep = INTEGRATORS[integrator], step
    if time_constant is None:
        loops = "default loops"
    else:
        loops = f"time constant of loops {time_constant:g} steps"
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
        model.opt.tolerance = 1e-10
        model.eq_solref[:] = time_constant * step, 1.0
        model.eq_solimp[:] = IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0
    data = mujoco.MjData(model)
    q0, v0 = to.configuration(problem.q), to.velocity(problem.q, problem.v)
    tau = to.effort(problem.q, problem.v, problem.tau)
    visited = np.empty((problem.samples + 1, model.nq))

    def go() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q0, v0, tau
        visited[0] = q0
        for k in range(1, problem.samples + 1):
            mujoco.mj_step(model, data, nstep=steps)
            visited[k] = data.qpos

    return Run(
        "MuJoCo",
        f"{integrator}, step {step:.3g} s, {loops}",
        go,
        lambda: to.catena_configuration(visited),
    )
