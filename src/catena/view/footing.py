"""What holds a joint to the ground: a pad or a pedestal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from catena.view.sites import Site
from catena.view.solids import Solid, box, cylinder, frame_along, revolved

Floats = NDArray[np.float64]


def pedestal_or_pad(site: Site, up: Floats, child_centre: Floats, extent: float, r: float) -> list[Solid]:
    """The footing under a joint to ground, or above it where the body hangs.

    A joint a little above the ground's origin stands on a pedestal that reaches down to that level.
    """
    p = site.point
    height = float(p @ up)
    hangs = float((child_centre - p) @ up) < -0.1 * extent
    if not hangs and 2.0 * r < height < 0.35 * extent:
        foot = p - height * up
        heights = [0.0, 0.0, 0.8 * r, 0.8 * r, height - 0.4 * r, height - 0.4 * r]
        radii = [0.0, 3.4 * r, 3.4 * r, 2.2 * r, 1.6 * r, 0.0]
        return [revolved(foot, up, heights, radii)]
    side = 1.0 if hangs else -1.0
    pad = cylinder(p + side * 2.1 * r * up, up, 3.2 * r, 0.9 * r)
    return [pad, box(p + side * 1.0 * r * up, frame_along(up), (1.6 * r, 1.6 * r, 2.0 * r))]


def hatching(site: Site, up: Floats, across: Floats, child_centre: Floats, extent: float, r: float) -> Floats:
    """The slanted strokes (n, 2, 3) that mark the ground behind a pad in a planar picture."""
    hangs = float((child_centre - site.point) @ up) < -0.1 * extent
    side = 1.0 if hangs else -1.0
    height = float(site.point @ up)
    if not hangs and 2.0 * r < height < 0.35 * extent:
        edge = site.point - height * up
    else:
        edge = site.point + side * 2.55 * r * up
    starts = np.linspace(-2.4, 3.2, 6)
    return np.array(
        [[edge + s * r * across, edge + (s - 1.1) * r * across + side * 1.1 * r * up] for s in starts]
    )
