"""Loops stay closed: by projection, by feedback, by a force; and what happens without."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, hslm, stewart
from catena.system import correction, restoring_acceleration

REMEDIES = ["projection", "baumgarte", "corrective", "none"]


def turning():
    """A four-bar linkage with its crank turning."""
    s = four_bar().system()
    q = s.neutral()
    return s, q, s.velocity(q, {"A": 3.0})


@pytest.mark.parametrize("remedy", REMEDIES)
def test_all_remedies_agree_on_the_motion(remedy):
    s, q, v = turning()
    run = ct.simulate(s, q, v, 1.0, drift=remedy, rtol=1e-9, atol=1e-11)
    exact = ct.simulate(s, q, v, 1.0, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-5)


def test_projection_closes_to_rounding_and_no_remedy_does_not():
    s, q, v = turning()
    gaps = {
        r: ct.simulate(s, q, v, 2.0, drift=r, integrator="rk4", step=2e-2).closure_error for r in REMEDIES
    }
    assert gaps["projection"] < 1e-12
    assert gaps["none"] > 1e-6
    # Feedback keeps gaps small, but never takes them away.
    assert 1e-12 < gaps["baumgarte"] < 0.5 * gaps["none"]


def test_gaps_fade_as_baumgarte_says():
    """An open loop at rest closes like (1 + t/T) exp(-t/T), whatever the mechanism weighs."""
    m = four_bar()
    s = m.system()
    q = s.neutral()
    gap = s.integrate(q, 1e-7 * np.ones(s.nv))
    start = s.closure(gap)[0]
    T = 0.1
    run = ct.simulate(s, gap, np.zeros(s.nv), 0.3, drift=ct.Baumgarte(T), samples=[0.0, 0.1, 0.3])
    for k, t in ((1, 0.1), (2, 0.3)):
        # The axes of the loop joint turn meanwhile, so only the length of the gap is as it was.
        gap_then = np.linalg.norm(s.closure(run.q[k])[0])
        assert gap_then == pytest.approx(np.linalg.norm(start) * (1.0 + t / T) * np.exp(-t / T), rel=2e-2)


def test_the_corrective_force_acts_on_the_open_tree():
    """M^-1 J^T f against a dense solve, on a platform with loops of six joints."""
    s = stewart().system()
    rng = np.random.default_rng(0)
    q = s.integrate(s.neutral(), 1e-3 * rng.normal(size=(3, s.nv)))
    v = 1e-2 * rng.normal(size=(3, s.nv))
    position, velocity = s.closure(q, v)
    J = s.closure_jacobian(q)
    force = -60.0 * position - 40.0 * velocity
    dense = np.linalg.solve(s.mass_matrix(q), np.einsum("smn,sm->sn", J, force)[..., None])[..., 0]
    np.testing.assert_allclose(restoring_acceleration(s, q, v, 60.0, 40.0), dense, rtol=1e-9, atol=1e-11)


def test_the_force_that_pulls_loops_together_is_part_of_the_compiled_step():
    """Coarse steps, written out by hand with the accelerations of `pulled` added."""
    s, q, v = turning()
    h, weights = 0.02, np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    chosen = {"drift": ct.Corrective(300.0, 20.0), "integrator": "rk4", "step": h, "check": False}
    run = ct.simulate(s, q, v, 10 * h, **chosen)
    assert run.settings["steps taken by"] == "the compiled loop"

    def rates(q, v):
        return v, s.forward_dynamics(q, v) + restoring_acceleration(s, q[None], v[None], 300.0, 20.0)[0]

    for _ in range(10):
        k = [rates(q, v)]
        for part in (0.5, 0.5, 1.0):
            k.append(rates(q + part * h * k[-1][0], v + part * h * k[-1][1]))
        q, v = (x + h * sum(w * y[i] for w, y in zip(weights, k, strict=True)) for i, x in enumerate((q, v)))
    np.testing.assert_allclose(run.q[-1], q, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run.v[-1], v, rtol=1e-11, atol=1e-12)
    assert np.abs(s.closure(q)[0]).max() > 1e-7, "the loops are open, so the forces act"


@pytest.mark.parametrize("sort", [int, np.float32])
def test_numbers_of_any_sort_are_taken_for_what_they_are(sort):
    """The compiled loop reads the bits of doubles: others were nothing to it, and runs never ended."""
    s, q, v = turning()
    for options in (
        lambda kind: {"integrator": "rk4", "step": 0.02, "drift": ct.Corrective(kind(300), kind(20))},
        lambda kind: {"rtol": kind(1), "atol": 0},
    ):
        runs = [ct.simulate(s, q, v, 0.1, check=False, **options(kind)) for kind in (float, sort)]
        assert np.array_equal(runs[0].q, runs[1].q)
    m = ct.Mechanism("slow", gravity=(0.0, 0.0, -1e-3))
    m.add_body("rod", mass=1.0, com=(0, 0, -1.0))
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    slow = m.system()
    runs = [
        ct.simulate(slow, [0.5], [0.0], 4.0, integrator="rk4", step=kind(1), check=False)
        for kind in (float, sort)
    ]
    assert np.array_equal(runs[0].q, runs[1].q) and len(runs[1].t) == 5


def test_the_jacobian_of_the_loops_gives_their_velocity_errors():
    s = stewart().system()
    rng = np.random.default_rng(1)
    q, v = s.neutral(), rng.normal(size=s.nv)
    np.testing.assert_allclose(s.closure_jacobian(q) @ v, s.closure(q, v)[1], atol=1e-12)


def test_corrections_close_loops_to_first_order():
    s, q, v = turning()
    rng = np.random.default_rng(2)
    q, v = s.integrate(q, 1e-5 * rng.normal(size=s.nv)), v + 1e-3 * rng.normal(size=s.nv)
    by_position, by_velocity = correction(s, q, v)
    J = s.closure_jacobian(q)
    np.testing.assert_allclose(J @ by_position, -s.closure(q, v)[0], atol=1e-12)
    np.testing.assert_allclose(J @ by_velocity, -s.closure(q, v)[1], atol=1e-12)


def test_projection_can_hold_joints():
    s, q, v = turning()
    moved = q.copy()
    moved[s.slice_q("A")] += 0.05
    near, rates = s.project(moved, v, held=["A"])
    assert near[s.slice_q("A")] == moved[s.slice_q("A")]
    assert rates[s.slice_v("A")] == v[s.slice_v("A")]
    assert max(np.abs(x).max() for x in s.closure(near, rates)) < 1e-12


def test_bad_remedies_are_refused():
    s, q, v = turning()
    with pytest.raises(ct.StateError, match="no drift control 'glue'; choose projection"):
        ct.simulate(s, q, v, 1.0, drift="glue")
    with pytest.raises(ct.StateError, match="time constant is 0"):
        ct.Baumgarte(0.0)
    with pytest.raises(ct.StateError, match="stiffness is -1"):
        ct.Corrective(stiffness=-1)


def test_angles_are_pulled_by_gains_of_their_own():
    """Against a dense solve in which rows about angles, of known places, have other gains; and in the compiled step."""
    s = hslm().system()
    rng = np.random.default_rng(3)
    q = s.integrate(s.neutral(), 1e-4 * rng.normal(size=(2, s.nv)))
    v = 1e-2 * rng.normal(size=(2, s.nv))
    position, velocity = s.closure(q, v)
    # A loop of the HSLM is a welded tip or a universal joint: three rows about angles or one come first.
    turning = np.concatenate([_about_angles(loop.kind) for loop in s.plan.loop_joints])
    assert 0 < turning.sum() < turning.size
    force = -np.where(turning, 3.0, 60.0) * position - np.where(turning, 0.2, 40.0) * velocity
    J = s.closure_jacobian(q)
    dense = np.linalg.solve(s.mass_matrix(q), np.einsum("smn,sm->sn", J, force)[..., None])[..., 0]
    found = restoring_acceleration(s, q, v, 60.0, 40.0, 3.0, 0.2)
    np.testing.assert_allclose(found, dense, rtol=1e-8, atol=1e-10)
    h, start, still = 1e-5, s.neutral(), np.zeros(s.nv)
    remedy = ct.Corrective(60.0, 40.0, angular_stiffness=3.0, angular_damping=0.2)
    opened = s.integrate(start, 1e-9 * rng.normal(size=s.nv))
    run = ct.simulate(s, opened, still, h, drift=remedy, integrator="semi_implicit", step=h, check=False)
    expected = (
        s.forward_dynamics(run.q[0], run.v[0])
        + restoring_acceleration(s, run.q[:1], run.v[:1], 60.0, 40.0, 3.0, 0.2)[0]
    )
    np.testing.assert_allclose(run.v[-1] - run.v[0], h * expected, rtol=1e-6, atol=1e-14)


def _about_angles(kind):
    columns = kind.constraint_space(kind.neutral()).array
    return np.linalg.norm(columns[3:], axis=0) < 1e-9


@pytest.mark.parametrize("make", [hslm, stewart, four_bar])
def test_forces_that_suit_the_mechanism_keep_loops_closed(make):
    s = make().system()
    start = s.assemble()
    run = ct.simulate(
        s, start, np.zeros(s.nv), 0.2, drift="corrective", integrator="rk4", step=1e-3, check=False
    )
    exact = ct.simulate(s, start, np.zeros(s.nv), 0.2, rtol=1e-10)
    assert run.closure_error < 1e-5
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-4)


def test_forces_that_are_too_strong_are_named_where_motions_run_away():
    s = hslm().system()
    with pytest.raises(ct.CatenaError, match="pull loops together.*angular_stiffness"):
        ct.simulate(
            s, s.neutral(), np.zeros(s.nv), 0.2, drift=ct.Corrective(6e4, 4e4), integrator="rk4", step=1e-3
        )
