"""The delta robot: redundancy, where its platform goes, and its motor torques by virtual work."""

import numpy as np
import pytest

import catena as ct


@pytest.fixture(scope="module")
def robot():
    return ct.generators.delta().system()


def test_twelve_constraints_are_redundant_and_three_freedoms_left(robot):
    found = robot.diagnose(robot.neutral())
    assert (found.mobility, found.redundancy) == (3, 12)


def test_the_platform_is_where_three_spheres_meet(robot):
    angles = np.array([0.1, -0.15, 0.05])
    q = robot.assemble({f"motor{k}": a for k, a in enumerate(angles, 1)})
    pose = robot.pose(q, "platform")
    np.testing.assert_allclose(pose.R, np.eye(3), atol=1e-10)
    for angle, turn in zip(angles, np.radians([0.0, 120.0, 240.0]), strict=True):
        reach = 0.2 + 0.25 * np.cos(0.35 + angle) - 0.06
        elbow = np.array([reach * np.cos(turn), reach * np.sin(turn), -0.25 * np.sin(0.35 + angle)])
        assert np.linalg.norm(pose.p - elbow) == pytest.approx(0.5, abs=1e-10)


def test_inverse_kinematics_finds_the_motors(robot):
    q = robot.inverse_kinematics({"platform": np.array([0.03, -0.02, -0.45])})
    np.testing.assert_allclose(robot.pose(q, "platform").p, [0.03, -0.02, -0.45], atol=1e-10)
    np.testing.assert_allclose(robot.pose(q, "platform").R, np.eye(3), atol=1e-10)


def test_holding_torques_are_the_slopes_of_the_potential_energy(robot):
    q = robot.assemble({"motor1": 0.1, "motor2": -0.15, "motor3": 0.05})
    rest = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, rest, rest)
    for k in range(1, 4):
        given = {f"motor{j}": q[robot.slice_q(f"motor{j}")][0] for j in range(1, 4)}
        sides = []
        for step in (1e-5, -1e-5):
            moved = robot.assemble({**given, f"motor{k}": given[f"motor{k}"] + step}, guess=q)
            sides.append(float(robot.potential_energy(moved)))
        slope = (sides[0] - sides[1]) / 2e-5
        assert tau[robot.slice_v(f"motor{k}")][0] == pytest.approx(slope, rel=1e-7)
    idle = [j for j in robot.joints if not j.startswith("motor")]
    assert all(np.all(tau[robot.slice_v(j)] == 0.0) for j in idle)
