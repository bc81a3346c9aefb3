"""How much MuJoCo is made to build. A few words of MJCF stand for many bodies, and its time grows with their square."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from catena.formats.markup import Element

MOST_ELEMENTS = 20_000
"""How many elements a model may have when all repetition is written out, which take MuJoCo some ten seconds."""
MOST_HEIGHTS = 4_000_000
"""How many heights a field may have."""
FINEST = 100
"""How finely a mesh that is told by its shape may be divided."""
REPEATING = ("replicate", "composite")


def require_bounded(root: Element) -> None:
    """Raise at the element of a prepared text that asks for too much."""
    total = 0
    for element, copies in _repeated(root, 1):
        total += copies
        if total > MOST_ELEMENTS:
            element.fail(f"with all repetition there are more than {MOST_ELEMENTS} elements: split the model")
        if element.tag == "flexcomp":
            element.fail(
                "bodies that are made of many points are not read: take it out, or write a flexible body"
            )
        if element.tag == "hfield" and prod(_counts(element, ("nrow", "ncol"))) > MOST_HEIGHTS:
            element.fail(f"it has more than {MOST_HEIGHTS} heights")
        if element.tag == "mesh" and "builtin" in element.attributes:
            fine = max(_counts(element, ("params",)), default=0)
            if fine > FINEST:
                element.fail(f"params is {element.get('params')!r}: give numbers up to {FINEST}")


def _repeated(element: Element, copies: int) -> Iterator[tuple[Element, int]]:
    """All elements inside of one, each with how often it is there when repetition is written out."""
    for child in element.children:
        own = copies * max(prod(_counts(child, ("count",))), 1) if child.tag in REPEATING else copies
        yield child, own
        yield from _repeated(child, own)


def _counts(element: Element, keys: tuple[str, ...]) -> list[int]:
    """The whole parts of the numbers in some attributes; MuJoCo refuses what is none, and what is huge is huge."""
    found = []
    for word in " ".join(element.get(key) for key in keys).split():
        try:
            found.append(int(min(abs(float(word)), 1e18)))
        except ValueError:
            continue
    return found
