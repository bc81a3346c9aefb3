"""Tips in contact: the worked example of van der Merwe, section 5.5, both classes of contact, moving supports."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import LoopProblem, kkt
from catena.mechanism.generators import arm6, four_bar
from catena.mechanism.notations import from_sdof
from catena.spatial import Pose, quaternion

REST = np.zeros(4)
HELD = ("rx", "rz", "dx", "dy", "dz")


def four_links(gravity=(0.0, 0.0, -10.0)):
    """Tables 5.1 and 5.2."""
    return from_sdof(
        [(0, 0, 0, 0, 0, 2), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 1), (0, 0, 0, 1, 0, 0)],
        [("ry",)] * 4,
        [2.0, 1.0, 1.0, 1.0],
        [(0, 0, 1), (0.5, 0, 0), (0, 0, 0.5), (0.5, 0, 0)],
        [(1, 1, 0.1), (0.02, 0.2, 0.2), (0.2, 0.2, 0.02), (0.02, 0.2, 0.2)],
        gravity=gravity,
    )


def block(inclination=0.0):
    """A block of 2 kg that moves in the plane of a slope; its frame "foot" is its origin."""
    m = ct.Mechanism("block", gravity=(0, 0, -10))
    m.add_body("block", 2.0, (0, 0, 0), (1, 1, 1))
    m.add_joint("slide", "ground", "block", ct.Sdof("dx", "dz"), Pose(rpy=(0, inclination, 0)))
    return m.system()


# The worked example.


@pytest.mark.parametrize("constrained", [HELD, ("dx", "dz")], ids=["five constraints", "two constraints"])
def test_worked_example(constrained):
    """(5.118) to (5.133); three of the five constraints are redundant, and their forces are chosen to be zero."""
    r = ct.contact_dynamics(four_links().system(), REST, REST, None, [ct.TipContact("tip", constrained)])
    tip = r.contacts[0]
    np.testing.assert_allclose(r.vdot, [0, 10.5263158, -10.5263158, -10.5263158], atol=0.6e-7)
    np.testing.assert_allclose(tip.h_c, [0.0] * (len(constrained) - 1) + [-4.4736842], atol=0.6e-7)
    np.testing.assert_allclose(tip.f, [0, 0, 0, 0, 0, -4.4736842], atol=0.6e-7)
    assert (int(r.rank), r.constraints) == (2, len(constrained))
    assert not tip.h.any() and len(tip.g) == 6 - len(constrained)


def test_worked_example_with_an_accelerated_base():
    """The text lifts the base at 10 m/s^2 instead of having gravity."""
    r = ct.contact_dynamics(four_links((0, 0, 0)).system(),
        REST, REST, None, [ct.TipContact("tip", HELD)], base_acceleration=[0, 0, 0, 0, 0, 10.0]
    )  # fmt: skip
    np.testing.assert_allclose(r.vdot, [0, 10.5263158, -10.5263158, -10.5263158], atol=0.6e-7)


def test_contact_is_what_a_loop_joint_would_be():
    """In motion, with friction and torques, a tip held but for its rotation is a hinge on the ground."""
    m = four_links()
    q, v, tau = (
        np.array([0.3, -0.4, 0.8, 0.2]),
        np.array([0.5, -1.0, 0.7, 0.3]),
        np.array([1.0, 2.0, -1.0, 0.5]),
    )
    s = m.system()
    at = s.pose(q, "tip").p
    hinged = m.copy()
    end = hinged.frames["tip"]
    hinged.add_joint("hinge", "ground", end.body, ct.Revolute("y"), Pose(p=at), end.pose)
    closed = hinged.system(cut=["hinge"])
    v = closed.velocity(q, {closed.joints[0]: 0.5, closed.joints[1]: -0.3})
    r = ct.contact_dynamics(s, q, v, tau, [ct.TipContact("tip", HELD)])
    problem = LoopProblem(closed.mechanics.evaluator, q, v, tau)
    np.testing.assert_allclose(r.vdot, kkt(problem).vdot[0], atol=1e-11)


# Moving supports.


@pytest.mark.parametrize("axes", ["support", "tip"])
def test_prescribed_acceleration_is_met_on_a_moving_support(axes, derivative):
    """The relative twist, computed from poses and twists alone, changes as prescribed."""
    s = arm6().system()
    rng = np.random.default_rng(4)
    q, v = rng.normal(size=(2, s.nv))
    frame = list(s.mechanism.bodies)[-1]
    start, twist, acceleration = (
        Pose(p=(0.3, -0.2, 0.5), rpy=(0.4, -0.3, 0.9)),
        rng.normal(size=6),
        rng.normal(size=6),
    )
    wanted = np.array([0.7, -1.2, 0.4])
    support = ct.Support(start, twist, acceleration)
    contact = ct.TipContact(frame, ("ry", "dx", "dz"), acceleration=wanted, support=support, axes=axes)
    r = ct.contact_dynamics(s, q, v, rng.normal(size=s.nv), [contact])

    def relative_twist(t):
        q_t, v_t = q + v * t + r.vdot * t**2 / 2, v + r.vdot * t
        tip, own = s.pose(q_t, frame), s.twist(q_t, v_t, frame)
        rate = twist + acceleration * t
        p_s = start.p + twist[3:] * t + acceleration[3:] * t**2 / 2
        R_s = quaternion.rotation(quaternion.exp(twist[:3] * t + acceleration[:3] * t**2 / 2)) @ start.R
        w = tip.R @ own[:3] - rate[:3]
        u = tip.R @ own[3:] - rate[3:] - np.cross(rate[:3], tip.p - p_s)
        R = tip.R if axes == "tip" else R_s
        return np.concatenate([R.T @ w, R.T @ u])

    change = derivative(relative_twist, 2e-4)
    np.testing.assert_allclose(change[[1, 3, 5]], wanted, atol=1e-7)
    np.testing.assert_allclose(change[[0, 2, 4]], r.contacts[0].g, atol=1e-7)


def test_forces_and_accelerations_satisfy_the_equations_of_motion():
    s = arm6().system()
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, s.nv))
    frame = list(s.mechanism.bodies)[-1]
    r = ct.contact_dynamics(
        s, q, v, tau, [ct.TipContact(frame, ("dx", "dy", "dz"), axes="tip", force=(0.1, 0.2, -0.3))]
    )
    without = s.inverse_dynamics(q, v, r.vdot, f_ext={frame: -r.contacts[0].f})
    np.testing.assert_allclose(without, tau, atol=1e-10)
    np.testing.assert_allclose(r.contacts[0].h, [0.1, 0.2, -0.3])


# Class II: sliding.


def test_block_slides_on_a_slope():
    slope, mu = 0.5, 0.2
    s = block(slope)
    support = ct.Support(Pose(rpy=(0, slope, 0)))
    contact = ct.TipContact.sliding("block", mu, (1.0, 0.0), support=support)
    r = ct.contact_dynamics(s, [0, 0], [1.0, 0], None, [contact])
    np.testing.assert_allclose(r.vdot, [10 * (np.sin(slope) - mu * np.cos(slope)), 0.0], atol=1e-13)
    pressure = 2 * 10 * np.cos(slope)
    np.testing.assert_allclose(r.contacts[0].f, [0, 0, 0, mu * pressure, 0, -pressure], atol=1e-12)
    assert contact.contact_class == 2 and ct.TipContact("block", "dz").contact_class == 1


def test_lifted_floor_presses_harder():
    lifted = ct.Support(acceleration=(0, 0, 0, 0, 0, 3.0))
    contact = ct.TipContact.sliding("block", 0.3, (1.0, 0.0), support=lifted)
    r = ct.contact_dynamics(block(), [0, 0], [1.0, 0], None, [contact])
    np.testing.assert_allclose(r.vdot, [-0.3 * 13.0, 3.0], atol=1e-13)


def test_sliding_tip_of_a_chain_satisfies_the_equations_of_motion():
    s = four_links().system()
    q, v = np.array([0.3, -0.4, 0.8, 0.2]), np.array([0.5, -1.0, 0.7, 0.3])
    r = ct.contact_dynamics(s, q, v, None, [ct.TipContact.sliding("tip", 0.4, (1.0, 0.0))])
    tip = r.contacts[0]
    np.testing.assert_allclose(tip.f[3], -0.4 * tip.f[5], atol=1e-12)
    turn = s.pose(q, "tip").R.T
    on_tip = -np.concatenate([turn @ tip.f[:3], turn @ tip.f[3:]])
    np.testing.assert_allclose(s.inverse_dynamics(q, v, r.vdot, f_ext={"tip": on_tip}), 0.0, atol=1e-11)


def test_jamming_friction_is_told():
    """Friction just large enough that pressing harder no longer lifts the tip (Painleve)."""
    s = four_links().system()
    q = np.array([0.3, -0.4, 0.8, 0.2])
    lambda_inverse, _ = s.operational_space(q, "tip")
    turn = np.kron(np.eye(2), s.pose(q, "tip").R)
    mobility = turn @ lambda_inverse @ turn.T
    friction = np.zeros((5, 1))
    friction[3] = -mobility[5, 5] / mobility[5, 3]
    with pytest.raises(ct.SingularDynamicsError, match="'tip' jam"):
        ct.contact_dynamics(s, q, REST, None, [ct.TipContact("tip", "dz", friction=friction)])


# Together with loops, several contacts, batches.


def test_contact_on_a_closed_mechanism():
    """A four-bar whose crank is stopped by a contact stands still under gravity, and the loop's forces are right."""
    m = four_bar()
    m.add_frame("pin", "crank", Pose(p=(0.4, 0, 0)))
    s = m.system()
    q = s.assemble({"A": 0.3})
    r = ct.contact_dynamics(s, q, np.zeros(s.nv), None, [ct.TipContact("pin", "dz")])
    np.testing.assert_allclose(r.vdot, 0.0, atol=1e-11)
    # Virtual work: the contact carries the weight that turning the crank would lift.
    v = s.velocity(q, {"A": 1.0})
    lift = s.pose(q, "pin").R @ s.twist(q, v, "pin")[3:]
    np.testing.assert_allclose(-r.contacts[0].f[5] * lift[2], s.bias_force(q, np.zeros(s.nv)) @ v, atol=1e-11)


