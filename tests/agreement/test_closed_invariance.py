"""A mechanism with loops moves the same, and its joints pass on the same wrenches, however it is described and planned:
rotated as a whole, added in another order, with joints reversed, with loops cut elsewhere, from another root."""

import numpy as np
import pytest

import catena as ct
from catena.errors import PlanError
from catena.mechanism.generators import (
    andrews,
    arms_on_object,
    bricard,
    four_bar,
    hand,
    n_four_bars,
    nested_loops,
    random_mechanism,
    scissor_lift,
    spatial_four_bar,
    stewart,
    walker,
)
from catena.spatial import Pose, Transform
from tests.agreement.edges import edge

MECHANISMS = {
    "four_bar": four_bar,
    "n_four_bars(3)": lambda: n_four_bars(3),
    "stewart": stewart,
    "arms_on_object(3, 7)": lambda: arms_on_object(3, 7),
    "hand": hand,
    "walker(3, point)": lambda: walker(3),
    "walker(2, flat)": lambda: walker(2, "flat"),
    "bricard": bricard,
    "spatial_four_bar": spatial_four_bar,
    "scissor_lift(2)": lambda: scissor_lift(2),
    "nested_loops(2)": lambda: nested_loops(2),
    "andrews": andrews,
    "random 3": lambda: random_mechanism(
        3, 6, ["Revolute", "Universal", "Spherical", "Helical", "Planar"], 2
    ),
    "random 8": lambda: damped(
        random_mechanism(8, 7, ["Revolute", "Cylindrical", "Spherical", "Prismatic"], 3)
    ),
}


def damped(mechanism):
    """With viscous and Coulomb friction; a joint that loops block, whose velocity is rounding, has next to none."""
    result = ct.Mechanism(mechanism.name, mechanism.gravity)
    for body in list(mechanism.bodies.values())[1:]:
        result.add_body(body.name, body.mass, body.com, body.inertia)
    for j in mechanism.joints.values():
        result.add_joint(
            j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, damping=0.7, friction=0.3
        )
    return result


TURN = Pose(p=(0.3, -1.2, 0.7), rpy=(0.4, -1.1, 2.3))


def rebuilt(mechanism, turn=None, seed=None, reverse=False):
    """The same mechanism turned as a whole by the pose `turn`, with bodies and joints added in an order that `seed`
    shuffles, or with every other joint declared from its child to its parent."""
    turn = Pose() if turn is None else turn
    result = ct.Mechanism(mechanism.name, gravity=turn.R @ mechanism.gravity)
    bodies, joints = list(mechanism.bodies.values())[1:], list(mechanism.joints.values())
    if seed is not None:
        random = np.random.default_rng(seed)
        bodies = [bodies[i] for i in random.permutation(len(bodies))]
        joints = [joints[i] for i in random.permutation(len(joints))]
    for body in bodies:
        result.add_body(body.name, body.mass, body.com, body.inertia)

    def side(body, pose):
        return turn * pose if body == "ground" else pose

    for number, j in enumerate(joints):
        ends, kind = ((j.parent, j.in_parent), (j.child, j.in_child)), j.kind
        if reverse and number % 2:
            ends, kind = ends[::-1], kind.flip()
        (parent, at_parent), (child, at_child) = ends
        result.add_joint(
            j.name, parent, child, kind, side(parent, at_parent), side(child, at_child),
            damping=j.damping, friction=j.friction, actuated=j.actuated,
        )  # fmt: skip
    return result


