"""Runs in one clock: what is cut into pieces moves as what is not, and what begins later as what begins at zero."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar
from catena.simulation.references import function

q0, v0 = np.array([0.4, -0.7]), np.array([0.3, 0.2])


def wave(t):
    return [0.0, 0.0, 0.0, 2.0 * np.sin(5.0 * t), 0.0, np.cos(3.0 * t)]


def moved(t):
    return 0.4 + 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)


def gains(t, q, v):
    return -4.0 * q - 0.1 * v + np.sin(4.0 * t)


def formula(t, q, v):
    return [-4.0 * q[k] - 0.1 * v[k] + ct.symbols.sin(4.0 * t) for k in range(2)]


def everything(s, late=0.0):
    """Return options of runs by name; what depends on the time does so `late` seconds later."""
    joint, sampler = s.joints[0], ct.sampled(lambda t, q, v: gains(t - late, q, v), 50.0)
    waves = {"link2": lambda t: wave(t - late)}
    times, points = np.array([0.0, 0.21, 0.47, 0.9]) + late, [[0.4], [0.55], [0.3], [0.6]]
    spline = ct.spline(times, points)
    goal = ct.PID(s, {joint: spline}, 10.0, kd=0.2, rate=50.0)
    pushed = ct.ExternalWrench(
        lambda t: [0, 0, 0, 2.0 * ct.symbols.sin(5.0 * (t - late)), 0, 0], symbolic=True
    )
    return {
        "sampled": {"control": sampler},
        "always asked": {"control": lambda t, q, v: gains(t - late, q, v), "forces": waves},
        "law": {"control": ct.SymbolicControl(lambda t, q, v: formula(t - late, q, v)), "forces": {"link2": pushed}},
        "sampled law": {"control": goal, "forces": {"link2": ct.spline(times, np.outer([0, 1, -1, 0], wave(0.3)))}},
        "sampled law, fixed steps": {"control": goal, "integrator": "rk4", "step": 1e-3},
        "driven by Python": {"motion": {joint: lambda t: moved(t - late)}},
        "driven by polynomials": {"motion": {joint: spline}},
        "driven by a formula": {"motion": {joint: function(lambda t: [0.4 + 0.3 * ct.symbols.sin(t - late)])}},
        "stiff": {"control": sampler, "integrator": "radau", "rtol": 1e-7, "atol": 1e-8},
        "stop": {
            "contacts": [ct.Stop(s.joints[1], -0.9, 0.2, restitution=0.4)],
            "forces": waves,
            "control": sampler,
            "rtol": 1e-9,
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def arm():
    return chain(2, axes="y").system()


def last(run):
    part = run.segments[-1] if hasattr(run, "segments") else run
    return np.concatenate([part.q[-1], part.v[-1]])


@pytest.mark.parametrize("kind", everything(chain(2, axes="y").system()))
def test_pieces_and_late_runs_move_as_whole_ones(arm, kind):
    """One run, two that follow each other, and one that begins at 3 s with all that depends on the time 3 s later."""
    given = everything(arm)[kind]
    whole = ct.simulate(arm, q0, v0, 0.6, **given)
    first = ct.simulate(arm, q0, v0, 0.24, **given)
    parts = first.segments if hasattr(first, "segments") else [first]
    second = ct.simulate(arm, parts[-1].q[-1], parts[-1].v[-1], 0.36, start=first.t[-1], **given)
    assert second.t[0] == first.t[-1] and second.t[-1] == pytest.approx(0.6, abs=1e-15)
    exact = {"stiff": 1e-5, "stop": 1e-7}.get(kind, 1e-9)
    np.testing.assert_allclose(last(second), last(whole), rtol=0, atol=exact)
    late = ct.simulate(arm, q0, v0, 0.6, start=3.0, **everything(arm, late=3.0)[kind])
    np.testing.assert_allclose(last(late), last(whole), rtol=0, atol=exact)
    assert late.t[0] == 3.0 and late.t[-1] == pytest.approx(3.6, abs=1e-15)


def test_samples_events_and_batches_count_in_the_clock(arm):
    event = ct.Event(lambda t, q, v: t - 2.35, "later", terminal=True)
    states = q0 + np.array([[0.0, 0.0], [0.1, 0.2], [-0.3, 0.1]])
    run = ct.simulate(arm, states, v0, 0.6, start=2.0, samples=7, events=[lambda t, q, v: q[0] - 0.35, event])
    alike = ct.simulate(arm, states, v0, 0.35, samples=[0.0, 0.1, 0.2, 0.3, 0.35])
    np.testing.assert_allclose(run.t, [2.0, 2.1, 2.2, 2.3, 2.35], rtol=1e-15)
    np.testing.assert_allclose(run.q, alike.q, atol=1e-10)
    assert {found.name for found in run.events} == {"<lambda>", "later"}
    assert all(2.0 < found.t <= 2.35 for found in run.events)
    with pytest.raises(ct.StateError, match="must begin at 2 and end by 2.6"):
        ct.simulate(arm, q0, v0, 0.6, start=2.0, samples=[0.0, 0.3])
    for start in (np.nan, "soon", None):
        with pytest.raises(ct.StateError, match="start is"):
            ct.simulate(arm, q0, v0, 0.6, start=start)
    with pytest.raises(ct.StateError, match="lost in the rounding"):
        ct.simulate(arm, q0, v0, 0.6, start=1e17)


@pytest.mark.parametrize("kind", ["remembers", "law", "compiled"])
def test_a_controller_goes_on_where_an_event_changes_nothing(arm, kind):
    """Between two samples: forces hold, memories stay, and a sampler is asked for each sample once."""
    asked = []

    class Remembers:
        rate = 50.0
        total = np.zeros(2)

        def start(self, system, batch):
            self.total = np.zeros(2)

        def __call__(self, t, q, v):
            asked.append(t)
            self.total = self.total + q / self.rate
            return -4.0 * q - 3.0 * self.total

    control = {
        "remembers": Remembers(),
        "law": ct.PID(arm, dict.fromkeys(arm.joints, 0.2), 5.0, ki=5.0, kd=0.1, rate=50.0),
        "compiled": ct.PID(arm, dict.fromkeys(arm.joints, 0.2), 5.0, kd=0.1, rate=50.0),
    }[kind]
    plain = ct.simulate(arm, q0, v0, 0.5, control=control)
    once, asked[:] = list(asked), []
    nothing = [ct.at_time(t, then=lambda here: None) for t in (0.113, 0.26)]
    run = ct.simulate(arm, q0, v0, 0.5, control=control, events=nothing)
    assert len(run.events) == 2
    np.testing.assert_allclose(last(run), last(plain), atol=1e-9)
    assert asked == pytest.approx(once)


def test_a_run_of_a_loop_begins_anywhere():
    """The same motion at four times, one of them before zero, and a step of Stepper from there."""
    s = four_bar().system()
    runs = [ct.simulate(s, duration=0.2, start=start) for start in (0.0, 17.0, 1e4, -3.0)]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=1e-11)
        assert run.t[-1] - run.t[0] == pytest.approx(0.2)
