"""Pictures of a scene as pixels, quickly enough for films: shaded polygons painted from far to near, with Pillow.

All polygons of a scene are kept as one array in the frames of their bodies. A picture is a few matrix products, a sort
by depth and one call for each polygon that faces the eye.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError
from catena.spatial import Pose
from catena.view import theme
from catena.view.camera import Camera
from catena.view.glyphs import arrow_strokes, span_strokes
from catena.view.scene import Scene
from catena.view.solids import tapered_bar

Floats = NDArray[np.float64]

FINER = 2
"""Pictures are painted this many times larger and then shrunk, so that edges are smooth."""


def require_pillow() -> Any:
    """Return the Pillow package, or raise an error that says how to install it."""
    try:
        import PIL.Image
        import PIL.ImageDraw
    except ImportError as error:
        raise CatenaError(
            'Films need Pillow, which is not installed: pip install "catena-dynamics[view]".'
        ) from error
    return PIL


@dataclass(frozen=True, eq=False)
class Viewport:
    """What of the plane of the picture is seen: its middle (2,) and how many pixels a metre has, in a picture of
    `size` pixels."""

    size: tuple[int, int]
    middle: Floats
    scale: float

    def pixels(self, points: Floats) -> Floats:
        """Pixels (..., 2) of points (..., 2) to the right and above in the plane of the picture."""
        x = FINER * (0.5 * self.size[0] + (points[..., 0] - self.middle[0]) * self.scale)
        y = FINER * (0.5 * self.size[1] - (points[..., 1] - self.middle[1]) * self.scale)
        return np.stack([x, y], axis=-1)


class Painter:
    """Paints one scene at many configurations, with the eye in one place."""

    def __init__(self, scene: Scene, camera: Camera | None = None, floor: bool | None = None) -> None:
        self.scene = scene
        self.camera = camera or scene.camera
        self.has_floor = (scene.has_gravity and not self.camera.is_planar) if floor is None else floor
        towards, right = self.camera.towards, self.camera.right
        self.axes = np.array([right, np.cross(towards, right), towards])
        self._light = self.camera.light

    @cached_property
    def _polygons(self) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Corners (n, 4, 3) in the frames of bodies, the bodies (n,) and colours (n, 3); triangles repeat a corner."""
        corners, bodies, colours = [], [], []
        for part in self.scene.parts:
            for polygon in part.polygons:
                corners.append(polygon if len(polygon) == 4 else polygon[[0, 1, 2, 2]])
                bodies.append(self.scene.carriers.index(part.body))
                colours.append(_rgb(part.colour))
        if not corners:
            return np.zeros((0, 4, 3)), np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        return np.array(corners), np.array(bodies), np.array(colours)

    def seen(self, poses: Sequence[Floats]) -> Floats:
        """Return the corners (2, 2) of the box around everything in the plane of the picture, over poses (bodies, 4,
        4)."""
        low, high = np.full(2, np.inf), np.full(2, -np.inf)
        for each in poses:
            named = dict(zip(self.scene.carriers, each, strict=True))
            forces = [span for span in self.scene.spans if span.form in ("coils", "damper", "cable")]
            ends = np.array([end for span in forces for end in span.ends(named)]).reshape(-1, 3)
            points = np.concatenate([self._corners(each), ends]) @ self.axes[:2].T
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        return np.array([low, high])

    def level(self, poses: Sequence[Floats]) -> float:
        """Return how high the floor is: the lowest corner over poses."""
        return min(float(np.min(self._corners(each) @ self.camera.up)) for each in poses)

    def _corners(self, poses: Floats) -> Floats:
        """Return all corners (n, 3) in ground."""
        corners, bodies, _ = self._polygons
        named = dict(zip(self.scene.carriers, poses, strict=True))
        bent = [skin.surface(named).corners for skin in self.scene.skins]
        return np.concatenate([_carried(poses, bodies, corners).reshape(-1, 3), *bent])

    def paint(
        self, poses: Floats, window: Viewport, level: float = 0.0, traces: Sequence[Floats] = (),
        arrows: Sequence[tuple[Floats, theme.Colour]] = (),
    ) -> Any:  # fmt: skip
        """Return the picture with the bodies of the scene at poses (bodies, 4, 4): an image of Pillow.

        `traces` are ways (n, 3) in ground that are drawn on top, `arrows` lines (2, 3) with their colours, `level` is
        the height of the floor.
        """
        PIL = require_pillow()
        big = (FINER * window.size[0], FINER * window.size[1])
        image = PIL.Image.new("RGB", big, theme.PAPER)
        draw = PIL.ImageDraw.Draw(image)
        corners, bodies, colours = self._with_spans(poses)
        placed = _carried(poses, bodies, corners) if len(bodies) else corners
        if self.has_floor:
            self._paint_floor(draw, placed, window, level)
        flat = placed @ self.axes.T
        normals = np.cross(placed[:, 2] - placed[:, 0], placed[:, 3] - placed[:, 1])
        facing = normals @ self.axes[2] > 0.0
        order = np.flatnonzero(facing)[np.argsort(flat[facing, :, 2].mean(axis=1))]
        pixels = np.round(window.pixels(flat[order][..., :2])).astype(int)
        shades = _shaded(colours[order], normals[order], self._light)
        for points, shade in zip(pixels.reshape(len(order), 8).tolist(), shades.tolist(), strict=True):
            draw.polygon(points, fill=tuple(shade), outline=tuple(shade))
        for line, colour, width in self._lines(poses):
            points = np.round(window.pixels(line @ self.axes[:2].T)).astype(int).ravel().tolist()
            draw.line(points, fill=colour, width=FINER * width, joint="curve")
        for k, way in enumerate(traces):
            points = np.round(window.pixels(way @ self.axes[:2].T)).astype(int).ravel().tolist()
            if len(points) >= 4:
                draw.line(points, fill=theme.TRACES[k % len(theme.TRACES)], width=2 * FINER, joint="curve")
        for line, colour in arrows:
            _paint_arrow(draw, window.pixels(line @ self.axes[:2].T), colour)
        return image.resize(window.size, PIL.Image.Resampling.BOX)

    def _with_spans(self, poses: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Return the polygons of the scene, of the rods that have come out of slides and of flexible bodies."""
        corners, bodies, colours = self._polygons
        named = dict(zip(self.scene.carriers, poses, strict=True))
        rods = []
        for span in self.scene.spans:
            a, b = span.ends(named)
            if span.form == "rod" and np.linalg.norm(b - a) > 0.5 * span.radius:
                rods.append((tapered_bar(a, b, span.radius, span.radius).polygons(), span.colour))
        for skin in self.scene.skins:
            surface = skin.surface(named)
            rods.append((list(surface.corners[skin.faces]), skin.colour))
        if rods:
            added = np.array([polygon for faces, _ in rods for polygon in faces])
            corners = np.concatenate([corners, added])
            # These are told in ground, which is the first body.
            bodies = np.concatenate([bodies, np.zeros(len(added), dtype=np.int64)])
            colours = np.concatenate([colours, np.array([_rgb(c) for faces, c in rods for _ in faces])])
        return corners, bodies, colours

    def _lines(self, poses: Floats) -> list[tuple[Floats, theme.Colour, int]]:
        named = dict(zip(self.scene.carriers, poses, strict=True))
        found: list[tuple[Floats, theme.Colour, int]] = []
        r = self.scene.bar_radius
        for part in self.scene.parts:
            pose = named[part.body]
            found += [(line @ pose[:3, :3].T + pose[:3, 3], part.colour, 1) for line in part.lines]
        for span in self.scene.spans:
            a, b = span.ends(named)
            long = float(np.linalg.norm(b - a))
            if span.form in ("coils", "damper", "cable"):
                found += [(stroke, span.colour, 2) for stroke in span_strokes(span.form, a, b, r)]
            elif span.form == "float" and long > 3.0 * r or span.form == "gap" and long > 0.05 * r:
                found.append((np.array([a, b]), span.colour, 1))
        mechanism = self.scene.system.mechanism
        frames = {}
        for name, frame in mechanism.frames.items():
            carrier, p = self.scene.carriage(frame.body, frame.pose.p)
            frames[name] = named[carrier] @ Pose.unchecked(p, frame.pose.R).matrix()
        for element in mechanism.force_elements.values():
            found += [(stroke, theme.FORCE, 2) for stroke in arrow_strokes(element, named | frames, r)]
        return found

    def _paint_floor(self, draw: Any, placed: Floats, window: Viewport, level: float) -> None:
        """A light floor that fills the picture's lower part, with the shadow of everything on it."""
        up = self.camera.up
        flat = placed - (placed @ up - level)[..., None] * up
        middle = flat.reshape(-1, 3).mean(axis=0)
        reach = 0.75 * max(window.size) / window.scale
        first = np.roll(np.abs(up), 1)
        second = np.cross(up, first)
        angle = np.linspace(0.0, 2.0 * np.pi, 49)
        rim = middle + reach * (np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second))
        draw.polygon(
            np.round(window.pixels(rim @ self.axes[:2].T)).astype(int).ravel().tolist(), fill=theme.FLOOR
        )
        # The upper side of everything casts the whole shadow.
        normals = np.cross(placed[:, 2] - placed[:, 0], placed[:, 3] - placed[:, 1])
        pixels = np.round(window.pixels(flat[normals @ up > 0.0] @ self.axes[:2].T)).astype(int)
        for points in pixels.reshape(len(pixels), 8).tolist():
            draw.polygon(points, fill=theme.SHADOW)


