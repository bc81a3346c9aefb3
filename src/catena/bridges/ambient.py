"""Dynamics and its derivatives as the other packages want them: functions of plain arrays, and derivatives by entries
of q, also where q has more entries than v."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kernels.arrays import as_list
from catena.mechanism.validation import known
from catena.system import System

CALLS = ("forward_dynamics", "inverse_dynamics")


@dataclass(frozen=True, eq=False)
class Bridged:
    """A function of a system that another package calls: its name, and the parameters of the mechanism that are an
    argument besides the state, as names with the numbers of their entries."""

    system: System
    name: str
    parameters: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        """How many numbers the parameters have together."""
        return sum(size for _, size in self.parameters)

    def at(self, p: np.ndarray) -> System:
        """Return the system whose parameters have the values p (width,)."""
        if not self.parameters:
            return self.system
        if p.shape != (self.width,):
            raise StateError(
                f"The parameters {[name for name, _ in self.parameters]} have shape {p.shape}; give ({self.width},), "
                f"one set of numbers for all states."
            )
        values, first = {}, 0
        for name, size in self.parameters:
            values[name] = p[first] if size == 1 else p[first : first + size]
            first += size
        return self.system.vary(values).variants.state(0)

    def value(self, q: np.ndarray, v: np.ndarray, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """vdot or tau, (..., nv)."""
        return value(self.at(p), self.name, q, v, x)

    def pullback(
        self, q: np.ndarray, v: np.ndarray, x: np.ndarray, p: np.ndarray, g: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return the gradients by q, v and x as `pullback` tells, and by p (width,), summed up over all states."""
        system = self.at(p)
        found = pullback(system, self.name, q, v, x, g)
        if not self.parameters:
            return *found, np.zeros(p.shape)
        names = [name for name, _ in self.parameters]
        changes = system.parameter_derivatives(q, v, x, names, of=self.name)
        each = np.concatenate([changes[name] for name in names], axis=-1)
        return *found, np.einsum("...i,...ij->...j", g, each).reshape(-1, self.width).sum(axis=0)


def bridged(system: System, name: str, parameters: Sequence[str]) -> Bridged:
    """Return the function, if everything is known."""
    known("function", name, CALLS, "the bridges")
    if name == "inverse_dynamics" and system.mechanics.constrained:
        raise StateError(
            f"{system.mechanism.name!r}: inverse_dynamics has derivatives for trees only, because with loops the "
            f"smallest forces of the actuators are chosen in every state."
        )
    names = as_list("parameters", parameters, str, "names of parameters")
    # Unknown names are named by whoever finds them.
    found = system.equations("kinetic_energy", symbols=names).parameters if names else {}
    return Bridged(system, name, tuple((n, len(found[n].entries)) for n in names))


def value(system: System, name: str, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """vdot or tau, (..., nv)."""
    if name == "forward_dynamics":
        return system.forward_dynamics(q, v, x)
    return system.inverse_dynamics(q, v, x)


def pullback(
    system: System, name: str, q: np.ndarray, v: np.ndarray, x: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients (..., nq), (..., nv), (..., nv) by q, v and x of a number that depends on the result by g
    (..., nv)."""
    if name == "forward_dynamics":
        by_q, by_v, by_x = system.forward_dynamics_derivatives(q, v, x)
    else:
        by_q, by_v, by_x = system.inverse_dynamics_derivatives(q, v, x)
    along, back, across = (np.einsum("...i,...ij->...j", g, d) for d in (by_q, by_v, by_x))
    return by_entries(system, q, along), back, across


def by_entries(system: System, q: np.ndarray, by_steps: np.ndarray) -> np.ndarray:
    """Return the gradient (..., nq) by the entries of q from that by steps along the velocity components (..., nv).

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
