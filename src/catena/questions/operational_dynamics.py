"""The equation of motion of a frame, Lambda a + mu + p = F (van der Merwe, chapters 5 and 6; Khatib's operational
space)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.errors import SingularDynamicsError
from catena.kinematics.stacks import apply
from catena.thresholds import RANK_EXACT


@dataclass(frozen=True, eq=False)
class OperationalDynamics:
    """The inertia `Lambda` (..., 6, 6) that a frame is felt with, the forces `mu` (..., 6) of velocities and `p` (...,
    6) of gravity, the Jacobian `J` (..., 6, nv) and `J_rate` (..., 6) = J' v, in the axes of the frame at its origin: a
    wrench F there gives it the acceleration a, Lambda a + mu + p = F."""

    Lambda: np.ndarray
    mu: np.ndarray
    p: np.ndarray
    J: np.ndarray
    J_rate: np.ndarray


def frame_equation(
    frame: str,
    inverse: np.ndarray,
    J: np.ndarray,
    J_rate: np.ndarray,
    moving: np.ndarray,
    falling: np.ndarray,
) -> OperationalDynamics:
    """Return the equation of motion of a frame from Lambda^-1 (..., 6, 6), its Jacobian, J' v (..., 6), and the
    accelerations vdot (..., nv) of the mechanism as it is, `moving`, and at rest, `falling`."""
    sizes = np.linalg.eigvalsh(inverse)
    if np.any(sizes[..., 0] <= RANK_EXACT * sizes[..., -1]):
        raise SingularDynamicsError(
            f"Some force does not accelerate {frame!r} at all, so that it has no inertia in that direction. Take "
            f"s.operational_space(q, {frame!r}), which has Lambda^-1."
        )
    Lambda, at_rest = np.linalg.inv(inverse), apply(J, falling)
    mu = -apply(Lambda, apply(J, moving) + J_rate - at_rest)
    return OperationalDynamics(Lambda, mu, -apply(Lambda, at_rest), J, J_rate)
