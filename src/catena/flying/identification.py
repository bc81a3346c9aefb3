"""Inertias of bodies from a motion: of a base that the arms make tumble, or of a load (Lampariello et al., example 3).

Inverse dynamics is linear in the inertial numbers of each body, tau = Y theta. At joints without an actuator tau is
known, at others it may be measured; the numbers of all bodies but those asked for are known as well. What is left are
linear equations for the numbers asked for, solved by least squares, in which those of each velocity component count as
much as they scatter little. A motion in which nothing outside acts tells them only up to a common factor unless some
other body, or a force, sets the scale.

Loops, and motors that nobody measured, push with forces that are not known. Along motions E that loops allow and in
which such motors stand still they do no work: E^T Y theta = E^T tau, with one equation for each component that is
independent in such motions (eq. 4 and 5 of the same paper).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.flying.independent import choose_independent, follow_independent
from catena.kernels import arrays
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import GROUND
from catena.mechanism.elements import driven
from catena.mechanism.validation import known
from catena.questions.inertial_parameters import moving_bodies
from catena.system import System, inertial_parameters, tree_forces
from catena.system.dynamics_calls import opened
from catena.system.of_system import as_system
from catena.thresholds import RANK_MOVING
from catena.validation import real_array, shown

ENTRIES = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
# A number is told if less than this part of it is along such directions.
IDENTIFIED = 1e-6
# Equations of a component count at most so many times as much as those of the one that scatters most.
SHARPEST = 1e3


@dataclass(frozen=True, eq=False)
class Identification:
    """Inertial numbers (10,) of bodies by name, as `inertial_parameters` orders them; their standard deviations (10,)
    as the equations scatter, infinite where the motion does not tell a number; how many combinations of them it tells
    (`rank` of `unknowns`), and the part of the equations that is left over. `covariance` (unknowns, unknowns) is that
    of all numbers, body after body, along the combinations that are told, and `condition` that of the equations, each
    unknown in units of its own effect: how much worse the least told combination is told than the best; infinite if
    one is not."""

    parameters: Mapping[str, np.ndarray]
    deviations: Mapping[str, np.ndarray]
    rank: int
    unknowns: int
    residual: float
    covariance: np.ndarray
    condition: float

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
    system: System, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, bodies: Iterable[str],
    tau: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Identification:  # fmt: skip
    """Return the inertial numbers of some bodies from a motion q (n, nq), v (n, nv), vdot (n, nv), with the joint
    forces tau (n, nv) where they were measured, or {joint: (n, nv of the joint)} of the joints of the tree or of loops
    at which they were; without them only joints that are not actuated tell something, with loops motions in which
    motors stand still.

    All other bodies have the numbers of the mechanism, and friction, rotors, springs and flexible bodies are as it has
    them; modes take no force, so their motion tells something too. Where the motion does not tell some combination of
    the numbers, that is as the mechanism has it.
    """
    as_system(system, "identify_inertia")
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
    if not names or not len(Y):
        raise StateError(
            f"identify_inertia: bodies are {shown(bodies)} in {len(Y)} states; give at least one of each."
        )
    equations = _equations(system, q, v, vdot, tau, Y)
    theta = inertial_parameters(system)
    asked = np.concatenate([np.arange(10 * k, 10 * k + 10) for k in (moving.index(name) for name in names)])
    whitened = equations.whitened(np.ones(system.nv))
    A, b = whitened.Y[..., asked].reshape(-1, len(asked)), whitened.missing.reshape(-1)
    fit = _least_squares(A, b)
    left = b - A @ fit.change
    if len(Y) > len(asked):
        scatter = equations.scatter(asked, fit.change)
        most = scatter.max()
        if most > 0.0:
            sharp = equations.whitened(np.maximum(scatter, most / SHARPEST) / most)
            fit = _least_squares(sharp.Y[..., asked].reshape(-1, len(asked)), sharp.missing.reshape(-1))
            left = b - A @ fit.change
    found = theta[asked] + fit.change
    whole = float(np.linalg.norm(np.abs(whitened.Y) @ np.abs(theta)))
    return Identification(
        {name: found[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        {name: fit.deviation[10 * k : 10 * k + 10] for k, name in enumerate(names)},
        fit.rank, len(asked), float(np.linalg.norm(left)) / max(whole, 1e-300), fit.covariance, fit.condition,
    )  # fmt: skip


class _Equations(NamedTuple):
    """Equations of a motion at the components of the tree, Y (n, nv, 10 b) and what the mechanism as it is told
    misses, (n, nv), of which only what is along the motions E (n or 1, nv, d) is known."""

    Y: np.ndarray
    missing: np.ndarray
    E: np.ndarray

    def whitened(self, sizes: np.ndarray) -> _Equations:
        """Return equations (n, d) along the motions whose errors are independent and of one size, where those of
        forces at the components of the tree are so and have these sizes (nv,)."""
        root = np.linalg.cholesky(transposed(self.E) @ (sizes[:, None] ** 2 * self.E))
        along = np.linalg.solve(root, transposed(self.E))
        return _Equations(along @ self.Y, apply(along, self.missing), along)

    def scatter(self, asked: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return how much forces at the components of the tree scatter (nv,) about a solution, as far as they are
        known."""
        left = self.missing - apply(self.Y[..., asked], change)
        kept = np.linalg.qr(self.E)[0]
        seen = np.sum(np.square(apply(kept, apply(transposed(kept), left))), axis=0)
        share = np.sum(np.broadcast_to(np.sum(kept**2, axis=-1), left.shape), axis=0)
        return np.sqrt(seen / np.maximum(share, 1e-12 * share.max()))


