"""Frames of beams: against the whole matrices, against exact dynamic stiffness, against one beam and rigid bodies."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import catena as ct
from catena.bodies import Beam, BeamFrame, Member
from catena.errors import ModelError

ROD = {"area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10}


def cantilever(modes=6, **options):
    return BeamFrame({"a": (0, 0, 0), "b": (2, 0, 0)}, [Member("a", "b", **{**ROD, **options})], ["a"], modes)


def portal(elements=8, modes=6, interfaces=("left",), masses=None):
    """Two clamped feet and a beam between them, in the x-z plane, all 1 m long."""
    nodes = {"left": (0, 0, 0), "a": (0, 0, 1), "b": (1, 0, 1), "right": (1, 0, 0)}
    members = [
        Member(*ends, **ROD, elements=elements) for ends in (("left", "a"), ("a", "b"), ("b", "right"))
    ]
    return BeamFrame(nodes, members, interfaces, modes, masses=masses)


@pytest.mark.parametrize("shear", [None, 1e5])
def test_a_frame_of_one_member_has_the_frequencies_of_the_beam(shear):
    frame = cantilever(shear=shear, inertia=(2e-9, 1.5e-9))
    beam = Beam(2.0, 1e-4, (2e-9, 1.5e-9), 2700.0, 7e10, shear=shear, modes={"y": 3, "z": 3}, rotary=True)
    expected = np.sort(beam.frequencies)
    np.testing.assert_allclose(frame.frequencies[:2], expected[:2], rtol=1e-5)
    np.testing.assert_allclose(frame.frequencies, expected, rtol=2e-3)


def test_the_reduced_frame_has_the_frequencies_of_all_its_nodes():
    frame = portal(modes=20, interfaces=("left", "right"))
    M, K = (x.toarray() for x in frame.matrices)
    expected = np.sqrt(eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True))
    np.testing.assert_allclose(frame.frequencies[:6], expected[:6], rtol=1e-4)
    few = portal(modes=2, interfaces=("left", "right"))
    np.testing.assert_allclose(few.frequencies[:4], expected[:4], rtol=2e-2)


def exact_sway(w, EI, m, L=1.0):
    """The dynamic stiffness of the antisymmetric motion of a portal whose members keep their lengths: the sway of the
    beam as a whole and the rotation of its two ends, by the exact functions of Euler's and Bernoulli's beam."""
    b = (m * w**2 / EI) ** 0.25
    x = b * L
    c, s, ch, sh = np.cos(x), np.sin(x), np.cosh(x), np.sinh(x)
    D = 1.0 - c * ch
    force, turn = EI * b**3 * (s * ch + c * sh) / D, EI * b * (s * ch - c * sh) / D
    cross, far = EI * b**2 * s * sh / D, EI * b * (sh - s) / D
    return np.array([[2 * force - m * L * w**2, 2 * cross], [2 * cross, 2 * (turn + turn + far)]])


def test_a_portal_frame_sways_as_fast_as_the_exact_one_and_converges_with_the_fourth_power():
    EI, m = 7e10 * 2e-9, 2700.0 * 1e-4
    guess = 3.2 * np.sqrt(EI / m)
    exact = brentq(lambda w: np.linalg.det(exact_sway(w, EI, m)), 0.9 * guess, 1.1 * guess, xtol=1e-13)

    def sway(elements):
        M, K = (x.toarray() for x in portal(elements).matrices)
        plane = [6 * k + c for k in range(len(M) // 6) for c in (0, 2, 4)]
        held = [6 * k + c for k in (0, 3) for c in (0, 2, 4)]
        free = [i for i in plane if i not in held]
        return np.sqrt(eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)[0])

    # Members of the frame stretch and their sections have inertia, which takes a part in ten thousand.
    assert sway(8) == pytest.approx(exact, rel=2e-4)
    found = np.array([sway(n) for n in (2, 4, 8)]) - sway(32)
    # The little that members stretch converges with the square only.
    np.testing.assert_allclose(np.log2(found[:-1] / found[1:]), 4.0, atol=0.15)


def test_mass_and_inertia_are_those_of_rigid_rods_and_point_masses():
    mass, com, inertia = portal(masses={"b": 0.5}).rigid
    rods = [((0, 0, 0.5), 2), ((0.5, 0, 1), 0), ((1, 0, 0.5), 2)]
    expected_mass = 3 * 0.27 + 0.5
    expected_com = (sum(0.27 * np.array(c) for c, _ in rods) + 0.5 * np.array([1, 0, 1])) / expected_mass
    whole = np.zeros((3, 3))
    for centre, along in rods:
        r = np.array(centre) - expected_com
        own = np.full(3, 0.27 / 12 + 2700.0 * 2e-9)
        own[along] = 2700.0 * 4e-9
        whole += np.diag(own) + 0.27 * (r @ r * np.eye(3) - np.outer(r, r))
    r = np.array([1.0, 0.0, 1.0]) - expected_com
    whole += 0.5 * (r @ r * np.eye(3) - np.outer(r, r))
    assert mass == pytest.approx(expected_mass, rel=1e-12)
    np.testing.assert_allclose(com, expected_com, atol=1e-12)
    np.testing.assert_allclose(inertia, whole, atol=1e-12)


def test_a_mass_at_the_tip_gives_the_analytic_frequency():
    frame = BeamFrame(
        {"a": (0, 0, 0), "b": (0, 1, 0)},
        [Member("a", "b", 1e-6, 1e-9, 1e6, 1e9)],
        ["a"],
        4,
        masses={"b": 1.0},
    )
    unit = np.sqrt(1e9 * 1e-9 / 1.0)
    assert frame.frequencies[0] / unit == pytest.approx(1.557297861, rel=5e-4)


# Flap frequencies of a rotating cantilever after Wright, Smith, Thresher and Wang (1982).
@pytest.mark.parametrize(
    ("speed", "first", "second"), [(0.0, 3.5160153, 22.0344916), (6.0, 7.3603730, 26.8090817)]
)
def test_a_frame_that_spins_stiffens_as_published(speed, first, second):
    nodes = {"a": (0, 0, 0), "b": (0.4, 0, 0), "c": (1, 0, 0)}
    rod = {"area": 1e-4, "inertia": (1e-9, 9e-9), "density": 1.0, "young": 1e5, "elements": 8}
    frame = BeamFrame(nodes, [Member("a", "b", **rod), Member("b", "c", **rod)], ["a"], 10)
    m = ct.Mechanism("rotor", gravity=(0.0, 0.0, 0.0))
    m.add_body("blade", flexible=frame)
    m.add_joint("hub", "ground", "blade", ct.Revolute("z"))
    s, unit = m.system(), np.sqrt(1e5 * 1e-9 / 1e-4)
    modes, v, rest, h = s.slice_v("blade.modes"), np.zeros(s.nv), np.zeros(s.nv), 1e-6
    v[s.slice_v("hub")] = speed * unit
    with ct.plain_numbers():
        H = s.mass_matrix(s.neutral())[modes, modes]
        stiffness = []
        for e in np.eye(s.nv)[modes]:
            force = [s.inverse_dynamics(s.neutral() + d * e, v, rest)[modes] for d in (h, -h)]
            stiffness.append((force[0] - force[1]) / (2 * h))
    flap = np.abs(np.stack([frame.shapes((x, 0.0, 0.0)).S[2] for x in (0.5, 0.8, 1.0)])).max(axis=0) > 0.1
    some = np.ix_(flap, flap)
    w = (
        np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(H[some], np.transpose(stiffness)[some])).real))
        / unit
    )
    np.testing.assert_allclose(w[:2], [first, second], rtol=1e-3)


def test_resultants_hold_a_force_at_the_end_of_an_angle():
    nodes = {"root": (0, 0, 0), "corner": (1, 0, 0), "tip": (1, 0.5, 0)}
    frame = BeamFrame(
        nodes, [Member("root", "corner", **ROD), Member("corner", "tip", **ROD)], ["root", "tip"], 0
    )
    m = ct.Mechanism("angle", gravity=(0.0, 0.0, 0.0))
    m.add_body("angle", flexible=frame)
    m.add_joint("clamp", "ground", "angle", ct.Fixed())
    m.add_frame("tip", "angle", ct.Pose(p=(1.0, 0.5, 0.0)))
    m.add_wrench("load", "tip", force=(0.0, 0.0, 0.1), axes="ground")
    s = m.system()
    q = s.equilibrium(s.neutral()).q
    found = frame.resultants(q[s.slice_q("angle.modes")], "root-corner", [0.0, 0.25])
    np.testing.assert_allclose(found["Qz"], [0.1, 0.1], rtol=1e-3)
    np.testing.assert_allclose(found["My"], [-0.1, -0.075], rtol=1e-3)
    np.testing.assert_allclose(found["T"], [0.05, 0.05], rtol=1e-3)
    with pytest.raises(ModelError, match="no member 'tip-root'; members are root-corner, corner-tip"):
        frame.resultants(np.zeros(6), "tip-root", 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"young": -1.0}, "member 'a-b': young = -1"),
        ({"inertia": 1e-12}, "member 'a-b': no section of area"),
        ({"shear": 0.0}, "shear = 0"),
        ({"elements": 0}, "elements = 0"),
        ({"up": (1, 0, 0)}, "not along the member"),
        ({"b": "a"}, "has no length"),
        ({"b": "z"}, "no node 'z'; nodes are a, b"),
    ],
)
def test_unphysical_members_are_refused_in_words(change, words):
    given = {"a": "a", "b": "b", **ROD, **change}
    with pytest.raises(ModelError, match=words):
        BeamFrame({"a": (0, 0, 0), "b": (2, 0, 0)}, [Member(**given)], ["a"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"modes": 0}, "no modes are too few for an interface"),
        ({"modes": -1}, "modes = -1"),
        ({"modes": 999}, "999 modes are asked for, but 48 displacements are free"),
        ({"interfaces": []}, "name the nodes where joints attach"),
        ({"members": []}, "no members"),
        ({"damping": -0.1}, "damping = -0.1"),
        ({"masses": {"b": -1.0}}, "masses"),
        ({"nodes": {"a": (0, 0, 0), "b": (1, 2)}}, "three finite coordinates"),
        ({"nodes": {"a": (0, 0, 0), "b": (2, 0, 0), "loose": (1, 1, 1)}}, "hang on nothing"),
    ],
)
def test_frames_that_cannot_be_are_refused_in_words(changes, words):
    given = {
        "nodes": {"a": (0, 0, 0), "b": (2, 0, 0)}, "members": [Member("a", "b", **ROD)], "interfaces": ["a"], **changes,
    }  # fmt: skip
    with pytest.raises(ModelError, match=words):
        BeamFrame(**given).frequencies  # noqa: B018


def test_places_beside_a_frame_are_refused_in_words():
    with pytest.raises(ModelError, match="no member passes through"):
        portal().shapes((0.5, 0.5, 0.5))
