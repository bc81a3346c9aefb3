"""The closed chains of the papers, by every formulation: van der Merwe §5.5, §6.5 and §8.2.1, Nikravesh et al. §3."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import LoopProblem
from catena.dynamics.loops.formulations.minimal import partition
from catena.dynamics.loops.formulations.velocity_transformation import cut_joint_constraints, transform_tree
from catena.mechanism.notations.sdof import add_sdof_chain, from_sdof, sdof_coordinates
from catena.spatial import Pose

METHODS = ["auto", "kkt", "absolute", "joint_multipliers", "minimal", "reference_member"]


# Van der Merwe, section 5.5: four links, the tip held by five constraints of which three are redundant.


def four_links():
    gamma = [(0, 0, 0, 0, 0, 2), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 1), (0, 0, 0, 1, 0, 0)]
    com = [(0, 0, 1), (0.5, 0, 0), (0, 0, 0.5), (0.5, 0, 0)]
    inertia = [(1, 1, 0.1), (0.02, 0.2, 0.2), (0.2, 0.2, 0.02), (0.02, 0.2, 0.2)]
    m = from_sdof(gamma, [("ry",)] * 4, [2, 1, 1, 1], com, inertia, gravity=(0, 0, -10))
    tip = Pose(p=(1, 0, 0))
    m.add_joint("tip", "link4", "ground", ct.Revolute("y"), tip, Pose(p=(2, 0, 3)))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_four_links_with_their_tip_held_accelerate_as_printed(method):
    s = four_links().system(cut=["tip"])
    vdot = s.forward_dynamics(np.zeros(4), np.zeros(4), method=method)
    np.testing.assert_allclose(vdot, [0, 10.5263158, -10.5263158, -10.5263158], atol=5e-8)  # (5.133)


def test_the_tip_pushes_on_ground_as_printed():
    """(5.129): h^c, the force of the tip on ground, which is the child of the tip joint; redundant directions rest."""
    s = four_links().system(cut=["tip"])
    wrench = s.reactions(np.zeros(4), np.zeros(4))["tip"]
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, -4.4736842], atol=5e-8)
    problem = LoopProblem(s.mechanics.evaluator, np.zeros(4), np.zeros(4))
    from catena.dynamics.loops.formulations import kkt

    assert kkt(problem).rank.tolist() == [2]  # below (5.125)


# Van der Merwe, section 6.5: two links and a load.


def two_links_and_a_load(com):
    m = ct.Mechanism("two links and a load", gravity=(0, 0, -10))
    m.add_body("load", 5.0, com, 0.5)
    for k, x in enumerate((0.0, 0.8), 1):
        m.add_body(f"link{k}", 1.0, (0.75, 0, 0), (0.025, 0.25, 0.25))
        m.add_joint(f"base{k}", "ground", f"link{k}", ct.Revolute("y"), Pose(p=(x, 0, 0)))
        m.add_joint(
            f"tip{k}", f"link{k}", "load", ct.Revolute("y"), Pose(p=(1.5, 0, 0)), Pose(p=(x - 0.4, 0, 0))
        )
    return m


@pytest.mark.parametrize("com", [(0, 0, 0), (0.2, 0, 0), (0.2, 0, 0.1)])
@pytest.mark.parametrize("method", METHODS)
def test_two_links_and_a_load_move_as_printed_wherever_the_mass_centre_is(method, com):
    """The load only translates, so its mass centre must not matter; the printed recipe for blocked directions fails
    for the second and third."""
    s = two_links_and_a_load(com).system()
    q = s.assemble({"base1": np.pi / 4, "base2": np.pi / 4})
    rest = np.zeros(s.nv)
    vdot = s.forward_dynamics(q, rest, method=method)
    np.testing.assert_allclose(vdot[s.slice_v("base1")], 4.9428824, atol=5e-8)
    np.testing.assert_allclose(vdot[s.slice_v("base1")], 63.6396103 / 12.875, atol=5e-8)
    a_r = s.jacobian(q, "load") @ vdot + s.bias_acceleration(q, rest, "load")
    np.testing.assert_allclose(a_r, [0, 0, 0, -5.2427184, 0, -5.2427184], atol=5e-8)
    for k in (1, 2):
        tip = s.jacobian(q, f"link{k}") @ vdot
        np.testing.assert_allclose(tip[1], 4.9428824, atol=5e-8)


@pytest.mark.parametrize("com", [(0, 0, 0), (0.2, 0, 0), (0.2, 0, 0.1)])
def test_the_static_moment_of_two_links_and_a_load(com):
    s = two_links_and_a_load(com).system(cut=["tip2"])
    q = s.assemble({"base1": np.pi / 4, "base2": np.pi / 4})
    tau = np.zeros(s.nv)
    tau[s.slice_v("base1")] = tau[s.slice_v("base2")] = -31.819805
    np.testing.assert_allclose(s.forward_dynamics(q, np.zeros(s.nv), tau), 0.0, atol=1e-6)


# Van der Merwe, section 8.2.1: the high stiffness low mass mechanism.

TURNS = (-0.5235988, np.pi + 0.5235988, np.pi / 2)
BASES = ((-0.5066987, 1, -0.2886751), (0.5066987, 1, -0.2886751), (0, 1, 0.5773502))
HOLDS = ((-0.05, 0, -0.025), (0.05, 0, -0.025), (0, 0, 0.05))
PHIS = [("ry", "rz", "dx"), ("ry", "rz")]


def gammas(turn):
    return [(0, turn, -1.1669367, 1.0874871, 0, 0), (0, 0, 1.1669367, 0.1, 0, 0)]


def high_stiffness_low_mass():
    m = ct.Mechanism("HSLM", gravity=(0, -10, 0))
    # The text leaves the inertia out; the member only translates.
    m.add_body("member", 5.0, inertia=0.01)
    for k, (turn, base, hold) in enumerate(zip(TURNS, BASES, HOLDS, strict=True), 1):
        last = add_sdof_chain(
            m, gammas(turn), PHIS, [2.0, 0.5], [(0.5, 0, 0), (0.05, 0, 0)],
            [(0.05, 0.5, 0.5), (0.00006, 0.0006, 0.0006)], base=Pose(p=base), prefix=f"c{k}/",
        )  # fmt: skip
        # The tip frame is turned about the vertical like the chain.
        m.add_joint(
            f"hold{k}", last, "member", ct.Fixed(), Pose(p=(0.1, 0, 0)), Pose(p=hold, rpy=(0, turn, 0))
        )
    return m


def hslm_state():
    """Three chains in the tree, the load on the first, and the other two loops at its welds."""
    s = high_stiffness_low_mass().system(cut=["hold2", "hold3"])
    q = np.zeros(s.nq)
    for k, turn in enumerate(TURNS, 1):
        for name, value in sdof_coordinates(gammas(turn), PHIS, f"c{k}/").items():
            q[s.slice_q(name)] = value
    # The printed figures have seven digits; the loops close to what is left of them.
    assert np.abs(s.closure(q)[0]).max() < 2e-7
    return s, s.assemble({}, guess=q)


def by_chain(s, x):
    return np.array([[x[s.slice_v(f"c{k}/joint{i}")] for i in (1, 2)] for k in (1, 2, 3)], dtype=object)


@pytest.mark.parametrize("method", METHODS)
def test_the_member_of_the_high_stiffness_mechanism_falls_as_printed(method):
    s, q = hslm_state()
    rest = np.zeros(s.nv)
    vdot = s.forward_dynamics(q, rest, method=method)
    for first, second in by_chain(s, vdot):
        # (8.7)
        np.testing.assert_allclose(
            np.concatenate([first, second]), [0, -3.6239142, 9.2218498, 0, 3.6239142], atol=2e-5
        )
    a = s.jacobian(q, "member") @ vdot
    np.testing.assert_allclose(a, [0, 0, 0, 0, -10.0286429, 0], atol=2e-5)


def test_the_chains_of_the_high_stiffness_mechanism_push_the_member_down_as_printed():
    s, q = hslm_state()
    reactions = s.reactions(q, np.zeros(s.nv))
    for k in (1, 2, 3):
        np.testing.assert_allclose(reactions[f"hold{k}"][4], -0.0477382, atol=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_high_stiffness_mechanism_stands_still_under_the_printed_forces(method):
    s, q = hslm_state()
    tau = np.zeros(s.nv)
    for k in (1, 2, 3):
        tau[s.slice_v(f"c{k}/joint1")] = [0, 6.3164555, -41.113563]
        tau[s.slice_v(f"c{k}/joint2")] = [0, 0.25]
    np.testing.assert_allclose(s.forward_dynamics(q, np.zeros(s.nv), tau, method=method), 0.0, atol=1e-4)


# Nikravesh, Gim, Arabyan and Rein, section 3: a four-bar of parallel axes on a slide.


def four_bar_on_a_slide():
    """The lever arms from the axes R2, R3, R4 to the cut joint R5 that give the printed D* B: axes along (1, -1, 0), a
    parallelogram of sides sqrt(2) and 2."""
    m = ct.Mechanism("four-bar on a slide")
    axis = (1.0, -1.0, 0.0)
    for k in range(1, 5):
        m.add_body(f"body{k}", 1.0, inertia=0.1)
    m.add_joint("T1", "ground", "body1", ct.Prismatic("x"))
    m.add_joint("R2", "body1", "body2", ct.Revolute(axis))
    m.add_joint("R3", "body2", "body3", ct.Revolute(axis), Pose(p=(0, 0, 2)))
    m.add_joint("R4", "body3", "body4", ct.Revolute(axis), Pose(p=(1, 1, 0)))
    m.add_joint("R5", "body4", "body1", ct.Revolute(axis), Pose(p=(0, 0, -2)), Pose(p=(1, 1, 0)))
    return m


def test_the_constraints_and_the_velocity_transformation_of_the_four_bar_on_a_slide():
    s = four_bar_on_a_slide().system(cut=["R5"])
    problem = LoopProblem(s.mechanics.evaluator, np.zeros(4), np.zeros(4))
    (state,) = problem.loops
    # The joint frame of R5 stands as body1 does, which only slides; its canonical axes have the axis along z.
    turn = s.plan.body_pose["body1"][1].R.T @ state.loop.child_R
    in_ground = turn @ state.J_rel[0][3:]
    r = np.sqrt(2.0)
    np.testing.assert_allclose(in_ground, [[0, 0, -r, -r], [0, 0, -r, -r], [0, -r, -r, 0]], atol=1e-14)  # (a)
    C, drift = cut_joint_constraints(problem, transform_tree(problem))
    assert np.linalg.matrix_rank(C[0], 1e-9) == 2  # (b)
    np.testing.assert_allclose(C, problem.J, atol=1e-14)
    np.testing.assert_allclose(C[0] @ [[1, 0], [0, 1], [0, -1], [0, 1]], 0.0, atol=1e-14)
    # The slide is independent whatever is chosen in the loop; seen per unit of R2, E is the printed one.
    E = partition(C[0], drift[0], np.ones(4), 2).E
    E = E @ np.linalg.inv(E[:2])
    np.testing.assert_allclose(E, [[1, 0], [0, 1], [0, -1], [0, 1]], atol=1e-14)
