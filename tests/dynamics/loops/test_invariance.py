"""Copies of a mechanism that are the same mechanism: moved and turned as a whole, with joints reversed, renumbered, and
in other units. Motion, reactions and rank do not change."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import (
    LoopProblem,
    absolute,
    joint_multipliers,
    kkt,
    minimal,
    reference_member,
)
from catena.mechanism.generators import arms_on_object, four_bar, n_four_bars, stewart
from catena.spatial import Pose

BUILDS = {
    "four-bar": four_bar,
    "3 four-bars": lambda: n_four_bars(3),
    "stewart": stewart,
    "2 arms": lambda: arms_on_object(2),
    "3 short arms": lambda: arms_on_object(3, 4),
}
WORLD = Pose(p=(3.0, -2.0, 5.0), quat=np.array([0.8, 0.0, 0.48, 0.36]))


def copy(mechanism, world=None, reverse=False, order=None, length=1.0, mass=1.0):
    """The mechanism elsewhere, with parent and child exchanged, joints added in another order, or in other units."""
    world = Pose() if world is None else world
    result = ct.Mechanism(mechanism.name, gravity=world.R @ mechanism.gravity * length)
    for body in list(mechanism.bodies.values())[1:]:
        result.add_body(body.name, body.mass * mass, body.com * length, body.inertia * mass * length**2)
    joints = list(mechanism.joints.values())
    for k in range(len(joints)) if order is None else order:
        j = joints[k]
        ends = []
        for body, pose in ((j.parent, j.in_parent), (j.child, j.in_child)):
            pose = Pose(p=pose.p * length, R=pose.R)
            ends.append((body, world * pose if body == "ground" else pose))
        (a, at_a), (b, at_b) = ends[::-1] if reverse else ends
        kind = j.kind.flip() if reverse else j.kind
        result.add_joint(j.name, a, b, kind, at_a, at_b, damping=j.damping, friction=j.friction)
    return result


@pytest.mark.parametrize("how", ["moved", "reversed", "renumbered"])
@pytest.mark.parametrize("name", BUILDS)
def test_a_copy_moves_and_carries_alike(name, how, agree):
    mechanism = BUILDS[name]()
    order = np.random.default_rng(0).permutation(len(mechanism.joints))
    change = {"moved": {"world": WORLD}, "reversed": {"reverse": True}, "renumbered": {"order": order}}[how]
    body = list(mechanism.bodies)[-1]
    results = []
    for m in (mechanism, copy(mechanism, **change)):
        s = m.system()
        q, v = s.neutral(), np.zeros(s.nv)
        f_ext = {body: [0.3, -0.2, 0.1, 3.0, 2.0, 1.0]}
        a = s.jacobian(q, body) @ s.forward_dynamics(q, v, f_ext=f_ext)
        results.append((a, s.reactions(q, v, f_ext=f_ext)))
    (a, carried), (a_copy, carried_copy) = results
    agree(a_copy, a, 1e-11, 1.0)
    # Both sides of these joints coincide at q = 0, so a reversed joint passes the opposite wrench.
    sign = -1.0 if how == "reversed" else 1.0
    largest = max(np.abs(w).max() for w in carried.values())
    for joint, wrench in carried.items():
        agree(sign * carried_copy[joint], wrench, 1e-11, largest)


@pytest.mark.parametrize("length, mass", [(1e-3, 1.0), (1e3, 1.0), (1.0, 1e-6), (1e-6, 1e-12), (1e6, 1e12)])
@pytest.mark.parametrize("name", ["four-bar", "3 four-bars", "stewart", "2 arms"])
def test_units_do_not_matter(name, length, mass, agree):
    """Singular values, ranks and the accelerations of rotating joints, by all formulations."""
    problems = []
    for m in (BUILDS[name](), copy(BUILDS[name](), length=length, mass=mass)):
        s = m.system()
        problems.append(LoopProblem(s.mechanics.evaluator, s.neutral(), np.zeros(s.nv)))
    here, there = problems
    sigma = [np.linalg.svd(p.scaled, compute_uv=False) for p in problems]
    agree(sigma[1], sigma[0], 1e-13)
    unit = np.where(np.linalg.norm(here.motions.S_rows[0, :, :3], axis=-1) > 0.5, 1.0, length)
    expected = kkt(here)
    for formulation in (kkt, absolute, joint_multipliers, minimal, reference_member):
        solution = formulation(there)
        agree(solution.vdot / unit, expected.vdot, 1e-11, 1.0)
        np.testing.assert_array_equal(solution.rank, expected.rank)


@pytest.mark.parametrize("angle, rank", [(0.0, 2), (1e-6, 3), (1e-3, 3)])
def test_a_misaligned_axis_is_seen(angle, rank):
    """A four-bar whose last axis leans out of the plane by a microradian has lost its mobility."""
    m = four_bar()
    leaning = ct.Mechanism("leaning four-bar")
    for body in list(m.bodies.values())[1:]:
        leaning.add_body(body.name, body.mass, body.com, body.inertia + 0.01 * np.eye(3))
    for j in m.joints.values():
        lean = Pose(rpy=(angle if j.name == "C" else 0.0, 0.0, 0.0))
        leaning.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent * lean, j.in_child * lean)
    # The lean is given to both sides, so the loop is still closed here.
    s = leaning.system(cut=["D"])
    problem = LoopProblem(s.mechanics.evaluator, s.neutral(), np.zeros(3))
    assert problem.closure_error.max() < 1e-15
    for formulation in (kkt, absolute, joint_multipliers, minimal, reference_member):
        assert formulation(problem).rank.tolist() == [rank]
