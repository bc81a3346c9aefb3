"""One mechanism planned from different roots, and with different spanning trees, moves the same.

A state is carried from one plan to another through what both have: poses and twists of bodies. Positions of joints
come from relative poses, velocities from relative twists by least squares.
"""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import free_flyer, random_mechanism
from catena.spatial import Pose, Transform
from tests.agreement.edges import edge

BODIES = 7


def transferred(source, q, v, target):
    """The state of `target` in which all bodies are where `source` has them and move as they do there."""
    mechanism = source.mechanism
    poses = {name: Pose() if name == "ground" else source.pose(q, name) for name in mechanism.bodies}
    twists = {name: source.twist(q, v, name) for name in mechanism.bodies}
    position, velocity = np.zeros(target.nq), np.zeros(target.nv)
    for name in target.joints:
        parent, child, kind, in_parent, in_child = edge(mechanism, name)
        X = Transform.from_pose((poses[parent] * in_parent).inverse() * poses[child] * in_child)
        at_parent = Transform.from_pose(in_parent).motion_matrix() @ twists[parent]
        at_child = Transform.from_pose(in_child).motion_matrix() @ twists[child]
        position[target.slice_q(name)] = joint_q = kind.coordinates(X)
        S = np.asarray(kind.motion_space(joint_q).array, dtype=float)
        relative = at_child - X.motion_matrix() @ at_parent
        velocity[target.slice_v(name)] = np.linalg.lstsq(S, relative, rcond=None)[0]
    return position, velocity


def efforts(source, tau, target):
    """The same joint efforts; joints that only one plan has get none."""
    result = np.zeros(target.nv)
    for name in target.joints:
        if name in source.joints:
            result[target.slice_v(name)] = tau[source.slice_v(name)]
    return result


def body_accelerations(system, q, v, tau, **outside):
    """The spatial acceleration of every body in its own frame."""
    vdot = system.forward_dynamics(q, v, tau, **outside)
    return {
        name: system.jacobian(q, name) @ vdot + system.bias_acceleration(q, v, name)
        for name in system.mechanism.bodies
    }


def assert_same_motion(agree, source, target, q, v, tau, tolerance=1e-11):
    """Poses, twists, energies, momentum and accelerations of all bodies are the same in both plans."""
    Q, V = transferred(source, q, v, target)
    outside = {"f_ext": {"body2": np.linspace(-1.0, 1.0, 6)}} if "body2" in source.mechanism.bodies else {}
    ours = body_accelerations(target, Q, V, efforts(source, tau, target), **outside)
    theirs = body_accelerations(source, q, v, tau, **outside)
    largest = max(np.abs(a).max() for a in theirs.values())
    poses, expected = target.body_poses(Q), source.body_poses(q)
    for name in source.mechanism.bodies:
        agree(poses[name], expected[name], 1e-12)
        agree(target.twist(Q, V, name), source.twist(q, v, name), 1e-11, scale=1.0)
        agree(ours[name], theirs[name], tolerance, largest)
    agree(target.kinetic_energy(Q, V), source.kinetic_energy(q, v), 1e-12)
    agree(target.momentum(Q, V), source.momentum(q, v), 1e-12)


def floating_mechanism(seed, kinds):
    """A floating tree whose floating joint has no friction, the other joints having some."""
    mechanism = random_mechanism(seed, BODIES, kinds, floating=True, friction=True)
    j = mechanism.joints["joint1"]
    return mechanism.detach("joint1").attach("joint1", j.parent, j.child, j.kind, j.in_parent, j.in_child)


def small_state(system, seed):
    """A state in which no joint is turned by more than half a turn, so that its position can be read off poses."""
    random = np.random.default_rng(seed)
    q = system.integrate(system.neutral(), random.uniform(-0.8, 0.8, system.nv))
    v, tau = random.normal(size=(2, system.nv))
    tau[system.slice_v("joint1")] = 0.0
    return q, v, tau


