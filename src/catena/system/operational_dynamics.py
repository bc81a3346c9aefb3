"""The equation of motion of a frame, and the parts of that of joints, H vdot + C + G = tau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from catena.questions.operational_dynamics import OperationalDynamics, frame_equation
from catena.system.system import System


@dataclass(frozen=True, eq=False)
class BiasParts:
    """The joint forces (..., nv) that hold a tree against what velocities do, `C`, and against gravity, `G`."""

    C: np.ndarray
    G: np.ndarray


def operational_dynamics(system: System, q: ArrayLike, v: ArrayLike, frame: str) -> OperationalDynamics:
    """Return the equation of motion of a frame at q (..., nq), v (..., nv), loops respected; springs, friction and
    other forces of the mechanism are left out. A frame that cannot be accelerated in some direction has no Lambda, and
    a SingularDynamicsError says so: `s.operational_space` has its inverse everywhere."""
    bare, rest = system.variants.bare, np.zeros_like(np.asarray(v, dtype=np.float64))
    return frame_equation(
        frame, bare.operational_space(q, frame)[0], bare.jacobian(q, frame), bare.bias_acceleration(q, v, frame),
        bare.forward_dynamics(q, v), bare.forward_dynamics(q, rest),
    )  # fmt: skip


def bias_parts(system: System, q: ArrayLike, v: ArrayLike) -> BiasParts:
    """Return C(q, v), Coriolis and centrifugal forces, and G(q), gravity, of H vdot + C + G = tau at q (..., nq), v
    (..., nv), without friction and other forces of the mechanism."""
    rates = np.asarray(v, dtype=np.float64)
    G = system.variants.bare.bias_force(q, np.zeros_like(rates))
    return BiasParts(system.variants.bare.bias_force(q, rates) - G, G)
