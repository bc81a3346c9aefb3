"""Inverse dynamics against other ways to the same forces: H a + bias, J^T w, a carrier that moves, friction."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.forces.smooth import STANDSTILL

SEEDS = range(12)


def transposed_times(J, w):
    return np.einsum("...ij,...i->...j", J, w)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(mixed, agree, seed):
    system = mixed(seed, friction=bool(seed % 3)).system()
    q, v, _, vdot = random_states(system, 3, seed)
    H, bias = system.mass_matrix(q), system.bias_force(q, v)
    agree(
        np.einsum("bij,bj->bi", H, vdot) + bias,
        system.inverse_dynamics(q, v, vdot),
        1e-14,
        np.abs(bias).max(),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_on_bodies_and_frames_act_through_jacobians(mixed, agree, seed):
    """tau with wrenches is tau without them less the sum of J^T w; both for bodies and for frames."""
    system = mixed(seed).system()
    q, v, _, vdot = random_states(system, 3, seed)
    random = np.random.default_rng(seed)
    wrenches = {name: 10.0 * random.normal(size=(3, 6)) for name in ("body2", "tool2", "body9", "tool5")}
    free = system.inverse_dynamics(q, v, vdot)
    felt = sum(transposed_times(system.jacobian(q, name), w) for name, w in wrenches.items())
    ours = system.inverse_dynamics(q, v, vdot, f_ext=wrenches)
    agree(ours, free - felt, 1e-13, np.abs(free).max())
    agree(system.bias_force(q, v, f_ext=wrenches), system.bias_force(q, v) - felt, 1e-13, np.abs(free).max())


def test_a_wrench_on_ground_is_taken_by_ground(mixed):
    system = mixed(4).system()
    q, v, tau, _ = random_states(system, 2, 4)
    pushed = system.forward_dynamics(q, v, tau, f_ext={"ground": np.ones(6)})
    np.testing.assert_allclose(pushed, system.forward_dynamics(q, v, tau), rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_linear_acceleration_of_the_base_is_a_gravity_the_other_way(mixed, agree, seed):
    mechanism = mixed(seed)
    q, v, _, vdot = random_states(mechanism.system(), 3, seed)
    a = np.random.default_rng(seed).normal(size=3)
    ours = mechanism.system().inverse_dynamics(q, v, vdot, base_acceleration=[0, 0, 0, *a])
    mechanism.gravity = mechanism.gravity - a
    agree(ours, mechanism.system().inverse_dynamics(q, v, vdot), 1e-14)


def on_a_carrier(mechanism):
    """The mechanism on a carrier that floats, with the Free joint of the carrier first."""
    moved = ct.Mechanism("carried", gravity=mechanism.gravity)
    moved.add_body("carrier", mass=1.0, inertia=1.0)
    moved.add_joint("base", "ground", "carrier", ct.Free())
    for body in list(mechanism.bodies.values())[1:]:
        moved.add_body(body.name, body.mass, body.com, body.inertia)
    for j in mechanism.joints.values():
        parent, child = ("carrier" if name == "ground" else name for name in (j.parent, j.child))
        moved.add_joint(j.name, parent, child, j.kind, j.in_parent, j.in_child, j.damping, j.friction)
    return moved


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prescribed_base_acceleration_is_that_of_a_carrier(mixed, agree, seed):
    """The same mechanism on a floating body at rest that is given this acceleration, angular part included."""
    mechanism = mixed(seed, friction=True)
    system, carried = mechanism.system(), on_a_carrier(mechanism).system()
    q, v, _, vdot = random_states(system, 3, seed)
    a = np.random.default_rng(seed).normal(size=(3, 6))
    Q = np.concatenate([np.broadcast_to(ct.Free().neutral(), (3, 7)), q], axis=1)
    V = np.concatenate([np.zeros((3, 6)), v], axis=1)
    expected = carried.inverse_dynamics(Q, V, np.concatenate([a, vdot], axis=1))[:, 6:]
    ours = system.inverse_dynamics(q, v, vdot, base_acceleration=a)
    agree(ours, expected, 1e-13)
    # Forward dynamics with the same moving base gives the accelerations back.
    back = system.forward_dynamics(q, v, ours, base_acceleration=a)
    agree(system.inverse_dynamics(q, v, back, base_acceleration=a), ours, 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_friction_is_damping_times_v_and_coulomb_against_the_motion(mixed, agree, seed):
    mechanism = mixed(seed, friction=True)
    smooth = ct.Mechanism("smooth", gravity=mechanism.gravity)
    for body in list(mechanism.bodies.values())[1:]:
        smooth.add_body(body.name, body.mass, body.com, body.inertia)
    for j in mechanism.joints.values():
        smooth.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child)
    system = mechanism.system()
    q, v, _, vdot = random_states(system, 3, seed)
    v[0, ::2] = 0.0
    expected = np.zeros_like(v)
    for name in system.joints:
        joint, part = mechanism.joints[name], system.slice_v(name)
        expected[:, part] = joint.damping * v[:, part] + joint.friction * np.sign(v[:, part])
    tau = smooth.system().inverse_dynamics(q, v, vdot)
    agree(system.inverse_dynamics(q, v, vdot) - tau, expected, 1e-13, np.abs(tau).max())
    assert np.any(expected != 0.0)


def test_no_friction_at_rest(mixed):
    """Coulomb friction at v = 0 takes nothing, so bias forces at rest are gravity alone; from the standstill on it is
    there whole, and a velocity of rounding, which is no motion, meets next to none of it."""
    rough = mixed(3, friction=True)
    system = rough.system()
    q = random_states(system, 2, 3).q
    coulomb, damping = (
        np.concatenate([getattr(rough.joints[name], what) for name in system.joints])
        for what in ("friction", "damping")
    )
    at_rest = system.bias_force(q, np.zeros((2, system.nv)))

    def taken(speed):
        # Coriolis forces are the same both ways, friction is not.
        both = [system.bias_force(q, np.full((2, system.nv), s * speed)) for s in (1.0, -1.0)]
        return 0.5 * (both[0] - both[1]) - damping * speed

    np.testing.assert_allclose(taken(STANDSTILL), np.broadcast_to(coulomb, at_rest.shape), atol=1e-12)
    assert np.all(np.abs(taken(1e-15)) < 1e-11)
