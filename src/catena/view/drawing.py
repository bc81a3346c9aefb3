"""A picture of a mechanism with matplotlib."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from catena.errors import StateError
from catena.system import System
from catena.view import theme
from catena.view.plotting import require_matplotlib
from catena.view.scene import Scene, scene

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
    title: str | None = None,
) -> Any:
    """Draw a mechanism at one configuration q (nq,), neutral by default, and return the 3-D axes.

    Bodies are bars and blocks between their joints; joints are shaped by kind (cylinder: turns, sleeve:
    slides, ball: spherical, cross: universal), orange where they close a loop and grey where they are
    locked; quartered discs are mass centres. `labels` is "bodies", "joints", "all" (or True) or None.
    Mechanisms that move in a plane are seen face-on, others from `view` = (elevation, azimuth) in degrees.
    The `floor` with its shadow is left out in plane pictures and without gravity. `scale` thickens the bars.
    Without `ax` a new figure is made.
    """
    pyplot = require_matplotlib()
    if ax is None:
        ax = pyplot.figure(figsize=(6.0, 6.0), layout="constrained").add_subplot(projection="3d")
    if getattr(ax, "name", "") != "3d":
        raise StateError('draw needs 3-D axes: make them with figure.add_subplot(projection="3d").')
    q = system.neutral() if q is None else np.asarray(q, dtype=np.float64)
    if q.shape != (system.nq,):
        raise StateError(f"draw shows one configuration: q has shape {q.shape}, give ({system.nq},).")
    picture = scene(system, q, scale)
    if floor is None:
        floor = picture.has_gravity and not picture.camera.is_planar

    camera = picture.camera
    elevation, azimuth = view if view is not None else (camera.elevation, camera.azimuth)
    ax.set_proj_type("ortho")
    ax.view_init(elevation, azimuth, camera.roll, vertical_axis=camera.vertical)
    ax.set_axis_off()
    ax.computed_zorder = False

    seen = picture.points()
    if floor:
        seen = np.concatenate([seen, _paint_floor(ax, picture, seen)])
    _fit(ax, seen)
    _paint_solids(ax, picture)
    _paint_lines(ax, picture)
    if mass_centres:
        _paint_mass_centres(ax, picture)
    if labels:
        from catena.view.labels import place_labels

        avoid = picture.points()[::7]
        taken: list[Floats] = []
        if labels in ("joints", "all", True):
            place_labels(ax, picture.joint_anchors, avoid, theme.INK, taken)
        if labels in ("bodies", "all", True):
            place_labels(ax, picture.body_anchors, avoid, "#35618f", taken)
    if title:
        ax.set_title(title, color=theme.INK, fontsize=11, pad=2)
    return ax


def _paint_solids(ax: Any, picture: Scene) -> None:
    """All solids in one collection, so that near faces hide far ones whichever part they belong to."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    camera = picture.camera
    light = 0.55 * camera.towards + 0.75 * camera.up - 0.35 * camera.right
    light = light / np.linalg.norm(light)
    polygons = [polygon for part in picture.parts for polygon in part.polygons]
    base = np.array([to_rgb(part.colour) for part in picture.parts for _ in part.polygons])
    colours = _shaded(base, polygons, light)
    solids = Poly3DCollection(polygons, facecolors=colours, edgecolors=colours, linewidths=0.5, zorder=4)
    solids.set_gid("solids")
    ax.add_collection3d(solids, autolim=False)


def _shaded(base: Floats, polygons: list[Floats], light: Floats) -> Floats:
    """The colours (n, 3) of faces in the light: darker when turned away, brighter when turned towards it."""
    corners = np.array([polygon[[0, 1, 2, -1]] for polygon in polygons])
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    brightness = (normals @ light / np.maximum(np.linalg.norm(normals, axis=1), 1e-300))[:, None]
    lit = np.where(brightness < 0.0, 0.20 * brightness, 0.28 * np.minimum(1.0, brightness / 0.7))
    shade = base * (0.72 + lit)
    return shade + (1.0 - shade) * 0.45 * np.maximum(0.0, brightness - 0.6) / 0.4


def _paint_lines(ax: Any, picture: Scene) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    styles = {"float": ("--", 1.1), "gap": (":", 1.6), "hatching": ("-", 0.9)}
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


def _paint_mass_centres(ax: Any, picture: Scene) -> None:
    """Quartered discs whose area grows with mass^(2/3), like the face of a ball of that mass."""
    from matplotlib.path import Path

    if not picture.masses:
        return
    masses = np.array([mass for mass, _ in picture.masses.values()])
    centres = np.array([centre for _, centre in picture.masses.values()])
    relative = np.clip((masses / np.median(masses)) ** (1.0 / 3.0), 0.6, 1.8)
    box = ax.get_window_extent()
    per_metre = 72.0 / ax.figure.dpi * min(box.width, box.height) / _width(ax)
    # At least 4.5 points across, so that the quarters can be told apart in small pictures.
    diameters = np.maximum(1.5 * picture.bar_radius * relative * per_metre, 4.5)
    quarters = Path.make_compound_path(
        *(Path.wedge(start, start + 90.0) for start in (0.0, 180.0))
    )
    for marker, face, gid in (("o", theme.PAPER, "mass centres"), (quarters, theme.INK, "mass quarters")):
        artist = ax.scatter(
            *centres.T, s=diameters**2, marker=marker, c=face, edgecolors=theme.INK,
            linewidths=0.6 if marker == "o" else 0.0, depthshade=False, zorder=7,
        )  # fmt: skip
        artist.set_gid(gid)


def _paint_floor(ax: Any, picture: Scene, points: Floats) -> Floats:
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


def _fit(ax: Any, points: Floats) -> None:
    """Set equal limits so that the picture of the points (n, 3) is centred and fills the axes."""
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
        half *= float(np.max(0.5 * (high - low) / window)) / 0.97
    _set_limits(ax, centre, half)


def _set_limits(ax: Any, centre: Floats, half: float) -> None:
    for setter, c in zip((ax.set_xlim3d, ax.set_ylim3d, ax.set_zlim3d), centre, strict=True):
        setter(c - half, c + half)


def _width(ax: Any) -> float:
    """How many metres the width of the axes shows."""
    from mpl_toolkits.mplot3d import proj3d

    matrix = ax.get_proj()
    corner = np.array([limits[0] for limits in (ax.get_xlim3d(), ax.get_ylim3d(), ax.get_zlim3d())])
    seen = [np.array(proj3d.proj_transform(*(corner + e), matrix)[:2], dtype=np.float64) for e in (*np.eye(3), np.zeros(3))]
    slope = np.array([s - seen[3] for s in seen[:3]])
    return float(ax.viewLim.width / np.linalg.svd(slope, compute_uv=False)[0])
