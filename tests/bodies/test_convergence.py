"""How fast the results of beams converge over the number of modes and of segments, with fitted orders."""

import numpy as np
import pytest
from scipy.linalg import eigh

import catena as ct
from catena.bodies import Beam


def first_frequency(modes, interface=False):
    """The first frequency of a cantilever with a tip mass as heavy as itself, in units of sqrt(EI / (m L^3))."""
    beam = Beam(1.0, 1e-4, 1e-9, 1e4, 1e9, modes={"y": modes}, interface=interface)
    tip = beam.shapes((1.0, 0.0, 0.0)).S[1]
    M = np.diag(beam.stiffness / beam.frequencies**2) + np.outer(tip, tip)
    return np.sqrt(eigh(np.diag(beam.stiffness), M, eigvals_only=True)[0])


def test_a_tip_mass_is_felt_with_the_third_power_of_the_number_of_modes():
    counts = np.array([2, 4, 8, 16])
    errors = np.array([first_frequency(k) for k in counts]) - 1.557297861
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert order == pytest.approx(3.0, abs=0.2)
    # Two of the modes as shapes of the interface do what hundreds of others would.
    assert abs(first_frequency(4, interface=True) - 1.557297861) < 1e-3 * errors[1]


def test_segments_have_the_frequencies_of_modes_with_the_square_of_their_number():
    beam = Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 1})
    errors = []
    for n in (4, 8, 16):
        m = ct.segmented(beam, n, "y")
        m.gravity = (0.0, 0.0, 0.0)
        s = m.system()
        q = s.neutral()
        # Springs are all there is of stiffness; bending angles are the coordinates.
        K = np.diag([spring.stiffness[0] for spring in m.springs.values()])
        errors.append(1.0 - np.sqrt(eigh(K, s.mass_matrix(q), eigvals_only=True)[0]) / beam.frequencies[0])
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.05)
    assert errors[0] == pytest.approx(2.8e-2, rel=0.02)
