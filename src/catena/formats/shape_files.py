"""Meshes that a model names: where they are, and whether they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from catena.errors import ModelError
from catena.formats.markup import Element
from catena.formats.source import Source
from catena.mechanism.shapes import Mesh, Shape


def make_shape(element: Element, who: str, made: type[Shape], **arguments: Any) -> Shape:
    """Return a shape, or raise with the place of the element that tells it."""
    try:
        return made(**arguments)
    except ModelError as error:
        element.refuse(error, who)


def make_mesh(element: Element, who: str, source: Source, uri: str, **arguments: Any) -> Shape:
    """Return a mesh, with the file that its path or URI stands for where that is known."""
    found = source.find(uri, element.where, who)
    return make_shape(element, who, Mesh, path=uri, file=found, **arguments)


def path_from(mesh: Mesh, folder: Path | None) -> str:
    """Return how a file in a folder names a mesh: by its path from there if it lies below, else as it was named, and
    by its whole path if that was a path from elsewhere."""
    if mesh.file is None:
        return mesh.path
    if folder is not None and mesh.file.absolute().is_relative_to(folder):
        return mesh.file.absolute().relative_to(folder).as_posix()
    return mesh.path if "://" in mesh.path else mesh.file.absolute().as_posix()
