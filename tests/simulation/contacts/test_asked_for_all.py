"""A controller with a rate that takes all states of a batch at once is asked once at each sample, beside contacts too:
every state moves as it moves alone, to the last bit."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, walker_on_springs

ROUGH = {"rtol": 1e-4, "atol": 1e-6, "check": False}


class Smoothing:
    """Damps by a mean of what it has seen, of a state or of all states of a batch, with gains by state if there are
    some."""

    def __init__(self, gains=0.05):
        self.gains, self.times, self.shapes = gains, [], set()

    def start(self, system, batch=()):
        self.mean = np.zeros((*batch, system.nv))

    def __call__(self, t, q, v):
        self.times.append(t)
        self.shapes.add(q.shape)
        self.mean = 0.9 * self.mean + v
        return -self.gains * self.mean


def fallen(s, count):
    """Configurations (count, nq) of walkers askew over the floor, and their feet."""
    random, q = np.random.default_rng(4), askew(s, 0.004)
    turns = np.zeros((count, s.nv))
    turns[:, s.slice_v("base")][:, :3] = 0.04 * random.normal(size=(count, 3))
    q = np.array([s.integrate(q, turn) for turn in turns])
    q[:, s.slice_q("base")][:, 2] += 0.01
    return q, [ct.Contact(f"{leg}/foot", friction=0.5) for leg in LEGS]


def crates(count):
    """A crate on three feet, states q (count, 7), v (count, 6) in which it slides, spins and falls, and its feet."""
    m, random = ct.Mechanism("crate"), np.random.default_rng(2)
    m.add_body("crate", mass=2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("moves", "ground", "crate", ct.Free())
    for k, p in enumerate([(0.2, 0.0, -0.1), (-0.2, 0.15, -0.1), (-0.2, -0.15, -0.1)]):
        m.add_frame(f"foot {k}", "crate", ct.Pose(p=p))
    s = m.system()
    v = 0.4 * random.normal(size=(count, 6))
    q = np.array([s.integrate(s.neutral(), 0.1 * random.normal(size=6)) for _ in range(count)])
    for x in q:
        x[2] += 0.005 - min(s.pose(x, f"foot {k}").p[2] for k in range(3))
    return s, q, v, [ct.Contact(f"foot {k}", friction=0.4, restitution=0.3) for k in range(3)]


def are_the_same(batch, alone):
    assert len(batch.states) == len(alone)
    for one, other in zip(batch.states, alone, strict=True):
        assert [x.name for x in one.transitions] == [x.name for x in other.transitions]
        assert one.steps == other.steps
        for name in ("t", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for name, f in other.contact_forces.items():
            np.testing.assert_array_equal(one.contact_forces[name], f)
        for name, work in other.work.items():
            np.testing.assert_array_equal(one.work[name], work)


def test_walkers_that_land_and_slip_are_asked_for_together(threads):
    s = walker_on_springs().system()
    q, feet = fallen(s, 6)
    law, rest = Smoothing(), np.zeros(s.nv)
    control = ct.sampled(law, 500.0, batches=True)
    run = ct.simulate(s, q, np.zeros((6, s.nv)), 0.1, contacts=feet, control=control, **ROUGH)
    np.testing.assert_allclose(law.times, np.arange(50) / 500.0, atol=1e-12)
    assert law.shapes == {(6, s.nq)}
    alone = [
        ct.simulate(s, x, rest, 0.1, contacts=feet, control=ct.sampled(Smoothing(), 500.0), **ROUGH)
        for x in q
    ]
    are_the_same(run, alone)


def test_a_batch_of_two_dimensions_with_gains_of_each_state():
    s, q, v, feet = crates(6)
    gains, rate = 0.1 * np.arange(1.0, 7.0).reshape(2, 3, 1), 1000.0
    law = Smoothing(gains)
    q, v = q.reshape(2, 3, -1), v.reshape(2, 3, -1)
    run = ct.simulate(s, q, v, 0.2, contacts=feet, control=ct.sampled(law, rate, batches=True), **ROUGH)
    assert law.shapes == {(2, 3, s.nq)} and len(law.times) == 200
    alone = [
        ct.simulate(s, q[k], v[k], 0.2, contacts=feet, control=ct.sampled(Smoothing(gains[k]), rate), **ROUGH)
        for k in np.ndindex(2, 3)
    ]
    are_the_same(run, alone)


def test_each_state_may_have_numbers_of_its_own():
    """Crates of other masses, whose steps take their constants in lanes: the same but for rounding."""
    s, q, v, feet = crates(5)
    masses, law, v = [2.0, 1.0, 3.0, 2.5, 1.5], Smoothing(), 0.3 * v
    settings = {"contacts": feet, "samples": 5, **ROUGH}
    run = ct.simulate(
        s,
        q,
        v,
        0.1,
        control=ct.sampled(law, 500.0, batches=True),
        parameters={"crate.mass": masses},
        **settings,
    )
    assert len(law.times) == 50
    for mass, one, *state in zip(masses, run.states, q, v, strict=True):
        other = s.mechanism.with_body("crate", mass=mass).system()
        alone = ct.simulate(other, *state, 0.1, control=ct.sampled(Smoothing(), 500.0), **settings)
        np.testing.assert_allclose(one.q, alone.q, atol=1e-9)


def test_more_states_than_go_on_at_a_time():
    s = ct.generators.chain(1).system()
    q, v = np.linspace(-0.5, 0.5, 300)[:, None], np.full((300, 1), 2.0)
    stops, law = [ct.Stop(s.joints[0], lower=-0.6, upper=0.6, restitution=0.3)], Smoothing()
    control = ct.sampled(law, 100.0, batches=True)
    run = ct.simulate(s, q, v, 0.05, contacts=stops, control=control, samples=2, **ROUGH)
    np.testing.assert_allclose(law.times, np.arange(5) / 100.0, atol=1e-12)
    alone = ct.simulate(
        s, q[280], v[280], 0.05, contacts=stops, control=ct.sampled(Smoothing(), 100.0), samples=2, **ROUGH
    )
    np.testing.assert_array_equal(run.state(280).q, alone.q)


def test_states_that_end_or_fail_are_left_behind():
    """One of them begins in the floor, and one ends where it falls; the others go on, and no sample is left out."""
    s, q, v, feet = crates(5)
    q[2, 2] -= 0.5
    q[3, 2] += 0.01
    law = Smoothing()
    ends = ct.Event(lambda t, q, v: q[2] - 0.105, "low", terminal=True)
    settings = {"contacts": feet, "events": [ends], "on_error": "record", **ROUGH}
    run = ct.simulate(s, q, v, 0.1, control=ct.sampled(law, 500.0, batches=True), **settings)
    assert list(run.failed) == [(2,)] and any(one.ended for one in run.states)
    assert len(law.times) == 50
    for k, one in zip((0, 1, 3, 4), run.states, strict=True):
        alone = ct.simulate(s, q[k], v[k], 0.1, control=ct.sampled(Smoothing(), 500.0), **settings)
        np.testing.assert_array_equal(one.q, alone.q)
        assert one.ended == alone.ended


def test_careful_steps_and_stops_wait_too():
    """Arms that swing against rigid stops by an integrator that knows no contacts inside its steps."""
    s = ct.generators.chain(2).system()
    q, v = np.array([[0.2, 0.1], [-0.3, 0.2], [0.5, -0.4]]), np.array([[2.0, -1.0], [1.5, 0.5], [-2.0, 1.0]])
    stops = [ct.Stop(joint, lower=-0.6, upper=0.6, restitution=0.3) for joint in s.joints]
    for integrator in ("dopri5", "abm4"):
        settings = {"contacts": stops, "integrator": integrator, "check": False}
        settings |= {"step": 1e-3} if integrator == "abm4" else {}
        law = Smoothing()
        run = ct.simulate(s, q, v, 0.1, control=ct.sampled(law, 200.0, batches=True), **settings)
        assert law.shapes == {(3, 2)} and len(set(law.times)) == len(law.times) <= 21
        for one, *state in zip(run.states, q, v, strict=True):
            alone = ct.simulate(s, *state, 0.1, control=ct.sampled(Smoothing(), 200.0), **settings)
            np.testing.assert_array_equal(one.q, alone.q)


def test_what_goes_wrong_is_told():
    s, q, v, feet = crates(4)

    def ask(law, q=q, v=v):
        control = ct.sampled(law, 500.0, batches=True)
        return ct.simulate(s, q, v, 0.1, contacts=feet, control=control, **ROUGH)

    def fails(t, q, v):
        return np.where(t > 0.049, np.nan, 0.0) * v

    with pytest.raises(ct.SimulationError, match="by name"):
        ask(lambda t, q, v: {"moves": np.zeros(6)})
    with pytest.raises(ct.SimulationError, match="shape"):
        ask(lambda t, q, v: np.zeros((3, 6)))
    with pytest.raises(ct.SimulationError, match=r"nan.*t = 0\.05") as failed:
        ask(fails)
    with pytest.raises(ct.SimulationError, match=r"nan.*t = 0\.05") as alone:
        ask(fails, q[0], v[0])
    np.testing.assert_array_equal(failed.value.trajectory.q, alone.value.trajectory.q)
    with pytest.raises(ZeroDivisionError):
        ask(lambda t, q, v: 0.0 * v if t < 0.03 else 1 / 0)


def test_cancelled_together():
    """Who cancels the batch gets all states as far as they have come: to the same sample, or nearly so."""

    class AfterAWhile:
        count = 0

        def is_set(self):
            self.count += 1
            return self.count > 400

    s, q, v, feet = crates(4)
    control = ct.sampled(Smoothing(), 500.0, batches=True)
    run = ct.simulate(s, q, v, 5.0, contacts=feet, control=control, cancel=AfterAWhile(), **ROUGH)
    assert all("cancelled" in one.ended for one in run.states)
    ends = np.array([one.t[-1] for one in run.states])
    assert ends.min() > 0.05 and np.ptp(ends) < 2.1e-3
