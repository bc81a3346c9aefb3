"""Mass properties as MJCF has them: moments along principal axes, of which MuJoCo refuses more than Catena does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import FormatError
from catena.mechanism import Body
from catena.spatial import Pose

ROUNDING = 1e-12
"""What is less than this, in parts of the largest moment, is a matter of rounding."""


def inertial(path: Path, body: Body) -> str:
    """Return the element with the mass properties of a body."""
    moments, axes = _principal(body)
    if moments.min() < 0.0 or body.mass < 0.0:
        raise FormatError(
            f"{path}: body {body.name!r} has a negative mass or moment of inertia, which MuJoCo refuses: "
            "save a .toml file"
        )
    turned = Pose(R=axes)
    quat = "" if np.array_equal(axes, np.eye(3)) else f' quat="{_numbers(turned.quat)}"'
    place = f'pos="{_numbers(body.com)}"{quat}'
    return f'<inertial {place} mass="{_numbers([body.mass])}" diaginertia="{_numbers(moments)}"/>'


def needs_balance(body: Body) -> bool:
    """Whether the moments break the triangle inequality, which MuJoCo does not take."""
    moments = np.sort(_principal(body)[0])
    return bool(moments[2] > moments[0] + moments[1])


def _principal(body: Body) -> tuple[Any, Any]:
    """The moments (3,) along principal axes, which are the columns of a right-handed matrix, without what rounding does
    to thin bodies."""
    diagonal = np.diag(body.inertia)
    if np.array_equal(body.inertia, np.diag(diagonal)):
        moments, axes = diagonal.copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(body.inertia)
        axes = axes * np.sign(np.linalg.det(axes))
    largest = np.abs(moments).max()
    moments[np.abs(moments) < ROUNDING * largest] = 0.0
    top = int(np.argmax(moments))
    others = float(np.delete(moments, top).sum())
    if others < moments[top] <= others + ROUNDING * largest:
        moments[top] = others
    return moments, axes


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)
