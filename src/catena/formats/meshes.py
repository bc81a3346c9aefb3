"""Triangles from mesh files: STL as text or binary, and by trimesh OBJ with materials, PLY, COLLADA and glTF.

A mesh may come from a stranger. The file itself is read here, a regular one of bounded size; what the format could use
to act is taken out or counted before trimesh sees it (`collada`, `gltf`), and the files that it names beside it come
from `MeshFolder`, materials and buffers only. Images are never opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from catena.errors import FormatError
from catena.formats.collada import plain_collada
from catena.formats.complete import reason
from catena.formats.gltf import plain_glb, plain_gltf
from catena.formats.regular import read_regular

LARGEST = 256 * 2**20
"""How many bytes a mesh may have."""
MOST_CORNERS = 15_000_000
"""How many corners of triangles a mesh may have, each part counted as often as it is placed."""
Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class MeshPart:
    """Some `triangles` (m, 3), which count `vertices` (n, 3) [m] from 0, of one colour where the file says one."""

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    colour: Colour | None = None


@dataclass(frozen=True)
class MeshFile:
    """What a mesh file shows: parts that lie in the same axes."""

    parts: tuple[MeshPart, ...]

    def joined(self) -> MeshPart:
        """Return all parts as one, without colours."""
        before = np.cumsum([0, *(len(part.vertices) for part in self.parts[:-1])])
        return MeshPart(
            np.concatenate([part.vertices for part in self.parts]),
            np.concatenate([part.triangles + start for part, start in zip(self.parts, before)]),
        )


def read_mesh(file: Path) -> MeshFile:
    """Return the triangles of a mesh file, in metres with z up. Files that say which axis is up are turned: COLLADA as
    it says, glTF always, where y is up."""
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise FormatError(f"{file}: meshes are read from {' and '.join(READERS)} files: convert it")
    try:
        content = read_regular(file, LARGEST, "a mesh")
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"{file}: the mesh cannot be read: {reason(error)}") from error
    try:
        parts = tuple(part for part in reader(content, file) if len(part.triangles))
    except FormatError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"{file}: the mesh is damaged: {error}") from None
    if not parts:
        raise FormatError(f"{file}: the mesh is damaged: there are no triangles in it")
    for part in parts:
        inside = part.triangles.min() >= 0 and part.triangles.max() < len(part.vertices)
        if not inside or not np.isfinite(part.vertices).all():
            raise FormatError(f"{file}: the mesh is damaged: a vertex is not finite, or not there")
    return MeshFile(parts)


def _stl(content: bytes, file: Path) -> list[MeshPart]:
    """STL is so short that it needs no library, so that most robots can be shown without one."""
    count = int.from_bytes(content[80:84], "little") if len(content) >= 84 else -1
    if len(content) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
        corners = np.frombuffer(content, record, count, 84)["corners"].astype(np.float64)
    else:
        lines = (line.split() for line in content.decode("ascii", "replace").splitlines())
        numbers = [[float(x) for x in line[1:4]] for line in lines if len(line) == 4 and line[0] == "vertex"]
        if len(numbers) % 3 or not numbers:
            raise ValueError("it is neither a binary nor a text STL file")
        corners = np.array(numbers).reshape(-1, 3, 3)
    return [MeshPart(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))]


def _obj(content: bytes, file: Path) -> list[MeshPart]:
    return _by_library(content, "obj", file)


def _ply(content: bytes, file: Path) -> list[MeshPart]:
    return _by_library(content, "ply", file)


def _collada(content: bytes, file: Path) -> list[MeshPart]:
    plain = plain_collada(content, str(file))
    found = _by_library(plain.text, "dae", file, plain.turn)
    if len(found) < plain.parts:
        # The library leaves out what has a material that is broken; its triangles are none the worse for it.
        found = max(found, _by_library(plain.without_materials, "dae", file, plain.turn), key=len)
    return found


def _gltf(content: bytes, file: Path) -> list[MeshPart]:
    return _by_library(plain_gltf(content), "gltf", file, Y_UP)


def _glb(content: bytes, file: Path) -> list[MeshPart]:
    return _by_library(plain_glb(content), "glb", file, Y_UP)


def _by_library(content: bytes, word: str, file: Path, turn: NDArray[Any] | None = None) -> list[MeshPart]:
    """Return the parts of a scene that trimesh reads, turned by a matrix (4, 4)."""
    try:
        import trimesh

        if word == "dae":
            import collada  # noqa: F401
    except ImportError:
        raise FormatError(
            f"{file}: .{word} meshes need trimesh (and COLLADA pycollada), which is not installed: "
            'pip install "catena-dynamics[mesh]", or convert the mesh to STL'
        ) from None
    folder = MeshFolder(file)
    try:
        with np.errstate(all="ignore"):
            opened: Any = folder
            scene = trimesh.load_scene(BytesIO(content), file_type=word, resolver=opened, process=False)
            return _parts(scene, trimesh.Trimesh, np.eye(4) if turn is None else turn)
    except FormatError:
        raise
    except Exception as error:
        # A library that reads what anybody may have written raises whatever comes first.
        fault = f": {folder.fault}" if folder.fault else ""
        raise FormatError(
            f"{file}: the mesh is damaged{fault}: {type(error).__name__} {reason_of(error)}"
        ) from error


def reason_of(error: Exception) -> str:
    """Return the words of an error of somebody else, on one short line."""
    return " ".join(str(error).split())[:200]


def _parts(scene: Any, surface: type, turn: NDArray[Any]) -> list[MeshPart]:
    """Return the surfaces of a scene, each as often as the scene has it."""
    found, corners = [], 0
    for node in scene.graph.nodes_geometry:
        placed, name = scene.graph[node]
        shown = scene.geometry[name]
        if not isinstance(shown, surface):
            continue
        triangles = np.asarray(shown.faces, dtype=np.int64)  # type: ignore[attr-defined]
        corners += triangles.size
        if corners > MOST_CORNERS:
            raise ValueError(f"it has more than {MOST_CORNERS} corners of triangles")
        place = turn @ placed
        vertices = np.asarray(shown.vertices, dtype=np.float64)  # type: ignore[attr-defined]
        if np.linalg.det(place[:3, :3]) < 0.0:
            # What is mirrored keeps its outside outside.
            triangles = triangles[:, ::-1]
        found.append(
            MeshPart(vertices @ place[:3, :3].T + place[:3, 3], triangles, _colour(shown.visual))  # type: ignore[attr-defined]
        )
    return found


def _colour(visual: Any) -> Colour | None:
    """Return the colour that a part has most of, where the file says one."""
    if not visual.defined:
        return None
    material = getattr(visual, "material", None)
    if material is not None and getattr(material, "baseColorFactor", 0) is None:
        return None
    rgba = np.asarray((visual if material is None else material).main_color, dtype=np.float64) / 255.0
    if rgba.shape != (4,):
        return None
    red, green, blue, alpha = (float(min(max(x, 0.0), 1.0)) for x in rgba)
    return red, green, blue, alpha


Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
"""What turns axes with y up so that z is up."""
READERS: dict[str, Callable[[bytes, Path], list[MeshPart]]] = {
    ".stl": _stl,
    ".obj": _obj,
    ".ply": _ply,
    ".dae": _collada,
    ".gltf": _gltf,
    ".glb": _glb,
}


ENDINGS = (".mtl", ".bin")
"""What may be read: no images, which nobody draws here and whose readers are large."""
MOST_BYTES = 256 * 2**20
"""How many bytes the files beside a mesh may have together."""


class MeshFolder:
    """What trimesh asks for files by the names that a mesh has for them.

    A file lies below the folder of the mesh, links followed, is a regular one, and ends as materials or buffers do; all
    others are as if they were not there. `fault` says what was last refused.
    """

    def __init__(self, mesh: Path) -> None:
        self.folder, self.fault, self._left = mesh.parent, "", MOST_BYTES

    def get(self, name: str) -> bytes:
        """Return the content of a file, or raise a `KeyError`, which trimesh takes for a file that is not there."""
        try:
            return self._read(str(name))
        except (FormatError, OSError, ValueError) as error:
            self.fault = f"the file {str(name)[:200]!r} beside it cannot be read: {reason(error)}"
            raise KeyError(self.fault) from None

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def keys(self) -> Iterable[str]:
        """No name is offered: what the mesh does not name is not looked for."""
        return ()

    def _read(self, name: str) -> bytes:
        if not name.lower().endswith(ENDINGS) or "\0" in name:
            raise ValueError(f"only files that end in {' or '.join(ENDINGS)} are")
        file = self.folder / unquote(name.replace("\\", "/"))
        root = os.path.realpath(self.folder)
        if os.path.commonpath([os.path.realpath(file), root]) != root:
            raise ValueError("it lies outside of the folder of the mesh")
        content = read_regular(file, self._left, "what a mesh names")
        self._left -= len(content)
        return content
