"""What acts: motors and springs."""

from __future__ import annotations

from typing import Any

import tomlkit

from catena.errors import StateError
from catena.studio.edits.document import (
    DIGITS,
    Document,
    append,
    distance,
    frame_at,
    is_simple,
    new_name,
    parameters_of,
)
from catena.studio.edits.registry import edit
from catena.studio.quantities import quantity
from catena.validation import shown


@edit
def set_motor(document: Document, joint: str, speed: Any = None, moment: Any = None) -> None:
    """Let a joint turn at a speed whatever it takes, or under a constant moment; a motor that is there is replaced."""
    remove_motor(document, joint, must=False)
    if (speed is None) == (moment is None):
        raise StateError(f"the motor at {joint} has a speed or a moment: give one of them.")
    names = parameters_of(document)
    table = tomlkit.table()
    if speed is not None:
        number = quantity(speed, "speed", f"the speed of {joint}", names=names)
        table["joint"] = joint
        table["position"] = f"{number} * t" if is_simple(number) else f"({number}) * t"
        append(document, "drive", table)
    else:
        number = quantity(moment, "moment", f"the moment at {joint}", names=names)
        forces = tomlkit.inline_table()
        forces[joint] = str(number)
        table["kind"] = "formula"
        table["forces"] = forces
        append(document, "controller", table)


@edit
def remove_motor(document: Document, joint: str, must: bool = True) -> None:
    """Take the motor of a joint away."""
    found = False
    for k, table in reversed(list(enumerate(document.get("drive", [])))):
        if table.get("joint") == joint:
            del document["drive"][k]
            found = True
    for k, table in reversed(list(enumerate(document.get("controller", [])))):
        if table.get("kind") == "formula" and joint in table.get("forces", {}):
            table["forces"].pop(joint)
            found = True
            if not table["forces"]:
                del document["controller"][k]
    for word in ("drive", "controller"):
        if word in document and not document[word]:
            del document[word]
    if must and not found:
        raise StateError(f"{joint} has no motor.")


@edit
def add_spring(document: Document, start: Any, end: Any, stiffness: Any = 200.0, rest: Any = None) -> None:
    """Stretch a spring between two frames or points, or places of ground (x, z) [m], relaxed as long as it is drawn."""
    names = parameters_of(document)
    a, b = (frame_at(document, place) for place in (start, end))
    if a == b:
        raise StateError("a spring joins two different points.")
    table = tomlkit.table()
    table["name"] = new_name("spring", [each.get("name") for each in document.get("spring", [])])
    table["between"] = [a, b]
    table["stiffness"] = quantity(stiffness, "stiffness", "the stiffness", 0.0, names)
    if rest is not None:
        table["rest_length"] = quantity(rest, "length", "the length at rest", -1e-300, names)
    else:
        table["rest_length"] = round(distance(document, start, end), DIGITS)
    append(document, "spring", table)


@edit
def remove(document: Document, sort: str, name: str) -> None:
    """Take a part away by its name: a spring, frame, actuator, wrench, force, coupling, joint or body."""
    for k, table in enumerate(document.get(sort, [])):
        if table.get("name") == name:
            del document[sort][k]
            if not document[sort]:
                del document[sort]
            return
    raise StateError(f"no {sort} is called {shown(name)}.")
