"""The velocity of least kinetic energy in which loops stay closed and some coordinates move as given, for many states
at once: what `consistent_velocity` finds where nothing is in doubt.

With y = L^T v_f + L^-1 H_fg v_g over the free components f and the given ones g, and L L^T = H_ff, the kinetic energy
is y.y / 2 but for a constant, and the loops say A y = b with A = J_f L^-T: the shortest y comes from the singular
values of A.
"""

import numpy as np

from catena.kinematics.stacks import apply, transposed

# Singular values below the first part of the largest are zero, those above the second are not; others are in doubt.
ZERO, SURE = 1e-11, 1e-6
# Loops that open by more than this part of what their velocities are summed up from do not allow what is given.
OPENS = 1e-11


def least_velocity(
    J: np.ndarray, H: np.ndarray, v: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities (states, nv) that have the components `given` (nv,) of v (states, nv), and which of them
    (states,) are certain. J (states, m, nv) are the constraints with rows in radians and lengths, and H (states, nv,
    nv) the inertia of the tree."""
    free, v = ~given, v.copy()
    v[:, free] = 0.0
    if not free.any():
        return v, ~(np.abs(apply(J, v)) > OPENS * apply(np.abs(J), np.abs(v))).any(axis=-1)
    try:
        L = np.linalg.cholesky(H[:, free][:, :, free])
    except np.linalg.LinAlgError:
        return v, np.zeros(len(v), dtype=bool)
    A = transposed(np.linalg.solve(L, transposed(J[:, :, free])))
    c = np.linalg.solve(L, apply(H[:, free], v)[..., None])[..., 0]
    b = apply(A, c) - apply(J, v)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    part = s / np.where(s[:, :1] > 0.0, s[:, :1], 1.0)
    acts = part > SURE
    y = apply(transposed(U), b) * np.where(acts, 1.0 / np.where(acts, s, 1.0), 0.0)
    y = apply(transposed(Vt), y)
    v[:, free] = np.linalg.solve(transposed(L), (y - c)[..., None])[..., 0]
    summed = apply(np.abs(A), np.abs(y)) + apply(np.abs(A), np.abs(c)) + apply(np.abs(J), np.abs(v))
    opens = (np.abs(apply(A, y) - b) > OPENS * summed).any(axis=-1)
    return v, ~opens & (acts | (part < ZERO)).all(axis=-1) & np.isfinite(v).all(axis=-1)
