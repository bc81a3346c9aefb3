"""Planar linkages in model files as one draws them: fixed points, bars by their lengths, and a sketch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.formats.toml.blocks import Block, value_text
from catena.formats.toml.schema import KEYS, SLIDE
from catena.formats.toml.tables import FileTable
from catena.mechanism import Mechanism
from catena.mechanism.linkage import Drawing, Linkage
from catena.mechanism.merging import include

MOST = 120
"""How many bars a linkage of a file may have: what takes a second to put together in the worst case."""


def add_linkage(mechanism: Mechanism, table: FileTable) -> Mechanism:
    """Add the parts of the linkage that a table draws, and remember the drawing."""
    table.check_keys(*KEYS["linkage"])
    table.who = f"linkage {mechanism.name!r}"
    tables = {key: _numbers(table, key) if key in table else {} for key in ("fixed", "bars", "sketch", "at")}
    if len(tables["bars"]) > MOST:
        table.fail(f"it has {len(tables['bars'])} bars: give at most {MOST}", "bars")
    density = {"density": table.numbers("density")} if "density" in table else {}
    with table.at_fault():
        linkage = Linkage(mechanism.name, tables["fixed"], **density)
    # One at a time, so that the fault is on the line of its bar or point.
    for bar, length in tables["bars"].items():
        with table.at_fault("bars", bar):
            linkage.bars({bar: length})
    for point, place in tables["sketch"].items():
        with table.at_fault("sketch", point):
            linkage.sketch({point: place})
    for point, inner in _slides(table):
        inner.check_keys((), SLIDE)
        with inner.at_fault():
            linkage.slide(point, **{key: inner.numbers(key) for key in inner.content})
    with table.at_fault():
        drawn = linkage.mechanism(tables["at"])
        include(mechanism, drawn)
    mechanism.drawing = drawn.drawing
    return mechanism


def _numbers(table: FileTable, key: str) -> dict[str, Any]:
    inner = table.inner(key, f"{table.who}: {key}")
    return {name: inner.numbers(name) for name in inner.content}


def _slides(table: FileTable) -> list[tuple[str, FileTable]]:
    if "slides" not in table:
        return []
    slides = table.inner("slides", f"{table.who}: slides")
    return [(point, slides.inner(point, f"{table.who}: slide of {point!r}")) for point in slides.content]


def with_drawing(found: Sequence[Block], drawing: Drawing, drawn: Sequence[Block]) -> list[Block] | None:
    """Return the tables of a mechanism with its drawing in the place of those that are `drawn`, None where it was
    edited so that these are not the first of their sorts any more."""
    parts = [block for block in drawn if block.many]
    labels = {block.label for block in parts}
    for words in {block.words for block in parts}:
        wanted = [block for block in parts if block.words == words]
        if [block for block in found if block.words == words][: len(wanted)] != wanted:
            return None
    rest = [block for block in found if block.label not in labels]
    return [rest[0], _block(drawing), *rest[1:]]


def _block(drawing: Drawing) -> Block:
    pairs = {
        "density": value_text(drawing.density),
        "fixed": value_text(drawing.fixed),
        "bars": value_text({"-".join(pair): length for pair, length in drawing.bars.items()}),
        "sketch": value_text(drawing.sketch),
    }
    if drawing.slides:
        slides = {
            point: {"along": one.along, "through": one.through, "mass": one.mass}
            for point, one in drawing.slides.items()
        }
        pairs["slides"] = value_text(slides)
    if drawing.at:
        pairs["at"] = value_text(drawing.at)
    return Block(("linkage",), False, pairs)
