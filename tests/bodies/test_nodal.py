"""Beams and frames by nodes with six freedoms, against finite-element matrices, modes and exact solutions."""

import numpy as np
import pytest
from scipy.linalg import eigh

import catena as ct
from catena.bodies.beam_element import BeamElement, Section

BEAM = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 1})


def portal(elements=2):
    """A portal of three members with a load on its corner, clamped at one foot; the other is free to be held."""
    nodes = {"foot": (0, 0, 0), "left": (0, 0, 1), "right": (1.5, 0.2, 1), "end": (1.5, 0.2, 0.1)}
    more = {"area": 4e-4, "inertia": (2e-8, 3e-8), "density": 7800.0, "young": 2.1e11, "elements": elements}
    pairs = [("foot", "left"), ("left", "right"), ("right", "end")]
    members = [ct.Member(a, b, **more, shear=2e7 if a == "left" else None) for a, b in pairs]
    return ct.BeamFrame(nodes, members, ("foot", "end"), masses={"right": 2.0})


def by_hand(q, s):
    """Stiffness (nv, nv) by central differences of the forces of the mechanism in its own coordinates."""
    h, eye = 1e-6, np.eye(s.nv)
    forces = [
        s.inverse_dynamics(s.integrate(q, sign * h * eye), np.zeros(s.nv), np.zeros(s.nv)) for sign in (1, -1)
    ]
    return ((forces[0] - forces[1]) / (2.0 * h)).T


def test_stiffness_is_that_of_the_matrices_of_the_frame():
    """Nodes of a mechanism move with their neighbours, those of the matrices by themselves; Jacobians lead to these."""
    frame = portal()
    m = ct.nodal(frame, name="portal")
    m.gravity = (0.0, 0.0, 0.0)
    s = m.system()
    q = s.neutral()
    _, K = frame.matrices
    names = [*frame.nodes, *(f"{member.name}.1" for member in frame.members)]
    J = []
    for name in names:
        twist = s.jacobian(q, f"portal.{name}")  # [angular; linear], axes of ground at rest
        J.append(np.concatenate([twist[3:], twist[:3]]))
    J = np.concatenate(J)
    np.testing.assert_allclose(by_hand(q, s), J.T @ K @ J, atol=3e-8 * np.abs(J.T @ K @ J).max())


def test_a_free_portal_weighs_and_turns_as_its_matrices_say():
    """Total mass, first and second moments: lumped mass has those of the consistent matrices, the second ones with the
    fourth power of the length of elements."""
    gaps = []
    for elements in (2, 4):
        frame = portal(elements)
        m = ct.nodal(frame, name="portal")
        M, _ = frame.matrices
        places = np.zeros((M.shape[0] // 6, 3))
        for part in frame.elements:
            first, last = part.index[0] // 6, part.index[6] // 6
            places[first] = part.origin
            places[last] = part.origin + part.element.length * part.axes[:, 0]
        rigid = np.zeros((M.shape[0], 6))
        for k, p in enumerate(places):
            rigid[6 * k : 6 * k + 3, :3] = np.cross(np.eye(3), p).T
            rigid[6 * k : 6 * k + 3, 3:] = rigid[6 * k + 3 : 6 * k + 6, :3] = np.eye(3)
        expected = rigid.T @ (M @ rigid)
        found = np.zeros((6, 6))
        for name, body in m.bodies.items():
            if body.mass == 0.0:
                continue
            s = m.system()
            x = s.pose(s.neutral(), name).p + body.com
            W = np.cross(np.eye(3), x).T
            found[:3, :3] += body.inertia + body.mass * W.T @ W
            found[3:, :3] += body.mass * W
            found[3:, 3:] += body.mass * np.eye(3)
        np.testing.assert_allclose(found[3:, :], expected[3:, :], atol=1e-12)
        gaps.append(np.abs(found[:3, :3] - expected[:3, :3]).max())
    assert gaps[1] < gaps[0] / 7.0


def test_frequencies_converge_to_those_of_the_beam_with_the_third_power():
    """Against Euler's beam with rotary inertia, by modes."""
    exact = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 2}, rotary=True).frequencies
    errors = []
    for n in (3, 6, 12):
        m = ct.nodal(BEAM, n)
        m.gravity = (0.0, 0.0, 0.0)
        s = m.system()
        q = s.neutral()
        found = np.sqrt(eigh(by_hand(q, s), s.mass_matrix(q), eigvals_only=True))
        # Both bending directions alike.
        errors.append(1.0 - found[[0, 2]] / exact)
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(orders > 2.7), orders
    assert np.abs(errors[-1]).max() < 5e-4


