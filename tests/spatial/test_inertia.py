"""Inertias against dense matrices, against sums over point masses, and against the Euler tensor."""

import numpy as np
import pytest

from catena.spatial import (
    ArticulatedInertia,
    ForceSpace,
    Motion,
    MotionSpace,
    RigidInertia,
    Transform,
    cross,
    skew,
    spd_inverse,
)


def of_points(masses, points):
    """Return mass, first moment, inertia tensor and Euler tensor about the origin, by their definitions."""
    total = sum(masses)
    h = sum(m * r for m, r in zip(masses, points, strict=True))
    inertia = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    euler = sum(m * np.outer(r, r) for m, r in zip(masses, points, strict=True))
    return total, h, inertia, euler


@pytest.fixture
def cloud(random):
    return random.rng.uniform(0.1, 2.0, 7), random.vector((7, 3))


def test_parallel_axes_against_point_masses(cloud):
    masses, points = cloud
    total, h, about_origin, _ = of_points(masses, points)
    com = h / total
    _, _, about_com, _ = of_points(masses, points - com)
    body = RigidInertia.from_com(total, com, about_com)
    np.testing.assert_allclose(body.I, about_origin, atol=1e-12)
    np.testing.assert_allclose(body.h, h, atol=1e-13)
    np.testing.assert_allclose(body.com, com, atol=1e-13)
    np.testing.assert_allclose(body.about_com(), about_com, atol=1e-12)


def test_moving_the_frame_moves_the_points(cloud, random):
    masses, points = cloud
    X = random.transform()
    total, h, inertia, _ = of_points(masses, points)
    seen_from_a = points @ X.R + X.p
    _, h_a, inertia_a, _ = of_points(masses, seen_from_a)
    pulled = X.pull(RigidInertia(total, h, inertia))
    np.testing.assert_allclose(pulled.h, h_a, atol=1e-12)
    np.testing.assert_allclose(pulled.I, inertia_a, atol=1e-11)


def test_euler_tensor_is_the_second_moment_and_back(cloud):
    masses, points = cloud
    total, h, inertia, euler = of_points(masses, points)
    body = RigidInertia(total, h, inertia)
    J = body.euler_tensor()
    np.testing.assert_allclose(J, euler, atol=1e-12)
    # (3.30), and (3.22) with the minus sign it needs
    np.testing.assert_allclose(np.trace(J) * np.eye(3) - J, inertia, atol=1e-12)
    np.testing.assert_allclose(
        -sum(m * skew(r) @ skew(r) for m, r in zip(masses, points, strict=True)), inertia, atol=1e-12
    )
    np.testing.assert_allclose(RigidInertia.from_euler_tensor(total, h, J).I, inertia, atol=1e-12)


def test_parallel_axes_of_the_euler_tensor(cloud):
    masses, points = cloud
    total, h, _, euler = of_points(masses, points)
    com = h / total
    _, _, _, about_com = of_points(masses, points - com)
    np.testing.assert_allclose(euler, about_com + total * np.outer(com, com), atol=1e-12)


def test_angular_momentum_and_moment_from_the_euler_tensor(random):
    """Eq. (3.46) without its half, (3.55), (3.67) as corrected, and (3.75)."""
    body = random.rigid()
    I, J = body.I, body.euler_tensor()  # noqa: E741
    w, dw = random.vector(3), random.vector(3)
    momentum = I @ w
    moment = I @ dw + np.cross(w, I @ w)
    np.testing.assert_allclose(-J @ w + np.trace(J) * w, momentum, atol=1e-12)
    np.testing.assert_allclose(J @ skew(w) + skew(w) @ J, skew(momentum), atol=1e-12)
    np.testing.assert_allclose(-(J @ dw + skew(w) @ J @ w) + np.trace(J) * dw, moment, atol=1e-12)
    A = skew(dw) + skew(w) @ skew(w)
    np.testing.assert_allclose(A @ J - (A @ J).T, skew(moment), atol=1e-12)


def test_newton_euler_of_a_turning_body(random):
    """The spatial equation of motion about the mass centre is (3.64) and m a."""
    mass, I_com = 2.0, random.spd(3)
    body = RigidInertia.from_com(mass, np.zeros(3), I_com)
    v, a = Motion(random.vector(6)), Motion(random.vector(6))
    f = body * a + cross(v, body * v)
    w, dw = v.angular, a.angular
    np.testing.assert_allclose(f.angular, I_com @ dw + np.cross(w, I_com @ w), atol=1e-12)
    np.testing.assert_allclose(f.linear, mass * (a.linear + np.cross(w, v.linear)), atol=1e-12)


