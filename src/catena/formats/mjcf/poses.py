"""Poses of a MuJoCo model."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.spatial import Pose


def pose_of(p: Any, quat: Any) -> Pose:
    """Return the pose of a position (3,) and a quaternion (4,) of the model."""
    unit = np.array(quat, dtype=np.float64)
    if np.array_equal(unit, (1.0, 0.0, 0.0, 0.0)):
        return Pose(p=np.array(p))
    return Pose(p=np.array(p), quat=unit / np.linalg.norm(unit))
