"""The reference member of a closed mechanism, found or named."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import LoopProblem, kkt, reference_member
from catena.dynamics.tree.open_chains import open_chains
from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.mechanism.generators import arms_on_object


def test_the_reference_member_may_be_named(closed_state, agree):
    system = arms_on_object(2).system()
    q, v = closed_state(system, 3)
    exact = system.forward_dynamics(q, v, np.ones(system.nv))
    for member in ("object", next(iter(set(system.mechanism.bodies) - {"ground", "object"}))):
        agree(
            system.forward_dynamics(q, v, np.ones(system.nv), method="reference_member", member=member),
            exact,
            1e-9,
        )
    with pytest.raises(ct.StateError, match="only the method reference_member has one"):
        system.forward_dynamics(q, v, member="object")


GRIPS = {
    "welded": ct.Fixed(),
    "hinged": ct.Revolute("y"),
    "ball": ct.Spherical(),
    "universal": ct.Universal("x", "y"),
    "gliding": ct.Cylindrical("z"),
    "planar": ct.Planar(),
    "Sdof": ct.Sdof("ry", "rz", "dx"),
}


@pytest.mark.parametrize("grip", GRIPS)
@pytest.mark.parametrize("joints", [4, 6])
def test_chains_in_lanes_agree_with_the_equations_solved_together(grip, joints, closed_state):
    """Arms that move their tip in all directions and arms that block some, under wrenches on all bodies and a moving
    ground, with friction in all joints and forces in those at the tips."""
    m = arms_on_object(3, joints, GRIPS[grip])
    s = m.system()
    q, v = (np.array(x) for x in zip(*(closed_state(s, 5 + k) for k in range(3)), strict=True))
    random = np.random.default_rng(2)
    loops = [replace(loop, damping=np.full(loop.kind.nv, 0.2)) for loop in s.plan.loop_joints]
    plan = replace(s.plan, damping=np.full(s.nv, 0.3), friction=np.full(s.nv, 0.1), loop_joints=loops)
    problem = LoopProblem(
        Evaluator(m, plan), q, v, random.normal(size=(3, s.nv)), random.normal(size=(3, 6 * plan.n)),
        random.normal(size=6), loop_tau=random.normal(size=(3, sum(loop.kind.nv for loop in loops))),
    )  # fmt: skip
    found = reference_member(problem, "object")
    assert "3 chains eliminated in lanes" in found.note and "0 of 3" in found.note
    exact = kkt(problem).vdot
    # Where all is held, what is left of accelerations is rounding.
    np.testing.assert_allclose(found.vdot, exact, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(exact).max()))


def test_what_hangs_on_the_member_moves_with_it(closed_state, agree):
    m = arms_on_object(3, 6, ct.Spherical())
    m.add_body("tool", mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.15))
    m.add_joint("swing", "object", "tool", ct.Universal("x", "y"), ct.Pose(p=(0.0, 0.1, 0.2)))
    s = m.system()
    q, v = closed_state(s, 4)
    tau = np.linspace(-1.0, 1.0, s.nv)
    found = s.forward_dynamics(q, v, tau, method="reference_member", member="object")
    agree(found, s.forward_dynamics(q, v, tau, method="kkt"), 1e-11)


def test_the_quantities_of_the_paper_by_name(closed_state, agree):
    """Eq. 37, 41 and 42 hold between them, M is the inverse of eq. 35, and forces are the reactions of grips."""
    s = arms_on_object(4, 6, ct.Spherical()).system()
    q, v = closed_state(s, 2)
    tau = np.cos(np.arange(s.nv))
    k = ct.chain_quantities(s, q, v, tau, member="object")
    assert set(k.chains) == {"grip1", "grip2", "grip3", "grip4"}
    Phi, X = k.constraint_space, k.X_0
    a = X @ k.a_0
    np.testing.assert_allclose(k.f, k.P - (k.R @ k.a_0), atol=1e-9 * np.abs(k.f).max())
    h = np.einsum("kij,ki->kj", k.M, k.S - np.einsum("kij,ki->kj", Phi, a))
    # The rest of f is what the joint forces tau of the tree's own grip pass on.
    np.testing.assert_allclose(np.einsum("kij,ki->kj", Phi, k.f), h, atol=1e-9 * np.abs(k.f).max())
    np.testing.assert_allclose(k.R, Phi @ k.M @ np.swapaxes(Phi, 1, 2) @ X, atol=1e-9 * np.abs(k.R).max())
    np.testing.assert_allclose(k.inertia, k.inertia.T, atol=1e-9 * np.abs(k.inertia).max())
    told = s.reactions(q, v, tau=tau)
    for name, f in zip(k.chains, k.f, strict=True):
        np.testing.assert_allclose(np.linalg.norm(told[name][3:]), np.linalg.norm(f[3:]), rtol=1e-8)
    np.testing.assert_allclose(k.M, np.linalg.inv(np.swapaxes(Phi, 1, 2) @ k.Lambda_inv @ Phi), rtol=1e-8)
    twice = ct.chain_quantities(s, np.stack([q, q]), np.stack([v, v]), tau, member="object")
    assert twice.f.shape == (2, 4, 6)
    np.testing.assert_allclose(twice.f, np.stack([k.f, k.f]), rtol=1e-12, atol=1e-12)


def test_a_member_that_other_loops_hold_is_refused_by_name():
    s = arms_on_object(2).system()
    with pytest.raises(ct.LoopError, match="not held by simple chains"):
        ct.chain_quantities(s, s.assemble(), member="arm1/link1")
    with pytest.raises(ct.LoopError, match="cannot be the reference member"):
        ct.chain_quantities(s, s.assemble(), member=["object"])
    assert ct.chain_quantities(s, np.zeros((0, s.nq)), member="object").f.shape == (0, 2, 6)
    flat = ct.generators.four_bar().system()
    with pytest.raises(ct.LoopError, match="in state 0 .* no inertia of a body in space"):
        ct.chain_quantities(flat, flat.assemble(), member="coupler")


def test_sweeps_of_open_chains_are_those_of_the_tip(agree):
    """Lambda^-1 of every body against the operational space of its frame."""
    s = ct.generators.tree(12).system()
    q = s.integrate(s.neutral(), np.random.default_rng(0).normal(size=s.nv))
    found = s.mechanics.evaluator.evaluate(
        open_chains, {"q": q, "qd": np.ones(s.nv), "tau": None, "f_ext": None, "a_base": None}
    )
    for bodies in s.plan.bodies[1:]:
        exact, _ = s.operational_space(q, bodies[0])
        node = s.plan.body_node[bodies[0]]
        X = stacks.to_frame(s.plan.body_pose[bodies[0]][1])
        agree(X @ found["mobility"][node].reshape(6, 6) @ X.T, exact, 1e-10)
