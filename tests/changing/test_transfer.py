"""States that go over to another plan: the same motion, plastic impacts, momentum, batches, and what is refused."""

import pickle

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, random_mechanism, walker
from tests.changing.oracle import absolute_impact, flyer, inertia, matrix, random_state, twists_of

KINDS = ["Revolute", "Prismatic", "Spherical", "Free", "Universal"]


def moved(m, s, q, v):
    """What nobody can argue about: poses and twists of all bodies."""
    poses = s.body_poses(q)
    return {name: (poses[name], s.twist(q, v, name)) for name in m.bodies}


def assert_same_motion(m, one, other, tolerance=1e-9):
    a, b = moved(m, *one), moved(m, *other)
    size = max(1.0, max(float(np.abs(twist).max()) for _, twist in a.values()))
    for name in m.bodies:
        np.testing.assert_allclose(a[name][0], b[name][0], atol=tolerance)
        np.testing.assert_allclose(a[name][1], b[name][1], atol=tolerance * size)


def accelerated(s, q, v, name):
    """The acceleration of a body when nothing but gravity acts."""
    return s.jacobian(q, name) @ s.forward_dynamics(q, v) + s.bias_acceleration(q, v, name)


@pytest.mark.parametrize("seed", range(3))
def test_any_root_and_any_cut_is_the_same_motion(seed):
    m = random_mechanism(seed=seed, bodies=5, kinds=KINDS, floating=True, loops=1)
    s = m.system()
    q, v = random_state(s, seed)
    for options in ({"root": "body3"}, {"cut": [s.joints[-1]]}):
        other = m.system(**options)
        found = ct.transfer(s, q, v, other)
        assert_same_motion(m, (s, q, v), (other, found.q, found.v))
        assert not found.jumped and found.energy_loss == 0.0
        for name in m.bodies:
            a, b = accelerated(s, q, v, name), accelerated(other, *found, name)
            np.testing.assert_allclose(b, a, atol=1e-9 * max(1.0, np.abs(a).max()))
        back = ct.transfer(other, found.q, found.v, s)
        np.testing.assert_allclose(s.difference(q, back.q), 0.0, atol=1e-9)
        np.testing.assert_allclose(back.v, v, atol=1e-9 * max(1.0, np.abs(v).max()))


def test_a_grip_keeps_momentum_whatever_joint_became_the_loop():
    """What a new user tried: after a grip the object's Free joint is the loop, and nothing of the momentum is lost."""
    m = flyer()
    s = m.system()
    q, v = random_state(s, 5)
    new = m.attach("grip", "left/hand", "box", ct.Fixed(), at=s.configuration(q)).system()
    assert new.loops == ("box floats",)
    found = ct.transfer(s, q, v, new)
    assert found.jumped and found.energy_loss > 0.1
    np.testing.assert_allclose(new.momentum(*found), s.momentum(q, v), rtol=0, atol=1e-12 * 50)
    assert found.momentum_error < 1e-13
    assert len(found.free_parts) == 1 and set(found.free_parts[0].bodies) == set(m.bodies) - {"ground"}
    lost = s.kinetic_energy(q, v) - new.kinetic_energy(*found)
    assert found.energy_loss == pytest.approx(lost, rel=1e-9)
    assert "velocities jump" in str(found) and "impulse of 'grip'" in str(found)


def cases():
    m = flyer()
    s = m.system()
    q, v = random_state(s, 2)
    here = s.configuration(q)
    yield "grip", s, q, v, m.attach("grip", "left/hand", "box", ct.Revolute("z"), at=here)
    yield "ground", s, q, v, m.attach("hold", "ground", "left/link3", ct.Spherical(), at=here)
    yield "lock", s, q, v, m.lock(["left/joint2", "right/*"], at=here)
    yield "loop", s, q, v, m.attach("grip", "left/hand", "right/link3", ct.Fixed(), at=here)
    yield (
        "two holds",
        s,
        q,
        v,
        m.changed(
            attach={
                "a": ("ground", "left/link3", ct.Fixed()),
                "b": ("ground", "right/link3", ct.Spherical()),
            },
            at=here,
        ),
    )
    yield (
        "redundant",
        s,
        q,
        v,
        m.changed(
            attach={
                "a": ("left/link3", "box", ct.Fixed()),
                "b": ("right/link3", "box", ct.Fixed()),
                "c": ("left/link2", "box", ct.Fixed()),
            },
            at=here,
        ),
    )


