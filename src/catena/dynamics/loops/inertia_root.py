"""The equations of motion of the tree in square-root form, without forming the joint-space inertia.

Bodies resist accelerations of their mass centres. With a_i = B_i vdot + bdot_i and the inertia of body i as F_i^T F_i,
the motion of the tree without loops makes

    |W vdot + r|^2 / 2 - f . vdot      least,      W = [F_i B_i],  r = [F_i bdot_i - F_i^-T g_i],

with g_i the wrenches on bodies, and f the joint forces. A QR decomposition of [W r] gives W^T W = L L^T, which is H,
and y = L^T vdot = L^-1 f - Q^T r. The usual way, H and the forces of all joints first, squares the condition of W: a
body of a gram that carries one of a tonne loses its acceleration in the rounding of what the two weigh together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from catena.dynamics.loops.square_root import solve_lower
from catena.errors import SingularDynamicsError
from catena.kinematics.body_jacobians import body_jacobians, summed_up
from catena.kinematics.loops.closure import Motions
from catena.kinematics.stacks import apply, crossed, skew, transposed
from catena.structure import Plan

# A motion whose part of L is below the first part of what was summed up moves hardly any inertia, and the
# constraints are asked whether they block it; below the second it is rounding.
WEAK, LOST = 3e-7, 1e-12
# Principal moments of inertia below this part of the body's inertia about its joint are rounding.
THIN = 1e-15
# As many numbers of W are worked on at a time.
PORTION = 2**22


class BodyRoots:
    """The square roots of inertias (..., n, 10) of all nodes: `F` (..., n, 6, 6), which takes a motion of the node to
    sqrt(inertia) times that of its mass centre along principal axes; `back` (..., n, 6, 6), which takes a wrench
    on the node to F^-T times it, as far as there is inertia to feel it; and `passes_on` (..., n), whether there
    is less than a wrench may ask for."""

    def __init__(self, inertia: np.ndarray) -> None:
        mass, h = inertia[..., 0], inertia[..., 1:4]
        heavy = mass > 0.0
        self.com = np.where(heavy[..., None], h, 0.0) / np.where(heavy, mass, 1.0)[..., None]
        about = inertia[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*mass.shape, 3, 3)
        c = skew(self.com)
        self.about_com = about + mass[..., None, None] * (c @ c)
        moments, axes = np.linalg.eigh(self.about_com)
        # What is left of a moment by subtraction is known to the rounding of what was subtracted.
        rounding = THIN * np.trace(about, axis1=-2, axis2=-1)[..., None]
        moments = np.where(moments > rounding, moments, 0.0)
        roots = np.concatenate([np.sqrt(moments), np.repeat(np.sqrt(mass)[..., None], 3, axis=-1)], axis=-1)
        turn = np.zeros((*mass.shape, 6, 6))
        turn[..., :3, :3], turn[..., 3:, 3:] = transposed(axes), np.eye(3)
        to_com = np.tile(np.eye(6), (*mass.shape, 1, 1))
        to_com[..., 3:, :3] = -c
        self.F = roots[..., None] * (turn @ to_com)
        from_com = np.tile(np.eye(6), (*mass.shape, 1, 1))
        from_com[..., :3, 3:] = -c
        inverse = np.where(roots > 0.0, 1.0 / np.where(roots > 0.0, roots, 1.0), 0.0)
        self.back = inverse[..., None] * (turn @ from_com)
        self.passes_on = ~np.all(roots > 0.0, axis=-1)


@lru_cache(maxsize=64)
def body_roots(plan: Plan) -> BodyRoots:
    """Return the square roots of the inertias of a plan, kept for its next states."""
    return BodyRoots(plan.inertia)


@dataclass(frozen=True, eq=False)
class Rows:
    """W (states, rows, nv), r (states, rows) and f (states, nv) of some states, and `summed` (states, rows, nv), the
    magnitudes of what the entries of W were summed up from."""

    W: np.ndarray
    r: np.ndarray
    f: np.ndarray
    summed: np.ndarray

    def of(self, states: slice) -> Rows:
        """Return those of some of the states."""
        return Rows(self.W[states], self.r[states], self.f[states], self.summed[states])

    def with_driven(self, vdot: np.ndarray, free: np.ndarray) -> Rows:
        """Return those of the coordinates `free` (nv,), when the others accelerate by vdot (states, nv), zero for the
        free."""
        r = self.r + apply(self.W, vdot)
        return Rows(self.W[..., free], r, self.f[..., free], self.summed[..., free])


def tree_rows(
    plan: Plan,
    motions: Motions,
    a_ground: np.ndarray,
    f_ext: np.ndarray | None,
    lent: np.ndarray | None = None,
    inertia: np.ndarray | None = None,
) -> Iterator[tuple[slice, Rows]]:
    """Portions of the states and their rows; f has what bodies pass on of the wrenches f_ext (states, 6 n) and of their
    gyroscopic moments. `lent` (6,) is the square root of an inertia that every node has besides its own. Inertias
    (states, n, 10) are those of the plan unless they are given."""
    inertia = plan.inertia if inertia is None else inertia
    rows = (6 if lent is None else 12) * (plan.n - 1)
    size = max(1, PORTION // max(1, rows * plan.nv))
    for first in range(0, len(motions.v), size):
        some = slice(first, first + size)
        roots = body_roots(plan) if inertia.ndim == 2 else BodyRoots(inertia[some])
        part = Motions(motions.X[some], motions.S_rows[some], motions.v[some], motions.c[some])
        B, a = body_jacobians(plan, part, a_ground[some])
        w = part.v[..., :3]
        # The velocity of a mass centre changes by w x v besides its spatial acceleration.
        a[..., 3:] += crossed(w, part.v[..., 3:] + crossed(w, roots.com))
        g = np.zeros_like(a)
        g[..., :3] = -crossed(w, apply(roots.about_com, w))
        if f_ext is not None:
            g += f_ext[some].reshape(g.shape)
        felt = apply(roots.back, g)
        passed = np.where(roots.passes_on[..., None], g - apply(transposed(roots.F), felt), 0.0)
        sums = summed_up(plan, B)
        W, r, summed = roots.F @ B, apply(roots.F, a) - felt, np.abs(roots.F) @ sums
        if lent is not None:
            W, summed = (np.concatenate([x, lent[:, None] * y], axis=-2) for x, y in ((W, B), (summed, sums)))
            r = np.concatenate([r, lent * a], axis=-1)
        shape = (len(a), rows, plan.nv)
        f = np.einsum("snik,sni->sk", B, passed)
        yield (
            some,
            Rows(W[:, 1:].reshape(shape), r[:, 1:].reshape(shape[:2]), f, summed[:, 1:].reshape(shape)),
        )


def rooted(rows: Rows, constraints: Rows, force: np.ndarray, who: str) -> tuple[np.ndarray, np.ndarray]:
    """L (states, nv, nv) and y = L^T vdot (states, nv) of the motion under joint forces (states, nv), without those of
    constraints.

    Where some motion moves hardly any inertia, the rows of the constraints take part, which are zero in the
    end: the motion with constraint forces stays the same, and L becomes regular exactly when it is
    determined. Where it is not, an error names `who`."""
    L, z, sound = _triangular(rows, WEAK)
    weak = ~sound
    if weak.any():
        pairs = ((rows.W, constraints.W), (rows.r, constraints.r), (rows.summed, constraints.summed))
        W, r, summed = (np.concatenate([x[weak], y[weak]], axis=1) for x, y in pairs)
        L[weak], z[weak], sound[weak] = _triangular(Rows(W, r, rows.f[weak], summed), LOST)
    if not sound.all():
        raise SingularDynamicsError(
            f"{who!r} has a motion that its joints allow and that moves no inertia, so its acceleration is not "
            f"determined. Give the bodies that take part mass and inertia, or lock a joint."
        )
    return L, solve_lower(L, rows.f + force) - z


def _triangular(rows: Rows, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L, Q^T r, and whether (states,) all motions move more inertia than the part `least` of what was summed up."""
    nv = rows.W.shape[-1]
    whole = np.concatenate([rows.W, rows.r[..., None]], axis=-1)
    # Reflections keep the digits of small rows if the large ones come first.
    order = np.argsort(-np.max(np.abs(rows.W), axis=-1, initial=0.0), axis=-1)
    whole = np.take_along_axis(whole, order[..., None], axis=-2)
    R = np.asarray(np.linalg.qr(whole, mode="r"))[:, :nv]
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    R = R * np.where(diagonal < 0.0, -1.0, 1.0)[..., None]
    size = np.linalg.norm(rows.summed, axis=-2)
    return transposed(R[..., :nv]).copy(), R[..., nv].copy(), np.all(np.abs(diagonal) > least * size, axis=-1)
