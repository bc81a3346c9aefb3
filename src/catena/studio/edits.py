"""What somebody can do to a scenario in the studio: each act is a named edit of the document that its text is.

An edit takes a document of tomlkit, which keeps comments and order, and the arguments that a page sends; it changes the
document or raises an error that says what to give instead. Whether the changed text is a scenario is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tomlkit
from tomlkit.items import AoT, InlineTable, Item, Table

from catena.errors import StateError
from catena.given import shown
from catena.studio.quantities import quantity, value_of

Document = tomlkit.TOMLDocument
Edit = Callable[..., None]

EDITS: dict[str, Edit] = {}
"""All edits by name."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = 6
"""Decimals of a metre that a place which was pointed at keeps: micrometres."""


def edit(function: Edit) -> Edit:
    """Make a function known as the edit of its name, with spaces."""
    EDITS[function.__name__.replace("_", " ")] = function
    return function


def apply(text: str, name: str, arguments: Mapping[str, Any]) -> str:
    """The text after an edit."""
    if name not in EDITS:
        raise StateError(f"no edit is called {shown(name)}.")
    document = tomlkit.parse(text)
    try:
        EDITS[name](document, **arguments)
    except TypeError as error:
        raise StateError(f"{name}: {error}.") from error
    return tomlkit.dumps(document)


# Linkages.


@edit
def add_bar(document: Document, start: Any, end: Any, length: Any = None) -> None:
    """Draw a bar between two places, each the name of a point or (x, z) [m]; a new place becomes a point. The bar is as
    long as it is drawn, or as is typed."""
    linkage = _linkage(document)
    a, b = (_point(linkage, place) for place in (start, end))
    if a == b:
        raise StateError("a bar joins two different points.")
    bars = linkage["bars"]
    if f"{a}-{b}" in bars or f"{b}-{a}" in bars:
        raise StateError(f"there is a bar between {a} and {b} already.")
    if a in linkage["fixed"] and b in linkage["fixed"]:
        raise StateError(f"{a} and {b} both stand on the ground, so that a bar between them moves nothing.")
    places = _places(linkage)
    drawn = round(float(np.hypot(*(places[b] - places[a]))), DIGITS)
    if drawn <= 0.0:
        raise StateError("the bar has no length; draw it longer.")
    names = _parameters(document)
    bars[f"{a}-{b}"] = (
        drawn if length is None else quantity(length, "length", f"the length of {a}-{b}", 0.0, names)
    )


@edit
def ground_point(document: Document, point: str) -> None:
    """Let a point of a linkage stand on the ground where it is drawn."""
    linkage = _linkage(document)
    if point in linkage["sketch"]:
        place = _pair(linkage["sketch"].pop(point))
        linkage["fixed"][point] = place
    elif point not in linkage["fixed"]:
        raise StateError(f"no point is called {shown(point)}.")
    if point in linkage.get("slides", {}):
        linkage["slides"].pop(point)
    _drop_empty(linkage, "slides")


@edit
def free_point(document: Document, point: str) -> None:
    """Let a point go that stands on the ground or slides."""
    linkage = _linkage(document)
    if point in linkage["fixed"]:
        linkage["sketch"][point] = _pair(linkage["fixed"].pop(point))
    elif point in linkage.get("slides", {}):
        linkage["slides"].pop(point)
        _drop_empty(linkage, "slides")
    else:
        raise StateError(f"{shown(point)} is free already.")


@edit
def slide_point(document: Document, point: str, angle: Any = 0.0) -> None:
    """Let a point slide along a line of ground through its place, at an angle from the x axis."""
    linkage = _linkage(document)
    if point in linkage["fixed"]:
        linkage["sketch"][point] = _pair(linkage["fixed"].pop(point))
    if point not in linkage["sketch"]:
        raise StateError(f"no point is called {shown(point)}.")
    a = value_of(quantity(angle, "angle", f"the direction of {point}"))
    slides = _inner(linkage, "slides")
    slide = tomlkit.inline_table()
    slide["along"] = [round(float(np.cos(a)), 12), round(float(np.sin(a)), 12)]
    slide["through"] = _pair(linkage["sketch"][point])
    slides[point] = slide


@edit
def move_points(document: Document, places: Mapping[str, Any]) -> None:
    """Move points of a linkage to other places; bars keep their lengths, so that only a drawing that fits stays."""
    linkage = _linkage(document)
    for point, place in places.items():
        key = "fixed" if point in linkage["fixed"] else "sketch"
        if point not in linkage[key]:
            raise StateError(f"no point is called {shown(point)}.")
        linkage[key][point] = _coordinates(place)


@edit
def reshape(document: Document, point: str, to: Any) -> None:
    """Move a point and let the bars that end there be as long as they then are; lengths that are parameters or formulas
    stay."""
    linkage = _linkage(document)
    move_points(document, {point: to})
    places = _places(linkage)
    for bar, length in list(linkage["bars"].items()):
        a, b = _ends(bar)
        if point in (a, b) and not isinstance(length, str):
            linkage["bars"][bar] = round(float(np.hypot(*(places[b] - places[a]))), DIGITS)


