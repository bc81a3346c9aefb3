"""Functions of a system: what is given for it is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from catena.errors import StateError
from catena.validation import shown

Function = TypeVar("Function", bound=Callable[..., Any])


def of_system(function: Function) -> Function:
    """Let a function refuse whatever is given for a system and is none."""

    @wraps(function)
    def asked(system: Any, *given: Any, **named: Any) -> Any:
        from catena.system.system import System

        if not isinstance(system, System):
            raise StateError(f"system is {shown(system)}; give a system, such as m.system().")
        return function(system, *given, **named)

    return asked  # type: ignore[return-value]
