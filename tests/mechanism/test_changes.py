"""Changed copies: numbers by name against a mechanism built with them, and what is said about wrong ones."""

import numpy as np
import pytest

import catena as ct
from catena.forces import PointSpring


def arm(mass=1.5, damping=0.2, stiffness=40.0, reach=0.4):
    m = ct.Mechanism("arm")
    m.add_body("upper", mass=2.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_body("fore", mass=mass, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("y"))
    m.add_joint(
        "elbow", "upper", "fore", ct.Revolute("y"), in_parent=ct.Pose(p=(reach, 0, 0)), damping=damping
    )
    m.add_frame("hand", "fore", ct.Pose(p=(0.3, 0, 0)))
    m.add_spring("coil", "elbow", stiffness=stiffness)
    m.add_spring_between("strut", "ground", "hand", stiffness=10.0, rest_length=0.2)
    m.add_force("rope", PointSpring(5.0), between=("upper", "hand"))
    m.set_initial(q={"elbow": 0.3})
    return m


def numbers(m):
    s = m.system()
    q, v = [0.3, -0.5], [0.4, 1.0]
    return np.concatenate([s.forward_dynamics(q, v), s.pose(q, "hand").p])


@pytest.mark.parametrize("change, built", [
    (lambda m: m.with_body("fore", mass=0.7), {"mass": 0.7}),
    (lambda m: m.with_joint("elbow", damping=0.9), {"damping": 0.9}),
    (lambda m: m.with_joint("elbow", in_parent=ct.Pose(p=(0.7, 0, 0))), {"reach": 0.7}),
    (lambda m: m.with_spring("coil", stiffness=3.0), {"stiffness": 3.0}),
])  # fmt: skip
def test_a_changed_copy_is_the_mechanism_built_so(change, built):
    original = arm()
    before = numbers(original)
    changed = change(original)
    np.testing.assert_array_equal(numbers(changed), numbers(arm(**built)))
    np.testing.assert_array_equal(numbers(original), before)
    assert list(changed.joints) == list(original.joints) and list(changed.springs) == list(original.springs)
    assert changed.initial.q["elbow"] == 0.3


def test_forces_and_frames_change_by_name():
    m = arm()
    assert m.with_force("rope", stiffness=7.0).forces["rope"].kind == PointSpring(7.0)
    moved = m.with_frame("hand", ct.Pose(p=(0.5, 0, 0)))
    assert moved.system().pose([0, 0], "hand").p[0] == pytest.approx(0.9)
    assert m.with_spring("strut", rest_length=0.5).springs["strut"].rest_length == 0.5


def test_a_loaded_mechanism_changes_too(tmp_path):
    path = tmp_path / "arm.toml"
    arm().save(path)
    loaded = ct.load(path).with_body("fore", mass=0.7)
    np.testing.assert_allclose(numbers(loaded), numbers(arm(mass=0.7)), rtol=1e-13)


def test_a_locked_joint_stays_locked_and_its_kind_may_change():
    m = arm().lock("shoulder", 0.2).with_joint("shoulder", damping=1.0)
    assert m.joints["shoulder"].locked
    slid = arm().with_joint("shoulder", kind=ct.Cylindrical("y"))
    assert slid.system().nv == 3


@pytest.mark.parametrize("kind", [
    ct.Fixed(), ct.Cylindrical("y"), ct.Universal("y", "x"), ct.Spherical(), ct.Planar("y"), ct.Free(),
], ids=repr)  # fmt: skip
def test_a_joint_of_another_kind_is_that_of_a_mechanism_built_so(kind):
    m = arm()
    m.add_actuator("motor", "elbow", limits=3.0)
    m.add_actuator("other motor", "shoulder")
    m.add_coupling("gear", {"shoulder": 1.0, "elbow": -2.0})
    m.set_initial(q={"shoulder": 0.1, "elbow": 0.3}, v={"elbow": 1.0})
    changed = m.with_joint("elbow", kind=kind)
    # What belonged to the old coordinates is gone, as it is after `detach`, and the joint keeps its place in the order.
    assert list(changed.joints) == list(m.joints) and list(changed.actuators) == ["other motor"]
    assert not changed.couplings and "coil" not in changed.springs and "strut" in changed.springs
    assert list(changed.initial.q) == ["shoulder"] and not changed.initial.v
    assert not changed.joints["elbow"].damping.any()
    built = ct.Mechanism("arm")
    for body in ("upper", "fore"):
        old = m.bodies[body]
        built.add_body(body, mass=old.mass, com=old.com, inertia=old.inertia)
    built.add_joint("shoulder", "ground", "upper", ct.Revolute("y"))
    built.add_joint("elbow", "upper", "fore", kind, in_parent=ct.Pose(p=(0.4, 0, 0)))
    s, t = changed.system(), built.system()
    assert s.joints == t.joints and s.nv == t.nv == 1 + kind.nv
    q = s.neutral()
    v = np.linspace(-0.5, 1.0, s.nv)
    tau = np.linspace(2.0, -1.0, s.nv)
    np.testing.assert_array_equal(
        s.forward_dynamics(q, v, tau, elements=False), t.forward_dynamics(q, v, tau, elements=False)
    )


def test_a_joint_between_frames_is_that_between_their_bodies():
    m = arm()
    m.add_frame("tool", "fore", ct.Pose(p=(0.1, 0.2, 0.3), rpy=(0.3, -0.2, 0.5)))
    m.add_frame("wall", "ground", ct.Pose(p=(0.6, 0.1, 0.1), rpy=(0.1, 0.4, 0.2)))
    off, on = ct.Pose(p=(0.1, 0, 0)), ct.Pose(rpy=(0, 0, 0.3))
    by_attach = m.attach("grip", "wall", "tool", ct.Spherical(), in_parent=off, in_child=on, damping=0.4)
    m.add_joint("grip", "wall", "tool", ct.Spherical(), in_parent=off, in_child=on, damping=0.4)
    grip = m.joints["grip"]
    assert (grip.parent, grip.child) == ("ground", "fore")
    assert grip.in_parent == by_attach.joints["grip"].in_parent == m.frames["wall"].pose * off
    assert grip.in_child == by_attach.joints["grip"].in_child == m.frames["tool"].pose * on
    with pytest.raises(ct.ModelError, match="'hand' and 'tool', both on body 'fore'"):
        m.add_joint("bad", "hand", "tool", ct.Fixed())
    with pytest.raises(
        ct.UnknownNameError, match="joint 'bad': no body or frame is named 'tol': did you mean"
    ):
        m.add_joint("bad", "ground", "tol", ct.Fixed())


def test_couplings_and_actuators_are_taken_away_by_name():
    m = arm()
    m.add_coupling("gear", {"shoulder": 1.0, "elbow": -2.0})
    m.add_actuator("motor", "elbow", limits=3.0)
    assert m.system().diagnose(m.system().assemble()).mobility == 1
    apart = m.without_coupling("gear").without_actuator("motor")
    assert list(m.couplings) == ["gear"] and not apart.couplings and not apart.actuators
    np.testing.assert_array_equal(numbers(apart), numbers(arm()))
    assert not m.without_coupling("*").couplings
    with pytest.raises(ct.UnknownNameError, match="no coupling is named 'gaer': did you mean 'gear'"):
        m.without_coupling("gaer")
    with pytest.raises(ct.UnknownNameError, match="no actuator is named 'x': there are 'motor'"):
        m.without_actuator("x")


@pytest.mark.parametrize("change, words", [
    (lambda m: m.with_body("for", mass=1.0), "did you mean 'fore'"),
    (lambda m: m.with_body("fore", mas=1.0), "body 'fore'.*did you mean 'mass'"),
    (lambda m: m.with_body("fore", mass=-1.0), "body 'fore'.*mass"),
    (lambda m: m.with_body("fore", inertia=(1, 0, 0)), "body 'fore'.*principal moments"),
    (lambda m: m.with_body("ground", mass=1.0), "ground"),
    (lambda m: m.with_joint("elbow", dampin=1.0), "joint 'elbow'.*did you mean 'damping'"),
    (lambda m: m.with_joint("elbow", damping=-1.0), "joint 'elbow'.*damping"),
    (lambda m: m.with_spring("coil", rest_length=1.0), "spring 'coil'"),
    (lambda m: m.with_spring("coi", stiffness=1.0), "did you mean 'coil'"),
    (lambda m: m.with_force("rope", stiffness=-1.0), "force 'rope'.*stiffness"),
    (lambda m: m.with_frame("hand", (1, 0, 0)), "frame 'hand'.*pose"),
])  # fmt: skip
def test_what_is_wrong_is_said(change, words):
    with pytest.raises(ct.CatenaError, match=words):
        change(arm())


def test_a_flexible_body_stays_flexible():
    m = ct.Mechanism("boom")
    beam = ct.Beam(1.0, 1e-4, 1e-9, 7800.0, 2e11, modes=2)
    m.add_body("boom", flexible=beam)
    m.add_joint("pin", "ground", "boom", ct.Revolute("z"))
    seen = m.with_body("boom", visuals=ct.shapes.Box((1.0, 0.1, 0.1)))
    assert seen.bodies["boom"].flexible is beam and seen.system().nv == m.system().nv
    held = m.lock("boom.modes").with_body("boom", visuals=())
    assert held.bodies["boom"].locked_at is not None
    with pytest.raises(ct.ModelError, match="'boom': a flexible body has its own mass"):
        m.with_body("boom", mass=2.0)
    stiff = m.with_body("boom", flexible=None)
    assert stiff.bodies["boom"].flexible is None and stiff.bodies["boom"].mass == m.bodies["boom"].mass
