"""States of flexible bodies that go over to another structure: amplitudes stay, impulses go into modes, momentum and
energy are accounted for, and what does not fit is said in words."""

import numpy as np
import pytest

import catena as ct

SLENDER = {"area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10}


def flyer(modes=None):
    """A hub that floats with a flexible boom on a hinge, and a box that floats beside it."""
    m = ct.Mechanism("flyer", gravity=(0.0, 0.0, 0.0))
    m.add_body("hub", mass=3.0, com=(0.02, 0.01, 0.0), inertia=(0.1, 0.12, 0.15))
    m.add_body("boom", flexible=ct.Beam(2.0, modes=modes or {"y": 2, "z": 1}, **SLENDER))
    m.add_body("box", mass=0.7, com=(0.01, 0.0, 0.03), inertia=(0.01, 0.02, 0.015))
    m.add_joint("base", "ground", "hub", ct.Free())
    m.add_joint(
        "hinge", "hub", "boom", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0.0, 0.0), rpy=(0.2, 0, 0))
    )
    m.add_joint("floats", "ground", "box", ct.Free())
    m.add_frame("tip", "boom", ct.Pose(p=(2.0, 0.0, 0.0), rpy=(0.0, 0.3, 0.0)))
    m.add_frame("middle", "boom", ct.Pose(p=(1.1, 0.0, 0.01)))
    return m


def state(s, seed=0):
    rng = np.random.default_rng(seed)
    q = s.integrate(s.neutral(), 0.3 * rng.normal(size=s.nv))
    q[s.slice_q("boom.modes")] = 0.1 * rng.normal(size=3)
    return q, rng.normal(size=s.nv)


def seen(s, q, v, frames=("hub", "boom", "box", "tip", "middle")):
    """What nobody can argue about: poses and twists of bodies and of points of the boom."""
    return {name: (np.asarray(s.pose(q, name).p), s.pose(q, name).R, s.twist(q, v, name)) for name in frames}


def assert_same_motion(one, other, atol=1e-11):
    a, b = seen(*one), seen(*other)
    for name in a:
        for x, y in zip(a[name], b[name], strict=True):
            np.testing.assert_allclose(x, y, atol=atol, err_msg=name)


@pytest.mark.parametrize("root", ["hub", "boom", "box"])
def test_any_root_is_the_same_motion_and_the_way_back_is_exact(root):
    m = flyer()
    s, other = m.system(), m.system(root=root)
    q, v = state(s)
    found = ct.transfer(s, q, v, other)
    assert_same_motion((s, q, v), (other, *found))
    assert not found.jumped and found.energy_loss == 0.0
    assert other.kinetic_energy(*found) == pytest.approx(s.kinetic_energy(q, v), rel=1e-12)
    back = ct.transfer(other, found.q, found.v, s)
    np.testing.assert_allclose(s.difference(q, back.q), 0.0, atol=1e-12)
    np.testing.assert_allclose(back.v, v, atol=1e-11)


def test_reroot_moves_the_base_to_the_flexible_body():
    m = flyer()
    s = m.system()
    q, v = state(s, 1)
    m2 = m.detach("floats").attach("floats", "hub", "box", ct.Free())
    moved = m2.reroot("boom")
    other = moved.system()
    found = ct.transfer(s, q, v, other)
    assert_same_motion((s, q, v), (other, *found))
    np.testing.assert_array_equal(found.q[other.slice_q("boom.modes")], q[s.slice_q("boom.modes")])


def expected_grip(s, q, v, new):
    """Velocities after a joint closed, by the mass matrix of the old tree: v - H^-1 J^T (J H^-1 J^T)^-1 J v."""
    J, H = new.closure_jacobian(q), s.mass_matrix(q)
    yields = np.linalg.solve(H, J.T)
    return v - yields @ np.linalg.solve(J @ yields, J @ v)


