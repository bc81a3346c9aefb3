"""Bases that float in a plane, and several that float: the same motion whichever body it is seen from."""

import numpy as np
import pytest

import catena as ct


def planar(reverse=False):
    """A bus that floats in the plane across y, with an arm of a slider and a hinge, none of them along the axes."""
    m = ct.Mechanism("planar", gravity=(0, 0, 0))
    m.add_body("bus", mass=5.0, com=(0.1, 0, 0.05), inertia=(0.5, 0.4, 0.3))
    ends = ("bus", "ground") if reverse else ("ground", "bus")
    places = {"in_parent": ct.Pose(p=(0.1, 0.2, 0.3)), "in_child": ct.Pose(p=(0, 0.1, 0.2))}
    m.add_joint("base", *ends, ct.Planar("y"), actuated=False, **places)
    m.add_body("slider", mass=1.0, com=(0.1, 0, 0), inertia=0.02)
    m.add_joint("slides", "bus", "slider", ct.Prismatic((1, 0, 1)), in_parent=ct.Pose(p=(0.3, 0.1, 0)))
    m.add_body("hand", mass=1.0, com=(0.2, 0, 0), inertia=0.03)
    m.add_joint(
        "turns", "hand", "slider", ct.Revolute("-y"), in_child=ct.Pose(p=(0.2, 0, 0.1), rpy=(0, 0.4, 0))
    )
    return m


@pytest.mark.parametrize("reverse", [False, True])
def test_a_planar_base_is_seen_from_another_body(reverse):
    """All bodies are where they were and move as they did, and so they accelerate under the same forces."""
    m = planar(reverse)
    s, r = m.system(), m.reroot("hand").system()
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=s.nq), rng.normal(size=s.nv)
    q2, v2 = ct.transfer(s, q, v, r)
    assert r.plan.total_constraints == 0 and r.mechanism.joints["base"].child == "hand"
    for body in ("bus", "slider", "hand"):
        np.testing.assert_allclose(r.pose(q2, body).matrix(), s.pose(q, body).matrix(), atol=1e-12)
        np.testing.assert_allclose(r.twist(q2, v2, body), s.twist(q, v, body), atol=1e-12)
    forces = {"slides": 2.0, "turns": -1.0}
    a, b = s.forward_dynamics(q, v, forces), r.forward_dynamics(q2, v2, forces)
    for joint in forces:
        np.testing.assert_allclose(b[r.slice_v(joint)], a[s.slice_v(joint)], atol=1e-11)


def test_a_planar_base_is_fixed_and_freed():
    m = planar()
    held = m.fix_base(at=(0.1, 0.2, 0.3))
    assert held.joints["base"].locked and held.system().joints == ("slides", "turns")
    assert not held.free_base().joints["base"].locked
    m.add_body("wrist", mass=0.1, inertia=0.01)
    m.add_joint("tilts", "hand", "wrist", ct.Revolute("x"))
    with pytest.raises(ct.ModelError, match="between 'bus' and 'wrist' leave the plane of 'base'"):
        m.reroot("wrist")


def test_of_several_bases_those_that_are_meant():
    m = ct.Mechanism("meeting", gravity=(0, 0, 0))
    for name in ("robot", "target"):
        m.add_body(name, mass=2.0, inertia=0.1)
        m.add_joint(f"{name} floats", "ground", name, ct.Free(), actuated=False)
        m.add_body(f"{name} arm", mass=1.0, com=(0.2, 0, 0), inertia=0.02)
        m.add_joint(f"{name} turns", name, f"{name} arm", ct.Revolute("z"))
    assert m.reroot("target arm").joints["target floats"].child == "target arm"
    assert m.reroot("robot arm").joints["target floats"].child == "target"
    held = m.fix_base(base="robot floats")
    assert held.joints["robot floats"].locked and not held.joints["target floats"].locked
    both = m.fix_base(base="* floats")
    assert both.system().nv == 2 and both.free_base(base="target floats").system().nv == 8
    with pytest.raises(ct.ModelError, match="found 'robot floats', 'target floats': name the bases you mean"):
        m.fix_base()
    with pytest.raises(
        ct.ModelError, match="needs one locked Free joint to ground, found 'robot floats', 'target"
    ):
        both.free_base()
    with pytest.raises(ct.UnknownNameError, match="no moving base is named 'robot turns'"):
        m.fix_base(base="robot turns")


