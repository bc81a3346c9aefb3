"""Bodies without mass in the middle of a mechanism: what is determined is computed, the rest is named."""

import numpy as np
import pytest

import catena as ct


def polar():
    """A point mass on a slide that turns, with nothing else: polar coordinates."""
    m = ct.Mechanism("polar", gravity=(0.0, 0.0, 0.0))
    m.add_body("slide")
    m.add_body("load", 2.0)
    m.add_joint("turn", "ground", "slide", ct.Revolute("z"))
    m.add_joint("reach", "slide", "load", ct.Prismatic("x"))
    return m


def test_a_point_mass_in_polar_coordinates(agree):
    """Nothing moves in the neutral configuration, where the radius is zero, but elsewhere it does."""
    s = polar().system()
    r, w, rdot = 0.5, 0.3, 0.2
    q, v = [0.4, r], [w, rdot]
    turn, pull = 1.0, 3.0
    expected = [(turn / 2.0 - 2.0 * r * rdot * w) / r**2, pull / 2.0 + r * w**2]
    agree(s.forward_dynamics(q, v, [turn, pull]), expected, 1e-13)
    agree(s.forward_dynamics([q, q], [v, v], [turn, pull])[1], expected, 1e-13)
    agree(s.forward_dynamics(q, v, [turn, pull], f_ext={"load": np.zeros(6)}), expected, 1e-13)
    vdot, tau = s.hybrid_dynamics(q, v, [turn, 0.0], {"reach": expected[1]})
    agree(vdot, expected, 1e-13)
    agree(tau, [turn, pull], 1e-13)
    agree(s.inverse_dynamics(q, v, expected), [turn, pull], 1e-13)
    agree(s.reactions(q, v, [turn, pull])["reach"][3:5], [pull, turn / r], 1e-13)
    Lambda_inv = s.operational_space(q, "load")[0]
    agree(Lambda_inv[3:5, 3:5], np.eye(2) / 2.0, 1e-13)


def test_what_is_not_determined_is_named():
    s = polar().system()
    for ask in (s.forward_dynamics, s.reactions):
        with pytest.raises(
            ct.SingularDynamicsError, match="Joint 'turn' can move without moving any inertia"
        ):
            ask([0.4, 0.0], [0.3, 0.2], [1.0, 3.0])
    with pytest.raises(
        ct.SingularDynamicsError, match="Joint 'turn' can move without moving any inertia: the body 'slide'"
    ):
        s.forward_dynamics([0.4, 0.0], [0.3, 0.2], [1.0, 3.0], method="kkt")


def test_velocities_and_mobility_need_no_mass():
    s = polar().system()
    assert s.diagnose([0.4, 0.0]).mobility == 2
    np.testing.assert_allclose(s.velocity([0.4, 0.0], {"turn": 2.0}), [2.0, 0.0])


def crank_slider(mass):
    """A crank, a rod and a slide with a load; crank and rod have little mass or none."""
    m = ct.Mechanism("crank and slide")
    m.add_body("crank", mass, (0.5, 0, 0), mass * np.array([0.01, 0.1, 0.1]))
    m.add_body("rod", mass, (1.0, 0, 0), mass * np.array([0.01, 0.1, 0.1]))
    m.add_body("load", 3.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), ct.Pose(p=(1.0, 0, 0)))
    m.add_joint("C", "rod", "load", ct.Revolute("z"), ct.Pose(p=(2.0, 0, 0)))
    m.add_joint("D", "ground", "load", ct.Prismatic("x"))
    return m


@pytest.mark.parametrize("cut", "ABCD")
def test_a_crank_without_mass_moves_its_load(cut, agree):
    """The motion is the limit of that with little mass, wherever the loop is cut; inverse dynamics gives the forces
    back, and there is one degree of freedom."""
    moved = {}
    for mass in (0.0, 1e-9):
        s = crank_slider(mass).system(cut=[cut])
        names = [name for name in "ABCD" if name != cut]
        start = {"A": 0.6, "B": -0.9} if cut not in "AB" else {"C": 0.3 + 0.9 - 0.6, "D": 2.7}
        q = s.assemble(start, slack=1.0)
        assert s.diagnose(q).mobility == 1
        driver = names[0]
        v = s.velocity(q, {driver: 1.5})
        tau = np.zeros(s.nv)
        tau[s.slice_v(driver)] = 4.0
        moved[mass] = s.forward_dynamics(q, v, tau)
        if not mass:
            agree(s.forward_dynamics(q, v, tau, method="kkt"), moved[mass], 1e-10)
            again = s.forward_dynamics(q, v, s.inverse_dynamics(q, v, moved[mass]))
            agree(again, moved[mass], 1e-9)
            assert all(np.isfinite(w).all() for w in s.reactions(q, v, tau).values())
    agree(moved[0.0], moved[1e-9], 1e-7)


@pytest.mark.parametrize("x", [0.3, 0.1 + 0.2])
def test_rounding_is_no_inertia(x):
    """A rotor without mass on two joints that coincide but for rounding: constraints that are rounding hold nothing."""
    m = ct.Mechanism("rotor")
    m.add_body("rotor")
    m.add_body("load", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    turned = ct.Pose(p=(0.3, 0.1, 0.2), rpy=(0.4, 0.7, 0.1))
    m.add_joint("a", "ground", "rotor", ct.Spherical(), turned, ct.Pose(p=(1.0, 2.0, 3.0)))
    m.add_joint(
        "b", "ground", "rotor", ct.Universal("x", "y"), ct.Pose(p=(x, 0.1, 0.2)), ct.Pose(p=(1.0, 2.0, 3.0))
    )
    m.add_joint("c", "ground", "load", ct.Revolute("z"))
    s = m.system()
    q = s.assemble({"b": [0.3, 0.7]})
    assert s.diagnose(q).mobility == 3
    for method in ("auto", "kkt", "absolute", "joint_multipliers", "minimal"):
        with pytest.raises(ct.SingularDynamicsError):
            s.forward_dynamics(q, np.zeros(s.nv), np.ones(s.nv), method=method)
