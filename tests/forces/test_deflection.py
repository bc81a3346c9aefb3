"""Deflections of all joint kinds: their rate is A v, by differences, at small and at large angles."""

import numpy as np
import pytest

from catena.forces.deflection import deflection, is_vector
from catena.joints import KINDS, Free, Spherical

TURNS = (0.0, 1e-8, 0.1, 0.2236, 1.0, 2.0, 3.1)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("kind", [k for k in KINDS if k.nv], ids=lambda k: type(k).__name__)
def test_the_rate_of_a_deflection(kind, flipped, derivative):
    kind = kind.flip() if flipped else kind
    random = np.random.default_rng(0)
    for turn in TURNS:
        origin = kind.integrate(kind.neutral(), random.normal(size=kind.nv))
        d = random.normal(size=kind.nv)
        d *= turn / np.linalg.norm(d[:3])
        q, v = kind.integrate(origin, d), random.normal(size=kind.nv)
        found, A = deflection(kind, origin, q)
        np.testing.assert_allclose(found, d, atol=1e-12)
        rate = derivative(
            lambda h, q=q, v=v, origin=origin: kind.difference(origin, kind.integrate(q, h * v))
        )
        np.testing.assert_allclose(v if A is None else A @ v, rate, atol=1e-9)
        assert (A is None) == is_vector(kind) == (kind.nq == kind.nv)


def test_the_series_and_the_closed_form_meet():
    """On both sides of the angle where one takes over from the other."""
    for kind in (Spherical(), Free()):
        axis = np.random.default_rng(1).normal(size=kind.nv)
        axis /= np.linalg.norm(axis[:3])
        sides = [
            deflection(kind, kind.neutral(), kind.integrate(kind.neutral(), axis * np.sqrt(0.05) * (1 + e)))[
                1
            ]
            for e in (-1e-13, 1e-13)
        ]
        np.testing.assert_allclose(sides[0], sides[1], atol=1e-11)