@pytest.mark.parametrize("case", range(6))
def test_velocity_jumps_obey_impulse_and_momentum_of_all_bodies(case):
    """Against the equations written out in absolute coordinates."""
    _, s, q, v, m2 = list(cases())[case]
    new = m2.system()
    found = ct.transfer(s, q, v, new)
    poses = s.body_poses(q)
    before = twists_of(s, q, v)
    exact = absolute_impact(m2, poses, before)
    after = twists_of(new, *found)
    for name in m2.bodies:
        np.testing.assert_allclose(after[name], exact[name], atol=1e-10)
    # The impulses give every body what its momentum changed by.
    left = {
        name: inertia(m2.bodies[name]) @ (after[name] - before[name])
        for name in m2.bodies
        if name != "ground"
    }
    for joint in m2.joints.values():
        impulse = found.impulse[joint.name]
        P = ct.Pose(p=poses[joint.parent][:3, 3], R=poses[joint.parent][:3, :3]) * joint.in_parent
        C = ct.Pose(p=poses[joint.child][:3, 3], R=poses[joint.child][:3, :3]) * joint.in_child
        X = matrix(C) @ np.linalg.inv(matrix(P))
        if joint.child != "ground":
            left[joint.child] = left[joint.child] - matrix(joint.in_child).T @ impulse
        if joint.parent != "ground":
            left[joint.parent] = left[joint.parent] + matrix(joint.in_parent).T @ X.T @ impulse
        if joint.dof:
            q_joint = new.configuration(found.q).position_of(joint.name)
            S = np.asarray(joint.kind.motion_space(q_joint).array, dtype=float)
            np.testing.assert_allclose(S.T @ impulse, 0.0, atol=1e-9)
    for name, rest in left.items():
        np.testing.assert_allclose(rest, 0.0, atol=1e-9, err_msg=name)
    assert found.momentum_error < 1e-12


def test_lock_and_unlock_attach_and_detach_return_the_state():
    m = flyer()
    s = m.system()
    q, _ = random_state(s, 7)
    v = np.zeros(s.nv)
    v[s.slice_v("base")] = [0.3, -0.2, 0.1, 0.5, 0.4, -0.3]
    v[s.slice_v("right/joint2")] = 0.7
    here = s.configuration(q)
    for m2 in (m.lock("left/*", at=here), m.attach("more", "bus", "left/link1", ct.Free(), at=here)):
        new = m2.system()
        there = ct.transfer(s, q, v, new)
        back = ct.transfer(new, *there, s)
        assert not there.jumped and there.energy_loss == 0.0
        np.testing.assert_allclose(back.q, q, atol=1e-12)
        np.testing.assert_allclose(back.v, v, atol=1e-12)
    # Opening keeps all velocities, those of an impact before it too.
    held = m.attach("grip", "left/hand", "box", ct.Fixed(), at=here).system()
    caught = ct.transfer(s, q, v, held)
    freed = ct.transfer(held, *caught, s)
    assert caught.jumped and not freed.jumped
    assert_same_motion(m, (held, *caught), (s, *freed), 1e-12)


