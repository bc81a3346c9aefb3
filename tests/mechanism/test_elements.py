"""Actuators, springs, wrenches, elastic stops and the initial state: what is kept, what edits do to it, and what
is refused, message by message."""

import re

import numpy as np
import pytest

from catena.errors import ModelError, StateError, UnknownNameError
from catena.joints import Fixed, Free, Planar, Revolute, Spherical
from catena.mechanism import JointSpringElement, Mechanism, PointSpringElement
from catena.spatial import Pose

NAN, INF = float("nan"), float("inf")


def arm():
    m = Mechanism("arm")
    m.add_body("upper", mass=1.0)
    m.add_body("lower", mass=1.0)
    m.add_body("plate", mass=1.0)
    m.add_joint("shoulder", "ground", "upper", Spherical())
    m.add_joint("elbow", "upper", "lower", Revolute("y"), in_parent=Pose(p=(1, 0, 0)))
    m.add_joint("slab", "ground", "plate", Planar("z"), actuated=False)
    m.add_joint("weld", "lower", "plate", Fixed())
    m.add_frame("hook", "ground", Pose(p=(0, 0, 2)))
    m.add_frame("eye", "lower", Pose(p=(1, 0, 0)))
    return m


def equipped():
    """An arm with everything that can act on it."""
    m = arm()
    m.add_actuator("motor", "elbow", gear=50.0, limits=2.0)
    m.add_spring("return", "elbow", stiffness=3.0, rest=0.5)
    m.add_spring_between("cable", "hook", "eye", stiffness=100.0, rest_length=0.3, damping=1.0)
    m.add_wrench("load", "eye", force=(0, 0, -5))
    m.set_initial(q={"elbow": 0.3}, v={"shoulder": (1, 0, 0), "elbow": 2.0})
    return m


def test_an_actuator_drives_all_components_or_those_it_names():
    m = arm()
    whole = m.add_actuator("hip", "shoulder")
    assert whole.components == (0, 1, 2)
    np.testing.assert_array_equal(whole.gear, [1, 1, 1])
    np.testing.assert_array_equal(whole.limits, [[-INF, INF]] * 3)
    other = arm()
    two = other.add_actuator("swing", "shoulder", components=(2, 0), gear=(10, -5), limits=[(-1, 2), (-3, 4)])
    assert two.components == (2, 0)
    np.testing.assert_array_equal(two.joint_limits, [[-10, 20], [-20, 15]])
    one = other.add_actuator("twist", "shoulder", components=1, limits=(0, 7))
    assert one.components == (1,)
    np.testing.assert_array_equal(one.limits, [[0, 7]])
    assert list(other.actuators) == ["swing", "twist"]


def test_one_number_limits_an_actuator_both_ways():
    np.testing.assert_array_equal(arm().add_actuator("m", "elbow", limits=3.0).limits, [[-3, 3]])


def test_a_joint_spring_is_spread_over_the_coordinates_and_relaxed_at_neutral():
    m = arm()
    spring = m.add_spring("bush", "shoulder", stiffness=5.0, damping=(1, 2, 3))
    assert isinstance(spring, JointSpringElement) and spring.joint == "shoulder"
    np.testing.assert_array_equal(spring.stiffness, [5, 5, 5])
    np.testing.assert_array_equal(spring.damping, [1, 2, 3])
    np.testing.assert_array_equal(spring.rest, [1, 0, 0, 0])
    np.testing.assert_array_equal(m.add_spring("coil", "elbow", 2.0, rest=0.4).rest, [0.4])


def test_a_spring_between_frames_takes_bodies_too():
    m = arm()
    spring = m.add_spring_between("cable", "ground", "eye", stiffness=100.0, rest_length=0.3)
    assert isinstance(spring, PointSpringElement) and spring.frames == ("ground", "eye")
    assert (spring.stiffness, spring.rest_length, spring.damping) == (100.0, 0.3, 0.0)
    m.add_spring("coil", "elbow", 2.0)
    assert list(m.springs) == ["cable", "coil"]


