"""What descriptions consist of, down to numbers and words: by it they are compared, and digested.

Numbers count to the last digit. Dataclasses count by their fields, other objects by what a pickle would hold, classes
and the functions of Catena by their names. A function from Python, and an object that was made for one system, have no
contents that could be compared: they are equal to themselves only, and have no digest.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence, Set
from copyreg import __newobj__ as new_object  # type: ignore[attr-defined]
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.simulation.control.protocol import Controller
from catena.spatial import Pose
from catena.system import System

VERSION = "catena scenario 1"
FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
    np.ufunc,
)
# What is deeper than this contains itself.
DEEPEST = 100

Opaque = Callable[[Any, str], Any]
"""Says what stands for a value whose contents nobody knows, at a place such as "control"."""


def same(a: Any, b: Any) -> bool:
    """Return whether two values have the same contents."""
    return bool(contents(a) == contents(b))


def digest(value: Any) -> str:
    """Return a text of 64 letters that is the same wherever the contents are; a StateError where there are functions
    from Python."""
    return sha256(repr((VERSION, contents(value, refuse))).encode()).hexdigest()


def refuse(value: Any, place: str) -> Any:
    """Raise the complaint that nobody can tell what a value does."""
    raise StateError(
        f"{place or 'The scenario'} is {words(value)}, and nobody can tell whether two of these do the same: say it as "
        "a formula, a reference or ct.Described, or leave it out."
    )


def words(value: Any) -> str:
    """Return what to call a value that has no contents."""
    if isinstance(value, Controller):
        return f"a {type(value).__name__} that was made for one system"
    name = getattr(value, "__qualname__", None) or type(value).__name__
    what = "a class" if isinstance(value, type) else "a function from Python"
    return f"{what} ({name})"


def contents(value: Any, opaque: Opaque | None = None, place: str = "", depth: int = 0) -> Any:
    """Return the contents of a value as tuples of numbers and words. `opaque` says what stands for a value that has
    none; itself unless given."""
    if value is None or isinstance(value, bool | str | bytes):
        return value
    if isinstance(value, int) and not -(2**53) <= value <= 2**53:
        return value
    if isinstance(value, int | float):
        # 1 and 1.0 are the same number, whatever it is for, and so are 0.0 and -0.0.
        return ("number", (float(value) + 0.0).hex())
    if depth > DEEPEST:
        raise StateError(f"{place or 'The scenario'} contains itself: give plain values.")
    inner = functools.partial(contents, opaque=opaque, depth=depth + 1)
    if isinstance(value, np.generic):
        return inner(value.item(), place=place)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return ("array", value.shape, inner(value.tolist(), place=place))
        return _of_array(value)
    if isinstance(value, Mapping | list | tuple | Set):
        return _of_several(value, inner, place)
    if isinstance(value, Pose):
        # However its axes were given.
        return ("pose", _of_array(value.p), _of_array(value.R))
    if isinstance(value, Mechanism):
        # The order of parts is that of the coordinates.
        parts = {name: tuple(x.values()) for name, x in vars(value).items() if isinstance(x, dict)}
        listed = tuple((name, *map(inner, x)) for name, x in parts.items() if x)
        return ("mechanism", value.name, inner(value.gravity), inner(value.initial), *listed)
    if isinstance(value, type):
        return ("class", _name(value)) if _is_known(value) else _unknown(value, opaque, place)
    if (
        isinstance(value, types.FunctionType)
        and value.__module__.split(".")[0] == "catena"
        and _is_known(value)
    ):
        return ("function", _name(value))
    if isinstance(value, (*FUNCTIONS, Controller, System)):
        return _unknown(value, opaque, place)
    return _of_object(value, inner, opaque, place)


def _of_several(
    value: Mapping[Any, Any] | Sequence[Any] | Set[Any], inner: Callable[..., Any], place: str
) -> Any:
    """The contents of what holds others: a mapping and a set in an order of their own."""
    if isinstance(value, Mapping):
        pairs = [(inner(key), inner(entry, place=_in(place, key))) for key, entry in value.items()]
        return ("mapping", *sorted(pairs, key=lambda pair: repr(pair[0])))
    if isinstance(value, Set):
        return ("set", *sorted((inner(entry, place=place) for entry in value), key=repr))
    row = _as_array(value)
    return ("list", *(inner(entry, place=place) for entry in value)) if row is None else _of_array(row)


def _of_array(x: np.ndarray) -> Any:
    """The contents of an array of numbers, whether it was given as one or as lists."""
    if x.shape == ():
        return ("number", (float(x) + 0.0).hex())
    return ("numbers", x.shape, np.ascontiguousarray(x + 0.0, dtype=np.float64).tobytes())


def _as_array(value: Sequence[Any]) -> np.ndarray | None:
    """A list of numbers, nested or not, as an array; None if it is none."""
    if not value or not isinstance(value[0], int | float | list | tuple | np.ndarray | np.number):
        return None
    try:
        row = np.asarray(value)
    except ValueError:
        return None
    return row if row.dtype.kind in "iuf" and not any(isinstance(x, bool) for x in value) else None


def _of_object(value: Any, inner: Callable[..., Any], opaque: Opaque | None, place: str) -> Any:
    kind = inner(type(value), place=place)
    if is_dataclass(value):
        names = [one.name for one in fields(value) if one.compare]
        return (
            "object",
            kind,
            *((name, inner(getattr(value, name), place=_in(place, name))) for name in names),
        )
    try:
        made, arguments, *rest = value.__reduce_ex__(4)
    except Exception:
        return _unknown(value, opaque, place)
    if isinstance(made, types.FunctionType) and made is not new_object and not _is_known(made):
        return _unknown(value, opaque, place)
    state = [list(entry) if hasattr(entry, "__next__") else entry for entry in rest]
    return ("object", kind, inner(list(arguments), place=place), inner(state, place=place))


def _unknown(value: Any, opaque: Opaque | None, place: str) -> Any:
    return ("itself", id(value), _Kept(value)) if opaque is None else opaque(value, place)


class _Kept:
    """Keeps a value alive beside its identity, and is equal to others of its sort."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept)

    def __hash__(self) -> int:
        return 0


def _name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _is_known(value: Any) -> bool:
    """Whether another process finds a class or function by its name."""
    return value.__module__ != "__main__" and "<" not in value.__qualname__


def _in(place: str, key: Any) -> str:
    return f"{place} {key!r}" if place else str(key)
