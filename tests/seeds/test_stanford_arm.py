"""Van der Merwe, section 4.5: inverse dynamics of a Stanford arm, to the printed digits.

The arm is built once from the SDOF tables 4.1 and 4.2, and once from ordinary bodies and joints. Every printed
twist, acceleration and force is compared. The thesis prints the acceleration of the link frame's origin;
Catena's spatial acceleration lacks omega x v in its linear part.
"""

import numpy as np
import pytest

import catena as ct
from catena import dynamics
from catena.mechanism.notations import from_sdof, sdof_coordinates
from catena.spatial import Force, Motion, Pose, RigidInertia, Transform, cross
from catena.system.evaluation import Evaluator

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
LINKS = ["link1", "link2", "link3", "link4"]


def from_tables():
    mechanism = from_sdof(GAMMA, PHI, MASS, COM, INERTIA, gravity=GRAVITY)
    return mechanism, np.concatenate(list(sdof_coordinates(GAMMA, PHI).values()))


def from_bodies_and_joints():
    """The gimbal that lets link 2 slide is a massless body here, and the slide starts at zero."""
    m = ct.Mechanism("Stanford arm", gravity=GRAVITY)
    for name, mass, com, inertia in zip(LINKS, MASS, COM, INERTIA):
        m.add_body(name, mass, com, inertia)
    m.add_body("gimbal")
    m.add_joint("waist", "ground", "link1", ct.Revolute("y"))
    m.add_joint("shoulder", "link1", "gimbal", ct.Revolute("z"), in_parent=Pose(p=(0, 0.5, -0.15)))
    m.add_joint("slide", "gimbal", "link2", ct.Prismatic("x"))
    m.add_joint("bend", "link2", "link3", ct.Revolute("z"), in_parent=Pose(p=(0.8, 0, 0)))
    m.add_joint("twist", "link3", "link4", ct.Revolute("x"), in_parent=Pose(p=(0.2, 0, 0)))
    return m, np.zeros(5)


@pytest.fixture(params=[from_tables, from_bodies_and_joints], ids=["SDOF tables", "bodies and joints"])
def arm(request):
    """A mechanism, and the coordinates at which all frames are parallel."""
    return request.param()


def in_link_frames(mechanism, q):
    """v, a and f of every link in the link's own frame, from Newton and Euler's recursion."""
    plan = mechanism.system().plan
    result = Evaluator(mechanism, plan).evaluate(
        dynamics.newton_euler_bodies, {"q": q, "qd": V, "qdd": VDOT, "f_ext": None, "a_base": None}
    )
    for name in LINKS:
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
    for name, printed in zip(LINKS, TWIST):
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
    for link, printed in zip(LINKS, FORCE):
        name, joint = last[link]
        at_link = Transform.from_pose(joint.in_child.inverse()) * Force(reactions[name])
        assert_printed(at_link.array, printed, 11)


def test_both_descriptions_move_alike():
    """Away from the table's configuration too."""
    (a, q_a), (b, q_b) = from_tables(), from_bodies_and_joints()
    random = np.random.default_rng(0)
    step, v, vdot = random.normal(size=(3, 10, 5))
    ours = a.system().inverse_dynamics(q_a + step, v, vdot)
    np.testing.assert_allclose(ours, b.system().inverse_dynamics(q_b + step, v, vdot), rtol=1e-12, atol=1e-12)
    again = b.system().forward_dynamics(q_b + step, v, ours)
    np.testing.assert_allclose(again, vdot, rtol=1e-10, atol=1e-10)
