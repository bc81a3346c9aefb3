"""A picture of a mechanism with matplotlib."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from catena.errors import StateError
from catena.system import System
from catena.view import theme
from catena.view.flexing import checked_factor
from catena.view.picture import Picture
from catena.view.plotting import require_matplotlib
from catena.view.scene import picture as picture_at

Floats = NDArray[np.float64]
Labels = Literal["bodies", "joints", "all"] | bool | None


def draw(
    system: System,
    q: Any = None,
    ax: Any = None,
    *,
    labels: Labels = None,
    mass_centres: bool = True,
    floor: bool | None = None,
    view: tuple[float, float] | None = None,
    scale: float = 1.0,
    exaggerate: float = 1.0,
    title: str | None = None,
) -> Any:
    """Draw a mechanism at one configuration q (nq,), neutral by default, and return the 3-D axes.

    Bodies are bars and blocks between their joints; joints are shaped by kind (cylinder: turns, sleeve:
    slides, ball: spherical, cross: universal), orange where they close a loop and grey where they are
    locked; quartered discs are mass centres. `labels` is "bodies", "joints", "all" (or True) or None.
    Mechanisms that move in a plane are seen face-on, others from `view` = (elevation, azimuth) in degrees.
    The `floor` with its shadow is left out in plane pictures and without gravity. `scale` thickens the bars. Flexible
    bodies deform `exaggerate` times as far as they do.
    Without `ax` a new figure is made.
    """
    pyplot = require_matplotlib()
    if ax is None:
        ax = pyplot.figure(figsize=(6.0, 6.0)).add_axes((0.0, 0.0, 1.0, 0.95), projection="3d")
    if getattr(ax, "name", "") != "3d":
        raise StateError('draw needs 3-D axes: make them with figure.add_subplot(projection="3d").')
    q = system.neutral() if q is None else np.asarray(q, dtype=np.float64)
    if q.shape != (system.nq,):
        raise StateError(f"draw shows one configuration: q has shape {q.shape}, give ({system.nq},).")
    picture = picture_at(system, q, scale, view, checked_factor(exaggerate))
    if floor is None:
        floor = picture.has_gravity and not picture.camera.is_planar

    camera = picture.camera
    ax.set_proj_type("ortho")
    ax.view_init(camera.elevation, camera.azimuth, camera.roll, vertical_axis=camera.vertical)
    ax.set_axis_off()
    ax.computed_zorder = False

    seen = picture.points()
    if floor:
        seen = np.concatenate([seen, _paint_floor(ax, picture, seen)])
    _fit(ax, seen, 0.84 if labels else 0.97)
    _paint_solids(ax, picture)
    _paint_lines(ax, picture)
    if mass_centres:
        _paint_mass_centres(ax, picture)
    if labels:
        from catena.view.labels import place_labels

        avoid = picture.points()[::3]
        per_metre = _points_per_metre(ax)
        taken: list[Floats] = []
        if labels in ("joints", "all", True):
            place_labels(
                ax, picture.joint_anchors, 4.0 + 1.6 * picture.bar_radius * per_metre, avoid, theme.INK, taken
            )
        if labels in ("bodies", "all", True):
            place_labels(
                ax, picture.body_anchors, 6.0 + picture.bar_radius * per_metre, avoid, "#35618f", taken
            )
    if title:
        ax.set_title(title, color=theme.INK, fontsize=11, pad=2)
    return ax


def _paint_solids(ax: Any, picture: Picture) -> None:
    """All solids in one collection, so that near faces hide far ones whichever part they belong to."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    polygons = [polygon for part in picture.parts for polygon in part.polygons]
    corners = np.array([polygon[[0, 1, 2, -1]] for polygon in polygons]).reshape(-1, 4, 3)
    base = np.array([to_rgb(part.colour) for part in picture.parts for _ in part.polygons])
    colours = _shaded(base, corners, picture.camera.light)

    class Solids(Poly3DCollection):  # type: ignore[misc]
        """Faces of closed solids, of which those that are turned away are left out, from wherever one looks: the far
        sides of thin plates would show through between the near ones."""

        def do_3d_projection(self) -> float:
            x, y, _ = (z.reshape(-1, 4) for z in proj_transform(*corners.reshape(-1, 3).T, self.axes.M))
            area = (x[:, 2] - x[:, 0]) * (y[:, 3] - y[:, 1]) - (x[:, 3] - x[:, 1]) * (y[:, 2] - y[:, 0])
            near = np.flatnonzero(area > 0.0)
            self.set_verts([polygons[k] for k in near])
            self.set_facecolor(colours[near])
            self.set_edgecolor(colours[near])
            return float(super().do_3d_projection())

    solids = Solids(polygons, facecolors=colours, edgecolors=colours, linewidths=0.9, zorder=4)
    solids.set_gid("solids")
    ax.add_collection3d(solids, autolim=False)