def _paint_arrow(draw: Any, ends: Floats, colour: theme.Colour) -> None:
    """An arrow between two pixels (2, 2), with a head where it is long enough for one."""
    way = ends[1] - ends[0]
    long = float(np.linalg.norm(way))
    if long < 2.0 * FINER:
        return
    along = way / long
    across = np.array([-along[1], along[0]])
    head = min(9.0 * FINER, 0.7 * long)
    neck = ends[1] - head * along
    draw.line([*ends[0], *neck], fill=colour, width=3 * FINER)
    corners = [ends[1], neck + 0.45 * head * across, neck - 0.45 * head * across]
    draw.polygon([float(x) for corner in corners for x in corner], fill=colour)


def _carried(poses: Floats, bodies: NDArray[np.int64], corners: Floats) -> Floats:
    """Corners (n, k, 3) of bodies (n,) in ground, at poses (all bodies, 4, 4)."""
    R, p = poses[bodies, :3, :3], poses[bodies, :3, 3]
    return np.einsum("nij,nkj->nki", R, corners) + p[:, None]


def _rgb(colour: theme.Colour) -> Floats:
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=np.float64)


def _shaded(base: Floats, normals: Floats, light: Floats) -> NDArray[np.int64]:
    """Colours (n, 3) of faces in the light, as matplotlib's pictures have them."""
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    brightness = (normals @ light / lengths)[:, None]
    lit = np.where(brightness < 0.0, 0.20 * brightness, 0.28 * np.minimum(1.0, brightness / 0.7))
    shade = base * (0.72 + lit)
    shade += (255.0 - shade) * 0.45 * np.maximum(0.0, brightness - 0.6) / 0.4
    return np.clip(np.round(shade), 0, 255).astype(np.int64)
