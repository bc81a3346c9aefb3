"""Two ways to find where bodies are: from the arrays of a plan, and by walking the graph of the mechanism."""

from types import SimpleNamespace

import numpy as np
import pytest

from catena.spatial import Pose


def random_state(plan, seed=0):
    """A random position of every tree joint."""
    random = np.random.default_rng(seed)
    q = np.empty(plan.nq)
    for node in range(1, plan.n):
        kind = plan.kind[node]
        a, n = plan.q_start[node], plan.q_size[node]
        q[a : a + n] = kind.integrate(kind.neutral(), random.normal(size=kind.nv))
    return q


def joint_positions(plan, q):
    """Tree joint name -> its coordinates."""
    return {plan.joint[i]: q[plan.q_start[i] : plan.q_start[i] + plan.q_size[i]] for i in range(1, plan.n)}


def node_poses(plan, q):
    """4x4 pose of every node in ground, from the arrays of the plan alone."""
    poses = [np.eye(4)]
    for i in range(1, plan.n):
        placement, motion = np.eye(4), np.eye(4)
        placement[:3, :3], placement[:3, 3] = plan.placement_R[i].T, plan.placement_p[i]
        kind = plan.kind[i].with_params(plan.params[i])
        X = kind.transform(q[plan.q_start[i] : plan.q_start[i] + plan.q_size[i]])
        motion[:3, :3], motion[:3, 3] = X.R.T, X.p
        poses.append(poses[plan.parent[i]] @ placement @ motion)
    return poses


def planned_poses(plan, q):
    """4x4 pose of every body and frame in ground, from the arrays of the plan."""
    nodes = node_poses(plan, q)
    return {name: nodes[node] @ pose.matrix() for name, (node, pose) in plan.body_pose.items()}


def walked_poses(mechanism, positions, left_out=(), root=None):
    """4x4 pose of every body and frame in ground: parent * in_parent * motion(q) * inverse(in_child).

    Joints whose position is given, fixed joints and locked joints are walked, except those left out.
    """
    poses = {"ground": np.eye(4)}
    if root is not None:
        virtual = positions[f"root:{root}"]
        poses[root] = Pose(p=virtual[:3], quat=virtual[3:]).matrix()
    for _ in mechanism.bodies:
        for joint in mechanism.joints.values():
            if joint.name in left_out:
                continue
            if joint.locked_at is not None:
                q = joint.locked_at
            elif joint.kind.nv == 0:
                q = np.zeros(0)
            elif joint.name in positions:
                q = positions[joint.name]
            else:
                continue
            step = (joint.in_parent * joint.kind.transform(q).pose() * joint.in_child.inverse()).matrix()
            if joint.parent in poses and joint.child not in poses:
                poses[joint.child] = poses[joint.parent] @ step
            elif joint.child in poses and joint.parent not in poses:
                poses[joint.parent] = poses[joint.child] @ np.linalg.inv(step)
    for frame in mechanism.frames.values():
        poses[frame.name] = poses[frame.body] @ frame.pose.matrix()
    return poses


def assert_same_poses(mechanism, plan, seed=0):
    """The two ways agree on every body and frame at a random position."""
    q = random_state(plan, seed)
    pinned = plan.root if any(name.startswith("root:") for name in plan.joints) else None
    walked = walked_poses(mechanism, joint_positions(plan, q), plan.loops, pinned)
    planned = planned_poses(plan, q)
    assert set(walked) == set(planned) == set(mechanism.bodies) | set(mechanism.frames)
    for name, pose in planned.items():
        np.testing.assert_allclose(pose, walked[name], atol=1e-11, err_msg=name)
    return q


@pytest.fixture
def kinematics():
    """The functions of this file."""
    return SimpleNamespace(
        random_state=random_state,
        joint_positions=joint_positions,
        node_poses=node_poses,
        walked_poses=walked_poses,
        assert_same_poses=assert_same_poses,
    )
