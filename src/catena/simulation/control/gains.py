"""Gains and limits as users give them: one number, one for each joint by name, or one for each velocity component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.system import System
from catena.validation import real_array, shown

PerJoint = ArrayLike | Mapping[str, ArrayLike]
"""One number, one for each velocity component (..., nv), or some by joint."""


def gains(system: System, who: str, what: str, source: Any, default: float = 0.0) -> np.ndarray:
    """Return gains (nv,), or (..., nv) with one row for each state of a batch; none may be negative.

    With a mapping {joint: number or one for each component}, joints that are not named get the default.
    """
    values = components(system, who, what, source, default)
    if (values < 0.0).any():
        raise StateError(
            f"{who}: {what} is {_first(values, values < 0.0)}{_of(system, values < 0.0)}; give 0 or more."
        )
    return values


def components(system: System, who: str, what: str, source: Any, default: float = 0.0) -> np.ndarray:
    """Return one finite number for each velocity component, (nv,) or (..., nv)."""
    if isinstance(source, Mapping):
        values = np.full(system.nv, default)
        for joint, value in source.items():
            where = system.slice_v(joint)
            values[where] = _numbers(f"{who}: {what} of joint {joint!r}", value, where.stop - where.start)
        return values
    return _numbers(f"{who}: {what}", source, system.nv)


def effort_limits(system: System, who: str, limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest joint forces, (nv,) each, infinite where there is no limit.

    `limits` is "actuators" for those of the mechanism's actuators, None for no limits, a number for both directions,
    a pair (low, high), or a mapping of these by joint.
    """
    low, high = np.full(system.nv, -np.inf), np.full(system.nv, np.inf)
    if limits is None:
        return low, high
    if isinstance(limits, str):
        if limits != "actuators":
            raise StateError(f"{who}: limits is {limits!r}; give 'actuators', None, or numbers.")
        for motor in system.mechanism.actuators.values():
            if motor.joint in system.joints:
                where = system.slice_v(motor.joint).start + np.array(motor.components, dtype=int)
                low[where], high[where] = motor.joint_limits.T
        return low, high
    pairs = limits.items() if isinstance(limits, Mapping) else [("", limits)]
    for joint, value in pairs:
        where = system.slice_v(joint) if joint else slice(0, system.nv)
        low[where], high[where] = _pair(f"{who}: limits{f' of joint {joint!r}' if joint else ''}", value)
    return low, high


def _pair(who: str, value: Any) -> tuple[float, float]:
    try:
        pair = real_array(value)
    except ValueError as error:
        raise StateError(f"{who}: {shown(value)} ({error}); give a number or (low, high).") from error
    if pair.ndim == 0:
        pair = np.array([-pair, pair])
    if pair.shape != (2,) or np.isnan(pair).any() or not pair[0] < pair[1]:
        raise StateError(
            f"{who}: {shown(value)}; give one positive number, or (low, high) with low below high."
        )
    return float(pair[0]), float(pair[1])


def _numbers(who: str, value: Any, size: int) -> np.ndarray:
    try:
        x = np.array(real_array(value))
    except ValueError as error:
        raise StateError(f"{who} is {shown(value)} ({error}); give a number, or {size} of them.") from error
    # As a number None is NaN, which nobody wrote.
    if np.isnan(x).any() and any(each is None for each in np.asarray(value, dtype=object).flat):
        raise StateError(f"{who} is {shown(value)}; give a number, or {size} of them (0 for none).")
    if x.ndim == 0:
        x = np.full(size, float(x))
    if x.shape[-1] != size:
        raise StateError(
            f"{who} has shape {x.shape}; give a number, or {size}, one for each velocity component."
        )
    if not np.isfinite(x).all():
        raise StateError(f"{who} is {_first(x, ~np.isfinite(x))}; every entry must be a finite number.")
    return x


def _first(values: np.ndarray, bad: np.ndarray) -> float:
    return float(values[bad].flat[0])


def _of(system: System, bad: np.ndarray) -> str:
    component = int(np.argwhere(bad)[0][-1])
    for joint in system.joints:
        where = system.slice_v(joint)
        if where.start <= component < where.stop:
            return f" for joint {joint!r}"
    return ""
