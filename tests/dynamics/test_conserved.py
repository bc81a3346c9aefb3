"""Energies and momentum: body by body, as rates of each other, and what nothing changes."""

import numpy as np
import pytest

from benchmarks.states import random_states
from catena.joints import Sdof
from catena.mechanism.generators import random_mechanism
from catena.spatial import Pose, RigidInertia, Transform

SEEDS = range(12)


def spatial_inertia(body):
    """The 6 x 6 inertia of a body in its own frame."""
    return RigidInertia.from_com(body.mass, body.com, body.inertia).matrix()


def moving_bodies(mechanism):
    return [body for body in mechanism.bodies.values() if body.name != "ground"]


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_is_the_sum_over_bodies(mixed, agree, seed):
    mechanism = mixed(seed)
    system = mechanism.system()
    q, v, _, _ = random_states(system, 3, seed)
    total = 0.0
    for body in moving_bodies(mechanism):
        twist = system.twist(q, v, body.name)
        total = total + 0.5 * np.einsum("bi,ij,bj->b", twist, spatial_inertia(body), twist)
    agree(system.kinetic_energy(q, v), total, 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_is_the_sum_over_bodies(mixed, agree, seed):
    """About the ground's origin in ground axes."""
    mechanism = mixed(seed)
    system = mechanism.system()
    q, v, _, _ = random_states(system, 1, seed).first()
    total = np.zeros(6)
    for body in moving_bodies(mechanism):
        to_body = Transform.from_pose(system.pose(q, body.name)).motion_matrix()
        total += to_body.T @ spatial_inertia(body) @ system.twist(q, v, body.name)
    agree(system.momentum(q, v), total, 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_potential_energy_and_centre_of_mass_are_sums_over_bodies(mixed, agree, seed):
    mechanism = mixed(seed)
    system = mechanism.system()
    # Bodies welded to the ground never move and count for nothing.
    moving = [b for b in moving_bodies(mechanism) if system.plan.body_node[b.name] > 0]
    q = random_states(system, 1, seed).first().q
    mass = sum(body.mass for body in moving)
    moment = sum(body.mass * (system.pose(q, body.name) * body.com) for body in moving)
    agree(system.center_of_mass(q), moment / mass, 1e-14)
    agree(system.potential_energy(q), -(mechanism.gravity @ moment), 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_potential_energy_is_the_force_that_holds_against_gravity(
    mixed, agree, derivative, seed
):
    system = mixed(seed).system()
    q = random_states(system, 1, seed).first().q
    directions = np.eye(system.nv)
    gradient = derivative(lambda t: system.potential_energy(system.integrate(q, t * directions)))
    agree(gradient, system.bias_force(q, np.zeros(system.nv)), 1e-11, np.abs(system.potential_energy(q)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_energy_is_the_power_of_all_forces(mixed, agree, derivative, seed):
    """d/dt (T + V) = tau . v - friction losses + power of outside wrenches, along the motion they cause."""
    mechanism = mixed(seed, friction=bool(seed % 3))
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 3, seed)
    wrench = np.random.default_rng(seed).normal(size=(3, 6))
    vdot = system.forward_dynamics(q, v, tau, f_ext={"tool7": wrench})
    # Time runs slowly where accelerations are large, so that the differences stay differences.
    slow = 1.0 / max(1.0, np.abs(vdot).max())

    def energy(t):
        moved = system.integrate(q, v, slow * t)
        return system.kinetic_energy(moved, v + slow * t * vdot) + system.potential_energy(moved)

    power = np.sum(tau * v, axis=1) + np.sum(wrench * system.twist(q, v, "tool7"), axis=1)
    for name in system.joints:
        joint, part = mechanism.joints[name], system.slice_v(name)
        power -= np.sum(joint.damping * v[:, part] ** 2 + joint.friction * np.abs(v[:, part]), axis=1)
    scale = np.abs(system.kinetic_energy(q, v)).max() / slow
    agree(derivative(energy) / slow, power, 1e-11, scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_momentum_is_what_acts_from_outside(mixed, agree, derivative, seed):
    """Gravity, and the reactions of all joints to ground."""
    mechanism = mixed(seed, kinds=["Revolute", "Universal", "Free", "Helical", "Planar"])
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 1, seed).first()
    vdot = system.forward_dynamics(q, v, tau)
    slow = 1.0 / max(1.0, np.abs(vdot).max())
    rate = derivative(lambda t: system.momentum(system.integrate(q, v, slow * t), v + slow * t * vdot)) / slow
    mass = sum(body.mass for body in moving_bodies(mechanism))
    weight = mass * mechanism.gravity
    outside = np.concatenate([np.cross(system.center_of_mass(q), weight), weight])
    reactions = system.reactions(q, v, tau)
    for name, joint in mechanism.joints.items():
        if "ground" in (joint.parent, joint.child):
            at_child = Transform.from_pose(_as_pose(system, q, joint.child) * joint.in_child)
            wrench = at_child.motion_matrix().T @ reactions[name]
            outside += wrench if joint.parent == "ground" else -wrench
    agree(rate, outside, 1e-10, np.abs(system.momentum(q, v)).max() / slow)


def _as_pose(system, q, name):
    return Pose() if name == "ground" else system.pose(q, name)


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_nothing_changes_the_momentum_of_a_floating_mechanism_without_gravity(mixed, agree, derivative, seed):
    """Whatever the joints do among themselves."""
    mechanism = mixed(seed, friction=True)
    mechanism.gravity = (0.0, 0.0, 0.0)
    # Joint 1 floats: neither friction nor actuation may hold it to ground.
    j = mechanism.joints["joint1"]
    mechanism = mechanism.detach("joint1").attach(
        "joint1", j.parent, j.child, j.kind, j.in_parent, j.in_child
    )
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 3, seed)
    tau[:, system.slice_v("joint1")] = 0.0
    vdot = system.forward_dynamics(q, v, tau)
    slow = 1.0 / max(1.0, np.abs(vdot).max())
    rate = derivative(lambda t: system.momentum(system.integrate(q, v, slow * t), v + slow * t * vdot)) / slow
    agree(rate, np.zeros((3, 6)), 1e-11, np.abs(system.momentum(q, v)).max() / slow)


def test_energy_stays_over_a_free_motion():
    """A second of a swinging tree of joints with v = dq/dt, in a thousand classical Runge-Kutta steps."""
    mechanism = random_mechanism(4, 5, ["Revolute", "Helical", "Universal", Sdof("ry", "rz", "dx")])
    system = mechanism.system()
    q, v = system.neutral(), np.full(system.nv, 0.3)
    start = system.kinetic_energy(q, v) + system.potential_energy(q)
    moving, h = 0.0, 1e-3
    for _ in range(1000):
        k1, a1 = v, system.forward_dynamics(q, v)
        k2 = v + 0.5 * h * a1
        a2 = system.forward_dynamics(q + 0.5 * h * k1, k2)
        k3 = v + 0.5 * h * a2
        a3 = system.forward_dynamics(q + 0.5 * h * k2, k3)
        k4 = v + h * a3
        a4 = system.forward_dynamics(q + h * k3, k4)
        q = q + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        v = v + h * (a1 + 2 * a2 + 2 * a3 + a4) / 6
        moving = max(moving, float(system.kinetic_energy(q, v)))
    end = system.kinetic_energy(q, v) + system.potential_energy(q)
    assert abs(end - start) < 1e-8 * moving
