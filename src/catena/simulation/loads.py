"""What acts on a mechanism at the states of a run, and the power it brings in or takes out.

Energy is counted in kinetic energy and the potential energy of gravity and springs. Whatever else exchanges energy
with the mechanism is a power here: control forces, friction and dampers, wrenches from outside, prescribed motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from catena.system import System

Wrenches = Mapping[str, np.ndarray]


def accelerations(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches
) -> np.ndarray:
    """Return vdot (..., nv), in which joints accelerate as `driven`, {joint: (..., nv of the joint)}, has it."""
    if not driven:
        return system.forward_dynamics(q, v, tau, f_ext=wrenches or None)
    return system.hybrid_dynamics(q, v, tau, driven, f_ext=wrenches or None)[0]


def with_drives(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches
) -> np.ndarray:
    """Return the joint forces tau (..., nv) and, at `driven` joints, what makes them accelerate so."""
    return system.hybrid_dynamics(q, v, tau, driven, f_ext=wrenches or None)[1]


def powers(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Iterable[str]
) -> dict[str, np.ndarray]:
    """Return the powers (...) by source: "actuators", "friction" (with dampers, never positive), "wrenches" (given
    and of the mechanism) and "motion" (what drives the `driven` joints)."""
    outside = [_power(system, q, v, frame, wrench) for frame, wrench in wrenches.items()]
    own, nothing = system.force_powers(q, v), np.zeros(v.shape[:-1])
    drives = np.zeros(system.nv, dtype=bool)
    for joint in driven:
        drives[system.slice_v(joint)] = True
    return {
        "actuators": _dot(tau * ~drives, v),
        "friction": own.get("friction", nothing),
        "wrenches": sum(outside, own.get("wrenches", nothing)),
        "motion": _dot(tau * drives, v),
    }


def _power(system: System, q: np.ndarray, v: np.ndarray, frame: str, wrench: np.ndarray) -> np.ndarray:
    return _dot(np.broadcast_to(wrench, (*v.shape[:-1], 6)), system.twist(q, v, frame))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", a, b)
