"""Events of batches: located for all states together, with the numbers that each state has by itself."""

import time

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, stewart
from catena.simulation.guards.event_values import EventValues
from catena.simulation.guards.events import Event
from catena.simulation.guards.roots import zeros
from catena.simulation.guards.sign_changes import Nodes, sign_changes


def cart_pole():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    m.add_frame("tip", "pole", ct.Pose(p=(0, 0, 1.0)))
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


METHODS = [{"integrator": "rk4", "step": 1e-2}, {"integrator": "dop853", "rtol": 1e-9, "atol": 1e-10}]
EVENTS = {
    "formula": ct.Event("hinge - 3.0"),
    "frame": ct.Event("position.tip[2] + 0.3 * v.slide", direction=-1),
    "function": ct.Event(lambda t, q, v: q[1] - 2.0 + 0.1 * t, direction=1),
    "if": ct.Event("if(slide < 0.1, hinge - 2.5, hinge - 2.4)"),
    # A function of Python that branches is asked state by state.
    "branches": ct.Event(lambda t, q, v: q[1] - 2.5 if q[0] < 0.1 else q[1] - 2.5),
    "terminal": ct.Event(lambda here: here["hinge"][0] - 5.0, terminal=True),
}


def agree(batch, single, k):
    """Whether a state of a batch has the events of a run by itself."""
    mine = [e for e in batch.events if e.state == (k,)]
    assert [e.name for e in mine] == [e.name for e in single.events]
    np.testing.assert_allclose([e.t for e in mine], [e.t for e in single.events], rtol=0, atol=1e-11)
    for one, other in zip(mine, single.events, strict=True):
        np.testing.assert_allclose(one.q, other.q, atol=1e-10)
        np.testing.assert_allclose(one.v, other.v, atol=1e-9)
    return len(mine)


@pytest.mark.parametrize("method", METHODS, ids=lambda x: x["integrator"])
@pytest.mark.parametrize("name", EVENTS)
def test_every_state_of_a_batch_has_the_events_of_its_own_run(name, method):
    s, random = cart_pole().system(), np.random.default_rng(3)
    n = 12
    q, v = np.stack([np.zeros(n), random.uniform(0.2, 0.8, n)], 1), random.normal(0.0, 0.3, (n, 2))
    asked = {"events": EVENTS[name], "samples": 5, "check": False, **method}
    batch = ct.simulate(s, q, v, 3.0, **asked)
    found = sum(agree(batch, ct.simulate(s, q[k], v[k], 3.0, **asked), k) for k in range(n))
    assert found >= n
    kept = ct.simulate(s, q, v, 3.0, **{**asked, "samples": None}, keep="final")
    # Where little is kept it is looked more often, at other steps.
    both = [sorted((e.state, e.t) for e in run.events) for run in (kept, batch)]
    assert [state for state, _ in both[0]] == [state for state, _ in both[1]]
    np.testing.assert_allclose(*([t for _, t in run] for run in both), rtol=0, atol=1e-7)


def test_loops_parameters_and_forces_of_their_own():
    """Frames and loop joints of mechanisms that differ from state to state, and angles that keep counting turns."""
    s, n = four_bar().system(), 3
    q, v = s.assemble(), s.velocity(s.assemble(), {"A": 9.0})
    loop = s.loops[0]
    masses = np.linspace(0.5, 2.0, n)
    body = "coupler"
    later = ct.simulate(s, q, v, 0.05, check=False).q[-1]
    axis = int(np.argmax(np.abs(np.asarray(s.pose(later, body).p) - np.asarray(s.pose(q, body).p))))
    level = float(np.asarray(s.pose(later, body).p)[axis])
    events = [
        ct.Event(f"position.{body}[{axis}] - {level!r}", "frame"),
        ct.Event(lambda here: here[loop][0] - here.velocity(loop)[0] / 9.0, "loop"),
    ]
    asked = {"events": events, "samples": 3, "check": False, "rtol": 1e-9}
    batch = ct.simulate(s, q, v, 0.4, parameters={f"{body}.mass": masses}, **asked)
    names = {e.name for e in batch.events}
    assert names == {"frame", "loop"}
    for k in range(n):
        agree(batch, ct.simulate(s.vary({f"{body}.mass": masses}).variants.state(k), q, v, 0.4, **asked), k)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 12))])
