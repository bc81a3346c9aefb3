"""Controllers told as data: what to make and with which arguments, for whatever system there is when a run begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from catena.errors import StateError
from catena.given import shown
from catena.simulation.control import Controller, Sum
from catena.simulation.scenario.formulas import as_followed
from catena.simulation.scenario.frozen import FrozenMapping, frozen
from catena.system import System

# Arguments that are what joints or frames should follow.
FOLLOWED = ("reference", "path")


class Described:
    """A controller that is made when its run begins: `make(system, *arguments, **keywords)`, where `make` is a class of
    controllers, such as `ct.PID`, or a function that returns one.

    Unlike a controller, which belongs to one system, it is plain data: it can be compared, sent to another process and
    written to a file, and where events change the structure every structure gets one of its own. References may be
    formulas over t, "0.3 * sin(2 * t)". A `make` with the arguments `initial` or `parameters` gets the positions of
    joints at the start and the named numbers of the scenario by these.
    """

    def __init__(self, make: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        if not callable(make):
            raise StateError(f"Described: {shown(make)} cannot be called; give a controller such as ct.PID.")
        self.make = make
        self.arguments: tuple[Any, ...] = frozen(arguments)
        self.keywords: Mapping[str, Any] = FrozenMapping(keywords)
        try:
            signature = inspect.signature(make)
        except (TypeError, ValueError):
            signature = None
        if signature is None:
            return
        try:
            # Whoever makes the controller gives the rest.
            more = {name: None for name in ("initial", "parameters") if name in signature.parameters}
            signature.bind(None, *arguments, **{**more, **keywords})
        except TypeError as error:
            raise StateError(
                f"Described: {self.name} does not take these arguments: {error}; it is called with the system first, "
                f"{self.name}{signature}."
            ) from None

    @property
    def name(self) -> str:
        """Return the name of what is made."""
        return getattr(self.make, "__name__", type(self.make).__name__)

    @property
    def parts(self) -> tuple[Described, ...]:
        """Return the descriptions whose controllers are added, itself unless it is a sum."""
        return self.arguments if self.make is together else (self,)

    def on(self, system: System, initial: Mapping[str, Any], parameters: Mapping[str, float]) -> Any:
        """Return the controller of a system, for positions of joints at the start and named numbers. Joints that were
        there at the start, and are gone or locked by now, are left out; None if none is left to follow anything."""
        signature = inspect.signature(self.make)
        known = {"initial": initial, "parameters": parameters}
        more = {name: value for name, value in known.items() if name in signature.parameters}
        arguments = [_still_there(value, system, initial) for value in self.arguments]
        keywords = {name: _still_there(value, system, initial) for name, value in self.keywords.items()}
        if any(
            given and not left for given, left in zip(self.arguments, arguments) if isinstance(given, Mapping)
        ):
            return None
        bound = signature.bind(system, *arguments, **{**more, **keywords})
        for name in FOLLOWED:
            if name in bound.arguments:
                bound.arguments[name] = as_followed(bound.arguments[name], parameters, f"{self.name}: {name}")
        return self.make(*bound.args, **bound.kwargs)

    def __repr__(self) -> str:
        listed = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.keywords.items())]
        return f"{self.name}({', '.join(listed)})"


def together(
    system: System, *parts: Described, initial: Mapping[str, Any], parameters: Mapping[str, float]
) -> Controller:
    """Return the sum of described controllers."""
    made = [part.on(system, initial, parameters) for part in parts]
    return Sum(*(part for part in made if part is not None))


def _still_there(given: Any, system: System, initial: Mapping[str, Any]) -> Any:
    """A mapping by joint without the joints that carried coordinates at the start and do so no more."""
    if not isinstance(given, Mapping):
        return given
    return {name: value for name, value in given.items() if name not in initial or name in system.joints}