@pytest.mark.parametrize("where", ["tip", "middle"])
@pytest.mark.parametrize(
    "kind", [ct.Fixed(), ct.Revolute("y"), ct.Spherical()], ids=lambda k: type(k).__name__
)
def test_a_grip_puts_its_impulse_into_the_modes(where, kind):
    m = flyer()
    s = m.system()
    q, v = state(s, 2)
    changed = m.attach("grip", where, "box", kind, at=s.configuration(q))
    new = changed.system(cut=["grip"])
    assert new.joints == s.joints and np.abs(new.closure(q, v)[0]).max() < 1e-12
    found = ct.transfer(s, q, v, new)
    np.testing.assert_allclose(found.q, q, atol=1e-14)
    expected = expected_grip(s, q, v, new)
    np.testing.assert_allclose(found.v, expected, atol=1e-10 * np.abs(expected).max())
    modes = s.slice_v("boom.modes")
    assert np.abs(found.v[modes] - v[modes]).max() > 0.1
    loss = s.kinetic_energy(q, v) - s.kinetic_energy(q, found.v)
    assert found.energy_loss == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(s.momentum(q, found.v), s.momentum(q, v), atol=1e-12 * 50)
    assert found.momentum_error < 1e-13
    # The box feels nothing but the grip: its momentum changed by that impulse.
    impulse = found.impulse["grip"]
    R = new.pose(q, "box").R
    at = changed.joints["grip"].in_child.R
    com = np.array([0.01, 0.0, 0.03])
    moved = [x[3:] + np.cross(x[:3], com) for x in (s.twist(q, v, "box"), s.twist(q, found.v, "box"))]
    np.testing.assert_allclose(R @ at @ impulse[3:], 0.7 * R @ (moved[1] - moved[0]), atol=1e-10)
    assert set(found.impulse) == {"base", "hinge", "floats", "grip"}
    # Whatever the plan makes of it, the motion is the same.
    other = changed.system()
    again = ct.transfer(s, q, v, other)
    assert_same_motion((new, *found), (other, *again), 1e-10)


def test_restitution_throws_the_box_back_and_keeps_momentum():
    m = flyer()
    s = m.system()
    q, v = state(s, 3)
    new = m.attach("grip", "tip", "box", ct.Spherical(), at=s.configuration(q)).system(cut=["grip"])
    plastic, bounced = ct.transfer(s, q, v, new), ct.transfer(s, q, v, new, restitution=0.5)
    np.testing.assert_allclose(bounced.v, v + 1.5 * (plastic.v - v), atol=1e-10)
    np.testing.assert_allclose(s.momentum(q, bounced.v), s.momentum(q, v), atol=1e-11)
    loss = s.kinetic_energy(q, v) - s.kinetic_energy(q, bounced.v)
    assert bounced.energy_loss == pytest.approx(loss, rel=1e-9)


def test_modes_are_locked_where_they_are_and_their_motion_is_lost():
    m = flyer()
    s = m.system()
    q, v = state(s, 4)
    stiff = m.lock("boom.modes", at=s.configuration(q)).system()
    found = ct.transfer(s, q, v, stiff)
    keep = np.delete(np.arange(s.nv), np.arange(s.nv)[s.slice_v("boom.modes")])
    H = s.mass_matrix(q)
    expected = np.linalg.solve(H[np.ix_(keep, keep)], (H @ v)[keep])
    np.testing.assert_allclose(found.v, expected, atol=1e-11)
    np.testing.assert_allclose(stiff.momentum(*found), s.momentum(q, v), atol=1e-11)
    assert found.energy_loss == pytest.approx(s.kinetic_energy(q, v) - stiff.kinetic_energy(*found), rel=1e-9)
    assert found.momentum_error < 1e-13
    free = ct.transfer(stiff, found.q, found.v, s)
    assert_same_motion((stiff, *found), (s, *free))
    assert not free.v[s.slice_v("boom.modes")].any()
    np.testing.assert_allclose(free.q[s.slice_q("boom.modes")], q[s.slice_q("boom.modes")], atol=0.0)
    with pytest.raises(ct.LoopError, match=r"apart at the joints 'boom.modes' by .* m"):
        ct.transfer(s, q, v, m.lock("boom.modes").system())


def test_batches_go_over_as_their_states_do():
    m = flyer()
    s, new = m.system(), m.system(root="boom")
    rows = [state(s, seed) for seed in range(3)]
    q, v = (np.stack(x) for x in zip(*rows, strict=True))
    found = ct.transfer(s, q, v, new)
    for k in range(3):
        one = ct.transfer(s, q[k], v[k], new)
        np.testing.assert_allclose(found.q[k], one.q, atol=1e-14)
        np.testing.assert_allclose(found.v[k], one.v, atol=1e-13)


