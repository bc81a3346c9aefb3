"""Runs that are followed while they go on: what observers are told, part by part, against the whole run to the last
bit, for all kinds of runs; and runs that are cancelled from elsewhere."""

import pickle
import threading
import time
import warnings

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, standing_walker
from catena.simulation.arguments import TimeSpan
from catena.simulation.following import following


def chain():
    s = ct.generators.chain(4).system()
    return s, np.full(4, 0.3), np.zeros(4)


def loop():
    s = ct.generators.four_bar().system()
    q = s.assemble({"A": 0.3})
    return s, q, s.velocity(q, {"A": 2.0})


def balls(states=()):
    """A ball that is thrown onto the floor, beside a pendulum."""
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    m.add_joint("fly", "ground", "ball", ct.Free())
    m.add_joint("swing", "ground", "rod", ct.Revolute("y"), in_parent=ct.Pose(p=(5, 0, 2)))
    s = m.system()
    q = s.assemble({"fly": [0, 0, 0.3, 1, 0, 0, 0], "swing": 0.4})
    v = s.velocity(q, {"fly": [0, 1.0, 0, 0.5, 0, 0]})
    return s, q + np.zeros((*states, 1)), v


FLOOR = ct.Contact("ball", friction=0.3, restitution=0.5, radius=0.1)


def push(t, q, v):
    return -0.1 * v


# What is simulated: who moves, and the other arguments.
KINDS = {
    "tree": (chain, 1.0, {}),
    "tree at samples": (chain, 1.0, {"samples": 41}),
    "batch": (lambda: (chain()[0], np.full(4, 0.3) + np.linspace(0, 1, 5)[:, None], np.zeros(4)), 0.5, {}),
    "fixed steps": (chain, 1.0, {"integrator": "rk4", "step": 1e-3, "samples": 21}),
    "steps with a past": (chain, 0.5, {"integrator": "abm4", "step": 1e-3}),
    "loop": (loop, 0.5, {"samples": 31}),
    "Python": (chain, 0.1, {"control": push, "samples": 11}),
    "compiled law": (
        lambda: chain(), 0.2,
        {"control": ct.Described(ct.PID, {"joint1": 0.2, "joint2": 0.1}, 20.0, ki=3.0, kd=1.0, rate=250.0)},
    ),
    "stiff": (chain, 0.1, {"integrator": "radau", "rtol": 1e-6, "atol": 1e-8}),
    "events": (chain, 1.0, {"events": ["joint1 - 0.1", "v.joint2"]}),
    "an end": (chain, 1.0, {"events": ct.Event("joint1 + 0.2", terminal=True), "samples": 30}),
    "drive": (lambda: (chain()[0], None, None), 0.3, {"motion": {"joint1": "0.3 * sin(t)"}, "samples": 9}),
    "structure": (
        chain, 1.0, {"changes": [ct.Change(at=0.4, lock="joint4"), ct.Change(at=0.7, unlock="joint4")]},
    ),
    "structure at samples": (
        chain, 1.0, {"changes": [ct.Change(at=0.4, lock="joint4"), ct.Change(at=0.7, unlock="joint4")], "samples": 31},
    ),
    "contacts": (balls, 0.6, {"contacts": [FLOOR]}),
    "contacts at samples": (balls, 0.6, {"contacts": [FLOOR], "samples": 13, "control": push}),
    "contacts and structure": (
        balls, 0.5, {"contacts": [FLOOR], "changes": [ct.Change(at=0.3, lock="swing")], "samples": 13},
    ),
}  # fmt: skip


