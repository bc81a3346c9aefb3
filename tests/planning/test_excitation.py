"""Motions that tell inertias: the same when simulated, better than by chance, with errors as they were told."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, free_flyer


@pytest.mark.slow
def test_three_joints_of_an_arm_tell_the_inertia_of_the_base():
    """Example 3 of Lampariello et al.: from rest and back, within limits; the run goes where the plan says, a wrong
    guess of the base is put right by it, and repeated experiments scatter as much as the plan told before any of
    them."""
    m = free_flyer()
    m.gravity = (0, 0, 0)
    led = ["arm1/joint1", "arm1/joint2", "arm1/joint4"]
    s = m.reduce_to(["base", *led]).system()
    q0 = s.integrate(s.neutral(), np.r_[np.zeros(6), 0.2, 0.5, 0.6])
    plan = ct.plan_excitation(
        s, q0, 10.0, ["bus"], amplitude=1.0, rates=1.2, measured=True, samples=40, tries=12, rounds=4
    )
    assert plan.rank == plan.unknowns == 10 and plan.condition < 0.8 * plan.random
    assert tuple(plan.motions) == tuple(led)
    moved = plan.q[:, s.slice_q(led[0]).start :]
    assert np.abs(moved - moved[0]).max() <= 1.0 + 1e-9 and np.abs(plan.v[:, 6:]).max() <= 1.2 + 1e-9
    assert max(np.abs(plan.v[k]).max() for k in (0, -1)) < 1e-3
    run = ct.simulate(s, q0, np.zeros(s.nv), 10.0, motion=plan.motions, samples=plan.t, check=False)
    np.testing.assert_allclose(run.q, plan.q, atol=1e-3)
    given = {name: np.array([motion(t)[2] for t in run.t]) for name, motion in plan.motions.items()}
    vdot, tau = s.hybrid_dynamics(run.q, run.v, None, given)
    wrong = m.with_body("bus", mass=1.5 * m.bodies["bus"].mass)
    guess = wrong.reduce_to(["base", *led]).system()
    exact = ct.inertial_parameters(s)[:10]
    found = ct.identify_inertia(guess, run.q, run.v, vdot, ["bus"])
    np.testing.assert_allclose(found.parameters["bus"], exact, atol=1e-6 * np.abs(exact).max())
    rng, noise = np.random.default_rng(0), 0.02
    errors = []
    for _ in range(60):
        noisy = ct.identify_inertia(
            s, run.q, run.v, vdot, ["bus"], tau=tau + noise * rng.normal(size=tau.shape)
        )
        errors.append(noisy.parameters["bus"] - exact)
    spread = np.std(errors, axis=0) / plan.deviations(noise)["bus"]
    assert spread.min() > 0.7 and spread.max() < 1.4


def test_a_loop_is_excited_by_its_motor():
    """A four-bar: what one motor can tell of the coupler, with loops closed in all states; no motion tells all of
    it."""
    m = four_bar()
    for name in ("B", "C", "D"):
        m = m.with_joint(name, actuated=False)
    s = m.system(cut=["C"])
    plan = ct.plan_excitation(
        s, s.assemble({"A": 0.8}), 3.0, ["coupler"], measured=True, samples=20, tries=4, rounds=2
    )
    assert tuple(plan.motions) == ("A",) and 1 < plan.rank < 10
    assert max(np.abs(x).max() for x in s.closure(plan.q, plan.v)) < 1e-7
    told = plan.deviations(1.0)["coupler"]
    assert np.isinf(told).any()
    with pytest.raises(ct.StateError, match="'B' cannot be led; those that can"):
        ct.plan_excitation(s, s.assemble({"A": 0.8}), 3.0, ["coupler"], joints="B")
    with pytest.raises(ct.StateError, match="aim is 'best'; give one of condition, confidence"):
        ct.plan_excitation(s, s.assemble({"A": 0.8}), 3.0, ["coupler"], aim="best")
