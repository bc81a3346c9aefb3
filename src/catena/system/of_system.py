"""Functions of a system: what is given for it is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from catena.errors import StateError
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System

Function = TypeVar("Function", bound=Callable[..., Any])


def of_system(function: Function) -> Function:
    """Let a function refuse whatever is given for a system and is none."""

    @wraps(function)
    def asked(system: Any, *arguments: Any, **named: Any) -> Any:
        from catena.system.system import System

        if not isinstance(system, System):
            raise StateError(f"system is {shown(system)}; give a system, such as m.system().")
        return function(system, *arguments, **named)

    return asked  # type: ignore[return-value]


def as_system(value: Any, who: str) -> System:
    """Return a system, or the complaint that it is none."""
    from catena.system.system import System

    if not isinstance(value, System):
        raise StateError(f"{who} needs a system, found {shown(value)}; plan one with m.system().")
    return value


def as_one_system(value: Any, who: str) -> System:
    """Return the system of one mechanism, or the complaint that it is none, or that its numbers differ from state to
    state."""
    system = as_system(value, who)
    if system.variants.parameters:
        raise StateError(
            f"{who} is for one mechanism, and the parameters {', '.join(system.variants.parameters)} differ from state "
            f"to state; ask for one of them, s.vary(parameters).state(k)."
        )
    return system
