"""glTF files (.gltf, .glb) on their way to the library that reads them: images are taken out, and what the numbers of
the header would make is counted before anybody makes it."""

from __future__ import annotations

import json
from typing import Any

MOST_MADE = 512 * 2**20
"""How many bytes the views of buffers, and how many the accessors, may have together."""
MOST_PARTS = 100_000
"""How many nodes, primitives, views and accessors there may be, each."""
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
"""How many numbers an entry of an accessor has."""
HEAD, CHUNK = 12, 8
"""Bytes before the chunks of a .glb file, and before the content of each."""


def plain_gltf(content: bytes) -> bytes:
    """Return the text of a .gltf file that may be read. What cannot be read raises."""
    return json.dumps(_checked(content)).encode()


def plain_glb(content: bytes) -> bytes:
    """Return a .glb file that may be read, its first chunk replaced. What cannot be read raises."""
    size = int.from_bytes(content[HEAD : HEAD + 4], "little")
    start = HEAD + CHUNK
    if content[:4] != b"glTF" or content[HEAD + 4 : start] != b"JSON" or start + size > len(content):
        raise ValueError("it does not begin as a .glb file")
    text = json.dumps(_checked(content[start : start + size])).encode()
    text += b" " * (-len(text) % 4)
    rest = content[start + size :]
    length = start + len(text) + len(rest)
    return (
        content[:8] + length.to_bytes(4, "little") + len(text).to_bytes(4, "little") + b"JSON" + text + rest
    )


def _checked(text: bytes) -> dict[str, Any]:
    """Return the header without images, after its sizes were counted."""
    try:
        header = json.loads(text)
    except RecursionError:
        raise ValueError("its header is nested too deep") from None
    if not isinstance(header, dict):
        raise ValueError("its header is no table")
    for key in ("images", "textures", "samplers", "cameras", "animations", "skins"):
        header.pop(key, None)
    for key in ("nodes", "meshes", "accessors", "bufferViews", "buffers", "materials"):
        if len(_tables(header, key)) > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS} {key}")
    primitives = sum(len(_tables(mesh, "primitives")) for mesh in _tables(header, "meshes"))
    if primitives > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS} primitives")
    accessors = _tables(header, "accessors")
    views = sum(_count(view, "byteLength") for view in _tables(header, "bufferViews"))
    numbers = sum(4 * _count(one, "count") * WIDTHS.get(str(one.get("type")), 16) for one in accessors)
    if views > MOST_MADE or numbers > MOST_MADE:
        raise ValueError(f"its header speaks of more than {MOST_MADE} bytes")
    return header


def _tables(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of tables in a table, empty where there is none."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"its {key} are no list of tables")
    return found


def _count(table: dict[str, Any], key: str) -> int:
    found = table.get(key, 0)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ValueError(f"one of its {key} is no number of zero or more")
    return found
