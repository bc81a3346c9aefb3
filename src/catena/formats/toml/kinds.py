"""Joint kinds in model files: the built-in ones by a word and their arguments, a user's by "module:Class".

A built-in kind has its arguments among the keys of the joint; a user's has them in the table `arguments`,
because their names are not known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.kinds import Kinds, imported, reference_of, usable
from catena.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Sdof,
    Spherical,
    Universal,
)
from catena.joints.axes import NAMED

BUILT_IN: dict[str, tuple[type[JointKind], tuple[str, ...]]] = {
    "fixed": (Fixed, ()),
    "revolute": (Revolute, ("axis",)),
    "prismatic": (Prismatic, ("axis",)),
    "helical": (Helical, ("axis", "pitch")),
    "cylindrical": (Cylindrical, ("axis",)),
    "universal": (Universal, ("axis1", "axis2")),
    "spherical": (Spherical, ()),
    "planar": (Planar, ("normal",)),
    "free": (Free, ()),
    "sdof": (Sdof, ("motions",)),
}
"""The class of each word and the keys of its arguments."""

AXES = ("axis", "axis1", "axis2", "normal")
ARGUMENTS = "arguments"

_WORDS = {made: word for word, (made, _) in BUILT_IN.items()}


def keys_of(word: str) -> tuple[str, ...]:
    """Return the keys that the arguments of a kind stand under."""
    return (ARGUMENTS,) if ":" in word else BUILT_IN[word][1]


def make_kind(word: str, arguments: Mapping[str, Any], kinds: Kinds) -> JointKind:
    """Return the kind of a word or "module:Class" with its arguments, those of the table for a user's kind."""
    if ":" not in word:
        made, _ = BUILT_IN[word]
        return Sdof(*map(_frozen, arguments["motions"])) if made is Sdof else made(**arguments)
    return make_users(word, arguments, JointKind, kinds)


def make_users(reference: str, arguments: Mapping[str, Any], base: type[Any], kinds: Kinds) -> Any:
    """Return the kind that "module:Class" names with its arguments; it is one of `kinds` and derives from `base`."""
    return make(reference, kinds.find(reference, base), arguments)


def make(word: str, made: type[Any], arguments: Mapping[str, Any]) -> Any:
    """Return an instance of a class of kinds; lists become tuples, because kinds are compared and hashed."""
    try:
        return made(**{key: _frozen(value) for key, value in arguments.items()})
    except CatenaError:
        raise
    except Exception as error:
        raise FormatError(f"kind {word!r} does not accept its arguments: {error}") from error


def describe_kind(kind: JointKind) -> tuple[str, dict[str, Any]]:
    """Return the word of a kind and its arguments, in the order they are written; the reverse of `make_kind`."""
    word = _WORDS.get(type(kind))
    if word is None:
        return describe_users(kind, JointKind)
    if isinstance(kind, Sdof):
        return word, {"motions": [step if isinstance(step, str) else list(step) for step in kind.sequence]}
    return word, {key: _axis(key, getattr(kind, key)) for key in BUILT_IN[word][1]}


def _axis(key: str, value: Any) -> Any:
    """Return a coordinate axis by its letter, everything else as it is."""
    if key not in AXES:
        return value
    return next((letter for letter, direction in NAMED.items() if direction == value), value)


def describe_users(kind: Any, base: type[Any]) -> tuple[str, dict[str, Any]]:
    """Return "module:Class" of a user's kind, which derives from `base`, and its arguments."""
    made = type(kind)
    reference = reference_of(made)
    if made.__module__ == "__main__" or "<locals>" in made.__qualname__:
        raise FormatError(
            f"kind {made.__name__!r} cannot be imported by others: define it in a module of its own"
        )
    if usable(reference, imported(reference), base) is not made:
        what = base.__name__.removesuffix("Kind").lower()
        raise FormatError(
            f"kind {reference!r} names another class than the {what} has: give them different names"
        )
    if not is_dataclass(kind):
        raise FormatError(f"kind {reference!r} does not tell its arguments: make it a frozen dataclass")
    arguments = {
        field.name: _plain(reference, getattr(kind, field.name)) for field in fields(kind) if field.init
    }
    try:
        same = bool(make(reference, made, arguments) == kind)
    except (CatenaError, ValueError):
        same = False
    if not same:
        raise FormatError(f"kind {reference!r} cannot be made again from its fields {list(arguments)}")
    return reference, arguments


def _plain(reference: str, value: Any) -> Any:
    """Return a value of a user's field as numbers, strings and lists of them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(reference, entry) for entry in value]
    raise FormatError(
        f"kind {reference!r} has the argument {value!r}: a file holds numbers, strings and lists of them"
    )


def _frozen(value: Any) -> Any:
    """Lists as tuples, because kinds are compared and hashed."""
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value
