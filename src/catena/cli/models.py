"""From what a user types for MODEL to a mechanism: a model file, `file.py:function`, or a name of the gallery."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from catena.cli import gallery
from catena.cli.calls import Call, read_call
from catena.cli.faults import UsageError, in_words
from catena.cli.python_files import find, find_modules_beside, read_reference
from catena.formats import load
from catena.formats.files import FORMATS
from catena.mechanism import Mechanism


def resolve(text: str, kinds: Sequence[str] = (), search: Sequence[str] = ()) -> Mechanism:
    """The mechanism that MODEL stands for. It belongs to the caller alone and may be edited.

    `kinds` are names "module:Class" that a model file may use, and `search` folders that it may reach.
    """
    reference = read_reference(text)
    if reference is not None:
        return _from_python(*reference, text)
    path = Path(text)
    if path.suffix.lower() in FORMATS or path.is_file() or any(mark in text for mark in "/\\"):
        return load(path, search=search, kinds=allowed(path, kinds))
    return _from_gallery(read_call(text), text)


def allowed(path: Path, kinds: Sequence[str]) -> Sequence[str]:
    """The kinds that a file may use. Modules beside it are found only if one is allowed: a stranger's folder may hold
    modules of any name."""
    if kinds:
        find_modules_beside(path)
    return kinds


def _from_python(file: Path, call: Call, text: str) -> Mechanism:
    function = find(file, call.name)
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
    if call.name not in gallery.names():
        raise UsageError(_unknown(call.name))
    try:
        return gallery.make(call)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{text}: {in_words(error)}") from error


def _unknown(name: str) -> str:
    """What to say about a name that is neither a file nor in the gallery."""
    files = [entry.name for entry in Path().iterdir() if entry.suffix.lower() in FORMATS]
    close = get_close_matches(name, [*gallery.names(), *files], n=3, cutoff=0.6)
    advice = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return (
        f"{name!r} is neither a model file nor in the gallery: {advice}The gallery has {', '.join(gallery.names())}; "
        "`catena models` describes them"
    )
