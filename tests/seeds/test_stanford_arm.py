"""Van der Merwe, section 4.5: inverse dynamics of a Stanford arm, to the printed digits; section 4.6: it closes a tap.

The arm is built from the SDOF tables 4.1 and 4.2, from ordinary bodies and joints, and by the generator. Every printed
twist, acceleration and force is compared. The thesis prints the acceleration of the link frame's origin;
Catena's spatial acceleration lacks omega x v in its linear part.
"""

import numpy as np
import pytest

import catena as ct
from catena import dynamics
from catena.kernels.evaluation import Evaluator
from catena.mechanism.notations import from_sdof, sdof_coordinates
from catena.spatial import Force, Motion, Pose, RigidInertia, Transform, cross

GRAVITY = (0.0, -9.81, 0.0)
GAMMA = [
    (0, 0, 0, 0, 0.5, -0.15),
    (0, 0, 0, 0.8, 0, 0),
    (0, 0, 0, 0.2, 0, 0),
    (0, 0, 0, 0.05, 0, 0),
]
PHI = [("ry",), ("rz", "dx"), ("rz",), ("rx",)]
MASS = [2.0, 2.0, 0.8, 0.5]
COM = [(0, 0.3, -0.07), (0.3, 0, 0), (0.12, 0, 0), (0.05, 0, 0)]
INERTIA = [(0.1, 0.02, 0.1), (0.002, 0.25, 0.25), (0.002, 0.008, 0.008), (0.001, 0.004, 0.004)]

V = np.array([1.5, 0.0, 0.4, 1.0, 3.0])  # (4.43)
VDOT = np.zeros(5)  # (4.44)
TAU = [2.26935, 18.25191, -4.40825, 2.16351, 0.0015]  # (4.62)
TWIST = [  # (4.50) to (4.53)
    (0, 1.5, 0, 0, 0, 0),
    (0, 1.5, 0, 0.175, 0, 0),
    (0, 1.5, 1, 0.175, 0, -1.2),
    (3, 1.5, 1, 0.175, 0.2, -1.5),
]
ACCELERATION = [
    (0, 0, 0, 0, 9.81, 0),
    (0, 0, 0, 0, 9.81, -0.8625),
    (1.5, 0, 0, -1.8, 9.81, -0.8625),
    (1.5, 3, -4.5, -2.45, 9.81, -0.8625),
]
OWN_FORCE = [  # (4.57) up to (4.54)
    (1.4679, 0, 0, 0, 19.62, 0.315),
    (0, 0.5175, 5.886, -1.35, 19.62, -1.725),
    (0.003, 0.0828, 0.94176, -1.752, 7.848, -0.69),
    (0.0015, 0.0245625, 0.24075, -1.30625, 4.905, -0.43125),
]
FORCE = [  # (4.61) up to (4.58)
    (4.905225, 2.26935, 20.456035, -4.40825, 51.993, -2.53125),
    (0.0045, 1.6081125, 18.25191, -4.40825, 32.373, -2.84625),
    (0.0045, 0.1936125, 2.16351, -3.05825, 12.753, -1.12125),
    (0.0015, 0.0245625, 0.24075, -1.30625, 4.905, -0.43125),
]


def from_tables():
    mechanism = from_sdof(GAMMA, PHI, MASS, COM, INERTIA, gravity=GRAVITY)
    return mechanism, np.concatenate(list(sdof_coordinates(GAMMA, PHI).values()))


def from_bodies_and_joints():
    """The gimbal that lets link 2 slide is a massless body here, and the slide starts at zero."""
    m = ct.Mechanism("Stanford arm", gravity=GRAVITY)
    for i, (mass, com, inertia) in enumerate(zip(MASS, COM, INERTIA), 1):
        m.add_body(f"link{i}", mass, com, inertia)
    m.add_body("gimbal")
    m.add_joint("waist", "ground", "link1", ct.Revolute("y"))
    m.add_joint("shoulder", "link1", "gimbal", ct.Revolute("z"), in_parent=Pose(p=(0, 0.5, -0.15)))
    m.add_joint("slide", "gimbal", "link2", ct.Prismatic("x"))
    m.add_joint("bend", "link2", "link3", ct.Revolute("z"), in_parent=Pose(p=(0.8, 0, 0)))
    m.add_joint("twist", "link3", "link4", ct.Revolute("x"), in_parent=Pose(p=(0.2, 0, 0)))
    return m, np.zeros(5)


