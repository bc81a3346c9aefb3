"""Poses of bodies and frames against the definition: pose(parent) * in_parent * motion(q) * inverse(in_child)."""

import pickle

import numpy as np
import pytest

import catena as ct
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


def test_one_state_and_a_batch_give_one_type(mixed, agree):
    """The pose of a batch holds the poses of its states, and does with them what each of those does."""
    system = mixed(3).system()
    q = random_states(system, 6, 3).q.reshape(2, 3, -1)
    many, inner = system.pose(q, "body4"), Pose(p=(0.1, 0.2, 0.3), rpy=(0.3, -0.2, 0.5))
    assert isinstance(many, Pose) and many.shape == (2, 3, 4, 4) and repr(many) == "<2 x 3 poses>"
    agree(np.asarray(many)[..., :3, 3], many[..., :3, 3], 0.0)
    for at in np.ndindex(2, 3):
        one = system.pose(q[at], "body4")
        assert isinstance(one, Pose)
        for of in (
            lambda pose: pose.p,
            lambda pose: pose.R,
            lambda pose: pose.quat,
            lambda pose: pose.euler("ZYX"),
            lambda pose: pose.inverse().matrix(),
            lambda pose: (pose * inner).matrix(),
            lambda pose: (inner * pose).matrix(),
            lambda pose: pose * (1.0, 2.0, 3.0),
        ):
            agree(of(many)[at], of(one), 1e-14)
    assert many == system.pose(q, "body4") and many != system.pose(q[0], "body4")
    assert pickle.loads(pickle.dumps(many)) == many


def test_a_joint_sits_at_one_pose_not_at_a_batch_of_them(mixed):
    system = mixed(3).system()
    poses = system.pose(random_states(system, 2, 3).q, "body4")
    with pytest.raises(ct.ModelError, match="frame 'far': .* <2 poses>, which is not a pose"):
        mixed(3).add_frame("far", "body4", poses)


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