def test_a_rebound_turns_what_is_forbidden_around():
    """A ball on a rail hits a wall: e times the speed back, (1 - e^2) of the energy lost; and two masses on one rail,
    with the closed form of Newton's law."""
    m = ct.Mechanism("two on a rail", gravity=(0, 0, 0))
    for name, mass in (("a", 2.0), ("b", 3.0)):
        m.add_body(name, mass=mass, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"))
    s = m.system()
    q, v, e = np.array([0.2, 0.2]), np.array([1.5, -0.5]), 0.4
    new = m.attach("touch", "a", "b", ct.Fixed(), at=s.configuration(q)).system()
    found = ct.transfer(s, q, v, new, restitution=e)
    common = (2.0 * 1.5 - 3.0 * 0.5) / 5.0
    np.testing.assert_allclose(found.v, common + e * (common - v), rtol=1e-13)
    assert found.system is s and found.v[1] - found.v[0] == pytest.approx(e * 2.0)
    assert found.energy_loss == pytest.approx(s.kinetic_energy(q, v) - s.kinetic_energy(q, found.v))
    assert found.impulse["touch"][3] == pytest.approx(3.0 * (found.v[1] - v[1]))
    plastic = ct.transfer(s, q, v, new)
    np.testing.assert_allclose(plastic.v, [common], rtol=1e-13)
    with pytest.raises(ct.StateError, match="restitution is 1.5"):
        ct.transfer(s, q, v, new, restitution=1.5)


def test_a_rebound_of_floating_bodies_is_told_with_the_momentum_of_both():
    """Two bodies that rebound exchange momentum, and together keep it; a coefficient of 0 leaves them free as well."""
    m = ct.Mechanism("two", gravity=(0, 0, 0))
    for name in "ab":
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} floats", "ground", name, ct.Free(), actuated=False)
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("b floats")][:1] = 0.5
    v[s.slice_v("a floats")] = [0, 0, 0.1, 1.0, 0.2, 0]
    new = m.attach(
        "touch", "a", "b", ct.Spherical(), ct.Pose(p=(0.25, 0.1, 0)), at=s.configuration(q)
    ).system()
    for e in (0.0, 0.5, 1.0):
        found = ct.transfer(s, q, v, new, restitution=e)
        assert found.system is s and [part.bodies for part in found.free_parts] == [("a", "b")]
        assert found.momentum_error < 1e-14 and "momentum of a, b" in str(found)
        lost = s.kinetic_energy(q, v) - s.kinetic_energy(*found)
        assert found.energy_loss == pytest.approx(lost, abs=1e-14)
    again = pickle.loads(pickle.dumps(found))
    assert again.momentum_error == found.momentum_error
    np.testing.assert_array_equal(again.impulse["touch"], found.impulse["touch"])


def test_a_rebound_needs_what_the_old_system_holds():
    """While a hits b, c may not be let go: the result would be a state of the old system, in which b holds it."""
    m = ct.Mechanism("rail", gravity=(0, 0, 0))
    for name in "abc":
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"))
    here = m.system().configuration(np.zeros(3))
    m = m.attach("bc", "b", "c", ct.Fixed(), at=here)
    s = m.system()
    new = m.changed(detach="bc", attach={"ab": ("a", "b", ct.Fixed())}, at=here).system()
    with pytest.raises(ct.StateError, match="lets go of what 'bc' holds"):
        ct.transfer(s, [0.0, 0.0], [1.0, 0.0], new, restitution=0.5)
    with pytest.raises(ct.StateError, match="give one of the two"):
        ct.transfer(s, [0.0, 0.0], [1.0, 0.0], new, restitution=0.5, assemble=True)
    geared = m.detach("bc")
    geared.add_coupling("gear", {"a slides": 1.0, "b slides": -1.0})
    s = geared.system()
    stop = geared.changed(detach="b slides", attach={"c stops": ("ground", "a", ct.Fixed()), "b": (
        "ground", "b", ct.Prismatic("x"))}, at=here).system()  # fmt: skip
    with pytest.raises(ct.StateError, match="lets go of what 'gear' holds"):
        ct.transfer(s, [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], stop, restitution=0.5)


@pytest.mark.parametrize(
    "kind", [ct.Revolute("y"), ct.Universal("x", "y"), ct.Planar("y"), ct.Sdof("ry", "rz", "dx")]
)
def test_joints_are_unlocked_where_they_were_locked_whole_turns_included(kind):
    m = ct.Mechanism("turned")
    for name in "ab":
        m.add_body(name, mass=1.0, com=(0.1, 0.2, 0.0), inertia=0.1)
    m.add_joint("first", "ground", "a", kind)
    m.add_joint("second", "a", "b", ct.Revolute("x"))
    s = m.system()
    q, v = np.full(s.nq, 10.0), np.zeros(s.nv)
    v[-1] = 1.0
    held = m.lock("first", at=s.configuration(q)).system()
    back = ct.transfer(held, *ct.transfer(s, q, v, held), s)
    np.testing.assert_array_equal(back.q, q)


