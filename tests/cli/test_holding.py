"""Gains that follow from the inertia keep every mode of the closed mechanism stable, also when sampled."""

import numpy as np
import pytest

from catena.cli.models import resolve
from catena.simulation.control.holding import suitable_gains


@pytest.mark.parametrize("rate", [100.0, 1000.0])
@pytest.mark.parametrize(
    "model", ["arm7", "chain(8)", "free_flyer", "four_bar", "hand", "hslm", "stewart", "walker"]
)
def test_the_sampled_linear_system_is_stable(model, rate):
    """The mechanism linearised at rest without gravity, forces held between samples: all poles within the circle."""
    mechanism = resolve(model)
    mechanism.gravity = (0.0, 0.0, 0.0)
    system = mechanism.system()
    q, n = system.assemble({}), system.nv
    vdot = system.forward_dynamics(q, np.zeros(n), np.eye(n))
    B, dt = vdot.T, 1.0 / rate
    kp, ki, kd = suitable_gains(system, q, rate)
    assert (kp[system.plan.actuated] > 0.0).all()
    assert not kp[~system.plan.actuated].any()
    # x, v, z -> after a sample with u = -kp x - kd v + z held.
    eye, zero = np.eye(n), np.zeros((n, n))
    force = np.hstack([-np.diag(kp), -np.diag(kd), eye])
    free = np.block([[eye, dt * eye, zero], [zero, eye, zero], [-dt * np.diag(ki), zero, eye]])
    step = free + np.vstack([dt**2 / 2.0 * B, dt * B, zero]) @ force
    # Only motions that the forces can cause: the others stay where they are, with poles at one.
    U, s, _ = np.linalg.svd(B[:, system.plan.actuated])
    motions = U[:, : np.sum(s > 1e-9 * s[0])]
    reach = np.zeros((3 * n, 3 * motions.shape[1]))
    for k, part in enumerate((motions, motions, np.linalg.pinv(B) @ motions)):
        reach[k * n : (k + 1) * n, k * motions.shape[1] : (k + 1) * motions.shape[1]] = part
    poles = np.abs(np.linalg.eigvals(np.linalg.pinv(reach) @ step @ reach))
    assert poles.max() < 1.0
