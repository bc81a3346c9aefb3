"""Which joints of a tree move no inertia, by articulated inertias in plain numbers.

If every node has mass and a positive definite inertia, so has every articulated body. Only mechanisms with massless or
thin bodies have to be looked through.
"""

from collections.abc import Callable, Iterator

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.joints import JointKind
from catena.spatial import ArticulatedInertia, MotionSpace, RigidInertia, Transform, spd_inverse
from catena.structure import Plan

# A joint that feels less than this part of what the bodies behind it have by themselves feels nothing.
NOTHING = 1e-12
# What is left of that after joints behind it have yielded is rounding below this part of it.
ROUNDING = 1e-15


def moving_nothing(
    plan: Plan, where: Callable[[JointKind], np.ndarray], free: np.ndarray | None = None
) -> Iterator[int]:
    """Yield the nodes, from the tips on, whose joints can move without moving any inertia, loops apart.

    Joints stand at `where(kind)`. Velocity components that are not `free` (nv,) move as they are told and need no
    inertia; None says that all are free. Each node found is given some inertia before what carries it is looked at.
    """
    if plan.n <= 1 or _all_solid(plan.inertia[1:]):
        return
    free = np.ones(plan.nv, dtype=bool) if free is None else free
    articulated = [
        ArticulatedInertia.from_rigid(RigidInertia.from_entries(list(row))) for row in plan.inertia
    ]
    whole = [inertia.matrix() for inertia in articulated]
    for i in range(plan.n - 1, 0, -1):
        kind, parent = plan.kind[i], int(plan.parent[i])
        assert kind is not None
        q = where(kind)
        X = kind.transform(q) * Transform(plan.placement_R[i], plan.placement_p[i])
        if is_flexible(kind):
            # Modes move the mass of their own body, whatever hangs on it.
            articulated[parent] += X.pull(articulated[i])
            whole[parent] = whole[parent] + X.pull(ArticulatedInertia.from_matrix(whole[i])).matrix()
            continue
        yields = free[plan.v_of(i)]
        S = MotionSpace(kind.motion_space(q).array[:, yields])
        rotor = np.zeros(S.n) if kind.rotor is None else kind.rotor[yields]
        if _feels_nothing(articulated[i], whole[i], S, rotor):
            yield i
            articulated[i] = articulated[i] + ArticulatedInertia.from_matrix(np.eye(6))
            whole[i] = whole[i] + np.eye(6)
        felt = articulated[i]
        if S.n:
            U = felt * S
            felt = felt - ArticulatedInertia.from_outer(
                U, spd_inverse(np.array(S.T * U, dtype=float) + np.diag(rotor))
            )
        articulated[parent] = articulated[parent] + X.pull(felt)
        whole[parent] = whole[parent] + X.pull(ArticulatedInertia.from_matrix(whole[i])).matrix()


def _feels_nothing(A: ArticulatedInertia, whole: np.ndarray, S: MotionSpace, rotor: np.ndarray) -> bool:
    """Return whether some motion in S meets no inertia, or only the rounding of what is behind it, `whole` (6, 6) if
    nothing there yielded."""
    D = np.array(S.T * (A * S), dtype=float) + np.diag(rotor)
    # Rotational and translational directions have different units: compare each with the inertia that a body has in
    # it by itself.
    along = np.abs(S.array)
    scale = np.sqrt(np.einsum("ij,ij->j", along, np.abs(A.matrix()) @ along) + rotor)
    rigid = np.sqrt(np.einsum("ij,ij->j", along, np.abs(whole) @ along) + rotor)
    if not (np.isfinite(D).all() and np.isfinite(scale).all() and np.isfinite(rigid).all()):
        # Too much for float64 is not nothing.
        return False
    return any(
        bool(np.any(size == 0.0) or np.any(np.linalg.eigvalsh(D / np.outer(size, size)) < part))
        for size, part in ((scale, NOTHING), (rigid, ROUNDING))
    )


def _all_solid(inertia: np.ndarray) -> bool:
    """Return whether all inertias (n, 10) have mass and a positive definite rotational inertia about the mass
    centre."""
    mass = inertia[:, 0]
    if not np.all(mass > 0):
        return False
    c = inertia[:, 1:4] / mass[:, None]
    rotational = inertia[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)
    shift = np.einsum("i,ij,ik->ijk", mass, c, c) - np.einsum("i,ij,ij->i", mass, c, c)[
        :, None, None
    ] * np.eye(3)
    values = np.linalg.eigvalsh(rotational + shift)
    return bool(np.all(values[:, 0] > 1e-9 * values[:, 2]))
