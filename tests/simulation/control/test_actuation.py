"""Forces where there is an actuator, as small as they can be, and words about those where there is none."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

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


def slowing():
    """A wheel of 0.1 kg m^2 whose motor gives 2 N m at rest and nothing at 10 rad/s, told to and fro twice a second."""
    m = ct.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("wheel", 1.0, inertia=0.1)
    m.add_joint("axle", "ground", "wheel", ct.Revolute("z"))
    m.add_actuator("motor", "axle", limits=2.0, no_load_speed=10.0)
    table = np.array([5.0, -1.5, 5.0, 0.7, -5.0])
    return m.system(), lambda t: table[min(int(t * 2.0 + 1e-6), 4)]


def oracle(command, speeds, times):
    """The speeds of such wheels by SciPy, from sample to sample."""

    def given(u, v):
        part = v / 10.0
        return np.clip(u, -2.0 * np.clip(1.0 + part, 0.0, 1.0), 2.0 * np.clip(1.0 - part, 0.0, 1.0))

    v, found = np.array(speeds, dtype=float), []
    for k in range(5):
        u = command(0.5 * k)
        own = times[(times >= 0.5 * k - 1e-12) & (times < 0.5 * (k + 1) - 1e-12)]
        ends = np.append(np.clip(own, 0.5 * k, None), 0.5 * (k + 1))
        part = solve_ivp(lambda t, v, u=u: given(u, v) / 0.1, (0.5 * k, 0.5 * (k + 1)), v, t_eval=ends,
                         rtol=1e-11, atol=1e-12, max_step=0.01)  # fmt: skip
        found.append(part.y[:, :-1])
        v = part.y[:, -1]
    speed = np.concatenate(found, axis=1)
    last = np.minimum((times * 2.0 + 1e-6).astype(int), 4)
    return speed, given(np.array([command(0.5 * k) for k in last]), speed)


@pytest.mark.parametrize(
    "settings", [{}, {"integrator": "rk4", "step": 0.001}, {"integrator": "dop853"}, {"integrator": "radau"}]
)
def test_motors_slow_down_between_the_samples_of_their_controller(settings):
    """One wheel and three at once, at samples of their own, against SciPy: speeds, forces, and the work they do."""
    s, command = slowing()
    hold = ct.sampled(lambda t, q, v: np.full(v.shape, command(t)), 2.0)
    for start in ([0.0], [0.0, 4.0, -9.0]):
        if len(start) > 1 and settings.get("integrator") == "radau":
            continue
        v = np.array(start)[:, None] if len(start) > 1 else np.array(start)
        run = ct.simulate(s, 0.0 * v, v, 2.5, control=hold, samples=51, **settings)
        speed, force = oracle(command, start, run.t[:-1])
        told, tau = (x[..., :-1, 0].reshape(len(start), -1) for x in (run.v, run.tau))
        np.testing.assert_allclose(told, speed, atol=2e-5)
        np.testing.assert_allclose(tau, force, atol=2e-5)
        gained = run.kinetic_energy - run.kinetic_energy[..., :1]
        np.testing.assert_allclose(run.work["actuators"], gained, atol=1e-5)
        assert run.audit().ok


def test_slowing_motors_are_heeded_by_events_formulas_and_loops():
    s, _ = slowing()
    hold = ct.sampled(lambda t, q, v: np.array([5.0]), 2.0)
    # v = 10 (1 - exp(-2 t)) passes 6 rad/s at ln(2.5) / 2.
    fast = ct.Event(lambda t, q, v: v[0] - 6.0, "fast", terminal=True)
    run = ct.simulate(s, [0.0], [0.0], 2.5, control=hold, events=[fast])
    assert run.t[-1] == pytest.approx(np.log(2.5) / 2.0, abs=1e-8)
    law = SymbolicControl(lambda t, q, v: [5.0], rate=2.0)
    same = ct.simulate(s, [0.0], [0.0], 2.0, control=law)
    np.testing.assert_allclose(same.v[:, 0], 10.0 * (1.0 - np.exp(-2.0 * same.t)), atol=1e-8)
    m = ct.generators.four_bar()
    m.add_actuator("motor", "A", limits=3.0, no_load_speed=5.0)
    bars = m.system()
    q = bars.assemble({"A": 0.5})
    push = np.zeros(bars.nv)
    push[bars.slice_v("A")] = 10.0
    sampled, always = (
        ct.simulate(bars, q, None, 0.6, control=law, samples=13)
        for law in (ct.sampled(lambda t, q, v: push, 2.0), lambda t, q, v: push)
    )
    np.testing.assert_allclose(sampled.v, always.v, atol=1e-7)
    np.testing.assert_allclose(sampled.tau, always.tau, atol=1e-7)
