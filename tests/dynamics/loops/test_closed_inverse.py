"""Inverse dynamics with loops: round trips, the smallest forces, and what cannot be."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arms_on_object, four_bar, stewart


def test_the_forces_found_produce_the_motion(closed_system, closed_state, agree):
    system = closed_system
    q, v = closed_state(system, 8)
    random = np.random.default_rng(8)
    given, a_base = random.normal(size=system.nv) * 3.0, random.normal(size=6)
    given = np.where(system.plan.actuated, given, 0.0)
    outside = {list(system.mechanism.bodies)[-1]: random.normal(size=6)}
    vdot = system.forward_dynamics(q, v, given, f_ext=outside, base_acceleration=a_base)
    tau = system.inverse_dynamics(q, v, vdot, f_ext=outside, base_acceleration=a_base)
    again = system.forward_dynamics(q, v, tau, f_ext=outside, base_acceleration=a_base)
    agree(again, vdot, 1e-9, 1.0)
    assert np.linalg.norm(tau) <= np.linalg.norm(given) * (1 + 1e-9)


def test_a_stewart_platform_is_driven_by_its_legs(closed_state, agree):
    """Six legs, six degrees of freedom: the only forces, whatever produced the motion before."""
    system = stewart().system()
    q, v = closed_state(system, 1)
    tau = np.where(system.plan.actuated, np.random.default_rng(1).normal(size=(4, system.nv)) * 100.0, 0.0)
    vdot = system.forward_dynamics(q, v, tau)
    agree(system.inverse_dynamics(q, v, vdot), tau, 1e-9)


def test_two_arms_share_what_one_could_do(closed_state):
    """Minimum norm: any change of tau that causes no motion is orthogonal to it."""
    system = arms_on_object(2).system()
    q, v = closed_state(system, 2)
    tau = system.inverse_dynamics(q, v, system.forward_dynamics(q, v, np.ones(system.nv)))
    base = system.forward_dynamics(q, v, tau)
    effect = np.array([system.forward_dynamics(q, v, tau + e) - base for e in np.eye(system.nv)]).T
    _, sigma, Vt = np.linalg.svd(effect)
    idle = Vt[np.count_nonzero(sigma > 1e-9 * sigma[0]) :]
    assert len(idle) > 0
    assert np.abs(idle @ tau).max() <= 1e-8 * np.linalg.norm(tau)


def test_accelerations_that_open_a_loop_are_refused_by_name():
    system = four_bar().system()
    with pytest.raises(
        ct.LoopError, match=rf"opens the loops of 'four-bar' in state 0: '{system.loops[0]}' by"
    ):
        system.inverse_dynamics(system.neutral(), np.zeros(3), [1.0, 0.0, 0.0])


def test_a_motion_that_no_actuator_produces_is_refused_by_name():
    m = four_bar()
    idle = ct.Mechanism("idle four-bar")
    for body in list(m.bodies.values())[1:]:
        idle.add_body(body.name, body.mass, body.com, body.inertia)
    for j in m.joints.values():
        idle.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, actuated=j.name == "C")
    system = idle.system(cut=["C"])
    q, v = system.neutral(), np.zeros(3)
    moving = 2.0 * system.forward_dynamics(q, v)
    with pytest.raises(
        ct.LoopError,
        match=r"cannot produce this motion in state 0.*\['A', 'B', 'D'\] have no actuator.*\['C'\]",
    ):
        system.inverse_dynamics(q, v, moving)
    # What happens by itself needs no actuator.
    np.testing.assert_allclose(system.inverse_dynamics(q, v, 0.5 * moving), 0.0, atol=1e-12)


def test_tree_methods_are_refused_with_loops():
    system = four_bar().system()
    with pytest.raises(ct.LoopError, match="articulated_body is a method for trees"):
        system.forward_dynamics(system.neutral(), np.zeros(3), method="articulated_body")
    with pytest.raises(ct.StateError, match="no forward dynamics method 'magic'"):
        system.forward_dynamics(system.neutral(), np.zeros(3), method="magic")


def test_closed_methods_compute_trees_as_well(mixed, agree):
    system = mixed(4, 5).system()
    random = np.random.default_rng(4)
    q = system.integrate(system.neutral(), random.normal(size=system.nv), 0.5)
    v, tau = random.normal(size=(2, system.nv))
    for method in ("kkt", "absolute", "joint_multipliers", "minimal", "reference_member"):
        agree(system.forward_dynamics(q, v, tau, method=method), system.forward_dynamics(q, v, tau), 1e-9)


def test_the_operational_space_of_a_closed_mechanism_is_what_wrenches_do(agree):
    system = arms_on_object(2).system()
    q, rest = system.neutral(), np.zeros(system.nv)
    Lambda_inv, Omega = system.operational_space(q, "object")
    still = system.forward_dynamics(q, rest)
    for k, wrench in enumerate(np.eye(6)):
        change = system.forward_dynamics(q, rest, f_ext={"object": wrench}) - still
        agree(Omega[:, k], change, 1e-10, np.abs(Omega).max())
        agree(Lambda_inv[:, k], system.jacobian(q, "object") @ change, 1e-10, np.abs(Lambda_inv).max())


def test_friction_of_a_loop_joint_is_that_of_the_same_joint_in_the_tree(agree):
    """A four-bar with damping and friction at one joint, cut there and elsewhere, at the same motion."""
    results = []
    for cut in ("B", "C", "D"):
        m = four_bar()
        rubbing = ct.Mechanism("rubbing four-bar")
        for body in list(m.bodies.values())[1:]:
            rubbing.add_body(body.name, body.mass, body.com, body.inertia)
        for j in m.joints.values():
            rough = {"damping": 0.7, "friction": 0.4} if j.name == "C" else {}
            rubbing.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, **rough)
        system = rubbing.system(cut=[cut])
        q = system.neutral()
        v = system.velocity(q, {"A": 1.5})
        vdot = system.forward_dynamics(q, v)
        results.append(vdot[system.slice_v("A")])
    agree(results[1], results[0], 1e-12)
    agree(results[2], results[0], 1e-12)
    smooth = four_bar().system()
    assert abs(smooth.forward_dynamics(q, smooth.velocity(q, {"A": 1.5}))[0] - results[0][0]) > 1e-3


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_forces_that_move_nothing_are_no_contradiction(gravity, agree):
    """Three bars pinned to a triangle cannot move. What rounding leaves of their accelerations opens the loop by as
    much as there is, and is measured by what is at work, not by itself."""
    m = ct.Mechanism("triangle", gravity=(0.0, gravity, 0.0))
    corners = np.array([(0.0, 0.0, 0.0), (1.1, 0.3, 0.0), (0.4, 0.9, 0.0)])
    for k in range(2):
        m.add_body(f"bar{k}", 1.0 + k, (0.3, 0.1, 0.0), (0.1, 0.1, 0.1))
        m.add_joint(f"pin{k}", "ground", f"bar{k}", ct.Revolute("z"), ct.Pose(p=corners[k]))
    m.add_joint("tip", "bar0", "bar1", ct.Revolute("z"), ct.Pose(p=corners[2] - corners[0]),
                ct.Pose(p=corners[2] - corners[1]))  # fmt: skip
    s = m.system()
    assert s.diagnose(s.neutral()).mobility == 0
    random = np.random.default_rng(0)
    for tau in random.normal(size=(20, 2)) * 10.0 ** random.uniform(-3, 3, (20, 1)):
        vdot = s.forward_dynamics(s.neutral(), np.zeros(2), tau)
        agree(
            s.forward_dynamics(s.neutral(), np.zeros(2), s.inverse_dynamics(s.neutral(), np.zeros(2), vdot)),
            vdot,
            1e-9,
            1.0,
        )
    with pytest.raises(ct.LoopError, match="opens the loops of 'triangle'"):
        s.inverse_dynamics(s.neutral(), np.zeros(2), [1e-6, 0.0])
