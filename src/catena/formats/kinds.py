"""Kinds of joints and forces of a user's own that a file may name.

A file says "module:Class". Importing a module runs it, so a class comes only from the caller: handed over itself, or
allowed by its name and then imported. Nothing else is looked up.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Any

from catena.errors import FormatError
from catena.forces import ForceKind
from catena.joints import JointKind
from catena.validation import entries, shown

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def reference_of(made: type[Any]) -> str:
    """Return "module:Class" of a class."""
    return f"{made.__module__}:{made.__qualname__}"


def is_reference(text: str) -> bool:
    """Return whether a text has the form "module:Class"."""
    return _REFERENCE.fullmatch(text) is not None


class Kinds:
    """The classes that a file may use besides the built-in ones: given themselves, or by "module:Class"."""

    def __init__(self, kinds: Iterable[type | str] = ()) -> None:
        try:
            listed = entries((kinds,) if isinstance(kinds, type) else kinds)
        except ValueError:
            listed = (kinds,)
        self._classes: dict[str, type[Any]] = {}
        self._allowed: set[str] = set()
        for one in listed:
            if isinstance(one, type) and issubclass(one, JointKind | ForceKind):
                self._classes[reference_of(one)] = one
            elif isinstance(one, str) and _REFERENCE.fullmatch(one):
                self._allowed.add(one)
            else:
                raise FormatError(
                    f"kinds hold {shown(one)}: give classes of joints or forces, or names such as "
                    "'rails:ParabolicRail'"
                )

    def find(self, reference: str, base: type[Any]) -> type[Any]:
        """Return the class that "module:Class" names, which must derive from `base`."""
        if not _REFERENCE.fullmatch(reference):
            raise FormatError(
                f"kind {shown(reference)} is not a name: give 'module:Class', such as 'rails:ParabolicRail'"
            )
        if reference in self._classes:
            return usable(reference, self._classes[reference], base)
        if reference not in self._allowed:
            name = reference.rpartition(":")[2].rpartition(".")[2]
            raise FormatError(
                f"kind {reference!r} is not built in, and nothing is imported because a file says so: hand the "
                f"class over, load(path, kinds=[{name}]), or allow its name, kinds=[{reference!r}]"
            )
        import_kind(reference)
        return usable(reference, imported(reference), base)


def import_kind(reference: str, beside: Path | None = None) -> None:
    """Import the module of "module:Class", which the caller has allowed. Where Python does not find it elsewhere it may
    lie in the folder `beside`, which is looked at for this module and what it imports, and last."""
    module = reference.partition(":")[0]
    folder = [] if beside is None else [str(beside)]
    sys.path += folder
    try:
        import_module(module)
    except Exception as error:
        raise FormatError(
            f"kind {reference!r}: module {module!r} cannot be imported ({error}): "
            "install it, or run where Python finds it"
        ) from error
    finally:
        if folder and folder[0] in sys.path:
            # The last one: it may have been there before.
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder[0])]


def imported(reference: str) -> Any:
    """Return what "module:Class" names in a module that is imported already."""
    module, _, name = reference.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise FormatError(f"kind {reference!r}: module {module!r} has no class {name!r}: check the name")
    return found


def usable(reference: str, found: Any, base: type[Any]) -> type[Any]:
    """Return a class that is a kind of joint, or of what else derives from `base`, and can be made."""
    if not (isinstance(found, type) and issubclass(found, base)):
        what = base.__name__.removesuffix("Kind").lower()
        raise FormatError(
            f"kind {reference!r} is no kind of {what}: name a subclass of catena.{base.__name__}"
        )
    if isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise FormatError(f"kind {reference!r} does not define {missing}: it cannot be used yet")
    return found
