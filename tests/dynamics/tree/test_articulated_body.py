"""Forward dynamics against inverse dynamics and against H^-1 (tau - bias)."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import arm6, arm7, chain, free_flyer, humanoid, tree

SEEDS = range(12)


def pushes(seed, states):
    random = np.random.default_rng(seed)
    return {
        "f_ext": {"body4": random.normal(size=(states, 6)), "tool8": random.normal(size=(states, 6))},
        "base_acceleration": random.normal(size=(states, 6)),
    }


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_gives_the_forces_back(mixed, agree, seed, pushed):
    system = mixed(seed, friction=bool(seed % 3)).system()
    q, v, tau, _ = random_states(system, 4, seed)
    outside = pushes(seed, 4) if pushed else {}
    vdot = system.forward_dynamics(q, v, tau, **outside)
    # Rounding enters relative to the forces that the accelerations take, which may be larger than tau.
    taken = np.einsum("bij,bj->bi", np.abs(system.mass_matrix(q)), np.abs(vdot)).max()
    agree(system.inverse_dynamics(q, v, vdot, **outside), tau, 1e-13, taken)


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_articulated_bodies_and_composite_bodies_agree(mixed, agree, seed, pushed):
    system = mixed(seed, friction=bool(seed % 3)).system()
    q, v, tau, _ = random_states(system, 4, seed)
    outside = pushes(seed, 4) if pushed else {}
    ours = system.forward_dynamics(q, v, tau, "articulated_body", **outside)
    theirs = system.forward_dynamics(q, v, tau, "composite_body", **outside)
    worst = np.linalg.cond(system.mass_matrix(q)).max()
    for a, b in zip(ours, theirs):
        agree(a, b, 1e-15 * max(worst, 1e2))


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_of_inverse_dynamics(mixed, agree, seed):
    system = mixed(seed, friction=True).system()
    q, v, _, vdot = random_states(system, 4, seed)
    tau = system.inverse_dynamics(q, v, vdot)
    # Rounding of the forces comes back through H^-1.
    felt = np.abs(tau).max() * np.linalg.norm(np.linalg.inv(system.mass_matrix(q)), 2, axis=(1, 2)).max()
    agree(system.forward_dynamics(q, v, tau), vdot, 1e-14, felt)


@pytest.mark.parametrize(
    "make", [arm6, arm7, humanoid, free_flyer, lambda: chain(30), lambda: tree(30, 3)],
    ids=["arm6", "arm7", "humanoid", "free_flyer", "chain", "tree"],
)  # fmt: skip
def test_shipped_mechanisms(agree, make):
    system = make().system()
    q, v, tau, _ = random_states(system, 4, 1)
    vdot = system.forward_dynamics(q, v, tau)
    H = system.mass_matrix(q)
    taken = np.einsum("bij,bj->bi", np.abs(H), np.abs(vdot)).max()
    agree(system.inverse_dynamics(q, v, vdot), tau, 1e-13, taken)
    agree(np.einsum("bij,bj->bi", H, vdot) + system.bias_force(q, v), tau, 1e-13, taken)


def test_no_tau_is_tau_of_zero(mixed):
    system = mixed(2).system()
    q, v, _, _ = random_states(system, 3, 2)
    np.testing.assert_allclose(
        system.forward_dynamics(q, v), system.forward_dynamics(q, v, np.zeros_like(v)), rtol=1e-12
    )
    np.testing.assert_allclose(
        system.forward_dynamics(q[0], v[0]),
        system.forward_dynamics(q[0], v[0], np.zeros(system.nv)),
        rtol=1e-12,
    )


def test_a_mechanism_that_cannot_move_has_no_accelerations():
    mechanism = ct.Mechanism("statue")
    mechanism.add_body("stone", mass=100.0, inertia=1.0)
    mechanism.add_joint("foot", "ground", "stone", ct.Fixed())
    system = mechanism.system()
    nothing = np.zeros(0)
    assert (system.nq, system.nv) == (0, 0)
    assert system.forward_dynamics(nothing, nothing, nothing).shape == (0,)
    assert system.inverse_dynamics(nothing, nothing, nothing).shape == (0,)
    assert system.mass_matrix(nothing).shape == (0, 0)
    assert system.jacobian(nothing, "stone").shape == (6, 0)
    assert system.kinetic_energy(nothing, nothing) == 0.0


def test_a_free_body_falls():
    """A body alone accelerates with gravity, whatever its mass, in its own axes; a spinning one precesses."""
    mechanism = ct.Mechanism("stone", gravity=(1.0, 2.0, -9.0))
    I = np.array([0.2, 0.3, 0.4])  # noqa: E741 - the usual symbol
    mechanism.add_body("stone", mass=3.0, inertia=I)
    mechanism.add_joint("air", "ground", "stone", ct.Free())
    system = mechanism.system()
    q, v, _, _ = random_states(system, 5, 0)
    vdot = system.forward_dynamics(q, v)
    R = system.pose(q, "stone")[:, :3, :3]
    w, u = v[:, :3], v[:, 3:]
    np.testing.assert_allclose(vdot[:, :3], -np.cross(w, I * w) / I, rtol=1e-13, atol=1e-14)
    falling = np.einsum("bji,j->bi", R, [1.0, 2.0, -9.0]) - np.cross(w, u)
    np.testing.assert_allclose(vdot[:, 3:], falling, rtol=1e-13, atol=1e-13)
