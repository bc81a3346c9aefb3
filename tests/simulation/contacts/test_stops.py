"""Rigid stops of joints: against closed forms, and against contacts that say the same."""

import numpy as np
import pytest

import catena as ct

G = 9.81


def pendulum(**joint):
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(1 / 6, 1 / 6, 0.01))
    m.add_joint("pivot", "ground", "rod", ct.Revolute("y"), **joint)
    return m


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_pendulum_hits_its_stop(e):
    """The speed at the stop follows from the height lost; e times it comes back, and the energy lost is told."""
    s = pendulum().system()
    q0, at = 1.2, 0.4
    run = ct.simulate(
        s, [q0], [0.0], 0.9, contacts=[ct.Stop("pivot", lower=at, restitution=e)], rtol=1e-10, atol=1e-12, check=False
    )  # fmt: skip
    inertia, weight = 1 / 6 + 2.0 * 0.25, 2.0 * G * 0.5
    speed = np.sqrt(2.0 * weight / inertia * (np.cos(at) - np.cos(q0)))
    hit = run.transitions[0]
    assert hit.name == "pivot lower touches"
    assert hit.energy_loss == pytest.approx(0.5 * (1.0 - e * e) * inertia * speed**2, rel=1e-6)
    assert hit.impulse["pivot lower"][2] == pytest.approx((1.0 + e) * inertia * speed, rel=1e-6)
    assert min(part.q[:, 0].min() for part in run.segments) > at - 1e-8
    first = run.segments[1]
    assert first.v[0, 0] == pytest.approx(e * speed, rel=1e-6)
    force = run.contact_forces["pivot lower"][:, 2]
    assert force.min() >= 0.0
    if e == 0.0:
        # It rests on the stop, which carries the weight.
        assert force[-1] == pytest.approx(weight * np.sin(at), rel=1e-9)
        assert run.segments[-1].v[-1, 0] == pytest.approx(0.0, abs=1e-10)


def test_a_stop_holds_until_the_joint_is_pulled_away():
    """Two links that swing down straight: the elbow's stop pushes until they hang, so they move as one rod."""
    m = ct.Mechanism("arm")
    for name in ("upper", "lower"):
        m.add_body(name, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0.001))
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("y"))
    m.add_joint(
        "elbow", "upper", "lower", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -1)), limits=(0.0, 2.0)
    )
    s = m.system()
    run = ct.simulate(
        s, [-1.0, 0.0], [0.0, 0.0], 1.0, contacts=[ct.Stop("elbow")], rtol=1e-9, atol=1e-11, check=False
    )
    start, lets_go = run.transitions
    assert start.told == ("elbow lower: slide", "elbow upper: open")
    assert lets_go.name == "elbow lower lifts" and lets_go.told == ("elbow lower: slide -> open",)
    one, then = run.segments
    rod = m.lock("elbow", at=0.0).system()
    same = ct.simulate(rod, [-1.0], [0.0], one.t[-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.q[-1], [same.q[-1, 0], 0.0], atol=1e-7)
    np.testing.assert_allclose(one.v[-1], [same.v[-1, 0], 0.0], atol=1e-7)
    assert abs(one.q[-1, 0]) < 1e-6 and then.q[-1, 1] > 0.05
    # Its force is what keeps the elbow from accelerating.
    force = run.contact_forces["elbow lower"][: len(one.t), 2]
    for k in range(0, len(one.t), 5):
        vdot = s.forward_dynamics(one.q[k], one.v[k], [0.0, force[k]])
        assert abs(vdot[1]) < 1e-6 * max(1.0, abs(vdot[0])) and force[k] >= 0.0


def test_a_stop_says_the_same_as_a_plane():
    """A slide between two stops bounces as a point between two planes does."""
    m = ct.Mechanism("slide", gravity=(6.0, 0, 0))
    m.add_body("box", mass=1.5, inertia=0.1)
    m.add_joint("slides", "ground", "box", ct.Prismatic("x"))
    m.add_frame("left", "ground", ct.Pose(p=(-0.2, 0, 0), rpy=(0, np.pi / 2, 0)))
    m.add_frame("right", "ground", ct.Pose(p=(0.3, 0, 0), rpy=(0, -np.pi / 2, 0)))
    s = m.system()
    options = {"rtol": 1e-10, "atol": 1e-12, "check": False, "samples": 31}
    stop = ct.simulate(
        s, [0.0], [-1.0], 2.0, contacts=[ct.Stop("slides", -0.2, 0.3, restitution=0.8)], **options
    )
    planes = [ct.Contact("box", on=side, restitution=0.8, name=side) for side in ("left", "right")]
    other = ct.simulate(s, [0.0], [-1.0], 2.0, contacts=planes, **options)
    assert len(stop.transitions) == len(other.transitions) > 3
    for a, b in zip(stop.transitions, other.transitions, strict=True):
        assert a.t == pytest.approx(b.t, abs=1e-8) and a.energy_loss == pytest.approx(b.energy_loss, rel=1e-7)
    np.testing.assert_allclose(stop["slides"], other["slides"], atol=1e-8)


def test_what_cannot_be_a_stop_is_refused():
    s = pendulum().system()
    for stop, words in (
        (lambda: ct.Stop("pivot"), "has no limits"),
        (lambda: ct.Stop("elbow", 0.0), "'elbow'"),
        (lambda: ct.Stop("pivot", 1.0, 0.0), "leave room"),
        (lambda: ct.Stop("pivot", 0.0, restitution=2.0), "restitution is 2.0"),
        (lambda: ct.Stop("pivot", 0.0, index=1), "no position number 1"),
        (lambda: ct.Stop("pivot", lower=2.0), "begins 1 rad or m beyond 2"),
    ):
        with pytest.raises(ct.CatenaError, match=words):
            ct.simulate(s, [1.0], [0.0], 0.1, contacts=[stop()])