def test_a_gear_that_was_locked_turns_on():
    """A motor that has turned many times is stopped and let go: the arm behind the gear is where it was."""
    m = ct.Mechanism("geared")
    for k, name in enumerate(("rotor", "arm")):
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} turns", "ground", name, ct.Revolute("y"), in_parent=ct.Pose(p=(k, 0, 0)))
    m.add_coupling("gear", {"rotor turns": 1.0, "arm turns": -50.0})
    s = m.system()
    q = s.assemble({"arm turns": 0.7})
    v = s.velocity(q, {"arm turns": 1.0})
    for name in ("rotor turns", "arm turns"):
        held = m.lock(name, at=s.configuration(q)).system()
        stopped = ct.transfer(s, q, v, held)
        assert stopped.energy_loss == pytest.approx(s.kinetic_energy(q, v))
        np.testing.assert_array_equal(ct.transfer(held, *stopped, s).q, q)
    # Where the joint of the motor closes a loop, the gear alone knows how often it has turned.
    one, other = m.system(root="rotor"), m.system(root="arm")
    assert len(one.loops) == len(other.loops) == 1
    for way in ([one, s], [other, s], [one, other, s], [other, one, s]):
        state, now = (q, v), s
        for new in way:
            state, now = ct.transfer(now, *state, new), new
        np.testing.assert_allclose(state.q, q, atol=1e-12)
        np.testing.assert_allclose(state.v, v, atol=1e-12)


@pytest.mark.parametrize("rate", [0.3, -1.0])
def test_joints_that_are_driven_keep_their_velocity_through_an_impact(rate):
    """Against impulse and momentum of the open chain, with the hold and the drive as constraints."""
    m = chain(3, axes="yyy")
    first, last = list(m.joints)[0], list(m.bodies)[-1]
    m.add_frame("hook", last, ct.Pose(p=(0.1, 0, -0.4)))
    s = m.system()
    q, v = np.array([-0.4, 0.9, 0.5]), np.array([0.3, 0.2, -0.4])
    new = m.attach("hold", "ground", "hook", ct.Revolute("y"), at=s.configuration(q)).system(keep=[first])
    found = ct.transfer(s, q, v, new, driven={first: rate})
    E = np.eye(3)[:1]
    C = np.concatenate([s.jacobian(q, "hook")[[3, 5]], E])
    H_inv = np.linalg.inv(s.mass_matrix(q))
    change = np.linalg.solve(C @ H_inv @ C.T, np.array([0.0, 0.0, rate]) - C @ v)
    exact = v + H_inv @ C.T @ change
    np.testing.assert_allclose(ct.transfer(new, *found, s).v, exact, atol=1e-12)
    axis = m.joints[first].kind.motion_space(np.zeros(1)).array[:, 0]
    assert found.impulse[first] @ axis == pytest.approx(change[2])
    assert found.energy_loss == pytest.approx(s.kinetic_energy(q, v) - s.kinetic_energy(q, exact))
    held = m.attach("hold", "ground", last, ct.Fixed(), at=s.configuration(q)).system(keep=[first])
    with pytest.raises(ct.LoopError, match="do not let .* move as they are driven"):
        ct.transfer(s, q, v, held, driven=dict.fromkeys(held.joints, 1.0))
    for bad in ({"nobody": 1.0}, {first: [1.0, 2.0]}, {first: "fast"}, {first: np.nan}, 3):
        with pytest.raises(ct.CatenaError):
            ct.transfer(s, q, v, new, driven=bad)


