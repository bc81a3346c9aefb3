"""What holds a joint to the ground: a pad or a pedestal, rails for what slides, a plate that pads hang from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import GROUND
from catena.system import System
from catena.view import theme
from catena.view.camera import Camera
from catena.view.parts import Part
from catena.view.sites import Site
from catena.view.solids import Solid, box, cylinder, frame_along, revolved, rounded_hull, tapered_bar

Floats = NDArray[np.float64]


def hangs(site: Site, up: Floats, child_centre: Floats, middle: Floats, extent: float) -> bool:
    """Return whether the body of a joint to ground hangs from it, or lies level with it while the middle of everything
    is below, as the upper arms of a delta robot do."""
    own, all_of_it = ((p - site.point) @ up / extent for p in (child_centre, middle))
    return bool(own < -0.1 or (own < 0.02 and all_of_it < -0.1))


def pedestal_or_pad(
    site: Site, up: Floats, is_hung: bool, extent: float, r: float, has_weight: bool
) -> list[Solid]:
    """Return the footing under a joint to ground, or above it where the body hangs.

    With weight, a joint a little above the ground's origin stands on a pedestal that reaches down to that level.
    """
    p = site.point
    height = float(p @ up)
    if has_weight and not is_hung and 2.0 * r < height < 0.35 * extent:
        foot = p - height * up
        heights = [0.0, 0.0, 0.8 * r, 0.8 * r, height - 0.4 * r, height - 0.4 * r]
        radii = [0.0, 3.4 * r, 3.4 * r, 2.2 * r, 1.6 * r, 0.0]
        return [revolved(foot, up, heights, radii)]
    side = 1.0 if is_hung else -1.0
    pad = cylinder(p + side * 2.1 * r * up, up, 3.2 * r, 0.9 * r)
    return [pad, box(p + side * 1.0 * r * up, frame_along(up), (1.6 * r, 1.6 * r, 2.0 * r))]


def hatching(
    site: Site, up: Floats, across: Floats, is_hung: bool, extent: float, r: float, has_weight: bool
) -> Floats:
    """Return the slanted strokes (n, 2, 3) that mark the ground behind a pad in a planar picture."""
    side = 1.0 if is_hung else -1.0
    height = float(site.point @ up)
    if has_weight and not is_hung and 2.0 * r < height < 0.35 * extent:
        edge = site.point - height * up
    else:
        edge = site.point + side * 2.55 * r * up
    return _strokes(edge + np.outer(np.linspace(-2.4, 3.2, 6) * r, across), across, side * up, r)


def is_guided(site: Site) -> bool:
    """Return whether a body slides straight along the ground: such a joint is a block between rails."""
    return site.form == "slide" and site.joint.parent == GROUND


def rails(
    site: Site, way: tuple[float, float], up: Floats, across: Floats, r: float
) -> tuple[list[Solid], Floats]:
    """Two rails along the axis of a joint to ground, over the way [m] that its body goes, and the strokes (n, 2, 3)
    behind the lower one, for a picture in which `up` and `across` are the vertical and the horizontal direction."""
    axis = site.axis
    start, end = (site.on_parent[:3, 3] + (x + side * 3.4 * r) * axis for x, side in zip(way, (-1.0, 1.0)))
    beside = np.cross(np.cross(up, across), axis)
    beside = beside if beside @ up > 1e-9 or (abs(beside @ up) <= 1e-9 and beside @ across < 0.0) else -beside
    solids = [
        tapered_bar(start + side * 1.75 * r * beside, end + side * 1.75 * r * beside, 0.3 * r, 0.3 * r)
        for side in (-1.0, 1.0)
    ]
    length = float(np.linalg.norm(end - start))
    count = int(np.clip(length / (1.15 * r), 4, 60))
    edge = start - 2.05 * r * beside
    along = axis if axis @ across >= 0.0 else -axis
    return solids, _strokes(edge + np.outer(np.linspace(0.0, length, count), axis), along, -beside, r)


def _strokes(starts: Floats, along: Floats, out: Floats, r: float) -> Floats:
    """Slanted strokes (n, 2, 3) from points (n, 3) of the edge of the ground."""
    return np.stack([starts, starts - 1.1 * r * along + 1.1 * r * out], axis=1)


def hanger(sites: list[Site], up: Floats, r: float) -> list[Solid]:
    """Return the plate or beam that joints at one height hang from, where there are two or more of them."""
    points = np.array([site.point + 2.4 * r * up for site in sites])
    if len(points) < 2 or np.ptp(points @ up) > 1.0 * r:
        return []
    return [rounded_hull(points, 0.45 * r)]


def sliding_way(
    system: System, joint: str, q: Any, motion: Floats | None, extent: float
) -> tuple[float, float]:
    """From where to where [m] a joint slides: over its limits or the motion that is shown, or some way about where it
    is."""
    limits = system.mechanism.joints[joint].limits
    shown = np.asarray(q if motion is None else motion, dtype=np.float64)
    places = np.asarray(system.joint_position(shown, joint))[..., 0]
    low, high = float(np.min(places)), float(np.max(places))
    if limits is not None and np.all(np.isfinite(limits[0])):
        return min(low, float(limits[0][0])), max(high, float(limits[0][1]))
    return (low, high) if motion is not None else (low - 0.25 * extent, high + 0.25 * extent)


class Footings:
    """Finds what holds joints to the ground: pads, pedestals and rails, hatched where the picture is planar, and the
    plates that pads hang from."""

    def __init__(self, looking: Camera, middle: Floats, extent: float, r: float, has_weight: bool) -> None:
        self.middle = middle
        self.looking, self.extent, self.r, self.has_weight = looking, extent, r, has_weight
        self.up = looking.above if looking.is_planar else looking.up
        self._hung: list[tuple[str, Site]] = []

    def of(self, name: str, site: Site, centre: Floats, way: tuple[float, float] | None) -> list[Part]:
        """Return the parts under a joint to ground whose body has its mass centre (3,) somewhere; with a `way` there
        are rails along it."""
        up, across, r = self.up, self.looking.right, self.r
        is_hung = hangs(site, up, centre, self.middle, self.extent)
        lines = np.zeros((0, 2, 3))
        if way is not None:
            foot, lines = rails(site, way, up, across, r)
        else:
            foot = pedestal_or_pad(site, up, is_hung, self.extent, r, self.has_weight)
            if self.looking.is_planar:
                lines = hatching(site, up, across, is_hung, self.extent, r, self.has_weight)
            elif is_hung:
                self._hung.append((name, site))
        found = [Part(name, "ground", theme.GROUND, GROUND, tuple(foot))]
        if len(lines):
            found.append(Part(name, "hatching", theme.FAINT_INK, GROUND, (), tuple(lines)))
        return found

    def hangers(self) -> list[Part]:
        """Return the plates above pads that hang at one height."""
        levels: dict[int, list[tuple[str, Site]]] = {}
        for name, site in self._hung:
            levels.setdefault(round(float(site.point @ self.up) / (0.5 * self.r)), []).append((name, site))
        return [
            Part(some[0][0], "ground", theme.GROUND, GROUND, tuple(solids))
            for some in levels.values()
            if (solids := hanger([site for _, site in some], self.up, self.r))
        ]