def known_motions(system: System, q: np.ndarray, tau: Any) -> np.ndarray:
    """Return motions E (n or 1, nv, d) along which all forces are known in states q (n, nq) but those of inertia:
    those that loops allow, and in which motors stand still unless tau has their forces, an array of all, or a mapping
    by name."""
    silent = [name for name in (*system.joints, *system.loops) if _is_driven(system, name)]
    if isinstance(tau, Mapping):
        silent = [name for name in silent if name not in tau]
    elif tau is not None:
        silent = []
    if not system.plan.total_constraints:
        rows = np.ones(system.nv, dtype=bool)
        for name in silent:
            rows[system.slice_v(name)] &= ~driven(system.mechanism.joints[name], system.mechanism.actuators)
        if not rows.any():
            raise StateError(
                f"{system.mechanism.name!r}: all joints are actuated, so their forces must be given as tau."
            )
        return np.eye(system.nv)[None, :, rows]
    held = [_rates(system, q, name) for name in silent]
    J = system.closure_jacobian(q).reshape(len(q), -1, system.nv)
    extra = np.concatenate([np.zeros((0, system.nv)), *(x[0] for x in held)])
    chosen = choose_independent(system, q[0], rows=extra)
    if not len(chosen.components):
        raise StateError(
            f"{system.mechanism.name!r}: with its loops closed nothing moves while {', '.join(map(repr, silent))} "
            "stand still, so their forces must be given as tau to learn from."
        )
    return follow_independent(np.concatenate([J, *held], axis=1), chosen, "identify_inertia")


def _equations(
    system: System, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, tau: Any, Y: np.ndarray
) -> _Equations:
    """Return the equations of a motion."""
    _, places, _ = system.mechanics.states(q, np.zeros(system.nv))
    E = known_motions(system, places, tau)
    if isinstance(tau, Mapping):
        applied = np.broadcast_to(tree_forces(system, places, dict(tau)), (len(Y), system.nv))
    else:
        applied = np.zeros((len(Y), system.nv)) if tau is None else _forces(tau, (len(Y), system.nv))
    if system.plan.total_constraints:
        taken = opened(system, q, v, vdot)
    else:
        # What the mechanism as it is told takes, with friction, rotors, flexible bodies, springs and the like.
        taken = np.reshape(system.inverse_dynamics(q, v, vdot), applied.shape)
    return _Equations(Y, applied - taken, E)


def _is_driven(system: System, name: str) -> bool:
    joint = system.mechanism.joints.get(name)
    return (
        joint is not None
        and joint.locked_at is None
        and bool(driven(joint, system.mechanism.actuators).any())
    )


def _rates(system: System, q: np.ndarray, name: str) -> np.ndarray:
    """Return the driven velocities of a joint by those of the tree, (n, k, nv)."""
    drive = driven(system.mechanism.joints[name], system.mechanism.actuators)
    if name in system.joints:
        rows = np.eye(system.nv)[system.slice_v(name)][drive]
        return np.broadcast_to(rows, (len(q), *rows.shape))
    units = np.eye(len(drive))[drive]
    return np.stack([tree_forces(system, q, {name: np.tile(unit, (len(q), 1))}) for unit in units], axis=1)


def _forces(tau: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        applied = np.broadcast_to(real_array(tau), shape)
    except ValueError as error:
        raise StateError(f"tau is {shown(tau)} ({error}); give joint forces of shape {shape}.") from error
    if not np.isfinite(applied).all():
        raise StateError("tau has entries that are not finite; give the joint forces that were measured.")
    return applied


class _Fit(NamedTuple):
    """Unknowns of linear equations, their standard deviations and covariance, how many combinations of them are told,
    and the condition."""

    change: np.ndarray
    deviation: np.ndarray
    covariance: np.ndarray
    rank: int
    condition: float


def _least_squares(A: np.ndarray, b: np.ndarray) -> _Fit:
    """Return the least unknowns x with the least |A x - b|."""
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = s > RANK_MOVING * s.max(initial=0.0)
    change = (Vt[kept].T @ ((U[:, kept].T @ b) / s[kept])) / size
    rank = int(kept.sum())
    scatter = float(np.linalg.norm(b - A @ change)) / np.sqrt(max(1, len(b) - rank))
    spread = scatter * (Vt[kept] / s[kept, None]) / size
    determined = 1.0 - np.sum(Vt[kept] ** 2, axis=0) < IDENTIFIED
    deviation = np.where(determined, np.linalg.norm(spread, axis=0), np.inf)
    whole = rank == A.shape[1]
    condition = float(s.max() / s.min()) if whole else np.inf
    return _Fit(change, deviation, spread.T @ spread, rank, condition)
