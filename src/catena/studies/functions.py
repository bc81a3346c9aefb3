"""What functions from Python consist of, so that a study with some in it is found again and one whose functions have
changed is another one.

A function counts by its code, not by its name or where it stands: by its instructions, constants, defaults, and what
it takes from around it, functions among that likewise. Functions and modules of installed packages count by name, and
modules of the user's own by their text. Code differs between versions of Python, and so does what is found here.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.scenario.contents import contents, refuse
from catena.system import System


def by_code() -> Callable[[Any, str], Any]:
    """Return what stands for values that have no contents, as `contents` asks for it: the code of functions; others
    are refused."""
    seen: list[Any] = []

    def opaque(value: Any, place: str) -> Any:
        if isinstance(value, functools.partial):
            return (
                "partial",
                inner(value.func, place),
                inner([*value.args], place),
                inner(value.keywords, place),
            )
        if isinstance(value, types.MethodType):
            return ("method", inner(value.__func__, place), inner(value.__self__, place))
        if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType):
            return ("method", value.__name__, inner(value.__self__, place))
        if isinstance(value, np.ufunc | types.BuiltinFunctionType):
            return ("function", getattr(value, "__module__", ""), value.__name__)
        if isinstance(value, System):
            return ("system", inner(value.mechanism, place), value.joints, value.loops)
        if not isinstance(value, types.FunctionType):
            return refuse(value, place)
        if _is_installed(value.__code__.co_filename):
            return ("function", value.__module__, value.__qualname__)
        if any(value is one for one in seen):
            # A function that calls itself, or one that calls it.
            return ("function", [value is one for one in seen].index(True))
        seen.append(value)
        around = [_cell(cell, value, place) for cell in value.__closure__ or ()]
        named = {
            name: value.__globals__[name]
            for name in sorted(_names(value.__code__))
            if name in value.__globals__
        }
        return (
            "code", sys.version_info[:2], _of_code(value.__code__, place),
            inner([*(value.__defaults__ or ())], place), inner(value.__kwdefaults__ or {}, place),
            tuple(inner(x, place) for x in around), tuple((name, inner(x, place)) for name, x in named.items()),
        )  # fmt: skip

    def inner(value: Any, place: str) -> Any:
        if isinstance(value, types.ModuleType):
            return _of_module(value)
        if isinstance(value, complex | types.EllipsisType | range | slice):
            return ("constant", repr(value))
        return contents(value, opaque, place)

    def _of_code(code: types.CodeType, place: str) -> Any:
        constants = [
            _of_code(x, place) if isinstance(x, types.CodeType) else inner(x, place) for x in code.co_consts
        ]
        return (
            code.co_code,
            tuple(constants),
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_flags,
        )

    return opaque


def _names(code: types.CodeType) -> set[str]:
    """Return the names that code, and code within it, may take from its module."""
    inside = [x for x in code.co_consts if isinstance(x, types.CodeType)]
    return set(code.co_names).union(*(_names(x) for x in inside))


def _cell(cell: Any, function: types.FunctionType, place: str) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise StateError(f"{place} is {function.__qualname__}, which takes what is not there yet.") from None


def _of_module(module: types.ModuleType) -> Any:
    """Return what stands for a module: the name of an installed one, and the text of another."""
    file = getattr(module, "__file__", None)
    if file is None or _is_installed(file) or not file.endswith(".py"):
        return ("module", module.__name__)
    try:
        return ("module", module.__name__, hashlib.sha256(Path(file).read_bytes()).hexdigest())
    except OSError:
        return ("module", module.__name__)


@functools.cache
def _places() -> tuple[Path, ...]:
    own = Path(__file__).resolve().parents[1]
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (own, *(Path(place).resolve() for place in folders if place))


def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package, or to Catena."""
    found = Path(file)
    return file.startswith("<frozen") or any(found.resolve().is_relative_to(place) for place in _places())
