"""Where frames should be: points, or poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import StateError
from catena.spatial import Pose
from catena.spatial.pose import ROTATION_TOLERANCE
from catena.validation import real_array, shown

WAYS = "a Pose, matrices (..., 4, 4), or points (..., 3)"


class Goal:
    """Where a frame should be: a place p (..., 3) in ground, and a rotation R (..., 3, 3) where that is wanted too."""

    def __init__(self, frame: str, wanted: Any) -> None:
        self.frame = frame
        self.R: np.ndarray | None = None
        if isinstance(wanted, Pose):
            self.p, self.R = np.asarray(wanted.p, dtype=np.float64), np.asarray(wanted.R, dtype=np.float64)
            return
        try:
            x = np.array(real_array(wanted))
        except ValueError as error:
            raise StateError(f"The goal of {frame!r} is {shown(wanted)} ({error}); give {WAYS}.") from None
        if not np.isfinite(x).all():
            raise StateError(f"The goal of {frame!r} is not finite; give {WAYS}.")
        if x.ndim >= 2 and x.shape[-2:] == (4, 4):
            _require_poses(frame, x)
            U, _, Vt = np.linalg.svd(x[..., :3, :3])
            self.p, self.R = x[..., :3, 3], U @ Vt
        elif x.ndim >= 1 and x.shape[-1] == 3:
            self.p = x
        else:
            raise StateError(f"The goal of {frame!r} has shape {x.shape}; give {WAYS}.")

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions."""
        return self.p.shape[:-1]

    def over(self, batch: tuple[int, ...]) -> Goal:
        """Return the goals of all states of a batch, one behind the other."""
        other = Goal(self.frame, np.broadcast_to(self.p, (*batch, 3)).reshape(-1, 3))
        if self.R is not None:
            other.R = np.broadcast_to(self.R, (*batch, 3, 3)).reshape(-1, 3, 3)
        return other

    def some(self, states: np.ndarray) -> Goal:
        """Return the goals of some states."""
        other = Goal(self.frame, self.p[states])
        other.R = None if self.R is None else self.R[states]
        return other


def _require_poses(frame: str, X: np.ndarray) -> None:
    """Raise for matrices (..., 4, 4) that are no poses: what scales, shears or mirrors is nowhere a frame can be."""
    R = X[..., :3, :3]
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
    wrong = (
        (off > ROTATION_TOLERANCE)
        | (np.linalg.det(R) < 0.0)
        | (np.abs(X[..., 3, :] - [0, 0, 0, 1]) > ROTATION_TOLERANCE).any(axis=-1)
    )
    if not wrong.any():
        return
    state = tuple(int(k) for k in np.argwhere(wrong)[0])
    where = f" in state {state}" if state else ""
    if off[state] > ROTATION_TOLERANCE:
        fault = f"the columns of its rotation are not orthonormal (R^T R differs from the identity by {off[state]:.3g})"
    elif np.linalg.det(R[state]) < 0.0:
        fault = "its rotation mirrors (det R = -1)"
    else:
        fault = f"its last row is {X[state][3].tolist()} instead of (0, 0, 0, 1)"
    raise StateError(f"The goal of {frame!r} is no pose{where}: {fault}; give {WAYS}.")
