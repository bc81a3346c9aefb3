"""The kind of joint that material points of flexible bodies have."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from catena.bodies import Shapes
from catena.joints import check_joint_kind
from catena.joints.modal import material_point

RNG = np.random.default_rng(5)
S, R, B = RNG.normal(size=(3, 3)), 0.5 * RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3, 3))
B = B + B.transpose(0, 2, 1)
PRODUCTS = tuple(combinations_with_replacement(range(3), 4))


F = RNG.normal(size=(3, 15))
F[1] = 0.0


@pytest.mark.parametrize("turns", [0.0, 1.0])
@pytest.mark.parametrize(("bends", "lifts"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_material_points_keep_the_joint_contract_on_both_sides(turns, bends, lifts):
    kind = material_point(S, turns * R, bends * B, F=lifts * F, products=PRODUCTS)
    check_joint_kind(kind)
    check_joint_kind(kind.flip())


def test_the_restoring_force_is_the_slope_of_the_energy():
    kind = material_point(
        S, R, B, stiffness=(2.0, 3.0, 5.0), hardening=tuple(RNG.normal(size=15)), products=PRODUCTS
    )
    q, h = RNG.normal(size=3), 1e-5
    slopes = [(kind.energy(q + h * e) - kind.energy(q - h * e)) / (2.0 * h) for e in np.eye(3)]
    np.testing.assert_allclose(kind.restoring(q), slopes, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(kind.flip().restoring(q), slopes, rtol=1e-8, atol=1e-8)
    assert material_point(S, R, B).restoring(q) is None


def test_the_displacement_of_fourth_order_is_the_sum_of_its_products():
    kind, q = material_point(0.0 * S, 0.0 * R, 0.0 * B, F=F, products=PRODUCTS), RNG.normal(size=3)
    expected = F @ [np.prod(q[list(p)]) for p in PRODUCTS]
    np.testing.assert_allclose(kind.displacement(q), expected, rtol=1e-13)
    shapes = Shapes(0.0 * S, 0.0 * R, 0.0 * B, F)
    np.testing.assert_allclose(shapes.displacement(q, PRODUCTS), expected, rtol=1e-13)


def test_rotations_agree_with_the_exponential_to_second_order():
    from catena.spatial import log

    kind = material_point(np.zeros((3, 3)), np.eye(3), np.zeros((3, 3, 3)))
    for size in (1e-2, 1e-1):
        psi = size * np.array([1.0, -2.0, 2.0]) / 3.0
        turned = np.asarray(log(kind.transform(psi)).array, dtype=float)[:3]
        assert np.abs(turned - psi).max() < 0.1 * size**3
