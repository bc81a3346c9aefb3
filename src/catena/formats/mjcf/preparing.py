"""An MJCF text made ready for MuJoCo's reader: included files put in, everything that is not mechanics taken out.

MuJoCo would open files by itself, wherever they are. So included files and meshes are read here, from the folders that
the text may reach, and handed over; textures, skins and height fields are never opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path

from catena.errors import FormatError
from catena.formats.complete import reason
from catena.formats.findings import Severity
from catena.formats.markup import Element, parse, quoted
from catena.formats.regular import read_regular
from catena.formats.source import LARGEST, Source

DROPPED = {
    "texture",
    "skin",
    "hfield",
    "keyframe",
    "visual",
    "statistic",
    "sensor",
    "custom",
    "deformable",
    "extension",
    "plugin",
    "size",
}
"""Elements that mechanics does not need, or that are not read, some of which name files."""
ACTING = {"deformable", "extension", "plugin"}
"""Those of them that act in MuJoCo."""
MESHES = 256 * 2**20
"""How many bytes the meshes of a model may have together."""
NAMES_FILES = re.compile(r"\b(\w*(file|path|uri|url)\w*|(mesh|texture|asset|plugin)dir)\b(?<!strippath)")
"""The names of attributes that may name a file. MuJoCo opens what they name wherever it is, so that all are refused but
those whose files are read here."""


class Prepared:
    """The text for MuJoCo and the content of its meshes by the name they have there."""

    def __init__(self, text: str, source: Source) -> None:
        self._source = source
        root = parse(text, source.name, source.budget)
        if root.tag != "mujoco":
            root.fail(f"the outermost element is <{root.tag}>: an MJCF file has <mujoco>", "file")
        self.name = root.get("model")
        self._include(root, 0)
        self._folder = self._mesh_folder(root)
        self.assets: dict[str, bytes] = {}
        self.paths: dict[str, str] = {}
        self.without: set[str] = set()
        self.keys = [key for part in root.all("keyframe") for key in part.all("key")]
        self.sensors = [one for part in root.all("sensor") for one in part.children]
        self._missing: set[str] = set()
        self._size = 0
        self._clean(root)
        require_bounded(root)
        if self._missing:
            self._drop_missing(root)
        self.text = _written(root)

    def _include(self, element: Element, depth: int, folder: Path | None = None) -> None:
        """Put the content of included files in their place; `folder` is that of the included file which the element is
        from, where the files that it includes may lie as well."""
        children: list[Element] = []
        for child in element.children:
            if child.tag != "include":
                self._include(child, depth, folder)
                children.append(child)
                continue
            if depth > 20:
                child.fail("files include each other more than 20 deep")
            written = child.needed("file")
            found = self._source.find(written, child.where, "include")
            if folder is not None and (found is None or not os.path.isfile(found)):
                found = self._source.find(str(folder / written), child.where, "include")
            if found is None or not os.path.isfile(found):
                child.fail(f"the file {written!r} is not there")
            inner = parse(self._text(found), str(found), self._source.budget)
            self._include(inner, depth + 1, found.parent)
            children += inner.children
        element.children = children

    def _text(self, file: Path) -> str:
        """Return the text of an included file."""
        try:
            content = read_regular(file, LARGEST, "a model")
            self._source.budget.add_file(str(file), len(content))
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"{file}: the file is not UTF-8 text: {reason(error)}") from None
        except OSError as error:
            raise FormatError(f"{file}: the file cannot be read: {reason(error)}") from error

    @staticmethod
    def _mesh_folder(root: Element) -> str:
        folder = ""
        for compiler in root.all("compiler"):
            folder = compiler.get("meshdir") or compiler.get("assetdir") or folder
        return folder

    def _clean(self, element: Element) -> None:
        kept = []
        for child in element.children:
            if child.tag in DROPPED and not (child.tag == "hfield" and "file" not in child.attributes):
                if child.tag in ACTING:
                    self.without.add(child.tag)
                if child.tag == "hfield":
                    self._missing.add(child.get("name"))
                continue
            if child.tag == "model" and "file" in child.attributes:
                child.fail("models inside models are not supported: include their parts")
            if child.tag == "compiler":
                for key in ("meshdir", "texturedir", "assetdir"):
                    child.attributes.pop(key, None)
            if child.tag == "material":
                child.attributes.pop("texture", None)
                child.children = []
            if child.tag == "mesh" and element.tag == "asset" and "file" in child.attributes:
                self._take_mesh(child)
                if child.get("name") in self._missing:
                    continue
            elif named := NAMES_FILES.search(" ".join(child.attributes)):
                child.fail(
                    f"the attribute {named[0]!r} names a file, which only <mesh> and <include> may: take it out"
                )
            self._clean(child)
            kept.append(child)
        element.children = kept

    def _take_mesh(self, mesh: Element) -> None:
        written = mesh.get("file")
        path = f"{self._folder}/{written}" if self._folder and not written.startswith("/") else written
        path = self._beside_its_file(mesh, path)
        found = self._source.find(path, mesh.where, "mesh")
        stem = written.replace("\\", "/").rpartition("/")[2]
        mesh.attributes.setdefault("name", stem.rpartition(".")[0] or stem)
        name = mesh.get("name")
        if found is None or not os.path.isfile(found):
            self._missing.add(name)
            self._source.note(
                Severity.WARNING, f"mesh {name!r}", f"the file {path!r} is not there", mesh.line, "mesh"
            )
            return
        try:
            content = read_regular(found, MESHES - self._size, "what is left for the meshes of a model")
        except OSError as error:
            mesh.fail(f"the file {path!r} cannot be read: {reason(error)}")
        self._size += len(content)
        asset = f"{len(self.assets)}_{stem}"
        self.assets[asset] = content
        self.paths[name] = path
        mesh.attributes["file"] = asset

    def _beside_its_file(self, mesh: Element, path: str) -> str:
        """Return the path of a mesh from the model, where an included file names it from its own folder."""
        if self._source.folder is None or mesh.file == self._source.name:
            return path
        beside = os.path.normpath(Path(mesh.file).parent / path)
        return os.path.relpath(beside, self._source.folder) if os.path.isfile(beside) else path

    def _drop_missing(self, element: Element) -> None:
        """Take out the shapes whose mesh is not there."""
        element.children = [
            child
            for child in element.children
            if not (child.tag == "geom" and (child.get("mesh") or child.get("hfield")) in self._missing)
        ]
        for child in element.children:
            self._drop_missing(child)


def _written(element: Element) -> str:
    """Return an element as XML text; MJCF has no text between elements."""
    attributes = "".join(f" {key}={quoted(value)}" for key, value in element.attributes.items())
    if not element.children:
        return f"<{element.tag}{attributes}/>"
    return f"<{element.tag}{attributes}>" + "".join(map(_written, element.children)) + f"</{element.tag}>"


MOST_ELEMENTS = 20_000
"""How many elements a model may have when all repetition is written out, which take MuJoCo some ten seconds."""
MOST_HEIGHTS = 4_000_000
"""How many heights a field may have."""
FINEST = 100
"""How finely a mesh that is told by its shape may be divided."""
REPEATING = ("replicate", "composite")


def require_bounded(root: Element) -> None:
    """Raise at the element of a prepared text that asks for too much."""
    total = 0
    for element, copies in _repeated(root, 1):
        total += copies
        if total > MOST_ELEMENTS:
            element.fail(f"with all repetition there are more than {MOST_ELEMENTS} elements: split the model")
        if element.tag == "flexcomp":
            element.fail(
                "bodies that are made of many points are not read: take it out, or write a flexible body"
            )
        if element.tag == "hfield" and prod(_counts(element, ("nrow", "ncol"))) > MOST_HEIGHTS:
            element.fail(f"it has more than {MOST_HEIGHTS} heights")
        if element.tag == "mesh" and "builtin" in element.attributes:
            fine = max(_counts(element, ("params",)), default=0)
            if fine > FINEST:
                element.fail(f"params is {element.get('params')!r}: give numbers up to {FINEST}")


def _repeated(element: Element, copies: int) -> Iterator[tuple[Element, int]]:
    """All elements inside of one, each with how often it is there when repetition is written out."""
    for child in element.children:
        own = copies * max(prod(_counts(child, ("count",))), 1) if child.tag in REPEATING else copies
        yield child, own
        yield from _repeated(child, own)


def _counts(element: Element, keys: tuple[str, ...]) -> list[int]:
    """Return the whole parts of the numbers in some attributes; MuJoCo refuses what is none, and what is huge is
    huge."""
    found = []
    for word in " ".join(element.get(key) for key in keys).split():
        try:
            found.append(int(min(abs(float(word)), 1e18)))
        except ValueError:
            continue
    return found
