"""References of single joints bundled to whole states, in trees and with loops."""

from math import acos

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import (
    arm7,
    four_bar,
    random_mechanism,
    scissor_lift,
    spatial_four_bar,
    walker,
)
from catena.simulation.acting import symbols
from catena.simulation.references import JointPath, OrientationPath, PosePath, cubic, function, quintic

STEP = 1e-5


def test_joints_follow_and_the_others_rest():
    s = arm7().system()
    rest = np.linspace(0.1, 0.7, 7)
    path = JointPath(s, {"joint2": cubic([0, 1], [0, 2]), "joint5": -0.4}, rest=rest)
    q, v, a = path.at(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(q[:, 1], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(q[:, 4], -0.4)
    np.testing.assert_array_equal(q[:, [0, 2, 3, 5, 6]], np.tile(rest[[0, 2, 3, 5, 6]], (3, 1)))
    np.testing.assert_allclose(v[1], [0, 3.0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(path.followed, [False, True, False, False, True, False, False])
    assert a.shape == (3, 7)


def test_joints_with_quaternions_follow_rotations():
    m = random_mechanism(3, bodies=3, kinds=["Spherical", "Free", "Revolute"])
    s = m.system()
    kinds = {j: type(m.joints[j].kind).__name__ for j in s.joints}
    vector = function(lambda t: [symbols.sin(t), t, 0.3 * t * t])
    references = {
        "Spherical": OrientationPath(vector),
        "Free": PosePath(function(lambda t: [t, t * t, 1.0]), OrientationPath(vector)),
        "Revolute": cubic([0, 2], [0, 1]),
    }
    path = JointPath(s, {joint: references[kind] for joint, kind in kinds.items()})
    q, v, a = path.at(0.6)
    before, after = path.at(0.6 - STEP), path.at(0.6 + STEP)
    np.testing.assert_allclose(s.difference(before.q, after.q) / (2 * STEP), v, atol=1e-7)
    np.testing.assert_allclose((after.v - before.v) / (2 * STEP), a, atol=1e-7)
    assert set(kinds.values()) & {"Spherical", "Free"}


def test_what_is_not_named_follows_from_the_loops():
    """Positions as `assemble` finds them, velocities and accelerations as differences of these."""
    s = four_bar().system()
    path = JointPath(s, {"A": function(lambda t: 0.5 * symbols.sin(t) + t)})
    t = np.array([0.0, 0.3, 1.0, 1.7])
    q, v, a = path.at(t)
    for row, time in zip(q, t):
        np.testing.assert_allclose(row, s.assemble({"A": 0.5 * np.sin(time) + time}, guess=row), atol=1e-9)
    before, after = path.at(t[1:] - STEP), path.at(t[1:] + STEP)
    np.testing.assert_allclose((after.q - before.q) / (2 * STEP), v[1:], atol=1e-8)
    np.testing.assert_allclose((after.v - before.v) / (2 * STEP), a[1:], atol=1e-7)
    np.testing.assert_allclose(s.closure(q, v)[0], 0.0, atol=1e-11)
    # Inverse dynamics is strict about accelerations that would open a loop.
    s.inverse_dynamics(q, v, a)


def test_a_function_of_time_may_give_all_three():
    s = arm7().system()
    path = JointPath(s, {"joint1": lambda t: (t, 1.0, 0.0)})
    np.testing.assert_array_equal(path.at([0.0, 2.0]).q[:, 0], [0.0, 2.0])


@pytest.mark.parametrize(
    ("references", "words"),
    [
        ({"elbow": 0.3}, "no joint is named 'elbow'"),
        ({"joint1": [0.1, 0.2]}, "give 1"),
        ({"joint1": cubic([0, 1], [[0, 0], [1, 1]])}, "joint 'joint1'.*shape"),
        ({"joint1": lambda t: 3.0}, "give \\(q, v, vdot\\)"),
        ({"joint1": lambda t: (np.nan, 0.0, 0.0)}, "not finite"),
        ({}, "give a mapping"),
        (None, "give a mapping"),
    ],
)
def test_references_that_fit_no_joint_are_refused_in_words(references, words):
    with pytest.raises(ct.CatenaError, match=words):
        JointPath(arm7().system(), references)


def test_loop_joints_and_impossible_motions_are_refused_in_words():
    s = four_bar().system()
    with pytest.raises(ct.UnknownNameError, match="closes a loop"):
        JointPath(s, {"C": 0.1})
    path = JointPath(s, {"A": cubic([0, 1], [0, 1]), "B": cubic([0, 1], [0, 1])})
    with pytest.raises(ct.StateError, match="'A', 'B'.*cannot follow.*t = "):
        path.at(0.5)


def test_loops_whose_redundant_constraints_part_at_open_stages_are_followed():
    """Between two nodes a spatial four-bar is a little open, and its constraints do not agree on any motion there."""
    s = spatial_four_bar().system()
    path = JointPath(s, {"A": quintic([0.0, 1.0], [0.1, 1.3])}, rest=s.assemble({"A": 0.1}))
    q, v, a = path.at(np.linspace(0.0, 1.0, 101))
    np.testing.assert_allclose(s.closure(q, v), 0.0, atol=1e-11)
    s.inverse_dynamics(q, v, a)


def test_a_wanted_acceleration_of_zero_is_within_reach():
    """In the middle of a cubic, or of a quintic with all legs moving alike, only rounding is left of what is wanted."""
    s = scissor_lift(2).system()
    for joint in s.joints:
        for end in (-1.2, -0.76, 0.76, 0.98, 1.2):
            try:
                s.assemble({joint: end})
            except ct.LoopError:
                continue
            q, v, a = JointPath(s, {joint: cubic([0.0, 0.2], [0.0, end])}).at([0.1])
            np.testing.assert_allclose(s.closure(q, v), 0.0, atol=1e-11)
            np.testing.assert_allclose(a[:, s.slice_v(joint)], 0.0, atol=1e-10)
    s, thigh = walker().system(), 0.3
    legs = [name.removesuffix("/knee") for name in s.joints if name.endswith("/knee")]
    bent = [acos(h / (2 * thigh)) - acos(0.5 / (2 * thigh)) for h in (0.22, 0.52)]
    joints = {f"{leg}/roll": 0.0 for leg in legs}
    joints |= {f"{leg}/pitch": quintic([0.3, 1.2], [-x for x in bent]) for leg in legs}
    joints |= {f"{leg}/knee": quintic([0.3, 1.2], [2 * x for x in bent]) for leg in legs}
    start = s.assemble({name: x if x == 0.0 else x.at(0.0).q for name, x in joints.items()})
    q, v, _ = JointPath(s, joints, rest=start, step=0.1).at([0.75])
    np.testing.assert_allclose(s.closure(q, v), 0.0, atol=1e-10)


def test_a_standing_reference_with_rounding_in_its_rates_is_within_reach():
    """Velocities of 1e-15 rad/s that do not fit together are no motion that loops could object to."""
    s = four_bar().system()
    rest = s.assemble({"A": 0.3})
    noise = {joint: float(rest[s.slice_q(joint)][0]) for joint in s.joints}
    path = JointPath(
        s, {j: lambda t, x=x, k=k: (x, 3e-15 * (-1) ** k, 1e-13) for k, (j, x) in enumerate(noise.items())}, rest
    )  # fmt: skip
    np.testing.assert_allclose(path.at([0.0, 0.4]).q, [rest, rest], atol=1e-12)


def test_a_dead_point_is_still_refused():
    """The rocker at the end of its swing cannot go on, whatever the crank does."""
    crank, coupler, rocker, ground = 0.4, 1.2, 0.9, 1.0
    s = four_bar(crank, coupler, rocker, ground).system(cut=["B"])
    # Crank and coupler in line: the rocker's angle from its start there, by the law of cosines.
    corner = np.arccos((ground**2 + rocker**2 - (crank + coupler) ** 2) / (2 * ground * rocker))
    R = s.pose(s.neutral(), "rocker").R
    end = (np.pi - corner) - np.arctan2(R[2, 0], R[0, 0])
    path = JointPath(s, {"D": cubic([0.0, 1.0], [0.0, 2.0 * end])})
    with pytest.raises(ct.StateError, match="'D'.*cannot follow"):
        path.at(np.linspace(0.0, 1.0, 21))