def rows(parts, ask, axis=-2):
    return np.concatenate([ask(part) for part in parts], axis=axis)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_the_whole_run_to_the_last_bit(kind):
    make, duration, options = KINDS[kind]
    s, q, v = make()
    options = {"check": False, **options}
    ct.simulate(s, q, v, duration, **options)
    whole = ct.simulate(s, q, v, duration, **options)
    parts = []
    again = ct.simulate(s, q, v, duration, observe=parts.append, every=0.0, **options)
    assert len(parts) > 1 and not any(part.told_of for part in parts)
    for run in (parts, [again]):
        assert np.array_equal(rows(run, lambda part: part.t, -1), whole.t)
        energy = rows(run, lambda part: part.potential_energy, -1)
        assert np.array_equal(energy, whole.potential_energy)
        for name in whole.work:
            assert np.array_equal(rows(run, lambda part: part.work[name], -1), whole.work[name]), name  # noqa: B023
        segments = [segment for part in run for segment in part.segments]
        places = np.concatenate(
            [segment.position(next(iter(s.mechanism.bodies))) for segment in segments], axis=-2
        )
        told = np.concatenate([x.position(next(iter(s.mechanism.bodies))) for x in whole.segments], axis=-2)
        assert np.array_equal(places, told)
        if whole.is_one_structure:
            for name in ("q", "v", "tau"):
                assert np.array_equal(rows(run, lambda part: getattr(part, name)), getattr(whole, name))  # noqa: B023
        assert [(x.name, x.t) for part in run for x in part.events] == [(x.name, x.t) for x in whole.events]
        assert [(x.name, x.t) for part in run for x in part.transitions] == [
            (x.name, x.t) for x in whole.transitions
        ]
        assert sum(part.steps for part in run) == whole.steps
    assert parts[-1].ended == whole.ended
    assert np.array_equal(pickle.loads(pickle.dumps(parts[0])).t, parts[0].t)


def test_states_that_move_one_after_the_other_tell_which_they_are():
    s, q, v = balls((2,))
    parts = []
    run = ct.simulate(s, q, v, 0.4, contacts=[FLOOR], samples=5, observe=parts.append, every=0.0)
    assert {part.told_of for part in parts} == {(0,), (1,)}
    for k in range(2):
        own = [part for part in parts if part.told_of == (k,)]
        assert np.array_equal(rows(own, lambda part: part.q), run.state(k).q)


def test_a_stream_gives_the_run_part_by_part():
    s, q, v = chain()
    scenario = ct.Scenario(s, q, v, duration=1.0, samples=51)
    whole = scenario.run()
    stream = scenario.stream(every=0.0)
    with pytest.raises(ct.StateError, match="once all parts were given"):
        _ = stream.run
    parts = list(stream)
    assert len(parts) > 2 and np.array_equal(rows(parts, lambda part: part.q), whole.q)
    assert np.array_equal(stream.run.q, whole.q) and list(stream) == []


def test_whoever_leaves_a_stream_cancels_the_run():
    before = threading.active_count()
    s, q, v = chain()
    endless = ct.Scenario(s, q, v, duration=1e6)
    for part in endless.stream(every=0.0):
        assert part.t[0] == 0.0
        break
    stream = endless.stream(every=0.0)
    assert next(stream).t[0] == 0.0
    del stream
    with endless.stream() as stream:
        next(stream)
    with pytest.raises(ZeroDivisionError):
        for _ in endless.stream(every=0.0):
            1 / 0  # noqa: B018
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_stream_raises_what_the_run_does():
    s, q, v = chain()

    def fails(t, q, v):
        if t > 0.05:
            raise ArithmeticError("nobody can know")
        return 0.0 * v

    parts = []
    with pytest.raises(ArithmeticError, match="nobody can know") as found:
        for part in ct.Scenario(s, q, v, control=fails, duration=1.0).stream(every=0.0):
            parts.append(part)
    assert parts and found.value.trajectory.t[-1] >= parts[-1].t[-1]
    seen = []

    def observe(part):
        seen.append(part)
        raise ArithmeticError("seen enough")

    with pytest.raises(ArithmeticError, match="seen enough"):
        ct.simulate(s, q, v, 1.0, observe=observe, every=0.0)
    assert len(seen) == 1