def carried(source, q, v, target, turn):
    """The state of `target` in which all bodies are where `source` has them, turned, and move as they do there."""
    poses = {
        name: Pose() if name == "ground" else turn * source.pose(q, name) for name in source.mechanism.bodies
    }
    twists = {name: source.twist(q, v, name) for name in source.mechanism.bodies}
    position, velocity = np.zeros(target.nq), np.zeros(target.nv)
    for name in target.joints:
        joint = edge(target.mechanism, name)
        near, far = poses[joint.parent] * joint.in_parent, poses[joint.child] * joint.in_child
        X = Transform.from_pose(near.inverse() * far)
        at_parent = Transform.from_pose(joint.in_parent).motion_matrix() @ twists[joint.parent]
        at_child = Transform.from_pose(joint.in_child).motion_matrix() @ twists[joint.child]
        position[target.slice_q(name)] = joint_q = joint.kind.coordinates(X)
        S = np.asarray(joint.kind.motion_space(joint_q).array, dtype=float)
        relative = at_child - X.motion_matrix() @ at_parent
        velocity[target.slice_v(name)] = np.linalg.lstsq(S, relative, rcond=None)[0]
    return position, velocity


def body_accelerations(system, q, v, tau):
    vdot = system.forward_dynamics(q, v, tau)
    return {
        name: system.jacobian(q, name) @ vdot + system.bias_acceleration(q, v, name)
        for name in list(system.mechanism.bodies)[1:]
    }


def assert_same(source, state, target, turn=None):
    """Accelerations of all bodies, in their own axes, and wrenches of all joints on the child that `source` names."""
    turn = Pose() if turn is None else turn
    q, v, tau = state
    Q, V = carried(source, q, v, target, turn)
    np.testing.assert_allclose(target.closure(Q, V), 0.0, atol=1e-10)
    # Only joints that are in both trees can be given efforts.
    tau, Tau = tau.copy(), np.zeros(target.nv)
    for name in source.joints:
        if name in target.joints:
            Tau[target.slice_v(name)] = tau[source.slice_v(name)]
        else:
            tau[source.slice_v(name)] = 0.0
    expected, ours = body_accelerations(source, q, v, tau), body_accelerations(target, Q, V, Tau)
    size = max(np.abs(a).max() for a in expected.values())
    for name, a in expected.items():
        np.testing.assert_allclose(ours[name], a, atol=1e-9 * size, err_msg=name)
    wrenches, theirs = target.reactions(Q, V, Tau), source.reactions(q, v, tau)
    size = max(np.abs(f).max() for f in theirs.values())
    for name, f in theirs.items():
        joint, same = source.mechanism.joints[name], target.mechanism.joints[name]
        g = wrenches[name]
        if same.child != joint.child:
            # The wrench on the other body is the opposite one, seen from the other joint frame.
            ends = {
                end: Pose() if end == "ground" else source.pose(q, end) for end in (joint.parent, joint.child)
            }
            near, far = ends[joint.parent] * joint.in_parent, ends[joint.child] * joint.in_child
            g = -Transform.from_pose(near.inverse() * far).force_matrix() @ g
        np.testing.assert_allclose(g, f, atol=1e-8 * size, err_msg=name)


@pytest.fixture(params=MECHANISMS)
def moving(request, states_of):
    """A mechanism, its system and one closed state in motion."""
    mechanism = MECHANISMS[request.param]()
    system = mechanism.system()
    q, v, tau = states_of(system, 1, seed=4)
    return mechanism, system, (q[0], v[0], tau[0])


def test_rotated_as_a_whole(moving):
    mechanism, system, state = moving
    assert_same(system, state, rebuilt(mechanism, TURN).system(), TURN)


def test_added_in_another_order(moving):
    mechanism, system, state = moving
    for seed in (1, 2):
        assert_same(system, state, rebuilt(mechanism, seed=seed).system())


def test_with_joints_reversed(moving):
    mechanism, system, state = moving
    assert_same(system, state, rebuilt(mechanism, reverse=True).system())


def test_with_loops_cut_elsewhere(moving):
    mechanism, system, state = moving
    tried = 0
    for name in list(mechanism.joints)[:: max(1, len(mechanism.joints) // 6)]:
        if name in system.loops:
            continue
        try:
            target = mechanism.system(cut=[name])
        except PlanError:
            continue
        tried += 1
        assert_same(system, state, target)
    assert tried


def test_from_another_root(moving):
    mechanism, system, state = moving
    bodies = list(mechanism.bodies)[1:]
    for body in (bodies[0], bodies[-1]):
        assert_same(system, state, mechanism.system(root=body))
