"""All formulations of closed chains give the accelerations of the oracle, and the oracle satisfies the equations."""

from dataclasses import dataclass

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import (
    LoopProblem,
    absolute,
    joint_multipliers,
    kkt,
    minimal,
    reference_member,
)
from catena.dynamics.loops.formulations.velocity_transformation import cut_joint_constraints, transform_tree
from catena.mechanism.generators import arms_on_object, four_bar, n_four_bars
from catena.spatial import Transform

OTHERS = [absolute, joint_multipliers, minimal, reference_member]


def times(A, x):
    return np.einsum("sij,sj->si", A, x)


def scale_of(problem, solution):
    """What forces and accelerations of constraints are made of, to measure residuals by. Near singular configurations
    reactions grow without bound, and rounding with them."""
    moved = np.abs(solution.vdot)
    pushed = times(np.abs(np.swapaxes(problem.J, -1, -2)), np.abs(solution.multipliers))
    force = np.abs(problem.force).max() + times(np.abs(problem.H), moved).max() + pushed.max(initial=0.0)
    opening = times(np.abs(problem.J), moved).max(initial=0.0) + np.abs(problem.gamma).max(initial=0.0)
    return force, opening


def test_the_oracle_satisfies_motion_and_constraints(closed_problem):
    problem = closed_problem
    solution = kkt(problem)
    force, opening = scale_of(problem, solution)
    left = (
        times(problem.H, solution.vdot)
        - problem.force
        - times(np.swapaxes(problem.J, -1, -2), solution.multipliers)
    )
    assert np.abs(left).max() <= 1e-12 * force
    assert np.abs(times(problem.J, solution.vdot) + problem.gamma).max(initial=0.0) <= 1e-11 * max(
        opening, 1.0
    )


@pytest.mark.parametrize("formulation", OTHERS, ids=lambda f: f.__name__)
def test_a_formulation_gives_the_accelerations_of_the_oracle(closed_problem, formulation, agree):
    oracle, other = kkt(closed_problem), formulation(closed_problem)
    agree(other.vdot, oracle.vdot, 1e-9, 1.0)
    np.testing.assert_array_equal(other.rank, oracle.rank)
    # Multipliers differ where constraints are redundant, but not what they do.
    Jt = np.swapaxes(closed_problem.J, -1, -2)
    agree(
        times(Jt, other.multipliers), times(Jt, oracle.multipliers), 1e-9, np.abs(closed_problem.force).max()
    )


def test_the_tree_from_bodies_is_the_tree_of_the_compiled_algorithms(closed_problem, agree):
    """B^T M B, B^T (g - M B' v), D* B and its drift against composite bodies, Newton-Euler and the closure."""
    tree = transform_tree(closed_problem)
    C, drift = cut_joint_constraints(closed_problem, tree)
    agree(tree.M, closed_problem.H, 1e-12)
    friction = np.zeros_like(tree.f)
    for state, wrench in zip(closed_problem.loops, closed_problem.friction_wrenches, strict=True):
        if wrench is not None:
            friction += times(np.swapaxes(state.J_rel, -1, -2), wrench)
    tau_less_bias = closed_problem.tau - closed_problem.bias + friction
    agree(tree.f, tau_less_bias, 1e-11)
    agree(C, closed_problem.J, 1e-12, 1.0)
    agree(drift, closed_problem.gamma, 1e-11, 10.0)


@pytest.mark.parametrize("member", ["rod0", "bar1", "rod1", "bar2", "rod2"])
def test_any_reference_member_will_do(member, agree):
    system = n_four_bars(2).system()
    problem = LoopProblem(
        system.mechanics.evaluator,
        system.neutral(),
        0.7 * np.ones(system.nv) * [1, 1, 1, -1, -1],
        np.arange(5.0),
    )
    agree(reference_member(problem, member).vdot, kkt(problem).vdot, 1e-11)


def test_the_reference_member_must_move():
    system = four_bar().system()
    problem = LoopProblem(system.mechanics.evaluator, system.neutral(), np.zeros(3))
    with pytest.raises(ct.LoopError, match="'ground' cannot be the reference member"):
        reference_member(problem, "ground")


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-11, 1e-8, 1e-6, 1e-4, 1e-2])
def test_a_flat_four_bar_and_its_neighbours_satisfy_the_equations(angle):
    """Unit rods lying flat: rank drops by one. Just beside it the lost direction is nearly lost."""
    system = n_four_bars(1).system()
    q = np.zeros(3)
    q[system.slice_q("pin0")] = q[system.slice_q("pin1")] = np.pi / 2 - angle
    q[system.slice_q("left1")] = -(np.pi / 2 - angle)
    problem = LoopProblem(system.mechanics.evaluator, q, np.zeros(3), np.array([1.0, -2.0, 0.5]))
    expected_rank = 1 if angle < 1e-10 else 2
    for formulation in (kkt, *OTHERS):
        solution = formulation(problem)
        assert np.isfinite(solution.vdot).all() and np.isfinite(solution.multipliers).all()
        assert solution.rank[0] == expected_rank
        force, opening = scale_of(problem, solution)
        left = (
            times(problem.H, solution.vdot)
            - problem.force
            - times(np.swapaxes(problem.J, -1, -2), solution.multipliers)
        )
        assert np.abs(left).max() <= 1e-9 * force
        assert np.abs(times(problem.J, solution.vdot) + problem.gamma).max() <= 1e-9 * opening


