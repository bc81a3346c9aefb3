"""Catena against Pinocchio and MuJoCo: forward and inverse dynamics, mass matrices and poses of random trees over
the kinds they share.

Joints are declared in both directions, bases are fixed or free, and two thirds of the trees have viscous
and Coulomb friction. That the two engines agree with each other is tested in test_peers_agree.py.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from benchmarks.peers import mujoco_calls, pinocchio_calls
from benchmarks.peers.links import links
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import random_states
from catena.forces.smooth import STANDSTILL
from catena.joints import Sdof
from catena.mechanism.generators import arm7, humanoid, random_mechanism

# Each ordered choice of motions is a kind of its own to the compiler; some of every length stand for all.
SDOF = [
    Sdof("rx"), Sdof("dy", "rz"), Sdof("ry", "rz", "dx"), Sdof("rz", "rx", "dz", "ry"),
    Sdof("rz", "ry", "rx", "dx", "dy", "dz"),
]  # fmt: skip
MUJOCO = ["Fixed", "Revolute", "Prismatic", "Cylindrical", "Universal", "Spherical", "Planar", "Free", *SDOF]
PINOCCHIO = ["Helical", *MUJOCO]
BATCH = 5
TREES = 60


def random_tree(seed, kinds):
    if seed < 2:
        return (arm7, humanoid)[seed]()
    # The first seeds give every kind a tree of its own, so that a failure names it.
    chosen = [kinds[seed - 2]] if seed - 2 < len(kinds) and kinds[seed - 2] != "Fixed" else kinds
    return random_mechanism(seed, 10, chosen, floating=bool(seed % 2), friction=bool(seed % 3))


def moving_states(system, seed):
    """Random states in which every joint moves: below the standstill our Coulomb friction is less than all of it, and
    what is added to the peers' efforts is the plain sign."""
    q, v, tau, vdot = random_states(system, BATCH, seed)
    return q, np.where(np.abs(v) < STANDSTILL, np.copysign(STANDSTILL, v), v), tau, vdot


def assert_close(ours, theirs):
    """Relative error below 1e-10."""
    assert np.max(np.abs(ours - theirs)) < 1e-10 * np.max(np.abs(theirs))


def link_poses(mechanism, system, q):
    """Poses (4, 4) of the frames that the peers' links have: the far side of the joint that moves the link."""
    poses = system.body_poses(q)
    for link in links(mechanism):
        joint = mechanism.joints[link.joint]
        body, side = (joint.parent, joint.in_parent) if link.flipped else (joint.child, joint.in_child)
        yield link, poses[body] @ side.matrix()


@pytest.mark.parametrize("seed", range(TREES))
def test_pinocchio_forward_and_inverse_dynamics(seed):
    mechanism = random_tree(seed, PINOCCHIO)
    system = mechanism.system()
    q, v, tau, vdot = moving_states(system, seed)
    _, to = to_pinocchio(mechanism)
    theirs = to.catena_acceleration(q, v, pinocchio_calls.forward_batch(mechanism, q, v, tau)().T)
    assert_close(system.forward_dynamics(q, v, tau), theirs)
    theirs = to.catena_effort(q, v, pinocchio_calls.inverse_batch(mechanism, q, v, vdot)().T)
    assert_close(system.inverse_dynamics(q, v, vdot), theirs)


@pytest.mark.parametrize("seed", range(TREES))
def test_pinocchio_mass_matrix_and_poses(seed):
    mechanism = random_tree(seed, PINOCCHIO)
    system = mechanism.system()
    q = random_states(system, 1, seed).first().q
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    M = pin.crba(model, data, to.configuration(q))
    M = np.triu(M) + np.triu(M, 1).T
    T = to.velocity(q, np.eye(system.nv))
    assert_close(system.mass_matrix(q), T @ M @ T.T)
    pin.forwardKinematics(model, data, to.configuration(q))
    for link, pose in link_poses(mechanism, system, q):
        assert_close(pose, data.oMi[model.getJointId(link.joint)].homogeneous)


@pytest.mark.parametrize("make", [arm7, humanoid])
def test_pinocchio_frames_in_all_axes(make):
    """Jacobians, twists and accelerations in the frame's own, ground-aligned and ground axes."""
    mechanism = make()
    system = mechanism.system()
    q, v, _, vdot = (x[0] for x in random_states(system, 1, 4))
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    theirs = to.configuration(q), to.velocity(q, v[None])[0]
    T = to.velocity(q, np.eye(system.nv)).T
    pin.forwardKinematics(model, data, *theirs, T @ vdot)
    pin.computeJointJacobians(model, data, theirs[0])
    names = {"frame": pin.LOCAL, "aligned": pin.LOCAL_WORLD_ALIGNED, "ground": pin.WORLD}
    compared = [
        link for link in links(mechanism)
        if not link.flipped and np.array_equal(mechanism.joints[link.joint].in_child.matrix(), np.eye(4))
    ]  # fmt: skip
    assert compared
    for link in compared[-2:]:
        joint = mechanism.joints[link.joint]
        number = model.getJointId(link.joint)
        for axes, theirs_axes in names.items():
            J = pin.getJointJacobian(model, data, number, theirs_axes)
            linear_first = np.concatenate([J[3:], J[:3]]) @ T
            assert_close(system.jacobian(q, joint.child, axes=axes), linear_first)
            twist = pin.getVelocity(model, data, number, theirs_axes).vector[[3, 4, 5, 0, 1, 2]]
            assert_close(system.twist(q, v, joint.child, axes=axes), twist)
            if axes != "ground":
                a = pin.getClassicalAcceleration(model, data, number, theirs_axes).vector[[3, 4, 5, 0, 1, 2]]
                assert_close(system.acceleration(q, v, vdot, joint.child, axes=axes), a)


@pytest.mark.parametrize("seed", range(TREES))
def test_mujoco_forward_and_inverse_dynamics(seed):
    mechanism = random_tree(seed, MUJOCO)
    system = mechanism.system()
    q, v, tau, vdot = moving_states(system, seed)
    _, to = to_mujoco(mechanism)
    theirs = to.catena_acceleration(q, v, mujoco_calls.forward_batch(mechanism, q, v, tau)())
    assert_close(system.forward_dynamics(q, v, tau), theirs)
    theirs = to.catena_effort(q, v, mujoco_calls.inverse_batch(mechanism, q, v, vdot)())
    assert_close(system.inverse_dynamics(q, v, vdot), theirs)


@pytest.mark.parametrize("seed", range(TREES))
def test_mujoco_mass_matrix_and_poses(seed):
    mechanism = random_tree(seed, MUJOCO)
    system = mechanism.system()
    q = random_states(system, 1, seed).first().q
    model, to = to_mujoco(mechanism)
    data = mujoco.MjData(model)
    data.qpos[:] = to.configuration(q)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv)):
        mujoco.mj_mulM(model, data, column, unit)
    T = to.velocity(q, np.eye(system.nv))
    assert_close(system.mass_matrix(q), T @ M @ T.T)
    for number, (_, pose) in enumerate(link_poses(mechanism, system, q), start=1):
        theirs = np.eye(4)
        theirs[:3, :3], theirs[:3, 3] = data.xmat[number].reshape(3, 3), data.xpos[number]
        assert_close(pose, theirs)
