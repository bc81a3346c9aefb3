"""Projection on closed states, in lanes: closed, least in kinetic energy, idempotent, clear when it fails."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arms_on_object, four_bar, n_four_bars, random_mechanism, stewart

MECHANISMS = {
    "four-bar": four_bar(),
    "five four-bars": n_four_bars(5),
    "stewart": stewart(),
    "three arms": arms_on_object(3, 7),
    **{f"random {k}": random_mechanism(k, bodies=6, loops=1 + k % 3) for k in range(1, 6)},
}


def drifted(system, states=9, by=0.02, seed=0):
    rng = np.random.default_rng(seed)
    q = system.integrate(system.neutral(), by * rng.normal(size=(states, system.nv)))
    return q, rng.normal(size=(states, system.nv))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_projected_state_is_closed_in_position_and_velocity(name):
    system = MECHANISMS[name].system()
    q, v = system.project(*drifted(system))
    position, velocity = system.closure(q, v)
    assert np.abs(position).max(initial=0.0) < 1e-13
    assert np.abs(velocity).max(initial=0.0) < 1e-11


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_closed_state_stays_where_it_is(name):
    system = MECHANISMS[name].system()
    q, v = system.project(*drifted(system))
    again, rates = system.project(q, v)
    np.testing.assert_allclose(system.difference(q, again), 0.0, atol=1e-12)
    np.testing.assert_allclose(rates, v, atol=1e-10)


@pytest.mark.parametrize("name", ["stewart", "three arms", "random 1"])
def test_the_change_of_velocity_is_least_in_kinetic_energy(name):
    """The change is orthogonal, in the sense of H, to every motion that the loops allow."""
    system = MECHANISMS[name].system()
    q, v = drifted(system, states=1)
    closed, rates = system.project(q[0], v[0])
    allowed = system.project(closed, np.random.default_rng(1).normal(size=system.nv))[1]
    H = system.mass_matrix(closed)
    change = rates - v[0]
    scale = np.sqrt((change @ H @ change) * (allowed @ H @ allowed))
    assert abs(change @ H @ allowed) < 1e-10 * scale


def test_a_tree_is_left_alone():
    system = random_mechanism(0, bodies=4, loops=0).system()
    q, v = drifted(system, 2)
    near, rates = system.project(q, v)
    np.testing.assert_array_equal(near, q)
    np.testing.assert_array_equal(rates, v)


def test_q_alone_gives_q_alone():
    system = four_bar().system()
    q, _ = drifted(system, 1)
    assert system.project(q[0]).shape == (system.nq,)


def test_a_loop_that_cannot_be_closed_is_named_with_its_error():
    mechanism = ct.Mechanism("too far")
    for name in ("a", "b"):
        mechanism.add_body(name, 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    tip = ct.Pose(p=(1.0, 0.0, 0.0))
    mechanism.add_joint("left", "ground", "a", ct.Revolute("z"))
    mechanism.add_joint("right", "ground", "b", ct.Revolute("z"), in_parent=ct.Pose(p=(5.0, 0.0, 0.0)))
    mechanism.add_joint("meet", "a", "b", ct.Revolute("z"), in_parent=tip, in_child=tip)
    with pytest.raises(ct.LoopError, match=r"cannot be closed from here; the errors left .* meet 2\.9"):
        mechanism.system().project(np.array([0.1, 3.0]))
