"""Random mechanisms with everything in them, saved and loaded in every format that is written: bodies accelerate and
move as those of the mechanism that was saved, or it was said by name what is lost; and MuJoCo agrees about its files.
"""

import warnings

import mujoco
import numpy as np
import pytest

import catena as ct
from catena import generators as g

HARMLESS = ("locks, which are written as fixed joints", "limits of speed", "initial states", "no-load speeds")
"""What may be lost and changes no motion."""
SIMPLE = ("Revolute", "Prismatic", "Universal", "Cylindrical", "Planar", "Spherical", "Fixed", "Revolute")


def everything(seed, kinds=None, loops=0, floating=False, friction=True, limits=True, couplings=True):
    """A random mechanism whose joints have dampers, rotors, springs, limits, motors, locks and couplings by chance."""
    random = np.random.default_rng(seed)
    m = g.random_mechanism(seed, bodies=5, kinds=kinds, loops=loops, floating=floating)
    for name, joint in list(m.joints.items()):
        nv = joint.kind.nv
        if not nv:
            continue
        chosen = random.uniform(size=7) < 0.4
        if loops and isinstance(joint.kind, ct.Free):
            # What belongs to a free joint that closes a loop is another test's matter.
            chosen[:] = False
        # Few joints with a quaternion have other numbers for each axis, which MuJoCo does not know.
        even = joint.kind.nq > nv and random.uniform() < 0.8
        numbers = {}
        if chosen[0]:
            numbers["damping"] = random.uniform(0.1, 1.0, None if even else nv)
        if chosen[1] and friction:
            numbers["friction"] = random.uniform(0.1, 1.0)
        if chosen[2] and not isinstance(joint.kind, ct.Free):
            # Rotors that differ about the axes of a ball would gyrate; they are refused.
            alike = even or joint.kind.nq > nv
            numbers["armature"] = random.uniform(0.1, 1.0, None if alike else nv)
        if chosen[3] and limits and isinstance(joint.kind, ct.Revolute | ct.Prismatic):
            numbers["limits"] = [(-2.0, 3.0), (-np.inf, 4.0), (-3.0, np.inf)][random.integers(3)]
        numbers["actuated"] = bool(random.uniform() < 0.7)
        m = m.with_joint(name, **numbers)
        if chosen[4]:
            m.add_spring(f"{name} spring", name, random.uniform(1, 9), damping=random.uniform(0, 1))
        if chosen[5] and joint.kind.nq == nv:
            m.add_spring(f"{name} other", name, random.uniform(1, 9, nv), random.normal(size=nv), 0.2)
        if chosen[6] and numbers["actuated"]:
            m.add_actuator(f"{name} motor", name, 0, gear=random.choice([-3.0, 20.0]), limits=(-5.0, np.inf))
    m.add_spring_between("line", "tool1", "tool3", 5.0, 0.4, 0.3)
    m.add_spring_between("to ground", "ground", "body2", 7.0)
    single = [n for n in m.joints if m.joints[n].kind.nv == 1 and not n.startswith("loop")]
    if couplings and not loops and len(single) > 2:
        m.add_coupling("gear", {single[0]: 1.0, single[1]: -0.7}, 0.1)
        if len(single) > 3:
            m.add_coupling("sum", {single[1]: 1.0, single[2]: 0.5, single[3]: -0.3}, -0.2)
        else:
            m.add_polynomial_coupling("cam", single[2], single[1], (0.1, 0.4, 0.2))
    free = [n for n in m.joints if m.joints[n].dof and not n.startswith("loop")]
    if random.uniform() < 0.6:
        name = free[random.integers(len(free))]
        kind = m.joints[name].kind
        m = m.lock(
            name,
            kind.neutral() if loops else kind.integrate(kind.neutral(), 0.3 * random.normal(size=kind.nv)),
        )
    return m