@edit
def set_length(document: Document, bar: str, length: Any) -> None:
    """Give a bar another length."""
    linkage = _linkage(document)
    if bar not in linkage["bars"]:
        raise StateError(f"no bar is called {shown(bar)}.")
    given = quantity(length, "length", f"the length of {bar}", 0.0, _parameters(document))
    was = linkage["bars"][bar]
    # A length that is a parameter stays one: its number changes.
    if isinstance(was, str) and was in document.get("parameters", {}) and given != was:
        document["parameters"][str(was)] = given
    else:
        linkage["bars"][bar] = given


@edit
def remove_bar(document: Document, bar: str) -> None:
    """Take a bar away, and points that no other bar has."""
    linkage = _linkage(document)
    if bar not in linkage["bars"]:
        raise StateError(f"no bar is called {shown(bar)}.")
    linkage["bars"].pop(bar)
    used = {end for other in linkage["bars"] for end in _ends(other)}
    for point in _ends(bar):
        if point not in used:
            _forget_point(document, point)


@edit
def remove_point(document: Document, point: str) -> None:
    """Take a point away with all bars that end there."""
    linkage = _linkage(document)
    if point not in linkage["fixed"] and point not in linkage["sketch"]:
        raise StateError(f"no point is called {shown(point)}.")
    for bar in [name for name in linkage["bars"] if point in _ends(name)]:
        remove_bar(document, bar)


# What acts.


@edit
def set_motor(document: Document, joint: str, speed: Any = None, moment: Any = None) -> None:
    """Let a joint turn at a speed whatever it takes, or under a constant moment; a motor that is there is replaced."""
    remove_motor(document, joint, must=False)
    if (speed is None) == (moment is None):
        raise StateError(f"the motor at {joint} has a speed or a moment: give one of them.")
    names = _parameters(document)
    table = tomlkit.table()
    if speed is not None:
        given = quantity(speed, "speed", f"the speed of {joint}", names=names)
        table["joint"] = joint
        table["position"] = f"{given} * t" if _is_simple(given) else f"({given}) * t"
        _append(document, "drive", table)
    else:
        given = quantity(moment, "moment", f"the moment at {joint}", names=names)
        inner = tomlkit.inline_table()
        inner[joint] = str(given)
        table["kind"] = "formula"
        table["forces"] = inner
        _append(document, "controller", table)


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
    names = _parameters(document)
    a, b = (_frame_at(document, place) for place in (start, end))
    if a == b:
        raise StateError("a spring joins two different points.")
    table = tomlkit.table()
    table["name"] = _new_name("spring", [each.get("name") for each in document.get("spring", [])])
    table["between"] = [a, b]
    table["stiffness"] = quantity(stiffness, "stiffness", "the stiffness", 0.0, names)
    if rest is not None:
        table["rest_length"] = quantity(rest, "length", "the length at rest", -1e-300, names)
    else:
        table["rest_length"] = round(_distance(document, start, end), DIGITS)
    _append(document, "spring", table)


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


# Numbers, the run, changes.


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
                place = _inner(place, step)
            else:
                raise StateError(f"the text has no {'.'.join(map(str, path))}.") from None
    who = str(path[-1])
    if sort == "word":
        given: Any = str(value)
    elif isinstance(value, list):
        given = [
            quantity(x, sort, f"{who}, number {k + 1},", names=_parameters(document))
            for k, x in enumerate(value)
        ]
    elif isinstance(value, bool):
        given = value
    else:
        given = quantity(value, sort, who, names=_parameters(document))
    place[path[-1]] = given


@edit
def make_parameter(document: Document, path: list[Any], name: str) -> None:
    """Give a number of the text a name, so that it can be changed by a slider."""
    if not isinstance(name, str) or not name.isidentifier():
        raise StateError(f"a parameter is called {shown(name)}; give a word of letters, such as crank.")
    parameters = _inner(document, "parameters")
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
    others = {key: x for key, x in _parameters(document).items() if key != name}
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
    run = _inner(document, "run")
    if duration is not None:
        run["duration"] = quantity(duration, "time", "the duration", 0.0, _parameters(document))
    if samples is not None:
        run["samples"] = int(samples)


@edit
def set_gravity(document: Document, gravity: Any) -> None:
    """Let weight act downwards along z, or nothing."""
    value = value_of(quantity(gravity, "acceleration", "gravity", names=_parameters(document)))
    _inner(document, "mechanism")["gravity"] = [0.0, 0.0, -value if value else 0.0]


