"""The converters to Pinocchio and MuJoCo, against each other: what Catena is compared with must itself be
right.

Accelerations of both engines, translated to Catena's coordinates, must be the same on random trees over all
joint kinds that both have, with joints declared in both directions. No dynamics of Catena takes part.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from benchmarks.peers.mujoco_model import to_mjcf, to_mujoco
from benchmarks.peers.pinocchio_model import to_pinocchio
from catena.mechanism.generators import humanoid, random_mechanism

SHARED = ["Fixed", "Revolute", "Prismatic", "Cylindrical", "Universal", "Spherical", "Planar", "Free", "Sdof"]
STATES = 3


def random_state(mechanism, seed):
    """Positions, velocities and efforts (STATES, n) in the order in which the joints were added."""
    random = np.random.default_rng(seed)
    kinds = [joint.kind for joint in mechanism.joints.values() if joint.locked_at is None]
    q = [
        np.concatenate([kind.integrate(kind.neutral(), random.normal(size=kind.nv)) for kind in kinds])
        for _ in range(STATES)
    ]
    v, tau = random.normal(size=(2, STATES, sum(kind.nv for kind in kinds)))
    return np.array(q, dtype=float), v, tau


def pinocchio_accelerations(mechanism, q, v, tau):
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    states = zip(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau))
    return to.catena_acceleration(q, v, np.array([pin.aba(model, data, *state).copy() for state in states]))


def mujoco_accelerations(mechanism, q, v, tau):
    model, to = to_mujoco(mechanism)
    data = mujoco.MjData(model)
    result = []
    for state in zip(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = state
        mujoco.mj_forward(model, data)
        result.append(data.qacc.copy())
    return to.catena_acceleration(q, v, np.array(result))


def relative_error(a, b):
    return np.max(np.abs(a - b)) / np.max(np.abs(b))


@pytest.mark.parametrize("seed", range(60))
def test_forward_dynamics_of_pinocchio_and_of_mujoco(seed):
    kinds = SHARED if seed >= len(SHARED) else ["Revolute", SHARED[seed]]
    mechanism = random_mechanism(seed, 8, kinds, floating=bool(seed % 2), friction=bool(seed % 3))
    q, v, tau = random_state(mechanism, seed)
    ours = pinocchio_accelerations(mechanism, q, v, tau)
    assert relative_error(ours, mujoco_accelerations(mechanism, q, v, tau)) < 1e-10


@pytest.mark.parametrize("to_peer", [to_pinocchio, to_mujoco])
@pytest.mark.parametrize("seed", range(10))
def test_translation_there_and_back(to_peer, seed):
    mechanism = random_mechanism(seed, bodies=8, kinds=SHARED, floating=bool(seed % 2), friction=True)
    q, v, tau = random_state(mechanism, seed)
    _, to = to_peer(mechanism)
    np.testing.assert_allclose(to.catena_velocity(q, to.velocity(q, v)), v, atol=1e-13)
    np.testing.assert_allclose(to.catena_effort(q, v, to.effort(q, v, tau)), tau, atol=1e-13)
    np.testing.assert_allclose(to.catena_acceleration(q, v, to.acceleration(q, v, tau)), tau, atol=1e-12)
    # A quaternion and its negative are the same rotation; translating once more removes the difference.
    q_peer = to.configuration(q)
    again = to.configuration(to.catena_configuration(q_peer))
    np.testing.assert_allclose(np.abs(again), np.abs(q_peer), atol=1e-13)


@pytest.mark.parametrize("to_peer", [to_pinocchio, to_mujoco])
def test_power_is_the_same_in_both_coordinates(to_peer):
    mechanism = random_mechanism(7, bodies=8, kinds=SHARED, floating=True)
    q, v, tau = random_state(mechanism, 7)
    _, to = to_peer(mechanism)
    power = np.sum(to.effort(q, v, tau) * to.velocity(q, v), axis=-1)
    np.testing.assert_allclose(power, np.sum(tau * v, axis=-1), rtol=1e-12)


def test_pinocchio_rates_are_derivatives_of_its_configurations():
    mechanism = random_mechanism(3, bodies=8, kinds=["Helical", *SHARED], floating=True)
    q, v, _ = random_state(mechanism, 3)
    model, to = to_pinocchio(mechanism)
    step = 1e-6
    kinds = [joint.kind for joint in mechanism.joints.values()]
    moved = []
    for sign in (1.0, -1.0):
        parts, i, k = [], 0, 0
        for kind in kinds:
            parts.append(kind.integrate(q[0, i : i + kind.nq], sign * step * v[0, k : k + kind.nv]))
            i, k = i + kind.nq, k + kind.nv
        moved.append(to.configuration(np.concatenate(parts)))
    difference = pin.difference(model, moved[1], moved[0]) / (2 * step)
    np.testing.assert_allclose(difference, to.velocity(q[0], v[0]), atol=1e-7)


def test_pinocchio_places_bodies_as_catena_defines_it():
    """pose(child) = pose(parent) * in_parent * motion(q) * inverse(in_child), with a helical joint, by
    hand."""
    mechanism = ct.Mechanism("screw")
    mechanism.add_body("nut", mass=1.0, inertia=0.1)
    in_parent = ct.Pose(p=(1.0, 2.0, 3.0), rpy=(0.1, 0.2, 0.3))
    mechanism.add_joint("thread", "ground", "nut", ct.Helical((1, 2, 2), 0.05), in_parent=in_parent)
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    pin.forwardKinematics(model, data, to.configuration(np.array([1.7])))
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    np.testing.assert_allclose(data.oMi[1].translation, in_parent * (0.05 * 1.7 * axis), atol=1e-14)
    np.testing.assert_allclose(data.oMi[1].rotation, in_parent.R @ pin.exp3(1.7 * axis), atol=1e-14)


def test_a_locked_joint_is_a_weld_for_both():
    mechanism = random_mechanism(11, bodies=6, kinds=["Revolute", "Universal"]).lock("joint3")
    q, v, tau = random_state(mechanism, 11)
    ours = pinocchio_accelerations(mechanism, q, v, tau)
    assert relative_error(ours, mujoco_accelerations(mechanism, q, v, tau)) < 1e-10


def test_the_humanoid_keeps_its_mass_and_its_free_base():
    mechanism = humanoid()
    model, _ = to_mujoco(mechanism)
    total = sum(body.mass for body in mechanism.bodies.values())
    assert (model.nq, model.nv) == (37, 36)
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert np.sum(model.body_mass) == pytest.approx(total, rel=1e-14)
    assert pin.computeTotalMass(to_pinocchio(mechanism)[0]) == pytest.approx(total, rel=1e-14)


def test_what_a_peer_cannot_have_is_refused_by_name():
    screw = random_mechanism(0, bodies=2, kinds=["Helical"])
    with pytest.raises(ValueError, match="'joint1' is helical"):
        to_mjcf(screw)
    looped = random_mechanism(0, bodies=3, kinds=["Revolute"], loops=1)
    with pytest.raises(ValueError, match="closes a loop"):
        to_pinocchio(looped)
