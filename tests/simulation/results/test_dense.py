"""Values between nodes: orders on manifolds, exact cases, grids of their own, and what is refused."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import humanoid, random_mechanism, stewart
from catena.simulation.results.dense import interpolate


def spinning_body():
    """A free body with three different moments of inertia, tumbling."""
    m = ct.Mechanism("tumbler", gravity=(0.0, 0.0, -9.81))
    m.add_body("body", mass=2.0, com=(0.1, 0.0, 0.05), inertia=(0.1, 0.2, 0.25))
    m.add_joint("base", "ground", "body", ct.Free())
    return m.system(), np.array([1.5, -2.0, 1.0, 0.3, -0.2, 0.5])


def spherical_pendulum():
    m = ct.Mechanism("spherical pendulum")
    m.add_body("bob", mass=1.0, com=(0.0, 0.0, -0.6), inertia=(0.02, 0.03, 0.01))
    m.add_joint("ball", "ground", "bob", ct.Spherical())
    return m.system(), np.array([2.0, -1.0, 3.0])


def several_kinds():
    kinds = ["Spherical", "Free", "Universal", "Planar", "Cylindrical"]
    system = random_mechanism(3, bodies=5, kinds=kinds).system()
    return system, np.random.default_rng(0).normal(size=system.nv)


def platform():
    system = stewart().system()
    return system, system.project(system.neutral(), 0.3 * np.random.default_rng(0).normal(size=system.nv))[1]


@pytest.mark.parametrize("make", [spinning_body, spherical_pendulum, several_kinds, platform])
def test_the_error_falls_with_the_sixth_power_in_q_and_the_fifth_in_v(make):
    """Against the same motion integrated through all times to rounding."""
    system, v = make()
    fine = ct.simulate(system, system.neutral(), v, 0.2, rtol=1e-13, atol=1e-14, samples=193)
    errors_q, errors_v = [], []
    for intervals in (6, 12, 24):
        k = np.arange(0, 193, 192 // intervals)
        a = system.forward_dynamics(fine.q[k], fine.v[k])
        q, v = interpolate(system, fine.t[k], fine.q[k], fine.v[k], a[:-1], a[1:], fine.t)
        errors_q.append(np.abs(system.difference(fine.q, q)).max())
        errors_v.append(np.abs(fine.v - v).max())
    steps = np.log([1.0, 0.5, 0.25])
    assert 5.6 < np.polyfit(steps, np.log(errors_q), 1)[0] < 6.4
    assert 4.6 < np.polyfit(steps, np.log(errors_v), 1)[0] < 5.4


def test_the_velocity_is_the_rate_of_the_position_between_nodes(derivative):
    """Also where the nodes are far apart and q turns by more than a radian between them."""
    system, _ = spherical_pendulum()
    q = np.stack([system.neutral(), system.integrate(system.neutral(), [0.7, -1.0, 0.4])])
    v, a = np.array([[1.0, -2.0, 0.5], [0.5, -0.4, 1.0]]), np.array([[1.0, 0.0, 2.0], [0.3, -1.0, 0.0]])

    def at(times):
        return interpolate(system, [0.0, 0.7], q, v, a[:1], a[1:], np.atleast_1d(times))

    for t in (0.1, 0.3, 0.6):
        rate = derivative(lambda s, t=t: at(t + s)[0][0])
        np.testing.assert_allclose(system.rate(*(x[0] for x in at(t))), rate, atol=1e-8)


def test_a_force_that_jumps_at_the_nodes_is_followed_exactly():
    """A mass under a force that is constant between nodes moves on parabolas."""
    m = ct.Mechanism("slide", gravity=(0.0, 0.0, 0.0))
    m.add_body("mass", mass=2.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"))
    force = np.array([[2.0], [-6.0], [4.0]])
    t, a = np.array([0.0, 1.0, 1.5, 3.0]), force / 2.0
    h = np.diff(t)[:, None]
    v = np.concatenate([[[0.0]], np.cumsum(a * h, axis=0)])
    q = np.concatenate([[[0.0]], np.cumsum(v[:-1] * h + 0.5 * a * h**2, axis=0)])
    times = np.linspace(0.0, 3.0, 61)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, 2)
    s = (times - t[k])[:, None]
    q_mid, v_mid = interpolate(m.system(), t, q, v, a, a, times)
    np.testing.assert_allclose(q_mid, q[k] + v[k] * s + 0.5 * a[k] * s**2, atol=1e-14)
    np.testing.assert_allclose(v_mid, v[k] + a[k] * s, atol=1e-14)


def test_nodes_come_back_to_the_last_bit():
    system = humanoid().system()
    run = ct.simulate(system, system.neutral(), np.linspace(-1.0, 1.0, system.nv), 0.1, samples=6)
    q, v = run.at(run.t)
    np.testing.assert_array_equal(q, run.q)
    np.testing.assert_array_equal(v, run.v)


def test_states_with_grids_of_their_own_are_interpolated_as_they_are_alone():
    system, v0 = several_kinds()
    rng = np.random.default_rng(1)
    q = system.integrate(system.neutral(), 0.2 * rng.normal(size=(2, 4, system.nv)))
    v, a = v0 + 0.1 * rng.normal(size=(2, 4, system.nv)), rng.normal(size=(2, 3, system.nv))
    # The second state stopped at 0.5 s: its last node is there twice.
    t = np.array([[0.0, 0.1, 0.5, 0.6], [0.0, 0.3, 0.5, 0.5]])
    times = np.array([[0.05, 0.2, 0.55], [0.1, 0.4, 0.5]])
    together = interpolate(system, t, q, v, a, a, times)
    for k in range(2):
        alone = interpolate(system, t[k], q[k], v[k], a[k], a[k], times[k])
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_array_equal(ours[k], theirs)


def test_loops_are_closed_between_nodes_unless_that_is_not_wanted():
    system, v = platform()
    run = ct.simulate(system, system.neutral(), v, 0.3, samples=4)
    times = np.linspace(0.0, 0.3, 31)
    a = run.acceleration
    arguments = (system, run.t, run.q, run.v, a[:-1], a[1:], times)
    assert np.abs(system.closure(*interpolate(*arguments))[0]).max() < 1e-12
    assert np.abs(system.closure(*interpolate(*arguments, project=False))[0]).max() > 1e-7


@pytest.mark.parametrize(
    ("time", "message"), [(1.1, "1.1 s lies outside"), (-0.1, "outside"), (np.nan, "is nan")]
)
def test_times_outside_are_refused(time, message):
    system, v = spherical_pendulum()
    run = ct.simulate(system, system.neutral(), v, 1.0, samples=3)
    with pytest.raises(ct.StateError, match=message):
        run.at(time)
