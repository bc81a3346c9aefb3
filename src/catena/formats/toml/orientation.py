"""How an orientation is written: as three angles or a quaternion where these give back the very same matrix.

A pose keeps its rotation matrix and not how it was once given. People prefer angles, and a file has to read back
to the last digit, so each shorter form is tried and taken only if it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, hypot, inf, nextafter
from typing import Any

import numpy as np

from catena.spatial import Pose

Angles = tuple[float, float, float]


def describe_orientation(pose: Pose) -> dict[str, Any]:
    """Return {} for parallel axes, else {"rpy": ...}, {"quat": ...} or {"R": ...}: the first that is exact."""
    if np.array_equal(pose.R, np.eye(3)):
        return {}
    for rpy in _angles(pose.R):
        if np.array_equal(Pose(rpy=rpy).R, pose.R):
            return {"rpy": rpy}
    if np.array_equal(Pose(quat=pose.quat).R, pose.R):
        return {"quat": pose.quat}
    return {"R": pose.R}


def _angles(R: np.ndarray) -> Iterator[Angles]:
    """Angles (roll, pitch, yaw) that may have made a matrix: round ones, those it has, and their neighbours."""
    (r00, _, _), (r10, _, _), (r20, r21, r22) = R.tolist()
    found = (atan2(r21, r22), atan2(-r20, hypot(r00, r10)), atan2(r10, r00))
    roll, pitch, yaw = (round(angle, 12) + 0.0 for angle in found)
    yield roll, pitch, yaw
    yield found
    # Rounding in sine and cosine may have moved a single angle by its last digit.
    turned = [k for k in range(3) if abs(found[k]) > 1e-15]
    if len(turned) == 1:
        for towards in (-inf, inf):
            angle = found[turned[0]]
            for _ in range(2):
                angle = nextafter(angle, towards)
                r, p, y = (angle if k == turned[0] else 0.0 for k in range(3))
                yield r, p, y
