"""A movie as plain data for the player in the browser: JSON whose arrays are base64 of little-endian numbers.

Solids of one form are instances of one surface, each with the part it belongs to and an affine map (3, 4) from the unit
form into the body's frame; what is no simple form is a surface of its own, and equal surfaces are sent once.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.spatial import Pose
from catena.view import theme
from catena.view.arrows import Arrows, longest_arrow, usual_sizes
from catena.view.flexing import Flexing, Skin
from catena.view.movie import Movie, MovieSegment
from catena.view.plots.panels import Panel
from catena.view.points import traceable
from catena.view.scene import Scene
from catena.view.solids import BallSolid, BarSolid, BoxSolid, CylinderSolid, HullSolid, Solid

Floats = NDArray[np.float64]
Data = dict[str, Any]

CURVE_POINTS = 900
"""The most points of a curve in a plot; more than pixels are of no use."""
MANY = 300
"""Above so many bodies edges are not rounded, which nobody could see."""
CURVES = 24
"""The most curves of a panel."""


def payload(movie: Movie) -> Data:
    """Everything the player needs of a movie."""
    scenes: list[Scene] = []
    for segment in (*movie.segments, *movie.ghost):
        if not any(segment.scene is known for known in scenes):
            scenes.append(segment.scene)

    def segments(which: Sequence[MovieSegment]) -> list[Data]:
        return [_segment(each, next(k for k, s in enumerate(scenes) if s is each.scene)) for each in which]

    return {
        "title": movie.title,
        "parameters": dict(movie.segments[0].scene.system.mechanism.parameters),
        "speed": movie.speed,
        "scenes": [scene_data(each) for each in scenes],
        "segments": segments(movie.segments),
        "ghost": segments(movie.ghost),
        "panels": [_panel(movie.t, panel) for panel in movie.panels] if movie.t is not None else [],
        "events": [list(event) for event in movie.events],
        "traces": list(movie.traces),
        "points": [
            list(pair)
            for pair in {p.name: p.words for each in scenes for p in traceable(each.system.mechanism)}.items()
        ],
        "groups": theme.ARROWS,
        "sizes": usual_sizes([(each.t, each.arrows) for each in movie.segments]),
        "bounds": _bounds(movie.segments),
        "exaggerate": movie.exaggerate,
        "floor": movie.floor,
        "most": max(each.most for each in movie.segments),
    }


def scene_data(scene: Scene) -> Data:
    """Return a scene without poses."""
    index = {name: k for k, name in enumerate(scene.carriers)}
    parts, forms, meshes = [], _Instances(), _Meshes(is_coarse=len(scene.bodies) > MANY)
    for part in scene.parts:
        parts.append([part.name, part.role, part.colour, index[part.body]])
        for solid in part.solids:
            if not forms.take(solid, len(parts) - 1):
                meshes.take(solid, len(parts) - 1)
    skins = []
    for skin in scene.skins:
        parts.append([skin.name, skin.role, skin.colour, index[skin.body]])
        skins.append(_skin(skin, len(parts) - 1, index))
    frames: list[tuple[str, int, list[float]]] = []
    for name, frame in scene.system.mechanism.frames.items():
        carrier, p = scene.carriage(frame.body, frame.pose.p)
        frames.append((name, index[carrier], _numbers(Pose.unchecked(p, frame.pose.R).matrix()[:3])))
    camera = scene.camera
    return {
        "bodies": list(scene.bodies),
        "parts": parts,
        "forms": forms.data(),
        "meshes": meshes.data(),
        "skins": skins,
        "flexings": [_flexing(each, index) for each in scene.flexings],
        "lines": [
            [part.name, part.role, part.colour, index[part.body], _numbers(line)]
            for part in scene.parts
            for line in part.lines
        ],
        "spans": [
            [s.name, s.form, s.colour, index[s.body_a], _numbers(s.a), index[s.body_b], _numbers(s.b), s.radius]
            for s in scene.spans
        ],
        "masses": [[index[name], mass, _numbers(com)] for name, (mass, com) in scene.masses.items()],
        "frames": frames,
        "points": [
            [each.name, each.words, index[carrier], _numbers(p)]
            for each in traceable(scene.system.mechanism)
            for carrier, p in [scene.carriage(each.body, each.point)]
        ],
        "labels": [
            *(["body", name, index[a.body], _numbers(a.point)] for name, a in scene.body_anchors.items()),
            *(["joint", name, index[a.body], _numbers(a.point)] for name, a in scene.joint_anchors.items()),
            *(["frame", name, carrier, matrix[3::4]] for name, carrier, matrix in frames),
        ],
        "camera": {
            "towards": _numbers(camera.towards), "up": _numbers(camera.up), "planar": camera.is_planar,
        },
        "radius": scene.bar_radius,
        "extent": scene.extent,
        "longest": longest_arrow(scene),
        "floor": scene.has_gravity and not camera.is_planar,
        "has_grid": not scene.has_gravity and not camera.is_planar,
    }  # fmt: skip


class _Instances:
    """Instances of the unit forms: a cylinder or cone frustum of height 1 above the plane, a ball and a cube about the
    origin, of radius and edge 1."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, Floats, float]]] = {"cylinder": [], "ball": [], "box": []}

    def take(self, solid: Solid, part: int) -> bool:
        """Return whether the solid is made of unit forms, and if so, its instances."""
        R, p = solid.R, solid.p
        if isinstance(solid, BarSolid):
            r, end, z = solid.radius, solid.end_radius, solid.length
            self._add("cylinder", part, R * (r, r, z), p, end / r)
            if not solid.is_hidden[0]:
                self._add("ball", part, R * r, p)
            if not solid.is_hidden[1]:
                self._add("ball", part, R * end, p + z * R[:, 2])
        elif isinstance(solid, CylinderSolid):
            r, z = solid.radius, solid.length
            self._add("cylinder", part, R * (r, r, z), p - 0.5 * z * R[:, 2])
        elif isinstance(solid, BallSolid):
            self._add("ball", part, R * solid.radius, p)
        elif isinstance(solid, BoxSolid):
            self._add("box", part, R * solid.size, p)
        else:
            return False
        return True

    def _add(self, form: str, part: int, linear: Floats, p: Floats, taper: float = 1.0) -> None:
        self._rows[form].append((part, np.column_stack([linear, p]), taper))

    def data(self) -> Data:
        """Return the instances of each form: parts (n,), maps (n, 3, 4), and how far cylinders narrow (n,)."""
        return {
            form: {
                "part": numbers([row[0] for row in rows], "u2"),
                "map": numbers([row[1] for row in rows]),
                "taper": numbers([row[2] for row in rows]),
            }
            for form, rows in self._rows.items()
        }


