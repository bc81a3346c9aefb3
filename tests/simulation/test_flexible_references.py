"""Runs of flexible bodies against converged solutions of others, and segments against modes."""

import numpy as np
import pytest

import catena as ct

# A free-free beam (2 m, 20 x 5 mm, 70 GPa, 2700 kg/m^3) that flies, spins at 4 rad/s and vibrates in its first mode:
# the deflection of its middle from the chord at 0.5, 1.0, 1.5 and 2.0 s, by finite elements of large rotation.
FREE_FREE = [-0.030187, 0.019227, 0.017955, -0.030649]


def test_a_free_free_beam_flies_spins_and_vibrates_as_in_the_reference():
    beam = ct.Beam(
        2.0,
        1e-4,
        (0.005 * 0.02**3 / 12, 0.02 * 0.005**3 / 12),
        2700.0,
        7e10,
        modes={"y": 1},
        ends="free-free",
    )
    m = ct.Mechanism("free", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=beam)
    m.add_joint("fly", "ground", "beam", ct.Free())
    for name, x in (("left", 0.0), ("middle", 1.0), ("right", 2.0)):
        m.add_frame(name, "beam", ct.Pose(p=(x, 0.0, 0.0)))
    s = m.system()
    assert beam.frequencies[0] == pytest.approx(41.10704812988, rel=1e-9)
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("fly")] = [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    root = beam.shapes((0.0, 0.0, 0.0))
    rate = np.array([0.02 * beam.frequencies[0] * np.sign(root.S[1, 0])])
    v[s.slice_v("beam.modes")] = rate
    v[s.slice_v("fly")] = [
        *(np.array([0.0, 0.0, 4.0]) + root.R @ rate),
        *(np.array([1.0, -3.5, 0.0]) + root.S @ rate),
    ]
    assert s.kinetic_energy(q, v) == pytest.approx(1.823124313961, rel=1e-9)
    np.testing.assert_allclose(s.momentum(q, v), [0.0, 0.0, 0.72, 0.54, 0.27, 0.0], atol=1e-9)
    run = ct.simulate(s, q, v, duration=2.0, samples=5)
    left, middle, right = (run.position(name)[1:, :2] for name in ("left", "middle", "right"))
    chord = right - left
    normal = np.stack([-chord[:, 1], chord[:, 0]], axis=1) / np.linalg.norm(chord, axis=1)[:, None]
    found = np.einsum("ti,ti->t", middle - left, normal)
    # The reference says that one mode with geometric stiffening stays within 9e-4.
    np.testing.assert_allclose(found, FREE_FREE, atol=2e-4)
    assert run.energy_drift < 1e-9


# Wu and Haug's cantilever, spun up to 6 rad/s within 15 s: deflections of the tip at 5 and 10 s by geometrically exact
# finite elements. Two modes are off by up to two parts in a hundred, five by two in a thousand.
SPIN_UP = {5.0: -0.6234361, 10.0: -0.4374431}


@pytest.mark.slow
def test_the_spin_up_of_a_beam_follows_the_reference():
    L, duration, speed = 8.0, 15.0, 6.0
    beam = ct.Beam(L, 7.299e-5, 8.218e-9, 2766.67, 68.95e9, modes={"y": 2})
    m = ct.Mechanism("spin-up", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=beam)
    m.add_joint("hub", "ground", "beam", ct.Revolute("z"))
    s = m.system()
    np.testing.assert_allclose(beam.frequencies[:2], [2.91011814, 18.23739906], rtol=1e-8)
    w = 2.0 * np.pi / duration

    def hub(t):
        angle = speed / duration * (t**2 / 2.0 + (np.cos(w * t) - 1.0) / w**2)
        return angle, speed / duration * (t - np.sin(w * t) / w), speed / duration * (1.0 - np.cos(w * t))

    run = ct.simulate(
        s,
        s.neutral(),
        np.zeros(s.nv),
        duration=10.0,
        motion={"hub": hub},
        samples=[0.0, 5.0, 10.0],
        rtol=1e-8,
        atol=1e-10,
    )
    tip = run["beam.modes"] @ beam.shapes((L, 0.0, 0.0)).S[1]
    np.testing.assert_allclose(tip[1:], list(SPIN_UP.values()), rtol=2e-2)


def test_segments_converge_to_the_elastica_with_the_square_of_their_length():
    beam = ct.Beam(1.0, 1e-2, 1e-4, 1.0, 1e4, modes={"y": 1})
    errors = []
    for n in (4, 8, 16):
        m = ct.segmented(beam, n, "y")
        m.gravity = (0.0, 0.0, 0.0)
        m.add_wrench("load", "beam.tip", force=(0.0, 1.0, 0.0), axes="ground")
        s = m.system()
        tip = s.pose(s.equilibrium(s.neutral()).q, "beam.tip").p
        errors.append(tip[1] - 0.30172077379981355)
    order = np.log2(np.abs(np.array(errors[:-1]) / np.array(errors[1:])))
    np.testing.assert_allclose(order, 2.0, atol=0.02)


def test_segments_and_modes_swing_alike_while_deflections_are_small():
    beam = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 3})
    m = ct.segmented(beam, 32, "y")
    m.gravity = (0.0, 0.0, 0.0)
    s = m.system()
    found = s.modes(s.neutral()).frequencies[:2]
    for frequency, expected, rtol in zip(found, beam.frequencies[:2], (5e-4, 3e-3), strict=True):
        np.testing.assert_allclose(frequency, expected, rtol=rtol)


def test_segments_are_added_to_a_mechanism_on_a_body_of_it():
    beam = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes=1)
    m = ct.Mechanism("rig")
    m.add_body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("spin", "ground", "hub", ct.Revolute("z"))
    ct.segmented(beam, 3, into=m, on="hub", at=ct.Pose(p=(0.1, 0.0, 0.0)), name="boom")
    s = m.system()
    assert s.nv == 7
    np.testing.assert_allclose(s.pose(s.neutral(), "boom.tip").p, [1.1, 0.0, 0.0], atol=1e-12)
    with pytest.raises(ct.ModelError, match="segments = 0"):
        ct.segmented(beam, 0)
