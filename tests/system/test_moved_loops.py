"""Loops elsewhere on their bodies: what is used again gives what is planned anew."""

import numpy as np

import catena as ct
from catena.mechanism.generators import walker
from catena.system import with_loops_at


def standing(shift=0.0):
    """A walker on two feet, with springs at its joints, and where the feet are held."""
    m = walker(0)
    for name, joint in list(m.joints.items()):
        if joint.kind.nv == 1:
            m.add_spring(f"{name} spring", name, stiffness=300.0, damping=5.0)
    s = m.system()
    q = s.neutral()
    places = {}
    for leg in ("front_left", "hind_right"):
        own = ct.Pose(p=(0.0, 0.0, -0.3))
        at = (s.pose(q, f"{leg}/shank") * own).p + np.array([0.0, 0.0, shift])
        places[f"{leg} holds"] = (ct.Pose(p=at), own)
    return m, s, q, places


def held(m, s, places):
    for name, (outer, inner) in places.items():
        m = m.attach(name, "ground", f"{name.split()[0]}/shank", ct.Spherical(), outer, inner, actuated=False)
    return m.system(cut=list(places))


def test_moved_loops_are_those_of_a_new_plan():
    m, s, q, places = standing()
    first = held(m, s, places)
    v = np.zeros(s.nv)
    ct.simulate(first, q, v, 0.02, rtol=1e-8, atol=1e-10)
    # The feet stand elsewhere: the base moves along, so that they are closed again.
    step = np.array([0.03, -0.02, 0.01])
    elsewhere = {
        name: (ct.Pose(p=outer.p + step), ct.Pose(p=inner.p)) for name, (outer, inner) in places.items()
    }
    q[s.slice_q("base")][:3] += step
    moved, new = with_loops_at(first, elsewhere), held(m, s, elsewhere)
    assert moved.loops == new.loops and moved.joints == new.joints
    for a, b in zip(moved.plan.loop_joints, new.plan.loop_joints, strict=True):
        np.testing.assert_allclose(a.parent_p, b.parent_p, atol=1e-14)
        np.testing.assert_allclose(a.parent_R, b.parent_R, atol=1e-14)
        np.testing.assert_allclose(a.child_p, b.child_p, atol=1e-14)
    np.testing.assert_allclose(moved.closure(q, v)[0], 0.0, atol=1e-12)
    assert np.abs(first.closure(q, v)[0]).max() > 0.01
    v = new.project(q, np.random.default_rng(0).normal(size=s.nv))[1]
    tau = np.random.default_rng(1).normal(size=s.nv)
    np.testing.assert_allclose(moved.forward_dynamics(q, v, tau), new.forward_dynamics(q, v, tau), atol=1e-9)
    one, other = moved.reactions(q, v, tau), new.reactions(q, v, tau)
    for name in places:
        np.testing.assert_allclose(one[name], other[name], atol=1e-8)
    before = ct.compilations()
    a, b = (ct.simulate(x, q, v, 0.05, rtol=1e-8, atol=1e-10) for x in (moved, new))
    assert ct.compilations() == before
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-9)
    # What was there before is not touched.
    np.testing.assert_allclose(first.closure(s.neutral(), np.zeros(s.nv))[0], 0.0, atol=1e-12)


def test_loops_can_be_moved_again_and_edits_are_noticed():
    m, s, q, places = standing()
    first = held(m, s, places)
    name = next(iter(places))
    outer, inner = places[name]
    twice = with_loops_at(
        with_loops_at(first, {name: (ct.Pose(p=outer.p + 0.1), inner)}), {name: (outer, inner)}
    )
    assert twice.variants.laid_out is first
    v = np.zeros(s.nv)
    np.testing.assert_allclose(twice.forward_dynamics(q, v), first.forward_dynamics(q, v), atol=1e-12 * 1e3)
    assert np.abs(twice.forces.loads(q + 0.0, v).tau - first.forces.loads(q, v).tau).max() == 0.0
