"""Drawing planar linkages: bars, points that stand, slide or are carried, and their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tomlkit

from catena.errors import StateError
from catena.studio.edits.document import (
    DIGITS,
    Document,
    coordinates,
    drop_empty,
    ends_of,
    forget_point,
    inner,
    linkage_of,
    pair,
    parameters_of,
    places_of,
    point_named,
)
from catena.studio.edits.registry import edit
from catena.studio.quantities import quantity, value_of
from catena.validation import shown


@edit
def add_bar(document: Document, start: Any, end: Any, length: Any = None) -> None:
    """Draw a bar between two places, each the name of a point or (x, z) [m]; a new place becomes a point. The bar is as
    long as it is drawn, or as is typed."""
    linkage = linkage_of(document)
    a, b = (point_named(linkage, place) for place in (start, end))
    if a == b:
        raise StateError("a bar joins two different points.")
    bars = linkage["bars"]
    if f"{a}-{b}" in bars or f"{b}-{a}" in bars:
        raise StateError(f"there is a bar between {a} and {b} already.")
    if a in linkage["fixed"] and b in linkage["fixed"]:
        raise StateError(f"{a} and {b} both stand on the ground, so that a bar between them moves nothing.")
    places = places_of(linkage)
    drawn = round(float(np.hypot(*(places[b] - places[a]))), DIGITS)
    if drawn <= 0.0:
        raise StateError("the bar has no length; draw it longer.")
    names = parameters_of(document)
    bars[f"{a}-{b}"] = (
        drawn if length is None else quantity(length, "length", f"the length of {a}-{b}", 0.0, names)
    )


@edit
def ground_point(document: Document, point: str) -> None:
    """Let a point of a linkage stand on the ground where it is drawn."""
    linkage = linkage_of(document)
    if point in linkage["sketch"]:
        place = pair(linkage["sketch"].pop(point))
        linkage["fixed"][point] = place
    elif point not in linkage["fixed"]:
        raise StateError(f"no point is called {shown(point)}.")
    if point in linkage.get("slides", {}):
        linkage["slides"].pop(point)
    drop_empty(linkage, "slides")


@edit
def free_point(document: Document, point: str) -> None:
    """Let a point go that stands on the ground or slides."""
    linkage = linkage_of(document)
    if point in linkage["fixed"]:
        linkage["sketch"][point] = pair(linkage["fixed"].pop(point))
    elif point in linkage.get("slides", {}):
        linkage["slides"].pop(point)
        drop_empty(linkage, "slides")
    else:
        raise StateError(f"{shown(point)} is free already.")


@edit
def slide_point(document: Document, point: str, angle: Any = 0.0) -> None:
    """Let a point slide along a line of ground through its place, at an angle from the x axis."""
    linkage = linkage_of(document)
    if point in linkage["fixed"]:
        linkage["sketch"][point] = pair(linkage["fixed"].pop(point))
    if point not in linkage["sketch"]:
        raise StateError(f"no point is called {shown(point)}.")
    a = value_of(quantity(angle, "angle", f"the direction of {point}"))
    slides = inner(linkage, "slides")
    slide = tomlkit.inline_table()
    slide["along"] = [round(float(np.cos(a)), 12), round(float(np.sin(a)), 12)]
    slide["through"] = pair(linkage["sketch"][point])
    slides[point] = slide


@edit
def move_points(document: Document, places: Mapping[str, Any], digits: int = DIGITS) -> None:
    """Move points of a linkage to other places, kept to so many decimals of a metre; bars keep their lengths, so that
    only a drawing that fits stays."""
    linkage = linkage_of(document)
    for point, place in places.items():
        key = "fixed" if point in linkage["fixed"] else "sketch"
        if point not in linkage[key]:
            raise StateError(f"no point is called {shown(point)}.")
        linkage[key][point] = coordinates(place, digits)


@edit
def reshape(document: Document, point: str, to: Any) -> None:
    """Move a point and let the bars that end there be as long as they then are; lengths that are parameters or formulas
    stay."""
    linkage = linkage_of(document)
    move_points(document, {point: to})
    places = places_of(linkage)
    for bar, length in list(linkage["bars"].items()):
        a, b = ends_of(bar)
        if point in (a, b) and not isinstance(length, str):
            linkage["bars"][bar] = round(float(np.hypot(*(places[b] - places[a]))), DIGITS)


@edit
def set_length(document: Document, bar: str, length: Any) -> None:
    """Give a bar another length."""
    linkage = linkage_of(document)
    if bar not in linkage["bars"]:
        raise StateError(f"no bar is called {shown(bar)}.")
    number = quantity(length, "length", f"the length of {bar}", 0.0, parameters_of(document))
    was = linkage["bars"][bar]
    # A length that is a parameter stays one: its number changes.
    if isinstance(was, str) and was in document.get("parameters", {}) and number != was:
        document["parameters"][str(was)] = number
    else:
        linkage["bars"][bar] = number


@edit
def remove_bar(document: Document, bar: str) -> None:
    """Take a bar away, and points that no other bar has."""
    linkage = linkage_of(document)
    if bar not in linkage["bars"]:
        raise StateError(f"no bar is called {shown(bar)}.")
    linkage["bars"].pop(bar)
    used = {end for other in linkage["bars"] for end in ends_of(other)}
    for point in ends_of(bar):
        if point not in used:
            forget_point(document, point)


@edit
def remove_point(document: Document, point: str) -> None:
    """Take a point away with all bars that end there."""
    linkage = linkage_of(document)
    if point not in linkage["fixed"] and point not in linkage["sketch"]:
        raise StateError(f"no point is called {shown(point)}.")
    for bar in [name for name in linkage["bars"] if point in ends_of(name)]:
        remove_bar(document, bar)
