"""Every error Catena raises on purpose, and its warning.

A message names who is at fault (body, joint, frame, file), says what was found, and what to do about it.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn


class CatenaError(Exception):
    """The root of all errors raised by Catena.

    Where states of a batch are at fault, `failed` may map the index of each of them to words, and `found` hold what was
    found for the batch, with NaN in the place of these.
    """

    failed: Mapping[tuple[int, ...], str] = MappingProxyType({})
    found: Any = None


def raise_for_states(errors: Mapping[tuple[int, ...], CatenaError], found: Any = None) -> None:
    """Raise the error of the first of the states of a batch that are at fault, if there are any, which tells about the
    others too."""
    for first in errors.values():
        first.failed, first.found = {index: str(error) for index, error in errors.items()}, found
        raise first


class ModelError(CatenaError, ValueError):
    """A description that no mechanism can have: a negative mass, a zero axis, a duplicate name."""


class UnknownNameError(CatenaError, KeyError):
    """A body, joint or frame that the mechanism does not have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class RenamedError(CatenaError, AttributeError):
    """A public name that has another name now, which the message tells."""


def renamed(where: str, names: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module that users know as `where`: it refuses names {old: new} that are others now
    with the new one."""

    def missing(name: str) -> NoReturn:
        if name in names:
            raise RenamedError(f"{where}.{name} is called {where}.{names[name]} now.", name=name)
        raise AttributeError(f"module {where!r} has no attribute {name!r}", name=name)

    return missing


class FormatError(CatenaError, ValueError):
    """A model file that cannot be read or written; the message starts with the file and the line."""


class FormulaError(CatenaError, ValueError):
    """A formula that cannot be read or computed: `reason` says why, and `column` (from 0) where in its `text`."""

    reason: str = ""
    text: str = ""
    column: int = 0


class PlanError(CatenaError, ValueError):
    """A mechanism that cannot be planned: a body that nothing connects, a cut that leaves one behind."""


class StateError(CatenaError, ValueError):
    """A state that does not fit the system: a wrong shape, a NaN, a quaternion that is not of unit length."""


class StaleSystemError(CatenaError):
    """A system whose mechanism was edited after it was planned."""


class SingularDynamicsError(CatenaError, ArithmeticError):
    """Accelerations that are not determined, because some motion moves no mass."""


class LoopError(CatenaError):
    """A request that the loops of the mechanism do not allow. Where goals of frames were asked for, `reach` tells what
    was found for all of them.

    Where loops cannot be closed at all, `gaps` maps those at fault to what is left of them, (rad, m), at the
    `configuration` (nq,) that comes nearest, and `repair` maps joints to the poses `in_parent` that would close them.
    """

    reach: object = None
    gaps: Mapping[str, tuple[float, float]] | None = None
    configuration: Any = None
    repair: Mapping[str, Any] | None = None


class SimulationError(CatenaError, RuntimeError):
    """A motion that cannot be followed further; `trajectory` holds it so far."""

    trajectory: object = None


class KernelError(CatenaError, RuntimeError):
    """A step that cannot be compiled."""


class EquationsError(CatenaError, ValueError):
    """Equations that cannot be written as asked: too large to read, or with branches that depend on the state."""


class CatenaWarning(UserWarning):
    """Something about a result that its reader should know before relying on it."""


def warn(text: str) -> None:
    """Give a CatenaWarning about the line outside of Catena that led here, however deep inside it was noticed."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, CatenaWarning, stacklevel=level)