ENDLESS = {
    **{kind: KINDS[kind] for kind in ("tree", "batch", "loop", "Python", "stiff", "structure")},
    "fixed steps": (chain, 1.0, {"integrator": "rk4", "step": 1e-3}),
    "a sampled controller": (chain, 1.0, {"control": ct.sampled(push, 1000.0)}),
    "contacts": (balls, 0.6, {"contacts": [FLOOR], "restitution": 1.0}),
    "contacts and Python": (balls, 0.6, {"contacts": [FLOOR], "control": push}),
    "a large mechanism": (
        lambda: (ct.generators.chain(300).system(), np.full(300, 0.01), np.zeros(300)), 1.0, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_run_is_cancelled_from_another_thread_with_what_there_is(kind):
    make, _, options = ENDLESS[kind]
    s, q, v = make()
    options = {**options, "check": False}
    if options.pop("restitution", None):
        options["contacts"] = [ct.Contact("ball", friction=0.3, restitution=1.0, radius=0.1)]
    # A batch keeps samples only.
    options["samples"] = 100_001 if kind == "batch" else None
    ct.simulate(s, q, v, 1e-3, **options)
    cancel, asked = threading.Event(), []

    def stop():
        time.sleep(0.2)
        asked.append(time.perf_counter())
        cancel.set()

    thread = threading.Thread(target=stop)
    thread.start()
    run = ct.simulate(s, q, v, 1e4, cancel=cancel, **options)
    late = time.perf_counter() - asked[0]
    thread.join()
    assert run.ended.startswith("cancelled at t = ")
    assert 0.0 < np.max(run.t) < 1e4
    # 50 ms are wanted on a quiet machine; this one may be busy.
    assert late < 2.0, late
    print(f"{kind}: {1e3 * late:.0f} ms")


def test_who_cannot_follow_is_refused():
    s, q, v = chain()
    for options, words in (
        ({"observe": 3}, "observe is 3"),
        ({"observe": lambda: None}, "function of one argument"),
        ({"every": -1.0}, "every is -1.0"),
        ({"cancel": True}, "threading.Event"),
        ({"observe": print, "control": [push, push]}, "one system and one controller"),
        ({"observe": print, "on_error": "record"}, "one by one"),
    ):
        with pytest.raises(ct.StateError, match=words):
            ct.simulate(s, q, v, 0.1, **options)
    with pytest.raises(ct.StateError, match="every is 'x'"):
        ct.Scenario(s).stream(every="x")


def test_a_motion_that_hardly_gets_on_says_so_once(monkeypatch):
    """One that would take hours at its pace, and one that takes as long for each step and gets on."""
    monkeypatch.setattr(following, "JUDGED", 0.02)

    class Damper:
        rate = 500.0

    for pace, expected in ((1e-12, 1), (1e-4, 0)):
        watch, t = following.Headway(TimeSpan(2.0, 3.0), Damper()), 2.0
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            end = time.process_time() + 0.1
            while time.process_time() < end:
                t += pace
                watch.tick(t)
        assert len(heard) == expected
        for one in heard:
            for word in (
                "hardly gets on",
                "2.00",
                "of 3 s",
                "'Damper' is asked at 500 Hz",
                "steps of 1.0e-12 s",
                "hours",
            ):
                assert word in str(one.message)


@pytest.mark.slow
def test_an_unstable_sampled_controller_beside_contacts_is_named_and_can_be_cancelled():
    s, cancel = standing_walker().system(), threading.Event()
    legs = [(s.slice_q(joint), s.slice_v(joint)) for joint in s.joints if joint != "base"]

    def damper(t, q, v):
        tau = np.zeros(s.nv)
        for places, own in legs:
            tau[own] = -60.0 * v[own] - 600.0 * q[places]
        return tau

    def hear(message, *_, **__):
        heard.append(str(message))
        cancel.set()

    heard: list[str] = []
    contacts = [ct.Contact(f"{leg}/foot", friction=0.6) for leg in LEGS]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        run = ct.simulate(s, askew(s, 0.05), np.zeros(s.nv), 1.0, control=ct.sampled(damper, rate=500.0), rtol=1e-8,
                          contacts=contacts, cancel=cancel)  # fmt: skip
    assert "500 Hz" in heard[0] and "hardly gets on" in heard[0]
    assert "cancelled" in run.ended and run.t[-1] < 1.0
