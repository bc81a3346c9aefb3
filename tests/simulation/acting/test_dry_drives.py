"""Joints that drives move while friction holds others: one instant, inverse dynamics and runs say the same."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, random_mechanism

KINDS = ["Revolute", "Universal", "Cylindrical", "Prismatic"]


def rubbing(m, rng):
    for name in [joint.name for joint in m.joints.values() if 0 < joint.dof < 6]:
        friction = float(rng.uniform(0.5, 4.0))
        m = m.with_joint(name, friction=friction, static_friction=1.2 * friction)
    return m


def assert_drives(m, joint, acceleration, cut=()):
    """A drive takes a joint from rest with a constant acceleration: what sticks at the first instant does so in the
    run, and at each sample the drive gives what inverse dynamics says of the motion there."""
    s = m.system(cut=cut)
    q, _ = s.project(s.neutral(), np.zeros(s.nv)) if s.loops else (s.neutral(), None)
    start = s.joint_position(q, joint)[0]
    path = lambda t: (start + 0.5 * acceleration * t * t, acceleration * t, acceleration)  # noqa: E731
    run = ct.simulate(s, q, np.zeros(s.nv), 0.3, motion={joint: path}, samples=7, check=False)
    np.testing.assert_allclose(run.velocity(joint)[:, 0], acceleration * run.t, atol=1e-9)
    assert run.audit().ok
    found = s.sticking(q, np.zeros(s.nv), prescribed={joint: acceleration})
    np.testing.assert_allclose(run.acceleration[0], found.vdot, rtol=1e-8, atol=1e-8)
    ends = s.inverse_dynamics_interval(run.q, run.v, run.acceleration, actuated=[joint])[joint]
    np.testing.assert_allclose(ends[..., 0], ends[..., 1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(run.force(joint), ends[..., 0], rtol=1e-6, atol=1e-6)
    own = s.slice_v(joint)
    limit = m.joints[joint].friction
    np.testing.assert_allclose(found.force[own], -limit * np.sign(acceleration), rtol=1e-9)
    return found


@pytest.mark.parametrize("acceleration", [3.0, -2.0])
def test_a_driven_joint_of_a_chain_carries_others_that_stick_or_slip(acceleration):
    m = rubbing(chain(4), np.random.default_rng(0))
    found = assert_drives(m, "joint1", acceleration)
    assert np.any(found.vdot[1:] == 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_a_driven_joint_of_random_loops_carries_others_that_stick_or_slip(seed):
    m = rubbing(random_mechanism(seed, 6, KINDS, loops=1), np.random.default_rng(seed))
    s = m.system()
    free = [name for name in s.joints if m.joints[name].dof == 1]
    for joint in free[:2]:
        assert_drives(m, joint, 2.0, cut=s.plan.cut)


def test_a_drive_that_loops_do_not_let_move_is_named():
    """The steps of such a run shrink without end; what is wrong is the drive."""
    m = rubbing(random_mechanism(2, 6, KINDS, loops=1), np.random.default_rng(2))
    s = m.system()
    q, _ = s.project(s.neutral(), np.zeros(s.nv))
    start = s.joint_position(q, "joint4")[0]
    with pytest.raises(ct.LoopError, match="do not allow the velocities given for 'joint4'"):
        s.velocity(q, {"joint4": 1.0})
    path = lambda t: (start + t * t, 2.0 * t, 2.0)  # noqa: E731
    words = "prescribed for 'joint4' open the loops of 'random2'"
    with pytest.warns(ct.CatenaWarning, match=words), pytest.raises(ct.SimulationError, match=words):
        ct.simulate(s, q, np.zeros(s.nv), 0.3, motion={"joint4": path}, check=False)
