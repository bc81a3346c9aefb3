"""Forces where there is an actuator, as small as they can be, and words about those where there is none."""

import warnings

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar
from catena.simulation.control import Feedforward, GravityCompensation, SymbolicControl, sampled


def two_arms_and_a_bar(slide=False):
    """Two arms of two links that hold a bar between them, each the mirror image of the other in x = 0; the wrists
    have no actuators."""
    m = ct.Mechanism("two arms")
    for side, x in (("left", -1.0), ("right", 1.0)):
        inward = ct.Pose(p=(-0.6 * x, 0.0, 0.0))
        m.add_body(f"{side}/upper", 3.0, 0.5 * inward.p, (0.01, 0.1, 0.1))
        m.add_body(f"{side}/lower", 2.0, 0.5 * inward.p, (0.01, 0.1, 0.1))
        axis = ct.Revolute((0.0, x, 0.0))
        m.add_joint(f"{side}/shoulder", "ground", f"{side}/upper", axis, ct.Pose(p=(1.0 * x, 0.0, 0.0)))
        elbow = ct.Prismatic((x, 0.0, 0.0)) if slide else axis
        m.add_joint(f"{side}/elbow", f"{side}/upper", f"{side}/lower", elbow, inward)
    m.add_body("bar", 5.0, inertia=(0.01, 0.1, 0.1))
    for side, x in (("left", -1.0), ("right", 1.0)):
        tip, end = ct.Pose(p=(-0.6 * x, 0.0, 0.0)), ct.Pose(p=(0.2 * x, 0.0, 0.0))
        m.add_joint(f"{side}/wrist", f"{side}/lower", "bar", ct.Revolute("y"), tip, end, actuated=False)
    return m


@pytest.mark.parametrize("slide", [False, True])
def test_two_arms_hold_a_bar_with_the_smallest_forces(slide):
    """Virtual work over all velocities of the closed mechanism leaves forces open; the least are symmetric."""
    m = two_arms_and_a_bar(slide)
    elbow = 1.2 - 0.8 / np.cos(0.7) if slide else np.arccos(0.8 / 0.6 - np.cos(0.7)) - 0.7
    given = {
        f"{side}/{joint}": x
        for side in ("left", "right")
        for joint, x in (("shoulder", 0.7), ("elbow", elbow))
    }
    norms = []
    for cut in ("left/wrist", "right/wrist"):
        s = m.system(cut=[cut])
        q = s.assemble(given)
        assert np.abs(s.closure(q)[0]).max() < 1e-9
        rest = np.zeros(s.nv)
        tau = GravityCompensation(s)(0.0, q, rest)
        shoulders, elbows = (
            [float(tau[s.slice_v(f"{side}/{joint}")][0]) for side in ("left", "right")]
            for joint in ("shoulder", "elbow")
        )
        assert shoulders[0] == pytest.approx(shoulders[1], rel=1e-9) and elbows[0] == pytest.approx(
            elbows[1], rel=1e-9
        )
        np.testing.assert_allclose(tau, s.inverse_dynamics(q, rest, rest), rtol=1e-9, atol=1e-9)
        if not slide:
            _, sigma, Vt = np.linalg.svd(s.closure_jacobian(q))
            free = Vt[int((sigma > 1e-9 * sigma[0]).sum()) :]
            least = np.linalg.pinv(free[:, s.plan.actuated]) @ free @ s.bias_force(q, rest)
            np.testing.assert_allclose(tau[s.plan.actuated], least, rtol=1e-9, atol=1e-9)
        norms.append(np.linalg.norm(tau))
    assert norms[0] == pytest.approx(norms[1], rel=1e-9)


