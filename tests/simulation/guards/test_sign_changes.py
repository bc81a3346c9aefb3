"""Events on long steps: all that happen are found, however far apart the steps are; ends and starts at events."""

import numpy as np
import pytest

import catena as ct


def wheel(count=1):
    """Free wheels, one on the ground beside the other: steps as long as the run."""
    m = ct.Mechanism("wheels", gravity=(0, 0, 0))
    for k in range(count):
        m.add_body(f"wheel {k}", 1.0, inertia=1.0)
        m.add_joint(f"W{k}", "ground", f"wheel {k}", ct.Revolute("z"))
    return m.system()


def exact(function, end, count=400_001):
    """The times at which a function of times (n,) changes its sign, from so many places and by secants."""
    t = np.linspace(0.0, end, count)
    x = function(t)
    k = np.flatnonzero(x[:-1] * x[1:] < 0.0)
    return t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])


METHODS = [
    {"integrator": "dopri5"},
    {"integrator": "dop853", "rtol": 1e-6},
    {"integrator": "rk4", "step": 2.5},
    {"integrator": "radau", "rtol": 1e-8},
    {"integrator": "lsoda", "rtol": 1e-8},
    {"integrator": "bdf", "rtol": 1e-8},
]


@pytest.mark.parametrize("method", METHODS, ids=lambda x: x["integrator"])
def test_every_half_turn_of_a_fast_wheel_against_its_formula(method):
    event = ct.Event(lambda t, q, v: np.sin(q[0]), name="half turn")
    end = 10.0 if method["integrator"] in ("dopri5", "dop853", "rk4") else 1.5
    run = ct.simulate(wheel(), [0.01], [20.0], end, events=event, check=False, **method)
    times = (np.pi * np.arange(1, 64) - 0.01) / 20.0
    times = times[times < end]
    np.testing.assert_allclose([e.t for e in run.events], times, atol=1e-6 if "rtol" in method else 1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_of_turning_wheels_against_dense_sampling(seed):
    """Sums of waves of angles and of the time, with several zeros close together."""
    random = np.random.default_rng(seed)
    start, speed = random.uniform(-1, 1, 2), random.uniform(-12, 12, 2)
    amount, order, phase = random.uniform(0.2, 1, 3), random.integers(1, 4, 3), random.uniform(0, 6, 3)
    offset, end = random.uniform(-0.6, 0.6), 6.0

    def waves(t, a, b):
        return offset + sum(
            w * np.sin(n * x + p) for w, n, x, p in zip(amount, order, (a, b, 3.0 * t), phase, strict=True)
        )

    truth = exact(lambda t: waves(t, start[0] + speed[0] * t, start[1] + speed[1] * t), end)
    run = ct.simulate(wheel(2), start, speed, end, events=ct.Event(lambda t, q, v: waves(t, q[0], q[1])))
    assert len(run.events) == len(truth) > 5
    np.testing.assert_allclose([e.t for e in run.events], truth, atol=1e-7)


def test_a_function_of_the_time_alone_and_one_that_dips_below_zero_for_a_moment():
    fast = ct.Event(lambda t, q, v: np.sin(400.0 * t + 0.3), name="fast")
    dip = ct.Event(lambda t, q, v: (q[0] - 3.21) ** 2 - 1e-8, name="dip")
    touch = ct.Event(lambda t, q, v: (q[0] - 2.0) ** 2 + 1e-6, name="never")
    run = ct.simulate(wheel(), [0.0], [1.0], 5.0, events=[fast, dip, touch])
    named = {name: [e.t for e in run.events if e.name == name] for name in ("fast", "dip", "never")}
    np.testing.assert_allclose(named["fast"], (np.pi * np.arange(1, 637) - 0.3) / 400.0, atol=1e-10)
    np.testing.assert_allclose(named["dip"], [3.2099, 3.2101], atol=1e-10)
    assert named["never"] == []


def test_directions_alternate_and_a_batch_finds_what_single_states_find():
    s, starts = wheel(), np.array([[0.3], [-0.2], [2.0]])
    events = [ct.Event(lambda t, q, v: np.cos(q[0]), name=f"{d}", direction=d) for d in (1, -1)]
    batch = ct.simulate(s, starts, [13.0], 4.0, events=events)
    for k, start in enumerate(starts):
        alone = ct.simulate(s, start, [13.0], 4.0, events=events)
        mine = [e for e in batch.events if e.state == (k,)]
        assert [e.name for e in mine] == [e.name for e in alone.events]
        np.testing.assert_allclose([e.t for e in mine], [e.t for e in alone.events], atol=1e-12)
        names = [e.name for e in mine]
        assert len(names) > 10 and all(a != b for a, b in zip(names, names[1:], strict=False))


@pytest.mark.parametrize("samples", [None, 2, 5, 21, [0.0, 0.1, 0.7]])
@pytest.mark.parametrize("method", METHODS[:3], ids=lambda x: x["integrator"])
def test_the_end_by_an_event_is_the_last_sample(samples, method):
    event = ct.Event(lambda t, q, v: q[0] - 0.5, name="there", terminal=True)
    one = ct.simulate(wheel(), [-0.313], [1.0], 5.0, events=event, samples=samples, **method)
    assert one.t[-1] == one.events[-1].t == pytest.approx(0.813, abs=1e-12)
    assert one.q[-1, 0] == pytest.approx(0.5, abs=1e-12)
    assert (np.diff(one.t) > 0.0).all() and len(one.tau) == len(one.t)
    both = ct.simulate(wheel(), [[0.0], [-0.313]], [1.0], 5.0, events=event, samples=samples, **method)
    np.testing.assert_allclose(both.q[:, -1, 0], 0.5, atol=1e-12)
    assert both.t[-1] == pytest.approx(0.813, abs=1e-12)


def test_the_end_of_a_motion_with_forces_has_works_and_reactions():
    m = ct.Mechanism("pendulum")
    m.add_body("bob", 1.0, com=(0, 0, -0.7), inertia=0.02)
    m.add_joint("J", "ground", "bob", ct.Revolute("y"), damping=0.1)
    event = ct.Event(lambda t, q, v: q[0], name="bottom", terminal=True)
    run = ct.simulate(
        m.system(), [1.0], [0.0], 5.0, events=event, samples=7, control=lambda t, q, v: -0.2 * q
    )
    assert run.audit().ok
    assert run.energy[-1] - run.energy[0] == pytest.approx(
        run.work["actuators"][-1] + run.work["friction"][-1], abs=1e-9
    )
    assert run.reaction("J").shape == (len(run.t), 6)


@pytest.mark.parametrize("speed", [1e-3, 1.0, 300.0])
@pytest.mark.parametrize("direction", [0, 1])
def test_a_motion_goes_on_from_the_event_that_ended_another(speed, direction):
    """Where a motion begins is no event, up to the rounding of where it ended."""
    for goal in (0.5, 1234.5, 1 / 3):
        event = ct.Event(lambda t, q, v, x=goal: q[0] - x, terminal=True, direction=direction)
        for start in (goal - 0.37, goal - 0.1234567):
            one = ct.simulate(wheel(), [start], [speed], 2.0 / speed, events=event)
            assert one.ended
            two = ct.simulate(wheel(), one.q[-1], one.v[-1], 1.0 / speed, events=event)
            assert two.t[-1] == pytest.approx(1.0 / speed) and not two.events


def test_a_motion_goes_on_from_where_it_turned_back_and_meets_that_again():
    m = ct.Mechanism("pendulum")
    m.add_body("bob", 1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("J", "ground", "bob", ct.Revolute("y"))
    s, event = m.system(), ct.Event(lambda t, q, v: v[0], "turns", terminal=True)
    ends = [ct.simulate(s, [0.4], [0.3], 9.0, events=event)]
    for _ in range(3):
        ends.append(ct.simulate(s, ends[-1].q[-1], ends[-1].v[-1], 9.0, events=event))
    half = [run.t[-1] for run in ends[1:]]
    np.testing.assert_allclose(half, half[0], atol=1e-9)
    assert half[0] > 0.9


def test_in_runs_with_contacts_and_changing_structure_too():
    """A wheel beside a ball on a floor, and one that is let go on the way, against their formulas."""
    m = ct.Mechanism("beside")
    m.add_body("wheel", 1.0, inertia=1.0)
    m.add_joint("W", "ground", "wheel", ct.Revolute("z"))
    m.add_body("ball", 1.0, inertia=0.1)
    m.add_joint("Z", "ground", "ball", ct.Prismatic("z"))
    m.add_frame("low", "ball", ct.Pose(p=(0, 0, -0.1)))
    s = m.system()
    angle = s.slice_q("W")
    turn = ct.Event(lambda here: np.sin(here["W"][0]), name="half turn")
    times = (np.pi * np.arange(1, 26) - 0.01) / 20.0
    q, v = s.assemble({"W": 0.01, "Z": 0.1}), s.velocity(s.neutral(), {"W": 20.0})
    touching = ct.simulate(s, q, v, 4.0, contacts=[ct.Contact("low")], events=turn)
    np.testing.assert_allclose([e.t for e in touching.events], times, atol=1e-9)
    lock = ct.at_time(1.7, then=lambda here: here.system.mechanism.lock("Z", at=here.configuration))
    changing = ct.simulate(s, q, v, 4.0, events=[turn, lock])
    found = [e.t for e in changing.events if e.name == "half turn"]
    np.testing.assert_allclose(found, times, atol=1e-9)
    stop = ct.Event(lambda here: here["W"][0] - 7.0, name="seven", terminal=True)
    for given in ({"contacts": [ct.Contact("low")]}, {"events": [stop, lock]}):
        first = ct.simulate(s, q, v, 4.0, samples=5, **{"events": stop, **given})
        assert first.segments[-1].q[-1, angle] == pytest.approx(7.0, abs=1e-9)
        last = first.segments[-1]
        again = ct.simulate(s, last.q[-1], last.v[-1], 1.0, samples=5, **{"events": stop, **given})
        assert again.segments[-1].t[-1] == pytest.approx(1.0)