def test_a_batch_is_its_states_one_by_one():
    m = flyer()
    s = m.system()
    q, v = random_state(s, 1, (2, 3))
    v[0] = 0.0
    q[...] = q[0, 0]
    new = m.attach("grip", "left/hand", "box", ct.Fixed(), at=s.configuration(q[0, 0])).system()
    found = ct.transfer(s, q, v, new)
    assert found.q.shape == (2, 3, new.nq) and found.energy_loss.shape == (2, 3)
    assert not found.jumped[0].any() and found.jumped[1].all()
    for i in np.ndindex(2, 3):
        one = ct.transfer(s, q[i], v[i], new)
        np.testing.assert_allclose(found.v[i], one.v, atol=1e-13)
        np.testing.assert_allclose(found.impulse["grip"][i], one.impulse["grip"], atol=1e-11)


def test_what_cannot_go_over_is_refused():
    m = flyer()
    s = m.system()
    q, v = random_state(s, 1)
    with pytest.raises(ct.StateError, match="give a system"):
        ct.transfer(s, q, v, m)
    other = m.copy()
    other.add_body("more", mass=1.0, inertia=0.1)
    other.add_joint("more floats", "ground", "more", ct.Free())
    with pytest.raises(ct.StateError, match="only one of them has 'more'"):
        ct.transfer(s, q, v, other.system())
    with pytest.raises(ct.LoopError, match="'left/joint2' by"):
        ct.transfer(s, q, v, m.lock("left/joint2", at=q[s.slice_q("left/joint2")] + 1.0).system())
    stale = other.system()
    other.add_frame("late", "more")
    with pytest.raises(ct.StaleSystemError):
        ct.transfer(stale, *random_state(s, 1), s)
    with pytest.raises(ct.StateError, match="q has shape"):
        ct.transfer(s, q[:-1], v, s)
    with pytest.raises(ct.StateError, match="assemble is .* give True or False"):
        ct.transfer(s, q, v, s, assemble=np.zeros(2), restitution=0.5)


def test_rotors_keep_turning_with_their_joints():
    """Inertia of rotors at joints takes part in impacts: against momenta of coordinates, in a tree and in a loop."""
    m = ct.Mechanism("geared", gravity=(0, 0, 0))
    for name in ("x", "y"):
        m.add_body(name, mass=1.0, com=(0.3, 0, 0), inertia=0.1)
    m.add_joint("j", "ground", "x", ct.Revolute("z"), armature=2.0)
    m.add_joint("k", "x", "y", ct.Revolute("z"), in_parent=ct.Pose(p=(1, 0, 0)), armature=0.5)
    s = m.system()
    q, v = np.array([0.1, 0.2]), np.array([1.0, 0.5])
    here = s.configuration(q)
    for locked, kept in (("k", 0), ("j", 1)):
        new = m.lock(locked, at=here).system()
        found = ct.transfer(s, q, v, new)
        expected = (s.mass_matrix(q) @ v)[kept] / new.mass_matrix(found.q)[0, 0]
        assert found.v[0] == pytest.approx(expected, rel=1e-12)
        lost = s.kinetic_energy(q, v) - new.kinetic_energy(*found)
        assert found.energy_loss == pytest.approx(lost, rel=1e-9)
    # The slide stands still before, so that rotors of loops turn faster than their joints would let them.
    hinge = ct.Revolute("z"), ct.Pose(p=s.pose(q, "y") * np.array([0.5, 0, 0]))
    for kind, place in (hinge, (ct.Prismatic("x"), s.pose(q, "y"))):
        pinned = m.attach("pin", "ground", "y", kind, place, at=here)
        results = []
        for cut in ("pin", "j", "k"):
            new = pinned.system(cut=[cut])
            found = ct.transfer(s, q, v, new)
            results.append(new.twist(*found, "x"))
            lost = s.kinetic_energy(q, v) - new.kinetic_energy(*found)
            assert found.energy_loss == pytest.approx(lost, abs=1e-9)
        np.testing.assert_allclose(results[1], results[0], atol=1e-9)
        np.testing.assert_allclose(results[2], results[0], atol=1e-9)


