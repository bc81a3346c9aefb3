"""Whether every joint moves some inertia, so that accelerations are determined.

If every node has mass and a positive definite inertia, so has every articulated body. Only mechanisms with
massless or thin bodies need the articulated inertias of the neutral configuration, which are computed here
with plain numbers.
"""

import numpy as np

from catena.dynamics.flexible_body import is_flexible
from catena.spatial import ArticulatedInertia, MotionSpace, RigidInertia, Transform, spd_inverse
from catena.structure import Plan


def lacking_inertia(plan: Plan, driven: np.ndarray | None = None) -> str | None:
    """Return what to say of a joint whose motion moves no inertia in the neutral configuration, None if all move
    some. The velocity components `driven` (nv,) move as they are told and need none."""
    if plan.n <= 1 or _all_solid(plan.inertia[1:]):
        return None
    free = np.ones(plan.nv, dtype=bool) if driven is None else ~driven
    kinds = plan.kind
    articulated = [
        ArticulatedInertia.from_rigid(RigidInertia.from_entries(list(row))) for row in plan.inertia
    ]
    for i in range(plan.n - 1, 0, -1):
        kind = kinds[i]
        assert kind is not None
        q = kind.neutral()
        if is_flexible(kind):
            # Modes move the mass of their own body, whatever hangs on it.
            X = kind.transform(q) * Transform(plan.placement_R[i], plan.placement_p[i])
            articulated[int(plan.parent[i])] += X.pull(articulated[i])
            continue
        yields = free[plan.v_start[i] : plan.v_start[i] + plan.v_size[i]]
        S = MotionSpace(kind.motion_space(q).array[:, yields])
        U = articulated[i] * S
        D = np.array(S.T * U, dtype=float)
        rotor = np.zeros(S.n) if kind.rotor is None else kind.rotor[yields]
        D = D + np.diag(rotor)
        # Rotational and translational directions have different units: compare each with the inertia that a
        # body has in it by itself.
        along = np.abs(S.array)
        scale = np.sqrt(np.einsum("ij,ij->j", along, np.abs(articulated[i].matrix()) @ along) + rotor)
        if np.any(scale == 0.0) or np.any(np.linalg.eigvalsh(D / np.outer(scale, scale)) < 1e-12):
            bodies = ", ".join(repr(b) for b in plan.bodies[i])
            return (
                f"Joint {plan.joint[i]!r} can move without moving any inertia: the body {bodies} and what hangs on it "
                f"have no mass or no rotational inertia in that direction, so its acceleration is not determined. "
                f"Give the body mass and inertia, or lock the joint."
            )
        X = kind.transform(q) * Transform(plan.placement_R[i], plan.placement_p[i])
        parent = int(plan.parent[i])
        felt = articulated[i] - ArticulatedInertia.from_outer(U, spd_inverse(D)) if S.n else articulated[i]
        articulated[parent] = articulated[parent] + X.pull(felt)
    return None


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
