"""Operational-space inertia by force propagation against the same by the mass matrix and the Jacobian."""

import numpy as np
import pytest

from benchmarks.states import random_states

SEEDS = range(12)
FRAMES = ["body9", "tool6", "body1"]


@pytest.mark.parametrize("seed", SEEDS)
def test_omega_is_the_inverse_mass_matrix_times_the_transposed_jacobian(mixed, agree, seed):
    system = mixed(seed).system()
    q = random_states(system, 3, seed).q
    H = system.mass_matrix(q)
    for frame in FRAMES:
        J = system.jacobian(q, frame)
        expected = np.linalg.solve(H, np.swapaxes(J, 1, 2))
        agree(system.operational_space(q, frame)[1], expected, 1e-15 * max(np.linalg.cond(H).max(), 1e2))


@pytest.mark.parametrize("seed", SEEDS)
def test_h_omega_is_the_transposed_jacobian(mixed, agree, seed):
    """Without solving anything."""
    system = mixed(seed).system()
    q = random_states(system, 3, seed).q
    H = system.mass_matrix(q)
    for frame in FRAMES:
        omega = system.operational_space(q, frame)[1]
        J = system.jacobian(q, frame)
        agree(H @ omega, np.swapaxes(J, 1, 2), 1e-13, np.abs(H).max() * np.abs(omega).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_lambda_inverse_is_the_jacobian_times_omega(mixed, agree, seed):
    system = mixed(seed).system()
    q = random_states(system, 3, seed).q
    for frame in FRAMES:
        lambda_inv, omega = system.operational_space(q, frame)
        agree(system.jacobian(q, frame) @ omega, lambda_inv, 1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_lambda_inverse_is_symmetric(mixed, agree, seed):
    system = mixed(seed).system()
    lambda_inv, _ = system.operational_space(random_states(system, 3, seed).q, "tool9")
    agree(lambda_inv, np.swapaxes(lambda_inv, 1, 2), 1e-13)
    eigenvalues = np.linalg.eigvalsh(0.5 * (lambda_inv + np.swapaxes(lambda_inv, 1, 2)))
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wrench_accelerates_the_frame_by_lambda_inverse(mixed, agree, seed):
    """What forward dynamics makes of a wrench on the frame, in joint space and at the frame."""
    system = mixed(seed).system()
    q, v, tau, _ = random_states(system, 3, seed)
    w = np.random.default_rng(seed).normal(size=(3, 6))
    for frame in FRAMES:
        gained = system.forward_dynamics(q, v, tau, f_ext={frame: w}) - system.forward_dynamics(q, v, tau)
        lambda_inv, omega = system.operational_space(q, frame)
        scale = np.abs(system.forward_dynamics(q, v, tau)).max()
        agree(gained, np.einsum("bij,bj->bi", omega, w), 1e-12, scale)
        at_frame = np.einsum("bij,bj->bi", system.jacobian(q, frame), gained)
        agree(at_frame, np.einsum("bij,bj->bi", lambda_inv, w), 1e-12, scale)


def test_ground_does_not_yield(mixed):
    system = mixed(1).system()
    lambda_inv, omega = system.operational_space(random_states(system, 2, 1).q, "ground")
    assert not np.any(lambda_inv) and not np.any(omega)
