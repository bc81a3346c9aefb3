"""Prescribed motion of joints that close loops."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar


def start(s):
    q = s.assemble({"A": 0.4})
    return q, np.zeros(s.nv)


def path_of(s, q, joint):
    now = float(s.joint_position(q, joint)[0])
    return ct.quintic([0.0, 0.5], [now, now + 0.2])


def test_a_loop_joint_moves_as_prescribed_and_as_on_a_plan_that_has_it_in_the_tree():
    s = four_bar().system()
    joint = s.loops[0]
    q, v = start(s)
    path = path_of(s, q, joint)
    run = ct.simulate(s, q, v, 0.5, motion={joint: path}, samples=11)
    assert joint in run.system.joints
    np.testing.assert_allclose(run[joint].squeeze(), path.at(run.t).q.squeeze(), atol=1e-12)
    kept = s.mechanism.system(keep=[joint])
    moved = ct.transfer(s, q, v, kept)
    again = ct.simulate(kept, moved.q, moved.v, 0.5, motion={joint: path}, samples=11)
    for name in again.system.joints:
        np.testing.assert_allclose(run[name], again[name], atol=1e-9)
    # The others follow: the loop is closed all the way.
    assert np.abs(run.system.closure(run.q)[0]).max() < 1e-11


def test_a_controller_must_know_the_plan():
    s = four_bar().system()
    joint = s.loops[0]
    q, v = start(s)
    path = path_of(s, q, joint)
    with pytest.raises(ct.StateError, match=f"{joint!r} closes a loop.*keep="):
        ct.simulate(s, q, v, 0.1, motion={joint: path}, control=lambda t, q, v: 0.0 * v)
