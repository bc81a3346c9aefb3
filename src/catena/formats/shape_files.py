"""Meshes that a model names: where they are, and whether they are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from catena.errors import FormatError, ModelError
from catena.formats.findings import Severity
from catena.formats.markup import Element, ElementFault
from catena.formats.source import Source
from catena.mechanism.shapes import Mesh, Shape


def readable(
    elements: Iterable[Element], read: Callable[[Element], Shape | None], who: str, source: Source
) -> list[Shape]:
    """Return the shapes of elements that can be read. Dynamics knows no shapes, so a fault in one is told as a warning,
    and the shape is left out."""
    found = []
    for element in elements:
        try:
            shape = read(element)
        except ElementFault as fault:
            owner = fault.who if fault.who.startswith(who) else f"{who}: {fault.who}"
            message = f"{fault.message}: the shape is left out"
            source.note(Severity.WARNING, owner, message, fault.line, "shape")
            continue
        if shape is not None:
            found.append(shape)
    return found


def make_shape(element: Element, who: str, made: type[Shape], **arguments: Any) -> Shape:
    """Return a shape, or raise with the place of the element that tells it."""
    try:
        return made(**arguments)
    except ModelError as error:
        element.refuse(error, who)


def make_mesh(element: Element, who: str, source: Source, uri: str, **arguments: Any) -> Shape:
    """Return a mesh, with the file that its path or URI stands for where that is known. A path that leads out of the
    folder of the model is told, and its file is not opened."""
    try:
        found = source.find(uri, element.where, who)
    except FormatError as error:
        found = None
        message = str(error).removeprefix(f"{element.where}: {who}: ")
        source.note(Severity.WARNING, who, message, element.line, "mesh")
        source.outside.add(uri)
    return make_shape(element, who, Mesh, path=uri, file=found, **arguments)


def path_from(mesh: Mesh, folder: Path | None) -> str:
    """Return how a file in a folder names a mesh: by its path from there if it lies below, else as it was named, and
    by its whole path if that was a path from elsewhere."""
    if mesh.file is None:
        return mesh.path
    if folder is not None and mesh.file.absolute().is_relative_to(folder):
        return mesh.file.absolute().relative_to(folder).as_posix()
    return mesh.path if "://" in mesh.path else mesh.file.absolute().as_posix()
