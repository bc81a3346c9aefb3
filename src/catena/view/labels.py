"""Names beside points of a 3-D picture, placed where they cover least. Imported when labels are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.text import Annotation
from mpl_toolkits.mplot3d import proj3d
from numpy.typing import NDArray

from catena.validation import printable
from catena.view import theme
from catena.view.plotting import literal

Floats = NDArray[np.float64]

DIRECTIONS = ((1, 0.6), (-1, 0.6), (1, -0.6), (-1, -0.6), (0, 1.1), (0, -1.1), (1.3, 0), (-1.3, 0))

LEADER = {"arrowstyle": "-", "lw": 0.6, "shrinkA": 1, "alpha": 0.6}


class PointLabel(Annotation):
    """A text at a fixed offset from a point (3,) in space, which it follows when the view is turned."""

    def __init__(self, text: str, point: Floats, offset: tuple[float, float], **style: Any) -> None:
        super().__init__(text, xy=(0.0, 0.0), xytext=offset, textcoords="offset points", **style)
        self._point = point

    def draw(self, renderer: Any) -> None:
        axes: Any = self.axes
        x, y, _ = proj3d.proj_transform(*self._point, axes.get_proj())
        self.xy = (x, y)
        super().draw(renderer)


def place_labels(
    ax: Any, points: Mapping[str, Floats], clearance: float, avoid: Floats, colour: str, taken: list[Floats],
    size: float = 9.0,
) -> None:  # fmt: skip
    """Add a label for each point, `clearance` [pt] away from it.

    Of the places around it the one is chosen that hides the least of `avoid` (n, 3) and of the rectangles
    already `taken`, to which the new ones are added.
    """
    matrix = ax.get_proj()
    to_screen = ax.transData
    pixels = ax.figure.dpi / 72.0

    def screen(p: Floats) -> Floats:
        x, y, _ = proj3d.proj_transform(*np.atleast_2d(p).T, matrix)
        return to_screen.transform(np.column_stack([x, y])) / pixels

    things = screen(avoid)
    for name, point in points.items():
        at = screen(point)[0]
        width, height = 0.58 * size * len(name), 1.2 * size
        best, best_cost = None, np.inf
        for reach in (1.0, 1.8, 2.8):
            for dx, dy in DIRECTIONS:
                offset = np.array([dx, dy]) * (clearance + size * (reach - 0.6))
                low = (
                    at
                    + offset
                    + np.array([{1: 0.0, 0: -0.5, -1: -1.0}[int(np.sign(dx))] * width, -0.5 * height])
                )
                rectangle = np.array([low, low + (width, height)])
                cost = (
                    0.6 * reach
                    + np.sum(np.all((things > low - 1) & (things < rectangle[1] + 1), axis=1)) * 0.03
                )
                cost += sum(20.0 for other in taken if _overlap(rectangle, other))
                if cost < best_cost:
                    best, best_cost = (offset, rectangle, dx, reach), cost
        assert best is not None
        offset, rectangle, dx, reach = best
        taken.append(rectangle)
        side = {1: "left", 0: "center", -1: "right"}[int(np.sign(dx))]
        label = PointLabel(
            literal(name), point, (float(offset[0]), float(offset[1])), ha=side, va="center", fontsize=size,
            color=colour,             zorder=10, annotation_clip=False,
            arrowprops=None if reach == 1.0 else LEADER | {"color": colour, "shrinkB": 0.8 * clearance},
        )  # fmt: skip
        label.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground=theme.PAPER)])
        label.set_gid(f"label:{printable(name)}")
        label.set_in_layout(False)  # the places were chosen for the axes as they are
        ax.add_artist(label)


def _overlap(a: Floats, b: Floats) -> bool:
    return bool(np.all(a[0] < b[1]) and np.all(b[0] < a[1]))
