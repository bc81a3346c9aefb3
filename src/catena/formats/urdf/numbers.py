"""Numbers and poses as URDF writes them."""

from __future__ import annotations

from math import atan2, hypot
from typing import Any

from catena.spatial import Pose


def origin(pose: Pose, tag: str = "origin") -> str:
    """Return the element of a pose."""
    return f'<{tag} xyz="{numbers(pose.p)}" rpy="{numbers(roll_pitch_yaw(pose.R))}"/>'


def roll_pitch_yaw(R: Any) -> tuple[float, float, float]:
    """Return the angles about the fixed axes x, y, z, in that order, of a rotation matrix."""
    across = hypot(R[0, 0], R[1, 0])
    if across < 1e-9:
        # At a pitch of a right angle roll and yaw turn about the same axis, and the yaw may be zero.
        return atan2(-R[1, 2], R[1, 1]), atan2(-R[2, 0], across), 0.0
    return atan2(R[2, 1], R[2, 2]), atan2(-R[2, 0], across), atan2(R[1, 0], R[0, 0])


def numbers(values: Any) -> str:
    """Numbers to the last digit, with blanks between them."""
    return " ".join(map(number, values))


def number(value: Any) -> str:
    """Return a number to the last digit; zero has no sign."""
    return repr(float(value) + 0.0)