def saved(m, path):
    """The mechanism after saving and loading, and what saving said was lost."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        return ct.load(path), "".join(str(one.message) for one in caught)


def is_kept(told):
    """Whether nothing that moves was lost."""
    listed = told.partition(" gets no ")[2] or told.partition(" has no place for ")[2]
    parts = [part for part in listed.rpartition(": save")[0].split("; ") if part]
    return all(part.startswith(HARMLESS) for part in parts)


def state_of(m, seed):
    """A system, and a random state in which all loops are closed and all couplings hold."""
    random = np.random.default_rng(seed)
    s = m.system()
    q = s.neutral()
    if not s.loops:
        q = (
            s.assemble(guess=s.integrate(q, 0.3 * random.normal(size=s.nv), 1.0))
            if m.couplings
            else s.integrate(q, 0.3 * random.normal(size=s.nv), 1.0)
        )
    v = random.normal(size=s.nv)
    if s.mechanics.constrained:
        q, v = s.project(q, v, held=())
    return s, q, v


def same_state(m, s, q, v, n):
    """The state of another mechanism with the same bodies, by the positions and velocities of its joints."""
    t = n.system()
    places, speeds = {}, {}
    for name in t.joints:
        joint = n.joints[name]
        own = m.joints.get(name)
        turns = isinstance(joint.kind, ct.Free | ct.Spherical)
        if own is not None and not (turns and (own.parent, own.in_child) != (joint.parent, joint.in_child)):
            places[name], speeds[name] = s.joint_position(q, name), s.joint_velocity(q, v, name)
        elif turns:
            place, speed = free_state(s, q, v, n, joint)
            is_ball = isinstance(joint.kind, ct.Spherical)
            places[name], speeds[name] = (place[3:], speed[:3]) if is_ball else (place, speed)
        else:
            found = [component(m, s, q, v, part) for part in name.split("+")]
            places[name], speeds[name] = ([one[k] for one in found] for k in (0, 1))
    p = t.assemble(places, slack=1e-6)
    w = t.velocity(p, speeds, slack=1e-5)
    return t, p, w


def component(m, s, q, v, name):
    """The position and velocity of a joint, or of one component of it: "joint 2" is the second of "joint"."""
    if name in m.joints:
        return s.joint_position(q, name)[0], s.joint_velocity(q, v, name)[0]
    whole, _, number = name.rpartition(" ")
    return s.joint_position(q, whole)[int(number) - 1], s.joint_velocity(q, v, whole)[int(number) - 1]


def free_state(s, q, v, n, joint):
    """The position and velocity of a joint as of a free one between bodies, or to a frame that is mounted on one."""
    body, place = joint.child, joint.in_child
    mounts = [one for one in n.joints.values() if one.parent == body and one.kind.nv == 0]
    if body not in s.mechanism.bodies:
        (mount,) = mounts
        body, place = mount.child, mount.in_child * mount.in_parent.inverse() * place
    parent, child = s.pose(q, joint.parent), s.pose(q, body) * place
    # Twists in ground's axes at the origin of ground, where they subtract.
    between = [s.twist(q, v, one, axes="ground") for one in (joint.parent, body)]
    turn, move = np.split(between[1] - between[0], 2)
    pose = (parent * joint.in_parent).inverse() * child
    speed = np.concatenate([child.R.T @ turn, child.R.T @ (move + np.cross(turn, child.p))])
    return np.concatenate([pose.p, pose.quat]), speed


def compare(m, n, seed, duration=0.0):
    s, q, v = state_of(m, seed)
    t, p, w = same_state(m, s, q, v, n)
    bodies = [name for name in m.bodies if name != "ground"]
    for name in bodies:
        assert s.pose(q, name).allclose(t.pose(p, name), atol=1e-9), name
        np.testing.assert_allclose(t.twist(p, w, name), s.twist(q, v, name), atol=1e-8)
    runs = [ct.simulate(one, a, b, 1e-6, check=False, samples=2) for one, a, b in ((s, q, v), (t, p, w))]
    ours, theirs = (
        np.array([one.acceleration(a, b, run.acceleration[0], name) for name in bodies])
        for one, a, b, run in zip((s, t), (q, p), (v, w), runs)
    )
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-7 * max(1.0, np.abs(ours).max()))
    if duration:
        a = ct.simulate(s, q, v, duration, rtol=1e-9, atol=1e-11, check=False, samples=2)
        b = ct.simulate(t, p, w, duration, rtol=1e-9, atol=1e-11, check=False, samples=2)
        for name in bodies:
            assert s.pose(a.q[-1], name).allclose(t.pose(b.q[-1], name), atol=1e-5), name


CASES = {
    "trees of all kinds": {},
    "trees that MuJoCo knows": {"kinds": SIMPLE},
    "floating trees": {"kinds": SIMPLE, "floating": True, "couplings": False},
    "loops": {"kinds": ("Revolute", "Spherical", "Universal"), "loops": 1},
    "loops of all kinds": {"loops": 2},
}
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
COMPARED = {}


@pytest.mark.parametrize("ending", ["toml", "urdf", "sdf", "xml"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", [*list(CASES)[:-1], pytest.param(list(CASES)[-1], marks=pytest.mark.slow)])
def test_a_saved_mechanism_moves_as_before_or_it_is_said_what_is_lost(case, seed, ending, tmp_path):
    m = everything(seed, **CASES[case])
    try:
        n, told = saved(m, tmp_path / f"m.{ending}")
    except ct.FormatError as error:
        assert ending == "xml" and "which MuJoCo has not" in str(error)
        return
    if ending == "toml":
        assert not told
    COMPARED.setdefault(ending, []).append(is_kept(told))
    if is_kept(told):
        compare(m, n, seed, duration=0.05 if seed == 0 or seed > 5 else 0.0)


def test_most_of_them_were_compared():
    if "urdf" not in COMPARED or len(COMPARED.get("xml", ())) < 5:
        pytest.skip("the mechanisms were not saved in this session")
    for ending in ("toml", "urdf", "sdf"):
        assert all(COMPARED.get(ending, ())), f"{ending}, with its side file, loses nothing"
    assert sum(COMPARED["xml"]) >= 0.25 * len(COMPARED["xml"]), COMPARED


@pytest.mark.parametrize("seed", SEEDS)
def test_mujoco_accelerates_what_is_written_as_the_mechanism_accelerates(seed, tmp_path):
    m = everything(seed, SIMPLE, floating=seed % 2 > 0, friction=False, limits=False, couplings=False)
    n, _ = saved(m, tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data = mujoco.MjData(model)
    random = np.random.default_rng(seed)
    mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.3)
    data.qvel[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    t = n.system()
    p = ct.from_mujoco_qpos(t, data.qpos, model)
    w = ct.from_mujoco_qvel(t, data.qpos, data.qvel, model)
    vdot = ct.simulate(t, p, w, 1e-6, check=False, samples=2).acceleration[0]
    ahead = 1e-6
    step, back = (ct.to_mujoco_qvel(t, t.integrate(p, w, h), w + h * vdot, model) for h in (ahead, -ahead))
    size = max(1.0, np.abs(data.qacc).max())
    np.testing.assert_allclose((step - back) / (2.0 * ahead), data.qacc, rtol=0, atol=1e-6 * size)
