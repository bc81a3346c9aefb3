"""Mass properties of simple solids, from which the generators make links that could exist."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def cylinder(mass: float, radius: float, tip: ArrayLike) -> dict[str, Any]:
    """Mass, com and inertia of a solid cylinder whose axis runs from the body origin to `tip` (3,)."""
    axis = np.asarray(tip, dtype=np.float64)
    squared = float(axis @ axis)
    across = mass * (squared / 12.0 + radius**2 / 4.0)
    along = mass * radius**2 / 2.0
    direction = np.outer(axis, axis) / squared
    return {"mass": mass, "com": axis / 2.0, "inertia": across * np.eye(3) + (along - across) * direction}


def thin_rod(mass: float, tip: ArrayLike) -> dict[str, Any]:
    """Mass, com and inertia of a uniform rod without thickness from the body origin to `tip` (3,)."""
    return cylinder(mass, 0.0, tip)


def box(mass: float, size: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """Mass, com and inertia of a uniform box with the given edge lengths (3,)."""
    x, y, z = (float(s) ** 2 for s in np.asarray(size, dtype=np.float64))
    return {"mass": mass, "com": com, "inertia": np.array([y + z, x + z, x + y]) * mass / 12.0}


def sphere(mass: float, radius: float) -> dict[str, Any]:
    """Mass, com and inertia of a solid sphere around the body origin."""
    return {"mass": mass, "com": (0.0, 0.0, 0.0), "inertia": 0.4 * mass * radius**2 * np.ones(3)}
