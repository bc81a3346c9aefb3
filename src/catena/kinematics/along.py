"""Twists and wrenches along the motions of a joint, whose columns need not be independent."""

import numpy as np

from catena.spatial import Motion, MotionSpace, spd_inverse


def gram_inverse(S: MotionSpace) -> np.ndarray:
    """Return (S^T S)^-1, (n, n); where two axes of a joint fall together they share what they move."""
    return spd_inverse(S.array.T @ S.array + 1e-14 * np.eye(S.n))


def along(S: MotionSpace, v: Motion) -> np.ndarray:
    """Return the joint velocity (n,) whose motion is nearest to v."""
    return gram_inverse(S) @ (S.array.T @ v.array)