@pytest.mark.parametrize("root", [None, "b"])
def test_the_energy_of_rotors_that_stop_or_go_is_lost(root):
    """A joint with a rotor is locked, or detached, whether it was in the tree or closed a loop."""
    m = ct.Mechanism("two rotors", gravity=(0, 0, 0))
    for name in "ab":
        m.add_body(name, mass=1.0, com=(0.3, 0, 0), inertia=0.1)
    m.add_joint("first", "ground", "a", ct.Revolute("y"), armature=0.4)
    m.add_joint("second", "a", "b", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0)), armature=0.3)
    s = m.system(root=root)
    q, v = ct.transfer(m.system(), [0.3, 0.5], [1.0, -0.7], s)
    here = s.configuration(q)
    for m2 in (
        m.lock("first", at=here),
        m.changed(detach="first", attach={"F": ("ground", "a", ct.Free())}, at=here),
    ):
        new = m2.system()
        found = ct.transfer(s, q, v, new)
        assert found.energy_loss == pytest.approx(
            s.kinetic_energy(q, v) - new.kinetic_energy(*found), rel=1e-12
        )
    assert found.energy_loss == pytest.approx(0.2) and not found.jumped


def test_impulses_are_the_same_where_a_joint_with_a_rotor_closes_a_loop():
    """What rotors keep for themselves does not go through their joint, be it in the tree or a loop."""
    m = chain(4, axes="zyxy")
    first, second, third, _ = m.joints
    m = m.with_joint(first, armature=0.5).with_joint(second, armature=0.2)
    s = m.system()
    q, v = np.array([0.3, 0.4, -0.2, 0.5]), np.array([0.5, -0.3, 0.8, 0.4])
    m2 = m.lock(third, at=s.configuration(q))
    tree, loops = m2.system(), m2.system(root=list(m.bodies)[2], cut=[second])
    assert loops.loops == (second,) and not tree.loops
    one, other = (ct.transfer(s, q, v, new) for new in (tree, loops))
    for name in m.joints:
        np.testing.assert_allclose(other.impulse[name], one.impulse[name], atol=1e-13)
    assert other.energy_loss == pytest.approx(one.energy_loss, rel=1e-12)


def test_a_gear_that_engages_is_an_impact():
    """Two wheels are coupled while they turn: I1 w1 + I2 w2 along the coupled motion stays, w2 = 2 w1."""
    m = ct.Mechanism("clutch", gravity=(0, 0, 0))
    for name, inertia_z in (("a", 0.3), ("b", 0.2)):
        m.add_body(name, mass=1.0, inertia=(0.2, 0.2, inertia_z))
        m.add_joint(name, "ground", name, ct.Revolute("z"))
    s = m.system()
    q, v = np.array([0.1, 0.2]), np.array([1.0, 0.0])
    geared = m.copy()
    geared.add_coupling("gear", {"a": 2.0, "b": -1.0})
    new = geared.system()
    found = ct.transfer(s, q, v, new)
    speed = (0.3 * 1.0 + 2.0 * 0.2 * 0.0) / (0.3 + 4.0 * 0.2)
    np.testing.assert_allclose(found.v, [speed, 2.0 * speed], rtol=1e-12)
    assert found.jumped and found.energy_loss == pytest.approx(
        s.kinetic_energy(q, v) - new.kinetic_energy(*found)
    )
    with pytest.raises(ct.LoopError, match="do not meet its couplings"):
        ct.transfer(s, [0.1, 0.3], v, new)


def test_a_foot_that_lands_takes_the_velocity_that_it_must():
    """A walker that falls on its feet: with all four standing and stiff legs nothing moves any more but the knees."""
    m = walker(0)
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    v[s.slice_v("base")] = [0, 0, 0, 0.2, 0, -1.0]
    new = walker(4).system()
    found = ct.transfer(s, q, v, new)
    exact = absolute_impact(walker(4), s.body_poses(q), twists_of(s, q, v))
    for name, twist in twists_of(new, *found).items():
        np.testing.assert_allclose(twist, exact[name], atol=1e-10)
    assert np.abs(new.closure(*found)[1]).max() < 1e-12
    up = sum(
        found.impulse[f"{leg}/contact"][3:]
        for leg in ("front_left", "hind_right", "front_right", "hind_left")
    )
    change = new.momentum(*found)[3:] - s.momentum(q, v)[3:]
    assert up[2] == pytest.approx(change[2], rel=1e-9)


