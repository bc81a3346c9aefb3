"""Joints that coincide but for rounding are joints that coincide: 0.1 + 0.2 is as good as 0.3."""

import itertools

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.closed_chains import FORMULATIONS
from catena.kinematics.extent import characteristic_length, extent
from catena.mechanism.generators import four_bar, random_mechanism

CLOSE = 0.1 + 0.2


def rotor(side, x, mass=2.0):
    """A body held by a ball joint at 0.3 m and by a universal joint at x, both on the body's or the ground's side."""
    mechanism = ct.Mechanism("rotor")
    inertia = (0.02 * mass, 0.025 * mass, 0.04 * mass)
    mechanism.add_body("body", mass=mass, com=(0.1, 0.05, -0.2) if mass else (0.0, 0.0, 0.0), inertia=inertia)
    for name, kind, at in (("ball", ct.Spherical(), 0.3), ("cross", ct.Universal("x", "y"), x)):
        mechanism.add_joint(name, "ground", "body", kind, **{side: ct.Pose(p=(at, 0.0, 0.0))})
    return mechanism


@pytest.mark.parametrize(
    ("side", "cut"), list(itertools.product(("in_parent", "in_child"), ((), ("ball",), ("cross",))))
)
def test_accelerations_and_reactions_of_a_rotor(side, cut):
    exact, close = (rotor(side, x).system(cut=cut) for x in (0.3, CLOSE))
    q, v, tau = exact.neutral(), np.zeros(exact.nv), np.linspace(1.0, 2.0, exact.nv)
    expected = exact.forward_dynamics(q, v, tau)
    for method in ("auto", *FORMULATIONS):
        np.testing.assert_allclose(close.forward_dynamics(q, v, tau, method=method), expected, atol=1e-12)
    for name, wrench in exact.reactions(q, v, tau).items():
        np.testing.assert_allclose(close.reactions(q, v, tau)[name], wrench, atol=1e-12)
    found, wanted = (s.inverse_dynamics(q, v, expected) for s in (close, exact))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("side", ["in_parent", "in_child"])
@pytest.mark.parametrize("mass", [2.0, 0.0])
def test_assembly_and_diagnosis_of_a_rotor(side, mass):
    for cut in ((), ("ball",), ("cross",)):
        system = rotor(side, CLOSE, mass).system(cut=cut)
        q = system.assemble({"cross": (0.3, -0.2)})
        np.testing.assert_allclose(system.closure(q)[0], 0.0, atol=1e-14)
        assert system.diagnose(q).mobility == 2


def test_a_random_mechanism_whose_joints_coincide():
    system = random_mechanism(1011, bodies=3, loops=1).system()
    q, v = system.neutral(), np.zeros(system.nv)
    expected = system.forward_dynamics(q, v, v)
    for method in FORMULATIONS:
        np.testing.assert_allclose(system.forward_dynamics(q, v, v, method=method), expected, atol=1e-10)


def test_the_size_of_a_mechanism():
    """Of links that of the longest, of one body with its joints in one place its radius of gyration there; and 1
    where there is nothing to measure."""
    assert extent(four_bar(0.4, 1.2, 0.9, 1.0).system().plan) == pytest.approx(0.6)
    about_ball = np.sqrt((0.02 + 0.025 + 0.04) / 2 + 0.2**2 + 0.05**2 + 0.2**2)
    for x, cut in itertools.product((0.3, CLOSE), ((), ("ball",))):
        assert extent(rotor("in_child", x).system(cut=cut).plan) == pytest.approx(about_ball)
    assert extent(rotor("in_child", CLOSE, mass=0.0).system().plan) == 1.0
    assert characteristic_length(rotor("in_child", CLOSE).system().plan) == 1.0
