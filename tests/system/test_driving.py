"""Motors at any joint, and forces, positions and velocities by name: the same motion whatever a plan cuts."""

import numpy as np
import pytest

import catena as ct
from catena.system import tree_forces

P = ct.Pose


def two_arms():
    """Two arms of six motors each that hold a box by fixed grips, and the angles at which the grips fit."""
    m = ct.Mechanism("two arms")
    angles = {}
    rng = np.random.default_rng(3)
    for side, x in (("l", -0.5), ("r", 0.5)):
        before = "ground"
        for k, axis in enumerate(("z", "y", "y", "x", "y", "x")):
            body, joint = f"{side}{k}", f"{side} joint {k}"
            m.add_body(body, 2.0 - 0.2 * k, (0, 0, 0.15), (0.02, 0.025, 0.01))
            at = P(p=(x, 0, 0)) if k == 0 else P(p=(0, 0, 0.3))
            m.add_joint(
                joint, before, body, ct.Revolute(axis), in_parent=at, armature=0.05 if k < 3 else None
            )
            m.add_actuator(f"{side} motor {k}", joint)
            angles[joint] = float(rng.uniform(-0.6, 0.6)) + (0, 0.5, 0.8, 0, 0.5, 0)[k]
            before = body
    m.add_body("box", 3.0, (0, 0, 0), 0.1)
    grip = P(p=(0, 0, 0.1))
    m.add_joint("left grip", "l5", "box", ct.Fixed(), in_parent=grip, in_child=P(p=(-0.2, 0, 0)))
    s = m.system()
    q = np.array([angles[name] for name in s.joints])
    fits = s.pose(q, "box").inverse() * s.pose(q, "r5") * grip
    m.add_joint("right grip", "r5", "box", ct.Fixed(), in_parent=grip, in_child=fits)
    return m, angles


def test_all_twelve_motors_of_two_arms_act_for_every_cut():
    m, angles = two_arms()
    s = m.system()
    assert set(s.joints) == set(angles) and s.loops == ("right grip",)
    rng = np.random.default_rng(5)
    q = np.array([angles[name] for name in s.joints])
    v = s.project(q, rng.normal(size=s.nv))[1]
    rates = {name: float(s.joint_velocity(q, v, name)[0]) for name in angles}
    torques = {name: float(x) for name, x in zip(angles, rng.normal(size=12), strict=True)}
    known = dict(zip(s.joints, s.forward_dynamics(q, v, torques), strict=True))
    wrenches = s.reactions(q, v, torques)
    np.testing.assert_allclose(
        s.forward_dynamics(q, v, list(torques.values())), list(known.values()), rtol=1e-15
    )
    size = max(map(abs, known.values()))
    for cut in (*angles, "left grip", "right grip"):
        other = m.system(cut=[cut])
        at = {name: angles[name] for name in other.joints}, {name: rates[name] for name in other.joints}
        vdot = other.forward_dynamics(*at, torques)
        apart = [abs(x - known[name]) for name, x in zip(other.joints, vdot, strict=True)]
        assert max(apart) < 1e-12 * size, cut
        if cut in ("l joint 2", "r joint 5", "left grip"):
            for name, wrench in other.reactions(*at, torques).items():
                np.testing.assert_allclose(wrench, wrenches[name], atol=1e-11 * size, err_msg=f"{cut} {name}")
            forces = other.inverse_dynamics(*at, vdot, actuated=list(angles))
            assert set(forces) == set(angles)
            np.testing.assert_allclose(other.forward_dynamics(*at, forces), vdot, atol=1e-11 * size)


@pytest.mark.slow
def test_a_run_with_torques_by_name_is_the_same_for_every_cut():
    m, angles = two_arms()
    torques = {name: 2.0 * np.sin(k) for k, name in enumerate(angles)}
    ends = []
    for cut in ([], ["l joint 2"], ["r joint 5"]):
        s = m.system(cut=cut)
        run = ct.simulate(
            s,
            {name: angles[name] for name in s.joints},
            duration=0.2,
            control=lambda t, q, v: torques,
            check=False,
        )
        ends.append(s.body_poses(run.q[-1])["box"])
    np.testing.assert_allclose(ends[1:], ends[:1] * 2, atol=1e-10)