def test_forces_at_a_joint_that_is_not_actuated_do_not_act_silently():
    """Refused by name if they are there from the beginning, for one state or a batch; told by the audit if later."""
    m = ct.Mechanism("cart and pole")
    m.add_body("cart", 1.0)
    m.add_body("pole", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("pin", "cart", "pole", ct.Revolute("y"), actuated=False)
    s = m.system()
    wanted = "The controller gave 2 for joint 'pin' at t = 0 s, which is not actuated: add the joint with"
    for start in (s.neutral(), np.zeros((2, 2))):
        with pytest.raises(ct.SimulationError, match=wanted):
            ct.simulate(
                s, start, np.zeros_like(start), 0.01, control=lambda t, q, v: np.array([1.0, 2.0]) + 0 * v
            )
    known = Feedforward(s, {"rail": 0.0, "pin": 0.3}, rate=1000.0)
    fixed = {"integrator": "rk4", "step": 1e-3}
    ct.simulate(s, s.neutral(), np.zeros(2), 0.01, control=known, **fixed)
    pushed = SymbolicControl(lambda t, q, v: [-q[..., 0], -q[..., 1]])
    with pytest.warns(
        ct.CatenaWarning, match="not actuated, and they acted: 'pin'. Add these joints with actuated"
    ):
        ct.simulate(s, s.neutral(), [0.1, 0.2], 0.01, control=pushed)
    held = SymbolicControl(lambda t, q, v: [-q[..., 0], 0.0])
    for control in (held, lambda t, q, v: np.array([-q[0], 0.0])):
        assert ct.simulate(s, [0.1, 0.2], np.zeros(2), 0.01, control=control).t[-1] == 0.01


@pytest.mark.parametrize("rate", [None, 100.0])
def test_forces_by_name_at_a_loop_joint_without_actuator_are_not_silent(rate):
    s = four_bar().with_joint("C", actuated=False).system(cut=["C"])
    q, v = s.assemble({"A": 0.4}), np.zeros(s.nv)

    def given(function):
        return function if rate is None else sampled(function, rate)

    with pytest.raises(ct.SimulationError, match="force for joint 'C' at t = 0 s, which is not actuated"):
        ct.simulate(s, q, v, 0.1, control=given(lambda t, q, v: {"C": 1.0}))
    with pytest.warns(ct.CatenaWarning, match="not actuated, and they acted: 'C'. Add these joints"):
        ct.simulate(s, q, v, 0.1, control=given(lambda t, q, v: {"C": float(t > 0.05)}))
    run = ct.simulate(s, q, v, 0.1, control=given(lambda t, q, v: {"C": 0.0, "A": 1.0}))
    assert run.audit().ok


def test_forces_at_a_loop_joint_are_not_taken_for_forces_at_joints_without_actuator():
    """They act through joints of the tree, which none of them drives."""
    m = four_bar()
    for joint in ("A", "B", "D"):
        m = m.with_joint(joint, actuated=False)
    s = m.system(cut=["C"])
    run = ct.simulate(s, s.assemble({"A": 0.4}), np.zeros(s.nv), 0.1, control=lambda t, q, v: {"C": 1.0})
    assert run.audit().ok and not run.tau.any() and (run.force("C") == 1.0).all()


def test_an_actuator_whose_joint_closes_a_loop_acts_within_its_limits():
    """Once it was dropped with a warning; now it moves the mechanism as on a plan that has its joint in the tree."""
    m = four_bar()
    m.add_actuator("motor", "C", limits=3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut, kept = m.system(cut=["C"]), m.system(keep=["C"])
    ends = []
    for s in (cut, kept):
        q = s.assemble({"A": 0.4})
        run = ct.simulate(s, q, np.zeros(s.nv), 0.1, control=lambda t, q, v: {"C": 100.0}, check=False)
        ends.append(s.joint_position(run.q[-1], "A"))
        held = ct.simulate(s, q, np.zeros(s.nv), 0.1, control=lambda t, q, v: {"C": 3.0}, check=False)
        np.testing.assert_allclose(run.q[-1], held.q[-1], atol=1e-9)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)
