"""Bodies in model files: mass, or density and shapes instead of it, and the shapes they are seen and touched with."""

from __future__ import annotations

from typing import Any

from catena.errors import ModelError
from catena.formats.toml.flexible import read_flexible
from catena.formats.toml.schema import KEYS, SHAPES
from catena.formats.toml.tables import FileTable
from catena.mechanism import GROUND, MODES, Mechanism, Shape
from catena.mechanism.shapes import SHAPES as CLASSES
from catena.validation import suggestion

COMMON = ("pose", "colour", "name")


def add_body(mechanism: Mechanism, table: FileTable) -> Mechanism:
    """Add the body that a table tells."""
    table.check_keys(*KEYS["body"])
    options: dict[str, Any] = {key: table.numbers(key) for key in ("mass", "com", "inertia") if key in table}
    if "physical" in table:
        options["physical"] = table.switch("physical")
    flexible = read_flexible(table)
    if flexible is not None:
        options["flexible"] = flexible
    options |= {"visuals": _shapes(table, "visual"), "collisions": _shapes(table, "collision")}
    if "density" in table:
        _fill(table, options)
    name = table.text("name")
    with table.at_fault():
        try:
            mechanism.add_body(name, **options)
        except ModelError:
            if not table.document.source.fix or "inertia" not in options:
                raise
            # The check repairs the inertia, or says that it is none.
            mechanism.add_body(name, **{**options, "physical": False})
        if "locked_modes" in table:
            mechanism = mechanism.lock(name + MODES, at=table.numbers("locked_modes"))
    table.document.source.places["body", name] = table.line
    return mechanism


def add_ground(mechanism: Mechanism, table: FileTable) -> None:
    """Give ground the shapes that its table tells."""
    table.check_keys(*KEYS["ground"])
    mechanism.add_visual(GROUND, *_shapes(table, "visual"))
    mechanism.add_collision(GROUND, *_shapes(table, "collision"))


def _fill(table: FileTable, options: dict[str, Any]) -> None:
    """Let a density stand for mass, com and inertia."""
    for key in ("mass", "com", "inertia"):
        if key in table:
            table.fail(f"it has a density and {key} besides: give the one or the other", key)
    options["density"] = table.numbers("density")


def _shapes(table: FileTable, key: str) -> list[Shape]:
    return [_shape(one) for one in table.tables(key)] if key in table else []


def _shape(table: FileTable) -> Shape:
    if "shape" not in table:
        table.fail(f"the key 'shape' is missing: give one of {', '.join(SHAPES)}")
    word = table.text("shape")
    if word not in SHAPES:
        table.fail(f"no shape is named {word!r}: {suggestion(word, list(SHAPES))}", "shape")
    required, optional = SHAPES[word]
    table.check_keys(("shape", *required), (*optional, *COMMON))
    values: dict[str, Any] = {
        key: table.numbers(key) for key in (*required, *optional) if key in table and key != "path"
    }
    if "pose" in table:
        values["pose"] = table.pose("pose")
    if "colour" in table:
        values["colour"] = table.numbers("colour")
    if "name" in table:
        values["name"] = table.text("name")
    if word == "mesh":
        path = table.text("path")
        values["path"] = path
        values["file"] = table.document.source.find(path, table.where("path"), table.who)
    with table.at_fault():
        return CLASSES[word](**values)


def describe_shape(shape: Shape) -> dict[str, Any]:
    """Return the keys and values of a shape as they are written, without pose; what has its default is left out."""
    word = next(word for word, made in CLASSES.items() if type(shape) is made)
    found: dict[str, Any] = {"shape": word}
    required, optional = SHAPES[word]
    found |= {key: getattr(shape, key) for key in required}
    if "scale" in optional and getattr(shape, "scale", None) != (1.0, 1.0, 1.0):
        found["scale"] = getattr(shape, "scale", None)
    if shape.colour is not None:
        found["colour"] = shape.colour
    if shape.name:
        found["name"] = shape.name
    return found
