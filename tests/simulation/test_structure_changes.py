"""Runs during which the structure changes: by a time, a limit, a condition; on one time axis, in files and audits."""

import csv
import pickle
import time

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
    assert isinstance(run, ct.Trajectory) and len(run.segments) == 3
    np.testing.assert_allclose(run.changes, [0.5, 0.8], rtol=1e-9)
    np.testing.assert_allclose(run.velocity("b slides")[-1], 0.8, rtol=1e-12)
    assert [change.name for change in run.transitions] == ["meet", "t = 0.8 s"]
    assert run.transitions[0].energy_loss == pytest.approx(0.5 * 2.0 * 4.0 - 0.5 * 5.0 * 0.64)
    assert run.transitions[0].impulse["coupling"][3] == pytest.approx(3.0 * 0.8)
    assert run.transitions[1].energy_loss == 0.0 and not run.transitions[1].transfer.jumped
    audit = run.audit()
    assert audit.ok and "2.4 J lost" in audit["change 1"].text
    assert "closes a loop" in str(run.transitions[0]) or "holds" in str(run.transitions[0])


def test_files_and_plots_have_one_time_axis(tmp_path):
    m = rails()
    meet = ct.Event(meeting, direction=-1, then=coupled)
    run = ct.simulate(m.system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=meet, samples=11)
    assert len(run.t) == 11 + 1 and np.sum(run.t == run.changes[0]) == 2
    run.save(tmp_path / "run.csv")
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    assert len(rows) == len(run.t) and float(rows[-1]["q.a slides"]) == run["a slides"][-1, 0]
    assert {row["segment"] for row in rows} == {"0", "1"}
    data = run.to_xarray()
    assert data["change_name"].values.tolist() == ["meeting"] and data.sizes["time"] == len(run.t)
    figure = run.plot(path=tmp_path / "run.png")
    assert len(figure.axes) == 5 and (tmp_path / "run.png").stat().st_size > 1000


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
    local = ct.PerStructure(lambda system, start: lambda t, q, v: both(max(t, start), q, v))
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


def test_events_without_names_are_told_apart():
    """Two functions without a name of their own: each does what is said of it."""
    lock = {k: ct.Event(lambda t, q, v, k=k: t - 0.25 * k, then=lambda h, k=k: h.system.mechanism.lock(
        "ab"[k - 1] + " slides", at=h.configuration)) for k in (2, 1)}  # fmt: skip
    m = rails()
    m.add_body("c", mass=1.0, inertia=0.1)
    m.add_joint("c slides", "ground", "c", ct.Prismatic("x"))
    run = ct.simulate(m.system(), np.zeros(3), np.ones(3), 1.0, events=list(lock.values()))
    assert [change.name for change in run.transitions] == ["<lambda> 2", "<lambda>"]
    held = run.segments[-1].system.mechanism.joints
    assert [held[f"{name} slides"].locked_at[0] for name in "ab"] == pytest.approx([0.25, 0.5])


@pytest.mark.parametrize("order", [1, -1])
def test_an_end_and_a_change_at_one_time_both_happen(order):
    events = [
        ct.at_time(0.5, lambda m, q, v: m.lock("b slides", at=q[1]), "lock"),
        ct.Event(lambda t, q, v: t - 0.5, "end", terminal=True),
        ct.Event(lambda t, q, v: 1.0 - 2.0 * t, "look"),
    ][::order]
    run = ct.simulate(rails().system(), [0.0, 1.0], [2.0, 1.0], 1.0, events=events)
    assert run.t[-1] == 0.5 and "'end'" in run.ended
    assert [change.name for change in run.transitions] == ["lock"]
    assert {event.name for event in run.events} == {"lock", "end", "look"}


def test_what_is_due_at_the_start_happens_there():
    s = rails().system()
    lock = ct.at_time(0.0, lambda m, q, v: m.lock("b slides", at=q[1]))
    run = ct.simulate(s, [0.0, 1.0], [2.0, 1.0], 1.0, events=lock)
    assert run.transitions[0].t == 0.0 and run.segments[0].system.joints == ("a slides",)
    # Bodies that touch and approach are caught, those that part are not.
    meet = ct.Event(meeting, "meet", direction=-1, then=coupled)
    for v, transitions in (([1.0, 0.0], 1), ([0.0, 1.0], 0)):
        run = ct.simulate(s, [0.0, 0.0], v, 1.0, events=meet)
        assert len(run.transitions) == transitions and run["b slides"][-1] == pytest.approx(
            [0.4] if transitions else [1.0]
        )