def test_random_mechanisms_in_batches_and_alone(seed):
    s = random_mechanism(seed, bodies=3).system()
    random = np.random.default_rng(seed)
    v = random.normal(0.0, 1.0, (6, s.nv))
    v = np.stack([s.project(s.assemble(), row)[1] for row in v]) if s.loops else v
    asked = {"events": ct.Event(lambda t, q, v: v[0] - 0.1), "samples": 3, "rtol": 1e-8, "check": False}
    batch = ct.simulate(s, s.assemble(), v, 0.6, **asked)
    for k in range(len(v)):
        agree(batch, ct.simulate(s, s.assemble(), v[k], 0.6, **asked), k)


def test_functions_that_cannot_answer_for_many_are_asked_one_by_one():
    s, random = cart_pole().system(), np.random.default_rng(1)
    t, q, v = np.linspace(0, 1, 9), random.normal(size=(9, 2)), random.normal(size=(9, 2))
    for function, many in (
        (lambda t, q, v: q[0] * v[1] - t, True),
        (lambda t, q, v: np.linalg.norm(q), False),
        (lambda t, q, v: max(q[0], v[0]), False),
        (lambda t, q, v: float(q[1]), False),
        (lambda t, q, v: np.sort(q)[0], False),
        (lambda t, q, v: q @ q, False),
        (lambda t, q, v: sum(q), True),
    ):
        values = EventValues(Event(function), s)
        np.testing.assert_allclose(
            values.at(t, q, v, np.zeros(9, int)), [function(*row) for row in zip(t, q, v, strict=True)]
        )
        assert values.answers_many == many
    with pytest.raises(ct.SimulationError, match="one finite number"):
        ct.simulate(
            s,
            q,
            v,
            0.1,
            step=1e-2,
            integrator="rk4",
            events=ct.Event(lambda t, q, v: np.nan if t > 0.05 else 1.0),
            check=False,
        )


WIDTHS = {0.2: 0.98, 0.3: 1.0, 1.0: 1.0}


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_narrower_than_a_step_is_found_by_its_trace(width):
    """Functions that fall below zero for a moment, as narrow as a part of a step, far from zero at all nodes: pairs of
    zeros by formula. Without the trace at nodes beside them a fifth of those with a width of 0.2 steps is missed."""
    m = ct.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("wheel", 1.0, inertia=1.0)
    m.add_joint("W", "ground", "wheel", ct.Revolute("z"))
    s, h, found, count = m.system(), 0.01, 0, 60
    for seed in range(count):
        random = np.random.default_rng(seed)
        n, speed, where = int(random.integers(40, 160)), random.uniform(1.0, 20.0), random.uniform(0.1, 0.9)
        size, wave, phase = random.uniform(0.1, 1.0), random.integers(1, 4), random.uniform(0.0, 6.0)
        depth = 10.0 ** random.uniform(-1.0, 2.0)
        level = 1.2 * size + 0.5 * depth * 10.0 ** random.uniform(-2.0, 0.0)

        def dips(
            t,
            q,
            v,
            speed=speed,
            n=n,
            where=where,
            size=size,
            wave=wave,
            phase=phase,
            depth=depth,
            level=level,
        ):
            narrow = (q[0] - speed * where * n * h) / (speed * width * h)
            return (
                level
                + size * np.sin(wave * q[0] + phase)
                - (1.2 * depth + 2.0 * level) * np.exp(-(narrow**2))
            )

        t = h * np.arange(n + 1)
        rates = np.full((n + 1, 1), speed)
        nodes = Nodes.of_one(
            t, speed * t[:, None], rates,
            lambda node, t, speed=speed: (speed * t[:, None], np.full((len(t), 1), speed)),
        )  # fmt: skip
        found += len(sign_changes(EventValues(Event(dips), s), s.plan, nodes, 0.0).node)
    assert found >= WIDTHS[width] * 2 * count


