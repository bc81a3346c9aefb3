"""Poses and sizes of prims of a USD stage in metres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import FormatError
from catena.spatial import Pose
from catena.spatial.pose import ROTATION_TOLERANCE

Floats = NDArray[np.float64]


class PrimPlacement:
    """Where prims are in the world, as poses [m] and scales; `metre` is the length of a unit."""

    def __init__(self, stage: Any, name: str) -> None:
        from pxr import UsdGeom

        self.metre = float(UsdGeom.GetStageMetersPerUnit(stage))
        self._name = name
        self._cache = UsdGeom.XformCache()
        self._found: dict[Any, tuple[Pose, Floats]] = {}

    def of(self, prim: Any) -> tuple[Pose, Floats]:
        """Return the pose of a prim in the world and its scale (3,) along its own axes."""
        key = prim.GetPath()
        if key not in self._found:
            self._found[key] = self._split(np.array(self._cache.GetLocalToWorldTransform(prim)), str(key))
        return self._found[key]

    def _split(self, matrix: Floats, path: str) -> tuple[Pose, Floats]:
        # USD multiplies rows from the left.
        axes, p = matrix[:3, :3], self.metre * matrix[3, :3]
        scale = np.linalg.norm(axes, axis=1)
        turned = axes / np.where(scale > 0.0, scale, 1.0)[:, None]
        off = np.abs(turned @ turned.T - np.eye(3)).max()
        if not np.isfinite(matrix).all() or off > ROTATION_TOLERANCE or np.linalg.det(turned) < 0.0:
            raise FormatError(
                f"{self._name}: {path}: its transformation is no rotation with a scale, but a shear or a mirror: "
                "give its parents one scale for all axes"
            )
        # Matrices of single precision turn by a little more or less than a rotation.
        left, _, right = np.linalg.svd(turned.T)
        return Pose(p=p, R=left @ right), scale
