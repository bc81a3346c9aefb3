"""Numbers, poses and attributes of a MuJoCo model and of MJCF."""

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


def polynomial_text(coefficients: Any) -> str:
    """Return a number, or the coefficients of a polynomial."""
    return numbers_text(coefficients) if np.any(coefficients[1:]) else number_text(coefficients[0])


def attributes_text(options: dict[str, str]) -> str:
    """Attributes, each after a blank."""
    return "".join(f' {key}="{value}"' for key, value in options.items())


def pose_text(pose: Pose) -> str:
    """Return the attributes of a pose, each after a blank; none for those at their defaults."""
    where = f' pos="{numbers_text(pose.p)}"' if pose.p.any() else ""
    return where if np.array_equal(pose.R, np.eye(3)) else f'{where} quat="{numbers_text(pose.quat)}"'


def numbers_text(values: Any) -> str:
    """Numbers with blanks between them."""
    return " ".join(map(number_text, values))


def number_text(value: Any) -> str:
    """Return a number to the last digit; zero has no sign."""
    return repr(float(value) + 0.0)