def test_a_joint_on_a_bent_body_fits_where_its_points_are():
    m = flyer()
    s = m.system()
    q, _ = state(s, 5)
    at = s.configuration(q)
    np.testing.assert_allclose(at.pose_of("tip").p, s.pose(q, "tip").p, atol=1e-14)
    np.testing.assert_array_equal(at.position_of("boom.modes"), q[s.slice_q("boom.modes")])
    # A place of the boom follows from where the box is now.
    changed = m.attach(
        "grip", "boom", "box", ct.Fixed(), in_child=ct.Pose(), at=_box_beside(s, q).configuration
    )
    assert np.abs(changed.system(cut=["grip"]).closure(_box_beside(s, q).q)[0]).max() < 1e-12


class _box_beside:
    """The state with the box at the middle of the boom."""

    def __init__(self, s, q):
        pose = s.pose(q, "middle")
        self.q = q.copy()
        self.q[s.slice_q("floats")] = [*pose.p, *pose.quat]
        self.configuration = s.configuration(self.q)


def test_several_modes_and_joints_are_locked_together_by_name():
    m = flyer()
    s = m.system()
    q, _ = state(s, 6)
    both = m.lock(["hinge", "boom.modes"], at=s.configuration(q))
    np.testing.assert_array_equal(both.bodies["boom"].locked_at, q[s.slice_q("boom.modes")])
    assert both.joints["hinge"].locked_at == pytest.approx(q[s.slice_q("hinge")])
    given = m.lock(["hinge", "boom.modes"], at={"boom.modes": [0.1, 0.0, 0.0], "hinge": 0.2})
    assert given.bodies["boom"].locked_at[0] == 0.1 and given.joints["hinge"].locked_at == pytest.approx(
        [0.2]
    )
    assert both.unlock(["hinge", "boom.modes"]).system().nv == s.nv
    assert m.reduce_to("hinge").system().nv == 1 and m.reduce_to(["hinge", "boom.modes"]).system().nv == 4
    with pytest.raises(ct.ModelError, match="several joints or modes"):
        m.lock(["hinge", "boom.modes"], at=0.1)
    with pytest.raises(ct.ModelError, match="not locked"):
        m.unlock("boom.modes")


def test_another_flexible_body_is_no_place_to_go():
    s, other = flyer().system(), flyer({"y": 1, "z": 2}).system()
    q, v = state(s)
    with pytest.raises(ct.StateError, match="'boom' is not the same flexible body"):
        ct.transfer(s, q, v, other)
    same = flyer().system()
    np.testing.assert_allclose(ct.transfer(s, q, v, same).v, v, atol=1e-14)


@pytest.mark.slow
def test_a_boom_catches_a_box_during_a_run_and_swings_on():
    m = flyer({"y": 2})
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("floats")] = [2.3, -0.4, 0.0, 1.0, 0.0, 0.0, 0.0]
    v[s.slice_v("floats")] = [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]

    def grasp(moment):
        return moment.system.mechanism.attach(
            "grip", "boom", "box", ct.Fixed(), in_parent=ct.Pose(p=(2, 0, 0)), at=moment.configuration
        )

    def reaches(t, q, v):
        return q[s.slice_q("floats").start + 1] if len(q) == s.nq else 1.0

    run = ct.simulate(s, q, v, duration=0.5, events=[ct.Event(reaches, then=grasp, name="grasp")])
    assert len(run.segments) == 2
    before, after = run.segments
    went = run.transitions[0].transfer
    assert went.jumped and went.momentum_error < 1e-12
    h = [part.system.momentum(part.q[k], part.v[k]) for part, k in ((before, 0), (after, 0), (after, -1))]
    np.testing.assert_allclose(h[1], h[0], atol=1e-9)
    np.testing.assert_allclose(h[2], h[0], atol=1e-7)
    assert np.abs(after["boom.mode1"]).max() > 0.01
    assert after.energy_drift < 1e-7
