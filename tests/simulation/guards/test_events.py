"""Events: located on the exact solution, in one state and in batches."""

import numpy as np
import pytest
from scipy.special import ellipk

import catena as ct
from catena.mechanism.generators import four_bar


def pendulum():
    """A point mass of 1 kg on 1 m."""
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("pivot", "ground", "bob", ct.Revolute("-y"))
    return m.system()


def period(amplitude):
    """The exact period of the pendulum."""
    return 4.0 * ellipk(np.sin(amplitude / 2.0) ** 2) / np.sqrt(9.81)


def angle(t, q, v):
    return q[0]


def test_zero_crossings_are_located_to_1e_10_seconds():
    run = ct.simulate(
        pendulum(), [-np.pi / 2], [0.0], 2.0, rtol=1e-12, atol=1e-13, events=ct.Event(angle, "bottom")
    )
    T = period(np.pi / 2)
    exact = [T / 4, 3 * T / 4]
    assert [e.name for e in run.events] == ["bottom", "bottom"]
    np.testing.assert_allclose([e.t for e in run.events], exact, rtol=0, atol=1e-10)
    assert all(abs(e.q[0]) < 1e-9 for e in run.events)


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "abm4", "radau"])
def test_all_sorts_of_integrators_locate_events(integrator):
    chosen = {"step": 1e-3} if integrator in ("rk4", "abm4") else {"rtol": 1e-9, "atol": 1e-11}
    run = ct.simulate(
        pendulum(), [-np.pi / 2], [0.0], 1.0, integrator=integrator, events=[ct.Event(angle)], **chosen
    )
    assert len(run.events) == 1
    assert run.events[0].t == pytest.approx(period(np.pi / 2) / 4, abs=1e-7)


def test_the_direction_counts():
    s, T = pendulum(), period(np.pi / 2)
    for direction, first in ((1, T / 4), (-1, 3 * T / 4)):
        run = ct.simulate(s, [-np.pi / 2], [0.0], T, events=ct.Event(angle, direction=direction))
        assert [e.t for e in run.events] == pytest.approx([first], abs=1e-8)


def test_two_crossings_within_one_step_are_seen():
    """A large step over the highest point of a slow swing: a level above both of its ends is crossed up and down."""
    s, coarse = pendulum(), {"rtol": 1e-5, "atol": 1e-7}
    top = ct.simulate(s, [0.0], [0.2], 2.0, events=ct.Event(lambda t, q, v: v[0])).events[0]
    with pytest.warns(ct.CatenaWarning, match="steps are too large"):
        steps = ct.simulate(s, [0.0], [0.2], 1.2, **coarse)
        k = int(np.searchsorted(steps.t, top.t))
        level = 0.5 * (steps.q[k - 1 : k + 1, 0].max() + top.q[0])
        run = ct.simulate(s, [0.0], [0.2], 1.2, events=ct.Event(lambda t, q, v: q[0] - level), **coarse)
    up, down = (e.t for e in run.events)
    assert steps.t[k - 1] < up < down < steps.t[k]
    assert 0.5 * (up + down) == pytest.approx(top.t, abs=1e-3)


def test_a_terminal_event_ends_the_motion():
    run = ct.simulate(
        pendulum(),
        [-np.pi / 2],
        [0.0],
        10.0,
        events=ct.Event(lambda t, q, v: q[0] - 0.5, "half", terminal=True),
    )
    assert run.t[-1] == run.events[0].t
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-9)
    assert "half" in run.ended


def test_in_a_batch_each_state_ends_by_itself():
    s = pendulum()
    starts = np.array([[-1.0], [-0.1], [-2.0]])
    event = ct.Event(lambda t, q, v: q[0] - 0.5, "half", terminal=True)
    run = ct.simulate(s, starts, np.zeros((3, 1)), 2.0, samples=21, events=event)
    assert sorted(e.state for e in run.events) == [(0,), (2,)]
    for k in (0, 2):
        alone = ct.simulate(s, starts[k], np.zeros(1), 2.0, events=event)
        mine = next(e for e in run.events if e.state == (k,))
        assert mine.t == pytest.approx(alone.events[0].t, abs=1e-12)
        assert run.q[k, -1, 0] == pytest.approx(0.5, abs=1e-9)
    free = ct.simulate(s, starts[1], np.zeros(1), 2.0, samples=21)
    np.testing.assert_allclose(run.q[1], free.q, atol=1e-12)


def test_events_of_a_loop_with_a_sampled_controller():
    s = four_bar().system()
    q = s.neutral()
    v = s.velocity(q, {"A": 3.0})
    crank = s.slice_q("A")
    run = ct.simulate(
        s, q, v, 1.0, control=ct.sampled(lambda t, q, v: np.zeros(s.nv), 50.0),
        events=ct.Event(lambda t, q, v: q[crank][0] - 1.0, "one radian"),
    )  # fmt: skip
    assert len(run.events) == 1
    assert run.at([run.events[0].t])[0][0, crank] == pytest.approx(1.0, abs=1e-7)


def test_bad_events_are_refused():
    s = pendulum()
    with pytest.raises(ct.StateError, match="cannot be called"):
        ct.Event(3.0)
    with pytest.raises(ct.StateError, match="direction is 2"):
        ct.Event(angle, direction=2)
    with pytest.raises(ct.SimulationError, match="Event 'odd' gave") as caught:
        ct.simulate(s, [0.0], [1.0], 1.0, events=ct.Event(lambda t, q, v: np.nan, "odd"))
    assert caught.value.trajectory is not None


def test_the_last_control_force_is_that_of_the_time_of_a_terminal_event():
    """A controller that depends on time is asked for the last sample when the motion ended, not for its beginning."""
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    stop = ct.Event(lambda t, q, v: t - 0.7, terminal=True)
    run = ct.simulate(m.system(), [0.0], [0.0], 1.0, control=lambda t, q, v: np.array([1.0 + t]), events=stop)
    np.testing.assert_allclose(run.tau[:, 0], 1.0 + run.t, rtol=1e-12)
