"""A floor whose height differs from place to place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.validation import real_array, shown

# Steps of Newton's method to the place of a floor that is nearest to a point, and what is left of them, in sizes.
STEPS, NEAR = 40, 1e-14


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights `z` (m, n) [m] over places `x` (m,) and `y` (n,) of a plane, four or more each, that increase. It is a
    bicubic spline, so that its slope and its curvature are continuous; beyond its edges it goes on level."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray

    def __init__(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> None:
        for name, given in (("x", x), ("y", y), ("z", z)):
            try:
                found = real_array(given)
            except ValueError as error:
                raise StateError(f"HeightField: {name} is {shown(given)} ({error}); give numbers.") from None
            if not np.isfinite(found).all():
                raise StateError(f"HeightField: {name} has an entry that is not finite.")
            object.__setattr__(self, name, found)
        for name, places in (("x", self.x), ("y", self.y)):
            if places.ndim != 1 or len(places) < 4 or not (np.diff(places) > 0.0).all():
                raise StateError(
                    f"HeightField: {name} is {shown(places)}; give four or more places that increase."
                )
        if self.z.shape != (len(self.x), len(self.y)):
            raise StateError(
                f"HeightField: z has the shape {self.z.shape}, and x and y have {len(self.x)} and {len(self.y)} "
                "places; give one height for each pair of them."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeightField):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self._told, other._told, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(part.tobytes() for part in self._told))

    @property
    def _told(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.x, self.y, self.z

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import RectBivariateSpline

        return RectBivariateSpline(self.x, self.y, self.z)

    @cached_property
    def _size(self) -> float:
        return float(max(np.ptp(self.x), np.ptp(self.y), np.ptp(self.z)))

    def height(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the heights (...) over places x (...), y (...)."""
        return np.asarray(self._spline.ev(*self._inside(np.asarray(x, float), np.asarray(y, float))[:2]))

    def _inside(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the nearest places of the field, and along which axes (..., 2) these are the places themselves."""
        at = np.clip(x, *self.x[[0, -1]]), np.clip(y, *self.y[[0, -1]])
        return *at, np.stack([at[0] == x, at[1] == y], axis=-1)

    def _shape(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return heights (...), slopes (..., 2) and second derivatives (..., 2, 2) at places (..., 2)."""
        x, y, inside = self._inside(s[..., 0], s[..., 1])
        h, hx, hy, hxx, hxy, hyy = (
            self._spline.ev(x, y, dx, dy) for dx, dy in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        )
        slope = np.stack([hx, hy], axis=-1) * inside
        bends = np.stack([hxx, hxy, hxy, hyy], axis=-1).reshape(*x.shape, 2, 2)
        return h, slope, bends * inside[..., None] * inside[..., None, :]

    def nearest(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gaps (...) of points c (..., 3), the normals (..., 3) where the floor is nearest to them, and how
        these normals turn with the points, (..., 3, 3)."""
        s = c[..., :2].copy()
        one = np.eye(2)
        for _ in range(STEPS):
            h, g, H = self._shape(s)
            deep = h - c[..., 2]
            wrong = s - c[..., :2] + deep[..., None] * g
            J = one + g[..., :, None] * g[..., None, :]
            bent = J + deep[..., None, None] * H
            # Where a point is so far above a valley that several places are about as near, any of them will do.
            good = (np.linalg.det(bent) > 0.1) & (np.trace(bent, axis1=-2, axis2=-1) > 0.1)
            step = np.linalg.solve(np.where(good[..., None, None], bent, J), wrong[..., None])[..., 0]
            s = s - step
            if np.abs(step).max(initial=0.0) <= NEAR * self._size:
                break
        h, g, H = self._shape(s)
        size = np.sqrt(1.0 + (g * g).sum(axis=-1))
        n = np.concatenate([-g, np.ones((*g.shape[:-1], 1))], axis=-1) / size[..., None]
        gap = (n[..., :2] * (c[..., :2] - s)).sum(axis=-1) + n[..., 2] * (c[..., 2] - h)
        # The place goes with the point: J s' = c' along the plane + c' up times the slope.
        bent = one + g[..., :, None] * g[..., None, :] + (h - c[..., 2])[..., None, None] * H
        reaches = np.concatenate([np.broadcast_to(one, bent.shape), g[..., None]], axis=-1)
        slopes = H @ np.linalg.solve(bent, reaches)
        up = np.concatenate([-slopes, np.zeros((*g.shape[:-1], 1, 3))], axis=-2) / size[..., None, None]
        return gap, n, up - n[..., :, None] * (n[..., None, :] @ up)
