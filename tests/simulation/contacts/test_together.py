"""Contacts in ordinary runs: with samples, events, forces, prescribed motion, control and in batches. Each test
compares two ways to say the same."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import catena as ct

G = 9.81
EXACT = {"rtol": 1e-9, "atol": 1e-11}


def block(lift=0.0):
    """A block on two corners in the x-z plane, with a handle on it."""
    m = ct.Mechanism("block")
    m.add_body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("moves", "ground", "block", ct.Planar("y"))
    for name, x in (("left", -0.2), ("right", 0.2)):
        m.add_frame(name, "block", ct.Pose(p=(x, 0, -0.1)))
    s = m.system()
    up = np.linalg.lstsq(s.jacobian(s.neutral(), "block"), [0, 0, 0, 0, 0, 0.1 + lift], rcond=None)[0]
    return s, s.integrate(s.neutral(), up)


CONTACTS = [ct.Contact("left", friction=0.3), ct.Contact("right", friction=0.3)]


def along(s, q, force, frame="block"):
    """The joint forces of a force along x at a frame of the block."""
    return s.jacobian(q, frame).T @ np.r_[np.zeros(3), s.pose(q, "block").R.T @ [force, 0, 0]]


def test_samples_show_the_run_without_them():
    """A block falls, slides and stops; the states at samples are those of the motion at these times."""
    s, q = block(lift=0.02)
    v = np.linalg.lstsq(s.jacobian(q, "block"), [0, 0, 0, 0.6, 0, 0], rcond=None)[0]
    whole = ct.simulate(s, q, v, 0.4, contacts=CONTACTS, **EXACT)
    some = ct.simulate(s, q, v, 0.4, contacts=CONTACTS, samples=21, **EXACT)
    times = np.linspace(0, 0.4, 21)
    assert set(times) <= set(some.t) and [x.t for x in some.transitions] == [x.t for x in whole.transitions]
    for t in times:
        np.testing.assert_allclose(some.at(t)[0], whole.at(t)[0], atol=1e-12)
    assert set(some.contact_forces) == {"left", "right"}
    total = sum(f[-1] for f in some.contact_forces.values())
    np.testing.assert_allclose(total, [0, 0, 2.0 * G], atol=1e-6)


def test_a_force_is_the_same_as_forces_and_as_control():
    """A push that grows with time lets a block slip when it beats friction, at t = mu m g / rate."""
    s, q = block()
    rest, rate = np.zeros(s.nv), 20.0
    push = {"left": lambda t: [0, 0, 0, rate * t, 0, 0]}
    told = ct.simulate(s, q, rest, 0.5, contacts=CONTACTS, forces=push, **EXACT)
    asked = ct.simulate(
        s, q, rest, 0.5, contacts=CONTACTS, control=lambda t, q, v: along(s, q, rate * t, "left"), **EXACT
    )
    for run in (told, asked):
        slips = [change for change in run.transitions if "slips" in change.name]
        assert slips[0].t == pytest.approx(0.3 * 2.0 * G / rate, rel=1e-6)
    np.testing.assert_allclose(told.segments[-1].q[-1], asked.segments[-1].q[-1], atol=1e-9)
    np.testing.assert_allclose(told.segments[-1].v[-1], asked.segments[-1].v[-1], atol=1e-8)


def test_forces_of_a_slip_that_turns_about():
    """A puck that is pushed aside and back: whoever found its motion, friction is told against the slip of its time."""
    m = ct.Mechanism("puck")
    for name, before, axis in (("x", "ground", "x"), ("y", "x", "y"), ("puck", "y", "z")):
        m.add_body(name, mass=0.5, inertia=0.01)
        m.add_joint(f"moves {axis}", before, name, ct.Prismatic(axis))
    s = m.system()
    run = ct.simulate(
        s, np.zeros(3), [1.0, 0.3, 0.0], 1.0, contacts=[ct.Contact("puck", friction=0.2)],
        forces={"puck": lambda t: [0, 0, 0, -4.0, 2.0, 0]}, **EXACT,
    )  # fmt: skip
    force, slip = run.contact_forces["puck"], run.twist("puck")[:, 3:5]
    assert slip[0] @ slip[-1] < 0.0 and not run.transitions[1:]
    np.testing.assert_allclose(
        force[:, :2], -0.2 * 0.5 * G * slip / np.linalg.norm(slip, axis=1)[:, None], atol=1e-5
    )


@pytest.mark.parametrize("when", [0.7, 1.3])
def test_no_push_is_missed_while_nothing_moves(when):
    """A block that friction holds has nothing to integrate, and steps as large as can be: it slips when a short push
    beats friction nevertheless."""
    s, q = block()
    push = {"left": lambda t: [0, 0, 0, 9.0 / (1.0 + ((t - when) / 0.03) ** 4), 0, 0]}
    run = ct.simulate(s, q, np.zeros(s.nv), 1.6, contacts=CONTACTS, forces=push, **EXACT)
    slips = next(change for change in run.transitions if "slips" in change.name)
    assert slips.t == pytest.approx(when - 0.03 * (9.0 / (0.3 * 2.0 * G) - 1.0) ** 0.25, rel=1e-6)


def test_an_event_and_a_contact_in_one_run():
    """An event in the middle of a slide is found where the closed form has it, and a terminal one ends the run."""
    s, q = block()
    v = np.linalg.lstsq(s.jacobian(q, "block"), [0, 0, 0, 1.0, 0, 0], rcond=None)[0]
    slow = ct.Event(lambda here: here.twist("block")[3] - 0.5, "half speed")
    run = ct.simulate(s, q, v, 0.6, contacts=CONTACTS, events=[slow], **EXACT)
    assert [event.name for event in run.events] == ["half speed"]
    assert run.events[0].t == pytest.approx(0.5 / (0.3 * G), rel=1e-8)
    assert run.transitions[-1].t == pytest.approx(1.0 / (0.3 * G), rel=1e-6)
    ends = ct.simulate(
        s,
        q,
        v,
        0.6,
        contacts=CONTACTS,
        events=[ct.Event(slow.function, "half speed", terminal=True)],
        **EXACT,
    )
    assert ends.t[-1] == pytest.approx(0.5 / (0.3 * G), rel=1e-8) and "half speed" in ends.ended


@pytest.mark.slow
def test_an_event_changes_the_structure_while_contacts_go_on():
    """A block that slides takes a load up: momentum is shared, and both slide on."""
    m = ct.Mechanism("pick up")
    for name, mass in (("block", 2.0), ("load", 1.0)):
        m.add_body(name, mass=mass, inertia=(0.1, 0.1, 0.1))
        m.add_joint(f"{name} moves", "ground", name, ct.Prismatic("x"))
    m.add_body("wheel", mass=1.0, inertia=0.1)
    m.add_joint("drops", "block", "wheel", ct.Prismatic("z"))
    s = m.system()
    contacts = [ct.Contact("wheel", friction=0.2)]
    meet = ct.Event(
        lambda here: here.position("block")[0] - 0.2, "meets", direction=1,
        then=lambda here: None if "hook" in here.system.mechanism.joints else here.system.mechanism.attach(
            "hook", "block", "load", ct.Fixed(), at=here.configuration),
    )  # fmt: skip
    run = ct.simulate(s, [0.0, 0.2, 0.0], [1.0, 0.0, 0.0], 0.5, contacts=contacts, events=[meet], **EXACT)
    changes = [change.name for change in run.transitions]
    assert changes.count("meets") == 1
    hit = next(change for change in run.transitions if change.name == "meets")
    # Friction of the wheel's weight slows block and wheel, then all three.
    a = 0.2 * 1.0 * G / 3.0
    before = np.sqrt(1.0 - 2.0 * a * 0.2)
    assert hit.t == pytest.approx((1.0 - before) / a, rel=1e-7)
    assert run.velocity("block moves")[-1, 0] == pytest.approx(
        before * 3.0 / 4.0 - 0.2 * G / 4.0 * (0.5 - hit.t), rel=1e-6
    )


def test_contacts_with_prescribed_motion():
    """A conveyor that moves as prescribed drags a block along: it slides until it is as fast, then sticks."""
    m = ct.Mechanism("conveyor")
    m.add_body("belt", mass=5.0, inertia=0.1)
    m.add_joint("runs", "ground", "belt", ct.Prismatic("x"))
    m.add_body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("moves", "ground", "block", ct.Planar("y"), actuated=False)
    for name, x in (("left", -0.2), ("right", 0.2)):
        m.add_frame(name, "block", ct.Pose(p=(x, 0, -0.1)))
    s = m.system()
    up = np.linalg.lstsq(s.jacobian(s.neutral(), "block"), [0, 0, 0, 0, 0, 0.1], rcond=None)[0]
    q = s.integrate(s.neutral(), up)
    contacts = [ct.Contact(name, on="belt", friction=0.3) for name in ("left", "right")]
    motion = {"runs": lambda t: ([0.5 * t], [0.5], [0.0])}
    run = ct.simulate(s, q, np.zeros(s.nv), 0.4, contacts=contacts, motion=motion, **EXACT)
    stops = next(change for change in run.transitions if "stops sliding" in change.name)
    assert stops.t == pytest.approx(0.5 / (0.3 * G), rel=1e-6)
    assert run.position("block")[-1, 0] == pytest.approx(0.5 * (0.4 - stops.t) + 0.25 * stops.t, rel=1e-6)


def test_works_of_all_that_moves_a_box_on_a_tray():
    """A box on a tray that is shaken as prescribed, and pushed by a wrench: whichever steps are taken, careful ones
    too, its energy changes by what the drive, the push and friction do."""
    m = ct.Mechanism("tray")
    m.add_body("tray", mass=3.0, inertia=0.1)
    m.add_joint("shakes", "ground", "tray", ct.Prismatic("x"))
    m.add_body("box", mass=2.0, inertia=0.02)
    m.add_joint("moves", "ground", "box", ct.Free(), actuated=False)
    corners = [(x, y) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    for k, place in enumerate(corners):
        m.add_frame(f"corner {k}", "box", ct.Pose(p=(*place, -0.05)))
    s = m.system()
    q = s.neutral()
    q[s.slice_q("moves")][2] = 0.05

    def shaken(t):
        return [0.05 - 0.05 * np.cos(15 * t)], [0.75 * np.sin(15 * t)], [11.25 * np.cos(15 * t)]

    run = ct.simulate(
        s, q, np.zeros(s.nv), 0.14,
        contacts=[ct.Contact(f"corner {k}", on="tray", friction=0.5) for k in range(4)],
        motion={"shakes": shaken},
        forces={"box": lambda t: [0, 0, 0, 1.0, 0, 0]}, **EXACT,
    )  # fmt: skip
    careful = [part for part in run.segments if "careful" in part.settings["integrator"]]
    assert careful and all(np.ptp(part.work["motion"]) > 1e-3 for part in careful)
    for part in careful:
        np.testing.assert_allclose(part.acceleration[:, 0], 11.25 * np.cos(15 * part.t), atol=1e-9)
    for part in run.segments:
        total = sum(part.work[name] for name in ("actuators", "friction", "wrenches", "motion"))
        np.testing.assert_allclose(part.energy - part.energy[0], total, atol=2e-5)
    assert all(part["energy"].level == "ok" for part in run.audit().parts)


def test_a_batch_is_its_states_one_by_one():
    s, q = block()
    v = np.array(
        [np.linalg.lstsq(s.jacobian(q, "block"), [0, 0, 0, x, 0, 0], rcond=None)[0] for x in (0.2, 0.7)]
    )
    runs = ct.simulate(s, q, v, 0.2, contacts=CONTACTS, **EXACT)
    assert runs.batch == (2,)
    for k, own in enumerate(v):
        run = runs.state(k)
        alone = ct.simulate(s, q, own, 0.2, contacts=CONTACTS, **EXACT)
        np.testing.assert_array_equal(run.t, alone.t)
        np.testing.assert_array_equal(run.segments[-1].q[-1], alone.segments[-1].q[-1])


def test_a_sampled_controller_holds_its_forces_while_a_block_slides():
    s, q = block()
    v = np.linalg.lstsq(s.jacobian(q, "block"), [0, 0, 0, 1.0, 0, 0], rcond=None)[0]

    class Push:
        rate = 100.0

        def __call__(self, t, q, v):
            return along(s, q, 2.0)

    sampled = ct.simulate(s, q, v, 0.2, contacts=CONTACTS, control=Push(), **EXACT)
    always = ct.simulate(s, q, v, 0.2, contacts=CONTACTS, control=lambda t, q, v: along(s, q, 2.0), **EXACT)
    np.testing.assert_allclose(sampled.segments[-1].q[-1], always.segments[-1].q[-1], atol=1e-9)
    assert sampled.velocity("moves")[-1].max() == pytest.approx(1.0 - (0.3 * G - 1.0) * 0.2, rel=1e-8)


def test_an_impact_tells_the_momentum_that_contacts_give():
    """A box that falls on a corner: its momentum changes by the impulses of contacts and nothing else."""
    m = ct.Mechanism("box")
    m.add_body("box", mass=2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("moves", "ground", "box", ct.Free(), actuated=False)
    m.add_frame("corner", "box", ct.Pose(p=(0.2, 0.1, -0.1)))
    s = m.system()
    q = s.neutral()
    q[s.slice_q("moves")][2] = 0.12
    v = np.array([0.3, -0.2, 0.5, 0.4, 0.1, 0.0])
    run = ct.simulate(s, q, v, 0.1, contacts=[ct.Contact("corner", friction=0.4, restitution=0.3)], **EXACT)
    hit = next(change for change in run.transitions if change.impulse)
    k = int(np.flatnonzero(run.t >= hit.t - 1e-12)[0])
    change = run.momentum[k + 1] - run.momentum[k]
    P = hit.impulse["corner"]
    expected = np.r_[np.cross(run.position("corner")[k], P), P]
    np.testing.assert_allclose(change, expected, atol=1e-12)
    kept = pickle.loads(pickle.dumps(hit))
    assert hit.momentum_error < 1e-13 and np.linalg.norm(P) > 0.1
    assert kept.momentum_error == hit.momentum_error and kept.told == hit.told
    assert hit.energy_loss == pytest.approx(run.kinetic_energy[k] - run.kinetic_energy[k + 1], rel=1e-9)
    assert "kept to" in run.audit()["change 1"].text


def test_an_impact_jumps_over_an_event():
    """A block that falls flat stops at once: its speed passes half of what it had when it hits, and never before."""
    s, q = block(lift=0.05)
    speed = np.sqrt(2.0 * G * 0.05)
    half = ct.Event(lambda here: here.twist("block")[5] + 0.5 * speed, "stops", direction=1)
    run = ct.simulate(s, q, np.zeros(s.nv), 0.3, contacts=CONTACTS, events=[half], **EXACT)
    assert [event.name for event in run.events] == ["stops"]
    assert run.events[0].t == pytest.approx(speed / G, rel=1e-8)
    ends = ct.simulate(
        s, q, np.zeros(s.nv), 0.3, contacts=CONTACTS, events=[replace(half, terminal=True)], **EXACT
    )
    assert (
        ends.t[-1] == pytest.approx(speed / G, rel=1e-8) and f"'stops' at t = {ends.t[-1]:.9g}" in ends.ended
    )
    planned = replace(half, then=lambda mechanism, q, v: mechanism.system())
    changed = ct.simulate(s, q, np.zeros(s.nv), 0.3, contacts=CONTACTS, events=[planned], **EXACT)
    assert "stops" in [change.name for change in changed.transitions]


def test_a_change_that_leaves_contacts_without_sides_loses_nothing():
    s, q = block(lift=0.05)
    at = ct.at_time(0.05, then=lambda mechanism, q, v: mechanism.lock("moves", at=q))
    with pytest.raises(ct.StateError, match="move together") as caught:
        ct.simulate(s, q, np.zeros(s.nv), 0.3, contacts=CONTACTS, events=[at], **EXACT)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.05)


@pytest.mark.parametrize("order", [1, -1])
def test_changes_at_the_start_and_ends_at_the_same_time_happen_beside_contacts(order):
    m = ct.Mechanism("drop")
    for k, name in enumerate("ab"):
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(
            f"{name} falls", "ground" if k == 0 else "a", name, ct.Prismatic("z"), ct.Pose(p=(0, 0, k))
        )
    events = [
        ct.at_time(0.0, lambda m, q, v: m.lock("b falls", at=q[1]), "lock"),
        ct.at_time(0.2, lambda m, q, v: m.unlock("b falls"), "unlock"),
        ct.Event(lambda t, q, v: t - 0.2, "end", terminal=True),
    ][::order]
    run = ct.simulate(m.system(), [0.5, 0.1], [0.0, -0.2], 0.6, contacts=[ct.Contact("a")], events=events)
    assert [(change.t, change.name) for change in run.transitions] == [(0.0, "lock"), (0.2, "unlock")]
    assert (
        run.t[-1] == 0.2
        and "'end'" in run.ended
        and [event.name for event in run.events] == ["unlock", "end"]
    )