def _shaded(base: Floats, corners: Floats, light: Floats) -> Floats:
    """Return the colours (n, 3) of faces with corners (n, 4, 3) in the light: darker when turned away, brighter when
    turned towards it."""
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    brightness = (normals @ light / np.maximum(np.linalg.norm(normals, axis=1), 1e-300))[:, None]
    lit = np.where(brightness < 0.0, 0.20 * brightness, 0.28 * np.minimum(1.0, brightness / 0.7))
    shade = base * (0.72 + lit)
    return shade + (1.0 - shade) * 0.45 * np.maximum(0.0, brightness - 0.6) / 0.4


def _paint_lines(ax: Any, picture: Picture) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    styles = {"float": ("--", 1.1), "gap": (":", 1.6), "hatching": ("-", 0.9), "force": ("-", 1.3)}
    for role, (style, width) in styles.items():
        lines = [line for part in picture.parts if part.role == role for line in part.lines]
        if lines:
            colour = next(part.colour for part in picture.parts if part.role == role)
            zorder = 3 if role in ("float", "hatching") else 6
            collection = Line3DCollection(
                lines, colors=colour, linestyles=style, linewidths=width, zorder=zorder
            )
            collection.set_gid(role)
            ax.add_collection3d(collection, autolim=False)


def _paint_mass_centres(ax: Any, picture: Picture) -> None:
    """Quartered discs whose area grows with mass^(2/3), like the face of a ball of that mass.

    Those behind another part are hidden, and where two would cover each other the lighter one is left out.
    """
    from matplotlib.path import Path

    if not picture.masses:
        return
    order = sorted(picture.masses, key=lambda name: -picture.masses[name][0])
    masses = np.array([picture.masses[name][0] for name in order])
    centres = np.array([picture.masses[name][1] for name in order])
    relative = np.clip((masses / np.median(masses)) ** (1.0 / 3.0), 0.6, 1.8)
    per_metre = _points_per_metre(ax)
    # At least 4.5 points across, so that the quarters can be told apart in small pictures.
    diameters = np.maximum(1.5 * picture.bar_radius * relative * per_metre, 4.5)
    seen = _in_front(picture, order)
    kept = [i for i in _apart(centres, diameters / per_metre, picture) if seen[i]]
    centres, diameters = centres[kept], diameters[kept]
    quarters = Path.make_compound_path(*(Path.wedge(start, start + 90.0) for start in (0.0, 180.0)))
    for marker, face, gid in (("o", theme.PAPER, "mass centres"), (quarters, theme.INK, "mass quarters")):
        artist = ax.scatter(
            *centres.T, s=diameters**2, marker=marker, c=face, edgecolors=theme.INK,
            linewidths=0.6 if marker == "o" else 0.0, depthshade=False, zorder=7,
        )  # fmt: skip
        artist.set_gid(gid)


def _in_front(picture: Picture, bodies: list[str]) -> list[bool]:
    """Return whether each body is the nearest thing to the eye where its mass centre is seen."""
    towards, right = picture.camera.towards, picture.camera.right
    axes = np.array([right, np.cross(towards, right), towards])
    owners = np.array(
        [part.name if part.role == "body" else "" for part in picture.parts for _ in part.polygons]
    )
    corners = np.array([p[[0, 1, 2, -1]] for part in picture.parts for p in part.polygons]) @ axes.T
    seen = []
    for name in bodies:
        centre = axes @ picture.masses[name][1]
        edges = np.roll(corners, -1, axis=1) - corners
        to_centre = centre - corners
        side = edges[:, :, 0] * to_centre[:, :, 1] - edges[:, :, 1] * to_centre[:, :, 0]
        covers = np.all(side >= 0.0, axis=1) | np.all(side <= 0.0, axis=1)
        covers &= np.any(side != 0.0, axis=1)
        depth = corners[:, :, 2].mean(axis=1)
        own = depth[covers & (owners == name)]
        other = depth[covers & (owners != name)]
        seen.append(other.size == 0 or (own.size > 0 and own.max() >= other.max()))
    return seen