def random_edit(rng, m, s, q):
    """One edit that somebody might make now: lock, unlock, grip, let go."""
    here = s.configuration(q)
    free = [n for n, j in m.joints.items() if j.dof and j.dof < 6 and not n.startswith("grip")]
    locked = [n for n, j in m.joints.items() if j.locked]
    grips = [n for n in m.joints if n.startswith("grip")]
    choice = rng.integers(4)
    if choice == 0 and free:
        return m.lock(str(rng.choice(free)), at=here)
    if choice == 1 and locked:
        return m.unlock(str(rng.choice(locked)))
    if choice == 2 and len(grips) < 2:
        a, b = (str(x) for x in rng.choice(list(m.bodies), 2, replace=False))
        kind = [ct.Fixed(), ct.Revolute("z"), ct.Spherical()][rng.integers(3)]
        return m.attach(f"grip{rng.integers(10**9)}", a, b, kind, ct.Pose(p=(0.1, 0.2, 0.0)), at=here)
    if grips:
        return m.detach(str(rng.choice(grips)))
    return m


def follow_random_edits(seed, edits):
    """Energy never grows, momentum of what touches nothing stays, bodies stay where they are, and velocities agree with
    those of all bodies in absolute coordinates."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(seed=seed, bodies=5, kinds=["Revolute", "Prismatic", "Spherical"], floating=True)
    m.gravity = (0, 0, 0)
    s = m.system()
    q, v = random_state(s, seed)
    for k in range(edits):
        m2 = random_edit(rng, m, s, q)
        new = m2.system()
        if not new.nv:
            continue
        found = ct.transfer(s, q, v, new)
        before, after = s.kinetic_energy(q, v), new.kinetic_energy(*found)
        size = max(float(before), 1e-6)
        assert after <= before + 1e-9 * size and found.energy_loss == pytest.approx(
            before - after, abs=1e-9 * size
        )
        assert found.momentum_error < 1e-10, (seed, k)
        exact = absolute_impact(m2, s.body_poses(q), twists_of(s, q, v))
        speed = max(1e-3, max(np.abs(t).max() for t in exact.values()))
        for name, twist in twists_of(new, *found).items():
            np.testing.assert_allclose(twist, exact[name], atol=1e-7 * speed, err_msg=f"{seed} {k}")
        if new.nq != s.nq:
            with pytest.raises(ct.StateError):
                new.kinetic_energy(q, v)
        m, s, (q, v) = m2, new, found
        if rng.integers(3) == 0:
            # Somebody pushes, so that not all comes to rest.
            v = v + rng.normal(size=s.nv)
            q, v = s.project(q, v, held=()) if s.plan.total_constraints else (q, v)


@pytest.mark.parametrize("seed", [0, 1])
def test_random_edits_keep_what_they_must(seed):
    follow_random_edits(seed, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_a_hundred_random_edits_keep_what_they_must(seed):
    follow_random_edits(seed, 100)


def test_locked_and_carried_along_at_rest_move_alike():
    """A chain with a locked joint, and with the same joint driven at rest, over a while."""
    m = chain(4, axes="zyxy")
    s = m.system()
    third = list(m.joints)[2]
    q, v = np.array([0.3, 0.4, -0.2, 0.5]), np.array([0.5, -0.3, 0.0, 0.4])
    small = m.lock(third, at=s.configuration(q)).system()
    q2, v2 = ct.transfer(s, q, v, small)
    run = ct.simulate(small, q2, v2, 1.0)
    carried = ct.simulate(s, q, v, 1.0, motion={third: lambda t: (-0.2, 0.0, 0.0)})
    end = ct.transfer(small, run.q[-1], run.v[-1], s)
    np.testing.assert_allclose(end.q, carried.q[-1], atol=1e-9)
    np.testing.assert_allclose(end.v, carried.v[-1], atol=1e-9)