def four_bar():
    m = ct.Mechanism("four-bar")
    for name, length in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5)):
        m.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
    y = ct.Revolute("y")
    m.add_joint("A", "ground", "crank", y)
    m.add_joint("B", "crank", "coupler", y, in_parent=P(p=(0.2, 0, 0)))
    m.add_joint("D", "ground", "rocker", y, in_parent=P(p=(0.5, 0, 0)))
    m.add_joint("C", "coupler", "rocker", y, in_parent=P(p=(0.6, 0, 0)), in_child=P(p=(0.5, 0, 0)))
    return m


def test_planning_cuts_what_nobody_drives_couples_or_gears_and_keeps_what_is_asked_for():
    m = four_bar()
    (cut,) = m.system().loops
    driven = m.copy()
    driven.add_actuator("motor", cut)
    assert cut in driven.system().joints
    geared = m.detach(cut)
    geared.add_joint(cut, *(getattr(m.joints[cut], n) for n in ("parent", "child", "kind", "in_parent", "in_child")),
                     armature=0.1)  # fmt: skip
    assert cut in geared.system().joints
    for name in "ABCD":
        assert name in m.system(keep=[name]).joints
    kept = m.system(keep=["B", "C", "D"])
    assert kept.loops == ("A",) and kept.plan.keep == ("B", "C", "D")
    with pytest.raises(ct.PlanError, match="'.' closes a loop with the other joints to be kept"):
        m.system(keep=["A", "B", "C", "D"])
    with pytest.raises(ct.PlanError, match="'A' cannot carry coordinates, because it is in `cut` too"):
        m.system(keep=["A"], cut=["A"])
    with pytest.raises(
        ct.PlanError, match="'A' cannot carry coordinates, because it has no degree of freedom"
    ):
        m.lock("A").system(keep=["A"])
    with pytest.raises(ct.UnknownNameError, match="'X'"):
        m.system(keep=["X"])


def test_forces_by_name_do_what_arrays_do_and_unknown_names_are_refused():
    m = four_bar()
    s = m.system(cut=["D"])
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 2.0})
    by_name = s.forward_dynamics({"A": 0.4}, {"A": 2.0}, {"B": 1.5, "A": -0.3})
    np.testing.assert_allclose(by_name, s.forward_dynamics(q, v, [-0.3, 1.5, 0.0]), rtol=1e-13)
    other = m.system(cut=["B"])
    same = other.forward_dynamics({"A": 0.4}, {"A": 2.0}, {"D": 0.7})
    there = s.forward_dynamics(q, v, {"D": 0.7})
    assert same[other.slice_v("A")] == pytest.approx(there[s.slice_v("A")], rel=1e-12)
    # The same as a force at the tree that does the same work, for a batch as well.
    tau = tree_forces(s, q, {"D": np.array([[0.7], [1.4]])})
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau)[0], there, rtol=1e-12)
    assert tau @ v == pytest.approx(np.array([0.7, 1.4]) * s.joint_velocity(q, v, "D")[0], rel=1e-12)
    vdot, forces = s.hybrid_dynamics(q, v, {"D": 0.7}, {"A": 1.0})
    np.testing.assert_allclose(s.forward_dynamics(q, v, {"D": 0.7, "A": forces[0]}), vdot, atol=1e-11)
    with pytest.raises(ct.UnknownNameError, match="'elbow'"):
        s.forward_dynamics(q, v, {"elbow": 1.0})
    with pytest.raises(ct.StateError, match="joint 'A' has 1 force component"):
        s.forward_dynamics(q, v, {"A": [1.0, 2.0]})
    with pytest.raises(ct.StateError, match="actuated names joint 'A' twice"):
        s.inverse_dynamics(q, v, vdot, actuated=["A", "A"])
    with pytest.raises(
        ct.UnknownNameError, match=r"'D' closes a loop in this plan .*m.system\(keep=\['D'\]\)"
    ):
        s.slice_q("D")
    with pytest.raises(ct.StateError, match=r"motion: 'D' closes a loop .*keep=\['D'\]"):
        ct.simulate(s, q, v, 0.1, motion={"D": lambda t: (0.0, 0.0, 0.0)}, control=lambda t, q, v: 0.0 * v)
    with pytest.raises(ct.SimulationError, match="The controller gave forces by name at t = 0 s: .*'elbow'"):
        ct.simulate(s, q, v, duration=0.1, control=lambda t, q, v: {"elbow": 1.0})
    with pytest.raises(ct.ModelError, match="'motor' drives component 0 of joint 'A' already"):
        m.add_actuator("motor", "A")
        m.add_actuator("second", "A")


