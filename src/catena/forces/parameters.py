"""Numbers of a description that are data of the compiled code, told by the annotations of its fields."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import Field, fields, is_dataclass
from typing import Any, Self

import numpy as np

from catena.errors import ModelError
from catena.spatial import is_symbolic
from catena.spatial.scalars import Scalar
from catena.validation import real_array, shown


class Parametric:
    """A frozen dataclass whose fields annotated `float` or `tuple[float, ...]` are parameters, and whose other fields
    belong to the code.

    A field may hold None or an empty tuple where there is nothing: then it is part of the code, which computes nothing
    for it. A field that holds another parametric object has that one's parameters.
    """

    @property
    def signature(self) -> tuple[Hashable, ...]:
        """The name of the code this object needs: those with equal signatures differ only in `params()`."""
        parts: list[Hashable] = [f"{type(self).__module__}.{type(self).__qualname__}"]
        for one, value in self._parts():
            if isinstance(value, Parametric):
                parts += [one.name, *value.signature]
            elif _is_data(one, value):
                parts.append(f"{one.name}[{len(value)}]" if isinstance(value, tuple) else one.name)
            else:
                parts.append(f"{one.name}={value!r}")
        return tuple(parts)

    def params(self) -> tuple[float, ...]:
        """Return the numbers that are data to the compiled code, such as a stiffness."""
        found: list[float] = []
        for one, value in self._parts():
            if isinstance(value, Parametric):
                found += value.params()
            elif _is_data(one, value):
                found += value if isinstance(value, tuple) else (value,)
        return tuple(found)

    def named_params(self) -> dict[str, float | tuple[float, ...]]:
        """Return the fields of this object itself that are parameters, by name; those that hold nothing are left
        out."""
        return {one.name: value for one, value in self._parts() if _is_data(one, value)}

    def with_params(self, params: Sequence[Scalar]) -> Self:
        """Return this object with the entries of `params()` replaced by these numbers or symbols."""
        expected = len(self.params())
        if len(params) != expected:
            raise ModelError(
                f"{type(self).__name__} has {expected} parameters, but {len(params)} were given."
            )
        changed, rest = copy(self), list(params)
        for one, value in self._parts():
            if isinstance(value, Parametric):
                count = len(value.params())
                object.__setattr__(changed, one.name, value.with_params(rest[:count]))
            elif _is_data(one, value):
                count = len(value) if isinstance(value, tuple) else 1
                object.__setattr__(
                    changed, one.name, tuple(rest[:count]) if isinstance(value, tuple) else rest[0]
                )
            else:
                count = 0
            rest = rest[count:]
        return changed

    def _parts(self) -> Iterator[tuple[Field[Any], Any]]:
        """The fields and their values; none if this is no dataclass."""
        if is_dataclass(self):
            for one in fields(self):
                yield one, getattr(self, one.name)


def _is_data(one: Field[Any], value: Any) -> bool:
    annotation = one.type if isinstance(one.type, str) else getattr(one.type, "__name__", str(one.type))
    declared = str(one.type) if annotation == "tuple" else annotation
    there = bool(value) if isinstance(value, tuple) else value is not None
    return there and declared.startswith(("float", "tuple[float"))


def number(owner: Any, name: str, *, least: float = -np.inf) -> None:
    """Make the field `name` of a frozen object a finite float that is at least so much, or raise a ModelError."""
    value = getattr(owner, name)
    if is_symbolic(value):
        return
    object.__setattr__(owner, name, _checked(type(owner).__name__, name, value, (), least).item())


def numbers(owner: Any, name: str, size: int | None = None, *, least: float = -np.inf) -> None:
    """Make the field `name` of a frozen object a tuple of finite floats, `size` of them if that is known, each at least
    so much, or raise a ModelError. One number alone is a tuple of one."""
    value = getattr(owner, name)
    if is_symbolic(value):
        return
    shape = None if size is None else (size,)
    values = _checked(type(owner).__name__, name, value, shape, least)
    object.__setattr__(owner, name, tuple(values.tolist()))


def _checked(who: str, name: str, value: Any, shape: tuple[int, ...] | None, least: float) -> np.ndarray:
    try:
        found = np.array(real_array(value))
    except ValueError:
        raise ModelError(f"{who}: {name} is {shown(value)}, which are not numbers: give floats") from None
    if shape != ():
        found = np.atleast_1d(found)
    if shape is not None and found.shape != shape:
        wanted = f"{shape[0]} numbers" if shape else "one number"
        raise ModelError(f"{who}: {name} has shape {found.shape}: give {wanted}")
    if shape is None and found.ndim != 1:
        raise ModelError(f"{who}: {name} has shape {found.shape}: give a row of numbers")
    if not np.isfinite(found).all():
        raise ModelError(f"{who}: {name} is {shown(value)}, which holds NaN or infinity: give finite numbers")
    if (found < least).any():
        raise ModelError(f"{who}: {name} is {shown(value)}: give {least:g} or more")
    return found