def from_generator():
    mechanism = ct.generators.stanford_arm()
    return mechanism, mechanism.system().assemble(mechanism.initial.q)


BUILDERS = {
    "SDOF tables": from_tables,
    "bodies and joints": from_bodies_and_joints,
    "generator": from_generator,
}


def links_of(mechanism):
    """The four links; a massless gimbal comes after them."""
    return list(mechanism.bodies)[1:5]


@pytest.fixture(params=BUILDERS.values(), ids=BUILDERS)
def arm(request):
    """A mechanism, and the coordinates at which all frames are parallel."""
    return request.param()


def in_link_frames(mechanism, q):
    """v, a and f of every link in the link's own frame, from Newton and Euler's recursion."""
    plan = mechanism.system().plan
    result = Evaluator(mechanism, plan).evaluate(
        dynamics.newton_euler_bodies, {"q": q, "qd": V, "qdd": VDOT, "f_ext": None, "a_base": None}
    )
    for name in links_of(mechanism):
        node, pose = plan.body_pose[name]
        X = Transform.from_pose(pose)
        yield X * Motion(result["v"][node]), X * Motion(result["a"][node]), X * Force(result["f"][node])


def assert_printed(ours, printed, digits=7):
    """Agreement to the last printed digit of the figures above, which are exact decimals."""
    np.testing.assert_allclose(ours, printed, atol=0.5 * 10.0**-digits, rtol=0)


def test_joint_forces(arm):
    """(4.62)"""
    mechanism, q = arm
    assert_printed(mechanism.system().inverse_dynamics(q, V, VDOT), TAU, 12)


def test_twists(arm):
    """(4.50) to (4.53)"""
    for (v, _, _), printed in zip(in_link_frames(*arm), TWIST, strict=True):
        assert_printed(v.array, printed, 12)
    mechanism, q = arm
    for name, printed in zip(links_of(mechanism), TWIST):
        assert_printed(mechanism.system().twist(q, V, name), printed, 12)


def test_accelerations(arm):
    """(4.50) to (4.53)"""
    for (v, a, _), printed in zip(in_link_frames(*arm), ACCELERATION, strict=True):
        of_origin = np.concatenate([a.angular, a.linear + np.cross(v.angular, v.linear)])
        assert_printed(of_origin, printed, 12)


def test_forces_that_links_take_for_themselves(arm):
    """(4.54) to (4.57)"""
    states = in_link_frames(*arm)
    for (v, a, _), mass, com, inertia, printed in zip(states, MASS, COM, INERTIA, OWN_FORCE, strict=True):
        I = RigidInertia.from_com(mass, np.array(com), np.diag(inertia))  # noqa: E741 - the thesis's symbol
        assert_printed((I * a + cross(v, I * v)).array, printed, 12)


def test_forces_that_joints_pass_on(arm):
    """(4.58) to (4.61)"""
    for (_, _, f), printed in zip(in_link_frames(*arm), FORCE, strict=True):
        assert_printed(f.array, printed, 12)


def test_reactions_are_the_forces_that_joints_pass_on(arm):
    """The same through the public function, with the accelerations that the printed joint forces cause: none."""
    mechanism, q = arm
    system = mechanism.system()
    np.testing.assert_allclose(system.forward_dynamics(q, V, TAU), 0.0, atol=1e-11)
    reactions = system.reactions(q, V, TAU)
    last = {joint.child: (name, joint) for name, joint in mechanism.joints.items()}
    for link, printed in zip(links_of(mechanism), FORCE):
        name, joint = last[link]
        at_link = Transform.from_pose(joint.in_child.inverse()) * Force(reactions[name])
        assert_printed(at_link.array, printed, 11)


@pytest.mark.parametrize(
    "other", [from_bodies_and_joints, from_generator], ids=["bodies and joints", "generator"]
)
def test_the_descriptions_move_alike(other):
    """Away from the table's configuration too."""
    (a, q_a), (b, q_b) = from_tables(), other()
    random = np.random.default_rng(0)
    step, v, vdot = random.normal(size=(3, 10, 5))
    ours = a.system().inverse_dynamics(q_a + step, v, vdot)
    np.testing.assert_allclose(ours, b.system().inverse_dynamics(q_b + step, v, vdot), rtol=1e-12, atol=1e-12)
    again = b.system().forward_dynamics(q_b + step, v, ours)
    np.testing.assert_allclose(again, vdot, rtol=1e-10, atol=1e-10)


