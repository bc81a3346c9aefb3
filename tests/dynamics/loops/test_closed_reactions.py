"""Reactions with loops: the wrenches of all joints balance every body, and do not depend on the plan."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.tree.friction import friction_at
from catena.mechanism.generators import arms_on_object, four_bar
from catena.spatial import Pose, RigidInertia, Transform


def force_across(u, f):
    """u x* f of spatial vectors [angular; linear], [moment; force]."""
    return np.concatenate([np.cross(u[:3], f[:3]) + np.cross(u[3:], f[3:]), np.cross(u[:3], f[3:])])


def motion(system, q, v, vdot, body):
    """Twist and acceleration of a body by finite recursion of the public functions."""
    a = system.jacobian(q, body) @ vdot + system.bias_acceleration(q, v, body)
    return system.twist(q, v, body), a


def assert_balanced(system, q, v, vdot, reactions, outside, a_base, tolerance=1e-10):
    """Sum of joint wrenches + gravity + outside wrench = I a + v x* I v on every body but ground."""
    mechanism = system.mechanism
    acting = {name: np.zeros(6) for name in mechanism.bodies}
    for name, joint in mechanism.joints.items():
        child = system.pose(q, joint.child) * joint.in_child
        acting[joint.child] += Transform.from_pose(joint.in_child).motion_matrix().T @ reactions[name]
        # On the parent the same wrench acts the other way, at the same place in space.
        on_parent = system.pose(q, joint.parent).inverse() * child
        acting[joint.parent] -= Transform.from_pose(on_parent).motion_matrix().T @ reactions[name]
    largest = max(np.abs(w).max() for w in reactions.values())
    for body in list(mechanism.bodies.values())[1:]:
        twist, a = motion(system, q, v, vdot, body.name)
        pose = system.pose(q, body.name)
        a = a + Transform.from_pose(pose).motion_matrix() @ a_base
        inertia = RigidInertia.from_com(body.mass, body.com, body.inertia).matrix()
        weight = inertia @ np.concatenate([np.zeros(3), pose.R.T @ mechanism.gravity])
        taken = inertia @ a + force_across(twist, inertia @ twist)
        left = acting[body.name] + weight + outside.get(body.name, 0.0) - taken
        assert np.abs(left).max() <= tolerance * largest, (body.name, left)


def test_wrenches_balance_on_every_body(closed_system, closed_state):
    system = closed_system
    q, v = closed_state(system, 5)
    random = np.random.default_rng(5)
    tau, a_base = random.normal(size=system.nv), random.normal(size=6)
    outside = {body: random.normal(size=6) for body in list(system.mechanism.bodies)[1:3]}
    vdot = system.forward_dynamics(q, v, tau, f_ext=outside, base_acceleration=a_base)
    reactions = system.reactions(q, v, tau, f_ext=outside, base_acceleration=a_base)
    assert list(reactions) == list(system.mechanism.joints)
    assert_balanced(system, q, v, vdot, reactions, outside, a_base)


def test_along_its_motions_a_joint_passes_what_its_actuator_gives_less_friction(
    closed_system, closed_state, agree
):
    """S^T times the wrench, as the joint was described; loop joints have no actuator in tau."""
    system = closed_system
    q, v = closed_state(system, 6)
    tau = np.random.default_rng(6).normal(size=system.nv)
    reactions = system.reactions(q, v, tau)
    largest = max(np.abs(w).max() for w in reactions.values())
    for name, joint in system.mechanism.joints.items():
        if joint.dof == 0 or joint.name not in (*system.joints, *system.loops):
            continue
        S = np.asarray(joint.kind.motion_space(system.joint_position(q, name)).array, dtype=float)
        rate = system.joint_velocity(q, v, name)
        # A joint that loops hold still has a velocity of rounding, which is no motion and meets no friction.
        given = -friction_at(joint.damping, joint.friction, rate)
        if name in system.joints:
            given = given + tau[system.slice_v(name)]
        agree(S.T @ reactions[name], given, 1e-10, largest)


CUTS = {
    "four-bar": (four_bar, ["A", "B", "C", "D"]),
    "2 arms": (lambda: arms_on_object(2), ["grip1", "grip2", "arm1/joint2"]),
}


@pytest.mark.parametrize("name", CUTS)
def test_motion_and_reactions_do_not_depend_on_where_loops_are_cut(name, agree):
    """Redundant constraints included: the smallest reactions are the smallest over all joints."""
    build, cuts = CUTS[name]
    results = []
    for cut in cuts:
        system = build().system(cut=[cut])
        q, v = system.neutral(), np.zeros(system.nv)
        f_ext = {"crank" if name == "four-bar" else "object": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
        vdot = system.forward_dynamics(q, v, f_ext=f_ext)
        body = list(system.mechanism.bodies)[-1]
        results.append((system.reactions(q, v, f_ext=f_ext), system.jacobian(q, body) @ vdot))
    for reactions, a in results[1:]:
        agree(a, results[0][1], 1e-11)
        for joint, wrench in results[0][0].items():
            agree(reactions[joint], wrench, 1e-9, max(np.abs(w).max() for w in results[0][0].values()))


def test_three_hinges_share_the_weight_of_a_door():
    """By hand: equal vertical forces; the moment of the weight is taken by horizontal forces of the outer hinges and by
    moments, whichever is smaller; sums are those of one hinge."""
    m = ct.Mechanism("door", gravity=(0, 0, -10))
    m.add_body("leaf", 18.0, (0.4, 0, 1.5), (7, 8, 1.5))
    for k in range(3):
        at = Pose(p=(0, 0, 0.5 + k))
        m.add_joint(f"hinge{k}", "ground", "leaf", ct.Revolute("z"), at, at)
    w = m.system().reactions([0.0], [0.0])
    total = sum(
        np.concatenate([x[:3] + np.cross([0, 0, 0.5 + k], x[3:]), x[3:]]) for k, x in enumerate(w.values())
    )
    np.testing.assert_allclose(total, [0, -72.0, 0, 0, 0, 180.0], atol=1e-9)
    for x in w.values():
        np.testing.assert_allclose(x[5], 60.0, atol=1e-9)
    np.testing.assert_allclose(w["hinge0"][3], -w["hinge2"][3], atol=1e-9)
    np.testing.assert_allclose(w["hinge1"][3], 0.0, atol=1e-9)


def test_a_cycle_of_welds_carries_the_least():
    """A plate on two posts, all welded: each post carries half."""
    m = ct.Mechanism("table", gravity=(0, 0, -10))
    m.add_body("plate", 4.0, (0, 0, 0), 0.1)
    for k, x in enumerate((-1.0, 1.0)):
        m.add_body(f"post{k}", 1.0, (0, 0, 0.5), 0.1)
        m.add_joint(f"foot{k}", "ground", f"post{k}", ct.Fixed(), Pose(p=(x, 0, 0)))
        m.add_joint(f"head{k}", f"post{k}", "plate", ct.Fixed(), Pose(p=(0, 0, 1)), Pose(p=(x, 0, 0)))
    m.add_body("bob", 1.0, inertia=0.1)
    m.add_joint("hang", "plate", "bob", ct.Revolute("y"))
    s = m.system()
    w = s.reactions(np.zeros(1), np.zeros(1))
    for k in range(2):
        np.testing.assert_allclose(w[f"head{k}"][5], 25.0, atol=1e-9)
        np.testing.assert_allclose(w[f"foot{k}"][5], 35.0, atol=1e-9)
    np.testing.assert_allclose(w["hang"][5], 10.0, atol=1e-12)


def test_welded_and_locked_joints_have_reactions_too():
    """A bracket welded to a locked arm."""
    m = ct.Mechanism("bracket", gravity=(0, 0, -10))
    m.add_body("arm", 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("shoulder", "ground", "arm", ct.Revolute("y"))
    m.add_body("bracket", 2.0, (0, 0, 0), 0.1)
    m.add_joint("weld", "bracket", "arm", ct.Fixed(), in_child=Pose(p=(1, 0, 0)))
    m.add_body("bob", 1.0, (0, 0, -1), 0.1)
    m.add_joint("hook", "bracket", "bob", ct.Revolute("y"))
    w = m.lock("shoulder").system().reactions(np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(w["hook"], [0, 0, 0, 0, 0, 10], atol=1e-12)
    np.testing.assert_allclose(w["weld"], [0, 0, 0, 0, 0, -30], atol=1e-12)
    np.testing.assert_allclose(w["shoulder"], [0, -35, 0, 0, 0, 40], atol=1e-12)
