"""The checks a description has to pass before it becomes part of a mechanism.

Every function returns the checked value as a read-only array (or as a float) and raises a `ModelError` that
starts with `who`, for example "body 'crank'", says what was found and what to do.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError, UnknownNameError

INERTIA_TOLERANCE = 1e-9
_DIAGONAL = np.eye(3, dtype=bool)


def name_of(what: str, name: Any) -> str:
    """Return a name that is a non-empty string."""
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"a {what} needs a name, found {name!r}: give a non-empty string")
    return name


def known(what: str, name: Any, names: Collection[str], who: str = "") -> str:
    """Return `name` if it is one of `names`, else raise with the closest names that exist."""
    if isinstance(name, str) and name in names:
        return name
    close = get_close_matches(str(name), list(names), n=3, cutoff=0.6)
    if close:
        advice = "did you mean " + " or ".join(repr(c) for c in close) + "?"
    elif names:
        shown = ", ".join(repr(n) for n in list(names)[:8]) + (", ..." if len(names) > 8 else "")
        advice = f"there are {shown}"
    else:
        advice = f"there is no {what} yet"
    prefix = f"{who}: " if who else ""
    raise UnknownNameError(f"{prefix}no {what} is named {name!r}: {advice}")


def numbers(who: str, what: str, value: Any) -> NDArray[np.float64]:
    """Return `value` as a new float array of finite entries."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{who}: {what} is {value!r}, which are not numbers: give floats") from None
    if not np.isfinite(array).all():
        raise ModelError(f"{who}: {what} is {value!r}, which holds NaN or infinity: give finite numbers")
    return array


def vector(who: str, what: str, value: Any, size: int = 3) -> NDArray[np.float64]:
    """Return `value` as a read-only vector of the given size."""
    array = numbers(who, what, value)
    if array.shape != (size,):
        raise ModelError(f"{who}: {what} has shape {array.shape}: give {size} numbers")
    array.setflags(write=False)
    return array


def mass(who: str, value: Any) -> float:
    """Return a mass that is a finite number and not negative."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{who}: mass is {value!r}, which is not a number: give kilograms") from None
    if not isfinite(number):
        raise ModelError(f"{who}: mass is {number}: give a finite number of kilograms")
    if number < 0.0:
        raise ModelError(f"{who}: mass is {number}: a mass cannot be negative, give zero or more kilograms")
    return number


def inertia(who: str, value: Any, body_mass: float) -> NDArray[np.float64]:
    """Return the rotational inertia about the mass centre as a read-only symmetric (3, 3) array.

    Accepts one number (the same about every axis), three (about the body axes) or a 3x3 matrix. Principal
    moments that no distribution of mass can have are refused, with a relative tolerance of 1e-9.
    """
    given = numbers(who, "inertia", value)
    if given.shape == () or given.shape == (3,):
        matrix = np.where(_DIAGONAL, given, 0.0)
        moments = [float(given)] * 3 if given.shape == () else sorted(given.tolist())
    elif given.shape == (3, 3):
        skewness = float(np.abs(given - given.T).max())
        if skewness > INERTIA_TOLERANCE * float(np.abs(given).max()):
            raise ModelError(
                f"{who}: inertia is not symmetric (entries differ by {skewness:.3g} across the diagonal): "
                "give a symmetric 3x3 matrix about the mass centre"
            )
        matrix = 0.5 * (given + given.T)
        moments = np.linalg.eigvalsh(matrix).tolist()
    else:
        raise ModelError(
            f"{who}: inertia has shape {given.shape}: give 3 moments about the body axes or a 3x3 matrix"
        )
    smallest, middle, largest = moments
    slack = INERTIA_TOLERANCE * max(abs(smallest), abs(largest))
    if smallest < -slack:
        raise ModelError(
            f"{who}: inertia has the negative principal moment {smallest:.6g}: give a positive semidefinite "
            "matrix, and check that it is about the mass centre"
        )
    if largest > smallest + middle + slack:
        raise ModelError(
            f"{who}: the principal moments {smallest:.6g}, {middle:.6g}, {largest:.6g} break the triangle "
            "inequality (none may exceed the sum of the other two): check the units, and that the inertia is "
            "about the mass centre"
        )
    if body_mass == 0.0 and largest > 0.0:
        raise ModelError(
            f"{who}: mass is zero but inertia is not: give the body a mass, or leave the inertia out"
        )
    matrix.setflags(write=False)
    return matrix


def coefficients(who: str, what: str, value: Any, nv: int) -> NDArray[np.float64]:
    """Return nv coefficients that are not negative, from one number or nv of them, as a read-only array."""
    array = numbers(who, what, value)
    if array.shape not in ((), (nv,)):
        raise ModelError(
            f"{who}: {what} has shape {array.shape}: give one number, or {nv} for its velocity coordinates"
        )
    if (array < 0.0).any():
        raise ModelError(f"{who}: {what} is {value!r}: give zero or more, friction opposes motion by itself")
    full = np.full(nv, array)
    full.setflags(write=False)
    return full


def limits(who: str, value: Any, nv: int) -> NDArray[np.float64] | None:
    """Return the (nv, 2) lowest and highest positions, infinite where there is none, or None."""
    if value is None:
        return None
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{who}: limits are {value!r}, which are not numbers: give (low, high)") from None
    if array.shape == (2,) and nv == 1:
        array = array.reshape(1, 2)
    if array.shape != (nv, 2):
        raise ModelError(
            f"{who}: limits have shape {array.shape}: give (low, high) for each of {nv} coordinates"
        )
    if np.isnan(array).any():
        raise ModelError(f"{who}: limits hold NaN: use infinity where there is no limit")
    if (array[:, 0] > array[:, 1]).any():
        raise ModelError(f"{who}: limits {array.tolist()} have low above high: give (low, high)")
    array.setflags(write=False)
    return array