def test_linearised_frequencies_are_those_of_the_matrices():
    m = ct.nodal(BEAM, 4)
    m.gravity = (0.0, 0.0, 0.0)
    s = m.system()
    q = s.neutral()
    expected = np.sqrt(eigh(by_hand(q, s), s.mass_matrix(q), eigvals_only=True))
    np.testing.assert_allclose(np.sort(s.modes(q).frequencies)[:8], expected[:8], rtol=1e-6)


def test_large_deflections_converge_to_the_elastica_with_the_square_of_the_length():
    """A tip force of one EI / L^2 by elliptic integrals; the beam stretches by 1e-4 of its length at most."""
    errors = []
    for n in (3, 6):
        m = ct.nodal(ct.Beam(1.0, 1e-4, 1e-8, 1.0, 1e8, modes={"y": 1}), n)
        m.gravity = (0.0, 0.0, 0.0)
        m.add_wrench("load", f"beam.{n}", force=(0.0, 1.0, 0.0), axes="ground")
        s = m.system()
        tip = s.pose(s.equilibrium(s.neutral()).q, f"beam.{n}").p
        errors.append([tip[1] - 0.30172077379981355, 1.0 - tip[0] - 0.05643323628337688])
    np.testing.assert_allclose(np.log2(np.divide(errors[0], errors[1])), 2.0, atol=0.2)
    assert np.abs(errors[1]).max() < 3e-3


def test_compiled_code_does_not_know_the_number_of_nodes():
    m = ct.nodal(BEAM, 3)
    s = m.system()
    s.forward_dynamics(s.neutral(), np.zeros(s.nv))
    before = ct.compilations()
    for n in (12, 40, 200):
        s = ct.nodal(BEAM, n).system()
        assert s.nv == 6 * n
        found = s.forward_dynamics(s.neutral(), np.zeros(s.nv))
        assert np.isfinite(found).all()
    assert ct.compilations() == before


# Deflection of the tip [m] of Wu and Haug's beam that is spun up to 6 rad/s in 15 s, by finite elements of high degree.
SPIN_UP = {1.5: -0.0713250145903, 2.5: -0.214405890339}


@pytest.mark.slow
def test_a_nodal_beam_is_spun_up_as_the_reference():
    """Nothing but nodes stiffens it: tension is in the elements."""
    beam = ct.Beam(8.0, 7.299e-5, 8.218e-9, 2766.67, 68.95e9, modes={"y": 1})
    t = np.linspace(0.0, 2.5, 101)
    angle = 6.0 / 15.0 * (t**2 / 2.0 + (15.0 / (2.0 * np.pi)) ** 2 * (np.cos(2.0 * np.pi * t / 15.0) - 1.0))
    errors = []
    for n in (4, 8):
        m = ct.Mechanism("spin-up", gravity=(0.0, 0.0, 0.0))
        m.add_body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
        m.add_joint("A", "ground", "hub", ct.Revolute("z"))
        ct.nodal(beam, n, into=m, on="hub", name="boom")
        s = m.system()
        run = ct.simulate(
            s, s.neutral(), np.zeros(s.nv), duration=2.5, motion={"A": ct.spline(t, angle, degree=5, ends="free")},
            samples=[0.0, *SPIN_UP], rtol=1e-6, atol=1e-8,
        )  # fmt: skip
        p, turned = run.position(f"boom.{n}")[1:], np.ravel(run["A"])[1:]
        errors.append(np.cos(turned) * p[:, 1] - np.sin(turned) * p[:, 0] - list(SPIN_UP.values()))
    assert np.abs(errors[1]).max() < 0.25 * np.abs(errors[0]).max()
    assert np.abs(errors[1]).max() < 5e-5