def test_a_wrench_has_ground_axes_unless_told():
    m = arm()
    dead = m.add_wrench("load", "eye", force=(0, 0, -5))
    assert (dead.frame, dead.axes) == ("eye", "ground")
    np.testing.assert_array_equal(dead.moment, [0, 0, 0])
    np.testing.assert_array_equal(dead.force, [0, 0, -5])
    assert m.add_wrench("thrust", "lower", moment=(1, 2, 3), axes="lower").axes == "lower"


def test_stops_are_rigid_unless_they_have_a_stiffness():
    m = arm()
    rigid = m.add_joint("a", "upper", "plate", Revolute(), limits=(-1, 1))
    assert rigid.limit_stiffness is None and rigid.limit_damping is None
    soft = m.add_joint(
        "b", "upper", "plate", Planar(), limits=[(-1, 1)] * 3, limit_stiffness=9.0, limit_damping=(1, 2, 3)
    )
    np.testing.assert_array_equal(soft.limit_stiffness, [9, 9, 9])
    np.testing.assert_array_equal(soft.limit_damping, [1, 2, 3])


def test_the_initial_state_is_kept_in_the_order_of_the_joints_and_replaced_as_a_whole():
    m = arm()
    assert not m.initial.q and not m.initial.v
    m.set_initial(q={"elbow": 0.3, "shoulder": (1, 0, 0, 0)}, v={"elbow": [2.0]})
    assert list(m.initial.q) == ["shoulder", "elbow"]
    np.testing.assert_array_equal(m.initial.q["elbow"], [0.3])
    np.testing.assert_array_equal(m.initial.v["elbow"], [2.0])
    m.set_initial(v={"elbow": 1.0})
    assert not m.initial.q and list(m.initial.v) == ["elbow"]


def test_the_initial_state_assembles_a_system():
    m = arm().detach("weld").detach("slab").attach("float", "ground", "plate", Free())
    m.set_initial(q={"elbow": 0.3}, v={"elbow": 2.0})
    s = m.system()
    q = s.assemble(m.initial.q)
    v = s.velocity(q, m.initial.v)
    np.testing.assert_array_equal(q[s.slice_q("elbow")], [0.3])
    np.testing.assert_allclose(v[s.slice_v("elbow")], [2.0])


def test_every_edit_counts_and_a_refused_one_does_not():
    m = arm()
    seen = [m.revision]
    for edit in (
        lambda: m.add_actuator("motor", "elbow"),
        lambda: m.add_spring("coil", "elbow", 1.0),
        lambda: m.add_spring_between("cable", "hook", "eye", 1.0),
        lambda: m.add_wrench("load", "eye"),
        lambda: m.set_initial(q={"elbow": 0.1}),
    ):
        edit()
        seen.append(m.revision)
    assert seen == sorted(set(seen))
    for refused in (
        lambda: m.add_actuator("motor", "elbow"),
        lambda: m.add_spring("coil", "elbow", 1.0),
        lambda: m.add_wrench("load", "eye"),
        lambda: m.set_initial(q={"elbow": NAN}),
    ):
        with pytest.raises(ModelError):
            refused()
    assert m.revision == seen[-1]
    np.testing.assert_array_equal(m.initial.q["elbow"], [0.1])


