"""States of a batch with contacts, whose compiled steps are taken together in lanes and on threads, and the same states
one by one: the same numbers, to the last bit where the steps are the same code."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, walker_on_springs

ROUGH = {"rtol": 1e-4, "atol": 1e-6, "check": False}


def are_the_same(batch, alone, within=0.0):
    """Compare a batch with runs of its states, to the last bit or `within` a tolerance."""
    assert len(batch.states) == len(alone)
    for one, other in zip(batch.states, alone, strict=True):
        assert [x.name for x in one.transitions] == [x.name for x in other.transitions]
        assert [x.told for x in one.transitions] == [x.told for x in other.transitions]
        assert one.steps == other.steps
        pairs = [(getattr(one, name), getattr(other, name)) for name in ("t", "q", "v", "tau")]
        pairs += [(one.contact_forces[name], f) for name, f in other.contact_forces.items()]
        pairs += [(one.work[name], work) for name, work in other.work.items()]
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=within, atol=within)


def fallen(s, count):
    """Configurations (count, nq) of walkers askew over the floor, and their feet."""
    random, q = np.random.default_rng(1), askew(s, 0.004)
    turns = np.zeros((count, s.nv))
    turns[:, s.slice_v("base")][:, :3] = 0.04 * random.normal(size=(count, 3))
    q = np.array([s.integrate(q, turn) for turn in turns])
    q[:, s.slice_q("base")][:, 2] += 0.01
    return q, [
        ct.Contact(f"{leg}/foot", friction=mu) for leg, mu in zip(LEGS, (0.3, 0.5, 0.7, 0.9), strict=True)
    ]


def test_walkers_that_slip_and_land(threads):
    s = walker_on_springs().system()
    q, feet = fallen(s, 11)
    run = ct.simulate(s, q, np.zeros_like(q[:, 1:]), 0.12, contacts=feet, **ROUGH)
    alone = [ct.simulate(s, x, np.zeros(s.nv), 0.12, contacts=feet, **ROUGH) for x in q]
    words = " ".join(" ".join(change.told) for change in run.transitions)
    assert all(word in words for word in ("open -> slide", "slide -> stick"))
    are_the_same(run, alone)


class Remembering:
    """A controller at a rate whose forces depend on what it has seen before."""

    rate = 300.0

    def __init__(self):
        self.seen, self.times = 0.0, []

    def __call__(self, t, q, v):
        self.seen = 0.9 * self.seen + v
        self.times = [*self.times, t]
        return -0.5 * self.seen - 0.01 * len(self.times)


def test_a_controller_at_a_rate_remembers_each_state():
    """Asked for one state after another, it knows of each of them what it would know if it were asked for that one
    alone."""
    s = walker_on_springs().system()
    q, feet = fallen(s, 5)
    rest, law = np.zeros(s.nv), Remembering()
    run = ct.simulate(s, q, np.zeros_like(q[:, 1:]), 0.06, contacts=feet, control=law, **ROUGH)
    alone = [ct.simulate(s, x, rest, 0.06, contacts=feet, control=Remembering(), **ROUGH) for x in q]
    are_the_same(run, alone)
    assert len(law.times) == 18


def crate():
    """A crate on four corners, of which one is redundant, that slides."""
    m = ct.Mechanism("crate")
    m.add_body("crate", mass=2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("moves", "ground", "crate", ct.Free())
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    for k, p in enumerate(corners):
        m.add_frame(f"corner {k}", "crate", ct.Pose(p=p))
    return m, [ct.Contact(f"corner {k}", friction=0.4, restitution=0.3) for k in range(4)]


def thrown(s, count):
    """States q (count, nq), v (count, nv) of crates that are thrown, the first of them flat on the floor."""
    random = np.random.default_rng(2)
    turns, v = 0.1 * random.normal(size=(count, 6)), 0.4 * random.normal(size=(count, 6))
    turns[0], v[0, :3], v[0, 5] = 0.0, 0.0, 0.0
    q = np.array([s.integrate(s.neutral(), turn) for turn in turns])
    for x in q:
        x[2] -= min(s.pose(x, f"corner {k}").p[2] for k in range(4)) - 0.01 * (x is not q[0])
    q[0, 2] = 0.1
    return q, v


def test_crates_on_redundant_corners(threads):
    m, corners = crate()
    s = m.system()
    q, v = thrown(s, 6)
    settings = ROUGH | {"samples": 8}
    run = ct.simulate(s, q, v, 0.3, contacts=corners, **settings)
    are_the_same(run, [ct.simulate(s, *x, 0.3, contacts=corners, **settings) for x in zip(q, v, strict=True)])


def test_each_state_may_have_numbers_of_its_own():
    """Crates of other masses, whose steps take their constants in lanes: the same but for rounding."""
    m, corners = crate()
    s = m.system()
    masses = [2.0, 1.0, 3.0, 2.5, 1.5]
    q, v = thrown(s, len(masses))
    run = ct.simulate(s, q, v, 0.2, contacts=corners, parameters={"crate.mass": masses}, samples=5, **ROUGH)
    alone = [
        ct.simulate(m.with_body("crate", mass=mass).system(), x, u, 0.2, contacts=corners, samples=5, **ROUGH)
        for mass, x, u in zip(masses, q, v, strict=True)
    ]
    are_the_same(run, alone, 1e-9)


def test_states_that_fail_are_recorded_and_the_others_go_on():
    m, corners = crate()
    s = m.system()
    q, v = thrown(s, 5)
    q[2, 2] -= 1.0
    run = ct.simulate(s, q, v, 0.1, contacts=corners, on_error="record", **ROUGH)
    assert list(run.failed) == [(2,)] and "corner" in run.failed[2,]
    good = [0, 1, 3, 4]
    are_the_same(run, [ct.simulate(s, q[k], v[k], 0.1, contacts=corners, **ROUGH) for k in good])
    with pytest.raises(ct.StateError, match="corner"):
        ct.simulate(s, q, v, 0.1, contacts=corners, **ROUGH)


def test_a_stepper_moves_a_batch_as_its_states():
    m, corners = crate()
    s = m.system()
    q, v = thrown(s, 5)
    options = {"step": 0.01, "contacts": corners, "rtol": 1e-4, "atol": 1e-6}
    batch = ct.Stepper(s, q, v, **options)
    alone = [ct.Stepper(s, *x, **options) for x in zip(q, v, strict=True)]
    for k in range(8):
        tau = 0.2 * np.cos(np.arange(30).reshape(5, 6) + k)
        batch.step(tau)
        for one, given in zip(alone, tau, strict=True):
            one.step(given)
        np.testing.assert_array_equal(batch.q, [one.q for one in alone])
        np.testing.assert_array_equal(batch.v, [one.v for one in alone])


def test_cancelled_together():
    """Who cancels a batch gets all states as far as they have come, which is about as far."""

    class AfterAWhile:
        count = 0

        def is_set(self):
            self.count += 1
            return self.count > 60

    m, corners = crate()
    s = m.system()
    q, v = thrown(s, 6)
    run = ct.simulate(s, q, v, 5.0, contacts=corners, cancel=AfterAWhile(), **ROUGH)
    assert all("cancelled" in one.ended for one in run.states)
    assert min(one.t[-1] for one in run.states) > 0.0


def scissors():
    """A four-bar whose crank has a stop, and whose coupler has a tip over the floor."""
    m = ct.Mechanism("four-bar")
    for name, length in (("crank", 0.3), ("coupler", 0.7), ("rocker", 0.5)):
        m.add_body(name, mass=0.5, com=(length / 2, 0, 0), inertia=(0.002, 0.01, 0.01))
    m.add_joint("A", "ground", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "coupler", ct.Revolute("y"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("C", "coupler", "rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(0.7, 0, 0)))
    m.add_joint(
        "D",
        "ground",
        "rocker",
        ct.Revolute("y"),
        in_parent=ct.Pose(p=(0.6, 0, 0)),
        in_child=ct.Pose(p=(0.5, 0, 0)),
    )
    m.add_frame("tip", "coupler", ct.Pose(p=(0.35, 0, 0)))
    return m, [ct.Stop("A", lower=-2.0, upper=0.6, restitution=0.4)]


@pytest.mark.slow
def test_loops_with_stops(threads):
    m, stops = scissors()
    s = m.system(keep=["A"])
    q = np.array([s.assemble({"A": x}) for x in (-0.9, -0.5, 0.0, 0.3, 0.5)])
    v = np.array([s.velocity(x, {"A": 0.5}) for x in q])
    run = ct.simulate(s, q, v, 0.4, contacts=stops, **ROUGH)
    assert any("A" in change.name for change in run.transitions)
    are_the_same(run, [ct.simulate(s, *x, 0.4, contacts=stops, **ROUGH) for x in zip(q, v, strict=True)])