class _Meshes:
    """Surfaces that are no unit form, each sent once with all places where it stands."""

    def __init__(self, is_coarse: bool) -> None:
        self._is_coarse = is_coarse
        self._found: dict[bytes, tuple[Data, list[int], list[Floats]]] = {}

    def take(self, solid: Solid, part: int) -> None:
        if self._is_coarse and isinstance(solid, HullSolid):
            surface = solid.hull(np.concatenate([np.eye(3), -np.eye(3)]))
        else:
            surface = solid.own_triangles()
        corners = np.asarray(surface.corners, dtype="<f4")
        key = np.round(corners, 9).tobytes() + surface.faces.tobytes()
        if key not in self._found:
            wide = "u4" if len(corners) > 65535 else "u2"
            data = {
                "corners": numbers(corners),
                "faces": numbers(surface.faces, wide),
                "wide": wide == "u4",
                "normals": None
                if surface.normals is None
                else numbers(np.round(127 * surface.normals), "i1"),
            }
            self._found[key] = data, [], []
        _, parts, maps = self._found[key]
        parts.append(part)
        maps.append(np.column_stack([solid.R, solid.p]))

    def data(self) -> list[Data]:
        return [
            data | {"part": numbers(parts, "u2"), "map": numbers(maps)}
            for data, parts, maps in self._found.values()
        ]


def _skin(skin: Skin, part: int, index: Mapping[str, int]) -> Data:
    """Return a skin: where its corners are on their stations, and its triangles."""
    carriers = np.array([index[name] for name in skin.stations])
    triangles = skin.triangles
    return {
        "part": part,
        "corners": numbers(skin.corners),
        "normals": numbers(np.round(127 * skin.normals), "i1"),
        "on": numbers(carriers[skin.on], "u4"),
        "faces": numbers(triangles, "u4"),
    }


def _flexing(flexing: Flexing, index: Mapping[str, int]) -> Data:
    """Return the stations of a flexible body, which the player moves by the amplitudes of its modes."""
    return {
        "body": index[flexing.body],
        "first": index[flexing.stations[0]],
        "modes": flexing.modes,
        "s": numbers(flexing.s),
        "S": numbers(flexing.S),
        "R": numbers(flexing.R),
        "B": None if flexing.B is None else numbers(flexing.B),
        "F": None if flexing.F is None else numbers(flexing.F),
        "products": list(flexing.kind.products) if flexing.F is not None else [],
    }


