"""The Euler tensor and its operators (van der Merwe, 3.3 to 3.75) against sums over particles and vectors."""

import numpy as np
import pytest

import catena as ct
from catena.spatial.euler_tensor import (
    angular_acceleration_tensor,
    angular_momentum_tensor,
    dual,
    dual_vector,
    euler_tensor,
    inertia_tensor,
    shifted_euler_tensor,
    torque_tensor,
)

random = np.random.default_rng(5)
MASSES, POINTS = random.uniform(0.1, 1.0, 20), random.normal(size=(20, 3))
W, W_DOT = random.normal(size=3), random.normal(size=3)


def of_particles(points):
    """J and I by their definitions (3.20, 3.21)."""
    J = np.einsum("k,ki,kj->ij", MASSES, points, points)
    squares = np.einsum("k,ki,ki->", MASSES, points, points)
    return J, squares * np.eye(3) - J


def test_euler_and_inertia_tensors_are_each_others():
    J, inertia = of_particles(POINTS)
    np.testing.assert_allclose(euler_tensor(inertia), J, atol=1e-12)
    np.testing.assert_allclose(inertia_tensor(J), inertia, atol=1e-12)
    centre = MASSES @ POINTS / MASSES.sum()
    about_centre = of_particles(POINTS - centre)[0]
    np.testing.assert_allclose(shifted_euler_tensor(about_centre, MASSES.sum(), centre), J, atol=1e-12)
    np.testing.assert_allclose(euler_tensor(np.stack([inertia] * 2)), [J, J], atol=1e-12)


def test_momentum_and_torque_are_those_of_particles():
    J, _ = of_particles(POINTS)
    velocities = np.cross(W, POINTS)
    momentum = np.einsum("k,ki->i", MASSES, np.cross(POINTS, velocities))
    np.testing.assert_allclose(dual_vector(angular_momentum_tensor(J, W)), momentum, atol=1e-12)
    A = angular_acceleration_tensor(W, W_DOT)
    accelerations = POINTS @ A.T
    np.testing.assert_allclose(accelerations, np.cross(W_DOT, POINTS) + np.cross(W, velocities), atol=1e-12)
    torque = np.einsum("k,ki->i", MASSES, np.cross(POINTS, accelerations))
    np.testing.assert_allclose(dual_vector(torque_tensor(J, W, W_DOT)), torque, atol=1e-11)
    np.testing.assert_allclose(dual(W) @ W_DOT, np.cross(W, W_DOT), atol=1e-15)


def test_a_body_may_be_described_by_its_euler_tensor():
    J, inertia = of_particles(POINTS)
    one, other = (ct.Mechanism(name) for name in "ab")
    made = one.add_body("body", 1.0, euler_tensor=J)
    np.testing.assert_allclose(made.inertia, other.add_body("body", 1.0, inertia=inertia).inertia, atol=1e-12)
    with pytest.raises(ct.ModelError, match="the one or the other"):
        one.add_body("more", 1.0, inertia=0.1, euler_tensor=J)
    with pytest.raises(ct.ModelError, match="3x3"):
        one.add_body("more", 1.0, euler_tensor=[1.0, 2.0])
    with pytest.raises(ct.ModelError, match="'more'"):
        one.add_body("more", 1.0, euler_tensor=-np.eye(3))
