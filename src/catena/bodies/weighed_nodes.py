"""The inertia of finite-element nodes that turn: mass integrals from a mass matrix with six freedoms for each node.

A mass matrix of displacements alone is one of a scalar field, the same for x, y and z, and has all products of the
functions 1, s and S exactly. Where nodes turn too it mixes displacements and rotations, and tells the kinetic energy of
motions only: rigid ones, and those of the modes. So nodes get masses first, as the diagonal says, and the inertia that
each of them has where all turn together. Then places and shapes are changed a little, the less the finer the mesh, so
that mass, mass centre and inertia, what couples modes to rigid motions, and the mass matrix of the modes are exactly
those of the matrix. How inertia depends on deformations is as good as the lumping, whose error falls with the square of
the size of elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.bodies.contract import Floats
from catena.errors import ModelError
from catena.spatial.vectors import skew

SAME = 1e-3
"""Parts by which a body may weigh more along one axis than along another one."""
RESISTS = 1e-3
"""Forces against a motion of the rigid body are at most this part of what entries add up to without their signs."""
SINGULAR = 1e-12
"""Inertias that are a smaller part of the largest one are none."""


def rigid_fields(nodes: Floats) -> Floats:
    """Return displacements and rotations (6 n, 6) of nodes (n, 3) for translations along x, y, z and small turns about
    the axes through the origin."""
    n = len(nodes)
    found = np.zeros((n, 6, 6))
    found[:, :3, :3], found[:, 3:, 3:] = np.eye(3), np.eye(3)
    found[:, :3, 3:] = [-skew(p) for p in nodes]
    return found.reshape(6 * n, 6)


def check_rigid(stiffness: Any, nodes: Floats) -> None:
    """Raise a ModelError where a sparse stiffness matrix, (3 n, 3 n) or (6 n, 6 n), resists a rigid motion."""
    n = len(nodes)
    rigid = (
        rigid_fields(nodes - nodes.mean(axis=0)).reshape(n, 6, 6)[:, : stiffness.shape[0] // n].reshape(-1, 6)
    )
    size = abs(stiffness) @ abs(rigid)
    resists = np.abs(stiffness @ rigid).max(axis=0) > RESISTS * size.max(axis=0)
    if resists.any():
        what = [f"translation along {c}" for c in "xyz"] + [f"rotation about {c}" for c in "xyz"]
        raise ModelError(
            f"FiniteElements: the stiffness matrix resists a {what[int(np.argmax(resists))]} of the whole body: give "
            f"the body free, with nothing fixed to ground, nodes in the order of the matrix and in metres, and the "
            f"freedoms of each node as x, y, z and, where it has them, rx, ry, rz."
        )


def products_of_nodes(mass: Any, nodes: Floats, shapes: Floats) -> Floats:
    """Return mass integrals of the products of 1, s (3) and S (3 k, by directions), (4 + 3 k, 4 + 3 k), for a sparse
    mass matrix (6 n, 6 n) and modes with these shapes (6 n, k)."""
    motions = np.hstack([rigid_fields(nodes), shapes])
    inertia = motions.T @ (mass @ motions)
    weights = np.diag(inertia)[:3]
    total = float(weights.mean())
    if not np.ptp(weights) <= SAME * total:
        raise ModelError(
            f"FiniteElements: the mass matrix weighs {weights.round(9).tolist()} kg along x, y and z: give the six "
            f"freedoms of each node as x, y, z, rx, ry, rz, node by node, and all mass in kg."
        )
    one, s, S = _nodes_alone(mass, nodes, shapes, total)
    s = _placed(one, s, total, inertia)
    k = shapes.shape[1]
    S = _moved(one, s, S, inertia[:6, 6:], inertia[6:, 6:])
    values = np.concatenate([one[:, None], s, S.reshape(-1, 3 * k)], axis=1)
    found: Floats = values.T @ values
    return 0.5 * (found + found.T)


def _nodes_alone(mass: Any, nodes: Floats, shapes: Floats, total: float) -> tuple[Floats, Floats, Floats]:
    """Return 1 (4 n,), s (4 n, 3) and S (4 n, 3, k) times roots of masses: of each node, and of each principal axis of
    its rotational inertia what changes along it."""
    n, k = len(nodes), shapes.shape[1]
    moved = shapes.reshape(n, 6, k)
    weights = mass.diagonal().reshape(n, 6)[:, :3].mean(axis=1)
    root = np.sqrt(weights * (total / weights.sum()))
    all_turn = np.tile(np.eye(6)[:, 3:], (n, 1))
    turning = (mass @ all_turn).reshape(n, 6, 3)[:, 3:]
    turning = 0.5 * (turning + np.swapaxes(turning, 1, 2))
    second = 0.5 * np.trace(turning, axis1=1, axis2=2)[:, None, None] * np.eye(3) - turning
    values, axes = np.linalg.eigh(second)
    along = np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(axes, 1, 2)
    swung = np.cross(moved[:, None, 3:], along[..., None], axis=2)
    one = np.concatenate([root, np.zeros(3 * n)])
    s = np.concatenate([root[:, None] * nodes, along.reshape(-1, 3)])
    S = np.concatenate([root[:, None, None] * moved[:, :3], swung.reshape(-1, 3, k)])
    return one, s, S


def _placed(one: Floats, s: Floats, total: float, inertia: Floats) -> Floats:
    """Return places (rows, 3) with the mass centre and the rotational inertia of `inertia`, that of rigid motions."""
    lever = inertia[:3, 3:6] / total
    centre = 0.5 * np.array([lever[1, 2] - lever[2, 1], lever[2, 0] - lever[0, 2], lever[0, 1] - lever[1, 0]])
    J = inertia[3:6, 3:6]
    wanted = 0.5 * np.trace(J) * np.eye(3) - J - total * np.outer(centre, centre)
    least = float(np.linalg.eigvalsh(wanted)[0])
    if least < -SAME * np.trace(wanted):
        raise ModelError(
            "FiniteElements: the mass matrix has a rotational inertia that no body has: one principal moment is more "
            "than the others together; check its rotations and their units."
        )
    around = s - np.outer(one, one @ s / total)
    return np.outer(one, centre) + around @ _change(around.T @ around, wanted)


def _moved(one: Floats, s: Floats, S: Floats, coupled: Floats, modal: Floats) -> Floats:
    """Return shapes (rows, 3, k) that are coupled to rigid motions as `coupled` (6, k) says and have the mass matrix
    `modal` (k, k)."""
    rigid = np.zeros((len(one), 3, 6))
    rigid[:, range(3), range(3)] = one[:, None]
    rigid[:, :, 3:] = [-skew(p) for p in s]
    R, U = rigid.reshape(-1, 6), S.reshape(-1, S.shape[2])
    give = np.linalg.pinv(R.T @ R, rcond=SINGULAR, hermitian=True)
    found = R.T @ U
    W = _change(U.T @ U - found.T @ give @ found, modal - coupled.T @ give @ coupled)
    return (U @ W + R @ (give @ (coupled - found @ W))).reshape(S.shape)


def _change(found: Floats, wanted: Floats) -> Floats:
    """Return the symmetric matrix W, the nearest to 1, for which W found W is what is wanted."""
    values, vectors = np.linalg.eigh(0.5 * (found + found.T))
    kept = values > SINGULAR * values[-1]
    some, root = vectors[:, kept], np.sqrt(values[kept])
    middle = (some * root).T @ wanted @ (some * root)
    sizes, turns = np.linalg.eigh(0.5 * (middle + middle.T))
    inside = (turns * np.sqrt(np.maximum(sizes, 0.0))) @ turns.T
    rest = np.eye(len(found)) - some @ some.T
    return (some / root) @ inside @ (some / root).T + rest
