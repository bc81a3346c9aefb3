"""Planned motions of mechanisms with loops and couplings: closed at all times, the same under the same forces as other
code computes them, and optima that are known in closed form."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arms_on_object, four_bar, free_flyer, hslm, spatial_four_bar, stewart

pytest.importorskip("casadi")


def driven_at(joint):
    """A four-bar with one motor, and limits at the joints that follow."""
    m = four_bar()
    for name in m.joints:
        m = m.with_joint(name, actuated=name == joint)
    return m


@pytest.mark.parametrize("joint", ["A", "C"])
def test_a_four_bar_moves_as_planned_under_the_forces_told(joint):
    """The motor is at the crank, or at the joint that closes the loop: the plan's forces give the plan's accelerations
    by the elimination that other calls use, and the run whose crank is driven so passes through the same states."""
    s = driven_at(joint).system(cut=["C"])
    assert s.loops == ("C",)
    q0 = s.assemble({"A": 0.3})
    plan = ct.plan_motion(s, q0, 1.0, end={"A": 1.5}, nodes=17)
    assert plan.success and plan.missed < 1e-8 and plan.independent == ("A",)
    assert max(np.abs(x).max() for x in s.closure(plan.q, plan.v)) < 1e-9
    vdot = s.forward_dynamics(plan.q, plan.v, plan.forces)
    np.testing.assert_allclose(vdot, plan.vdot, atol=1e-8 * np.abs(vdot).max())
    run = ct.simulate(
        s, plan.q[0], plan.v[0], 1.0, motion={"A": plan.motion("A")}, samples=plan.t, check=False
    )
    np.testing.assert_allclose(run.q, plan.q, atol=1e-7)
    forces = np.hstack(list(plan.forces.values()))
    assert forces.shape[1] == 1 and plan.objective == "force"
    assert plan.cost == pytest.approx(np.trapezoid(forces[:, 0] ** 2, plan.t), rel=0.02)


def test_limits_of_joints_that_follow_and_of_those_that_close_loops_are_kept():
    s = driven_at("A").system(cut=["C"])
    q0 = s.assemble({"A": 0.3})
    free = ct.plan_motion(s, q0, 1.0, end={"A": 1.5}, nodes=17, smooth=0.0)
    speed = s.joint_velocity(free.q, free.v, "C")[:, 0]
    follows = free.v[:, s.slice_v("D")][:, 0]
    m = driven_at("A")
    m = m.with_joint("C", velocity_limit=0.9 * np.abs(speed).max())
    m = m.with_joint("D", velocity_limit=0.95 * np.abs(follows).max())
    here = m.system(cut=["C"])
    kept = ct.plan_motion(
        here, q0, 1.0, end={"A": 1.5}, nodes=17, smooth=0.0, torques=0.99 * np.abs(free.tau).max(), guess=free
    )
    assert kept.success and kept.cost > free.cost
    assert np.abs(s.joint_velocity(kept.q, kept.v, "C")).max() <= 0.9 * np.abs(speed).max() + 1e-6
    assert np.abs(kept.v[:, s.slice_v("D")]).max() <= 0.95 * np.abs(follows).max() + 1e-6
    assert np.abs(kept.tau).max() <= 0.99 * np.abs(free.tau).max() + 1e-6
    angle = float(s.joint_position(free.q[-1], "C")[0])
    by_loop = ct.plan_motion(s, q0, 1.0, end={"C": angle}, nodes=9)
    np.testing.assert_allclose(by_loop.q[-1], free.q[-1], atol=1e-6)
    low = float(s.joint_position(q0, "C")[0])
    middle = (low + angle) / 2.0
    limits = [sorted((low + 0.05 * (low - angle), middle))]
    stopped = driven_at("A").with_joint("C", limits=limits).system(cut=["C"])
    with pytest.warns(ct.CatenaWarning, match="A in the end|C stays within|positions|loops|no motion meets"):
        ct.plan_motion(stopped, q0, 1.0, frame="rocker", reach_twist=np.zeros(6), end={"A": 1.5}, nodes=5)


@pytest.mark.parametrize(("nodes", "angle"), [(13, 1.8), (17, 1.5), (17, 1.8), (25, 1.5), (33, 1.5)])
def test_all_nodes_are_on_the_branch_where_a_motion_begins(nodes, angle):
    """Closed the other way round a node meets all conditions too; joints that are assembled step by step tell the
    right one."""
    s = driven_at("A").system(cut=["C"])
    q = s.assemble({"A": 0.3})
    plan = ct.plan_motion(s, q, 1.0, end={"A": angle}, nodes=nodes, smooth=0.0)
    assert plan.success
    for planned in plan.q:
        q = s.assemble({"A": planned[s.slice_q("A")][0]}, guess=q)
        np.testing.assert_allclose(planned, q, atol=1e-6)


def coupled_carts():
    """Two carts, the second of which moves twice as far: an effective mass of m1 + 4 m2 at the first."""
    m = ct.Mechanism("carts", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 0.5)):
        m.add_body(name, mass=mass, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"), actuated=name == "a")
    m.add_coupling("gear", {"a slides": 2.0, "b slides": -1.0})
    return m.system()


def test_known_optima_of_coupled_carts():
    """Least force: the cubic of a mass of 3 kg. Least time with a force of 3 N: 2 sqrt(m d / F), half of it each
    way."""
    s = coupled_carts()
    plan = ct.plan_motion(s, [0.0, 0.0], 2.0, end={"b slides": 3.0}, nodes=21, smooth=0.0)
    x = plan.t / 2.0
    np.testing.assert_allclose(plan.q[:, 0], 1.5 * (3 * x**2 - 2 * x**3), atol=1e-7)
    np.testing.assert_allclose(plan.q[:, 1], 2.0 * plan.q[:, 0], atol=1e-9)
    np.testing.assert_allclose(plan.tau[:, 0], 6 * 3.0 * 1.5 / 4.0 * (1 - 2 * x), atol=1e-6)
    assert plan.cost == pytest.approx(12 * (3.0 * 1.5) ** 2 / 2.0**3, rel=1e-6)
    quick = ct.plan_motion(
        s, [0.0, 0.0], (0.5, 5.0), end={"b slides": 3.0}, nodes=81, smooth=1e-9, objective="time", torques=3.0
    )
    assert quick.success and quick.objective == "time"
    assert quick.cost == quick.t[-1] == pytest.approx(2.0 * np.sqrt(3.0 * 1.5 / 3.0), rel=0.02)
    assert np.abs(quick.tau).max() <= 3.0 + 1e-6
    with pytest.raises(ct.StateError, match="give the shortest and the longest"):
        ct.plan_motion(s, [0.0, 0.0], 1.0, end={"b slides": 3.0}, objective="time")
    with pytest.raises(ct.StateError, match="begins with loops that are open by 0.2"):
        ct.plan_motion(s, [0.0, 0.2], 1.0, end={"b slides": 3.0})


def test_objectives_and_limits_of_momentum():
    """The squares of forces as the user's own expression give the same motion; least work is less than that of least
    forces; with a momentum of at most 1.8 kg m/s the cart goes no faster than 0.9 m/s."""
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    s = m.system()
    options = {"end": {"rail": 1.5}, "nodes": 41, "smooth": 1e-6}
    force = ct.plan_motion(s, [0.0], 2.0, **options)
    own = ct.plan_motion(s, [0.0], 2.0, objective=lambda q, v, vdot, tau: tau[0] ** 2, **options)
    np.testing.assert_allclose(own.q, force.q, atol=2e-3)
    assert own.objective == "expression" and own.cost == pytest.approx(force.cost, rel=0.02)
    work = ct.plan_motion(s, [0.0], 2.0, objective="energy", torques=20.0, **options)
    spent = np.trapezoid(np.abs(force.tau[:, 0] * force.v[:, 0]), force.t)
    # The work of a mass that is set in motion and stopped is m v^2, least at a steady speed.
    assert work.success and 2.0 * 0.75**2 < work.cost < 0.9 * spent
    slow = ct.plan_motion(s, [0.0], 2.0, momentum=[np.inf] * 3 + [1.8, np.inf, np.inf], **options)
    assert np.abs(slow.v).max() == pytest.approx(0.9, rel=1e-5) and slow.cost > force.cost
    with pytest.raises(ct.StateError, match="objective is 'speed'; give one of force, energy, time"):
        ct.plan_motion(s, [0.0], 2.0, objective="speed", **options)


def test_independent_joints_are_the_users_choice():
    s = driven_at("A").system(cut=["C"])
    q0 = s.assemble({"A": 0.3})
    plans = [ct.plan_motion(s, q0, 1.0, end={"A": 1.0}, nodes=17, independent=[name]) for name in ("A", "D")]
    assert plans[1].independent == ("D",)
    # Straight lines are told of another joint, so the motion differs by the square of the distance of nodes.
    np.testing.assert_allclose(plans[0].q, plans[1].q[::2], atol=2e-2)
    with pytest.raises(ct.StateError, match="has 1 degrees of freedom with its loops closed"):
        ct.plan_motion(s, q0, 1.0, end={"A": 1.0}, independent=["A", "D"])


def test_a_plan_that_jumps_over_a_dead_centre_is_no_success():
    """A cam lifts a valve, which has the same height on both of its flanks: led by the valve, the plan changes flanks
    from one node to the next; led by the shaft it goes over the top."""
    m = ct.Mechanism("cam", gravity=(0, 0, 0))
    for name, kind in (("shaft", ct.Revolute("z")), ("valve", ct.Prismatic("x"))):
        m.add_body(name, mass=1.0, inertia=0.05)
        m.add_joint(f"{name} moves", "ground", name, kind)
    m.add_cam("cam", "valve moves", "shaft moves", "0.2 * (1 - cos(x))")
    s = m.system()
    q0 = s.assemble({"shaft moves": 2.6})
    over = ct.plan_motion(s, q0, 1.0, end={"shaft moves": 3.8}, nodes=5, independent=["shaft moves"])
    assert over.success and over.q[:, 1].max() > 0.399
    with pytest.warns(ct.CatenaWarning, match="near t = 1 s the leading joints pass a dead centre"):
        jump = ct.plan_motion(s, q0, 1.0, end={"shaft moves": 3.8}, nodes=5, independent=["valve moves"])
    assert not jump.success and "dead centre" in jump.message


@pytest.mark.parametrize(
    ("made", "frame", "by"),
    [
        pytest.param(spatial_four_bar, "rocker", (0, 0, 0), id="spatial four-bar"),
        pytest.param(hslm, "member", (0.01, 0.01, 0.01), id="HSLM", marks=pytest.mark.slow),
        pytest.param(
            lambda: arms_on_object(2), "object", (0.02, 0.01, 0.02), id="arms", marks=pytest.mark.slow
        ),
        pytest.param(stewart, "platform", (0.02, 0.01, 0.03), id="Stewart", marks=pytest.mark.slow),
    ],
)
def test_machines_with_all_kinds_of_joints_in_their_loops(made, frame, by):
    """Balls, universal joints and slides follow the closure; the forces told give the accelerations told."""
    s = made().system()
    q = s.assemble()
    goal = s.pose(q, frame).p + by
    plan = ct.plan_motion(s, q, 1.0, frame=frame, reach=goal, nodes=7)
    assert plan.success
    np.testing.assert_allclose(s.pose(plan.q[-1], frame).p, goal, atol=1e-6)
    assert max(np.abs(x).max() for x in s.closure(plan.q, plan.v)) < 1e-8
    vdot = s.forward_dynamics(plan.q, plan.v, plan.forces)
    np.testing.assert_allclose(vdot, plan.vdot, atol=1e-7 * max(1.0, np.abs(vdot).max()))


def grasping():
    """Two arms of a free-flyer that hold each other's hands: a loop inside of what floats."""
    m = free_flyer()
    m.gravity = (0, 0, 0)
    moving = [f"arm{k}/joint{i}" for k in (1, 2) for i in (1, 2, 4, 5, 6)]
    s = m.reduce_to(["base", *moving]).system()
    q = s.integrate(s.neutral(), np.r_[np.zeros(6), 0.2, 0.5, 0.6, 0.1, 0.3, -0.2, 0.5, 0.6, 0.1, 0.3])
    held = s.mechanism.attach(
        "grip", "arm1/link7", "arm2/link7", ct.Fixed(), in_child=ct.Pose(), at=s.configuration(q)
    ).system()
    return m, held, ct.transfer(s, q, np.zeros(s.nv), held).q


