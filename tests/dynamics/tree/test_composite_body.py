"""The joint-space inertia: two ways, against energies, against the forces it stands for, and its rate."""

import numpy as np
import pytest

from benchmarks.states import random_states
from catena.mechanism.generators import chain

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_composite_bodies_and_the_structurally_recursive_method_agree(mixed, agree, seed):
    system = mixed(seed).system()
    q = random_states(system, 3, seed).q
    agree(system.mass_matrix(q, "composite_body"), system.mass_matrix(q, "structurally_recursive"), 1e-14)


@pytest.mark.parametrize("method", ["inertia_projection", "modified_composite_body"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_other_methods_of_the_thesis_agree(mixed, agree, seed, method):
    system = mixed(seed).system()
    q = random_states(system, 2, seed).q
    H = system.mass_matrix(q)
    agree(system.mass_matrix(q, method), H, 1e-13)
    agree(system.mass_matrix(q[0], method), H[0], 1e-13)
    if seed < 2:
        agree(system.equations("mass_matrix", method=method)(q[0]), H[0], 1e-13)


def test_what_the_methods_of_the_thesis_cost():
    """Inertia projection is of third order in the number of joints, composite bodies of second (Lilly and Orin)."""
    counts = {
        (method, n): chain(n).system().equations("mass_matrix", method=method).count().folded.total
        for method in ("inertia_projection", "modified_composite_body", "composite_body")
        for n in (4, 8, 12)
    }
    for n in (8, 12):
        assert counts["inertia_projection", n] > counts["composite_body", n] > 0
        assert counts["inertia_projection", n] > counts["modified_composite_body", n]
    third, second = (
        [counts[method, n] for n in (4, 8, 12)]
        for method in ("inertia_projection", "modified_composite_body")
    )
    assert third[2] / third[1] > second[2] / second[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_are_the_forces_that_unit_accelerations_take(mixed, agree, seed):
    system = mixed(seed).system()
    q = random_states(system, 1, seed).first().q
    rest = np.zeros(system.nv)
    columns = system.inverse_dynamics(q, rest, np.eye(system.nv)) - system.bias_force(q, rest)
    agree(columns.T, system.mass_matrix(q), 1e-14, np.abs(system.bias_force(q, rest)).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mass_matrix_is_symmetric_and_positive_definite(mixed, agree, seed):
    system = mixed(seed).system()
    H = system.mass_matrix(random_states(system, 3, seed).q)
    agree(H, np.swapaxes(H, 1, 2), 1e-15)
    assert np.linalg.eigvalsh(H).min() > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_is_half_v_h_v(mixed, agree, seed):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 3, seed)
    H = system.mass_matrix(q)
    agree(0.5 * np.einsum("bi,bij,bj->b", v, H, v), system.kinetic_energy(q, v), 1e-14)


def bracket(system, v, w):
    """The Lie bracket of two constant velocities, shape (..., nv): nonzero where v is not the rate of coordinates."""
    result = np.zeros(np.broadcast_shapes(v.shape, w.shape))
    for name in system.joints:
        part = system.slice_v(name)
        a, b = v[..., part], w[..., part]
        match type(system.mechanism.joints[name].kind).__name__:
            case "Spherical":
                result[..., part] = np.cross(a, b)
            case "Free":
                angular = np.cross(a[..., :3], b[..., :3])
                linear = np.cross(a[..., :3], b[..., 3:]) + np.cross(a[..., 3:], b[..., :3])
                result[..., part] = np.concatenate([angular, linear], axis=-1)
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_the_mass_matrix_is_c_plus_c_transposed(mixed, agree, derivative, seed):
    """Hdot = C + C^T, with C taken from the bias force and Hdot from differences of H.

    The bias force without gravity is a quadratic form b(v) = C(v) v. Polarised, b(u, w) = (b(u + w) - b(u) -
    b(w)) / 2 is the symmetric part of the connection; C(v) w = b(v, w) + H [v, w] / 2 is that connection
    itself, with the bracket of the joint's own velocity fields. For coordinates with v = dq/dt these are the
    Christoffel symbols. So every entry of the Coriolis terms is tested, not only their power.
    """
    mechanism = mixed(seed)
    mechanism.gravity = (0.0, 0.0, 0.0)
    system = mechanism.system()
    q, v, _, _ = random_states(system, 1, seed).first()
    directions = np.eye(system.nv)
    b = lambda u: system.bias_force(q, u)  # noqa: E731
    polarised = 0.5 * (b(v + directions) - b(v) - b(directions))
    H = system.mass_matrix(q)
    C = (polarised + 0.5 * bracket(system, v, directions) @ H).T
    rate = derivative(lambda t: system.mass_matrix(system.integrate(q, v, t)))
    agree(C + C.T, rate, 1e-10, np.abs(H).max())
    agree(C @ v, b(v), 1e-13, np.abs(b(v + directions)).max())
