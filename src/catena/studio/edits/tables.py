"""Numbers, parameters, the run, changes of the structure, and parts of any sort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

from catena.errors import StateError
from catena.studio.edits.document import Document, append, inner, parameters_of
from catena.studio.edits.registry import edit
from catena.studio.parts import SORTS, value_from
from catena.studio.quantities import quantity, value_of
from catena.validation import shown


@edit
def set_value(document: Document, path: list[Any], value: Any, sort: str = "number") -> None:
    """Give one number or word of the text another value: `path` leads there, names and counts from 0."""
    place: Any = document
    if not isinstance(path, list) or not path:
        raise StateError(f"the path is {shown(path)}; give names and numbers.")
    for k, step in enumerate(path[:-1]):
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            if (
                isinstance(step, str)
                and isinstance(place, Table | Document | InlineTable)
                and isinstance(path[k + 1], str)
            ):
                place = inner(place, step)
            else:
                raise StateError(f"the text has no {'.'.join(map(str, path))}.") from None
    who = str(path[-1])
    if sort == "word":
        entry: Any = str(value)
    elif isinstance(value, list):
        entry = [
            quantity(x, sort, f"{who}, number {k + 1},", names=parameters_of(document))
            for k, x in enumerate(value)
        ]
    elif isinstance(value, bool):
        entry = value
    else:
        entry = quantity(value, sort, who, names=parameters_of(document))
    place[path[-1]] = entry


@edit
def make_parameter(document: Document, path: list[Any], name: str) -> None:
    """Give a number of the text a name, so that it can be changed by a slider."""
    if not isinstance(name, str) or not name.isidentifier():
        raise StateError(f"a parameter is called {shown(name)}; give a word of letters, such as crank.")
    parameters = inner(document, "parameters")
    if name in parameters:
        raise StateError(f"there is a parameter called {name} already.")
    place: Any = document
    try:
        for step in path[:-1]:
            place = place[step]
        value = place[path[-1]]
    except (KeyError, IndexError, TypeError):
        raise StateError(f"the text has no {'.'.join(map(str, path))}.") from None
    parameters[name] = value if isinstance(value, str) else float(value)
    place[path[-1]] = name


@edit
def set_parameter(document: Document, name: str, value: Any) -> None:
    """Give a parameter another value."""
    if name not in document.get("parameters", {}):
        raise StateError(f"no parameter is called {shown(name)}.")
    others = {key: x for key, x in parameters_of(document).items() if key != name}
    text = str(value).strip()
    try:
        value_of(text, others)
    except Exception as error:
        raise StateError(f"{name} is {shown(text)}; give a number, with a unit or not.") from error
    try:
        document["parameters"][name] = float(text)
    except ValueError:
        document["parameters"][name] = text


@edit
def set_run(document: Document, duration: Any = None, samples: Any = None) -> None:
    """Say how long a run takes and how many samples are kept."""
    if duration is None and samples is None:
        raise StateError("a run has a duration and samples: give one of them.")
    run = inner(document, "run")
    if duration is not None:
        run["duration"] = quantity(duration, "time", "the duration", 0.0, parameters_of(document))
    if samples is not None:
        run["samples"] = int(samples)


@edit
def set_gravity(document: Document, gravity: Any) -> None:
    """Let weight act downwards along z by one number, or any way by three with commas, `0, -10, 0`; or nothing."""
    parts = gravity.split(",") if isinstance(gravity, str) and gravity.count(",") == 2 else [gravity]
    names = parameters_of(document)
    values = [value_of(quantity(part, "acceleration", "gravity", names=names)) for part in parts]
    inner(document, "mechanism")["gravity"] = (
        values if len(values) == 3 else [0.0, 0.0, -values[0] if values[0] else 0.0]
    )


@edit
def change_structure(document: Document, at: Any, action: str, joint: str) -> None:
    """Lock, unlock or detach a joint at a time of the run."""
    if action not in ("lock", "unlock", "detach"):
        raise StateError(f"a change is {shown(action)}; give lock, unlock or detach.")
    table = tomlkit.table()
    table["at"] = quantity(at, "time", "the time of the change", names=parameters_of(document))
    table[action] = [joint]
    append(document, "change", table)


@edit
def remove_change(document: Document, number: int) -> None:
    """Take a change of the structure away, counted from 0."""
    try:
        del document["change"][number]
    except (KeyError, IndexError):
        raise StateError(f"there is no change {shown(number)}.") from None
    if not document["change"]:
        del document["change"]


@edit
def add_part(document: Document, sort: str, fields: Mapping[str, Any]) -> None:
    """Add a part with its fields as they are typed: a body, joint, frame, chain, contact, coupling and so on."""
    if sort not in SORTS or not isinstance(fields, Mapping):
        raise StateError(f"a part is {shown(sort)}; give one of {', '.join(SORTS)}, and its fields.")
    table = tomlkit.table()
    for key, text in fields.items():
        if str(text).strip():
            table[str(key)] = value_from(text, str(key))
    if not table:
        raise StateError(f"a {sort} needs some fields; type its name first.")
    append(document, sort, table)


@edit
def set_field(document: Document, sort: str, number: int, key: str, text: str) -> None:
    """Give a field of a part another value as it is typed, or take it away where nothing is."""
    try:
        table = document[sort][number]
    except (KeyError, IndexError, TypeError):
        raise StateError(f"there is no {sort} {shown(number)}.") from None
    if str(text).strip():
        table[key] = value_from(text, key)
    elif key in table:
        table.pop(key)


@edit
def remove_part(document: Document, sort: str, number: int) -> None:
    """Take a part away, counted from 0 among those of its sort."""
    try:
        del document[sort][number]
    except (KeyError, IndexError, TypeError):
        raise StateError(f"there is no {sort} {shown(number)}.") from None
    if not document[sort]:
        del document[sort]


@edit
def start_at(document: Document, q: Mapping[str, Any]) -> None:
    """Let joints begin at these positions."""
    initial = inner(inner(document, "initial"), "q")
    for joint, value in q.items():
        initial[joint] = value
