"""The gallery: the shipped generators of mechanisms, which can be called by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from catena.cli.calls import Call
from catena.mechanism import Mechanism, generators

# What a name without parentheses stands for where the generator insists on an argument.
USUAL: dict[str, tuple[Any, ...]] = {
    "arms_on_object": (2,),
    "chain": (6,),
    "n_four_bars": (2,),
    "nested_loops": (2,),
    "random_mechanism": (0,),
    "scissor_lift": (3,),
    "tree": (15,),
}


def names() -> tuple[str, ...]:
    """The generators that return a mechanism, in alphabetical order."""
    return tuple(name for name in sorted(generators.__all__) if _returns_mechanism(generator(name)))


def generator(name: str) -> Callable[..., Any]:
    """The function behind a name."""
    function: Callable[..., Any] = getattr(generators, name)
    return function


def make(call: Call) -> Mechanism:
    """The mechanism that a call asks for."""
    if not call.called:
        call = Call(call.name, USUAL.get(call.name, ()))
    mechanism: Mechanism = call.on(generator(call.name))
    return mechanism


def signature(name: str) -> str:
    """How a generator is called, with what every argument is unless it is given."""
    parameters = list(inspect.signature(generator(name)).parameters.values())
    usual = USUAL.get(name, ())
    values = [*usual, *(parameter.default for parameter in parameters[len(usual) :])]
    inside = ", ".join(map(_parameter, (parameter.name for parameter in parameters), values))
    return f"{name}({inside})" if inside else name


def about(name: str) -> str:
    """The first sentence about a mechanism, on one line."""
    text = " ".join((inspect.getdoc(generator(name)) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def _returns_mechanism(function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation in (Mechanism, Mechanism.__name__)


def _parameter(name: str, value: Any) -> str:
    if value is inspect.Parameter.empty:
        return name
    return f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
