"""Poses of bodies and frames against the definition: pose(parent) * in_parent * motion(q) * inverse(in_child)."""

import numpy as np
import pytest

from benchmarks.states import random_states
from catena.spatial import Pose

SEEDS = range(10)


def walked(mechanism, system, q):
    """Poses of all bodies and frames from the definition, joint by joint in plain numbers."""
    poses = {"ground": Pose()}
    while len(poses) < len(mechanism.bodies):
        for joint in mechanism.joints.values():
            if (joint.parent in poses) == (joint.child in poses):
                continue
            position = q[system.slice_q(joint.name)] if joint.kind.nq else np.zeros(0)
            step = joint.in_parent * joint.kind.transform(position).pose() * joint.in_child.inverse()
            if joint.parent in poses:
                poses[joint.child] = poses[joint.parent] * step
            else:
                poses[joint.parent] = poses[joint.child] * step.inverse()
    return poses | {frame.name: poses[frame.body] * frame.pose for frame in mechanism.frames.values()}


@pytest.mark.parametrize("seed", SEEDS)
def test_poses_follow_the_definition(mixed, agree, seed):
    mechanism = mixed(seed)
    system = mechanism.system()
    q = random_states(system, 1, seed).first().q
    expected = walked(mechanism, system, q)
    ours = system.body_poses(q)
    assert ours.keys() == expected.keys()
    for name, pose in expected.items():
        agree(ours[name], pose.matrix(), 1e-14)
        agree(system.pose(q, name).matrix(), pose.matrix(), 1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_body_poses_and_the_poses_of_single_frames(mixed, agree, seed):
    system = mixed(seed).system()
    q = random_states(system, 4, seed).q
    for name, matrices in system.body_poses(q).items():
        agree(system.pose(q, name), matrices, 1e-15)


def test_ground_stays_where_it_is(mixed):
    system = mixed(3).system()
    q = random_states(system, 2, 3).q
    assert np.array_equal(system.pose(q[0], "ground").matrix(), np.eye(4))
    assert np.array_equal(system.body_poses(q)["ground"], np.broadcast_to(np.eye(4), (2, 4, 4)))


def test_one_state_gives_a_pose_and_a_batch_gives_matrices(mixed):
    system = mixed(3).system()
    q = random_states(system, 2, 3).q
    assert isinstance(system.pose(q[0], "body4"), Pose)
    assert system.pose(q, "body4").shape == (2, 4, 4)


def test_the_seeds_of_these_tests_meet_every_kind_in_both_directions(mixed):
    """What is called a test over all kinds has to be one."""
    met = set()
    for seed in SEEDS:
        mechanism = mixed(seed)
        plan = mechanism.system().plan
        flipped = {plan.joint[i]: bool(plan.flipped[i]) for i in range(1, plan.n)}
        for name, joint in mechanism.joints.items():
            met.add((type(joint.kind).__name__, flipped.get(name)))
    kinds = [
        "Revolute",
        "Prismatic",
        "Helical",
        "Cylindrical",
        "Universal",
        "Spherical",
        "Planar",
        "Free",
        "Sdof",
    ]
    assert met >= {(kind, way) for kind in kinds for way in (False, True)} | {("Fixed", None)}
