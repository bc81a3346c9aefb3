"""Steps that are implicit in modes: what they solve, their order, and that no mode bounds them."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.stepping.implicit_modes import implicit_accelerations
from tests.bodies.slider_crank import moving, slider_crank


def arm(modes=3, damping=0.02):
    """A beam on a shoulder, with a load on a wrist at its end: two joints, bending in both planes."""
    m = ct.Mechanism("arm", gravity=(0.0, -9.81, 0.0))
    beam = ct.Beam(1.0, 1e-4, (2e-9, 1e-9), 2700.0, 7e10, modes={"y": modes, "z": 1}, damping=damping)
    m.add_body("beam", flexible=beam)
    m.add_body("load", mass=0.2, com=(0.05, 0.02, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("shoulder", "ground", "beam", ct.Universal("z", "y"), damping=0.01)
    m.add_joint("wrist", "beam", "load", ct.Revolute("y"), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    return m.system()


def lent(s, modes, h):
    """What a step of size h lends to modes: inertia (nv,); their damping (nv,); how much of the last acceleration (nv,)
    is taken to go on."""
    F, C, goes_on = np.zeros(s.nv), np.zeros(s.nv), np.ones(s.nv)
    body = s.mechanism.bodies[modes].flexible
    own = s.slice_v(f"{modes}.modes")
    C[own], F[own] = body.damping, 0.5 * h * body.damping + 0.25 * h**2 * body.stiffness
    goes_on[own] = 1.0 / (1.0 + (2.0 * h * body.free_frequencies) ** 2)
    return F, C, goes_on


@pytest.mark.slow
def test_a_step_of_a_tree_solves_what_the_method_says():
    """Two steps, against the mass matrix and the bias force of the mechanism; the second has a past."""
    s, h = arm(), 2e-2
    rng = np.random.default_rng(0)
    q, v = 0.02 * rng.normal(size=s.nq), 0.1 * rng.normal(size=s.nv)
    F, C, goes_on = lent(s, "beam", h)
    stepper, past = ct.Stepper(s, q, v, step=h, integrator="implicit_leapfrog"), np.zeros(s.nv)
    for _ in range(2):
        middle, faster = s.integrate(q, v, 0.5 * h), 0.5 * h * goes_on * past
        f = s.mass_matrix(middle) @ s.forward_dynamics(middle, v + faster) + C * faster
        past = np.linalg.solve(s.mass_matrix(middle) + np.diag(F), f)
        expected = s.integrate(q, v + 0.5 * h * past, h), v + h * past
        q, v = stepper.step()
        np.testing.assert_allclose(q, expected[0], atol=1e-12)
        np.testing.assert_allclose(v, expected[1], atol=1e-11)


def test_a_step_with_a_loop_solves_it_within_the_motions_that_the_loop_allows():
    s, h = slider_crank(damping=0.05).system(), 1e-3
    (q, v), (F, C, goes_on) = moving(s), lent(s, "rod", h)
    stepper = ct.Stepper(s, q, v, step=h, integrator="implicit_leapfrog", drift="none")
    past = np.zeros(s.nv)
    for _ in range(2):
        middle, faster = s.integrate(q, v, 0.5 * h), 0.5 * h * goes_on * past
        a, J = s.forward_dynamics(middle, v + faster, method="kkt"), s.closure_jacobian(middle)
        rank = np.linalg.matrix_rank(J, tol=1e-9)
        Z = np.linalg.svd(J)[2][rank:].T
        M = s.mass_matrix(middle) + np.diag(F)
        # What Python solves where the compiled step is in doubt is the same.
        mended = implicit_accelerations(s, middle, a, past, h)
        past = a + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (C * faster - F * a))
        np.testing.assert_allclose(mended, past, atol=1e-9 * np.abs(past).max())
        q0, v0 = q, v
        q, v = stepper.step()
        np.testing.assert_allclose(v - v0, h * past, atol=1e-9 * np.abs(h * past).max())
        np.testing.assert_allclose(q, s.integrate(q0, v0 + 0.5 * h * past, h), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda: arm(modes=1, damping=0.1), lambda: slider_crank(1, damping=0.1).system()]
)
def test_its_order_is_two_with_modes_that_are_damped_and_swing(make):
    s = make()
    if s.loops:
        q = s.assemble({"A": 0.4, "rod.modes": [1e-3]})
        v, duration = s.velocity(q, {"A": 20.0, "rod.modes": [0.3]}), 0.02
    else:
        q, v, duration = s.neutral(), np.ones(s.nv), 0.2
        v[s.slice_v("beam.modes")] = 0.2
    exact = ct.simulate(s, q, v, duration, integrator="dop853", rtol=1e-11, atol=1e-13)
    counts, errors, rigid = np.array([100, 200, 400]), [], []
    for n in counts:
        run = ct.simulate(s, q, v, duration, integrator="implicit_leapfrog", step=duration / n, check=False)
        missed, own = np.abs(s.difference(run.q[-1], exact.q[-1])), s.slice_v(s.joints[-1])
        errors.append(missed[own].max())
        rigid.append(np.delete(missed, own).max())
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.2)
    # What joints feel of modes is foretold the better, the shorter steps are, so their order may be higher.
    assert -np.polyfit(np.log(counts), np.log(rigid), 1)[0] > 1.6


def test_steps_far_beyond_the_fastest_mode_follow_the_slow_motion():
    """A pendulum whose beam is stiff, at fifteen times the step that explicit methods bear, against the rigid one."""
    m = ct.Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
    beam = ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 5})
    m.add_body("boom", flexible=beam)
    m.add_joint("A", "ground", "boom", ct.Revolute("z"))
    s, hard, step = m.system(), m.lock("boom.modes").system(), 1e-2
    assert step * beam.frequencies[-1] > 15 * 2.0
    run = ct.simulate(
        s, s.neutral(), np.zeros(s.nv), 3.0, integrator="implicit_leapfrog", step=step, samples=31
    )
    rigid = ct.simulate(hard, hard.neutral(), np.zeros(hard.nv), 3.0, samples=31)
    np.testing.assert_allclose(run["A"], rigid["A"], atol=2e-2)
    assert run.energy_drift < 1e-2
    with pytest.raises(ct.SimulationError):
        ct.simulate(s, s.neutral(), np.zeros(s.nv), 3.0, integrator="leapfrog", step=step, samples=31)


def test_modes_keep_their_energy_at_any_step():
    """A beam that is clamped to ground and plucked: nothing is taken from modes that steps pass over."""
    m = ct.Mechanism("reed", gravity=(0.0, 0.0, 0.0))
    m.add_body("beam", flexible=ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 3}))
    m.add_joint("clamp", "ground", "beam", ct.Fixed())
    s = m.system()
    for step in (1e-4, 1e-3, 1e-2):
        run = ct.simulate(s, [1e-4, 1e-5, 1e-6], np.zeros(3), 1.0, integrator="implicit_leapfrog", step=step)
        energy = np.ravel(run.energy)
        np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


@pytest.mark.slow
def test_batches_and_drives_move_as_single_states_do():
    s = arm(modes=2)
    rng = np.random.default_rng(1)
    q, v = 0.02 * rng.normal(size=(5, s.nq)), 0.2 * rng.normal(size=(5, s.nv))
    settings = {"integrator": "implicit_leapfrog", "step": 5e-3, "samples": 5}
    motion = {"wrist": lambda t: (0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t))}
    for more in ({}, {"motion": motion}):
        together = ct.simulate(s, q, v, 0.1, **settings, **more)
        for k in (0, 4):
            alone = ct.simulate(s, q[k], v[k], 0.1, **settings, **more)
            np.testing.assert_allclose(together.q[k], alone.q, atol=1e-12)
