"""Saving and loading: the same mechanism to the last digit, for every generator, every kind and every element."""

import re
import sys
import tomllib
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import catena as ct
from catena.formats.kinds import Kinds
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.formats.toml.forces import BUILT_IN as FORCES
from catena.formats.toml.kinds import BUILT_IN
from catena.joints import KINDS, Flipped
from catena.mechanism import generators as g

GENERATORS = {
    "andrews": g.andrews,
    "driven_andrews": g.driven_andrews,
    "delta": g.delta,
    "arm6": g.arm6,
    "arm7": g.arm7,
    "arms_on_object": partial(g.arms_on_object, 3),
    "bricard": g.bricard,
    "chain": partial(g.chain, 5),
    "four_bar": g.four_bar,
    "four_link_chain": g.four_link_chain,
    "free_flyer": g.free_flyer,
    "hand": g.hand,
    "hslm": g.hslm,
    "humanoid": g.humanoid,
    "n_four_bars": partial(g.n_four_bars, 3),
    "nested_loops": partial(g.nested_loops, 2),
    "scissor_lift": partial(g.scissor_lift, 2),
    "spatial_four_bar": g.spatial_four_bar,
    "stanford_arm": g.stanford_arm,
    "stewart": g.stewart,
    "tree": partial(g.tree, 7),
    "two_links_and_load": g.two_links_and_load,
    "walker": g.walker,
}


def saved_and_loaded(m, folder):
    m.save(folder / "m.toml")
    return ct.load(folder / "m.toml")


def test_no_generator_is_left_out():
    assert set(GENERATORS) == set(g.__all__) - {"add_arm", "random_kind", "random_mechanism"}


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_survives(name, same, tmp_path):
    m = GENERATORS[name]()
    again = saved_and_loaded(m, tmp_path)
    same(again, m)
    assert write(again, "") == (tmp_path / "m.toml").read_text()


@pytest.mark.parametrize("seed", range(20))
def test_random_mechanisms_over_all_kinds_survive(seed, same, tmp_path):
    m = g.random_mechanism(seed, bodies=12, loops=seed % 4, floating=bool(seed % 2), friction=True)
    m.gravity = np.random.default_rng(seed).normal(size=3) * 1e-7
    m = with_elements(m, seed)
    same(saved_and_loaded(m, tmp_path), m)


def with_elements(m, seed):
    """The mechanism with random elements, some joints locked, an initial state and elastic stops."""
    random = np.random.default_rng(seed)
    moving = [j for j in m.joints.values() if j.kind.nv]
    for joint in moving:
        nv = joint.kind.nv
        if random.random() < 0.5:
            chosen = random.permutation(nv)[: random.integers(1, nv + 1)]
            gear, limits = random.normal(size=len(chosen)), random.uniform(0, 9, (len(chosen), 2)) * (-1, 1)
            m.add_actuator(f"a {joint.name}", joint.name, chosen, gear, limits)
        if random.random() < 0.5:
            rest = joint.kind.integrate(joint.kind.neutral(), random.normal(size=nv))
            m.add_spring(
                f"s {joint.name}", joint.name, random.uniform(0, 9, nv), rest, random.uniform(0, 1, nv)
            )
    m.add_spring_between("cable", "ground", "body2", *random.uniform(0, 9, 3))
    m.add_wrench("load", "tool3", random.normal(size=3), random.normal(size=3), axes="tool1")
    name = moving[0].name
    kind = moving[0].kind
    m = m.lock(name, kind.integrate(kind.neutral(), random.normal(size=kind.nv)))
    stops = {"limits": np.sort(random.normal(size=(3, 2))), "limit_stiffness": random.uniform(1, 9, 3)}
    m.add_joint("stopped", "body3", "ground", ct.Planar(), limit_damping=random.uniform(0, 1, 3), **stops)
    others = [j for j in moving if j.name != name]
    m.set_initial(
        q={j.name: j.kind.integrate(j.kind.neutral(), random.normal(size=j.kind.nv)) for j in others[::2]},
        v={j.name: random.normal(size=j.kind.nv) for j in others},
    )
    return m


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_built_in_kind_survives(kind, same, tmp_path):
    m = ct.Mechanism("one joint")
    m.add_body("b", mass=1.0, inertia=1.0)
    m.add_joint("j", "ground", "b", kind)
    same(saved_and_loaded(m, tmp_path), m)
    assert ":" not in tomllib.loads((tmp_path / "m.toml").read_text())["joint"][0]["kind"]


def test_every_built_in_class_has_a_word():
    assert {made for made, _ in BUILT_IN.values()} == {type(kind) for kind in KINDS}
    assert all(word == made.__name__.lower() for word, (made, _) in BUILT_IN.items())


