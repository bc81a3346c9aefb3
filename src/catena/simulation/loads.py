"""What acts on a mechanism at the states of a run, and the power it brings in or takes out.

Energy is counted in kinetic energy and the potential energy of gravity and springs. Whatever else exchanges energy
with the mechanism is a power here: control forces, friction and dampers, wrenches from outside, prescribed motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from catena.errors import CatenaError, warn
from catena.system import System

Wrenches = Mapping[str, np.ndarray]


def applied(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches
) -> tuple[np.ndarray, dict[str, np.ndarray] | None]:
    """Return all joint forces (..., nv) and wrenches on bodies at these states: `tau` and `wrenches`, and the
    elements."""
    elements = system.element_forces(q, v)
    f_ext = dict(elements.f_ext)
    for name, wrench in wrenches.items():
        f_ext[name] = f_ext[name] + wrench if name in f_ext else wrench
    return tau + elements.tau, f_ext or None


def accelerations(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches
) -> np.ndarray:
    """Return vdot (..., nv), in which joints accelerate as `driven`, {joint: (..., nv of the joint)}, has it."""
    given, f_ext = applied(system, q, v, tau, wrenches)
    if not driven:
        return system.forward_dynamics(q, v, given, f_ext=f_ext)
    return system.hybrid_dynamics(q, v, given, driven, f_ext=f_ext)[0]


def with_drives(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches
) -> np.ndarray:
    """Return the joint forces tau (..., nv) and, at `driven` joints, what makes them accelerate so."""
    given, f_ext = applied(system, q, v, tau, wrenches)
    total = system.hybrid_dynamics(q, v, given, driven, f_ext=f_ext)[1]
    found = np.array(np.broadcast_to(tau, total.shape))
    for joint in driven:
        own = system.slice_v(joint)
        found[..., own] += (total - given)[..., own]
    return found


def with_drives_or_nan(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches
) -> np.ndarray:
    """Return what `with_drives` does; where it cannot find the forces of drives, they are not a number, and a warning
    says why: a run that was computed is not lost for them."""
    try:
        return with_drives(system, q, v, tau, wrenches, driven)
    except CatenaError as error:
        listed = ", ".join(repr(joint) for joint in driven)
        warn(f"The forces of what drives {listed} could not be found and are nan in this run: {error}")
        found = np.array(np.broadcast_to(tau, v.shape))
        for joint in driven:
            found[..., system.slice_v(joint)] = np.nan
        return found


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
