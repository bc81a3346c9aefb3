"""Forces of any kind in a mechanism: what is kept, what edits do to it, and what is refused."""

import re

import numpy as np
import pytest

from catena.errors import ModelError, UnknownNameError
from catena.forces import Bushing, Cable, ConstantWrench, JointSpring, PointSpring, Table, TabledJointSpring
from catena.joints import Fixed, Revolute, Spherical
from catena.mechanism import Mechanism
from catena.spatial import Pose


def arm():
    m = Mechanism("arm")
    for name in ("upper", "lower"):
        m.add_body(name, mass=1.0, inertia=1.0)
    m.add_joint("shoulder", "ground", "upper", Spherical())
    m.add_joint("elbow", "upper", "lower", Revolute("y"), in_parent=Pose(p=(1, 0, 0)))
    m.add_joint("weld", "upper", "lower", Fixed())
    m.add_frame("hook", "ground", Pose(p=(0, 0, 2)))
    m.add_frame("eye", "lower", Pose(p=(1, 0, 0)))
    return m


def equipped():
    m = arm()
    m.add_spring("coil", "elbow", 3.0, 0.5, 0.2)
    m.add_spring("damper", "shoulder", damping=(1, 2, 3))
    m.add_spring_between("rope", "hook", "eye", 100.0, 0.3, 1.0)
    m.add_wrench("load", "eye", (1, 2, 3), (0, 0, -5), axes="upper")
    m.add_force("cable", Cable(10.0), between=("hook", "eye"))
    m.add_force("bend", TabledJointSpring(Table((0, 1), (0, 1))), joint="elbow")
    m.add_bushing("bush", "upper", "eye", np.diag([1.0, 2, 3, 4, 5, 6]), (1, 1, 1, 2, 2, 2))
    return m


def test_every_force_has_a_kind_and_a_place():
    m = equipped()
    assert list(m.force_elements) == ["coil", "damper", "rope", "load", "cable", "bend", "bush"]
    kinds = {name: element.kind for name, element in m.force_elements.items()}
    assert kinds["coil"] == JointSpring((3.0,), (0.2,), (0.5,))
    assert kinds["damper"] == JointSpring((), (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0))
    assert kinds["rope"] == PointSpring(100.0, 0.3, 1.0)
    assert kinds["load"] == ConstantWrench((1.0, 2.0, 3.0), (0.0, 0.0, -5.0))
    assert isinstance(kinds["bush"], Bushing) and len(kinds["bush"].stiffness) == 36
    places = {name: element.at_joint or element.frames for name, element in m.force_elements.items()}
    assert places == {
        "coil": "elbow", "damper": "shoulder", "rope": ("hook", "eye"), "load": ("upper", "eye"),
        "cable": ("hook", "eye"), "bend": "elbow", "bush": ("upper", "eye"),
    }  # fmt: skip
    assert list(m.forces) == ["cable", "bend", "bush"]
    with pytest.raises(TypeError):
        m.forces["x"] = None


def test_edits_keep_forces_and_a_detached_joint_takes_its_own_along():
    m = equipped()
    for same in (m.copy(), m.lock("elbow"), m.attach("more", "upper", "lower", Revolute()), m.detach("weld")):
        assert list(same.forces) == list(m.forces)
        assert same.forces["cable"] is m.forces["cable"]
    assert list(m.detach("elbow").forces) == ["cable", "bush"]
    assert list(m.forces) == ["cable", "bend", "bush"]
    before = m.revision
    twin = m.copy()
    twin.add_force("other", Cable(1.0), between=("ground", "upper"))
    assert twin.revision > before == m.revision and "other" not in m.forces


REFUSED = [
    (("", Cable(1.0)), {}, ModelError, "a force needs a name"),
    (("coil", Cable(1.0)), {}, ModelError, "force 'coil': the name is taken by another spring"),
    (("load", Cable(1.0)), {}, ModelError, "force 'load': the name is taken by another wrench"),
    (("bush", Cable(1.0)), {}, ModelError, "force 'bush': the name is taken by another force"),
    (("a.limits", Cable(1.0)), {}, ModelError, "names ending in '.limits' are kept for stops of joints"),
    (("f", "spring"), {}, ModelError, "force 'f': kind is 'spring', which is no kind of force"),
    (("f", Cable), {}, ModelError, "which is no kind of force"),
    (("f", Cable(1.0)), {}, ModelError, "force 'f': a Cable acts between two frames"),
    (("f", Cable(1.0)), {"joint": "elbow"}, ModelError, "a Cable acts between two frames"),
    (("f", Cable(1.0)), {"between": "eye"}, ModelError, "a Cable acts between two frames"),
    (("f", Cable(1.0)), {"between": ("eye",)}, ModelError, "a Cable acts between two frames"),
    (
        ("f", Cable(1.0)),
        {"between": ("eye", "eya")},
        UnknownNameError,
        "force 'f': no body or frame is named 'eya'",
    ),
    (("f", Cable(1.0)), {"between": ("eye", "lower")}, ModelError, "both ends move with body 'lower'"),
    (("f", ConstantWrench()), {"between": ("eye", "hook")}, ModelError, "frame 'hook' is part of ground"),
    (("f", JointSpring((1.0,))), {}, ModelError, "force 'f': a JointSpring acts at a joint"),
    (("f", JointSpring((1.0,))), {"between": ("eye", "hook")}, ModelError, "a JointSpring acts at a joint"),
    (("f", JointSpring((1.0,))), {"joint": "elbw"}, UnknownNameError, "force 'f': no joint is named 'elbw'"),
    (("f", JointSpring((1.0,))), {"joint": "weld"}, ModelError, "joint 'weld' has no degree of freedom"),
    (
        ("f", JointSpring((1.0,))),
        {"joint": "shoulder"},
        ModelError,
        "force 'f': stiffness has 1 numbers: give 3",
    ),
]


@pytest.mark.parametrize(("arguments", "options", "error", "message"), REFUSED)
def test_what_no_mechanism_can_have_is_refused_with_its_reason(arguments, options, error, message):
    m = equipped()
    with pytest.raises(error, match=re.escape(message)):
        m.add_force(*arguments, **options)
    assert list(m.forces) == ["cable", "bend", "bush"]


def test_a_bushing_that_is_none_is_refused_by_name():
    with pytest.raises(ModelError, match="force 'b': Bushing: stiffness has shape"):
        arm().add_bushing("b", "hook", "eye", (1, 2, 3))


def test_wrenches_may_have_the_axes_of_their_own_body():
    m = arm()
    m.add_force("thrust", ConstantWrench(force=(0.0, 0.0, 1.0)), between=("eye", "eye"))
    assert m.forces["thrust"].frames == ("eye", "eye")