@pytest.mark.parametrize("make", ["rigid", "articulated"])
def test_products_equal_those_of_the_matrix(make, random, traced):
    inertia, v, A = getattr(random, make)(), random.vector(6), random.vector((6, 2))
    dense = inertia.matrix()
    np.testing.assert_allclose(dense, dense.T)
    np.testing.assert_allclose((inertia * Motion(v)).array, dense @ v, atol=1e-12)
    np.testing.assert_allclose((inertia * MotionSpace(A)).array, dense @ A, atol=1e-12)
    symbolic = traced.twin(inertia) * traced.twin(Motion(v))
    np.testing.assert_allclose(traced.evaluate(symbolic.entries()), dense @ v, atol=1e-12)
    assert traced.operations(symbolic.entries()) <= (42 if make == "rigid" else 66)
    other = getattr(random, make)()
    np.testing.assert_allclose((inertia + other).matrix(), dense + other.matrix())
    np.testing.assert_allclose((inertia - other).matrix(), dense - other.matrix())


def test_velocity_products_are_those_of_the_momentum(random):
    inertia = RigidInertia.from_com(2.0, random.vector(3), np.diag([0.1, 0.2, 0.25]))
    v = Motion(random.vector(6))
    expected = cross(v, inertia * v)
    np.testing.assert_allclose(inertia.velocity_product(v).array, expected.array, rtol=1e-13, atol=1e-14)


def test_linear_velocity_turns_nothing(random):
    inertia = RigidInertia.from_com(2.0, random.vector(3), np.diag([0.1, 0.2, 0.25]))
    v = Motion(np.concatenate([np.zeros(3), 7500.0 * random.vector(3)]))
    assert not np.any(inertia.velocity_product(v).array)


@pytest.mark.parametrize("kind", [RigidInertia, ArticulatedInertia])
def test_entries_make_the_same_inertia_again(kind, random):
    inertia = random.rigid() if kind is RigidInertia else random.articulated()
    entries = inertia.entries()
    assert len(entries) == kind.size
    np.testing.assert_array_equal(kind.from_entries(entries).matrix(), inertia.matrix())
    np.testing.assert_array_equal(kind.zero().matrix(), np.zeros((6, 6)))


def test_entries_of_a_rigid_inertia_are_in_the_documented_order():
    I = np.array([[5.0, 6.0, 7.0], [6.0, 8.0, 9.0], [7.0, 9.0, 10.0]])  # noqa: E741
    assert RigidInertia(1.0, np.array([2.0, 3.0, 4.0]), I).entries() == [float(i) for i in range(1, 11)]


def test_a_rigid_inertia_is_an_articulated_one(random):
    body, v = random.rigid(), Motion(random.vector(6))
    np.testing.assert_array_equal(ArticulatedInertia.from_rigid(body).matrix(), body.matrix())
    np.testing.assert_allclose((ArticulatedInertia.from_rigid(body) * v).array, (body * v).array, atol=1e-12)
    both = random.articulated()
    np.testing.assert_allclose((both + body).matrix(), both.matrix() + body.matrix())


def test_the_mass_centre_of_nothing_is_the_origin():
    np.testing.assert_array_equal(RigidInertia.zero().com, np.zeros(3))
    np.testing.assert_array_equal(RigidInertia.zero().about_com(), np.zeros((3, 3)))


def test_outer_product_of_forces(random, traced):
    A, D = random.vector((6, 3)), random.spd(3)
    expected = A @ D @ A.T
    U = ForceSpace(A)
    np.testing.assert_allclose(ArticulatedInertia.from_outer(U, D).matrix(), expected, atol=1e-12)
    np.testing.assert_allclose((U * D * U.T).matrix(), expected, atol=1e-12)
    symbolic = ArticulatedInertia.from_outer(traced.twin(U), traced.twin_array(D))
    np.testing.assert_allclose(traced.evaluate(symbolic.matrix()), expected, atol=1e-12)


@pytest.mark.parametrize("free", [[2], [5], [2, 5], [0, 1, 2], [0, 1, 2, 3, 4, 5]])
def test_what_is_felt_through_a_joint_resists_no_motion_of_the_joint(free, random):
    inertia = random.articulated()
    S = MotionSpace(np.eye(6)[:, free])
    U = inertia * S
    D_inv = spd_inverse(S.T * U)
    felt = inertia.felt_through(S, U, D_inv)
    expected = (inertia - ArticulatedInertia.from_outer(U, D_inv)).matrix()
    np.testing.assert_allclose(felt.matrix(), expected, atol=1e-12)
    assert (felt.matrix()[:, free] == 0.0).all()


def test_what_is_felt_through_a_slanted_joint_is_the_plain_difference(random):
    inertia = random.articulated()
    S = MotionSpace(random.vector((6, 2)))
    U = inertia * S
    D_inv = spd_inverse(S.T * U)
    felt = inertia.felt_through(S, U, D_inv)
    np.testing.assert_array_equal(felt.matrix(), (inertia - ArticulatedInertia.from_outer(U, D_inv)).matrix())
    np.testing.assert_allclose(felt.matrix() @ S.array, 0.0, atol=1e-11)


def test_kinetic_energy_does_not_depend_on_the_frame(random):
    X: Transform = random.transform()
    body, v = random.rigid(), Motion(random.vector(6))
    there = X * v
    assert v.dot(X.pull(body) * v) == pytest.approx(there.dot(body * there), rel=1e-12)