@pytest.mark.parametrize("limits", [None, 3.0, (-1.0, 2.0), (0.0, np.inf), (-np.inf, np.inf)])
@pytest.mark.parametrize("gear", [1.0, -20.0])
def test_every_way_to_limit_an_actuator_survives(limits, gear, same, tmp_path):
    m = g.chain(2)
    m.add_actuator("motor", "joint1", gear=gear, limits=limits)
    same(saved_and_loaded(m, tmp_path), m)


def test_names_that_need_quotes_survive(same, tmp_path):
    m = ct.Mechanism('a "name" with \\ and\ttab')
    for name in ("b.c", "größe", "x\ny", "#1", "emoji 🦿", "\x7f\x00", "'", "]]"):
        m.add_body(name, mass=1.0)
        m.add_joint(f"j {name}", "ground", name, ct.Revolute())
    m.set_initial(q=dict.fromkeys(m.joints, 0.5))
    same(saved_and_loaded(m, tmp_path), m)


def test_extreme_numbers_survive(same, tmp_path):
    m = ct.Mechanism("extremes", gravity=(5e-324, -1.7976931348623157e308, 0.1 + 0.2))
    m.add_body("b", mass=1e-300, com=(1e22, 1 / 3, -0.0))
    m.add_joint("j", "ground", "b", ct.Revolute((1e-9, 1, 0)), limits=(-np.inf, 1e16))
    same(saved_and_loaded(m, tmp_path), m)


def orientations():
    rng = np.random.default_rng(1)
    quats = rng.normal(size=(200, 4))
    yield from (ct.Pose(quat=q / np.linalg.norm(q)) for q in quats)
    yield from (ct.Pose(rpy=rng.uniform(-3, 3, 3)) for _ in range(200))
    yield from (ct.Pose(rpy=rng.uniform(-3, 3) * np.eye(3)[k % 3]) for k in range(200))
    yield from (
        ct.Pose(rpy=(0.3, -0.2, 1.1)) * ct.Pose(rpy=rng.uniform(-3, 3, 3)).inverse() for _ in range(200)
    )
    yield from (ct.Pose(rpy=np.array(a) * np.pi / 2) for a in np.ndindex(4, 4, 4))


def test_every_orientation_survives_to_the_last_digit(same, tmp_path):
    m = ct.Mechanism("frames")
    for k, pose in enumerate(orientations()):
        m.add_frame(f"f{k}", "ground", pose)
    same(saved_and_loaded(m, tmp_path), m)


def test_angles_that_people_give_are_written_as_angles():
    m = ct.Mechanism("frames")
    given = [(0.3, 0, 0), (0, -1.2, 0), (0, 0, np.pi / 2), (0, 0, np.pi), (-np.pi / 2, 0, 0), (0.1, 0.2, 0.3)]
    for k, rpy in enumerate(given):
        m.add_frame(f"f{k}", "ground", ct.Pose(rpy=rpy))
    frames = tomllib.loads(write(m, ""))["frame"]
    for frame, rpy in zip(frames, given, strict=True):
        np.testing.assert_allclose(frame["pose"]["rpy"], rpy, rtol=0, atol=1e-15)


def test_a_matrix_that_is_too_long_for_a_line_is_broken_into_rows():
    m = ct.Mechanism("frames")
    turn = ct.Pose(rpy=(0.3, -0.2, 1.1)) * ct.Pose(rpy=(1.7, 0.4, -0.8))
    m.add_frame("f", "ground", ct.Pose(p=(1, 2, 3), R=turn.R))
    text = write(m, "")
    if "R = [" in text:
        assert max(map(len, text.splitlines())) <= 110
    assert read(text, Source("")).frames["f"].pose == m.frames["f"].pose


@pytest.mark.parametrize("name", ["arm6", "humanoid", "stewart", "four_bar"])
def test_a_loaded_mechanism_moves_as_the_saved_one(name, tmp_path):
    m = GENERATORS[name]()
    a, b = m.system(), saved_and_loaded(m, tmp_path).system()
    random = np.random.default_rng(0)
    q = a.integrate(a.neutral(), random.normal(size=a.nv), 0.1)
    v, tau = random.normal(size=(2, a.nv))
    assert (b.joints, b.loops) == (a.joints, a.loops)
    np.testing.assert_array_equal(b.mass_matrix(q), a.mass_matrix(q))
    np.testing.assert_array_equal(b.bias_force(q, v), a.bias_force(q, v))
    if not a.loops:
        np.testing.assert_array_equal(b.forward_dynamics(q, v, tau), a.forward_dynamics(q, v, tau))


