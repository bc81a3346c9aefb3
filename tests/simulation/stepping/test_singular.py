"""Rows of four-bars through their flat configurations, where the rank of the constraints drops by the number of bars
and another branch of motion (the antiparallelogram) meets the one they are on.

On the branch of parallelograms the row is a pendulum: n + 1 rods of mass m and length l turn by one angle theta from
upright, n bars move without turning, so that

    (n m + (n + 1) m / 3) l theta'' = (n m + (n + 1) m / 2) g sin(theta),

which SciPy integrates here to rounding. Started upright with the tops at 1 m/s it turns over again and again.
"""

from math import pi

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.mechanism.generators import n_four_bars

GRAVITY = 9.81
DURATION = 10.0
SAMPLES = 201


def started(n):
    """The benchmark's start: upright, the first pin turning at 1 rad/s."""
    system = n_four_bars(n).system()
    q = system.neutral()
    return system, q, system.velocity(q, {"pin0": 1.0})


def pull(n):
    """theta'' = pull sin(theta)."""
    return GRAVITY * (n + (n + 1) / 2) / (n + (n + 1) / 3)


def pendulum(n, times):
    """theta and theta' of the equation above, (2, times)."""
    answer = solve_ivp(
        lambda t, y: (y[1], pull(n) * np.sin(y[0])), (0.0, times[-1]), (0.0, 1.0), "DOP853", times,
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    return answer.y


def body_angles(system, q):
    """The angle about y (..., ) of each rod and bar from where it stands upright or lies level, not wrapped."""
    poses = system.body_poses(q)
    return {
        name: np.unwrap(np.arctan2(pose[..., 0, 2], pose[..., 0, 0]))
        for name, pose in poses.items()
        if name != "ground"
    }


@pytest.mark.parametrize("n", [2, 40])
def test_the_start_is_that_of_the_pendulum(n):
    system, q, v = started(n)
    np.testing.assert_allclose(v[[system.slice_v(f"pin{k}").start for k in range(n + 1)]], 1.0, rtol=1e-12)
    poses = system.body_poses(q)
    for k in range(1, n + 1):
        spin = system.twist(q, v, f"bar{k}")
        np.testing.assert_allclose(spin, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(poses[f"bar{k}"][:3, 3], [k - 1.0, 0.0, 1.0], atol=1e-12)
    # Away from upright the accelerations of the row are those of the pendulum.
    theta, rate = 0.7, 1.3
    bent = system.assemble({f"pin{k}": theta for k in range(n + 1)}, guess=_turned(system, n, theta))
    moving = system.velocity(bent, {"pin0": rate})
    vdot = system.forward_dynamics(bent, moving)
    for k in range(n + 1):
        assert vdot[system.slice_v(f"pin{k}")][0] == pytest.approx(pull(n) * np.sin(theta), rel=1e-9)
    both = 0.5 * (n + (n + 1) / 3) * rate**2 + GRAVITY * (n + (n + 1) / 2) * np.cos(theta)
    energy = system.kinetic_energy(bent, moving) + system.potential_energy(bent)
    assert energy == pytest.approx(both, rel=1e-12)


def _turned(system, n, theta):
    """All rods turned by theta, all bars level."""
    q = system.neutral()
    for k in range(n + 1):
        q[system.slice_q(f"pin{k}")] = theta
    for joint in system.joints:
        if not joint.startswith("pin"):
            q[system.slice_q(joint)] = -theta
    return q


@pytest.mark.parametrize("n", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "settings",
    [{}, {"rtol": 1e-11, "atol": 1e-12}, {"integrator": "rk4", "step": 2e-3}],
    ids=["default", "tight", "rk4"],
)
def test_a_row_of_four_bars_comes_through_flat_configurations(n, settings):
    """Small steps come nearer to flat than large ones, which pass by without noticing."""
    system, q, v = started(n)
    run = ct.simulate(system, q, v, DURATION, samples=SAMPLES, **settings)
    assert run.t[-1] == pytest.approx(DURATION)

    theta, rate = pendulum(n, run.t)
    passed = np.floor((theta[-1] + pi / 2) / pi)
    assert passed >= 6  # flat at pi/2, 3 pi/2, ...

    angles = body_angles(system, run.q)
    for name, angle in angles.items():
        # The branch: rods stay parallel, bars level.
        np.testing.assert_allclose(
            angle, angles["rod0"] if name.startswith("rod") else 0.0, rtol=0.0, atol=1e-6, err_msg=name
        )
    np.testing.assert_allclose(angles["rod0"], theta, rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(run.v[:, system.slice_v("pin0")][:, 0], rate, rtol=0.0, atol=1e-4)

    energy = system.kinetic_energy(run.q, run.v) + system.potential_energy(run.q)
    assert np.max(np.abs(energy - energy[0])) < 1e-6 * energy[0]
    assert np.max(np.abs(system.closure(run.q)[0])) < 1e-10
    # A step that collapses at each flat configuration would show: a pendulum takes a few hundred.
    assert run.steps < 20000


@pytest.mark.parametrize("n", [2])
def test_starting_flat_at_speed_goes_on_along_the_branch(n):
    """A start in the very middle of a flat configuration, with the velocity of the parallelograms."""
    system, _, _ = started(n)
    q = _turned(system, n, pi / 2)
    v = _turned(system, n, 1.0) - system.neutral()
    speed = np.sqrt(1.0 + 2.0 * pull(n))
    run = ct.simulate(system, q, speed * v, 1.0, samples=11)
    angles = body_angles(system, run.q)
    for name, angle in angles.items():
        np.testing.assert_allclose(
            angle, angles["rod0"] if name.startswith("rod") else 0.0, rtol=0.0, atol=1e-6, err_msg=name
        )
    energy = system.kinetic_energy(run.q, run.v) + system.potential_energy(run.q)
    assert np.max(np.abs(energy - energy[0])) < 1e-6 * system.kinetic_energy(run.q[0], run.v[0])


def test_states_of_a_batch_come_through_together_as_each_does_alone():
    """They need careful steps at the same time, and have step sizes of their own: a state at rest keeps nobody up."""
    system, q, v = started(2)
    factors = np.array([1.0, 1.001, 1.002, 0.0])
    settings = {"samples": 41, "rtol": 1e-9, "atol": 1e-11}
    batch = ct.simulate(system, np.tile(q, (4, 1)), factors[:, None] * v, 3.0, **settings)
    for k, factor in enumerate(factors):
        alone = ct.simulate(system, q, factor * v, 3.0, **settings)
        np.testing.assert_allclose(batch.q[k], alone.q, atol=1e-6)
        np.testing.assert_allclose(batch.v[k], alone.v, atol=1e-6)
