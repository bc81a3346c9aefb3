"""Which parts a user means: names, and patterns such as "arm2/*" that stand for all names that look so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from catena.errors import UnknownNameError
from catena.mechanism.validation import known
from catena.validation import entries

WILD = frozenset("*?[")


def selected(
    what: str, given: str | Iterable[str], names: Collection[str], wanted: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """Return the names that are given or look like one of the given patterns, each once, in the order of `names`.

    A pattern takes those names only that are `wanted`; a name that is given in full is taken in any case, also where it
    has a wildcard in it. What stands for no name at all is an error.
    """
    try:
        asked: tuple[Any, ...] = (given,) if isinstance(given, Mapping) else entries(given)
    except ValueError:
        asked = (given,)
    found: set[str] = set()
    for one in asked:
        if not isinstance(one, str) or one in names or not WILD & set(one):
            found.add(known(what, one, names))
            continue
        alike = [name for name in names if fnmatchcase(name, one)]
        fitting = alike if wanted is None else [name for name in alike if wanted(name)]
        if not fitting:
            some = ", ".join(repr(name) for name in (alike or list(names))[:8])
            why = f"those that it stands for ({some}) are no such" if alike else f"there are {some or 'none'}"
            raise UnknownNameError(f"no {what} to change looks like {one!r}: {why}")
        found.update(fitting)
    return tuple(name for name in names if name in found)
