"""Vector sine and cosine against references of more precision: at most 2 units in the last place anywhere.

The reference reduces the argument by an integer multiple of pi/2 in integer arithmetic with 1400 bits of pi,
and takes sine and cosine of the remainder in extended precision. It owes nothing to any other range reduction.
"""

from fractions import Fraction
from math import pi

import casadi
import numpy as np
import pytest

BITS = 1400

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="this platform has no floating-point type wider than float64"
)


def inverse_tangent(k):
    """arctan(1/k) times 2^BITS, rounded."""
    term = total = (1 << BITS + 32) // k
    n = 1
    while term:
        term //= -k * k
        n += 2
        total += term // n
    return total >> 32


HALF_PI = 2 * (4 * inverse_tangent(5) - inverse_tangent(239))  # Machin


def reference(x):
    """Sine and cosine of a float64 in extended precision."""
    numerator, denominator = float(x).as_integer_ratio()
    scaled = (numerator << BITS) // denominator
    quadrant = (2 * scaled + HALF_PI) // (2 * HALF_PI)
    rest = Fraction(scaled - quadrant * HALF_PI, 1 << BITS) if x > 1e-3 or x < -1e-3 else Fraction(x)
    head = float(rest)
    r = np.longdouble(head) + np.longdouble(float(rest - Fraction(head)))
    s, c = np.sin(r), np.cos(r)
    return [(s, c), (c, -s), (-s, -c), (-c, s)][quadrant % 4]


def units_in_the_last_place(ours, exact):
    """The error in units of the distance of neighbouring float64 at the exact value."""
    spacing = np.spacing(np.abs(exact).astype(np.float64)).astype(np.longdouble)
    return np.abs(ours.astype(np.longdouble) - exact) / spacing


@pytest.fixture(scope="module")
def sincos(compile_expressions):
    x = casadi.SX.sym("x")
    return compile_expressions([casadi.sin(x), casadi.cos(x)], [x])


def near_multiples_of_half_pi(largest, n, random):
    """Multiples of pi/2 up to `largest`, rounded to float64, and their neighbours."""
    k = random.integers(1, int(largest / (pi / 2)), n)
    nearest = np.array([float(Fraction(int(i) * HALF_PI, 1 << BITS)) for i in k])
    # Some are pi/2 times a power of two: the closest calls there are.
    nearest[:20] = pi / 2 * 2.0 ** np.arange(-1, 19)
    return np.concatenate(
        [nearest, np.nextafter(nearest, np.inf), np.nextafter(nearest, 0.0), nearest + 1e-9]
    )


def samples(name, random):
    if name == "small":
        return np.concatenate([10.0 ** random.uniform(-300, -3, 500), [5e-324, 1e-310, 2.0**-27, 2.0**-26]])
    if name == "ordinary":
        return np.concatenate(
            [random.uniform(0, 7, 2000), random.uniform(0, 1e4, 1000), random.uniform(0, 1e6, 1000)]
        )
    if name == "near multiples of pi/2":
        return near_multiples_of_half_pi(1e6, 1000, random)
    if name == "up to the slow path":
        return np.concatenate(
            [random.uniform(1e6, 2.0**30, 2000), near_multiples_of_half_pi(2.0**30, 500, random), [2.0**30]]
        )
    return np.concatenate(
        [10.0 ** random.uniform(10, 300, 1000), [np.nextafter(2.0**30, np.inf), 2.0**1023, 1.7e308]]
    )


@pytest.mark.parametrize(
    "name", ["small", "ordinary", "near multiples of pi/2", "up to the slow path", "huge"]
)
def test_sine_and_cosine_are_within_two_units_in_the_last_place(sincos, name):
    x = samples(name, np.random.default_rng(3))
    x = np.concatenate([x, -x])
    exact = np.array([reference(value) for value in x]).T
    errors = units_in_the_last_place(sincos(x), exact)
    assert errors.max() < 2.0, (
        f"sin or cos of {x[errors.max(axis=0).argmax()]!r} is off by {errors.max():.2f} ulp"
    )


def test_the_reference_is_right_where_the_answer_is_known():
    """sin and cos at pi/6 and at a famous hard case: 6381956970095103 * 2^797 is closest to a multiple of pi/2."""
    s, c = reference(pi / 6)
    assert abs(float(s) - 0.5) < 2e-16 and abs(float(c) - 3**0.5 / 2) < 2e-16
    s, c = reference(6381956970095103.0 * 2.0**797)
    assert float(c) == pytest.approx(-4.6871659242546277e-19, rel=1e-15)
    assert abs(float(s)) == 1.0


def test_zero_keeps_its_sign_and_gives_exact_values(sincos):
    s, c = sincos(np.array([0.0, -0.0]))
    assert s.tolist() == [0.0, 0.0] and np.signbit(s).tolist() == [False, True]
    assert c.tolist() == [1.0, 1.0]


def test_infinity_and_nan_become_nan(sincos):
    assert np.isnan(sincos(np.array([np.inf, -np.inf, np.nan]))).all()


def test_a_huge_argument_leaves_its_neighbours_in_the_vector_right(sincos):
    """One lane on the slow path takes the whole vector there; all of them stay right."""
    x = np.array([0.1, 1e22, -2.5, 1e300, 1e6, 3.0, 5e9, -7.0])
    exact = np.array([reference(value) for value in x]).T
    assert units_in_the_last_place(sincos(x), exact).max() < 2.0
