"""The equation of motion of a frame, and the parts of that of joints, H vdot + C + G = tau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.kinematics import stacks
from catena.questions.operational_dynamics import OperationalDynamics, frame_equation
from catena.system.frame_axes import in_axes, require_axes
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


def jacobian_rate(system: System, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "frame") -> np.ndarray:
    """Return J', shape (..., 6, nv): how fast the Jacobian of a frame, `s.jacobian(q, frame, axes)`, changes at q (...,
    nq) while the velocity is v (..., nv). In the frame's own axes J' v is `s.bias_acceleration(q, v, frame)`."""
    name = system._frame(frame)
    rate = system._run(kinematics.jacobian_rate, name, q=q, qd=v)["J_rate"]
    if require_axes(axes) == "frame":
        return rate
    # Axes that do not turn with the frame see what is fixed in it carried along, at the ground's origin moved too.
    twist = system.twist(q, v, name)
    if axes == "aligned":
        twist[..., 3:] = 0.0
    carried = stacks.cross(twist[..., None, :], stacks.transposed(system.jacobian(q, name)))
    return in_axes(rate + stacks.transposed(carried), system.pose(q, name).matrix(), axes)


def bias_parts(system: System, q: ArrayLike, v: ArrayLike) -> BiasParts:
    """Return C(q, v), Coriolis and centrifugal forces, and G(q), gravity, of H vdot + C + G = tau at q (..., nq), v
    (..., nv), without friction and other forces of the mechanism."""
    rates = np.asarray(v, dtype=np.float64)
    G = system.variants.bare.bias_force(q, np.zeros_like(rates))
    return BiasParts(system.variants.bare.bias_force(q, rates) - G, G)
