"""Motions over changes of the structure, planned as one: an optimum that is known in closed form, phases planned one by
one, and runs in which the structure changes."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain

pytest.importorskip("casadi")


def carts(m=1.5, M=2.0):
    """A cart with a motor, and one without, on the same rail."""
    found = ct.Mechanism("carts", gravity=(0.0, 0.0, 0.0))
    for name, mass in (("a", m), ("b", M)):
        found.add_body(name, mass, inertia=np.eye(3))
        found.add_joint(name, "ground", name, ct.Prismatic("x"), actuated=name == "a")
    return found


def least(mass, d, v0, v1, T):
    """The least integral of squared force that moves a mass by d in T, from v0 to v1: cubic motions."""
    return mass**2 * (12 * d**2 / T**3 - 12 * d * (v0 + v1) / T**2 + 4 * (v0**2 + v0 * v1 + v1**2) / T)


def test_a_cart_that_catches_another_one_arrives_as_fast_as_is_best():
    """Impact, and then both come to rest: squares of forces of two cubic motions, least over the speed at the catch."""
    m, M, b0, w, T, goal = 1.5, 2.0, 0.4, 0.3, (0.8, 1.1), 1.4
    free = carts(m, M)
    s = free.system()
    caught = free.attach("grip", "a", "b", ct.Fixed(), ct.Pose(p=(0.1, 0.0, 0.0)), ct.Pose())
    q0, v0 = np.zeros(2), np.zeros(2)
    q0[s.slice_q("b")], v0[s.slice_v("b")] = b0, w
    plans = ct.plan_motions(
        [
            ct.MotionPhase(s, T[0], nodes=5),
            ct.MotionPhase(caught.system(), T[1], end={"a": goal}, nodes=5),
        ],
        q0, velocity=v0, smooth=0.0,
    )  # fmt: skip
    assert plans.success and plans.missed < 1e-8

    def spent(v1):
        met = b0 + w * T[0] - 0.1
        return least(m, met, 0.0, v1, T[0]) + least(m + M, goal - met, (m * v1 + M * w) / (m + M), 0.0, T[1])

    # A parabola: its lowest point from three values.
    left, middle, right = spent(-1.0), spent(0.0), spent(1.0)
    best = (left - right) / (2.0 * (left - 2.0 * middle + right))
    assert plans.cost == pytest.approx(spent(best), rel=1e-9)
    assert plans[0].v[-1, s.slice_v("a")] == pytest.approx(best, rel=1e-6)
    hit = plans.transfers[0]
    np.testing.assert_allclose(hit.v, plans[1].v[0], atol=1e-9)
    assert hit.energy_loss == pytest.approx(0.5 * m * M / (m + M) * (best - w) ** 2, rel=1e-6)
    grip = {
        "name": "grip",
        "parent": "a",
        "child": "b",
        "kind": ct.Fixed(),
        "in_parent": ct.Pose(p=(0.1, 0.0, 0.0)),
    }
    run = ct.simulate(
        s, q0, v0, sum(T), changes=[ct.Change(at=T[0], attach=grip)], motion={"a": plans.motion("a")}, check=False,
        rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    last = run.segments[-1]
    for name, place in (("a", goal), ("b", goal + 0.1)):
        np.testing.assert_allclose(last.system.pose(last.q[-1], name).p, (place, 0.0, 0.0), atol=1e-8)
    # Whoever stops first, or meets the other one without an impact, spends more.
    assert spent(0.0) > 1.05 * plans.cost and spent(w) > 1.05 * plans.cost


def test_an_arm_whose_joint_is_locked_on_the_way_spends_less_than_phase_by_phase_and_arrives():
    arm = chain(3, axes="yyy")
    arm.gravity = (0.0, 0.0, 0.0)
    s = arm.system()
    q0, held = np.array([0.3, 0.5, 0.4]), 0.1
    at = s.configuration([0.3, 0.7, held])
    stiff = arm.lock("joint3", at=at).system()
    goal = s.pose([0.9, 1.0, held], "tip").p
    whole = ct.plan_motions(
        [ct.MotionPhase(s, 0.6, nodes=9), ct.MotionPhase(stiff, 0.6, frame="tip", reach=goal, nodes=9)], q0
    )
    assert whole.success and whole.missed < 1e-8
    one = ct.plan_motion(s, q0, 0.6, end={"joint1": 0.5, "joint3": held}, nodes=9)
    other = ct.plan_motion(stiff, one.q[-1, :2], 0.6, frame="tip", reach=goal, nodes=9)
    assert whole.cost < 0.98 * (one.cost + other.cost)
    again = ct.plan_motions(
        [ct.MotionPhase(s, 0.6, nodes=9), ct.MotionPhase(stiff, 0.6, frame="tip", reach=goal, nodes=9)], q0,
        guess=[one, other],
    )  # fmt: skip
    assert again.cost == pytest.approx(whole.cost, rel=1e-5)
    run = ct.simulate(
        s, q0, np.zeros(3), 1.2, changes=[ct.Change(at=0.6, lock="joint3")], check=False,
        motion={name: whole.motion(name) for name in ("joint1", "joint2")}
        | {"joint3": whole[0].motion("joint3")},
    )  # fmt: skip
    last = run.segments[-1]
    assert last.system.nv == 2
    np.testing.assert_allclose(last.system.pose(last.q[-1], "tip").p, goal, atol=1e-6)


def two_arms():
    """A floating bus with two arms of two joints that turn about z."""
    found = ct.Mechanism("two arms", gravity=(0.0, 0.0, 0.0))
    found.add_body("bus", mass=10.0, inertia=1.0)
    found.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    for side, y in (("left", 0.3), ("right", -0.3)):
        for name, above, at in (("upper", "bus", (0.2, y, 0)), ("lower", f"{side} upper", (0.4, 0, 0))):
            found.add_body(f"{side} {name}", mass=1.0, com=(0.2, 0, 0), inertia=0.02)
            found.add_joint(
                f"{side} {name}", above, f"{side} {name}", ct.Revolute("z"), in_parent=ct.Pose(p=at)
            )
    return found


def test_a_robot_that_drifts_takes_hold_of_a_handle_pulls_itself_around_and_lets_go():
    """Its free joint is in the tree, then closes a loop, then is in the tree again. All it does before and after each
    change is one state, as `transfer` has it, and what it cannot choose is momentum."""
    m = two_arms()
    s = m.system()
    q0, v0 = s.neutral(), np.zeros(s.nv)
    for name, angle in (
        ("left upper", 0.3),
        ("left lower", -0.6),
        ("right upper", -0.3),
        ("right lower", 0.6),
    ):
        q0[s.slice_q(name)] = angle
    v0[s.slice_v("base")] = (0.0, 0.0, 0.02, 0.02, 0.01, 0.0)
    there = ct.Pose(
        p=s.pose(q0, "left lower").R @ (0.4, 0, 0) + s.pose(q0, "left lower").p + (0.03, 0.05, 0.0)
    )
    hand = ct.Pose(p=(0.4, 0.0, 0.0))
    held = m.attach("grip", "ground", "left lower", ct.Revolute("z"), there, hand, actuated=False)
    h = held.system()
    assert h.loops == ("base",) and h.nv == s.nv - 5
    plans = ct.plan_motions(
        [
            ct.MotionPhase(s, 1.0, nodes=9, attitude=0.3),
            ct.MotionPhase(h, 1.5, nodes=7),
            ct.MotionPhase(m.system(), 1.0, nodes=9, end={"right lower": 0.2}, attitude=0.4),
        ],
        q0, velocity=v0,
    )  # fmt: skip
    assert plans.success and plans.missed < 1e-7
    caught, let_go = plans.transfers
    assert caught.energy_loss > 0.0 and abs(let_go.energy_loss) < 1e-12
    for hit, plan in zip(plans.transfers, plans[1:], strict=True):
        np.testing.assert_allclose(hit.q, plan.q[0], atol=1e-7)
        np.testing.assert_allclose(hit.v, plan.v[0], atol=1e-7)
    np.testing.assert_allclose(s.momentum(plans[0].q[-1], plans[0].v[-1]), s.momentum(q0, v0), atol=5e-3)
    # Momentum after it has let go is its own choice, and stays.
    last = plans[2]
    np.testing.assert_allclose(
        last.system.momentum(last.q[-1], last.v[-1]), last.system.momentum(last.q[0], last.v[0]), atol=5e-3
    )
    for plan, most in ((plans[0], 0.3), (plans[2], 0.4)):
        angle = [2.0 * np.arccos(min(1.0, abs(q[3]))) for q in plan.q[:, plan.system.slice_q("base")]]
        assert max(angle) < most + 1e-6


def test_what_cannot_be_joined_is_refused_in_words():
    m = two_arms()
    s, q0 = m.system(), m.system().neutral()
    far = m.attach("grip", "ground", "left lower", ct.Revolute("z"), ct.Pose(p=(9.0, 0.0, 0.0)), ct.Pose())
    with pytest.raises(ct.StateError, match="give a list of ct.MotionPhase"):
        ct.plan_motions([s], q0)
    fixed = m.fix_base()
    f = fixed.system()
    with pytest.raises(ct.StateError, match="no place was found at which"):
        ct.plan_motions(
            [ct.MotionPhase(f, 1.0), ct.MotionPhase(far.fix_base().system(), 1.0)], np.zeros(f.nq)
        )
    free = carts()
    geared = free.attach("screw", "a", "b", ct.Prismatic("x")).detach("b").with_joint("screw", armature=0.1)
    with pytest.raises(ct.StateError, match="'screw' has a rotor"):
        ct.plan_motions(
            [ct.MotionPhase(free.system(), 1.0), ct.MotionPhase(geared.system(), 1.0)], np.zeros(2)
        )
