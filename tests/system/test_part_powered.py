"""Joints of which motors drive some components: forces on the others are nobody's. Inverse dynamics against forward
dynamics under forces of the motors alone, controllers, runs, files, and the same said in other ways."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import four_bar, random_mechanism

KINDS = ["Universal", "Spherical", "Planar", "Cylindrical", ct.Sdof("ry", "rz", "dx")]


def powered_in_part(seed, how):
    """A random tree whose joints lack a motor on some of their components, said by `how`: "actuated" or "actuators"."""
    random = np.random.default_rng(seed)
    m = random_mechanism(seed, 4, KINDS)
    for name, joint in list(m.joints.items()):
        powered = random.random(joint.kind.nv) < 0.6
        powered[:2] = random.permutation([True, False])
        if how == "actuated":
            m = m.with_joint(name, actuated=powered.tolist())
        else:
            m.add_actuator(f"{name} motor", name, components=np.flatnonzero(powered).tolist())
    return m


@pytest.mark.parametrize("seed", range(6))
def test_motors_alone_move_it_and_inverse_dynamics_finds_what_they_gave(seed, agree):
    one, other = (powered_in_part(seed, how).system() for how in ("actuated", "actuators"))
    assert (one.plan.actuated == other.plan.actuated).all() and not one.plan.actuated.all()
    q, v, tau, wish = random_states(one, 4, seed)
    tau = tau * one.plan.actuated
    vdot = one.forward_dynamics(q, v, tau)
    size = np.abs(one.bias_force(q, v)).max()
    for s in (one, other):
        found = s.inverse_dynamics(q, v, vdot)
        assert not found[:, ~s.plan.actuated].any()
        agree(found, tau, 1e-9, size)
        agree(s.inverse_dynamics(q[1], v[1], vdot[1]), tau[1], 1e-9, size)
        named = s.inverse_dynamics(q, v, vdot, actuated=list(s.joints))
        agree(np.concatenate([named[j] for j in s.joints], axis=-1), tau, 1e-9, size)
        with pytest.raises(ct.LoopError, match=r"cannot produce this motion.*\[\d\]'.* have no actuator"):
            s.inverse_dynamics(q, v, wish)


def test_a_joint_without_any_motor_is_told_what_it_would_take(agree):
    """As the floating base of a robot is, beside joints that are powered in part."""
    m = powered_in_part(3, "actuated")
    m = m.with_joint("joint1", actuated=False)
    s = m.system()
    q, v, tau, _ = random_states(s, 3)
    tau[:, s.plan.partly_driven] = 0.0
    found = s.inverse_dynamics(q, v, s.forward_dynamics(q, v, tau))
    agree(found, tau, 1e-9, np.abs(s.bias_force(q, v)).max())
    assert "joint1" in s.plan.idle


def boom(**options):
    m = ct.Mechanism("boom", gravity=(0, 0, -9.81))
    m.add_body("b", 2.0, (0.5, 0, 0), 0.1)
    m.add_joint("shoulder", "ground", "b", ct.Sdof("ry", "dx"), **options)
    return m


def test_controllers_give_nothing_where_there_is_no_motor():
    m = boom()
    m.add_actuator("ram", "shoulder", components=[1], limits=100.0)
    s = m.system()
    q, rest = np.array([0.3, 0.2]), np.zeros(2)
    with pytest.raises(ct.LoopError, match=r"'shoulder\[0\]'\] have no actuator"):
        ct.GravityCompensation(s)(0.0, q, rest)
    part = ct.GravityCompensation(s, partial=True)(0.0, q, rest)
    assert part[0] == 0.0 and part[1] == pytest.approx(s.bias_force(q, rest)[1])
    hanging = np.array([np.pi / 2, 0.2])
    np.testing.assert_allclose(ct.GravityCompensation(s)(0.0, hanging, rest), [0.0, -2.0 * 9.81], atol=1e-12)
    goal = ct.JointPath(s, {"shoulder": np.array([0.5, 0.4])})
    for controller in (ct.ComputedTorque(s, goal, kp=9.0), ct.PID(s, goal, kp=5.0, kd=1.0)):
        given = controller(0.0, q, rest)
        assert given[0] == 0.0 and given[1] != 0.0
    run = ct.simulate(s, q, rest, 0.2, control=ct.PID(s, goal, kp=5.0, kd=1.0))
    assert not run.tau[:, 0].any() and run.tau[:, 1].any()


def test_runs_refuse_forces_where_there_is_no_motor():
    s = boom(actuated=(False, True)).system()
    with pytest.raises(ct.SimulationError, match="component 0 of joint 'shoulder'.*not actuated"):
        ct.simulate(s, [0.3, 0.2], [0.0, 0.0], 0.1, control=lambda t, q, v: [1.0, 2.0])
    m = ct.Mechanism("loop")
    for name in ("left", "right", "bar"):
        m.add_body(name, 1.0, (0.2, 0, 0), 0.1)
    for k, name in enumerate(("left", "right")):
        m.add_joint(f"foot {name}", "ground", name, ct.Revolute("y"), ct.Pose(p=(k, 0, 0)))
    m.add_joint("a", "left", "bar", ct.Revolute("y"), ct.Pose(p=(0, 0, 1.0)))
    ball = ct.Universal("y", "z")
    m.add_joint(
        "b", "right", "bar", ball, ct.Pose(p=(0, 0, 1.0)), ct.Pose(p=(1.0, 0, 0)), actuated=(True, False)
    )
    s = m.system(cut=["b"])
    q = s.assemble({"foot left": 0.2})
    ct.simulate(s, q, np.zeros(s.nv), 0.01, control=lambda t, q, v: {"b": [1.0, 0.0]})
    with pytest.raises(ct.SimulationError, match="'b'.*not actuated"):
        ct.simulate(s, q, np.zeros(s.nv), 0.01, control=lambda t, q, v: {"b": [0.0, 1.0]})
    vdot = s.forward_dynamics(q, np.zeros(s.nv), {"b": [1.0, 0.0]})
    found = s.inverse_dynamics(q, np.zeros(s.nv), vdot, actuated=["b"])["b"]
    np.testing.assert_allclose(found, [1.0, 0.0], atol=1e-8)


def test_it_is_kept_in_files_and_changed_copies(tmp_path):
    m = boom(actuated=(False, True))
    m.add_actuator("ram", "shoulder", limits=5.0)
    assert m.actuators["ram"].components == (1,)
    m.save(tmp_path / "boom.toml")
    for again in (
        ct.load(tmp_path / "boom.toml"),
        m.with_joint("shoulder", damping=1.0),
        m.lock("shoulder", [0, 0]),
    ):
        assert again.joints["shoulder"].powered.tolist() == [False, True]
        assert again.joints["shoulder"].actuated
    bad = (tmp_path / "boom.toml").read_text().replace("[false, true]", '[false, "yes"]')
    (tmp_path / "bad.toml").write_text(bad)
    with pytest.raises(ct.FormatError, match="actuated holds.*true or false"):
        ct.load(tmp_path / "bad.toml")


@pytest.mark.parametrize("given, words", [
    ((True,), "actuated has 1 entries.*each of its 2"), ("yes", "True or False"), (None, "True or False"),
    ((1.0, 0.0), "True or False"),
])  # fmt: skip
def test_bad_switches_are_refused_in_words(given, words):
    with pytest.raises(ct.ModelError, match=words):
        boom(actuated=given)
    with pytest.raises(ct.ModelError, match="component 0 of joint 'shoulder' is not actuated"):
        boom(actuated=(False, True)).add_actuator("x", "shoulder", components=0)
    m = boom()
    m.add_actuator("ram", "shoulder", components=1)
    with pytest.raises(ct.ModelError, match="'ram' drives its components"):
        m.with_joint("shoulder", actuated=(True, False))


@pytest.mark.parametrize("kind", [*KINDS, "Free", "Revolute"], ids=str)
def test_none_for_a_joint_is_as_if_it_were_not_named(kind):
    s = random_mechanism(1, 3, [kind]).system()
    rng = np.random.default_rng(0)
    q, v = random_states(s, 1).q[0], rng.normal(size=s.nv)
    none = dict.fromkeys(s.joints)
    assert (s.assemble(none) == s.assemble({})).all()
    assert (s.velocity(q, none) == s.velocity(q, {})).all()
    free = s.forward_dynamics(q, v)
    np.testing.assert_allclose(s.forward_dynamics(q, v, none), free, atol=1e-12 * np.abs(free).max())
    np.testing.assert_allclose(s.hybrid_dynamics(q, v, None, none)[0], free, atol=1e-9 * np.abs(free).max())
    vdot = s.forward_dynamics(q, v, v)
    found = s.inverse_dynamics(q, v, vdot, actuated=list(s.joints))
    np.testing.assert_allclose(np.concatenate([found[j] for j in s.joints]), v, atol=1e-8)


def test_none_beside_loops():
    s = four_bar().system()
    q = s.assemble({"A": 0.3, "B": None})
    np.testing.assert_allclose(q, s.assemble({"A": 0.3}), atol=1e-14)
    np.testing.assert_allclose(s.velocity(q, {"A": 1.0, "D": None}), s.velocity(q, {"A": 1.0}), atol=1e-14)