def test_zeros_of_many_functions_at_once_against_their_formulas():
    random = np.random.default_rng(0)
    roots = np.concatenate([random.uniform(0.0, 1.0, 200), [0.0, 1.0, 1e-12]])
    power = random.integers(0, 3, len(roots)) * 2 + 1
    asked = []

    def function(which, x):
        asked.append(len(x))
        return (x - roots[which]) ** power[which] * np.exp(x)

    everyone = np.arange(len(roots))
    low, high = np.zeros(len(roots)), np.ones(len(roots))
    ends = [function(everyone, x) for x in (low, high)]
    found = zeros(function, low, high, *ends, np.full(len(roots), 1e-13))
    np.testing.assert_allclose(found, roots, rtol=0, atol=2e-13)
    # Simple zeros are found in few trials, and those that are found are not asked for again.
    assert np.sort(asked[2:])[::-1].tolist() == asked[2:] and len(asked) < 150


@pytest.mark.slow
def test_an_event_costs_a_batch_of_platforms_at_most_a_third():
    s, n = stewart().system(), 512
    q, random = s.assemble(), np.random.default_rng(0)
    v = np.stack([s.project(q, random.normal(0.0, 0.3, s.nv))[1] for _ in range(n)])
    asked = {"integrator": "rk4", "step": 5e-3, "keep": "final", "check": False}
    events = {
        "without": (),
        "with": [ct.Event(lambda t, q, v: q[0] - 30.0, terminal=True), ct.Event("leg1 - 9.0")],
    }
    spent = {name: [] for name in events}
    for turn in range(4):
        for name, given in events.items():
            begin = time.process_time()
            ct.simulate(s, np.tile(q, (n, 1)), v, 1.0, events=given, **asked)
            if turn:
                spent[name].append(time.process_time() - begin)
    assert np.median(spent["with"]) < 1.3 * np.median(spent["without"])


def slides():
    """Two bodies that stay where they are, the first of which says when something happens."""
    m = ct.Mechanism("slides")
    for body, joint, axis in (("a", "A", "x"), ("b", "B", "y")):
        m.add_body(body, 1.0, inertia=0.1)
        m.add_joint(joint, "ground", body, ct.Prismatic(axis))
    return m.system()


@pytest.mark.parametrize("width", [0.15, 0.5, 3.0])
def test_steps_that_are_watched_from_inside_hide_nothing_that_is_narrow(width):
    """A function that is below zero for so many steps once, with both its zeros in closed form."""
    s, h, random = slides(), 1e-2, np.random.default_rng(0)
    q = np.stack([random.uniform(0.2, 1.8, 60), random.normal(size=60)], 1)
    wide = 0.5 * width * h / np.sqrt(np.log(1.2))
    dip = ct.Event(lambda t, q, v: 1.0 - 1.2 * np.exp(-(((t - q[0]) / wide) ** 2)))
    run = ct.simulate(
        s, q, np.zeros((60, 2)), 2.0, events=dip, integrator="rk4", step=h, keep="final", check=False
    )
    expected = [(k, q[k, 0] + sign * 0.5 * width * h) for k in range(60) for sign in (-1.0, 1.0)]
    found = sorted((e.state[0], e.t) for e in run.events)
    assert [k for k, _ in found] == [k for k, _ in expected]
    np.testing.assert_allclose([t for _, t in found], [t for _, t in expected], atol=1e-11)


def test_a_function_that_is_no_formula_is_not_watched_from_inside():
    """One that gives symbols something else than numbers is found out, and one that says nothing finite is told."""
    s = cart_pole().system()
    random = np.random.default_rng(2)
    q, v = np.stack([np.zeros(40), random.uniform(0.2, 0.8, 40)], 1), np.zeros((40, 2))
    asked = {"integrator": "rk4", "step": 1e-2, "keep": "final", "check": False}

    def two_faced(t, q, v):
        return q[1] - (2.0 if isinstance(q[1], float | np.ndarray) else 50.0)

    found = ct.simulate(s, q, v, 3.0, events=ct.Event(two_faced, terminal=True), **asked)
    honest = ct.simulate(s, q, v, 3.0, events=ct.Event(lambda t, q, v: q[1] - 2.0, terminal=True), **asked)
    assert len(found.events) == len(honest.events) == 40
    np.testing.assert_array_equal([e.t for e in found.events], [e.t for e in honest.events])
    with pytest.raises(ct.SimulationError, match="one finite number"), np.errstate(invalid="ignore"):
        ct.simulate(s, q, v, 3.0, events=ct.Event(lambda t, q, v: np.sqrt(1.0 - t)), **asked)
