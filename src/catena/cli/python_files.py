"""Functions in a user's Python file, as `file.py:function`."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from catena.cli.calls import Call, read_call
from catena.cli.faults import UsageError, in_words
from catena.errors import UnknownNameError
from catena.mechanism.validation import known

# The colon after .py, because a path may have one before it: C:\robots\arm.py:make
_REFERENCE = re.compile(r"(?P<file>.+\.py):(?P<call>.+)", re.DOTALL | re.IGNORECASE)


def read_reference(text: str) -> tuple[Path, Call] | None:
    """The file and the call in `file.py:function(arguments)`; None if the text is of another form."""
    if text.lower().endswith(".py"):
        raise UsageError(f"{text}: which function of the file? Write {text}:function")
    found = _REFERENCE.fullmatch(text)
    return (Path(found["file"]), read_call(found["call"])) if found else None


def find(file: Path, name: str) -> Any:
    """What a Python file calls `name`."""
    module = _execute(file)
    names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    try:
        known("function", name, {*names, *(n for n in vars(module) if n == name)}, str(file))
    except UnknownNameError as error:
        raise UsageError(str(error)) from None
    return getattr(module, name)


def find_modules_beside(file: Path) -> None:
    """Let a file, or a model file that names joint kinds of the user's, import what lies in its folder."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _execute(file: Path) -> ModuleType:
    """Run a Python file as a module of its own; modules beside it can be imported, as when it is run itself."""
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file: check the path")
    path = file.resolve()
    name = f"catena_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up.
    sys.modules[name] = module
    find_modules_beside(file)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(in_words(error, file)) from error
    return module