def test_two_contacts_and_a_batch():
    s = arm6().system()
    rng = np.random.default_rng(6)
    q, v, tau = rng.normal(size=(3, 4, s.nv))
    bodies = list(s.mechanism.bodies)
    contacts = [ct.TipContact(bodies[-1], ("dx", "dz")), ct.TipContact(bodies[-3], "dy", acceleration=0.3)]
    r = ct.contact_dynamics(s, q, v, tau, contacts)
    assert r.vdot.shape == (4, s.nv) and r.contacts[0].f.shape == (4, 6) and r.rank.shape == (4,)
    for k in range(4):
        one = ct.contact_dynamics(s, q[k], v[k], tau[k], contacts)
        np.testing.assert_allclose(r.vdot[k], one.vdot, rtol=1e-9, atol=1e-9)
    assert (r.rank == 3).all()


# What cannot be.


def test_contradictory_accelerations():
    s = four_links().system()
    with pytest.raises(ct.LoopError, match=r"'tip' \(g\^c = \[0.0, 0.0, 0.0, 1.0, 0.0\]\) contradict"):
        ct.contact_dynamics(s, REST, REST, None, [ct.TipContact("tip", HELD, acceleration=(0, 0, 0, 1, 0))])
    both = [ct.TipContact("tip", "dz"), ct.TipContact("tip", "dz", acceleration=1.0)]
    with pytest.raises(ct.LoopError, match="contradict each other"):
        ct.contact_dynamics(s, REST, REST, None, both)
    same = ct.contact_dynamics(s, REST, REST, None, [both[1], both[1]])
    alone = ct.contact_dynamics(s, REST, REST, None, [both[1]])
    np.testing.assert_allclose(same.vdot, alone.vdot, atol=1e-12)