def test_accelerations_of_loop_joints_are_prescribed_with_the_forces_of_their_drives():
    m = four_bar()
    kept, cut = m.system(keep=["D"], cut=["C"]), m.system(cut=["D"])
    at = {"A": 0.4}, {"A": 2.0}
    vdot, forces = kept.hybrid_dynamics(*at, {"B": 0.3}, {"D": 1.7})
    found, drives = cut.hybrid_dynamics(*at, {"B": 0.3}, {"D": 1.7})
    assert found[cut.slice_v("A")] == pytest.approx(vdot[kept.slice_v("A")], rel=1e-11)
    assert drives["D"] == pytest.approx(forces[kept.slice_v("D")], rel=1e-10)
    many, each = cut.hybrid_dynamics(*at, {"B": 0.3}, {"D": np.array([[1.7], [0.0]])})
    np.testing.assert_allclose(many[0], found, rtol=1e-12)
    assert each["D"].shape == (2, 1)
    with pytest.raises(ct.LoopError, match="'A', 'D'|do not let 'D' accelerate"):
        cut.hybrid_dynamics(*at, None, {"A": 1.0, "D": 5.0})


def test_named_joints_give_the_smallest_forces_that_do_it():
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 2.0})
    vdot = s.forward_dynamics(q, v, {"A": 0.5})
    for name in "ABCD":
        force = s.inverse_dynamics(q, v, vdot, actuated=[name])[name]
        np.testing.assert_allclose(s.forward_dynamics(q, v, {name: force}), vdot, atol=1e-10)
    both = s.inverse_dynamics(np.stack([q, q]), v, vdot, actuated=["A", "C"])
    assert both["A"].shape == (2, 1) and abs(both["A"][0, 0]) < 0.5


def test_motors_give_less_the_faster_they_turn():
    m = ct.Mechanism("motor", gravity=(0, 0, 0))
    m.add_body("disc", 1.0, (0, 0, 0), 0.5)
    m.add_joint("axle", "ground", "disc", ct.Revolute("z"))
    m.add_actuator("motor", "axle", gear=10.0, limits=2.0, no_load_speed=30.0)
    s = m.system()
    # 0.5 v' = 20 (1 - v / 3)
    v_end = 3.0 * (1.0 - np.exp(-0.2 * 20.0 / (0.5 * 3.0)))
    for control in (lambda t, q, v: np.array([1e3]), lambda t, q, v: {"axle": 1e3}):
        assert ct.simulate(s, [0.0], [0.0], duration=0.2, control=control).v[-1, 0] == pytest.approx(
            v_end, rel=1e-9
        )
    law = ct.SymbolicControl(lambda t, q, v: [1e3 + 0.0 * q[0]])
    assert ct.simulate(s, [0.0], [0.0], duration=0.2, control=law).v[-1, 0] == pytest.approx(v_end, rel=1e-9)
    # Against the motion it gives all it can.
    assert ct.simulate(s, [0.0], [2.0], duration=0.01, control=lambda t, q, v: -1e3 + 0 * v).v[
        -1, 0
    ] == pytest.approx(1.6)
    with pytest.raises(ct.ModelError, match="no_load_speed but no limits"):
        _other(m)
    with pytest.raises(ct.ModelError, match="give a positive speed"):
        _other(m, limits=1.0, no_load_speed=-1.0)


def _other(m, **options):
    n = m.attach("other", "ground", "disc", ct.Free())
    return n.add_actuator("other", "other", components=[0], **({"no_load_speed": 3.0} | options))
