"""Twists, accelerations and Jacobians of frames in other axes than their own.

`frame`: the axes of the frame, at its origin. `aligned`: the axes of ground, at the frame's origin. `ground`: the axes
of ground, at the ground's origin, which is the velocity of the point of the body that is there. Pinocchio calls them
LOCAL, LOCAL_WORLD_ALIGNED and WORLD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kinematics import stacks
from catena.validation import is_one_of, shown

AXES = ("frame", "aligned", "ground")


def require_axes(axes: Any) -> str:
    """Return the name of axes, or raise with those that there are."""
    if not is_one_of(axes, AXES):
        raise StateError(
            f"axes is {shown(axes)}; choose 'frame' (the frame's own, at its origin), 'aligned' (ground's, at the "
            f"frame's origin) or 'ground' (ground's, at the ground's origin)."
        )
    return str(axes)


def in_axes(motions: np.ndarray, pose: np.ndarray, axes: str) -> np.ndarray:
    """Return motions (..., 6, n) in other axes, given in those of frames with poses (..., 4, 4)."""
    if axes == "frame":
        return motions
    R, p = pose[..., :3, :3], pose[..., :3, 3]
    if axes == "aligned":
        p = np.zeros_like(p)
    X = stacks.inverse(stacks.motion_matrices(stacks.transposed(R), p))
    return np.asarray(X @ motions)