def test_contact_needs_something_that_moves():
    with pytest.raises(ct.LoopError, match="'ground': the frame belongs to ground"):
        ct.contact_dynamics(four_links().system(), REST, REST, None, [ct.TipContact("ground", "dz")])
    with pytest.raises(ct.UnknownNameError, match="'tipp'"):
        ct.contact_dynamics(four_links().system(), REST, REST, None, [ct.TipContact("tipp", "dz")])
    with pytest.raises(ct.LoopError, match="no contact"):
        ct.contact_dynamics(four_links().system(), REST, REST, None, [])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ct.TipContact("tip", ("dz", "dz")), "each once"),
        (lambda: ct.TipContact("tip", ("up",)), "name directions"),
        (lambda: ct.TipContact("tip", np.ones((6, 2))), "depend on each other"),
        (lambda: ct.TipContact("tip", np.ones((5, 2))), "shape"),
        (lambda: ct.TipContact("tip", "dz", acceleration=(1, 2)), "acceleration"),
        (lambda: ct.TipContact("tip", "dz", force=np.nan), "force"),
        (lambda: ct.TipContact("tip", "dz", friction=[[0.1]]), "friction has shape"),
        (lambda: ct.TipContact("tip", "dz", axes="ground"), "axes is 'ground'"),
        (lambda: ct.TipContact.sliding("tip", 0.1, (0, 0)), "slip"),
        (lambda: ct.TipContact.sliding("tip", -0.1, (1, 0)), "coefficient"),
        (lambda: ct.Support(twist=(1, 2)), "twist"),
    ],
)
def test_descriptions_that_no_contact_can_have(make, message):
    with pytest.raises(ct.ModelError, match=message):
        make()


def test_matrix_of_directions():
    """A slanted line as constrained direction: phi^c need not be named axes."""
    s = four_links().system()
    along = np.array([0, 0, 0, 0.6, 0, 0.8])
    r = ct.contact_dynamics(s, REST, REST, None, [ct.TipContact("tip", along[:, None], acceleration=0.5)])
    tip = s.jacobian(REST, "tip") @ r.vdot
    np.testing.assert_allclose(along @ tip, 0.5, atol=1e-12)
    np.testing.assert_allclose(np.cross(r.contacts[0].f[3:], along[3:]), 0.0, atol=1e-12)