def _segment(segment: MovieSegment, scene: int) -> Data:
    return {
        "scene": scene,
        "t": numbers(segment.t, "f8"),
        "motions": len(segment.poses),
        "poses": numbers(segment.poses),
        "amplitudes": None if segment.amplitudes is None else numbers(segment.amplitudes),
        "larger": None if segment.larger is None else numbers(segment.larger),
        "arrows": [_arrow(each, segment.scene) for each in segment.arrows],
    }


def _arrow(arrow: Arrows, scene: Scene) -> Data:
    """Return an arrow with its vectors in sixteen bits, which is finer than can be seen."""
    largest = float(np.max(np.abs(arrow.vectors)))
    offset = {} if arrow.offset is None else {"offset": numbers(arrow.offset)}
    return offset | {
        "name": arrow.name, "group": arrow.group, "moment": arrow.is_moment,
        "body": scene.carriers.index(arrow.body), "point": _numbers(arrow.point), "largest": largest,
        "peak": float(np.linalg.norm(arrow.vectors, axis=-1).max()),
        "vectors": numbers(np.round(32767.0 * arrow.vectors / largest), "i2"),
    }  # fmt: skip


def _panel(t: Floats, panel: Panel) -> Data:
    """Return a panel whose curves have at most so many points that they can be seen apart."""
    keep = np.arange(len(t))
    if len(t) > CURVE_POINTS:
        keep = np.unique(np.linspace(0, len(t) - 1, CURVE_POINTS).round().astype(int))
    return {
        "title": panel.title,
        "unit": panel.unit,
        "logarithmic": panel.logarithmic,
        "is_detail": panel.is_detail,
        "t": numbers(t[keep], "f8"),
        "left_out": max(0, len(panel.curves) - CURVES),
        "curves": [
            {"name": curve.name, "dashed": curve.dashed, "values": numbers(curve.values[keep])}
            for curve in panel.curves[:CURVES]
        ],
    }


def _bounds(segments: Sequence[MovieSegment]) -> list[list[float]]:
    """Return the corners of the box around all parts at some times of all segments."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    reaches: dict[int, dict[int, list[Floats]]] = {}
    for segment in segments:
        scene = segment.scene
        if id(scene) not in reaches:
            reaches[id(scene)] = _reach(scene)
        reach = reaches[id(scene)]
        some = np.unique(np.linspace(0, len(segment.t) - 1, 12).round().astype(int))
        for body, clouds in reach.items():
            cloud = np.concatenate(clouds)
            box = np.array(
                [[x, y, z] for x in _ends(cloud, 0) for y in _ends(cloud, 1) for z in _ends(cloud, 2)]
            )
            poses = segment.poses[0, some, body] if body else segment.poses[0, :1, body]
            points = np.einsum("fij,bj->fbi", _rotations(poses[:, 3:]), box) + poses[:, None, :3]
            low = np.minimum(low, points.min(axis=(0, 1)))
            high = np.maximum(high, points.max(axis=(0, 1)))
    if not np.all(np.isfinite(low)):
        low, high = -np.ones(3), np.ones(3)
    return [_numbers(low), _numbers(high)]


def _reach(scene: Scene) -> dict[int, list[Floats]]:
    """Return the points (n, 3) that each body reaches to, in its axes; flexible ones at rest."""
    index = {name: k for k, name in enumerate(scene.bodies)}
    at = {name: (index[name], np.zeros(3)) for name in scene.bodies}
    for each in scene.flexings:
        at |= {name: (index[each.body], s) for name, s in zip(each.stations, each.s, strict=True)}
    clouds = [(part.body, solid.box()) for part in scene.parts for solid in part.solids]
    clouds += [
        (owner, point[None])
        for span in scene.spans
        for owner, point in ((span.body_a, span.a), (span.body_b, span.b))
    ]
    reach: dict[int, list[Floats]] = {}
    for carrier, points in clouds:
        body, place = at[carrier]
        reach.setdefault(body, []).append(points + place)
    for skin in scene.skins:
        own = next(each for each in scene.flexings if each.body == skin.body)
        reach.setdefault(index[skin.body], []).append(skin.corners + own.s[skin.on])
    return reach


def _ends(cloud: Floats, axis: int) -> tuple[float, float]:
    return float(cloud[:, axis].min()), float(cloud[:, axis].max())


def _rotations(q: Floats) -> Floats:
    """Return the rotations (n, 3, 3) of unit quaternions (n, 4)."""
    w, x, y, z = q.T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def numbers(values: Any, kind: str = "f4") -> str:
    """Return an array as base64 of its numbers in little-endian order."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode("ascii")


def _numbers(values: Any) -> list[float]:
    return [float(f"{x:.9g}") for x in np.ravel(values)]
