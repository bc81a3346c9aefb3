"""Joint reactions: what all joints pass to a body, and what else acts on it, is what its motion takes."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.spatial import Pose, RigidInertia, Transform

KINDS = [
    "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free",
    ct.Sdof("ry", "rz", "dx"),
]  # fmt: skip
SEEDS = range(8)


def force_across(u, f):
    """u x* f of spatial vectors [angular; linear], [moment; force]."""
    return np.concatenate([np.cross(u[:3], f[:3]) + np.cross(u[3:], f[3:]), np.cross(u[:3], f[3:])])


def joint_positions(system, q, name):
    return q[system.slice_q(name)]


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_balance_on_every_body(mixed, agree, seed):
    """Sum of joint wrenches + gravity + outside wrench = I a + v x* I v, in body frames, for joints both ways round."""
    mechanism = mixed(seed, kinds=KINDS, friction=bool(seed % 3))
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 1, seed).first()
    random = np.random.default_rng(seed)
    outside = {name: random.normal(size=6) for name in ("body3", "body7")}
    vdot = system.forward_dynamics(q, v, tau, f_ext=outside)
    reactions = system.reactions(q, v, tau, f_ext=outside)
    assert list(reactions) == list(system.joints)
    acting = {name: np.zeros(6) for name in mechanism.bodies}
    for name, joint in mechanism.joints.items():
        to_joint = Transform.from_pose(joint.in_child)
        acting[joint.child] += to_joint.motion_matrix().T @ reactions[name]
        step = joint.in_parent * joint.kind.transform(joint_positions(system, q, name)).pose()
        acting[joint.parent] -= Transform.from_pose(step).motion_matrix().T @ reactions[name]
    largest = max(np.abs(w).max() for w in reactions.values())
    for body in list(mechanism.bodies.values())[1:]:
        twist = system.twist(q, v, body.name)
        a = system.jacobian(q, body.name) @ vdot + system.bias_acceleration(q, v, body.name)
        inertia = RigidInertia.from_com(body.mass, body.com, body.inertia).matrix()
        weight = inertia @ np.concatenate([np.zeros(3), system.pose(q, body.name).R.T @ mechanism.gravity])
        taken = inertia @ a + force_across(twist, inertia @ twist)
        agree(acting[body.name] + weight + outside.get(body.name, 0.0), taken, 1e-12, largest)


@pytest.mark.parametrize("seed", SEEDS)
def test_along_its_motions_a_joint_passes_what_its_actuator_gives_less_friction(mixed, agree, seed):
    """S^T times the wrench, both as the joint was described, is tau - damping v - friction sign(v)."""
    mechanism = mixed(seed, kinds=KINDS, friction=True)
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 1, seed).first()
    reactions = system.reactions(q, v, tau)
    largest = max(np.abs(w).max() for w in reactions.values())
    for name, joint in mechanism.joints.items():
        part = system.slice_v(name)
        S = joint.kind.motion_space(joint_positions(system, q, name)).array
        given = tau[part] - joint.damping * v[part] - joint.friction * np.sign(v[part])
        agree(S.astype(float).T @ reactions[name], given, 1e-12, largest)


def test_a_hanging_lamp_pulls_at_its_hook():
    """By hand: the hook carries the weight, and the moment of a lamp that hangs aside."""
    mechanism = ct.Mechanism("lamp", gravity=(0.0, 0.0, -10.0))
    mechanism.add_body("lamp", mass=2.0, com=(0.0, 0.0, -0.5), inertia=0.1)
    mechanism.add_joint("hook", "ground", "lamp", ct.Revolute("y"), in_parent=Pose(p=(0, 0, 3)))
    system = mechanism.system()
    hanging = system.reactions(np.zeros(1), np.zeros(1), np.zeros(1))["hook"]
    np.testing.assert_allclose(hanging, [0, 0, 0, 0, 0, 20], atol=1e-14)
    # Turned up to ground -x and held there: the actuator gives 20 N times 0.5 m, and ground up is the lamp's -x.
    quarter = np.array([np.pi / 2])
    held = system.inverse_dynamics(quarter, np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(held, [10.0], atol=1e-14)
    wrench = system.reactions(quarter, np.zeros(1), held)["hook"]
    np.testing.assert_allclose(wrench, [0, 10, 0, -20, 0, 0], atol=1e-13)


def test_the_child_is_the_one_that_was_named(agree):
    """The same joint declared the other way round passes the opposite wrench, seen at its other side."""

    def lamp(named_child):
        mechanism = ct.Mechanism("lamp")
        mechanism.add_body("lamp", mass=2.0, com=(0.1, 0.0, -0.5), inertia=0.1)
        if named_child == "lamp":
            mechanism.add_joint("hook", "ground", "lamp", ct.Revolute("y"))
        else:
            mechanism.add_joint("hook", "lamp", "ground", ct.Revolute("-y"))
        return mechanism.system()

    q, v, tau = np.array([0.7]), np.array([2.0]), np.array([1.5])
    on_lamp = lamp("lamp").reactions(q, v, tau)["hook"]
    on_ground = lamp("ground").reactions(q, v, tau)["hook"]
    R = lamp("lamp").pose(q, "lamp").R
    agree(on_ground, -np.concatenate([R @ on_lamp[:3], R @ on_lamp[3:]]), 1e-14)


@pytest.mark.parametrize("flipped", [False, True], ids=["as described", "the other way round"])
def test_of_a_slide_in_a_redundant_loop_they_do_not_depend_on_the_plan(flipped):
    """A planar linkage has redundant constraints, so that reactions are the smallest; the moment at a slide counts
    about the middle of its two sides, whether it closes the loop or is passed either way round."""
    m = ct.Mechanism("slider crank")
    for name, x in (("crank", 0.1), ("rod", 0.25), ("slider", 0.0), ("rail", 0.0)):
        m.add_body(name, mass=1.0, com=(x, 0.02, 0.01), inertia=(0.01, 0.02, 0.03))
    m.add_joint("R", "ground", "rail", ct.Revolute("y"), Pose(p=(0.1, 0, 0)), Pose(p=(0, 0, 0.05)))
    m.add_joint("A", "ground", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "rod", ct.Revolute("y"), Pose(p=(0.2, 0, 0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("y"), Pose(p=(0.5, 0, 0)))
    ends = [("rail", Pose(p=(0.3, 0, 0.02))), ("slider", Pose(p=(0.02, 0, 0.03)))][:: -1 if flipped else 1]
    m.add_joint("S", ends[0][0], ends[1][0], ct.Prismatic("x"), ends[0][1], ends[1][1])
    found = []
    for cut in "SAR":
        s = m.system(cut=[cut])
        q = s.assemble({"A": 0.6, "R": 0.1}, guess={"S": -0.2 if flipped else 0.2})
        found.append(s.reactions(q, s.velocity(q, {"A": 2.0, "R": 0.3})))
    for other in found[1:]:
        for joint, wrench in found[0].items():
            np.testing.assert_allclose(other[joint], wrench, atol=1e-8)
