"""The builder: what it keeps, how it counts edits, and what it refuses, message by message."""

import inspect
import re

import numpy as np
import pytest

from catena.errors import CatenaError, ModelError, PlanError, UnknownNameError
from catena.joints import Fixed, Free, Planar, Revolute, Spherical
from catena.mechanism import Mechanism, generators
from catena.spatial import Pose


def two_links():
    m = Mechanism("two links")
    m.add_body("upper", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_body("lower", mass=2.0)
    m.add_joint("shoulder", "ground", "upper", Revolute("y"))
    m.add_joint("elbow", "upper", "lower", Revolute("y"), in_parent=Pose(p=(1, 0, 0)))
    return m


def test_parts_are_kept_in_order_with_their_numbers():
    m = two_links()
    m.add_frame("tool", "lower", Pose(p=(0, 0, 1)))
    assert list(m.bodies) == ["ground", "upper", "lower"]
    assert list(m.joints) == ["shoulder", "elbow"]
    assert list(m.frames) == ["tool"]
    upper = m.bodies["upper"]
    assert upper.mass == 1.0
    np.testing.assert_array_equal(upper.com, [0.5, 0, 0])
    np.testing.assert_array_equal(upper.inertia, np.diag([0.01, 0.1, 0.1]))
    elbow = m.joints["elbow"]
    assert (elbow.parent, elbow.child, elbow.actuated, elbow.locked_at) == ("upper", "lower", True, None)
    assert elbow.in_parent == Pose(p=(1, 0, 0)) and elbow.in_child == Pose()
    assert m.frames["tool"].body == "lower"


def test_a_matrix_and_a_single_number_are_inertias_too():
    m = Mechanism("inertias")
    full = np.array([[2.0, 0.1, 0.0], [0.1, 2.0, 0.2], [0.0, 0.2, 3.0]])
    m.add_body("a", mass=1.0, inertia=full)
    m.add_body("b", mass=1.0, inertia=0.4)
    np.testing.assert_array_equal(m.bodies["a"].inertia, full)
    np.testing.assert_array_equal(m.bodies["b"].inertia, 0.4 * np.eye(3))


def test_the_inertia_of_a_thin_rod_and_of_a_flat_plate_are_accepted():
    m = Mechanism("limits of the triangle inequality")
    m.add_body("rod", mass=1.0, inertia=(0.0, 1 / 12, 1 / 12))
    turn = Pose(rpy=(0.3, -0.8, 1.2)).R
    m.add_body("plate", mass=1.0, inertia=turn @ np.diag([0.1, 0.2, 0.3]) @ turn.T)
    assert set(m.bodies) == {"ground", "rod", "plate"}


def test_damping_is_spread_over_the_velocity_coordinates():
    m = two_links()
    m.add_body("ball", mass=1.0)
    joint = m.add_joint("socket", "lower", "ball", Spherical(), damping=0.2, friction=(1, 2, 3))
    np.testing.assert_array_equal(joint.damping, [0.2, 0.2, 0.2])
    np.testing.assert_array_equal(joint.friction, [1, 2, 3])
    assert joint.limits is None
    joint = m.add_joint("slide", "lower", "upper", Revolute("x"), limits=(-1.0, np.inf))
    np.testing.assert_array_equal(joint.limits, [[-1.0, np.inf]])


def test_parts_and_mappings_are_read_only():
    m = two_links()
    with pytest.raises(TypeError):
        m.bodies["other"] = m.bodies["upper"]
    with pytest.raises(ValueError, match="read-only"):
        m.bodies["upper"].com[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.joints["elbow"].damping[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.gravity[2] = 0.0


def test_what_the_caller_passed_is_copied():
    com = np.array([0.1, 0.2, 0.3])
    m = Mechanism("copy")
    m.add_body("a", mass=1.0, com=com)
    com[0] = 99.0
    assert m.bodies["a"].com[0] == 0.1


def test_every_edit_counts_and_a_refused_one_does_not():
    m = Mechanism("count")
    seen = [m.revision]
    m.add_body("a", mass=1.0)
    seen.append(m.revision)
    m.add_joint("j", "ground", "a", Free())
    seen.append(m.revision)
    m.add_frame("f", "a")
    seen.append(m.revision)
    m.gravity = (0, 0, 0)
    seen.append(m.revision)
    assert seen == sorted(set(seen))
    with pytest.raises(ModelError):
        m.add_body("a")
    assert m.revision == seen[-1]
    assert m.lock("j").revision > m.revision


def test_a_copy_is_independent():
    m = two_links()
    twin = m.copy()
    twin.add_body("more", mass=1.0)
    assert "more" not in m.bodies and "more" in twin.bodies
    assert twin.revision == m.revision + 1


def test_lock_and_unlock_return_new_mechanisms_and_keep_the_order():
    m = two_links()
    locked = m.lock("shoulder", at=0.4)
    assert m.joints["shoulder"].locked_at is None
    assert locked.joints["shoulder"].locked_at == pytest.approx([0.4])
    assert locked.joints["shoulder"].dof == 0 and m.joints["shoulder"].dof == 1
    assert list(locked.joints) == ["shoulder", "elbow"]
    assert locked.lock("shoulder", at=[0.5]).joints["shoulder"].locked_at == pytest.approx([0.5])
    assert locked.unlock("shoulder").joints["shoulder"].locked_at is None
    np.testing.assert_array_equal(m.lock("shoulder").joints["shoulder"].locked_at, [0.0])


def test_attach_and_detach_return_new_mechanisms():
    m = two_links()
    closed = m.attach("grip", "lower", "ground", Revolute("z"), in_child=Pose(p=(2, 0, 0)), damping=0.1)
    assert list(closed.joints) == ["shoulder", "elbow", "grip"] and "grip" not in m.joints
    assert closed.joints["grip"].in_child == Pose(p=(2, 0, 0))
    assert list(closed.detach("elbow").joints) == ["shoulder", "grip"]


def test_fix_base_locks_the_free_joint_and_free_base_undoes_it():
    m = Mechanism("flyer")
    m.add_body("bus", mass=1.0, inertia=1.0)
    m.add_joint("base", "ground", "bus", Free(), actuated=False)
    held = m.fix_base(at=(1, 2, 3, 1, 0, 0, 0))
    np.testing.assert_array_equal(held.joints["base"].locked_at, [1, 2, 3, 1, 0, 0, 0])
    assert held.free_base().joints["base"].locked_at is None


def test_free_base_replaces_the_fixed_joint_to_ground():
    m = Mechanism("bolted")
    m.add_body("bus", mass=1.0, inertia=1.0)
    m.add_joint("bolts", "ground", "bus", Fixed(), in_parent=Pose(p=(0, 0, 2)))
    freed = m.free_base().joints["bolts"]
    assert (
        isinstance(freed.kind, Free) and freed.in_parent == Pose(p=(0, 0, 2)) and freed.damping.shape == (6,)
    )


NAN = float("nan")

BAD_BODIES = [
    ({"name": ""}, "a body needs a name, found ''"),
    ({"name": 3}, "a body needs a name, found 3"),
    ({"name": "ground"}, "body 'ground': every mechanism has its ground already"),
    ({"name": "upper"}, "body 'upper': the name is taken by a body: choose a different name"),
    ({"name": "tool"}, "body 'tool': the name is taken by a frame: choose a different name"),
    ({"mass": -1.0}, "body 'b': mass is -1.0: a mass cannot be negative"),
    ({"mass": NAN}, "body 'b': mass is nan: give a finite number of kilograms"),
    ({"mass": "heavy"}, "body 'b': mass is 'heavy', which is not a number"),
    ({"mass": 1, "com": (0, 0)}, "body 'b': com has shape (2,): give 3 numbers"),
    ({"mass": 1, "com": (0, NAN, 0)}, "body 'b': com is (0, nan, 0), which holds NaN or infinity"),
    ({"mass": 1, "com": "xyz"}, "body 'b': com is 'xyz', which are not numbers"),
    ({"mass": 1, "inertia": (1, 2)}, "body 'b': inertia has shape (2,): give 3 moments about the body axes"),
    ({"mass": 1, "inertia": (1, 1, np.inf)}, "body 'b': inertia is (1, 1, inf), which holds NaN or infinity"),
    ({"mass": 1, "inertia": (-1, 1, 1)}, "body 'b': inertia has the negative principal moment -1"),
    (
        {"mass": 1, "inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]},
        "body 'b': inertia is not symmetric (entries differ by 0.5 across the diagonal)",
    ),
    (
        {"mass": 1, "inertia": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]},
        "body 'b': inertia has the negative principal moment -1",
    ),
    (
        {"mass": 1, "inertia": (0.1, 0.1, 0.3)},
        "body 'b': the principal moments 0.1, 0.1, 0.3 break the triangle inequality",
    ),
    ({"mass": 0, "inertia": (1, 1, 1)}, "body 'b': mass is zero but inertia is not: give the body a mass"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_BODIES)
def test_a_bad_body_is_refused_with_its_reason(arguments, message):
    m = two_links()
    m.add_frame("tool", "lower")
    with pytest.raises(ModelError, match=re.escape(message)):
        m.add_body(**{"name": "b", **arguments})
    assert "b" not in m.bodies


BAD_JOINTS = [
    ({"name": ""}, ModelError, "a joint needs a name, found ''"),
    ({"name": "elbow"}, ModelError, "joint 'elbow': the name is taken by another joint"),
    (
        {"name": "root:x"},
        ModelError,
        "joint 'root:x': names starting with 'root:' are kept for pinned roots",
    ),
    ({"parent": "uper"}, UnknownNameError, "joint 'j': no body is named 'uper': did you mean 'upper'"),
    (
        {"child": "zzz"},
        UnknownNameError,
        "joint 'j': no body is named 'zzz': there are 'ground', 'upper', 'lower'",
    ),
    ({"child": "upper"}, ModelError, "joint 'j': parent and child are both 'upper'"),
    ({"kind": Spherical}, ModelError, "which is not a joint kind: give an instance such as Spherical(...)"),
    ({"kind": "revolute"}, ModelError, "joint 'j': kind is 'revolute', which is not a joint kind"),
    ({"in_parent": (1, 0, 0)}, ModelError, "joint 'j': in_parent is (1, 0, 0), which is not a pose"),
    ({"in_child": None}, ModelError, "joint 'j': in_child is None, which is not a pose"),
    ({"damping": -0.1}, ModelError, "joint 'j': damping is -0.1: give zero or more"),
    ({"damping": (1, 2)}, ModelError, "joint 'j': damping has shape (2,): give one number, or 1"),
    ({"friction": NAN}, ModelError, "joint 'j': friction is nan, which holds NaN or infinity"),
    ({"limits": (1, 0)}, ModelError, "joint 'j': limits [[1.0, 0.0]] have low above high"),
    ({"limits": (0, NAN)}, ModelError, "joint 'j': limits hold NaN"),
    ({"limits": (0, 1, 2)}, ModelError, "joint 'j': limits have shape (3,): give (low, high) for each of 1"),
    ({"limits": ("a", "b")}, ModelError, "joint 'j': limits are ('a', 'b'), which are not numbers"),
    (
        {"kind": Planar("z"), "limits": (0, 1)},
        ModelError,
        "limits have shape (2,): give (low, high) for each of 3",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_JOINTS)
def test_a_bad_joint_is_refused_with_its_reason(arguments, error, message):
    m = two_links()
    default = {"name": "j", "parent": "upper", "child": "lower", "kind": Revolute("z")}
    with pytest.raises(error, match=re.escape(message)):
        m.add_joint(**{**default, **arguments})
    assert list(m.joints) == ["shoulder", "elbow"]


def test_bad_frames_are_refused():
    m = two_links()
    with pytest.raises(ModelError, match="frame 'upper': the name is taken by a body"):
        m.add_frame("upper", "lower")
    with pytest.raises(UnknownNameError, match="frame 'f': no body is named 'lowr': did you mean 'lower'"):
        m.add_frame("f", "lowr")
    with pytest.raises(ModelError, match="frame 'f': pose is .* which is not a pose"):
        m.add_frame("f", "lower", (0, 0, 1))


def test_bad_mechanisms_are_refused():
    with pytest.raises(ModelError, match="a mechanism needs a name"):
        Mechanism("")
    with pytest.raises(ModelError, match="mechanism 'm': gravity has shape"):
        Mechanism("m", gravity=9.81)
    with pytest.raises(ModelError, match="mechanism 'm': gravity is .* NaN"):
        Mechanism("m").gravity = (0, 0, NAN)


def test_bad_structure_changes_are_refused():
    m = two_links()
    with pytest.raises(UnknownNameError, match="no joint is named 'elbw': did you mean 'elbow'"):
        m.lock("elbw")
    with pytest.raises(
        ModelError, match=r"joint 'elbow': the locked position has shape \(2,\): give 1 number"
    ):
        m.lock("elbow", at=(0, 1))
    with pytest.raises(ModelError, match="joint 'elbow': the locked position is nan"):
        m.lock("elbow", at=NAN)
    with pytest.raises(ModelError, match="joint 'elbow': it is not locked"):
        m.unlock("elbow")
    with pytest.raises(UnknownNameError, match="no joint is named 'grip'"):
        m.detach("grip")
    with pytest.raises(
        ModelError, match="mechanism 'two links': fix_base needs one moving Free joint .* found none"
    ):
        m.fix_base()
    with pytest.raises(ModelError, match="mechanism 'two links': free_base needs .* found none"):
        m.free_base()
    with pytest.raises(ModelError, match="joint 'weld': a joint without degrees of freedom cannot be locked"):
        m.attach("weld", "lower", "ground", Fixed()).lock("weld")


def test_locking_at_a_quaternion_that_is_not_a_rotation_is_refused():
    m = two_links().attach("float", "ground", "lower", Free())
    with pytest.raises(CatenaError, match="quaternion"):
        m.lock("float", at=(0, 0, 0, 2, 0, 0, 0))


def test_a_huge_inertia_matrix_is_judged_like_a_small_one():
    """Squares of its entries overflow, but its principal moments are what they are."""
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
    Mechanism("heavy").add_body("stone", 1e300, inertia=1e308 / 3.0 * matrix)
    with pytest.raises(ModelError, match="break the triangle inequality"):
        Mechanism("heavy").add_body("stone", 1e300, inertia=1e307 * np.diag([1.0, 1.0, 9.0]) + 1e300)


def test_masses_too_large_for_float64_are_refused_by_name_when_planned():
    m = Mechanism("heavy")
    m.add_body("stone", 1e200, com=(1e100, 0, 0), inertia=1.0)
    m.add_joint("hinge", "ground", "stone", Revolute("z"))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(PlanError, match="body 'stone': mass, mass centre or poses are too large for float64"),
    ):
        m.system()


def test_the_first_word_of_a_method_tells_whether_it_changes_a_mechanism_in_place():
    """What begins with add, set or replace does, and returns what is new; all others that give a mechanism copy it."""
    words = {}
    for name, method in inspect.getmembers(Mechanism, inspect.isfunction):
        if not name.startswith("_"):
            words.setdefault(name.split("_")[0], set()).add(inspect.signature(method).return_annotation)
    in_place = {"add", "set", "replace"}
    assert in_place <= words.keys()
    assert all("Mechanism" not in words[word] for word in in_place)
    copies = {word for word, gives in words.items() if "Mechanism" in gives}
    assert copies >= {
        "with",
        "without",
        "lock",
        "unlock",
        "attach",
        "detach",
        "reroot",
        "reduce",
        "fix",
        "free",
        "changed",
        "copy",
    }

    m = generators.four_bar()
    before = m.revision
    for copy in (
        m.copy(),
        m.lock("A"),
        m.with_body("crank", mass=2.0),
        m.without_forces(),
        m.with_joint("A", damping=0.1),
    ):
        assert copy is not m and m.revision == before
    m.add_frame("new", "crank")
    assert m.revision != before
