"""Rollouts with contacts by MuJoCo: points on the floor, springs and dampers at hinges."""

import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import NDArray

from benchmarks.peers.coordinates import Coordinates
from benchmarks.peers.mujoco_model import to_mjcf, to_mujoco

Array = NDArray[np.float64]
# A point is a ball of this radius [m], whose lowest point it is where the mechanism stands upright.
POINT = 1e-4


def contact_rollout(
    mechanism: Any, frames: list[str], spring: tuple[float, float], q: Array, v: Array, friction: Array, step: float,
    steps: int, threads: int,
) -> tuple[Callable[[], Any], Callable[[], Array]]:  # fmt: skip
    """A call that steps every state (batch, n) of a tree whose `frames` touch the floor with its own friction (batch,),
    with a spring and a damper at each hinge, and one that then gives Catena's positions (batch, nq) at the end.
    Implicit in dampers, with elliptic cones."""
    model, to = _model(mechanism, frames, spring)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, step
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # The stiffest contacts that MuJoCo recommends for a step; those it has by default have errors ten times as large.
    model.geom_solref[:] = 2.0 * step, 1.0
    models = []
    for mu in friction:
        own = copy.copy(model)
        own.geom_friction[:, 0] = mu
        models.append(own)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.concatenate([np.zeros((len(q), 1)), to.configuration(q), to.velocity(q, v)], axis=-1)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    states = np.zeros((len(q), steps, size))

    def call() -> Any:
        rollout.rollout(models, datas, start, nstep=steps, state=states, persistent_pool=True)

    return call, lambda: to.catena_configuration(states[:, -1, 1 : 1 + model.nq])


def _model(
    mechanism: Any, frames: list[str], spring: tuple[float, float]
) -> tuple[mujoco.MjModel, Coordinates]:
    """The model of a tree with a floor, and the translation of coordinates."""
    bare, to = to_mujoco(mechanism)
    system = mechanism.system()
    q = system.neutral()
    data = mujoco.MjData(bare)
    data.qpos[:] = to.configuration(q[None])[0]
    mujoco.mj_kinematics(bare, data)
    text = to_mjcf(mechanism)
    spec = mujoco.MjSpec.from_string(
        text.replace('contact="disable" constraint="disable"', 'contact="enable" constraint="enable"')
    )
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=2)
    for frame in frames:
        body = _body_of(system, bare, data, frame)
        R, p = data.xmat[body].reshape(3, 3), data.xpos[body]
        local = R.T @ (system.pose(q, frame).p + np.array([0.0, 0.0, POINT]) - p)
        spec.bodies[body].add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[POINT, 0, 0],
            pos=local,
            contype=2,
            conaffinity=1,
            mass=0.0,
        )
    model = spec.compile()
    hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    model.jnt_stiffness[hinges], model.dof_damping[model.jnt_dofadr[hinges]] = spring
    return model, to


def _body_of(system: Any, model: Any, data: Any, frame: str) -> int:
    """The number of the body that carries a frame: the one whose mass centre is that of its node."""
    node = system.plan.body_pose[frame][0]
    name = system.plan.bodies[node][0]
    body = system.mechanism.bodies[name]
    pose = system.pose(system.neutral(), name)
    centre = pose.p + pose.R @ np.asarray(body.com)
    return int(np.argmin(_apart(model, data, centre)))


def _apart(model: Any, data: Any, centre: Array) -> Array:
    """How far the mass centres of all bodies but the world are from a point."""
    at = np.array(
        [data.xpos[k] + data.xmat[k].reshape(3, 3) @ model.body_ipos[k] for k in range(model.nbody)]
    )
    at[0] = np.inf
    return np.asarray(np.linalg.norm(at - centre, axis=1))