def test_what_rests_at_its_zero_happens_when_it_leaves():
    """A slide at rest at its limit begins to fall through it, and another one is locked while somebody asks for its
    velocity."""
    m = ct.Mechanism("slides")
    for k, axis in enumerate("zx"):
        m.add_body(f"body{k}", mass=1.0, inertia=0.1)
        m.add_joint(axis, "ground" if k == 0 else "body0", f"body{k}", ct.Prismatic(axis), limits=(0.0, 2.0))
    speed = ct.Event(lambda here: float(here.velocity("z")[0] + 1.0), "fast", terminal=True)
    run = ct.simulate(m.system(), [0.0, 1.0], [0.0, 0.1], 0.5, events=[ct.at_limit("z", "low"), speed])
    assert run.transitions[0].t < 1e-12 and run.segments[-1].system.joints == ("x",)
    assert run.t[-1] == 0.5 and not run.ended


def test_an_impact_jumps_over_what_velocities_say():
    """A cart is stopped by a hook: that it became slow, and all that follows from it, happens at that time."""
    meet = ct.Event(meeting, "meet", direction=-1, then=coupled)
    slow = ct.Event(lambda here: float(here.velocity("a slides")[0] - 1.0), "slow", direction=-1, then=lambda here: (
        here.system.mechanism.detach("coupling")))  # fmt: skip
    fast = ct.Event(lambda here: float(here.velocity("b slides")[0] - 0.5), "fast", terminal=True)
    run = ct.simulate(rails().system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=[slow, meet])
    assert [change.name for change in run.transitions] == ["meet", "slow"] and run.t[-1] == 1.0
    assert run.segments[-1].system.loops == () and [event.name for event in run.events] == ["slow", "meet"]
    run = ct.simulate(rails().system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=[fast, meet])
    assert run.t[-1] == pytest.approx(0.5) and "'fast'" in run.ended and len(run.transitions) == 1


@pytest.mark.parametrize("names", ["first", ["first", "second"]])
def test_energy_changes_by_what_is_lost_and_by_nothing_else(names):
    """Weights that are locked to ground, and springs at locked joints, keep their energy; a spring that goes with its
    joint takes it away."""
    m = ct.Mechanism("springs")
    before, hinge = "ground", ct.Pose(p=(0.5, 0, 0.2))
    for name in ("first", "second", "third"):
        m.add_body(f"{name} bar", mass=1.0, com=(0.1, 0, 0.05), inertia=0.1)
        m.add_joint(name, before, f"{name} bar", ct.Revolute("y"), in_parent=hinge)
        m.add_spring(f"{name} spring", name, stiffness=20.0, rest=0.1)
        before = f"{name} bar"
    m.add_spring_between("stretched", "ground", "first bar", stiffness=5.0)
    events = [
        ct.at_time(0.1, lambda here: here.system.mechanism.lock(names, at=here.configuration)),
        ct.at_time(0.2, lambda here: here.system.mechanism.unlock(names)),
        ct.at_time(0.3, lambda here: here.system.mechanism.detach("third").attach(
            "loose", "second bar", "third bar", ct.Revolute("y"), hinge, at=here.configuration)),
    ]  # fmt: skip
    run = ct.simulate(m.system(), [0.4, 0.5, 0.3], [1.0, -1.0, 2.0], 0.4, events=events)
    ends = np.cumsum([len(part.t) for part in run.segments])[:-1]
    lost = [run.energy[k - 1] - run.energy[k] for k in ends]
    stored = 10.0 * float(run["third"][ends[2] - 1, 0] - 0.1) ** 2
    losses = [change.energy_loss for change in run.transitions]
    np.testing.assert_allclose(lost, [losses[0], 0.0, stored], atol=1e-12)
    assert losses[0] > 0.1 and losses[1:] == [0.0, 0.0]


def test_drives_go_on_through_a_change():
    """A cart that is driven catches another one: it keeps its velocity, and its drive pays for it."""
    meet = ct.Event(meeting, "meet", direction=-1, then=coupled)
    path = {"a slides": lambda t: (2.0 * t, 2.0, 0.0)}
    run = ct.simulate(rails().system(), [0.0, 1.0], [2.0, 0.0], 1.0, events=meet, motion=path)
    np.testing.assert_allclose(run.velocity("b slides")[len(run.segments[0].t) :], 2.0, rtol=1e-12)
    change = run.transitions[0]
    assert change.energy_loss == pytest.approx(-6.0) and "6 J put in by drives" in str(change)
    assert change.impulse["a slides"][3] == change.impulse["coupling"][3] == pytest.approx(6.0)