def _apart(centres: Floats, sizes: Floats, picture: Picture) -> list[int]:
    """Return the indices of the centres (n, 3) that are seen apart from all kept before them."""
    camera = picture.camera
    upright = np.cross(camera.towards, camera.right)
    seen = np.column_stack([centres @ camera.right, centres @ upright])
    kept: list[int] = []
    for i, place in enumerate(seen):
        if all(np.linalg.norm(place - seen[k]) > 0.65 * (sizes[i] + sizes[k]) for k in kept):
            kept.append(i)
    return kept


def _paint_floor(ax: Any, picture: Picture, points: Floats) -> Floats:
    """A light disc below everything with the shadow of the mechanism on it; returns its rim (n, 3)."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    up = picture.camera.up
    level = float(np.min(points @ up))
    flat = points - np.outer(points @ up - level, up)
    low, high = flat.min(axis=0), flat.max(axis=0)
    centre = 0.5 * (low + high)
    radius = 1.06 * float(np.max(np.linalg.norm(flat - centre, axis=1))) + 2.0 * picture.bar_radius
    first = np.roll(np.abs(up), 1)
    second = np.cross(up, first)
    angle = np.linspace(0.0, 2.0 * np.pi, 73)
    rim = centre + radius * (np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second))
    disc = Poly3DCollection([rim], facecolors=theme.FLOOR, edgecolors="#e3e6ea", linewidths=0.8, zorder=1)
    disc.set_gid("floor")
    ax.add_collection3d(disc, autolim=False)
    shadows = [
        polygon - np.outer(polygon @ up - level, up) for part in picture.parts for polygon in part.polygons
    ]
    shadow = Poly3DCollection(
        shadows, facecolors=theme.SHADOW, edgecolors=theme.SHADOW, linewidths=0.4, zorder=2
    )
    shadow.set_gid("shadow")
    ax.add_collection3d(shadow, autolim=False)
    return rim


def _fit(ax: Any, points: Floats, part: float) -> None:
    """Set equal limits so that the picture of the points (n, 3) is centred and fills a part of the axes."""
    from mpl_toolkits.mplot3d import proj3d

    ax.set_box_aspect((1.0, 1.0, 1.0))
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = 0.5 * max(float(np.max(np.ptp(points, axis=0))), 1e-9)
    window = 0.5 * np.abs(np.array([ax.viewLim.width, ax.viewLim.height]))
    for _ in range(3):
        _set_limits(ax, centre, half)
        matrix = ax.get_proj()
        x, y, _ = proj3d.proj_transform(*points.T, matrix)
        low, high = np.array([np.min(x), np.min(y)]), np.array([np.max(x), np.max(y)])
        # An orthographic projection is linear: a shift in the picture is a shift of the limits.
        columns = [proj3d.proj_transform(*(centre + half * e), matrix)[:2] for e in np.eye(3)]
        origin = np.array(proj3d.proj_transform(*centre, matrix)[:2], dtype=np.float64)
        slope = (np.array(columns, dtype=np.float64) - origin).T / half
        middle_of_axes = np.array([ax.viewLim.x0 + ax.viewLim.x1, ax.viewLim.y0 + ax.viewLim.y1]) / 2.0
        centre = centre + np.linalg.lstsq(slope, 0.5 * (low + high) - middle_of_axes, rcond=None)[0]
        half *= float(np.max(0.5 * (high - low) / window)) / part
    _set_limits(ax, centre, half)


def _set_limits(ax: Any, centre: Floats, half: float) -> None:
    for setter, c in zip((ax.set_xlim3d, ax.set_ylim3d, ax.set_zlim3d), centre, strict=True):
        setter(c - half, c + half)


def _points_per_metre(ax: Any) -> float:
    """Return the scale of the picture: printer's points on paper for a metre of the mechanism."""
    from mpl_toolkits.mplot3d import proj3d

    matrix = ax.get_proj()
    corner = np.array([ax.get_xlim3d()[0], ax.get_ylim3d()[0], ax.get_zlim3d()[0]])
    origin = np.array(proj3d.proj_transform(*corner, matrix)[:2], dtype=np.float64)
    ends = [np.array(proj3d.proj_transform(*(corner + e), matrix)[:2], dtype=np.float64) for e in np.eye(3)]
    slope = np.linalg.svd(np.array(ends) - origin, compute_uv=False)[0]
    box = ax.get_window_extent()
    return float(72.0 / ax.figure.dpi * min(box.width, box.height) * slope / ax.viewLim.width)
