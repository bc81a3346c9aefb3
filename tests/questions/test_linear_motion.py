"""Linearisation, equilibria and modes against closed forms and against the motion itself."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar


def mass_spring_chain(n=4, k=100.0, mass=2.0, damping=0.0):
    m = ct.Mechanism("chain", gravity=(0, 0, -9.81))
    before = "ground"
    for i in range(n):
        m.add_body(f"b{i}", mass=mass, inertia=0.1)
        m.add_joint(f"j{i}", before, f"b{i}", ct.Prismatic("z"))
        m.add_spring(f"s{i}", f"j{i}", stiffness=k, damping=damping)
        before = f"b{i}"
    return m


def double_pendulum():
    m = ct.Mechanism("double pendulum", gravity=(0, 0, -9.81))
    m.add_body("upper", mass=1.0, com=(0, 0, -1.0))
    m.add_body("lower", mass=1.0, com=(0, 0, -1.0))
    m.add_joint("a", "ground", "upper", ct.Revolute("y"))
    m.add_joint("b", "upper", "lower", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -1)))
    return m


def test_a_chain_of_masses_and_springs(agree):
    n, k, mass = 4, 100.0, 2.0
    s = mass_spring_chain(n, k, mass).system()
    rest = s.equilibrium()
    assert rest.stable
    agree(rest.q, -9.81 * mass / k * np.arange(n, 0, -1), 1e-12)
    modes = s.modes(rest.q)
    agree(
        modes.frequencies, 2 * np.sqrt(k / mass) * np.sin((2 * np.arange(n) + 1) * np.pi / (4 * n + 2)), 1e-12
    )
    agree(modes.damping_ratios, np.zeros(n), 0.0, scale=1.0)
    # Stretches of the springs in the first mode are differences of a sine.
    steps = np.sin((np.arange(n + 1)) * np.pi / (2 * n + 1))
    shape = np.diff(steps)
    agree(modes.shapes[:, 0].real, shape / np.max(np.abs(shape)), 1e-11)


def test_dampers_in_proportion_give_their_ratios(agree):
    k, c = 100.0, 1.5
    s = mass_spring_chain(3, k, 2.0, c).system()
    modes = s.modes(s.equilibrium().q)
    agree(modes.damping_ratios, c / k * modes.frequencies / 2.0, 1e-10)
    assert "damping ratio" in str(modes)


def test_a_double_pendulum_hanging_and_standing(agree):
    s = double_pendulum().system()
    hanging = s.equilibrium([2.9, 0.3], seek="stable")
    assert hanging.stable
    agree(np.cos(hanging.q), np.ones(2), 1e-12)
    expected = np.sqrt(9.81 * (2.0 + np.sqrt(2.0) * np.array([-1.0, 1.0])))
    agree(s.modes(hanging.q).frequencies, expected, 1e-10)
    standing = s.equilibrium([3.0, 0.1])
    assert standing.stability == "unstable"
    agree(standing.q, [np.pi, 0.0], 1e-9)


def test_a_four_bar_comes_to_rest_where_its_mass_centre_is_lowest(agree):
    s = four_bar().system()
    found = s.equilibrium(s.assemble({"A": 0.4}), seek="stable")
    assert found.stable
    assert np.max(np.abs(s.closure(found.q)[0])) < 1e-10
    height = [
        s.potential_energy(s.assemble({"A": found.q[0] + x}, guess=found.q)) for x in (-0.01, 0.0, 0.01)
    ]
    assert height[1] < min(height[0], height[2])
    mode = s.modes(found.q)
    swings = mode.positions(0, 0.1, np.linspace(0.0, 6.0, 5))
    assert swings.shape == (5, s.nq)
    assert np.max(np.abs(s.closure(swings)[0])) < 1e-9


def test_linearised_motion_of_a_four_bar_against_differences(agree):
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 2.0})
    linear = s.linearise(q, v)
    (own,) = linear.independent
    name = s.joints[own]
    assert linear.states == (name, f"{name}'")

    def acceleration(step, faster):
        there = s.assemble({name: q[own] + step}, guess=q)
        return s.forward_dynamics(there, s.velocity(there, {name: v[own] + faster}), np.zeros(s.nv))[own]

    h = 1e-3
    for k, at in enumerate((lambda x: acceleration(x, 0.0), lambda x: acceleration(0.0, x))):
        d = [at(j * h) - at(-j * h) for j in (1, 2)]
        agree(linear.A[1, k], (8 * d[0] - d[1]) / (12 * h), 1e-8)
    agree(linear.A[0], [0.0, 1.0], 0.0, scale=1.0)


def test_steps_beside_a_turning_body_are_carried_along(agree):
    """A free body that turns about a principal axis: the linear system has the exact solution of the motion."""
    m = ct.Mechanism("top", gravity=(0, 0, 0))
    m.add_body("top", mass=1.0, inertia=(0.1, 0.1, 0.2))
    m.add_joint("S", "ground", "top", ct.Spherical())
    s = m.system()
    q, v = s.neutral(), np.array([0.0, 0.0, 1.5])
    A = s.linearise(q, v).A
    # x' = w - v x x, and w turns with the rate (0.2 - 0.1) / 0.1 * 1.5.
    turn = np.array([[0.0, 1.5, 0.0], [-1.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    agree(A[:3, :3], turn, 1e-12)
    agree(A[:3, 3:], np.eye(3), 1e-12)
    agree(A[3:, 3:], -turn, 1e-12)


def test_what_is_no_equilibrium_is_refused():
    s = double_pendulum().system()
    with pytest.raises(ct.StateError, match="equilibrium"):
        s.modes([1.0, 0.5])
    with pytest.raises(ct.StateError, match="seek"):
        s.equilibrium(seek="nearest")
    with pytest.raises(ct.StateError, match="One state"):
        s.linearise(np.zeros((3, 2)))
    m = ct.Mechanism("falling")
    m.add_body("b", mass=1.0)
    m.add_joint("j", "ground", "b", ct.Prismatic("z"))
    with pytest.raises(ct.SimulationError, match="no equilibrium"):
        m.system().equilibrium()


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, 1e9])
def test_springs_at_their_free_length_are_an_equilibrium_where_nothing_else_acts(stiffness):
    """Forces vanish there, and with them all that they could be compared with but the stiffness."""
    m = ct.Mechanism("weightless", gravity=(0, 0, 0))
    for name, parent in (("a", "ground"), ("b", "a")):
        m.add_body(name, mass=1.0, com=(0.3, 0.1, 0), inertia=0.1)
        m.add_joint(f"to {name}", parent, name, ct.Revolute("z"), in_parent=ct.Pose(p=(0.7, 0, 0)))
        m.add_spring(f"spring {name}", f"to {name}", stiffness=stiffness, rest=0.3)
    rest = m.system().equilibrium([1.0, -0.2])
    assert rest.stable and np.allclose(rest.q, 0.3, rtol=0, atol=1e-14) and rest.steps < 10


def test_a_constant_push_that_nothing_stiff_resists_has_no_equilibrium():
    m = ct.Mechanism("pushed", gravity=(0, 0, 0))
    m.add_body("held", mass=1.0, inertia=0.1)
    m.add_joint("spring", "ground", "held", ct.Prismatic("x"))
    m.add_spring("stiff", "spring", stiffness=1e9)
    m.add_body("loose", mass=1.0, inertia=0.1)
    m.add_joint("slide", "ground", "loose", ct.Prismatic("y"))
    m.add_wrench("push", "loose", force=(0, 1e-3, 0), axes="ground")
    with pytest.raises(ct.SimulationError, match="no equilibrium"):
        m.system().equilibrium([0.0, 0.0])
