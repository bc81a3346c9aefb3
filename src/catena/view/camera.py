"""From where a mechanism is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.view.sites import Site

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Camera:
    """A direction of view: `towards` (3,) points from the mechanism to the eye, `up` (3,) is vertical.

    `elevation` and `azimuth` are degrees as matplotlib counts them about the axis `vertical`; `is_planar`
    tells that the mechanism moves in the plane of the picture.
    """

    elevation: float
    azimuth: float
    roll: float
    vertical: str
    up: Floats
    towards: Floats
    is_planar: bool

    @property
    def right(self) -> Floats:
        """The direction (3,) to the right in the picture."""
        right = np.cross(self.up, self.towards)
        if np.linalg.norm(right) < 1e-6:  # seen from straight above
            right = np.cross(np.roll(self.up, -1), self.towards)
        return right / np.linalg.norm(right)

    @property
    def above(self) -> Floats:
        """The direction (3,) that is up in the picture: the vertical one, unless that points to the eye."""
        return np.cross(self.towards, self.right)

    @property
    def light(self) -> Floats:
        """The direction (3,) that light comes from: above, to the left and in front, as the picture shows it. Seen from
        straight above, light from above would come from the eye and show no forms."""
        above = self.up if abs(self.up @ self.towards) < 0.9 else np.cross(self.towards, self.right)
        light = 0.55 * self.towards + 0.75 * above - 0.35 * self.right
        return light / np.linalg.norm(light)


def upward(gravity: Floats) -> Floats:
    """Return the coordinate direction (3,) nearest to the one against gravity; z without gravity."""
    if not np.any(gravity):
        return np.array([0.0, 0.0, 1.0])
    k = int(np.argmax(np.abs(gravity)))
    up = np.zeros(3)
    up[k] = -np.sign(gravity[k])
    return up


def normal_of_motion(sites: Iterable[Site]) -> Floats | None:
    """Return the unit normal of the plane in which all joints move, or None if there is no such plane, or if they stand
    behind each other."""
    turning, sliding, places = [], [], []
    for site in sites:
        places.append(site.point)
        if site.joint.locked or site.form == "block":
            continue
        if site.form in ("hinge", "plate"):
            turning.append(site.axis)
        elif site.form == "slide":
            sliding.append(site.axis)
        else:
            return None
    if not turning:
        return None
    normal = turning[0]
    if _is_row(np.array(places), normal):
        return None
    parallel = all(np.linalg.norm(np.cross(normal, axis)) < 1e-6 for axis in turning)
    return normal if parallel and all(abs(normal @ axis) < 1e-6 for axis in sliding) else None


def _is_row(places: Floats, normal: Floats) -> bool:
    """Return whether joints (n, 3) stand behind each other, as wheels on a shaft do: face-on the first hides the
    others."""
    deep = np.ptp(places @ normal)
    spread = np.ptp(places - np.outer(places @ normal, normal), axis=0)
    return bool(deep > 0.6 * np.linalg.norm(spread))


def camera(gravity: Floats, sites: Iterable[Site], view: tuple[float, float] | None = None) -> Camera:
    """Face-on for a mechanism that moves in a plane, otherwise from the front, above and to the side.

    `view` = (elevation, azimuth) in degrees asks for another direction.
    """
    up = upward(gravity)
    vertical = int(np.argmax(np.abs(up)))
    upright = bool(up[vertical] > 0.0)
    facing = None if view is not None else _facing(normal_of_motion(sites), vertical)
    oblique = (20.0 if upright else -20.0, -58.0)
    elevation, azimuth = view or facing or oblique
    e, a = np.radians(elevation), np.radians(azimuth)
    # Matplotlib counts both angles in axes turned so that the vertical one comes last.
    towards = np.roll([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], vertical - 2)
    roll = 0.0 if upright else 180.0
    return Camera(elevation, azimuth, roll, "xyz"[vertical], up, towards, facing is not None)


def _facing(normal: Floats | None, vertical: int) -> tuple[float, float] | None:
    """Elevation and azimuth that look along a horizontal or vertical normal; None for any other.

    Of the two sides it is the one from which the first horizontal axis points to the right, as on paper.
    """
    if normal is None:
        return None
    if abs(normal[vertical]) > 1.0 - 1e-6:
        return 90.0, -90.0
    if abs(normal[vertical]) > 1e-6:
        return None
    a, b = normal[(vertical + 1) % 3], normal[(vertical + 2) % 3]
    if b > 1e-6 or (abs(b) <= 1e-6 and a < 0.0):
        a, b = -a, -b
    return 0.0, float(np.degrees(np.arctan2(b, a)))