@pytest.mark.slow
def test_two_nodal_beams_on_a_joint_move_as_modes_do():
    """A double pendulum of two flexible links: nodes against modes of each, over a tenth of a second."""
    seen = []
    link = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 3}, rotary=True)
    for n in (0, 6, 12):
        m = ct.Mechanism("double pendulum", gravity=(0.0, -9.81, 0.0))
        for k, below in (("1", "ground"), ("2", "1")):
            if n:
                m.add_body(f"hub{k}", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
                m.add_joint(
                    f"pin{k}", below if below == "ground" else f"link1.{n}", f"hub{k}", ct.Revolute("z")
                )
                ct.nodal(link, n, into=m, on=f"hub{k}", name=f"link{k}")
            else:
                m.add_body(f"hub{k}", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
                place = ct.Pose() if below == "ground" else ct.Pose(p=(1.0, 0.0, 0.0))
                m.add_joint(
                    f"pin{k}", below if below == "ground" else "link1", f"hub{k}", ct.Revolute("z"), place
                )
                m.add_body(f"link{k}", flexible=link)
                m.add_joint(f"root{k}", f"hub{k}", f"link{k}", ct.Fixed())
                m.add_frame(f"end{k}", f"link{k}", ct.Pose(p=(1.0, 0.0, 0.0)))
        s = m.system()
        run = ct.simulate(s, s.neutral(), np.zeros(s.nv), duration=0.02, samples=3, rtol=1e-6, atol=1e-8)
        seen.append(run.position(f"link2.{n}" if n else "end2")[-1])
    by_modes, coarse, fine = np.array(seen)
    assert np.linalg.norm(by_modes - [2.0, 0.0, 0.0]) > 1e-3
    assert np.linalg.norm(fine - by_modes) < np.linalg.norm(coarse - by_modes)
    np.testing.assert_allclose(fine, by_modes, atol=1e-5)


def test_the_middle_of_an_element_has_a_diagonal_stiffness():
    """The stiffness of a bushing in the middle is that of Przemieniecki's element with shear."""
    element = BeamElement(0.7, Section(1e-3, 2e-7, 3e-7, 1.0, 2e11, 5e4, 4e7, 6e7))
    h = element.length
    B = np.zeros((6, 12))
    for first, sign in ((0, -1.0), (6, 1.0)):
        B[:3, first + 3 : first + 6] = sign * np.eye(3)
        B[3:, first : first + 3] = sign * np.eye(3)
        # The middle is h / 2 ahead of the first end and behind the second.
        B[4, first + 5] = sign * (h / 2 if first == 0 else -h / 2)
        B[5, first + 4] = -B[4, first + 5]
    K = element.stiffness()
    np.testing.assert_allclose(B.T @ np.diag(element.middle_stiffness()) @ B, K, atol=1e-9 * K.max())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"body": "beam"}, "neither a Beam nor a BeamFrame"),
        ({"elements": 0}, "elements = 0"),
        ({"elements": 2.5}, "elements = 2.5"),
        ({"body": portal(), "elements": 3}, "leave out elements"),
        ({"damping": -1.0}, "damping = -1.0"),
        ({"damping": "much"}, "damping = 'much'"),
        ({"at": 3}, "at is 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, words):
    with pytest.raises(ct.ModelError, match=words):
        ct.nodal(**{"body": BEAM, **arguments})
