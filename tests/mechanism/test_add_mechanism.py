"""Mechanisms put together from others, against the same said in a file and built by hand."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar


def leg(name="leg"):
    """Two links with a spring, a motor, a coupling and a wrench in ground's axes, which begin away from zero."""
    m = ct.Mechanism(name, gravity=(0.0, 0.0, -1.0))
    m.add_body("upper", mass=1.0, com=(0.2, 0.0, 0.1), inertia=0.02)
    m.add_body("lower", mass=0.6, com=(0.1, 0.0, 0.0), inertia=0.01)
    m.add_joint("hip", "ground", "upper", ct.Universal("x", "z"), ct.Pose(p=(0.1, 0.0, 0.0)))
    m.add_joint("knee", "upper", "lower", ct.Revolute("y"), ct.Pose(p=(0.4, 0.0, 0.0)), damping=0.1)
    m.add_frame("foot", "lower", ct.Pose(p=(0.3, 0.0, 0.0)))
    m.add_spring_between("tendon", "ground", "foot", stiffness=40.0, rest_length=0.2)
    m.add_actuator("motor", "knee", gear=5.0)
    m.add_wrench("push", "foot", force=(1.0, 2.0, 3.0), axes="ground")
    m.set_initial({"knee": 0.4}, {"knee": 0.1})
    return m


def by_hand():
    """The same two legs as plain parts of one mechanism."""
    m = body_alone()
    for side, y in (("left/", 0.2), ("right/", -0.2)):
        place = ct.Pose(p=(0.0, y, 0.0), rpy=(0.1, 0.0, 0.0)) if side == "left/" else ct.Pose(p=(0.0, y, 0.0))
        m.add_frame(f"{side}base", "trunk", place)
        m.add_body(f"{side}upper", mass=1.0, com=(0.2, 0.0, 0.1), inertia=0.02)
        m.add_body(f"{side}lower", mass=0.6, com=(0.1, 0.0, 0.0), inertia=0.01)
        hip = place * ct.Pose(p=(0.1, 0.0, 0.0))
        m.add_joint(f"{side}hip", "trunk", f"{side}upper", ct.Universal("x", "z"), hip)
        knee = ct.Pose(p=(0.4, 0.0, 0.0))
        m.add_joint(f"{side}knee", f"{side}upper", f"{side}lower", ct.Revolute("y"), knee, damping=0.1)
        m.add_frame(f"{side}foot", f"{side}lower", ct.Pose(p=(0.3, 0.0, 0.0)))
        m.add_spring_between(f"{side}tendon", f"{side}base", f"{side}foot", stiffness=40.0, rest_length=0.2)
        m.add_actuator(f"{side}motor", f"{side}knee", gear=5.0)
        m.add_wrench(f"{side}push", f"{side}foot", force=(1.0, 2.0, 3.0), axes=f"{side}base")
    names = [f"{side}knee" for side in ("left/", "right/")]
    m.set_initial(dict.fromkeys(names, 0.4), dict.fromkeys(names, 0.1))
    return m


def body_alone():
    m = ct.Mechanism("walker")
    m.add_body("trunk", mass=3.0, com=(0.0, 0.0, 0.1), inertia=0.1)
    m.add_joint("base", "ground", "trunk", ct.Free())
    m.add_frame("right hip", "trunk", ct.Pose(p=(0.0, -0.2, 0.0)))
    return m


def put_together():
    m = body_alone()
    m.add_mechanism(leg(), at="trunk", prefix="left/", pose=ct.Pose(p=(0.0, 0.2, 0.0), rpy=(0.1, 0.0, 0.0)))
    m.add_mechanism(leg(), at="right hip", prefix="right/")
    return m


def test_legs_on_a_body_and_on_a_frame_move_as_built_by_hand_and_as_in_a_file(tmp_path, agree):
    leg().save(tmp_path / "leg.toml")
    body_alone().save(tmp_path / "walker.toml")
    with (tmp_path / "walker.toml").open("a") as file:
        file.write(
            '[[include]]\nfile = "leg.toml"\non = "trunk"\nprefix = "left/"\n'
            "at = { p = [0.0, 0.2, 0.0], rpy = [0.1, 0.0, 0.0] }\n"
            '[[include]]\nfile = "leg.toml"\non = "trunk"\nprefix = "right/"\nat = { p = [0.0, -0.2, 0.0] }\n'
        )
    systems = [m.system() for m in (put_together(), by_hand(), ct.load(tmp_path / "walker.toml"))]
    rng = np.random.default_rng(0)
    first = systems[0]
    q, v = first.integrate(first.neutral(), rng.normal(size=first.nv)), rng.normal(size=first.nv)
    answers = []
    for s in systems:  # files add included joints first
        own_q, own_v = s.neutral(), np.zeros(s.nv)
        for joint in s.joints:
            own_q[s.slice_q(joint)], own_v[s.slice_v(joint)] = (
                q[first.slice_q(joint)],
                v[first.slice_v(joint)],
            )
        vdot = s.forward_dynamics(own_q, own_v, {"left/knee": 1.0})
        answers.append(np.concatenate([vdot[s.slice_v(joint)] for joint in first.joints]))
    for other in answers[1:]:
        agree(other, answers[0], 1e-12)
    for s in systems:
        assert s.mechanism.initial.q.keys() == {"left/knee", "right/knee"}
        assert set(s.mechanism.actuators) == {"left/motor", "right/motor"}
    np.testing.assert_array_equal(put_together().gravity, (0.0, 0.0, -9.81))


def test_loops_and_a_mechanism_in_itself():
    m = four_bar()
    before = m.system()
    joints, bodies = len(m.joints), len(m.bodies)
    m.add_mechanism(m, prefix="second/", pose=ct.Pose(p=(0.0, 0.5, 0.0)))
    assert len(m.joints) == 2 * joints and len(m.bodies) == 2 * bodies - 1
    s = m.system()
    assert len(s.loops) == 2 * len(before.loops)
    assert s.diagnose(s.assemble({"A": 0.3, "second/A": 0.5})).mobility == 2


def test_nothing_is_added_where_something_is_refused():
    m = arm7()
    parts, revision = (set(m.bodies), set(m.joints), set(m.frames)), m.revision
    with pytest.raises(ct.ModelError, match="taken"):
        m.add_mechanism(arm7())
    with pytest.raises(ct.CatenaError, match=r"included mechanism 'leg'.*'elbo'"):
        m.add_mechanism(leg(), at="elbo")
    for wrong, message in (
        ({"other": "leg.toml"}, "is no mechanism"),
        ({"other": leg(), "prefix": 3}, "prefix is 3"),
        ({"other": leg(), "pose": (0, 0, 1)}, "give a ct.Pose"),
    ):
        with pytest.raises(ct.ModelError, match=message):
            m.add_mechanism(**wrong)
    assert (set(m.bodies), set(m.joints), set(m.frames)) == parts and m.revision == revision
