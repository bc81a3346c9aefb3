"""What acts on a mechanism at the states of a run, and the power it brings in or takes out.

Energy is counted in kinetic energy and the potential energy of gravity and springs. Whatever else exchanges energy
with the mechanism is a power here: control forces, friction and dampers, wrenches from outside, prescribed motion.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catena.system import System

Wrenches = Mapping[str, np.ndarray]


def acting(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches
) -> tuple[np.ndarray, dict[str, np.ndarray] | None]:
    """All joint forces (..., nv) and wrenches on bodies at these states: `tau` and `wrenches`, and the elements."""
    elements = system.element_forces(q, v)
    f_ext = dict(elements.f_ext)
    for name, wrench in wrenches.items():
        f_ext[name] = f_ext[name] + wrench if name in f_ext else wrench
    return tau + elements.tau, f_ext or None


def accelerations(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, prescribed: Wrenches
) -> tuple[np.ndarray, np.ndarray]:
    """vdot (..., nv), and the joint forces (..., nv) that make joints accelerate as `prescribed`, {joint: (..., nv of
    the joint)}, beyond those that act anyway."""
    given, f_ext = acting(system, q, v, tau, wrenches)
    drive = np.zeros_like(given)
    if not prescribed:
        return system.forward_dynamics(q, v, given, f_ext=f_ext), drive
    vdot, total = system.hybrid_dynamics(q, v, given, prescribed, f_ext=f_ext)
    for joint in prescribed:
        own = system.slice_v(joint)
        drive[..., own] = (total - given)[..., own]
    return vdot, drive


def powers(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driving: np.ndarray
) -> dict[str, np.ndarray]:
    """The powers (...) by source: "actuators", "friction" (with dampers, never positive), "wrenches" (given and of the
    mechanism) and "motion" (what drives prescribed joints)."""
    outside = [_power(system, q, v, frame, wrench) for frame, wrench in wrenches.items()]
    own, nothing = system.force_powers(q, v), np.zeros(v.shape[:-1])
    return {
        "actuators": _dot(tau, v),
        "friction": own.get("friction", nothing),
        "wrenches": sum(outside, own.get("wrenches", nothing)),
        "motion": _dot(driving, v),
    }


def _power(system: System, q: np.ndarray, v: np.ndarray, frame: str, wrench: np.ndarray) -> np.ndarray:
    return _dot(np.broadcast_to(wrench, (*v.shape[:-1], 6)), system.twist(q, v, frame))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", a, b)