def held(m, seed=3):
    """A planar robot that has taken hold of a fixture with its hand, and the state in which it did."""
    s = m.system()
    q = np.random.default_rng(seed).normal(size=s.nq)
    return m.attach("fixture", "ground", "hand", ct.Revolute("y"), at=s.configuration(q)), s, q


@pytest.mark.parametrize("reverse", [False, True])
def test_a_planar_base_that_closes_a_loop_leaves_no_redundant_rows(reverse):
    """Example 1 of Lampariello in the plane, against the tree that keeps the base, whose loop has redundant rows."""
    m = planar(reverse)
    gripping, _, _ = held(m)
    best, kept = gripping.system(), gripping.system(cut=["fixture"])
    assert best.loops == ("base",) and best.plan.total_constraints == 0
    found = best.diagnose(best.neutral())
    assert (found.mobility, found.redundancy, found.redundant) == (3, 0, ())
    rng = np.random.default_rng(1)
    q, v = best.integrate(best.neutral(), 0.3 * rng.normal(size=3)), rng.normal(size=3)
    q2, v2 = ct.transfer(best, q, v, kept)
    forces = {"slides": 2.0, "turns": -1.0, "fixture": 0.5}
    a, b = best.forward_dynamics(q, v, forces), kept.forward_dynamics(q2, v2, forces)
    for joint in ("slides", "turns"):
        np.testing.assert_allclose(a[best.slice_v(joint)], b[kept.slice_v(joint)], atol=1e-10)
    # The base is where it is, though nothing is asked of it.
    np.testing.assert_allclose(best.joint_position(q, "base"), q2[kept.slice_q("base")], atol=1e-12)
    np.testing.assert_allclose(best.joint_velocity(q, v, "base"), v2[kept.slice_v("base")], atol=1e-12)
    np.testing.assert_allclose(best.reactions(q, v, forces)["base"], 0.0, atol=1e-12)
    for seen in (gripping.reroot("slider"), gripping.fix_base(at=best.joint_position(q, "base")).free_base()):
        assert seen.system().diagnose(seen.system().neutral()).redundancy == 0
    masses = {"hand.mass": np.array([1.0, 2.0])}
    heavier = gripping.with_body("hand", mass=2.0).system()
    np.testing.assert_allclose(
        best.forward_dynamics(q, v, parameters=masses)[1], heavier.forward_dynamics(q, v), atol=1e-11
    )


def test_a_plane_that_carries_or_is_left_keeps_its_rows():
    """Weight across the plane is carried by it, a body off its height is not in it, and a hinge may lead out of it."""
    gripping, s, q = held(planar())
    carrying = gripping.copy()
    carrying.gravity = (0.0, -9.81, 0.0)
    assert carrying.system().plan.total_constraints == 3
    along = gripping.copy()
    along.gravity = (1.0, 0.0, -9.81)
    assert along.system().plan.total_constraints == 0
    for pose in (ct.Pose(p=(0, 0.01, 0)), ct.Pose(rpy=(1e-3, 0, 0))):
        off = s.mechanism.attach("fixture", "ground", "hand", ct.Revolute("y"), in_parent=pose)
        assert off.system(cut=["base"]).plan.total_constraints == 3
    free = s.mechanism.attach("fixture", "ground", "hand", ct.Spherical(), at=s.configuration(q))
    assert free.system(cut=["base"]).plan.total_constraints == 3
