"""Inertias of bodies from a motion: of a base that the arms make tumble, or of a load (Lampariello et al., example 3).

Inverse dynamics is linear in the inertial numbers of each body, tau = Y theta. At joints without an actuator tau is
known, at others it may be measured; the numbers of all bodies but those asked for are known as well. What is left are
linear equations for the numbers asked for, solved by least squares, in which those of each velocity component count as
much as they scatter little. A motion in which nothing outside acts tells them only up to a common factor unless some
other body, or a force, sets the scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import LoopError, StateError
from catena.given import real_array, shown
from catena.kernels import arrays
from catena.mechanism import GROUND
from catena.mechanism.validation import known
from catena.questions.inertial_parameters import moving_bodies
from catena.system import System
from catena.thresholds import RANK_MOVING

ENTRIES = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
# A number is told if less than this part of it is along such directions.
TOLD = 1e-6
# Equations of a component count at most so many times as much as those of the one that scatters most.
SHARPEST = 1e3


@dataclass(frozen=True, eq=False)
class Identification:
    """Inertial numbers (10,) of bodies by name, as `inertial_parameters` orders them; their standard deviations (10,)
    as the equations scatter, infinite where the motion does not tell a number; how many combinations of them it tells
    (`rank` of `unknowns`), and the part of the equations that is left over."""

    parameters: Mapping[str, np.ndarray]
    deviations: Mapping[str, np.ndarray]
    rank: int
    unknowns: int
    residual: float

    def mass(self, body: str) -> float:
        """Return the mass of a body [kg]."""
        return float(self._of(body)[0])

    def com(self, body: str) -> np.ndarray:
        """Return the mass centre (3,) of a body in its own frame [m]."""
        return self._of(body)[1:4] / self._of(body)[0]

    def inertia(self, body: str) -> np.ndarray:
        """Return the inertia (3, 3) of a body about its mass centre, in the axes of its own frame [kg m^2]."""
        xx, xy, xz, yy, yz, zz = self._of(body)[4:]
        c = self.com(body)
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return about_origin - self.mass(body) * (c @ c * np.eye(3) - np.outer(c, c))

    def _of(self, body: str) -> np.ndarray:
        return self.parameters[known("body", body, self.parameters, "this identification")]


def identify_inertia(
    system: System, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, bodies: Iterable[str], tau: ArrayLike | None = None
) -> Identification:  # fmt: skip
    """Return the inertial numbers of some bodies from a motion q (n, nq), v (n, nv), vdot (n, nv) of a tree, with the
    joint forces tau (n, nv) where they were measured; without them only joints that are not actuated tell something.

    All other bodies have the numbers of the mechanism, and friction, rotors, springs and flexible bodies are as it has
    them; modes take no force, so their motion tells something too. Where the motion does not tell some combination of
    the numbers, that is as the mechanism has it.
    """
    if not isinstance(system, System):
        raise StateError(f"identify_inertia needs a system, found {shown(system)}; plan one with m.system().")
    if system.plan.total_constraints:
        raise LoopError(
            f"identify_inertia: {system.mechanism.name!r} has loops or couplings, whose forces nobody measured; learn "
            "from a motion of a mechanism without, such as one with joints locked or detached."
        )
    names = list(dict.fromkeys(arrays.as_list("bodies", bodies, str, "bodies")))
    moving = moving_bodies(system.mechanism, system.plan)
    for name in names:
        body = system.mechanism.bodies.get(name)
        if body is not None and body.flexible is not None and name not in moving:
            raise StateError(
                f"identify_inertia: body {name!r} is flexible, and its modes are not told by ten numbers; ask for "
                f"rigid bodies, beside which it may move, or lock its modes, as in m.lock('{name}.modes')."
            )
        known("body", name, [x for x in moving if x != GROUND], repr(system.mechanism.name))
    Y = system.regressor(q, v, vdot)
    # Where nothing moves there are no entries from which NumPy could tell the number of states.
    Y = Y.reshape(int(np.prod(Y.shape[:-2])), *Y.shape[-2:])
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
    # What the mechanism as it is told takes, with friction, rotors, flexible bodies, springs and the like.
    taken = np.reshape(system.inverse_dynamics(q, v, vdot), given.shape)
    b = (given - taken)[:, rows].reshape(-1)
    fit = _least_squares(A, b)
    if len(Y) > len(asked):
        scatter = np.sqrt(np.mean(np.square(b - A @ fit.change).reshape(len(Y), -1), axis=0))
        most = scatter.max()
        sharp = (
            np.tile(most / np.maximum(scatter, most / SHARPEST), len(Y)) if most > 0.0 else np.ones(len(b))
        )
        fit = _least_squares(sharp[:, None] * A, sharp * b)
    change, deviation, rank = fit
    left = b - A @ change
    found = theta[asked] + change
    whole = float(np.linalg.norm(np.abs(Y[:, rows]) @ np.abs(theta)))
    return Identification(
        {name: found[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        {name: deviation[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        rank, len(asked), float(np.linalg.norm(left)) / max(whole, 1e-300),
    )  # fmt: skip


class _MomentumFit(NamedTuple):
    """Unknowns of linear equations, their standard deviations, and how many combinations of them are told."""

    change: np.ndarray
    deviation: np.ndarray
    rank: int


def _least_squares(A: np.ndarray, b: np.ndarray) -> _MomentumFit:
    """Return the least unknowns x with the least |A x - b|."""
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = s > RANK_MOVING * s.max(initial=0.0)
    change = (Vt[kept].T @ ((U[:, kept].T @ b) / s[kept])) / size
    rank = int(kept.sum())
    scatter = float(np.linalg.norm(b - A @ change)) / np.sqrt(max(1, len(b) - rank))
    deviation = scatter * np.sqrt(np.sum((Vt[kept] / s[kept, None]) ** 2, axis=0)) / size
    told = 1.0 - np.sum(Vt[kept] ** 2, axis=0) < TOLD
    return _MomentumFit(change, np.where(told, deviation, np.inf), rank)
