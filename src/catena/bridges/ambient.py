"""Dynamics and its derivatives as the other packages want them: functions of plain arrays, and derivatives by entries
of q, also where q has more entries than v."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.mechanism.validation import known
from catena.system import System

CALLS = ("forward_dynamics", "inverse_dynamics")


def checked(system: System, name: str, parameters: Sequence[str]) -> tuple[str, ...]:
    """The names of parameters, if everything is known."""
    known("function", name, CALLS, "the bridges")
    if parameters:
        # Unknown names are named by whoever finds them.
        system.equations("kinetic_energy", symbols=list(parameters))
    return tuple(parameters)


def value(system: System, name: str, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """vdot or tau, (..., nv)."""
    if name == "forward_dynamics":
        return system.forward_dynamics(q, v, x)
    return system.inverse_dynamics(q, v, x)


def pulled(
    system: System, name: str, q: np.ndarray, v: np.ndarray, x: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients (..., nq), (..., nv), (..., nv) by q, v and x of a number that depends on the result by g
    (..., nv)."""
    if name == "forward_dynamics":
        by_q, by_v, by_x = system.forward_dynamics_derivatives(q, v, x)
    else:
        if system.constrained:
            raise StateError(
                f"{system.mechanism.name!r}: inverse_dynamics has derivatives for trees only, because with loops the "
                f"smallest forces of the actuators are chosen in every state."
            )
        by_q, by_v, by_x = system.inverse_dynamics_derivatives(q, v, x)
    along, back, across = (np.einsum("...i,...ij->...j", g, d) for d in (by_q, by_v, by_x))
    return by_entries(system, q, along), back, across


def by_entries(system: System, q: np.ndarray, by_steps: np.ndarray) -> np.ndarray:
    """The gradient (..., nq) by the entries of q from that by steps along the velocity components (..., nv).

    Where v is not dq/dt, dq/dt = E v with E of full rank; a gradient by entries has no part across E's columns, which
    no motion has."""
    if system.nq == system.nv and not _turned(system):
        return by_steps
    unit = np.eye(system.nv)
    E = np.stack([system.rate(q, np.broadcast_to(e, (*q.shape[:-1], system.nv))) for e in unit], axis=-1)
    return np.einsum("...j,...jk->...k", by_steps, np.linalg.pinv(E, rcond=1e-9))


def _turned(system: System) -> bool:
    return any(kind is not None and kind.nq != kind.nv for kind in system.plan.kind[1:])


def as_numbers(*arrays: Any) -> list[np.ndarray]:
    """Arrays of float64, whatever package they come from."""
    return [np.ascontiguousarray(np.asarray(a), dtype=np.float64) for a in arrays]