@edit
def change_structure(document: Document, at: Any, action: str, joint: str) -> None:
    """Lock, unlock or detach a joint at a time of the run."""
    if action not in ("lock", "unlock", "detach"):
        raise StateError(f"a change is {shown(action)}; give lock, unlock or detach.")
    table = tomlkit.table()
    table["at"] = quantity(at, "time", "the time of the change", names=_parameters(document))
    table[action] = [joint]
    _append(document, "change", table)


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
def add_table(document: Document, sort: str, fields: Mapping[str, Any]) -> None:
    """Add a part with its fields as the text has them: a body, joint, frame, chain, contact, coupling and so on."""
    if not isinstance(sort, str) or not isinstance(fields, Mapping):
        raise StateError(f"a part is {shown(sort)}; give its sort and its fields.")
    table = tomlkit.table()
    for key, value in fields.items():
        table[key] = value
    _append(document, sort, table)


@edit
def start_at(document: Document, q: Mapping[str, Any]) -> None:
    """Let joints begin at these positions."""
    initial = _inner(_inner(document, "initial"), "q")
    for joint, value in q.items():
        initial[joint] = value


# How documents are reached into.


def _linkage(document: Document) -> Any:
    linkage = _inner(document, "linkage")
    for key in ("fixed", "bars", "sketch"):
        _inner(linkage, key)
    return linkage


def _inner(table: Any, key: str) -> Any:
    """A table inside of a table, made where it is not there."""
    if key not in table:
        table[key] = tomlkit.table()
    return table[key]


def _append(document: Document, word: str, table: Table) -> None:
    if word not in document:
        document[word] = tomlkit.aot()
    tables = document[word]
    if isinstance(tables, AoT):
        tables.append(table)
    else:
        inline = tomlkit.inline_table()
        inline.update(table.unwrap())
        tables.append(inline)


def _drop_empty(table: Any, key: str) -> None:
    if key in table and not table[key]:
        table.pop(key)


def _point(linkage: Any, place: Any) -> str:
    """The name of a point, which is new where a place is given."""
    if isinstance(place, str):
        if place not in linkage["fixed"] and place not in linkage["sketch"]:
            raise StateError(f"no point is called {shown(place)}.")
        return place
    taken = {*linkage["fixed"], *linkage["sketch"]}
    name = next(
        name
        for name in (f"{letter}{number or ''}" for number in range(1000) for letter in LETTERS)
        if name not in taken
    )
    linkage["sketch"][name] = _coordinates(place)
    return name


def _forget_point(document: Document, point: str) -> None:
    linkage = document["linkage"]
    for key in ("fixed", "sketch", "slides"):
        if point in linkage.get(key, {}):
            linkage[key].pop(point)
    _drop_empty(linkage, "slides")
    for k, spring in reversed(list(enumerate(document.get("spring", [])))):
        if point in spring.get("between", []):
            del document["spring"][k]


def _places(linkage: Any) -> dict[str, np.ndarray]:
    return {
        name: np.array(_pair(place), dtype=np.float64)
        for key in ("fixed", "sketch")
        for name, place in linkage[key].items()
    }


def _pair(place: Any) -> list[float]:
    return [value_of(x.unwrap() if isinstance(x, Item) else x) for x in place]


def _coordinates(place: Any) -> list[float]:
    try:
        x, z = (round(float(value), DIGITS) + 0.0 for value in place)
    except (TypeError, ValueError):
        raise StateError(f"a place is {shown(place)}; give (x, z) in metres.") from None
    if not np.isfinite([x, z]).all() or max(abs(x), abs(z)) > 1e6:
        raise StateError(f"a place is {shown(place)}; give (x, z) in metres.")
    return [x, z]


def _ends(bar: str) -> tuple[str, str]:
    a, _, b = str(bar).partition("-")
    return a.strip(), b.strip()


def _frame_at(document: Document, place: Any) -> str:
    """The name of a frame, which is new on ground where a place is given."""
    if isinstance(place, str):
        return place
    x, z = _coordinates(place)
    table = tomlkit.table()
    table["name"] = _new_name("anchor", [each.get("name") for each in document.get("frame", [])])
    table["body"] = "ground"
    pose = tomlkit.inline_table()
    pose["p"] = [x, 0.0, z]
    table["pose"] = pose
    _append(document, "frame", table)
    return str(table["name"])


def _distance(document: Document, start: Any, end: Any) -> float:
    known = _places(_linkage(document)) if "linkage" in document else {}

    def place(given: Any) -> np.ndarray:
        if not isinstance(given, str):
            return np.array(_coordinates(given))
        if given not in known:
            raise StateError(f"how far {given} is away is not known here; give the length at rest.")
        return known[given]

    return float(np.hypot(*(place(end) - place(start))))


def _new_name(word: str, taken: list[Any]) -> str:
    return next(name for name in (f"{word}{k}" for k in range(1, 10_000)) if name not in taken)


def _parameters(document: Document) -> dict[str, float]:
    """The parameters that are numbers by themselves."""
    found: dict[str, float] = {}
    for name, value in document.get("parameters", {}).items():
        try:
            found[str(name)] = value_of(value.unwrap() if isinstance(value, Item) else value, found)
        except Exception:  # what it is computed from stands below
            continue
    return found


def _is_simple(given: float | str) -> bool:
    return not isinstance(given, str) or not any(sign in given for sign in "+-")
