"""Runs during which the structure changes: by a time, a limit, a condition; on one time axis, in files and audits."""

import csv

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain


def rails(gravity=0.0):
    """Two masses on one rail."""
    m = ct.Mechanism("two on a rail", gravity=(-gravity, 0, 0))
    for name, mass in (("a", 2.0), ("b", 3.0)):
        m.add_body(name, mass=mass, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"))
    return m


def coupled(here):
    return here.system.mechanism.attach("coupling", "a", "b", ct.Fixed(), at=here.configuration)


def meeting(here):
    return float(here.position("b")[0] - here.position("a")[0])


def test_a_condition_couples_and_a_time_lets_go():
    m = rails()
    events = [
        ct.Event(meeting, "meet", direction=-1, then=coupled),
        ct.at_time(0.8, then=lambda m, q, v: m.detach("coupling")),
    ]
    run = ct.simulate(m.system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=events)
    assert isinstance(run, ct.SegmentedTrajectory) and len(run.segments) == 3
    np.testing.assert_allclose(run.changes, [0.5, 0.8], rtol=1e-9)
    np.testing.assert_allclose(run.velocity("b slides")[-1], 0.8, rtol=1e-12)
    assert [change.name for change in run.transitions] == ["meet", "t = 0.8 s"]
    assert run.transitions[0].energy_loss == pytest.approx(0.5 * 2.0 * 4.0 - 0.5 * 5.0 * 0.64)
    assert run.transitions[0].impulse["coupling"][3] == pytest.approx(3.0 * 0.8)
    assert run.transitions[1].energy_loss == 0.0 and not run.transitions[1].transfer.jumped
    audit = run.audit()
    assert all(part.ok for part in audit) and "2.4 J lost" in audit[-1]["change 1"].text
    assert "closes a loop" in str(run.transitions[0]) or "holds" in str(run.transitions[0])


def test_files_and_plots_have_one_time_axis(tmp_path):
    m = rails()
    meet = ct.Event(meeting, direction=-1, then=coupled)
    run = ct.simulate(m.system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=meet, samples=11)
    assert len(run.t) == 11 + 1 and np.sum(run.t == run.changes[0]) == 2
    run.save(tmp_path / "run.csv")
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    assert len(rows) == len(run.t) and float(rows[-1]["q.a slides"]) == run["a slides"][-1, 0]
    assert {row["segment"] for row in rows} == {"0.0", "1.0"}
    data = run.to_xarray()
    assert data["change_name"].values.tolist() == ["meeting"] and data.sizes["time"] == len(run.t)
    figure = run.plot(path=tmp_path / "run.png")
    assert len(figure.axes) == 2 and (tmp_path / "run.png").stat().st_size > 1000


def test_a_limit_locks():
    m = chain(2, axes="y")
    first, second = m.joints
    m = m.detach(second).attach(
        second, "link1", "link2", ct.Revolute("y"), m.joints[second].in_parent, m.joints[second].in_child,
        limits=(-1.0, 0.6),
    )  # fmt: skip
    s = m.system()
    run = ct.simulate(s, [0.5, 0.0], [0.0, 2.0], 1.0, events=[ct.at_limit(second)])
    assert len(run.segments) == 2 and run.segments[1].system.joints == (first,)
    assert run.segments[1].system.mechanism.joints[second].locked_at == pytest.approx([0.6], abs=1e-9)
    assert np.isnan(run[second][-1, 0]) and run.transitions[0].energy_loss > 0.0
    np.testing.assert_allclose(run.segments[1].energy, run.segments[1].energy[0], rtol=1e-7)


def test_control_and_forces_know_the_time_of_the_run():
    """A force that depends on the time acts as before when a joint that stands still is locked."""
    m = rails()
    push = {"a": lambda t: [0, 0, 0, 6.0 * t, 0, 0]}
    s = m.system()

    def both(t, q, v):
        return np.r_[np.cos(3.0 * t), np.zeros(len(q) - 1)]

    events = [ct.at_time(0.4, then=lambda m, q, v: m.lock("b slides", at=q[1:]))]
    q, v = [0.0, 5.0], [0.0, 0.0]
    changed = ct.simulate(s, q, v, 1.0, events=events, control=both, forces=push)
    plain = ct.simulate(s, q, v, 1.0, control=both, forces=push)
    assert len(changed.segments) == 2
    np.testing.assert_allclose(changed["a slides"][-1], plain["a slides"][-1], rtol=1e-9)
    made = ct.PerStructure(lambda system: lambda t, q, v: both(t, q, v))
    again = ct.simulate(s, q, v, 1.0, events=events, control=made, forces=push)
    np.testing.assert_allclose(again["a slides"][-1], plain["a slides"][-1], rtol=1e-9)
    local = ct.PerStructure(lambda system, start: lambda t, q, v: both(t + start, q, v))
    again = ct.simulate(s, q, v, 1.0, events=events, control=local, forces=push)
    np.testing.assert_allclose(again["a slides"][-1], plain["a slides"][-1], rtol=1e-9)


def test_two_events_at_one_time_both_happen():
    m = rails()
    m.add_body("c", mass=1.0, inertia=0.1)
    m.add_joint("c slides", "ground", "c", ct.Prismatic("x"))
    s = m.system()
    events = [
        ct.Event(lambda here: float(here["a slides"][0] - 1.0), "a stops", then=lambda h: h.system.mechanism.lock(
            "a slides", at=h.configuration)),
        ct.Event(lambda here: float(here["b slides"][0] - 1.0), "b stops", then=lambda h: h.system.mechanism.lock(
            "b slides", at=h.configuration)),
    ]  # fmt: skip
    run = ct.simulate(s, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 2.0, events=events)
    assert len(run.transitions) == 2 and run.segments[-1].system.joints == ("c slides",)
    np.testing.assert_allclose(run["c slides"][-1], 2.0, rtol=1e-12)


def test_a_batch_changes_state_by_state():
    s = rails().system()
    q, v = np.array([[0.0, 1.0], [0.2, 0.9]]), np.array([[2.0, 0.0], [1.0, 0.5]])
    runs = ct.simulate(s, q, v, 1.0, events=[ct.at_time(0.5, then=coupled)])
    for k, run in enumerate(runs):
        alone = ct.simulate(s, q[k], v[k], 1.0, events=[ct.at_time(0.5, then=coupled)])
        np.testing.assert_array_equal(run.segments[-1].q[-1], alone.segments[-1].q[-1])
    assert len(runs) == 2


def test_what_goes_wrong_is_said():
    m = rails()
    s = m.system()
    with pytest.raises(ct.SimulationError, match="must return the changed mechanism"):
        ct.simulate(s, [0, 1.0], [2.0, 0], 1.0, events=[ct.Event(meeting, "meet", then=lambda h: 3)])
    with pytest.raises(ct.SimulationError, match="the state cannot go over"):
        ct.simulate(s, [0, 1.0], [2.0, 0], 1.0,
                    events=[ct.at_time(0.1, then=lambda m, q, v: m.attach("weld", "a", "b", ct.Fixed()))])  # fmt: skip
    with pytest.raises(ct.StateError, match="give a function of"):
        ct.Event(meeting, then=3)


def test_a_ball_that_bounces_without_end_is_said_to_chatter():
    """Zeno's ball: the last bounces are infinitely many in a finite time, which has a closed form."""
    m = ct.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_body("ball", mass=1.0, inertia=0.1)
    m.add_joint("fall", "ground", "ball", ct.Prismatic("z"))
    s = m.system()

    def bounce(here):
        held = here.system.mechanism.lock("fall", at=here.configuration).system()
        return ct.transfer(here.system, here.q, here.v, held, restitution=0.6)

    touch = ct.Event(lambda t, q, v: q[0], "touch", direction=-1, then=bounce)
    run = ct.simulate(s, [0.2], [0.0], 5.0, events=touch, check=False)
    assert "chatters" in run.ended and "'touch'" in run.ended
    first = np.sqrt(2 * 0.2 / 10.0)
    np.testing.assert_allclose(run.changes[:3], [first, first * 2.2, first * 2.92], rtol=1e-9)
    assert run.t[-1] == pytest.approx(first * (1 + 2 * 0.6 / 0.4), rel=1e-6)
