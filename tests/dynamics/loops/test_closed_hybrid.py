"""Prescribed joint accelerations with loops: elimination against a dense solution, forward dynamics, contradictions."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations.hybrid import hybrid, hybrid_kkt
from catena.mechanism.generators import four_bar, stewart


def choose(problem, seed):
    """Driven components of which none determines another: some of an independent set."""
    random = np.random.default_rng(seed)
    nv = problem.plan.nv
    driven = np.zeros(nv, dtype=bool)
    _, sigma, Vt = np.linalg.svd(problem.J[0])
    N = Vt[np.count_nonzero(sigma > 1e-9) :]
    for k in random.permutation(nv):
        trial = driven.copy()
        trial[k] = True
        if (
            len(N)
            and np.linalg.svd(N[:, trial])[1].min(initial=1.0) > 0.05
            and trial.sum() <= (len(N) + 1) // 2
        ):
            driven = trial
    return driven


def test_elimination_and_the_dense_solution_agree(closed_problem, agree):
    """And both confirm forward dynamics with the forces found."""
    problem = closed_problem
    driven = choose(problem, 1)
    given = np.random.default_rng(2).normal(size=problem.v.shape)
    solution = hybrid(problem, driven, given)
    vdot, tau, opening, _ = hybrid_kkt(problem, driven, given)
    assert not len(solution.open_states)
    np.testing.assert_array_equal(solution.vdot[:, driven], given[:, driven])
    np.testing.assert_allclose(opening, 0.0, atol=1e-8 * np.abs(vdot).max(initial=1.0))
    # Mechanisms that cannot move have accelerations of rounding.
    agree(solution.vdot, vdot, 1e-7, 1.0)
    agree(solution.tau, tau, 1e-7)
    # The whole system solved at once: unknown accelerations, drive forces and multipliers.
    for k in range(problem.states):
        nv, m, d = problem.plan.nv, problem.J.shape[-2], np.flatnonzero(driven)
        A = np.zeros((nv + m + len(d), nv + len(d) + m))
        A[:nv, :nv], A[:nv, nv + len(d) :] = problem.H[k], -problem.J[k].T
        A[d, nv + np.arange(len(d))] = -1.0
        A[nv : nv + m, :nv] = problem.J[k]
        A[nv + m + np.arange(len(d)), d] = 1.0
        tau_free = np.where(driven, 0.0, problem.tau[k])
        b = np.concatenate([problem.force[k] - problem.tau[k] + tau_free, -problem.gamma[k], given[k, d]])
        x = np.linalg.lstsq(A, b, rcond=1e-12)[0]
        agree(vdot[k], x[:nv], 1e-6, 1.0)
        agree(tau[k, d], x[nv : nv + len(d)], 1e-6, np.abs(tau[k]).max())


def test_forces_of_the_drives_give_the_motion_back(closed_system, closed_state, agree):
    system = closed_system
    q, v = closed_state(system, 8)
    tau = np.random.default_rng(8).normal(size=system.nv)
    free = system.forward_dynamics(q, v, tau)
    joint = system.joints[0]
    # What forward dynamics does anyway is never a contradiction.
    vdot, forces = system.hybrid_dynamics(q, v, np.zeros(system.nv), {joint: free[system.slice_v(joint)]})
    agree(system.forward_dynamics(q, v, forces), vdot, 1e-7, 1.0)


def test_a_driven_crank(agree):
    """Inverse dynamics of the one motion that a driven crank leaves, with the crank as the only motor."""
    s = four_bar().system()
    q = np.stack([s.assemble({"A": x}) for x in (0.2, 0.5)])
    v = np.stack([s.velocity(x, {"A": 1.5}) for x in q])
    vdot, forces = s.hybrid_dynamics(q, v, None, {"A": [[2.0], [-1.0]]})
    np.testing.assert_array_equal(vdot[:, 0], [2.0, -1.0])
    assert np.array_equal(forces[:, 1:], np.zeros((2, 2)))
    only = ct.Mechanism("one motor")
    for body in list(s.mechanism.bodies.values())[1:]:
        only.add_body(body.name, body.mass, body.com, body.inertia)
    for j in s.mechanism.joints.values():
        only.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, actuated=j.name == "A")
    agree(forces, only.system().inverse_dynamics(q, v, vdot), 1e-9)


def test_a_driven_body_without_mass_in_a_loop(agree):
    """A four-bar whose crank weighs nothing: the same motion and torque as with a crank of next to nothing."""
    results = []
    for mass in (0.0, 1e-9):
        light = ct.Mechanism("light crank", gravity=(0, 0, -9.81))
        base = four_bar()
        for body in list(base.bodies.values())[1:]:
            gone = body.name == "crank"
            light.add_body(body.name, mass if gone else body.mass, body.com, mass if gone else body.inertia)
        for j in base.joints.values():
            light.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child)
        s = light.system()
        q = s.assemble({"A": 0.4})
        results.append(s.hybrid_dynamics(q, s.velocity(q, {"A": 1.0}), None, {"A": 2.0}))
    agree(results[0][0], results[1][0], 1e-7)
    agree(results[0][1], results[1][1], 1e-7)


def test_contradictions_are_told():
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 1.0})
    with pytest.raises(
        ct.LoopError, match="prescribed for 'A', 'B' open the loops of 'four-bar' in state 0: 'C' by"
    ):
        s.hybrid_dynamics(q, v, None, {"A": 1.0, "B": 1.0})
    vdot, forces = s.hybrid_dynamics(q, v, None, {"C": 1.0})
    np.testing.assert_allclose(s.forward_dynamics(q, v, forces), vdot, atol=1e-10 * np.abs(vdot).max())


def test_drives_that_agree_with_the_loops_are_no_contradiction(agree, closed_state):
    """All joints driven as they move anyway: their forces give that motion."""
    for make in (four_bar, stewart):
        s = make().system()
        q, v = closed_state(s, 4)
        free = s.forward_dynamics(q, v)
        vdot, forces = s.hybrid_dynamics(q, v, None, {n: free[s.slice_v(n)] for n in s.joints})
        agree(vdot, free, 1e-12)
        agree(s.forward_dynamics(q, v, forces), free, 1e-8)