@pytest.mark.parametrize("seed", range(8))
def test_every_body_may_be_the_root(agree, seed):
    kinds = [
        "Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free",
        ct.Sdof("ry", "rz", "dx"),
    ]  # fmt: skip
    mechanism = floating_mechanism(seed, kinds)
    source = mechanism.system()
    q, v, tau = small_state(source, seed)
    for root in [name for name in mechanism.bodies if name != "ground"]:
        target = mechanism.system(root=root)
        assert target.joints[0] == f"root:{root}" and "joint1" not in target.joints
        assert_same_motion(agree, source, target, q, v, tau)


def test_there_and_back_again(agree):
    """The state itself comes back, not only its motion."""
    mechanism = floating_mechanism(3, ["Revolute", "Universal", "Spherical"])
    source, target = mechanism.system(), mechanism.system(root="body5")
    q, v, tau = small_state(source, 3)
    Q, V = transferred(source, q, v, target)
    q_again, v_again = transferred(target, Q, V, source)
    agree(source.difference(q, q_again), np.zeros(source.nv), 1e-13, scale=1.0)
    agree(v_again, v, 1e-13)


def test_the_free_flyer_from_every_seventh_body(agree):
    mechanism = free_flyer()
    source = mechanism.system()
    random = np.random.default_rng(1)
    q, v, tau, _ = random_states(source, 1, 1).first()
    q = source.integrate(source.neutral(), random.uniform(-0.8, 0.8, source.nv))
    free = [name for name, joint in mechanism.joints.items() if isinstance(joint.kind, ct.Free)]
    for name in free:
        tau[source.slice_v(name)] = 0.0
    for root in list(mechanism.bodies)[1::7]:
        assert_same_motion(agree, source, mechanism.system(root=root), q, v, tau, 1e-10)


def two_trees(seed):
    """Two random trees and three floating joints: ground to each, and between them. Any two span the mechanism."""
    mechanism = ct.Mechanism("two trees", gravity=(1.0, -2.0, -9.0))
    for prefix, part in (
        ("", random_mechanism(seed, 4, KINDS)),
        ("other ", random_mechanism(seed + 50, 4, KINDS)),
    ):
        for body in list(part.bodies.values())[1:]:
            mechanism.add_body(prefix + body.name, body.mass, body.com, body.inertia)
        for j in list(part.joints.values())[1:]:
            ends = prefix + j.parent, prefix + j.child
            mechanism.add_joint(
                prefix + j.name, *ends, j.kind, j.in_parent, j.in_child, damping=0.1, friction=0.2
            )
    mechanism.add_joint("joint1", "ground", "body2", ct.Free(), in_parent=Pose(p=(1, 2, 3), rpy=(1, 0, 2)))
    mechanism.add_joint("far", "other body3", "ground", ct.Free(), in_child=Pose(p=(0, 1, 0), rpy=(0, 1, 0)))
    mechanism.add_joint(
        "between", "body4", "other body1", ct.Free(), in_parent=Pose(p=(0, 0, 1), rpy=(0, 0, 1))
    )
    return mechanism


KINDS = ["Revolute", "Universal", "Spherical", "Helical", "Planar"]


@pytest.mark.parametrize("seed", range(6))
def test_every_spanning_tree_moves_the_same(agree, seed):
    """Each floating joint in turn stays out of the tree, where it constrains nothing."""
    mechanism = two_trees(seed)
    source = mechanism.system(cut=["between"])
    q, v, tau = small_state(source, seed)
    tau[source.slice_v("far")] = 0.0
    for cut in ("between", "joint1", "far"):
        target = mechanism.system(cut=[cut])
        assert target.loops == (cut,)
        assert_same_motion(agree, source, target, q, v, tau)
    for root in ("body1", "other body4"):
        target = mechanism.system(root=root)
        assert len(target.loops) == 2
        assert_same_motion(agree, source, target, q, v, tau)