def test_descriptions_and_mappings_are_read_only():
    m = equipped()
    for mapping in (m.actuators, m.springs, m.wrenches, m.initial.q, m.initial.v):
        with pytest.raises(TypeError):
            mapping["x"] = None
    spring, wrench = m.springs["return"], m.wrenches["load"]
    for array in (
        m.actuators["motor"].gear, m.actuators["motor"].limits, spring.stiffness, spring.rest, spring.damping,
        wrench.force, wrench.moment, m.initial.q["elbow"], m.initial.v["elbow"],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def contents(m):
    return list(m.actuators), list(m.springs), list(m.wrenches), list(m.initial.q), list(m.initial.v)


def test_copies_keep_everything_and_are_independent():
    m = equipped()
    for same in (m.copy(), m.attach("more", "upper", "plate", Revolute()), m.lock("slab"), m.detach("slab")):
        assert contents(same) == contents(m)
        assert same.actuators["motor"] is m.actuators["motor"]
    twin = m.copy()
    twin.add_wrench("other", "eye")
    twin.set_initial()
    assert contents(m) == (["motor"], ["return", "cable"], ["load"], ["elbow"], ["shoulder", "elbow"])


def test_a_detached_joint_takes_its_elements_along():
    assert contents(equipped().detach("elbow")) == ([], ["cable"], ["load"], [], ["shoulder"])


def test_a_locked_joint_keeps_its_elements_and_has_no_initial_state():
    m = equipped()
    locked = m.lock("elbow", at=0.7)
    assert contents(locked) == (["motor"], ["return", "cable"], ["load"], [], ["shoulder"])
    assert contents(m)[3:] == (["elbow"], ["shoulder", "elbow"])


REFUSED = [
    ("add_actuator", ("", "elbow"), {}, ModelError, "an actuator needs a name"),
    (
        "add_actuator",
        ("motor", "elbow"),
        {},
        ModelError,
        "actuator 'motor': the name is taken by another actuator",
    ),
    (
        "add_actuator",
        ("a", "elbw"),
        {},
        UnknownNameError,
        "actuator 'a': no joint is named 'elbw': did you mean 'elbow'",
    ),
    ("add_actuator", ("a", "weld"), {}, ModelError, "actuator 'a': joint 'weld' has no degree of freedom"),
    ("add_actuator", ("a", "slab"), {}, ModelError, "actuator 'a': joint 'slab' is not actuated"),
    (
        "add_actuator",
        ("a", "elbow"),
        {},
        ModelError,
        "actuator 'motor' drives component 0 of joint 'elbow' already",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"components": (0, 3)},
        ModelError,
        "components are (0, 3): joint 'shoulder' has 3, give different numbers from 0 to 2",
    ),
    ("add_actuator", ("a", "shoulder"), {"components": (1, 1)}, ModelError, "components are (1, 1)"),
    ("add_actuator", ("a", "shoulder"), {"components": ()}, ModelError, "components are ()"),
    ("add_actuator", ("a", "shoulder"), {"components": "x"}, ModelError, "components are 'x'"),
    ("add_actuator", ("a", "shoulder"), {"components": 1.5}, ModelError, "components are 1.5"),
    ("add_actuator", ("a", "shoulder"), {"components": (True,)}, ModelError, "components are (True,)"),
    ("add_actuator", ("a", "shoulder"), {"gear": 0}, ModelError, "actuator 'a': gear is 0: a gear of zero"),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"gear": (1, 2)},
        ModelError,
        "gear has shape (2,): give one number, or 3",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"limits": (1, 2)},
        ModelError,
        "limits are (1, 2): an actuator must be able",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"limits": -1.0},
        ModelError,
        "limits are -1.0: an actuator must be able",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"limits": NAN},
        ModelError,
        "limits are nan: an actuator must be able",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"limits": "high"},
        ModelError,
        "limits are 'high', which are not numbers",
    ),
    (
        "add_actuator",
        ("a", "shoulder"),
        {"limits": (1, 2, 3)},
        ModelError,
        "limits have shape (3,): give one effort",
    ),
    (
        "add_spring",
        ("return", "elbow", 1.0),
        {},
        ModelError,
        "spring 'return': the name is taken by another spring",
    ),
    (
        "add_spring",
        ("cable", "elbow", 1.0),
        {},
        ModelError,
        "spring 'cable': the name is taken by another spring",
    ),
    ("add_spring", ("s", "elbw", 1.0), {}, UnknownNameError, "spring 's': no joint is named 'elbw'"),
    ("add_spring", ("s", "weld", 1.0), {}, ModelError, "spring 's': joint 'weld' has no degree of freedom"),
    (
        "add_spring",
        ("s", "elbow", -1.0),
        {},
        ModelError,
        "stiffness is -1.0: give zero or more, a spring opposes",
    ),
    ("add_spring", ("s", "elbow", 1.0), {"damping": -1.0}, ModelError, "damping is -1.0: give zero or more"),
    ("add_spring", ("s", "elbow"), {}, ModelError, "stiffness and damping are both zero, so it does nothing"),
    ("add_spring", ("s", "elbow", 1.0), {"rest": (1, 2)}, ModelError, "rest has shape (2,): give 1 number"),
    ("add_spring", ("s", "shoulder", 1.0), {"rest": (1, 1, 0, 0)}, StateError, "quaternion"),
    (
        "add_spring_between",
        ("s", "hok", "eye", 1.0),
        {},
        UnknownNameError,
        "spring 's': no body or frame is named 'hok': did you mean 'hook'",
    ),
    ("add_spring_between", ("s", "eye", "lower", 1.0), {}, ModelError, "both ends move with body 'lower'"),
    (
        "add_spring_between",
        ("s", "eye", "hook", (1, 2)),
        {},
        ModelError,
        "stiffness has shape (2,): give one number",
    ),
    (
        "add_spring_between",
        ("s", "eye", "hook", 1.0, -0.1),
        {},
        ModelError,
        "rest_length is -0.1: give zero or more",
    ),
    ("add_spring_between", ("s", "eye", "hook"), {}, ModelError, "stiffness and damping are both zero"),
    ("add_wrench", ("load", "eye"), {}, ModelError, "wrench 'load': the name is taken by another wrench"),
    ("add_wrench", ("w", "eya"), {}, UnknownNameError, "wrench 'w': no body or frame is named 'eya'"),
    ("add_wrench", ("w", "hook"), {}, ModelError, "wrench 'w': frame 'hook' is part of ground"),
    ("add_wrench", ("w", "eye"), {"force": 3}, ModelError, "wrench 'w': force has shape (): give 3 numbers"),
    (
        "add_wrench",
        ("w", "eye"),
        {"moment": (0, NAN, 0)},
        ModelError,
        "moment is (0, nan, 0), which holds NaN",
    ),
    ("add_wrench", ("w", "eye"), {"axes": "world"}, UnknownNameError, "no body or frame is named 'world'"),
    (
        "set_initial",
        (),
        {"q": {"elbw": 1}},
        UnknownNameError,
        "initial q: no joint is named 'elbw': did you mean",
    ),
    ("set_initial", (), {"q": 3}, ModelError, "mechanism 'arm': the initial q is 3: give a mapping"),
    ("set_initial", (), {"q": {"elbow": (1, 2)}}, ModelError, "joint 'elbow': the initial q has shape (2,)"),
    ("set_initial", (), {"q": {"elbow": NAN}}, ModelError, "joint 'elbow': the initial q is nan"),
    ("set_initial", (), {"q": {"shoulder": (2, 0, 0, 0)}}, StateError, "quaternion"),
    (
        "set_initial",
        (),
        {"v": {"shoulder": (1, 0, 0, 0)}},
        ModelError,
        "the initial v has shape (4,): give 3",
    ),
    ("set_initial", (), {"q": {"weld": ()}}, ModelError, "joint 'weld': it has an initial q but no degree"),
    ("set_initial", (), {"v": {"plug": 1}}, ModelError, "joint 'plug': it has an initial v but is locked"),
    (
        "add_joint",
        ("j", "upper", "plate", Revolute()),
        {"limit_stiffness": 1.0},
        ModelError,
        "joint 'j': limit_stiffness needs limits",
    ),
    (
        "add_joint",
        ("j", "upper", "plate", Revolute()),
        {"limits": (0, 1), "limit_damping": 1.0},
        ModelError,
        "joint 'j': limit_damping needs a limit_stiffness",
    ),
    (
        "add_joint",
        ("j", "upper", "plate", Revolute()),
        {"limits": (0, 1), "limit_stiffness": 0.0},
        ModelError,
        "joint 'j': limit_stiffness is 0.0: give more than zero",
    ),
]


@pytest.mark.parametrize(("method", "arguments", "options", "error", "message"), REFUSED)
def test_what_no_mechanism_can_have_is_refused_with_its_reason(method, arguments, options, error, message):
    m = equipped().attach("plug", "upper", "plate", Revolute()).lock("plug")
    before = contents(m)
    with pytest.raises(error, match=re.escape(message)):
        getattr(m, method)(*arguments, **options)
    assert contents(m) == before


def test_free_base_forgets_the_stops_of_the_fixed_joint():
    m = Mechanism("bolted")
    m.add_body("bus", mass=1.0)
    m.add_joint("bolts", "ground", "bus", Fixed())
    freed = m.free_base().joints["bolts"]
    assert freed.limits is None and freed.limit_stiffness is None and freed.limit_damping is None