RAILS = """
from dataclasses import dataclass, field
from typing import ClassVar
import numpy as np
from catena.joints import JointKind
from catena.spatial import Transform, array


@dataclass(frozen=True)
class Rail(JointKind):
    curvature: float
    knots: tuple = ()
    label: str = ""
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def transform(self, q):
        return Transform(np.eye(3), array([q[0], 0.0, 0.5 * self.curvature * q[0] * q[0]]))

    class Bent(JointKind):
        nq = 1
        nv = 1

        def transform(self, q):
            return Transform.translation(array([q[0], 0.0, 0.0]))


class Opaque(JointKind):
    nq = 1
    nv = 1
    def __init__(self, slope):
        self.slope = slope
    def transform(self, q):
        return Transform.translation(array([q[0], 0.0, self.slope * q[0]]))


@dataclass(frozen=True)
class Odd(Rail):
    table: object = None


@dataclass(frozen=True)
class Changing(Rail):
    def __post_init__(self):
        object.__setattr__(self, "curvature", self.curvature + 1.0)


class Unfinished(JointKind):
    pass


number = 3
"""


@pytest.fixture
def rails(tmp_path, monkeypatch):
    (tmp_path / "rails_of_a_user.py").write_text(RAILS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import rails_of_a_user

    yield rails_of_a_user
    sys.modules.pop("rails_of_a_user", None)


def with_kind(kind):
    m = ct.Mechanism("rail")
    m.add_body("car", mass=1.0, inertia=1.0)
    m.add_joint("track", "ground", "car", kind)
    return m


def test_a_users_kind_survives_by_module_and_class(rails, same, tmp_path):
    m = with_kind(rails.Rail(0.25, knots=(1, (2.5, 3)), label="left"))
    m.save(tmp_path / "m.toml")
    again = ct.load(tmp_path / "m.toml", kinds=[rails.Rail])
    same(again, m)
    same(ct.load(tmp_path / "m.toml", kinds=["rails_of_a_user:Rail"]), m)
    assert hash(again.joints["track"].kind) == hash(m.joints["track"].kind)
    joint = tomllib.loads((tmp_path / "m.toml").read_text())["joint"][0]
    assert joint["kind"] == "rails_of_a_user:Rail"
    assert joint["arguments"] == {"curvature": 0.25, "knots": [1, [2.5, 3]], "label": "left"}


def test_a_users_kind_without_arguments_may_be_nested(rails):
    text = '[mechanism]\nname = "m"\n[[body]]\nname = "b"\n[[joint]]\nname = "j"\nparent = "ground"\nchild = "b"\n'
    source = Source("m.toml", kinds=Kinds([rails.Rail.Bent]))
    kind = read(text + 'kind = "rails_of_a_user:Rail.Bent"\n', source).joints["j"].kind
    assert type(kind) is rails.Rail.Bent


def test_kinds_that_no_file_can_hold_are_refused_and_nothing_is_written(rails, tmp_path, monkeypatch):
    class Local(rails.Rail):
        pass

    refused = [
        (Local(1.0), "kind 'Local' cannot be imported by others: define it in a module of its own"),
        (
            rails.Opaque(1.0),
            "kind 'rails_of_a_user:Opaque' does not tell its arguments: make it a frozen dataclass",
        ),
        (rails.Odd(1.0, table={}), "kind 'rails_of_a_user:Odd' has the argument {}: a file holds numbers"),
        (rails.Changing(1.0), "kind 'rails_of_a_user:Changing' cannot be made again from its fields"),
        (Flipped(rails.Rail(1.0)), "kind 'catena.joints.flipped:Flipped' has the argument Rail"),
    ]
    for kind, message in refused:
        with pytest.raises(ct.FormatError) as caught:
            with_kind(kind).save(tmp_path / "m.toml")
        assert str(caught.value).startswith(f"{tmp_path / 'm.toml'}: joint 'track': {message}")
    kind = rails.Rail(1.0)
    monkeypatch.setattr(rails, "Rail", rails.Odd)
    with pytest.raises(ct.FormatError, match="names another class than the joint has"):
        with_kind(kind).save(tmp_path / "m.toml")
    assert not (tmp_path / "m.toml").exists()


BAD_REFERENCES = [
    ("no_such_module:Rail", "kind 'no_such_module:Rail': module 'no_such_module' cannot be imported"),
    ("rails_of_a_user:Rial", "module 'rails_of_a_user' has no class 'Rial'"),
    ("rails_of_a_user:number", "kind 'rails_of_a_user:number' is no kind of joint"),
    ("rails_of_a_user:Unfinished", "kind 'rails_of_a_user:Unfinished' does not define nq, nv, transform"),
    ("rails_of_a_user:Rail", "kind 'rails_of_a_user:Rail' does not accept its arguments"),
    ("rails_of_a_user:Rail()", "kind 'rails_of_a_user:Rail()' is not a name: give 'module:Class'"),
    ("os:system('x')", "is not a name"),
    ("../rails:Rail", "is not a name"),
    (":Rail", "is not a name"),
    ("os:path.join", "kind 'os:path.join' is no kind of joint"),
]


@pytest.mark.parametrize(("reference", "message"), BAD_REFERENCES)
def test_anything_but_an_importable_kind_is_refused_on_its_line(reference, message, rails):
    text = '[mechanism]\nname = "m"\n[[body]]\nname = "b"\n[[joint]]\nname = "j"\nparent = "ground"\nchild = "b"\n'
    with pytest.raises(ct.FormatError) as caught:
        source = Source(
            "m.toml", kinds=Kinds([reference] if re.fullmatch(r"[\w.]+:[\w.]+", reference) else [])
        )
        read(text + f'kind = "{reference}"\n', source)
    assert str(caught.value).startswith("m.toml:9: joint 'j': ") and message in str(caught.value)


def test_forces_of_every_kind_survive(same, tmp_path):
    m = g.four_bar()
    body, joint = list(m.bodies)[1], next(iter(m.joints))
    for k, kind in enumerate(kind for kind in ct.forces.KINDS if not kind.inputs):
        if isinstance(kind, ct.FrameForce):
            m.add_force(f"force {k}", kind, between=("ground", body))
        else:
            # Those for joints of more freedoms do not fit, and another of their class does.
            with suppress(ct.ModelError):
                m.add_force(f"force {k}", kind, joint=joint)
    m.add_force("stop", ct.forces.JointStop((-0.1,), (np.inf,), (9.0,), (0.5,)), joint=joint)
    assert {type(force.kind) for force in m.forces.values()} == set(FORCES.values())
    same(saved_and_loaded(m, tmp_path), m)


def test_a_force_of_ones_own_survives_by_its_name(same, tmp_path, monkeypatch):
    (tmp_path / "pulls.py").write_text(
        "from dataclasses import dataclass\n"
        "import catena as ct\n"
        "from catena.forces.line import LineOfAction\n"
        "@dataclass(frozen=True)\n"
        "class Pull(ct.FrameForce):\n"
        "    tension: float\n"
        "    source = 'wrenches'\n"
        "    def load(self, at):\n"
        "        return LineOfAction.between(at).pull(self.tension)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import pulls

    m = g.four_bar()
    m.add_force("pull", pulls.Pull(3.5), between=("ground", list(m.bodies)[1]))
    text = write(m, "")
    assert 'kind = "pulls:Pull"' in text and "arguments = { tension = 3.5 }" in text
    m.save(tmp_path / "m.toml")
    again = ct.load(tmp_path / "m.toml", kinds=pulls.Pull)
    same(again, m)
    s = again.system()
    q = s.assemble()
    out = s.forces.outputs(q, np.zeros(s.nv))["pull"]
    assert set(out) == {"power"} and out["power"] == 0.0


FORCE_FAULTS = [
    ('kind = "cabel"', "no kind of force is named 'cabel': did you mean 'cable'"),
    ('kind = "cable"\nstiffnes = 3', "unknown key 'stiffnes': did you mean 'stiffness'"),
    ('kind = "cable"\nstiffness = "x"', "stiffness is 'x', a string: give numbers"),
    ('kind = "cable"\nstiffness = 0', "Cable: stiffness is zero, so it holds nothing"),
    ('kind = "cable"', "kind 'cable' does not accept its arguments"),
    ('kind = "tabled_point_spring"\nspring = 3', "spring is 3, a number: give a table"),
    ('kind = "tabled_point_spring"\nspring = { x = [0, 1] }', "the key 'y' is missing"),
    (
        'kind = "tabled_point_spring"\nspring = { x = [1, 0], y = [0, 1] }',
        "give two or more points with x increasing",
    ),
    ('kind = "joint_spring"\nstiffness = 3', "a JointSpring acts at a joint"),
    ('kind = "catena.joints:Revolute"', "is no kind of force: name a subclass of catena.ForceKind"),
    ("", "the key 'kind' is missing"),
]


@pytest.mark.parametrize(("lines", "message"), FORCE_FAULTS, ids=[m[:30] for _, m in FORCE_FAULTS])
def test_faults_of_forces_are_told_with_their_line(lines, message):
    body = list(g.four_bar().bodies)[1]
    text = write(g.four_bar(), "") + f'\n[[force]]\nname = "f"\nbetween = ["ground", "{body}"]\n{lines}\n'
    with pytest.raises(ct.FormatError, match=re.escape(message)) as caught:
        read(text, Source("m.toml", kinds=Kinds(["catena.joints:Revolute"])))
    assert re.match(r"m\.toml(:\d+)+: force 'f'", str(caught.value))
