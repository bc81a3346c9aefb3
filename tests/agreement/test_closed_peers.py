"""Catena against Pinocchio's constraintDynamics and MuJoCo's equality constraints on mechanisms with loops.

Pinocchio solves the same equations and must agree to rounding. MuJoCo's loops are soft; its accelerations come nearer
to the exact ones in proportion as its impedance nears 1, which also tells that the converter is right.
"""

import mujoco
import numpy as np
import pytest

import catena as ct
from benchmarks.peers.loop_calls import pinocchio_batch
from benchmarks.peers.loops import holds, spanning_tree
from benchmarks.peers.mujoco_model import to_mujoco
from catena.mechanism.generators import (
    andrews,
    arms_on_object,
    bricard,
    four_bar,
    hand,
    n_four_bars,
    nested_loops,
    random_mechanism,
    spatial_four_bar,
    stewart,
    walker,
)

# Mechanism, loop joints that peers have as loops (fixed ones, where the plan would rather cut others), planar.
SHARED = {
    "four_bar": (four_bar, (), False),
    "n_four_bars(5)": (lambda: n_four_bars(5), (), True),
    "n_four_bars(40)": (lambda: n_four_bars(40), (), True),
    "stewart": (stewart, (), False),
    "two arms": (lambda: arms_on_object(2, 7), ("grip2",), False),
    "six arms": (lambda: arms_on_object(6, 6), tuple(f"grip{k}" for k in range(2, 7)), False),
    "hand": (hand, (), False),
    "walker on points": (lambda: walker(4), (), False),
    "bricard": (bricard, (), False),
    "spatial_four_bar": (spatial_four_bar, (), False),
    "nested_loops(3)": (lambda: nested_loops(3), (), False),
    "andrews": (andrews, (), False),
}
SOFT = ("four_bar", "n_four_bars(5)", "stewart", "two arms", "hand")


@pytest.mark.parametrize("name", SHARED)
def test_pinocchio_constraint_dynamics(name, states_of):
    make, cut, planar = SHARED[name]
    system = make().system(cut=cut)
    q, v, tau = states_of(system)
    call, to = pinocchio_batch(system, q, v, tau, planar, accuracy=1e-14, mu=1e-8, iterations=50)
    theirs = to.catena_acceleration(q, v, call())
    ours = system.forward_dynamics(q, v, tau)
    assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()


@pytest.mark.parametrize("seed", range(12))
def test_pinocchio_on_random_loops(seed, states_of):
    kinds = ["Revolute", "Spherical", "Universal", "Prismatic", "Cylindrical"]
    mechanism = random_mechanism(seed, 7, kinds, floating=bool(seed % 2), friction=bool(seed % 3))
    # Loops of the kinds that Pinocchio has: points and welds between bodies that many joints lie between.
    random = np.random.default_rng(seed)
    system = mechanism.system()
    poses = system.body_poses(system.neutral())
    for kind in ("Spherical", "Spherical", "Fixed")[: 1 + seed % 3]:
        a, b = (str(name) for name in random.choice([f"body{i}" for i in range(1, 8)], 2, replace=False))
        meeting = np.linalg.inv(poses[b]) @ poses[a]
        at = ct.Pose(p=meeting[:3, 3], R=meeting[:3, :3])
        mechanism.add_joint(f"loop{len(mechanism.joints)}", a, b, getattr(ct, kind)(), in_child=at)
    loops = [name for name in mechanism.joints if name.startswith("loop")]
    system = mechanism.system(cut=loops)
    q, v, tau = states_of(system)
    call, to = pinocchio_batch(system, q, v, tau, accuracy=1e-14, mu=1e-8, iterations=100)
    theirs = to.catena_acceleration(q, v, call())
    ours = system.forward_dynamics(q, v, tau)
    assert np.abs(ours - theirs).max() < 1e-8 * np.abs(theirs).max()


@pytest.mark.parametrize("name", SOFT)
def test_mujoco_comes_nearer_as_its_loops_become_stiffer(name, states_of):
    make, cut, planar = SHARED[name]
    system = make().system(cut=cut)
    q, v, tau = states_of(system)
    exact = system.forward_dynamics(q, v, tau)
    model, to = to_mujoco(spanning_tree(system), holds(system, planar))
    model.opt.tolerance, model.opt.iterations = 0.0, 200
    data = mujoco.MjData(model)
    errors = []
    for impedance in (0.99, 0.999, 0.9999):
        model.eq_solimp[:] = [impedance, impedance, 0.001, 0.5, 2.0]
        theirs = []
        for state in zip(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)):
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = state
            mujoco.mj_forward(model, data)
            theirs.append(data.qacc.copy())
        theirs = to.catena_acceleration(q, v, np.array(theirs))
        errors.append(np.linalg.norm(theirs - exact) / np.linalg.norm(exact))
    assert errors[2] < 0.01
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.3)


def test_loops_that_peers_do_not_have_are_refused_by_name():
    mechanism = random_mechanism(0, 3, ["Revolute"], 1)
    mechanism = mechanism.detach("loop1")
    mechanism.add_joint("screw", "body1", "ground", ct.Helical("z", 0.1))
    with pytest.raises(ValueError, match="'screw' is of kind Helical"):
        holds(mechanism.system(cut=["screw"]))