@pytest.mark.parametrize("driven", ["first", "third"])
def test_a_driven_joint_stays_in_the_tree_when_a_loop_closes(driven):
    m = ct.Mechanism("closing", gravity=(0, 0, 0))
    before = "ground"
    for k, name in enumerate(("first", "second", "third")):
        m.add_body(f"{name} bar", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
        m.add_joint(
            name, before, f"{name} bar", ct.Revolute("y"), in_parent=ct.Pose(p=(min(k, 1) * 1.1, 0, 0))
        )
        before = f"{name} bar"
    s = m.system()
    q, v = np.array([-0.4, 0.9, 0.5]), np.zeros(3)
    v[s.slice_v(driven)] = 0.3
    path = {driven: lambda t: (q[s.slice_q(driven)][0] + 0.3 * t, 0.3, 0.0)}
    close = ct.at_time(0.1, lambda h: h.system.mechanism.attach(
        "close", "ground", before, ct.Revolute("y"), in_child=ct.Pose(p=(0.9, 0, 0)), at=h.configuration))  # fmt: skip
    run = ct.simulate(s, q, v, 0.2, events=close, motion=path)
    np.testing.assert_allclose(run.velocity(driven), 0.3, rtol=1e-12)
    assert run.segments[1].closure_error < 1e-10 and run.audit().ok


def test_a_motion_that_does_not_go_on_where_the_joint_is_is_told():
    path = {"a slides": lambda t: (t, 1.0, 0.0)}
    events = [
        ct.at_time(0.2, lambda h: h.system.mechanism.lock("a slides", at=h.configuration)),
        ct.at_time(0.4, lambda h: h.system.mechanism.unlock("a slides")),
    ]
    s = rails().system()
    with pytest.raises(ct.SimulationError, match=r"goes on at \[0.4\], but the joint is at \[0.2\]"):
        ct.simulate(s, [0.0, 1.0], [1.0, 1.0], 1.0, events=events, motion=path)
    with pytest.warns(ct.CatenaWarning, match="no structure of this run has a joint 'c slides'"):
        ct.simulate(s, [0.0, 1.0], [1.0, 1.0], 1.0, events=events[:1], motion={"c slides": path["a slides"]})
    with pytest.raises(ct.StateError, match="samples"):
        ct.simulate(s, [0.0, 1.0], [1.0, 1.0], 1.0, events=events, samples=[0.5, 0.2])


def test_what_there_was_before_an_error_is_kept():
    s = rails().system()
    lock = ct.at_time(0.5, lambda h: h.system.mechanism.lock("b slides", at=h.configuration))
    for control, then, error in (
        (lambda t, q, v: np.ones(2), lambda h: None, ct.SimulationError),
        (None, lambda h: h.system.mechanism.lock("nobody"), ct.UnknownNameError),
        (None, lambda h: 1 / 0, ZeroDivisionError),
    ):
        with pytest.raises(error) as caught:
            ct.simulate(s, [0.0, 1.0], [1.0, 1.0], 1.0, control=control, events=[lock, ct.at_time(0.7, then)])
        run = caught.value.trajectory
        assert isinstance(run, ct.Trajectory) and run.t[-1] == (0.7 if control is None else 0.5)
        assert len(run.transitions) == 1
        if control is not None:
            assert "at t = 0.5 s" in str(caught.value) and "From t = 0.5 s on" in caught.value.__notes__[0]
    with pytest.raises(IndexError) as index:
        ct.simulate(s, [0.0, 1.0], [1.0, 1.0], 1.0, events=[lock, lambda t, q, v: q[1] - 9.0])
    assert "asked by names" in index.value.__notes__[0]


def test_a_batch_changes_state_by_state():
    s = rails().system()
    q, v = np.array([[0.0, 1.0], [0.2, 0.9]]), np.array([[2.0, 0.0], [1.0, 0.5]])
    runs = ct.simulate(s, q, v, 1.0, events=[ct.at_time(0.5, then=coupled)])
    for k in range(2):
        run = runs.state(k)
        alone = ct.simulate(s, q[k], v[k], 1.0, events=[ct.at_time(0.5, then=coupled)])
        np.testing.assert_array_equal(run.segments[-1].q[-1], alone.segments[-1].q[-1])
    assert runs.batch == (2,)


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


def test_changes_that_are_far_ahead_cost_hardly_anything():
    """A hundred known times were looked for in every piece of a motion, fifty times as long as two."""
    s = ct.generators.chain(4).system()
    took = []
    for count in (2, 100, 2, 100):
        changes = [
            ct.Change(at=0.1 * k, **{"lock" if k % 2 else "unlock": "joint4"}) for k in range(1, count)
        ]
        begun = time.process_time()
        run = ct.simulate(s, np.full(4, 0.3), np.zeros(4), 0.15, changes=changes, check=False)
        took.append(time.process_time() - begun)
        assert [part.t[-1] for part in run.segments] == pytest.approx([0.1, 0.15], abs=1e-12)
    assert took[3] < 10.0 * took[2]


def test_a_known_time_is_data():
    event = ct.at_time(0.25)
    assert pickle.loads(pickle.dumps(event)) == event
