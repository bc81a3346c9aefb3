"""Numbers that go into an FMU or come out of it, and names that are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.errors import StateError
from catena.validation import listed, shown


@dataclass(frozen=True)
class FmuSignal:
    """A number that goes in or comes out: its name in the FMU, its unit ("" for none), a sentence, and what it begins
    with."""

    name: str
    unit: str
    about: str
    start: float = 0.0


def coordinate_parts(coordinate: str) -> tuple[str, ...]:
    """Return the parts of a name that a coordinate adds: none where a joint has one only; counted from 0 where they
    have no names."""
    if not coordinate:
        return ()
    return (str(int(coordinate) - 1),) if coordinate.isdecimal() else (coordinate,)


def listed_names(what: str, names: Any) -> list[str]:
    """Return names as a list, each once; a StateError says what is none."""
    try:
        found = listed(names)
    except ValueError as error:
        raise StateError(f"{what}: {shown(names)} is no list of names ({error}).") from error
    for name in found:
        if not isinstance(name, str):
            raise StateError(f"{what}: {shown(name)} is no name; give a list of names such as 'elbow.tau'.")
    return list(dict.fromkeys(found))
