"""Prescribed joint accelerations of trees: against inverse dynamics, analytic pendulums and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import random_states
from catena.kernels import plain_numbers

SEEDS = range(8)


def drawn(system, vdot, seed, part=0.4):
    """Accelerations of a random choice of components, as hybrid dynamics takes them."""
    random = np.random.default_rng(seed)
    driven = random.uniform(size=system.nv) < part
    given = np.where(driven, vdot, np.nan)
    return driven, {
        name: given[..., system.slice_v(name)] for name in system.joints if driven[system.slice_v(name)].any()
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_confirms(mixed, agree, seed):
    """All kinds, whole joints and single components driven: what is given is kept, and the forces give the motion."""
    system = mixed(seed, friction=bool(seed % 3)).system()
    q, v, tau, wish = random_states(system, 4, seed)
    driven, prescribed = drawn(system, wish, seed)
    f_ext = {"body4": np.random.default_rng(seed).normal(size=6)}
    a = np.random.default_rng(seed + 1).normal(size=6)
    vdot, forces = system.hybrid_dynamics(q, v, tau, prescribed, f_ext, base_acceleration=a)
    np.testing.assert_array_equal(vdot[:, driven], wish[:, driven])
    np.testing.assert_array_equal(forces[:, ~driven], tau[:, ~driven])
    taken = np.einsum("bij,bj->bi", np.abs(system.mass_matrix(q)), np.abs(vdot)).max()
    agree(system.inverse_dynamics(q, v, vdot, f_ext, base_acceleration=a), forces, 1e-12, taken)


def test_nothing_or_everything_prescribed_is_forward_or_inverse_dynamics(mixed, agree):
    system = mixed(1, friction=True).system()
    q, v, tau, wish = random_states(system, 3, 1)
    vdot, forces = system.hybrid_dynamics(q, v, tau, {})
    agree(vdot, system.forward_dynamics(q, v, tau), 1e-11)
    np.testing.assert_array_equal(forces, tau)
    everything = {name: wish[:, system.slice_v(name)] for name in system.joints}
    vdot, forces = system.hybrid_dynamics(q, v, None, everything)
    np.testing.assert_array_equal(vdot, wish)
    agree(forces, system.inverse_dynamics(q, v, wish), 1e-12)


def test_plain_numbers_agree(mixed, agree):
    system = mixed(2, friction=True).system()
    q, v, tau, wish = (x[0] for x in random_states(system, 1, 2))
    _, prescribed = drawn(system, wish, 2)
    compiled = system.hybrid_dynamics(q, v, tau, prescribed)
    with plain_numbers():
        for ours, theirs in zip(system.hybrid_dynamics(q, v, tau, prescribed), compiled, strict=True):
            agree(ours, theirs, 1e-11)


# Pendulums.


def cart(mass, l=1.5, g=9.0):  # noqa: E741 - the usual symbol
    """A point mass of 2 kg on a rod, on a cart that slides along x."""
    m = ct.Mechanism("cart", gravity=(0, 0, -g))
    m.add_body("cart", mass, inertia=0.0)
    m.add_body("bob", 2.0, (0, 0, -l), 0.0)
    m.add_joint("track", "ground", "cart", ct.Prismatic("x"), friction=0.5)
    m.add_joint("pivot", "cart", "bob", ct.Revolute("y"))
    return m


@pytest.mark.parametrize("mass", [0.0, 3.0])
def test_a_pendulum_on_an_accelerated_cart(mass):
    """l theta'' = -g sin theta + a cos theta (theta about y: the bob goes to -x), the cart with mass and without;
    the drive gives (M + m) a less what the bob takes, and friction."""
    m = cart(mass)
    s = m.system()
    theta, omega, a = 0.4, 1.2, 3.0
    vdot, forces = s.hybrid_dynamics([0.2, theta], [0.7, omega], None, {"track": a})
    expected = (-9.0 * np.sin(theta) + a * np.cos(theta)) / 1.5
    np.testing.assert_allclose(vdot, [a, expected], rtol=1e-12)
    # x = X - l sin theta for the bob.
    push = mass * a + 2.0 * (a - 1.5 * (np.cos(theta) * expected - np.sin(theta) * omega**2)) + 0.5
    np.testing.assert_allclose(forces, [push, 0.0], rtol=1e-12)


def test_a_massless_carrier_needs_its_drive():
    """Hanging straight down, a point mass on a massless cart leaves it free to move; driven it is no trouble."""
    s = cart(0.0).system()
    with pytest.raises(ct.SingularDynamicsError, match="'track'"):
        s.forward_dynamics([0.0, 0.0], [0.0, 0.0])
    vdot, _ = s.hybrid_dynamics([0.0, 0.0], [0.0, 0.0], None, {"track": 1.0})
    np.testing.assert_allclose(vdot, [1.0, 1.0 / 1.5])
    # A driven pivot holds the bob to the cart, which then moves with it.
    vdot, _ = s.hybrid_dynamics([0.0, 0.0], [0.0, 0.0], None, {"pivot": 1.0})
    np.testing.assert_allclose(vdot, [1.5, 1.0])
    with pytest.raises(ct.SingularDynamicsError, match="'track'"):
        s.hybrid_dynamics([0.0, 0.0], [0.0, 0.0], None, {})


def carousel(mass=0.0):
    """A point mass on a rod that hangs from a turning column."""
    m = ct.Mechanism("carousel", gravity=(0, 0, -9.0))
    m.add_body("column", mass, inertia=0.0 if not mass else (0.3, 0.3, 0.2))
    m.add_body("rod", 2.0, (0, 0, -1.5), (0.04, 0.03, 0.02) if mass else 0.0)
    m.add_joint("turn", "ground", "column", ct.Revolute("z"))
    m.add_joint("pivot", "column", "rod", ct.Revolute("y"))
    return m


def test_a_pendulum_on_a_turning_column():
    """theta'' = W^2 sin cos - (g / l) sin, and the moment of the drive is the rate of m l^2 sin^2 theta W."""
    s = carousel().system()
    theta, omega, W, Wdot = 0.6, 0.8, 2.5, 1.1
    vdot, forces = s.hybrid_dynamics([0.3, theta], [W, omega], None, {"turn": Wdot})
    c, n = np.cos(theta), np.sin(theta)
    np.testing.assert_allclose(vdot, [Wdot, W**2 * n * c - 9.0 / 1.5 * n], rtol=1e-12)
    ml2 = 2.0 * 1.5**2
    np.testing.assert_allclose(
        forces, [ml2 * (n**2 * Wdot + 2 * n * c * omega * W), 0.0], rtol=1e-12, atol=1e-13
    )


def test_pinocchio_on_a_turning_column(agree):
    """M and the bias of Pinocchio, split into driven and free rows."""
    m = carousel(mass=3.0)
    s = m.system()
    model, to = to_pinocchio(m)
    q, v, tau, wish = random_states(s, 5, 4)
    vdot, forces = s.hybrid_dynamics(q, v, tau, {"turn": wish[:, :1]})
    data = model.createData()
    for k in range(5):
        M = pin.crba(model, data, q[k])
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(model, data, q[k], v[k])
        swing = (tau[k, 1] - bias[1] - M[1, 0] * wish[k, 0]) / M[1, 1]
        theirs = np.array([wish[k, 0], swing])
        agree(vdot[k], theirs, 1e-11)
        agree(forces[k], [(M @ theirs + bias)[0], tau[k, 1]], 1e-11)


def test_what_cannot_be_prescribed_is_refused():
    s = cart(1.0).system()
    q = np.zeros(2)
    for given, message in (
        ({"nix": 1.0}, "no joint is named 'nix'"),
        ({"track": [1.0, 2.0]}, "its last dimension must be 1"),
        ({"track": np.inf}, "infinite"),
        ({"track": [[1.0], [2.0], [3.0]], "pivot": [[1.0], [2.0]]}, "do not fit together"),
        ([1.0], "give a mapping"),
    ):
        with pytest.raises(ct.CatenaError, match=message):
            s.hybrid_dynamics(q, q, None, given)