@pytest.mark.slow
def test_a_free_flyer_whose_arms_hold_each_other_turns_its_hand():
    """The title case: a floating base, two arms, one loop. The goal is an attitude alone. The run whose independent
    motors move as planned, in the robot with all 37 degrees of freedom of which the others are held, keeps its
    momentum and ends where the plan does."""
    m, s, q = grasping()
    turned = ct.Pose(rpy=(0.03, -0.04, 0.05)).R @ s.pose(q, "arm1/tool").R
    plan = ct.plan_motion(
        s, q, 3.0, frame="arm1/tool", reach_attitude=turned, nodes=9, torques=50.0, attitude={"bus": 0.1}
    )
    assert plan.success and "base" in plan.independent
    np.testing.assert_allclose(s.pose(plan.q[-1], "arm1/tool").R, turned, atol=1e-6)
    assert max(np.abs(x).max() for x in s.closure(plan.q, plan.v)) < 1e-8
    vdot = s.forward_dynamics(plan.q, plan.v, plan.forces)
    np.testing.assert_allclose(vdot, plan.vdot, atol=1e-6)
    whole = m.attach("grip", "arm1/link7", "arm2/link7", ct.Fixed(), **{
        side: getattr(s.mechanism.joints["grip"], side) for side in ("in_parent", "in_child")
    }).system(cut=s.loops)  # fmt: skip
    begin = ct.transfer(s, q, np.zeros(s.nv), whole)
    others = [name for name in whole.joints if name not in s.joints]
    still = {name: ct.constant(begin.q[whole.slice_q(name)]) for name in others}
    run = ct.simulate(
        whole, begin.q, begin.v, 3.0, motion={**plan.motions(), **still}, samples=7, rtol=1e-8, check=False
    )
    assert np.abs(whole.momentum(run.q, run.v)).max() < 1e-5
    np.testing.assert_allclose(
        whole.pose(run.q[-1], "arm1/tool").matrix(), s.pose(plan.q[-1], "arm1/tool").matrix(), atol=2e-4
    )


@pytest.mark.parametrize("motors", [("A",), ("A", "B", "C", "D")])
def test_the_least_work_is_found_however_many_motors_share_it(motors):
    """A motor alone does 1.5 J; motors in all joints may leave it to do so."""
    m = four_bar()
    for joint in m.joints:
        m = m.with_joint(joint, actuated=joint in motors)
    s = m.system()
    plan = ct.plan_motion(s, s.assemble({"A": 0.3}), 1.0, end={"A": 1.0}, objective="energy")
    assert plan.success and plan.cost < 1.65
    # What motors have done is at least what bodies have been lifted by.
    lifted = np.diff([s.potential_energy(q) for q in plan.q[[0, -1]]])[0]
    assert plan.cost > abs(lifted)
