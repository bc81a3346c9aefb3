"""Triangles from COLLADA files (.dae): the geometry of the visual scene, in metres with z up.

Only what is drawn is read: nodes with their transformations, geometries, and triangles or polygons of these. Nothing in
the file is evaluated and no other file is opened: a reference leads to an element of the file itself, or nowhere. Sizes
are bounded before anything is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.formats.budget import Budget
from catena.formats.markup import Element, parse

Numbers = NDArray[np.float64]
LARGEST = 5_000_000
"""How many corners of triangles a file may have, instances counted."""
TEXT = 128 * 2**20
"""How many bytes a file may have: text takes many times its size in memory."""
NODES = 100_000
"""How many nodes its scene may have, those that stand for others counted."""
DEEPEST = 50
"""How deep nodes may be nested, those that stand for others counted."""
TRIANGLES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
UP = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}
"""What turns the axes of a file so that z is up."""


def read_collada(content: bytes, name: str) -> tuple[Numbers, NDArray[np.int64]]:
    """Return the vertices (n, 3) [m] and the triangles (m, 3), which count vertices from 0; messages call the file by
    `name`."""
    if len(content) > TEXT:
        raise ValueError(f"it has more than {TEXT} bytes")
    return _Document(parse(content.decode("utf-8-sig", "replace"), name, Budget())).triangles()


class _Document:
    """The elements of a file by their ids, and the triangles that were found in it."""

    def __init__(self, root: Element) -> None:
        if root.tag != "COLLADA":
            raise ValueError(f"the outermost element is <{root.tag}>, not <COLLADA>")
        self.root = root
        self.ids = {one.get("id"): one for one in _all_below(root) if one.get("id")}
        self.corners: list[Numbers] = []
        self.count = self.nodes = 0

    def triangles(self) -> tuple[Numbers, NDArray[np.int64]]:
        asset = self.root.first("asset")
        unit = None if asset is None else asset.first("unit")
        up = None if asset is None else asset.first("up_axis")
        metre = 1.0 if unit is None else float(unit.get("meter", "1") or 1.0)
        turn = np.eye(4)
        turn[:3, :3] = metre * UP.get("Y_UP" if up is None else up.text.strip(), np.eye(3))
        for scene in self._scenes():
            for node in scene.all("node"):
                self._add_node(node, turn, 0)
        if not self.corners:
            raise ValueError("there are no triangles in its scene")
        vertices = np.concatenate(self.corners)
        return vertices, np.arange(len(vertices)).reshape(-1, 3)

    def _scenes(self) -> list[Element]:
        """The scene that the file shows, or all that it has."""
        scene = self.root.first("scene")
        shown = None if scene is None else scene.first("instance_visual_scene")
        found = None if shown is None else self._referred(shown.get("url"))
        if found is not None:
            return [found]
        return [
            one for library in self.root.all("library_visual_scenes") for one in library.all("visual_scene")
        ]

    def _referred(self, url: str) -> Element | None:
        """The element of the file that a reference leads to."""
        return self.ids.get(url[1:]) if url.startswith("#") else None

    def _add_node(self, node: Element, above: Numbers, depth: int) -> None:
        self.nodes += 1
        if depth > DEEPEST or self.nodes > NODES:
            raise ValueError(f"its nodes are nested more than {DEEPEST} deep, or more than {NODES}")
        place = above
        for child in node.children:
            if child.tag in ("matrix", "translate", "rotate", "scale"):
                place = place @ _transformation(child)
        for child in node.children:
            found = self._referred(child.get("url")) if child.tag.startswith("instance_") else None
            if child.tag == "node":
                self._add_node(child, place, depth + 1)
            elif child.tag == "instance_node" and found is not None:
                self._add_node(found, place, depth + 1)
            elif child.tag == "instance_geometry" and found is not None:
                self._add_geometry(found, place)

    def _add_geometry(self, geometry: Element, place: Numbers) -> None:
        mesh = geometry.first("mesh")
        for part in () if mesh is None else (one for tag in TRIANGLES for one in mesh.all(tag)):
            for rows in self._corners(part):
                self.count += len(rows)
                if self.count > LARGEST:
                    raise ValueError(f"it has more than {LARGEST} corners of triangles")
                self.corners.append(rows @ place[:3, :3].T + place[:3, 3])

    def _corners(self, part: Element) -> Iterator[Numbers]:
        """The corners (3 m, 3) of the triangles of a part of a mesh."""
        inputs = list(part.all("input"))
        stride = 1 + max((int(one.get("offset", "0")) for one in inputs), default=0)
        own = next((one for one in inputs if one.get("semantic") == "VERTEX"), None)
        positions = None if own is None else self._positions(own.get("source"))
        if own is None or positions is None or not 0 < stride <= 64:
            return
        told = part.first("vcount")
        counts = None if told is None else np.array(told.text.split(), dtype=np.int64)
        for row in part.all("p"):
            indices = np.array(row.text.split(), dtype=np.int64)
            indices = indices[: len(indices) // stride * stride].reshape(-1, stride)[
                :, int(own.get("offset", "0"))
            ]
            chosen = indices[_faces(part.tag, len(indices), counts)]
            if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(positions)):
                raise ValueError("a triangle has a corner that is not there")
            yield positions[chosen]

    def _positions(self, url: str) -> Numbers | None:
        """The places (n, 3) of the vertices that an input names."""
        vertices = self._referred(url)
        if vertices is not None and vertices.tag == "vertices":
            named = next((one for one in vertices.all("input") if one.get("semantic") == "POSITION"), None)
            vertices = None if named is None else self._referred(named.get("source"))
        floats = None if vertices is None else vertices.first("float_array")
        if vertices is None or floats is None:
            return None
        technique = vertices.first("technique_common")
        accessor = None if technique is None else technique.first("accessor")
        stride = 3 if accessor is None else int(accessor.get("stride", "3"))
        values = np.array(floats.text.split(), dtype=np.float64)
        if stride < 3:
            return None
        return values[: len(values) // stride * stride].reshape(-1, stride)[:, :3]


def _faces(tag: str, count: int, sizes: Any) -> NDArray[np.int64]:
    """Which of `count` corners in a row make triangles, as one row of threes."""
    k = np.arange(count)
    if tag == "triangles":
        return k[: count // 3 * 3]
    if tag == "tristrips":
        rows = np.stack([k[:-2], k[1:-1], k[2:]], axis=1)
        # Every other triangle of a strip goes the other way round.
        rows[1::2] = rows[1::2, ::-1]
        return rows.ravel()
    if tag == "polylist":
        if sizes is None or sizes.min(initial=0) < 0 or int(sizes.sum()) > count:
            raise ValueError("its polygons have other corners than they say")
        starts = np.cumsum(sizes) - sizes
        fans = np.maximum(sizes - 2, 0)
        first = np.repeat(starts, fans)
        inner = np.arange(int(fans.sum())) - np.repeat(np.cumsum(fans) - fans, fans)
        return np.stack([first, first + inner + 1, first + inner + 2], axis=1).ravel()
    return np.stack([np.zeros_like(k[2:]), k[1:-1], k[2:]], axis=1).ravel()


def _transformation(element: Element) -> Numbers:
    """The matrix (4, 4) of one transformation of a node."""
    values = np.array(element.text.split(), dtype=np.float64)
    found = np.eye(4)
    sizes = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}
    if len(values) != sizes[element.tag]:
        raise ValueError(f"its <{element.tag}> on line {element.line} has {len(values)} numbers")
    if element.tag == "matrix":
        return values.reshape(4, 4)
    if element.tag == "translate":
        found[:3, 3] = values
    elif element.tag == "scale":
        found[:3, :3] = np.diag(values)
    elif np.linalg.norm(values[:3]) > 0.0:
        axis, angle = values[:3] / np.linalg.norm(values[:3]), np.deg2rad(values[3])
        x, y, z = axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        found[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return found


def _all_below(root: Element) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += element.children
