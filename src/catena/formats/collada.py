"""COLLADA files (.dae) on their way to the library that reads them: what makes them dangerous is refused before.

Entities and other doors of XML are closed by `markup`, and nodes that stand for others are counted before anybody
follows them, because a few lines can make billions. The library is handed plain UTF-8 without a declaration, so that it
cannot read another text than was checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.formats.markup import Element, parse
from catena.formats.source import Budget

TEXT = 128 * 2**20
"""How many bytes a file may have: text takes many times its size in memory."""
MOST_SHOWN = 256 * 2**20
"""How many characters of indices its scene may show, instances counted."""
NODES = 100_000
"""How many nodes its scene may have, those that stand for others counted."""
DEEPEST = 50
"""How deep nodes may be nested, those that stand for others counted."""
FACES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
UP = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}
"""What turns the axes of a file so that z is up."""


@dataclass(frozen=True)
class PlainCollada:
    """The text of a file that may be read, the matrix `turn` (4, 4) that takes its axes and units to metres with z up,
    and how many `parts` of triangles its scene shows."""

    text: bytes
    turn: NDArray[np.float64]
    parts: int

    @property
    def without_materials(self) -> bytes:
        """The same text with no colours."""
        return re.sub(rb"<bind_material\b.*?</bind_material>", b"", self.text, flags=re.DOTALL)


def plain_collada(content: bytes, name: str) -> PlainCollada:
    """Return what of a file may be read; messages call it by `name`. What cannot be read raises."""
    if len(content) > TEXT:
        raise ValueError(f"it has more than {TEXT} bytes")
    text = content.decode("utf-8-sig", "replace")
    root = parse(text, name, Budget())
    if root.tag != "COLLADA":
        raise ValueError(f"the outermost element is <{root.tag}>, not <COLLADA>")
    counting = _Counting(root)
    counting.check()
    asset = root.first("asset")
    unit = None if asset is None else asset.first("unit")
    up = None if asset is None else asset.first("up_axis")
    metre = 1.0 if unit is None else float(unit.get("meter", "1") or 1.0)
    turn = np.eye(4)
    turn[:3, :3] = metre * UP.get("Y_UP" if up is None else up.text.strip(), np.eye(3))
    return PlainCollada(re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1).encode(), turn, counting.parts)


class _Counting:
    """How much the scenes of a file would show, followed through nodes that stand for others."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.ids = {one.get("id"): one for one in _all_below(root) if one.get("id")}
        self.nodes = self.shown = self.parts = 0

    def check(self) -> None:
        """Raise if it is too much, or if there is nothing."""
        for library in self.root.all("library_visual_scenes"):
            for scene in library.all("visual_scene"):
                # What is not shown costs as much, but no part of it is expected.
                before = self.parts
                for node in scene.all("node"):
                    self._add(node, 0)
                if scene is not self._shown():
                    self.parts = before
        if not self.shown:
            raise ValueError("there are no triangles in its scene")

    def _shown(self) -> Element | None:
        """Return the scene that the file shows."""
        scene = self.root.first("scene")
        chosen = None if scene is None else scene.first("instance_visual_scene")
        return None if chosen is None else self.ids.get(chosen.get("url")[1:])

    def _add(self, node: Element, depth: int) -> None:
        self.nodes += 1
        if depth > DEEPEST or self.nodes > NODES:
            raise ValueError(f"its nodes are nested more than {DEEPEST} deep, or more than {NODES}")
        for child in node.children:
            url = child.get("url") if child.tag.startswith("instance_") else ""
            there = self.ids.get(url[1:]) if url.startswith("#") else None
            if child.tag == "node":
                self._add(child, depth + 1)
            elif child.tag == "instance_node" and there is not None:
                self._add(there, depth + 1)
            elif child.tag == "instance_geometry" and there is not None:
                self._show(there)

    def _show(self, geometry: Element) -> None:
        mesh = geometry.first("mesh")
        for part in () if mesh is None else mesh.children:
            if part.tag in FACES:
                self.parts += 1
                self.shown += sum(len(row.text) for row in part.all("p"))
        if self.shown > MOST_SHOWN:
            raise ValueError(f"its scene shows more than {MOST_SHOWN} characters of triangles")


def _all_below(root: Element) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += element.children
