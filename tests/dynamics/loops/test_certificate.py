"""Regular states are certified by the compiled elimination whatever vanishes in them, so that none is solved again by
the rank-revealing decomposition, which takes hundreds of times longer."""

import time

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states
from catena.dynamics.loops.formulations import LoopProblem
from catena.dynamics.loops.formulations.certified_elimination import doubt, elimination, is_trusted
from catena.mechanism.generators import four_bar, walker


def held_body():
    """One body on a Free joint, held at a point by a ball joint that is not in the tree."""
    mechanism = ct.Mechanism("held body")
    mechanism.add_body("body", mass=1.3, com=(0.1, 0.02, 0.3), inertia=(0.1, 0.2, 0.15))
    mechanism.add_joint("base", "ground", "body", ct.Free())
    mechanism.add_joint("ball", "ground", "body", ct.Spherical(), in_child=ct.Pose(p=(0.2, 0.0, 0.0)))
    return mechanism.system(cut=["ball"])


def standing_walker(contact):
    """A walker on four feet that is planned from its trunk, so that all contacts are loops."""
    mechanism = walker(4, contact)
    return mechanism.system(cut=[name for name in mechanism.joints if name.endswith("contact")])


def floating_four_bar(gravity):
    """A four-bar whose ground link floats."""
    bars = four_bar()
    mechanism = ct.Mechanism("floating four-bar", gravity=(0.0, 0.0, -gravity))
    mechanism.add_body("frame", mass=2.0, com=(0.3, 0.1, 0.0), inertia=(0.2, 0.3, 0.4))
    mechanism.add_joint("base", "ground", "frame", ct.Free())
    for body in bars.bodies.values():
        if body.name != "ground":
            mechanism.add_body(body.name, body.mass, body.com, body.inertia)
    for joint in bars.joints.values():
        ends = ["frame" if end == "ground" else end for end in (joint.parent, joint.child)]
        mechanism.add_joint(joint.name, *ends, joint.kind, joint.in_parent, joint.in_child)
    return mechanism.system()


def rotor_in_two_bearings():
    """A shaft along a skew axis in two bearings, one of which is redundant in five ways; no gravity."""
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    mechanism = ct.Mechanism("rotor", gravity=(0.0, 0.0, 0.0))
    mechanism.add_body("shaft", mass=3.0, com=0.5 * axis, inertia=0.2)
    for name, at in (("near", 0.0), ("far", 1.0)):
        place = ct.Pose(p=at * axis)
        mechanism.add_joint(name, "ground", "shaft", ct.Revolute(tuple(axis)), place, place)
    return mechanism.system()


def truss():
    """Three bars in a triangle, two corners on the ground: it cannot move at all. No gravity."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.0, 0.7]])
    mechanism = ct.Mechanism("truss", gravity=(0.0, 0.0, 0.0))
    for i, (a, b) in enumerate(((0, 2), (1, 2))):
        mechanism.add_body(f"bar{i}", mass=1.0, com=0.5 * (corners[b] - corners[a]), inertia=0.1)
        mechanism.add_joint(f"foot{i}", "ground", f"bar{i}", ct.Revolute("y"), ct.Pose(p=corners[a]))
    at = ct.Pose(p=corners[2]), ct.Pose(p=corners[2] - corners[1])
    mechanism.add_joint("top", "bar0", "bar1", ct.Revolute("y"), *at)
    return mechanism.system()


def moving(system):
    """Closed states that move under forces."""
    return closed_states(system, 16, distinct=16)[:3]


def at_rest(system, tau=0.0):
    """The neutral configuration at rest, with the same force at all joints of the tree but the base."""
    force = np.full((1, system.nv), tau)
    if "base" in system.joints:
        force[:, system.slice_v("base")] = 0.0
    return system.neutral()[None], np.zeros((1, system.nv)), force


def spinning(system, speed):
    """The neutral configuration with all joints turning at one speed, without forces."""
    return system.neutral()[None], np.full((1, system.nv), speed), np.zeros((1, system.nv))


REGULAR = {
    "a body held by a ball joint": lambda: (system := held_body(), moving(system)),
    "a walker on points": lambda: (system := standing_walker("point"), moving(system)),
    "a walker on flat feet": lambda: (system := standing_walker("flat"), moving(system)),
    "a walker planned from its trunk": lambda: (system := walker().system(root="trunk"), moving(system)),
    "a floating four-bar": lambda: (system := floating_four_bar(9.81), moving(system)),
    "a four-bar in free fall": lambda: (system := floating_four_bar(9.81), at_rest(system)),
    "a weightless four-bar at work": lambda: (system := floating_four_bar(0.0), at_rest(system, 2.0)),
    "a rotor in two bearings": lambda: (system := rotor_in_two_bearings(), spinning(system, 5e3)),
    "a truss under load": lambda: (system := truss(), at_rest(system, 5.0)),
}


@pytest.mark.parametrize("name", REGULAR)
def test_no_regular_state_is_solved_twice(name):
    system, (q, v, tau) = REGULAR[name]()
    problem = LoopProblem(system.mechanics.evaluator, q, v, tau)
    solution = elimination(problem)
    assert f"; 0 of {len(q)} states" in solution.note
    expected = system.forward_dynamics(q, v, tau, method="kkt")
    # A mechanism that cannot move is measured by what its bodies would do without loops.
    free = np.linalg.solve(problem.H, problem.force[..., None])[..., 0]
    size = np.maximum(np.abs(expected), np.abs(free)).max(initial=1e-3)
    np.testing.assert_allclose(solution.vdot, expected, rtol=0.0, atol=1e-12 * size)


def test_a_floating_machine_costs_little_more_than_one_on_the_ground():
    """The tree of the second plan stands on a foot and has 15 coordinates; that of the first floats and has 18."""
    floating, grounded = standing_walker("point"), walker().system()
    seconds = []
    for system in (floating, grounded):
        q, v, tau, _ = closed_states(system, 64)
        system.forward_dynamics(q, v, tau)
        # Processor time of this thread: what else the machine does takes none of it.
        start = time.thread_time()
        for _ in range(20):
            system.forward_dynamics(q, v, tau)
        seconds.append(time.thread_time() - start)
    assert seconds[0] < 20.0 * seconds[1]


def test_doubt_is_below_one_where_a_solution_is_trusted():
    rng = np.random.default_rng(0)
    certificate = 10.0 ** rng.uniform((-24, -16, -16, -2), (-16, -8, -8, 2), (2000, 4))
    certificate[:100, 1] = 0.0
    trusted, doubts = is_trusted(*certificate.T), doubt(*certificate.T)
    assert 0 < trusted.sum() < 2000
    np.testing.assert_array_equal(doubts < 1.0, trusted)
    assert doubt(*np.full((4, 1), np.nan)) == np.inf
