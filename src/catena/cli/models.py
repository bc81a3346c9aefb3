"""From what a user types for MODEL to a mechanism: a model file, `file.py:function`, or a name of the gallery.

The gallery are the shipped generators of mechanisms. A name may have arguments, as in `n_four_bars(40)` or
`arm.py:make(3, dof=7)`; nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from catena.cli.console import UsageError, in_words
from catena.errors import UnknownNameError
from catena.formats import load
from catena.formats.files import FORMATS
from catena.formats.kinds import import_kind, is_reference
from catena.mechanism import Mechanism, generators
from catena.mechanism.generators import USUAL
from catena.mechanism.validation import known

# The colon after .py, because a path may have one before it: C:\robots\arm.py:make
_REFERENCE = re.compile(r"(?P<file>.+\.py):(?P<call>.+)", re.DOTALL | re.IGNORECASE)


def resolve(
    text: str,
    kinds: Sequence[str] = (),
    search: Sequence[str] = (),
    parameters: Mapping[str, float | str] | None = None,
) -> Mechanism:
    """Return the mechanism that MODEL stands for. It belongs to the caller alone and may be edited.

    `kinds` are names "module:Class" that a model file may use, and `search` folders that it may reach. `parameters` are
    values of named numbers in a model file.
    """
    reference = read_reference(text)
    if reference is not None:
        _without_parameters(text, parameters)
        return _from_python(*reference, text)
    path = Path(text)
    if path.suffix.lower() in FORMATS or os.path.isfile(path) or any(mark in text for mark in "/\\"):
        return load(path, search=search, kinds=allowed(path, kinds), parameters=parameters)
    _without_parameters(text, parameters)
    return _from_gallery(read_call(text), text)


def _without_parameters(text: str, parameters: Mapping[str, float | str] | None) -> None:
    if parameters:
        raise UsageError(
            f"{text}: --set is for parameters of model files: give arguments, such as arm(3, dof=7)"
        )


def gallery_names() -> tuple[str, ...]:
    """Return the generators that return a mechanism, in alphabetical order."""
    return tuple(name for name in sorted(generators.__all__) if _returns_mechanism(_generator(name)))


def gallery_signature(name: str) -> str:
    """Return how a generator is called, with what every argument is unless it is given."""
    parameters = list(inspect.signature(_generator(name)).parameters.values())
    usual = USUAL.get(name, ())
    values = [*usual, *(parameter.default for parameter in parameters[len(usual) :])]
    inside = ", ".join(map(_parameter, (parameter.name for parameter in parameters), values))
    return f"{name}({inside})" if inside else name


def gallery_about(name: str) -> str:
    """Return the first sentence about a mechanism, on one line."""
    text = " ".join((inspect.getdoc(_generator(name)) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


@dataclass(frozen=True)
class Call:
    """A name, and the arguments in its parentheses; `called` tells whether there were any parentheses."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    called: bool = False

    def on(self, function: Callable[..., Any], *before: Any) -> Any:
        """Call a function with the arguments, after those in `before`; raise a UsageError if it does not take
        them."""
        arguments = (*before, *self.arguments)
        try:
            inspect.signature(function).bind(*arguments, **self.keywords)
        except TypeError as error:
            raise UsageError(f"{self.name}{inspect.signature(function)}: {error}") from None
        return function(*arguments, **self.keywords)


def read_call(text: str) -> Call:
    """Read `name` or `name(arguments)`."""
    if "(" not in text:
        return Call(text.strip())
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise UsageError(
            f"{text!r} is not a name with arguments: write it like n_four_bars(40) or arm(3, dof=7)"
        )
    if any(keyword.arg is None for keyword in tree.keywords):
        raise UsageError(f"{text!r}: ** is not possible here: name the arguments one by one")
    keywords = {str(keyword.arg): _value(text, keyword.value) for keyword in tree.keywords}
    return Call(tree.func.id, tuple(_value(text, argument) for argument in tree.args), keywords, True)


def read_reference(text: str) -> tuple[Path, Call] | None:
    """Return the file and the call in `file.py:function(arguments)`; None if the text is of another form."""
    if text.lower().endswith(".py"):
        raise UsageError(f"{text}: which function of the file? Write {text}:function")
    found = _REFERENCE.fullmatch(text)
    return (Path(found["file"]), read_call(found["call"])) if found else None


def find_function(file: Path, name: str) -> Any:
    """Return what a Python file calls `name`; the file is run for it."""
    module = _execute(file)
    names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    try:
        known("function", name, {*names, *(n for n in vars(module) if n == name)}, str(file))
    except UnknownNameError as error:
        raise UsageError(str(error)) from None
    return getattr(module, name)


def allowed(path: Path, kinds: Sequence[str]) -> Sequence[str]:
    """Return the kinds that a file may use, with their modules imported, which may lie beside it. Nothing else is ever
    found there: a stranger's folder may hold modules of any name."""
    for kind in kinds:
        if is_reference(kind):
            import_kind(kind, path.resolve().parent)
    return kinds


def _from_python(file: Path, call: Call, text: str) -> Mechanism:
    function = find_function(file, call.name)
    if not callable(function):
        raise UsageError(f"{text}: {call.name!r} is {function!r}: name a function that returns a Mechanism")
    try:
        mechanism = call.on(function)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    except Exception as error:
        raise UsageError(in_words(error, file)) from error
    if not isinstance(mechanism, Mechanism):
        raise UsageError(f"{text} gave {type(mechanism).__name__}: it must return a catena.Mechanism")
    return mechanism.copy()


def _from_gallery(call: Call, text: str) -> Mechanism:
    if call.name not in gallery_names():
        raise UsageError(_unknown(call.name))
    try:
        return _generate(call)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{text}: {in_words(error)}") from error


def _unknown(name: str) -> str:
    """Return what to say about a name that is neither a file nor in the gallery."""
    files = [entry.name for entry in Path().iterdir() if entry.suffix.lower() in FORMATS]
    close = get_close_matches(name, [*gallery_names(), *files], n=3, cutoff=0.6)
    advice = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return (
        f"{name!r} is neither a model file nor in the gallery: {advice}The gallery has {', '.join(gallery_names())}; "
        "`catena models` describes them"
    )


def _generate(call: Call) -> Mechanism:
    """Return the mechanism that a call asks for."""
    if not call.called:
        call = Call(call.name, USUAL.get(call.name, ()))
    mechanism: Mechanism = call.on(_generator(call.name))
    return mechanism


def _generator(name: str) -> Callable[..., Any]:
    """Return the function behind a name."""
    function: Callable[..., Any] = getattr(generators, name)
    return function


def _returns_mechanism(function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation in (Mechanism, Mechanism.__name__)


def _parameter(name: str, value: Any) -> str:
    if value is inspect.Parameter.empty:
        return name
    return f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"


def _value(text: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise UsageError(
            f"{text!r}: {ast.unparse(node)} is not a plain value: give numbers, 'texts', True, False, None, or "
            "lists of these"
        ) from None


def _find_modules_beside(file: Path) -> None:
    """Let a Python file import what lies in its folder."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _execute(file: Path) -> ModuleType:
    """Run a Python file as a module of its own; modules beside it can be imported, as when it is run itself."""
    if not os.path.isfile(file):
        raise UsageError(f"{file}: there is no such file: check the path")
    path = file.resolve()
    name = f"catena_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up.
    sys.modules[name] = module
    _find_modules_beside(file)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(in_words(error, file)) from error
    return module
