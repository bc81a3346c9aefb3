"""Beams: frequencies against analytic ones, invariants, shortening, and words for what cannot be."""

import numpy as np
import pytest

from catena.bodies import Beam, few_points
from catena.errors import ModelError

# Roots beta L of the frequency equations of slender beams: 1 + cos cosh = 0, cos cosh = 1, tan = tanh, sin = 0.
ROOTS = {
    "clamped-free": [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.99554073487547],
    "free-free": [4.730040744862704, 7.853204624095838, 10.99560783800167, 14.13716549125746],
    "pinned-free": [3.926602312047919, 7.068582745628732, 10.21017612281303, 13.35176877775409],
    "pinned-pinned": [np.pi, 2 * np.pi, 3 * np.pi, 4 * np.pi],
    "clamped-clamped": [4.730040744862704, 7.853204624095838, 10.99560783800167, 14.13716549125746],
    "clamped-pinned": [3.926602312047919, 7.068582745628732, 10.21017612281303, 13.35176877775409],
}


@pytest.mark.parametrize("ends", ROOTS)
def test_frequencies_of_slender_beams_are_the_analytic_ones(ends):
    beam = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes={"y": 4}, ends=ends)
    unit = np.sqrt(7e10 * 2e-9 / (2700.0 * 1e-4)) / 2.0**2
    np.testing.assert_allclose(beam.frequencies, unit * np.square(ROOTS[ends]), rtol=1e-9)


def test_frequencies_of_extension_and_torsion_are_the_analytic_ones():
    beam = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes={"x": 2, "rx": 2}, torsion=50.0)
    odd = np.array([1.0, 3.0]) * np.pi / 2.0 / 2.0
    expected = [*(odd * np.sqrt(7e10 / 2700.0)), *(odd * np.sqrt(50.0 / (2700.0 * 4e-9)))]
    np.testing.assert_allclose(beam.frequencies, expected, rtol=1e-9)


def test_a_pinned_timoshenko_beam_has_the_analytic_frequencies():
    L, A, second, rho, E, shear = 1.0, 1e-3, 1e-7, 2700.0, 7e10, 2e7
    beam = Beam(L, A, second, rho, E, shear=shear, modes={"y": 3}, ends="pinned-pinned")
    k = np.arange(1, 4) * np.pi / L
    # w^4 rho I rho A - w^2 (rho A (EI k^2 + kGA) + rho I kGA k^2) + kGA EI k^4 = 0
    a, c = rho * second * rho * A, shear * E * second * k**4
    b = rho * A * (E * second * k**2 + shear) + rho * second * shear * k**2
    expected = np.sqrt((b - np.sqrt(b**2 - 4.0 * a * c)) / (2.0 * a))
    np.testing.assert_allclose(beam.frequencies, expected, rtol=1e-9)


def test_a_stiff_timoshenko_beam_is_a_slender_one():
    slender = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes={"z": 3}, rotary=True)
    stiff = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, shear=1e9, modes={"z": 3})
    np.testing.assert_allclose(stiff.frequencies, slender.frequencies, rtol=2e-5)


def test_stations_of_equal_sections_change_nothing_and_a_thick_root_stiffens():
    one = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes={"y": 3})
    same = Beam(2.0, [1e-4] * 3, 2e-9, 2700.0, 7e10, modes={"y": 3}, stations=[0.5, 1.3])
    np.testing.assert_allclose(same.frequencies, one.frequencies, rtol=1e-9)
    thick = Beam(
        2.0, 1e-4, ([4e-9, 2e-9, 2e-9], [4e-9, 2e-9, 2e-9]), 2700.0, 7e10, modes={"y": 3}, stations=[0.5, 1.3]
    )
    assert np.all(thick.frequencies > 1.05 * one.frequencies)


def test_the_shortening_is_what_centrifugal_stiffening_needs():
    beam = Beam(1.0, 1.0, 1.0, 1.0, 1.0, modes={"y": 3})
    some = beam.particles()
    modal_mass = beam.stiffness / beam.frequencies**2
    stiffening = np.einsum("n,n,naa->a", some.mass, some.s[:, 0], -some.B[:, 0]) / modal_mass
    np.testing.assert_allclose(stiffening, [1.19334, 6.47822, 17.85952], atol=5.1e-6)
    hub = np.einsum("n,naa->a", some.mass, -some.B[:, 0]) / modal_mass
    np.testing.assert_allclose(hub, [1.57088, 8.64714, 24.95211], atol=5.1e-6)


@pytest.mark.parametrize("rotary", [False, True])
def test_few_points_have_the_invariants_of_all_particles(rotary):
    beam = Beam(
        1.5, 3e-4, (2e-8, 1e-8), 7800.0, 2e11, modes={"y": 2, "z": 2, "rx": 1}, torsion=900.0, rotary=rotary
    )
    some = beam.particles()
    points = few_points(some)

    def functions(s, S):
        return np.concatenate([np.ones((len(s), 1)), s, S.reshape(len(s), -1)], axis=1)

    many, few = functions(some.s, some.S), functions(points.s, points.S)
    gram = many.T @ (some.mass[:, None] * many)
    scale = np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    np.testing.assert_allclose(points.mass * few.T @ few, gram, atol=1e-13 * scale.max())
    second = np.einsum("n,nf,nicd->ficd", some.mass, many, some.B)
    np.testing.assert_allclose(points.mass * np.einsum("nf,nicd->ficd", few, points.B), second, atol=1e-11)
    assert len(points.s) <= 4 + 3 * beam.modes


def test_mass_and_inertia_are_those_of_a_rod():
    mass, com, inertia = Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes=1).rigid
    np.testing.assert_allclose([mass, *com], [0.54, 1.0, 0.0, 0.0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.diag(inertia), [2700 * 4e-9 * 2, 0.18, 0.18], rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"young": -1.0}, "young = -1"),
        ({"density": float("nan")}, "density = nan"),
        ({"area": 0.0}, "area = 0"),
        ({"length": "long"}, "length = 'long'"),
        ({"inertia": 1e-12}, "Check the units"),
        ({"ends": "glued-free"}, "ends = 'glued-free'"),
        ({"ends": 10**5000}, "ends = .* is not understood"),
        ({"modes": {"up": 2}}, "modes along 'up'"),
        ({"modes": 0}, "no modes at all"),
        ({"modes": {"y": 99}}, "from 0 to 30"),
        ({"modes": {"rx": 1}}, "torsional stiffness"),
        ({"modes": 2, "interface": True}, "2 modes along 'y' are too few for an interface"),
        ({"ends": "pinned-pinned", "modes": 3, "interface": True}, "free far end"),
        ({"stations": [3.0]}, "stations"),
        ({"damping": [0.1, 0.1, 0.1]}, "3 entries for 4 modes"),
    ],
)
def test_unphysical_sections_and_materials_are_refused_in_words(changes, words):
    given = {"length": 2.0, "area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10, **changes}
    with pytest.raises(ModelError, match=words.replace("(", r"\(")):
        Beam(**given)
