"""Inertias of bodies from a motion: of a base that the arms make tumble, or of a load (Lampariello et al., example 3).

Inverse dynamics is linear in the inertial numbers of each body, tau = Y theta. At joints without an actuator tau is
known, at others it may be measured; the numbers of all bodies but those asked for are known as well. What is left are
linear equations for the numbers asked for, solved by least squares. A motion in which nothing outside acts tells them
only up to a common factor unless some other body, or a force, sets the scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.given import real_array, shown
from catena.mechanism import GROUND
from catena.mechanism.validation import known
from catena.system import System, arrays
from catena.system.inertial_parameters import moving_bodies

ENTRIES = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
# Directions that move the equations by less than this part of the largest are not told by the motion.
RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Identification:
    """Inertial numbers (10,) of bodies by name, as `inertial_parameters` orders them; their standard deviations (10,)
    as the equations scatter; how many combinations of them the motion tells (`rank` of `unknowns`), and the part of the
    equations that is left over."""

    parameters: Mapping[str, np.ndarray]
    deviations: Mapping[str, np.ndarray]
    rank: int
    unknowns: int
    residual: float

    def mass(self, body: str) -> float:
        """Return the mass of a body [kg]."""
        return float(self.parameters[body][0])

    def com(self, body: str) -> np.ndarray:
        """Return the mass centre (3,) of a body in its own frame [m]."""
        return self.parameters[body][1:4] / self.parameters[body][0]


def identify_inertia(
    system: System, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, bodies: Iterable[str], tau: ArrayLike | None = None
) -> Identification:  # fmt: skip
    """Return the inertial numbers of some bodies from a motion q (n, nq), v (n, nv), vdot (n, nv) of a tree, with the
    joint forces tau (n, nv) where they were measured; without them only joints that are not actuated tell something.

    All other bodies have the numbers of the mechanism, and friction, rotors and flexible bodies are as it has them;
    modes take no force, so their motion tells something too. Where the motion does not tell some combination of the
    numbers, that is as the mechanism has it.
    """
    if not isinstance(system, System):
        raise StateError(f"identify_inertia needs a system, found {shown(system)}; plan one with m.system().")
    names = arrays.as_list("bodies", bodies, str, "bodies")
    moving = moving_bodies(system.mechanism, system.plan)
    for name in names:
        body = system.mechanism.bodies.get(name)
        if body is not None and body.flexible is not None and name not in moving:
            raise StateError(
                f"identify_inertia: body {name!r} is flexible, and its modes are not told by ten numbers; ask for "
                f"rigid bodies, beside which it may move, or lock its modes, as in m.lock('{name}.modes')."
            )
        known("body", name, [x for x in moving if x != GROUND], repr(system.mechanism.name))
    Y = system.regressor(q, v, vdot).reshape(-1, system.nv, 10 * len(moving))
    given = np.zeros((len(Y), system.nv))
    if tau is not None:
        try:
            given = np.broadcast_to(real_array(tau), given.shape)
        except ValueError as error:
            raise StateError(
                f"tau is {shown(tau)} ({error}); give joint forces of shape {given.shape}."
            ) from error
        if not np.isfinite(given).all():
            raise StateError("tau has entries that are not finite; give the joint forces that were measured.")
    if not names or not len(Y):
        raise StateError(
            f"identify_inertia: bodies are {shown(bodies)} in {len(Y)} states; give at least one of each."
        )
    rows = np.ones(system.nv, dtype=bool) if tau is not None else ~system.plan.actuated
    if not rows.any():
        raise StateError(
            f"{system.mechanism.name!r}: all joints are actuated, so their forces must be given as tau to learn from."
        )
    theta = system.inertial_parameters()
    asked = np.concatenate([np.arange(10 * k, 10 * k + 10) for k in (moving.index(name) for name in names)])
    A = Y[:, rows][..., asked].reshape(-1, len(asked))
    # What the mechanism as it is told takes, with friction, rotors and flexible bodies.
    taken = np.reshape(system.inverse_dynamics(q, v, vdot), given.shape) if not system.loops else Y @ theta
    b = (given - taken)[:, rows].reshape(-1)
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = s > RANK * s.max(initial=0.0)
    change = (Vt[kept].T @ ((U[:, kept].T @ b) / s[kept])) / size
    left = b - A @ change
    scatter = float(np.linalg.norm(left)) / np.sqrt(max(1, len(b) - int(kept.sum())))
    deviation = scatter * np.sqrt(np.sum((Vt[kept] / s[kept, None]) ** 2, axis=0)) / size
    found = theta[asked] + change
    whole = float(np.linalg.norm(np.abs(Y[:, rows]) @ np.abs(theta)))
    return Identification(
        {name: found[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        {name: deviation[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        int(kept.sum()), len(asked), float(np.linalg.norm(left)) / max(whole, 1e-300),
    )  # fmt: skip