def test_massless_struts_are_no_obstacle(agree):
    """A rod without mass between two that have some: the tree alone is singular, the closed mechanism is not."""

    def build(mass):
        m = ct.Mechanism("struts", gravity=(0.0, 0.0, -10.0))
        for k, x in enumerate((0.0, 1.0)):
            m.add_body(f"rod{k}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
            m.add_joint(f"pin{k}", "ground", f"rod{k}", ct.Revolute("y"), ct.Pose(p=(x, 0, 0)))
        m.add_body("strut", mass)
        m.add_joint("left", "rod0", "strut", ct.Revolute("y"), ct.Pose(p=(0, 0, 1)))
        m.add_joint("right", "rod1", "strut", ct.Revolute("y"), ct.Pose(p=(0, 0, 1)), ct.Pose(p=(1, 0, 0)))
        return m.system()

    q = np.array([0.3, 0.3, -0.3])
    massless, light = build(0.0), build(1e-9)
    v = np.array([1.0, 1.0, -1.0])
    tau = np.array([0.5, 0.0, 0.0])
    expected = light.forward_dynamics(q, v, tau)
    for method in ("auto", "kkt", "joint_multipliers", "minimal", "absolute"):
        agree(massless.forward_dynamics(q, v, tau, method=method), expected, 1e-8)


def test_a_motion_without_inertia_is_named():
    m = ct.Mechanism("spinning strut")
    m.add_body("strut")
    m.add_joint("a", "ground", "strut", ct.Spherical())
    m.add_joint("b", "ground", "strut", ct.Spherical(), ct.Pose(p=(1, 0, 0)), ct.Pose(p=(1, 0, 0)))
    s = m.system()
    with pytest.raises(ct.SingularDynamicsError, match="the body 'strut' and what hangs on it"):
        s.forward_dynamics(s.neutral(), np.zeros(3))


def test_redundant_joints_in_parallel_change_nothing(agree):
    """A door on one hinge and on three that are in line: the further ones are redundant altogether."""

    def door(hinges):
        m = ct.Mechanism("door")
        m.add_body("leaf", 20.0, (0.4, 0, 1), (7, 8, 1.5))
        for k in range(hinges):
            at = ct.Pose(p=(0, 0, 0.5 + k))
            m.add_joint(f"hinge{k}", "ground", "leaf", ct.Revolute("z"), at, at)
        return m.system()

    one, three = door(1), door(3)
    assert three.nv == 1 and len(three.loops) == 2
    for method in ("auto", "absolute", "joint_multipliers", "minimal", "reference_member"):
        vdot = three.forward_dynamics([0.4], [0.2], [3.0], method=method)
        agree(vdot, one.forward_dynamics([0.4], [0.2], [3.0]), 1e-13)


def test_a_batch_is_its_states_one_by_one(agree):
    system = arms_on_object(2).system()
    random = np.random.default_rng(0)
    q, tau = system.neutral(), random.normal(size=(2, 3, system.nv))
    for method in ("auto", "absolute", "joint_multipliers", "minimal", "reference_member"):
        together = system.forward_dynamics(q, np.zeros(system.nv), tau, method=method)
        assert together.shape == (2, 3, system.nv)
        agree(
            together[1, 2], system.forward_dynamics(q, np.zeros(system.nv), tau[1, 2], method=method), 1e-12
        )
        assert system.forward_dynamics(q, np.zeros((0, system.nv)), method=method).shape == (0, system.nv)


@dataclass(frozen=True)
class Slot(ct.JointKind):
    """A pin in a slot along x that turns about y, by someone who gives its transform and nothing else."""

    nq = 2
    nv = 2

    def transform(self, q):
        return Transform.rotation_y(q[1]) * Transform.translation(np.array([q[0], 0.0, 0.0]))


def test_a_kind_of_the_users_own_closes_loops_like_a_built_in_one(agree):
    """Scotch yoke: a crank whose pin slides in a slot; Sdof knows the same joint."""

    def yoke(kind):
        m = ct.Mechanism("yoke", gravity=(0.0, 0.0, -10.0))
        m.add_body("crank", 1.0, (0, 0, 0.1), 0.01)
        m.add_body("yoke", 2.0, (0, 0, 0), 0.02)
        m.add_joint("turn", "ground", "crank", ct.Revolute("y"))
        m.add_joint("lift", "ground", "yoke", ct.Prismatic("z"), ct.Pose(p=(0, 0, 0.2)))
        m.add_joint("pin", "yoke", "crank", kind, in_child=ct.Pose(p=(0, 0, 0.2)), damping=0.3)
        return m.system(cut=["pin"])

    own, known = yoke(Slot()), yoke(ct.Sdof("dx", "ry"))
    q, v = [0.5, 0.2 * np.cos(0.5) - 0.2], [1.0, -0.2 * np.sin(0.5)]
    for s in (own, known):
        assert np.abs(np.concatenate(s.closure(q, v))).max() < 1e-15
    agree(own.joint_position(q, "pin"), [0.2 * np.sin(0.5), 0.5], 1e-10)
    for method in ("auto", "kkt", "absolute", "joint_multipliers", "minimal", "reference_member"):
        vdot = own.forward_dynamics(q, v, [0.1, 0.0], method=method)
        agree(vdot, known.forward_dynamics(q, v, [0.1, 0.0], method="kkt"), 1e-9)
    # Nor does it take more to be brought back, and to be simulated and audited.
    for near, exact in zip(own.project([0.501, q[1]], v), known.project([0.501, q[1]], v), strict=True):
        agree(near, exact, 1e-10)
    chosen = {"rtol": 1e-6, "atol": 1e-8}
    stiff, run = (ct.simulate(own, q, v, 0.02, integrator=name, **chosen) for name in ("lsoda", "dopri5"))
    agree(stiff.q[-1], run.q[-1], 1e-5)
    assert all(r.audit()["energy"].value < 1e-5 for r in (stiff, run))
