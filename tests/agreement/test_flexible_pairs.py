"""A joint between two flexible bodies: what hangs on a beam that bends moves with its tip."""

import numpy as np
import pytest

import catena as ct

BEAM = {"length": 1.0, "area": 1e-4, "inertia": 1e-9, "density": 2700.0, "young": 7e10}


def pair(kind, swapped=False):
    """Two beams, the second at the tip of the first; `swapped` describes the joint between them from the other side."""
    mechanism = ct.Mechanism("pair")
    for name in ("a", "b"):
        mechanism.add_body(name, flexible=ct.Beam(**BEAM, modes={"y": 2}))
    mechanism.add_joint("A", "ground", "a", ct.Revolute("z"))
    tip = ct.Pose(p=(1, 0, 0))
    if swapped:
        mechanism.add_joint("B", "b", "a", kind, ct.Pose(), tip)
    else:
        mechanism.add_joint("B", "a", "b", kind, tip)
    mechanism.add_frame("end", "b", ct.Pose(p=(1, 0, 0)))
    return mechanism


def test_the_joint_rides_on_the_tip_and_energy_is_that_of_momentum():
    """Where the second beam begins, the first one ends, and kinetic energy is v^T H v / 2 and v . p."""
    mechanism = pair(ct.Revolute("z"))
    mechanism.add_frame("tip", "a", ct.Pose(p=(1, 0, 0)))
    system = mechanism.system()
    random = np.random.default_rng(2)
    q, v = 0.05 * random.normal(size=system.nq), random.normal(size=system.nv)
    np.testing.assert_allclose(system.pose(q, "tip").p, system.pose(q, "b").p, atol=1e-14)
    np.testing.assert_allclose(system.kinetic_energy(q, v), 0.5 * v @ system.mass_matrix(q) @ v, rtol=1e-12)
    vdot = system.forward_dynamics(q, v)
    np.testing.assert_allclose(system.inverse_dynamics(q, v, vdot), 0.0, atol=1e-7 * np.abs(vdot).max())


def test_both_sides_describe_the_same_joint():
    one, other = (pair(ct.Revolute("z"), swapped).system() for swapped in (False, True))
    random = np.random.default_rng(3)
    q, v = 0.05 * random.normal(size=one.nq), random.normal(size=one.nv)
    there, rates = q.copy(), v.copy()
    there[other.slice_q("B")] *= -1.0
    rates[other.slice_v("B")] *= -1.0
    np.testing.assert_allclose(one.pose(q, "end").p, other.pose(there, "end").p, atol=1e-14)
    a, b = one.forward_dynamics(q, v), other.forward_dynamics(there, rates)
    b[other.slice_v("B")] *= -1.0
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(a).max())


@pytest.mark.slow
def test_a_pair_that_is_welded_falls_as_one_that_a_loop_welds():
    """The weld as a joint of the tree, and as a loop of six constraints between the same points."""
    welded = pair(ct.Fixed()).system()
    mechanism = pair(ct.Revolute("z"))
    mechanism.add_joint("lock", "a", "b", ct.Fixed(), ct.Pose(p=(1, 0, 0)))
    looped = mechanism.system(cut=["lock"])
    q, v = np.zeros(welded.nq), np.zeros(welded.nv)
    v[welded.slice_v("A")] = 3.0
    expected = welded.forward_dynamics(q, v)
    rates = np.zeros(looped.nv)
    rates[looped.slice_v("A")] = 3.0
    found = looped.forward_dynamics(np.zeros(looped.nq), rates)
    for joint in welded.joints:
        np.testing.assert_allclose(
            found[looped.slice_v(joint)],
            expected[welded.slice_v(joint)],
            rtol=1e-7,
            atol=1e-7 * np.abs(expected).max(),
        )
