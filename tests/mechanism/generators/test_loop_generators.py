"""The generators of mechanisms with loops: closed where their docstrings say, with the mobility they promise, and with
the published numbers of the benchmarks among them."""

import numpy as np
import pytest

from catena.errors import ModelError
from catena.mechanism.generators import (
    andrews,
    bricard,
    hand,
    nested_loops,
    scissor_lift,
    spatial_four_bar,
    walker,
)
from catena.mechanism.generators.andrews import DRIVE, SPRING_LENGTH, SPRING_STIFFNESS, START

# mechanism, moving bodies, joints, mobility, redundant constraints
CASES = {
    "hand(3)": (hand(), 10, 12, 6, 0),
    "hand(5)": (hand(5), 16, 20, 6, 0),
    **{f"walker({n}, point)": (walker(n), 13, 13 + n, 18 - 3 * n, 0) for n in range(5)},
    **{f"walker({n}, flat)": (walker(n, "flat"), 25, 25 + n, 30 - 6 * n, 0) for n in range(5)},
    "bricard": (bricard(), 5, 6, 1, 1),
    "spatial_four_bar": (spatial_four_bar(), 3, 4, 1, 3),
    "other proportions": (spatial_four_bar(0.3, 0.5, 1.4, -2.0), 3, 4, 1, 3),
    "misaligned": (spatial_four_bar(misalignment=1e-6), 3, 4, 0, 2),
    **{f"scissor_lift({n})": (scissor_lift(n), 2 * n + 1, 3 * n + 2, 1, 3 * (n + 1)) for n in (1, 2, 4)},
    **{f"nested_loops({d})": (nested_loops(d), b, b + k, k, 3 * k) for d, b, k in ((1, 3, 1), (2, 9, 3), (3, 21, 7))},
    "andrews": (andrews(), 7, 10, 1, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_counts_closure_and_mobility(name):
    mechanism, bodies, joints, mobility, redundant = CASES[name]
    assert (len(mechanism.bodies) - 1, len(mechanism.joints)) == (bodies, joints)
    system = mechanism.system()
    q = system.neutral()
    np.testing.assert_allclose(system.closure(q)[0], 0.0, atol=1e-14)
    diagnosis = system.diagnose(q)
    assert diagnosis.mobility == mobility
    assert system.plan.total_constraints - diagnosis.rank == redundant


def test_the_loops_stay_closed_when_the_overconstrained_ones_move():
    for mechanism, joint in ((bricard(), "joint1"), (spatial_four_bar(), "A"), (scissor_lift(3), "foot")):
        system = mechanism.system()
        q = system.assemble({joint: 0.2})
        np.testing.assert_allclose(system.closure(q)[0], 0.0, atol=1e-12)
        assert system.diagnose(q).mobility == 1


def test_a_misaligned_axis_of_a_microradian_is_reported_with_the_gap():
    system = spatial_four_bar(misalignment=1e-6).system()
    diagnosis = system.diagnose(system.neutral())
    values = np.sort(diagnosis.singular_values)[::-1]
    assert 1e-7 < values[2] < 1e-6
    assert values[1] > 0.1
    assert "small errors of the dimensions" in str(diagnosis)


def test_hand_touches_the_equator_of_the_ball():
    system = hand().system()
    q = system.neutral()
    centre = system.pose(q, "ball").p
    np.testing.assert_allclose(centre, [0, 0, 0.09], atol=1e-15)
    for k in (1, 2, 3):
        tip = system.pose(q, f"finger{k}/tip").p
        assert np.linalg.norm(tip - centre) == pytest.approx(0.035)
        assert tip[2] == pytest.approx(0.09)


@pytest.mark.parametrize("contact", ["point", "flat"])
def test_walker_stands_level_with_feet_below_its_hips(contact):
    system = walker(4, contact).system()
    q = system.neutral()
    poses = system.body_poses(q)
    np.testing.assert_allclose(poses["trunk"][:3, 3], [0, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(poses["trunk"][:3, :3], np.eye(3), atol=1e-15)
    for leg in ("front_left", "hind_right", "front_right", "hind_left"):
        # Knees are in front of the hips.
        assert poses[f"{leg}/shank"][0, 3] > poses[f"{leg}/hip"][0, 3] + 0.1


def test_scissor_lift_carries_its_platform_level_as_high_as_its_stages():
    for n in (1, 3):
        system = scissor_lift(n, angle=0.4).system()
        pose = system.pose(system.neutral(), "platform")
        np.testing.assert_allclose(pose.p, [0.0, 0.0, n * np.sin(0.4)], atol=1e-14)
        np.testing.assert_allclose(pose.R, np.eye(3), atol=1e-14)


def test_bricard_starts_as_published():
    """IFToMM A04: all joints accelerate alike from rest; the last coordinates depend on the plan."""
    system = bricard().system()
    vdot = system.forward_dynamics(system.neutral(), np.zeros(system.nv))
    expected = {f"joint{k}": 1.9580838323353316 * (-1) ** (k + 1) for k in range(1, 7)}
    for joint in system.joints:
        assert vdot[system.slice_v(joint)][0] == pytest.approx(expected[joint], rel=1e-12)


def spring(system, q):
    """The force of the spring of Andrews' mechanism on its end D."""
    C, D = system.pose(q, "C").p, system.pose(q, "D")
    length = np.linalg.norm(D.p - C)
    force = SPRING_STIFFNESS * (SPRING_LENGTH - length) * (D.p - C) / length
    return {"D": np.concatenate([np.zeros(3), D.R.T @ force])}


def test_andrews_starts_as_published():
    system = andrews().system()
    assert system.joints == ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
    q, tau = system.neutral(), np.array([DRIVE, 0, 0, 0, 0, 0, 0])
    vdot = system.forward_dynamics(q, np.zeros(7), tau, f_ext=spring(system, q))
    np.testing.assert_allclose(
        vdot, [14222.443919954121, -10666.83293996559, 0, 0, 0, 0, 0], rtol=1e-9, atol=1e-6
    )


def test_andrews_in_full_motion_accelerates_as_published():
    """The end values of the test set for solvers of initial value problems at 0.03 s, computed there to 1e-6."""
    system = andrews().system()
    angles = [
        15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805303,
        0.5347301163226948, 1.048080741042263,
    ]  # fmt: skip
    v = [
        1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808,
        -19.29337464421385, 0.3231791658026955,
    ]  # fmt: skip
    published = [
        -24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213, 16743.62929479361,
        -566749.3645176222, 9826.520791458423,
    ]  # fmt: skip
    q = np.array(angles) - START
    vdot = system.forward_dynamics(q, v, [DRIVE, 0, 0, 0, 0, 0, 0], f_ext=spring(system, q))
    np.testing.assert_allclose(vdot, published, rtol=2e-6)


def test_impossible_requests_are_refused():
    for make in (hand, scissor_lift, nested_loops):
        with pytest.raises(ModelError, match="1 or more"):
            make(0)
    with pytest.raises(ModelError, match="5 feet: give 0 to 4"):
        walker(5)
    with pytest.raises(ModelError, match="no contact 'suction'"):
        walker(4, "suction")
    with pytest.raises(ModelError, match="a crank shorter than the coupler"):
        spatial_four_bar(crank=2.0)
