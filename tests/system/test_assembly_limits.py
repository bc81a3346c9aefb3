"""Assembly within the limits of joints: against all branches of linkages, found without limits."""

import warnings

import numpy as np
import pytest

import catena as ct
from tests.kinematics.loops.test_geared_assembly import four_bar

TURN = 2.0 * np.pi


def within(x, limits):
    """Whether an angle is within limits, with any whole turns."""
    low, high = limits
    return x + TURN * np.ceil((low - 1e-9 - x) / TURN) <= high + 1e-9


def asked(call):
    """What a call returns, and the words it warned in."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(w.message) for w in caught if issubclass(w.category, ct.CatenaWarning)]


@pytest.mark.parametrize("seed", range(12))
def test_a_branch_within_limits_is_taken_where_there_is_one(seed):
    rng = np.random.default_rng(seed)
    bare = four_bar(0.3 * rng.uniform(0.8, 1.1, 4) + np.array([0.0, 0.5, 0.4, 0.6]))
    q0 = ct.branches(bare.system(), {"A": rng.uniform(-2, 2)})
    given = {"A": float(q0[0, 0])}
    joint = ("B", "C", "D")[seed % 3]
    at = rng.uniform(-3, 3)
    limits = (at, at + rng.uniform(0.5, 2.5))
    s = bare.with_joint(joint, limits=limits).system()
    possible = [q for q in q0 if within(bare.system().joint_position(q, joint)[0], limits)]
    q, words = asked(lambda: s.assemble(given))
    assert np.abs(s.closure(q)[0]).max() < 1e-10 and q[0] == given["A"]
    assert bool(words) == (not possible)
    if possible:
        assert within(s.joint_position(q, joint)[0], limits)
        if joint in s.joints:
            assert limits[0] - 1e-9 <= s.joint_position(q, joint)[0] <= limits[1] + 1e-9
    else:
        assert f"joint {joint!r} is at" in words[0] and "beyond its limit of" in words[0]
    both, _ = asked(lambda: s.assemble({"A": np.full((2, 1), given["A"])}))
    np.testing.assert_allclose(both, [q, q], atol=1e-9)


def test_what_is_free_gives_way_to_limits():
    m = four_bar()
    m.add_body("flap", 1.0, (0.1, 0, 0), 0.01)
    m.add_joint("flap", "rocker", "flap", ct.Revolute("y"), ct.Pose(p=(0.7, 0, 0)), limits=(2.2, 2.4))
    m.add_coupling("lever", {"flap": 1.0, "D": -1.0})
    s = m.system()
    q, words = asked(lambda: s.assemble())
    assert not words and np.abs(s.closure(q)[0]).max() < 1e-10
    assert 2.2 - 1e-9 <= s.joint_position(q, "flap")[0] <= 2.4 + 1e-9


def test_what_is_given_beyond_a_limit_is_kept_and_told():
    s = four_bar().with_joint("A", limits=(-1.0, 1.0)).system()
    q, words = asked(lambda: s.assemble({"A": np.array([[0.5], [1.5], [-2.0]])}))
    np.testing.assert_allclose(q[:, 0], [0.5, 1.5, -2.0])
    assert words and "in 2 of 3 states, in state 1: joint 'A' is at 1.5, beyond its limit of 1" in words[0]
    assert not asked(lambda: s.assemble({"A": 1.0}))[1]


def test_drives_within_limits_say_nothing():
    s = four_bar().with_joint("D", limits=(1.5, 2.2)).system()
    found, words = asked(lambda: s.drive("A", guess=s.assemble({"A": 0.3}), samples=9))
    assert not words and {end.reason for end in found.ends} == {"limit"}
