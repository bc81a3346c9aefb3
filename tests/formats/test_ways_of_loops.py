"""Loops written in every way that is read: what comes back moves as the mechanism that was saved."""

import warnings

import numpy as np
import pytest

import catena as ct
from catena import generators as g

WAYS = ("beside", "elements", "constraints", "drake", "frames", "companion")


def again(m, path, way):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        m.save(path, loops=way)
        return ct.load(path)


def same_motion(m, n):
    """Bodies of the same name have the same poses and accelerations in a closed state of the first."""
    a, b = m.system(), n.system()
    random = np.random.default_rng(3)
    q = a.assemble(m.initial.q)
    v = a.project(q, random.normal(size=a.nv), held=[])[1]
    given, speeds = {}, {}
    for name in a.joints:
        if name.startswith("loop") and m.joints[name].kind.nv == 3:
            # Drake's element ties two points, and knows no axes at them.
            continue
        at, rate = a.joint_position(q, name), v[a.slice_v(name)]
        if name in n.joints and n.joints[name].parent == m.joints[name].parent:
            given[name], speeds[name] = at, rate
        for k in range(len(rate)):
            if f"{name} {k + 1}" in n.joints and m.joints[name].kind.nq == m.joints[name].kind.nv:
                given[f"{name} {k + 1}"], speeds[f"{name} {k + 1}"] = at[k], rate[k]
    p = b.assemble(given, slack=1e-6)
    w = b.velocity(p, speeds)
    da, db = a.forward_dynamics(q, v), b.forward_dynamics(p, w)
    size = max(1.0, np.abs(da).max())
    for name in m.bodies:
        if name != "ground":
            assert a.pose(q, name).allclose(b.pose(p, name), atol=1e-7), name
            np.testing.assert_allclose(b.twist(p, w, name), a.twist(q, v, name), atol=1e-5, err_msg=name)
            theirs = b.acceleration(p, w, db, name)
            np.testing.assert_allclose(theirs, a.acceleration(q, v, da, name), atol=1e-4 * size, err_msg=name)


def with_loops(seed):
    """A random tree of hinges whose ends are closed by joints of all kinds, where they are."""
    random = np.random.default_rng(seed)
    m = ct.Mechanism(f"random {seed}")
    names = ["ground"]
    kinds = [
        ct.Revolute("y"),
        ct.Revolute((0.3, 1, 0.2)),
        ct.Universal("x", "z"),
        ct.Spherical(),
        ct.Prismatic("x"),
    ]
    for k in range(7):
        name = f"b{k}"
        m.add_body(
            name, mass=random.uniform(0.5, 2), com=random.normal(size=3) * 0.1, inertia=(0.02, 0.03, 0.025)
        )
        place = ct.Pose(p=random.normal(size=3) * 0.4, rpy=random.normal(size=3) * 0.3)
        on_child = ct.Pose(p=random.normal(size=3) * 0.1) if k % 2 else ct.Pose()
        kind = kinds[random.integers(len(kinds))]
        m.add_joint(
            f"j{k}", names[random.integers(len(names))], name, kind, place, on_child,
            damping=0.1 * (k % 2) * (kind.nv < 3), actuated=bool(k % 3),
        )  # fmt: skip
        names.append(name)
    s = m.system()
    closing = [ct.Spherical(), ct.Universal("y", "z"), ct.Cylindrical("z"), ct.Fixed(), ct.Revolute("x")]
    made = 0
    for kind in random.permutation(closing):
        first, second = random.choice(names, 2, replace=False)
        on_first = ct.Pose(p=random.normal(size=3) * 0.2, rpy=random.normal(size=3) * 0.3)
        there = s.pose(s.neutral(), first) * on_first
        on_second = s.pose(s.neutral(), second).inverse() * there
        trial = m.copy()
        trial.add_joint(f"loop {made}", first, second, kind, on_first, on_second, actuated=False)
        # A structure that cannot move has nothing to compare.
        if trial.system().diagnose(trial.system().neutral()).mobility > 1:
            m, made = trial, made + 1
    return m


@pytest.mark.parametrize("way", WAYS)
def test_loops_written_in_any_way_close_and_move_as_before(way, tmp_path):
    if way == "companion":
        pytest.importorskip("yaml")
    for number, m in enumerate([g.four_bar(), g.stewart(), with_loops(1), with_loops(2)]):
        n = again(m, tmp_path / f"m{number}.urdf", way)
        same_motion(m, n)
        assert len(m.system().loops) == 0 or n.system().loops
        assert (tmp_path / f"m{number}.yaml").exists() == (way == "companion")


def test_a_companion_reads_back_with_kinds_motors_and_names(tmp_path):
    pytest.importorskip("yaml")
    m = ct.Mechanism("m")
    for name in "abcd":
        m.add_body(name, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "a", ct.Revolute("y"))
    m.add_joint("B", "a", "b", ct.Revolute("y"), ct.Pose(p=(1, 0, 0)), actuated=False)
    m.add_joint("S", "a", "d", ct.Spherical(), ct.Pose(p=(1, 0, 0)))
    m.add_joint("C", "ground", "c", ct.Universal("x", "z"), ct.Pose(p=(0, 1, 0)), actuated=False)
    m.add_joint(
        "b eye on c eye", "b", "c", ct.Spherical(), ct.Pose(p=(0, 1, 0)), ct.Pose(p=(1, 0, 0)), actuated=False
    )
    m.add_joint("D", "ground", "b", ct.Cylindrical("y"), ct.Pose(p=(1, 0, 0)), damping=0.2)
    m.add_frame("tool", "c")
    with pytest.warns(ct.CatenaWarning, match="no place for the frames 'tool'"):
        m.save(tmp_path / "robot.urdf", loops="companion")
    text = (tmp_path / "robot.yaml").read_text()
    assert '["b eye", "c eye"]' in text and '"UJOINT_XZ"' in text and '"SPHERICAL"' in text
    n = ct.load(tmp_path / "robot.urdf")
    for name in ("A", "B", "C", "S", "b eye on c eye"):
        assert type(n.joints[name].kind) is type(m.joints[name].kind)
        assert n.joints[name].actuated == m.joints[name].actuated
    assert n.joints["D 1"].actuated and n.joints["D 2"].damping == 0.2
    same_motion(m, n)
    with pytest.warns(ct.CatenaWarning, match="the frames 'world'"):
        n.save(tmp_path / "twice.urdf", loops="companion")
    same_motion(m, ct.load(tmp_path / "twice.urdf"))
    screw = m.with_joint("A", kind=ct.Helical("y", 0.1))
    with pytest.raises(ct.FormatError, match="'A' is Helical.*neither URDF nor a companion can say"):
        screw.save(tmp_path / "screw.urdf", loops="companion")
    with pytest.raises(ct.FormatError, match="robot.yaml.*belongs to another mechanism"):
        pendulum = ct.Mechanism("pendulum")
        pendulum.add_body("rod", mass=1.0, inertia=1.0)
        pendulum.add_joint("pin", "ground", "rod", ct.Revolute("y"))
        pendulum.save(tmp_path / "robot.urdf")
    with pytest.raises(ct.FormatError, match="loops is 'x': give one of 'beside', 'elements'"):
        m.save(tmp_path / "robot.urdf", loops="x")
