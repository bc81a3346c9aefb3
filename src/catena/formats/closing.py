"""Loops that are told beside a model rather than in it: as Python, and by the names of frames.

onshape-to-robot, among others, places two frames where a loop of a tree has to be closed and calls them
closing_<name>_1 and closing_<name>_2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from catena.errors import FormatError
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.joints import Fixed, Spherical
from catena.mechanism import Mechanism
from catena.mechanism.naming import end_of_joint
from catena.validation import shown

_CLOSING = re.compile(r"(closing_.+)_([12])")


def close_given(mechanism: Mechanism, loops: Any) -> None:
    """Add the joints that a caller gives: a mapping from their names to (parent, child, kind), or a list of (parent,
    child) for frames that coincide, or of (parent, child, kind); options of `add_joint` may follow the kind.

    The ends are bodies or frames. Nothing drives such a joint unless its options say so.
    """
    if isinstance(loops, str | bytes) or not isinstance(loops, Mapping | Iterable):
        raise FormatError(
            f"loops are {shown(loops)}: give the name of a file, a mapping {{'rod': ('a', 'b', ct.Spherical())}}, a "
            "list of pairs of frames that coincide, or False"
        )
    rows = loops.items() if isinstance(loops, Mapping) else ((None, row) for row in loops)
    for name, row in rows:
        parts = [] if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable) else list(row)
        if not 2 <= len(parts) <= 4 or (len(parts) == 4 and not isinstance(parts[3], Mapping)):
            raise FormatError(
                f"loops hold {shown(row)}: give (parent, child), (parent, child, kind) or (parent, child, kind, "
                "{'in_parent': ..., ...})"
            )
        first, second = parts[:2]
        options = {"actuated": False, **(parts[3] if len(parts) == 4 else {})}
        kind = parts[2] if len(parts) > 2 else Fixed()
        mechanism.add_joint(
            loop_name(first, second) if name is None else name, first, second, kind, **options
        )


def loop_name(first: str, second: str) -> str:
    """Return the name of the joint that closes a loop between two frames, where nobody gave it one."""
    return f"{first} on {second}"


def close_by_names(mechanism: Mechanism, source: Source) -> None:
    """Close the loops of frames, or of bodies, that are called closing_<name>_1 and closing_<name>_2.

    The names do not say what the joint is. Their origins coincide in all of them, so that a spherical joint demands
    nothing that is not meant; among parallel hinges it is as good as a hinge.
    """
    for name in (*mechanism.bodies, *mechanism.frames):
        found = _CLOSING.fullmatch(name)
        if found is None or found.group(2) != "1":
            continue
        joint, other = found.group(1), f"{found.group(1)}_2"
        if joint in mechanism.joints or not (other in mechanism.bodies or other in mechanism.frames):
            continue
        who = f"joint {joint!r}"
        if end_of_joint(mechanism, who, name)[0] == end_of_joint(mechanism, who, other)[0]:
            continue
        mechanism.add_joint(joint, name, other, Spherical(), actuated=False)
        message = (
            f"the frames {name!r} and {other!r} close a loop, by a point, as their names say: where the joint is of "
            "another kind give it, load(path, loops={...}), or leave them apart, loops=False"
        )
        source.note(Severity.WARNING, who, message, what="loop")
