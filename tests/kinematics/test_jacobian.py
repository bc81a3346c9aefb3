"""The Jacobian against twists, against the poses it is the derivative of, and its own derivative against Jdot v."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.spatial import Transform

SEEDS = range(10)
FRAMES = ["body9", "tool6", "body1"]


@pytest.mark.parametrize("seed", SEEDS)
def test_twist_is_the_jacobian_times_v(mixed, agree, seed):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 3, seed)
    for frame in FRAMES:
        agree(np.einsum("bij,bj->bi", system.jacobian(q, frame), v), system.twist(q, v, frame), 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_twist_is_the_derivative_of_the_pose(mixed, agree, derivative, seed):
    """In the frame's own axes: R^T dR/dt is the skew matrix of the angular part, R^T dp/dt the linear part."""
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 3, seed)
    for frame in FRAMES:
        rate = derivative(lambda t, frame=frame: system.pose(system.integrate(q, v, t), frame).matrix())
        R = system.pose(q, frame)[:, :3, :3]
        local = np.swapaxes(R, 1, 2) @ rate[:, :3]
        skew = local[:, :, :3]
        twist = np.stack(
            [skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0], local[:, 0, 3], local[:, 1, 3], local[:, 2, 3]],
            axis=-1,
        )
        agree(twist, system.twist(q, v, frame), 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_acceleration_is_the_derivative_of_the_jacobian_times_v(mixed, agree, derivative, seed):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 3, seed)
    for frame in FRAMES:
        rate = derivative(lambda t, frame=frame: system.jacobian(system.integrate(q, v, t), frame))
        agree(np.einsum("bij,bj->bi", rate, v), system.bias_acceleration(q, v, frame), 1e-10, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_the_jacobian_is_its_derivative_in_all_axes(mixed, agree, derivative, seed):
    """As a matrix, and times v what a frame accelerates by when joints do not."""
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 3, seed)
    for frame in FRAMES:
        for axes in ("frame", "aligned", "ground"):
            rate = derivative(
                lambda t, frame=frame, axes=axes: system.jacobian(system.integrate(q, v, t), frame, axes)
            )
            agree(ct.jacobian_rate(system, q, v, frame, axes), rate, 1e-10, scale=1.0)
        found = ct.jacobian_rate(system, q, v, frame)
        agree(np.einsum("bij,bj->bi", found, v), system.bias_acceleration(q, v, frame), 1e-13, scale=1.0)
        agree(ct.jacobian_rate(system, q[0], v[0], frame), found[0], 1e-14)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_acceleration_of_a_frame_is_the_derivative_of_its_twist(mixed, agree, derivative, seed):
    """d/dt twist = J vdot + Jdot v."""
    system = mixed(seed).system()
    q, v, vdot, _ = random_states(system, 3, seed)
    for frame in FRAMES:
        rate = derivative(lambda t, frame=frame: system.twist(system.integrate(q, v, t), v + t * vdot, frame))
        J = system.jacobian(q, frame)
        agree(
            rate, np.einsum("bij,bj->bi", J, vdot) + system.bias_acceleration(q, v, frame), 1e-10, scale=1.0
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_on_one_body_share_its_motion(mixed, agree, seed):
    """J of a frame is the transform from body to frame times J of the body."""
    mechanism = mixed(seed)
    system = mechanism.system()
    q = random_states(system, 3, seed).q
    X = Transform.from_pose(mechanism.frames["tool7"].pose).motion_matrix()
    agree(system.jacobian(q, "tool7"), X @ system.jacobian(q, "body7"), 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_joints_that_do_not_carry_the_frame_are_zero(mixed, seed):
    system = mixed(seed).system()
    q = random_states(system, 2, seed).q
    plan = system.plan
    node = plan.body_node["body5"]
    carrying = set()
    while node:
        carrying.add(plan.joint[node])
        node = int(plan.parent[node])
    J = system.jacobian(q, "body5")
    for joint in system.joints:
        moved = bool(np.any(J[..., system.slice_v(joint)]))
        assert moved == (joint in carrying)


def test_ground_does_not_move(mixed):
    system = mixed(0).system()
    q, v, _, _ = random_states(system, 2, 0)
    assert not np.any(system.jacobian(q, "ground"))
    assert not np.any(system.twist(q, v, "ground"))
    assert not np.any(system.bias_acceleration(q, v, "ground"))