# Section 4.6: over a tap at (0, 0, 0.5) in one second, then half a turn against 5 N m in half a second.

HORIZONTAL = np.sqrt(
    0.5**2 - 0.15**2
)  # from the shoulder to the wrist over the tap, in the plane of the boom
TILT = np.arctan2(-0.25, HORIZONTAL)
OVER_TAP = np.array(
    [np.arctan2(-HORIZONTAL, -0.15), TILT, np.hypot(HORIZONTAL, 0.25), -np.pi / 2 - TILT, np.pi / 2]
)
AGAINST_TURN = np.array([-5.0, 0, 0, 0, 0, 0])


def valve_task():
    mechanism, start = from_generator()
    path = ct.references.cubic([0.0, 1.0, 1.5], [start, OVER_TAP, OVER_TAP + [0, 0, 0, 0, np.pi]])
    return mechanism.system(), path


def resistance(t):
    return np.where(np.asarray(t)[..., None] >= 1.0, AGAINST_TURN, 0.0)


def test_the_gripper_stands_upright_on_the_tap():
    """Trigonometry against the kinematics, and against closing the loop through the tap."""
    mechanism, start = from_generator()
    tip = mechanism.system().pose(OVER_TAP, "tip")
    np.testing.assert_allclose(tip.p, [0, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(tip.R[:, 0], [0, -1, 0], atol=1e-15)
    tap = Pose(p=(0, 0, 0.5), rpy=(0, 0, -np.pi / 2))
    held = mechanism.attach(
        "held", "ground", "gripper", ct.Revolute("x"), in_parent=tap, in_child=mechanism.frames["tip"].pose
    )
    found = held.system(cut=["held"]).assemble({"turn": np.pi / 2}, guess=start)
    np.testing.assert_allclose(found, OVER_TAP, atol=1e-10)


def test_the_forces_while_the_tap_is_turned():
    """Only the gripper moves, about its own axis: statics by hand, with its moment of inertia 0.001 kg m^2."""
    s, path = valve_task()
    t = np.linspace(1.0, 1.5, 21)
    q, v, vdot = path.at(t)
    tau = s.inverse_dynamics(q, v, vdot, f_ext={"tip": resistance(t)})
    turning = 5.0 + 0.001 * vdot[:, 4]
    reach, g = OVER_TAP[2], 9.81
    boom = 2.0 * g * (reach - 0.5) * np.cos(TILT)
    beyond = 1.3 * g * reach * np.cos(TILT)
    expected = [-turning, boom + beyond, 3.3 * g * np.sin(TILT), 0.0, turning]
    for ours, by_hand in zip(tau.T, expected, strict=True):
        np.testing.assert_allclose(ours, by_hand, atol=1e-12)


def test_the_work_of_the_joints_lifts_the_arm_and_turns_the_tap():
    s, path = valve_task()
    t = np.linspace(0.0, 1.5, 3001)
    q, v, vdot = path.at(t)
    power = np.sum(s.inverse_dynamics(q, v, vdot, f_ext={"tip": resistance(t)}) * v, axis=1)
    # The power is continuous because the arm rests as the gripper takes hold.
    work = np.sum(power[:-1:2] + 4 * power[1::2] + power[2::2]) * 1.5 / 3000 / 3
    lifted = s.potential_energy(q[-1]) - s.potential_energy(q[0])
    np.testing.assert_allclose(work, lifted + 5.0 * np.pi, atol=1e-9)


def test_the_simulated_arm_follows_the_planned_path():
    s, path = valve_task()

    def forces(t, q, v):
        return s.inverse_dynamics(*path.at(t), f_ext={"tip": resistance(t)})

    run = ct.simulate(
        s, path.at(0.0).q, np.zeros(5), 1.5, control=forces, forces={"tip": resistance}, samples=16
    )
    np.testing.assert_allclose(run.q, path.at(run.t).q, atol=1e-6)
