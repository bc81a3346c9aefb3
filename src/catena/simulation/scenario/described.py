"""Controllers told as data: what to make and with which arguments, for whatever system there is when a run begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.control import Controller, Sum
from catena.simulation.problem import Control
from catena.simulation.scenario.formulas import as_followed
from catena.simulation.scenario.frozen import FrozenMapping, frozen
from catena.system import System
from catena.validation import shown

# Arguments by joint without which a controller has nothing to do.
FOLLOWED = ("reference", "forces")
# Arguments that whoever makes the controller knows.
MORE = ("initial", "parameters")
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Described:
    """A controller that is made when its run begins: `make(system, *arguments, **keywords)`, where `make` is a class of
    controllers, such as `ct.PID`, or a function that returns one.

    Unlike a controller, which belongs to one system, it is plain data: it can be compared, sent to another process and
    written to a file, and where events change the structure every structure gets one of its own. References may be
    formulas over t, "0.3 * sin(2 * t)". A `make` with the arguments `initial` or `parameters` gets the positions of
    joints at the start and the named numbers of the scenario by these.
    """

    def __init__(self, make: Callable[..., Control], *arguments: Any, **keywords: Any) -> None:
        if not callable(make):
            raise StateError(f"Described: {shown(make)} cannot be called; give a controller such as ct.PID.")
        self.make = make
        try:
            signature = inspect.signature(make)
            # Whoever makes the controller gives the system and the rest.
            more = {name: None for name in MORE if name in signature.parameters}
            bound = signature.bind(None, *arguments, **{**more, **keywords})
        except (TypeError, ValueError) as error:
            raise StateError(
                f"Described: {self.name} does not take these arguments: {error}; it is called with the system first."
            ) from None
        sorts = {name: one.kind for name, one in signature.parameters.items()}
        # Arguments are known by their names, however they were given.
        named = [name for name in list(bound.arguments)[1:] if sorts[name] in NAMED]
        by_name = {name: bound.arguments[name] for name in named if name not in MORE or name in keywords}
        rest = next((name for name, sort in sorts.items() if sort is inspect.Parameter.VAR_KEYWORD), "")
        self.keywords: Mapping[str, Any] = FrozenMapping({**by_name, **bound.arguments.get(rest, {})})
        several = next((name for name, sort in sorts.items() if sort is inspect.Parameter.VAR_POSITIONAL), "")
        self.arguments: tuple[Any, ...] = frozen(bound.arguments.get(several, ()))

    @property
    def name(self) -> str:
        """Return the name of what is made."""
        return getattr(self.make, "__name__", type(self.make).__name__)

    @property
    def parts(self) -> tuple[Described, ...]:
        """Return the descriptions whose controllers are added, itself unless it is a sum."""
        return self.arguments if self.make is together else (self,)

    def on(
        self, system: System, initial: Mapping[str, ArrayLike], parameters: Mapping[str, float]
    ) -> Control | None:
        """Return the controller of a system, for positions of joints at the start and named numbers. Joints that were
        there at the start, and are gone or locked by now, are left out; None if none is left to follow anything."""
        wanted = inspect.signature(self.make).parameters
        arguments = {name: _still_there(value, system, initial) for name, value in self.keywords.items()}
        for name in FOLLOWED:
            if self.keywords.get(name) and not arguments[name]:
                return None
        for name in ("reference", "path"):
            if name in arguments:
                arguments[name] = as_followed(arguments[name], parameters, f"{self.name}: {name}")
        known = {"initial": initial, "parameters": parameters}
        more = {name: known[name] for name in MORE if name in wanted and name not in arguments}
        return self.make(system, *self.arguments, **arguments, **more)

    def __repr__(self) -> str:
        listed = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.keywords.items())]
        return f"{self.name}({', '.join(listed)})"


def together(
    system: System, *parts: Described, initial: Mapping[str, ArrayLike], parameters: Mapping[str, float]
) -> Controller:
    """Return the sum of described controllers."""
    made = [part.on(system, initial, parameters) for part in parts]
    return Sum(*(part for part in made if part is not None))


def _still_there(argument: Any, system: System, initial: Mapping[str, ArrayLike]) -> Any:
    """A mapping by joint without the joints that carried coordinates at the start and do so no more."""
    if not isinstance(argument, Mapping):
        return argument
    return {name: value for name, value in argument.items() if name not in initial or name in system.joints}
