"""The checks a description has to pass before it becomes part of a mechanism.

Every function returns the checked value as a read-only array (or as a float) and raises a `ModelError` that
starts with `who`, for example "body 'crank'", says what was found and what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError, UnknownNameError
from catena.forces.load_friction import LoadFriction, turning_components
from catena.joints import JointKind
from catena.spatial import Pose, is_one_pose
from catena.validation import entries, listed, real_array, real_number, shown

INERTIA_TOLERANCE = 1e-9
LONGEST_NAME = 500
"""How many characters a name may have: it is told in messages, tables, files and pictures."""
POINT = 1e-12
"""Metres that a body may measure and be a point: the moments of its mass so far away are rounding."""
_DIAGONAL = np.eye(3, dtype=bool)
_ITSELF = "friction opposes motion by itself"
_OPPOSES = dict.fromkeys(("stiffness", "limit_stiffness"), "a spring opposes deflection by itself")


def name_of(what: str, name: Any) -> str:
    """Return a name that is a string, not empty and not too long."""
    if not isinstance(name, str) or not name.strip():
        article = "an" if what[0] in "aeiou" else "a"
        raise ModelError(f"{article} {what} needs a name, found {shown(name)}: give a non-empty string")
    if len(name) > LONGEST_NAME:
        raise ModelError(
            f"{what} {shown(name)}: the name has {len(name)} characters: give one of at most {LONGEST_NAME}"
        )
    return name


def known(what: str, name: Any, names: Collection[str], who: str = "") -> str:
    """Return `name` if it is one of `names`, else raise with the closest names that exist."""
    if isinstance(name, str) and name in names:
        return name
    close = get_close_matches(name, list(names), n=3, cutoff=0.6) if isinstance(name, str) else []
    if close:
        advice = "did you mean " + " or ".join(repr(c) for c in close) + "?"
    elif names:
        some = ", ".join(repr(n) for n in list(names)[:8]) + (", ..." if len(names) > 8 else "")
        advice = f"there are {some}"
    else:
        advice = f"there is no {what} yet"
    prefix = f"{who}: " if who else ""
    raise UnknownNameError(f"{prefix}no {what} is named {shown(name)}: {advice}")


def numbers(who: str, what: str, value: Any) -> NDArray[np.float64]:
    """Return `value` as a new float array of finite entries."""
    array = _real(who, what, value, "floats")
    if not np.isfinite(array).all():
        raise ModelError(f"{who}: {what} is {shown(value)}, which holds NaN or infinity: give finite numbers")
    return array


def _real(who: str, what: str, value: Any, wanted: str) -> NDArray[np.float64]:
    """Return `value` as a new float array; `wanted` is what to give instead of anything else."""
    try:
        return np.array(real_array(value))
    except ValueError as error:
        verb = "are" if what.endswith("limits") else "is"
        raise ModelError(
            f"{who}: {what} {verb} {shown(value)}, which are not numbers ({error}): give {wanted}"
        ) from None


def vector(who: str, what: str, value: Any, size: int = 3) -> NDArray[np.float64]:
    """Return `value` as a read-only vector of the given size."""
    array = numbers(who, what, value)
    if array.shape != (size,):
        raise ModelError(f"{who}: {what} has shape {array.shape}: give {size} numbers")
    array.setflags(write=False)
    return array


def switch(who: str, what: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool | np.bool_ | int):
        raise ModelError(f"{who}: {what} is {shown(value)}: give True or False")
    return bool(value)


def powered(who: str, value: Any, nv: int) -> NDArray[np.bool_]:
    """Return which of nv velocity components are driven, from True or False for all or one for each."""
    switches = value if isinstance(value, str | bool | np.bool_ | int) else _switches(value)
    if isinstance(switches, tuple):
        if len(switches) != nv:
            raise ModelError(
                f"{who}: actuated has {len(switches)} entries: give True or False for all, or one for each of its {nv} "
                f"velocity components"
            )
        found = np.array(switches, dtype=bool)
    elif isinstance(switches, bool | np.bool_ | int):
        found = np.full(nv, bool(switches))
    else:
        raise ModelError(
            f"{who}: actuated is {shown(value)}: give True or False, or one for each velocity component"
        )
    found.setflags(write=False)
    return found


def _switches(value: Any) -> tuple[bool, ...] | None:
    """Return a list of True and False, None for anything else."""
    try:
        found = entries(value)
    except ValueError:
        return None
    return tuple(found) if all(isinstance(x, bool | np.bool_) for x in found) else None


def pose(who: str, what: str, value: Any) -> Pose:
    """Return a pose, or raise a ModelError if it is none."""
    if not is_one_pose(value):
        raise ModelError(
            f"{who}: {what} is {shown(value)}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
        )
    return value


def mass(who: str, value: Any) -> float:
    """Return a mass that is a finite number and not negative."""
    try:
        number = real_number(value)
    except ValueError:
        raise ModelError(f"{who}: mass is {shown(value)}, which is not a number: give kilograms") from None
    if not isfinite(number):
        raise ModelError(f"{who}: mass is {number}: give a finite number of kilograms")
    if number < 0.0:
        raise ModelError(f"{who}: mass is {number}: a mass cannot be negative, give zero or more kilograms")
    return number


def inertia(who: str, value: Any, body_mass: float, physical: bool = True) -> NDArray[np.float64]:
    """Return the rotational inertia about the mass centre as a read-only symmetric (3, 3) array.

    Accepts one number (the same about every axis), three (about the body axes) or a 3x3 matrix. Principal
    moments that no distribution of mass can have are refused, with a relative tolerance of 1e-9, unless the caller
    does without `physical` ones.
    """
    array = numbers(who, "inertia", value)
    if array.shape == () or array.shape == (3,):
        matrix = np.where(_DIAGONAL, array, 0.0)
        moments = [float(array)] * 3 if array.shape == () else sorted(array.tolist())
    elif array.shape == (3, 3):
        skewness = float(np.abs(array - array.T).max())
        if skewness > INERTIA_TOLERANCE * float(np.abs(array).max()):
            raise ModelError(
                f"{who}: inertia is not symmetric (entries differ by {skewness:.3g} across the diagonal): "
                "give a symmetric 3x3 matrix about the mass centre"
            )
        matrix = 0.5 * array + 0.5 * array.T
        # In parts of the largest entry, because squares of very large ones overflow.
        largest = float(np.abs(matrix).max()) or 1.0
        moments = (np.linalg.eigvalsh(matrix / largest) * largest).tolist()
    else:
        raise ModelError(
            f"{who}: inertia has shape {array.shape}: give 3 moments about the body axes or a 3x3 matrix"
        )
    fault = inertia_fault(moments, body_mass) if physical else None
    if fault is not None:
        raise ModelError(f"{who}: {fault}")
    matrix.setflags(write=False)
    return matrix


def inertia_fault(moments: Sequence[float], body_mass: float) -> str | None:
    """Say why no body of that mass has these principal moments (3,) in ascending order, or None if one may."""
    smallest, middle, largest = moments
    slack = INERTIA_TOLERANCE * max(abs(smallest), abs(largest)) + body_mass * POINT**2
    if smallest < -slack:
        return (
            f"inertia has the negative principal moment {smallest:.6g}: give a positive semidefinite "
            "matrix, and check that it is about the mass centre"
        )
    if largest > smallest + middle + slack:
        return (
            f"the principal moments {smallest:.6g}, {middle:.6g}, {largest:.6g} break the triangle "
            "inequality (none may exceed the sum of the other two): check the units, and that the inertia is "
            "about the mass centre"
        )
    if body_mass == 0.0 and largest > 0.0:
        return "mass is zero but inertia is not: give the body a mass, or leave the inertia out"
    return None


def coefficients(who: str, what: str, value: Any, nv: int) -> NDArray[np.float64]:
    """Return nv coefficients that are not negative, from one number or nv of them, as a read-only array."""
    array = numbers(who, what, value)
    if array.shape not in ((), (nv,)):
        raise ModelError(
            f"{who}: {what} has shape {array.shape}: give one number, or {nv} for its velocity coordinates"
        )
    if (array < 0.0).any():
        raise ModelError(f"{who}: {what} is {shown(value)}: give zero or more, {_OPPOSES.get(what, _ITSELF)}")
    full = np.full(nv, array)
    full.setflags(write=False)
    return full


def armature(who: str, value: Any, kind: JointKind) -> NDArray[np.float64] | None:
    """Return the inertia of rotors (nv,) as a joint of a kind feels it, None where there is none."""
    found = None if value is None else coefficients(who, "armature", value, kind.nv)
    if found is None or not found.any():
        return None
    fault = kind.rotor_fault(found)
    if fault is not None:
        raise ModelError(
            f"{who}: armature is {shown(value)}, but {fault}: leave it out, or make the rotor a body with a joint"
        )
    return found


def load_friction(who: str, value: Any, kind: JointKind) -> tuple[LoadFriction | None, ...] | None:
    """Return the friction in proportion to the load of a joint for each of its nv velocity coordinates, None where no
    coordinate has any."""
    if value is None:
        return None
    try:
        frictions = (value,) * kind.nv if isinstance(value, LoadFriction) else listed(value)
    except ValueError:
        frictions = (value,)
    if any(one is not None and not isinstance(one, LoadFriction) for one in frictions):
        raise ModelError(
            f"{who}: load_friction is {shown(value)}: give BearingFriction(mu, radius) or SlideFriction(mu), or a "
            f"sequence of these and None"
        )
    if len(frictions) != kind.nv:
        raise ModelError(
            f"{who}: load_friction has {len(frictions)} entries: give one, or {kind.nv} for its velocity coordinates"
        )
    if kind.nv == 6 and any(frictions):
        raise ModelError(f"{who}: load_friction needs a load, and this joint holds nothing: leave it out")
    turning = turning_components(kind)
    for k, one in enumerate(frictions):
        turns = bool(turning[k])
        if one is not None and one.turns != turns:
            sort, wanted = ("turns", "BearingFriction") if turns else ("slides", "SlideFriction")
            raise ModelError(
                f"{who}: load_friction is {shown(one)}, but velocity coordinate {k} {sort}: give {wanted}"
            )
    return frictions if any(frictions) else None


def static_friction(
    who: str,
    value: Any,
    velocity: Any,
    friction: NDArray[np.float64],
    loaded: tuple[LoadFriction | None, ...] | None = None,
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the friction (nv,) that holds a joint at rest and the velocities (nv,) with which it falls to that of a
    slip, each None where it is not given."""
    if value is None and velocity is not None and any(one and one.static_mu for one in loaded or ()):
        value = friction
    if value is None:
        if velocity is not None:
            raise ModelError(f"{who}: stribeck_velocity needs a static_friction that falls with it")
        return None, None
    holds = coefficients(who, "static_friction", value, len(friction))
    if np.any(holds < friction):
        raise ModelError(
            f"{who}: static_friction is {shown(value)}, which is less than friction: give as much or more"
        )
    if np.any((holds > 0.0) & (friction == 0.0)):
        raise ModelError(
            f"{who}: static_friction needs friction: give what is left of it where the joint slips"
        )
    if velocity is None:
        return holds, None
    falls = coefficients(who, "stribeck_velocity", velocity, len(friction))
    if not np.all(falls > 0.0):
        raise ModelError(f"{who}: stribeck_velocity is {shown(velocity)}: give positive numbers")
    return holds, falls


def velocity_limit(who: str, value: Any, nv: int) -> NDArray[np.float64] | None:
    """Return the highest speeds (nv,) of a joint, infinite where there is none, or None."""
    if value is None:
        return None
    array = _real(who, "velocity_limit", value, "one number, or one for each velocity coordinate")
    if array.shape not in ((), (nv,)) or not (array >= 0.0).all():
        raise ModelError(
            f"{who}: velocity_limit is {shown(value)}: give one number of zero or more, or {nv} for its velocity "
            "coordinates"
        )
    full = np.full(nv, array)
    full.setflags(write=False)
    return full if np.isfinite(full).any() else None


def limits(who: str, value: Any, nv: int) -> NDArray[np.float64] | None:
    """Return the (nv, 2) lowest and highest positions, infinite where there is none, or None."""
    if value is None:
        return None
    array = _real(who, "limits", value, "(low, high)")
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


def coefficient(who: str, what: str, value: Any) -> float:
    """Return one number that is not negative, such as a stiffness or a length."""
    array = numbers(who, what, value)
    if array.shape != ():
        raise ModelError(f"{who}: {what} has shape {array.shape}: give one number")
    if array < 0.0:
        raise ModelError(f"{who}: {what} is {shown(value)}: give zero or more")
    return float(array)


def coordinates(who: str, what: str, value: Any, size: int) -> NDArray[np.float64]:
    """Return the coordinates of a joint as a read-only array of the given size; a number stands for one."""
    array = numbers(who, what, value)
    if array.shape == () and size == 1:
        array = array.reshape(1)
    if array.shape != (size,):
        raise ModelError(
            f"{who}: {what} has shape {array.shape}: give {size} number{'s' if size > 1 else ''}"
        )
    array.setflags(write=False)
    return array


def components(who: str, joint: str, value: Any, nv: int) -> tuple[int, ...]:
    """Return the velocity components of a joint that are meant: all of its nv by default, else those given."""
    if value is None:
        return tuple(range(nv))
    try:
        indices = (value,) if isinstance(value, int | np.integer) else entries(value)
    except ValueError:
        indices = ()
    plain = all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in indices)
    if not indices or not plain or not all(0 <= k < nv for k in indices) or len(set(indices)) < len(indices):
        allowed = "0" if nv == 1 else f"different numbers from 0 to {nv - 1}"
        raise ModelError(f"{who}: components are {shown(value)}: joint {joint!r} has {nv}, give {allowed}")
    return tuple(int(k) for k in indices)


def gears(who: str, value: Any, count: int) -> NDArray[np.float64]:
    """Return the gear ratios of an actuator's components, from one number or one for each; none is zero."""
    array = numbers(who, "gear", value)
    if array.shape not in ((), (count,)):
        raise ModelError(
            f"{who}: gear has shape {array.shape}: give one number, or {count} for its components"
        )
    if (array == 0.0).any():
        raise ModelError(f"{who}: gear is {shown(value)}: a gear of zero drives nothing, give another number")
    full = np.full(count, array)
    full.setflags(write=False)
    return full


def effort_limits(who: str, value: Any, count: int) -> NDArray[np.float64]:
    """Return the (count, 2) lowest and highest efforts of an actuator, infinite where there is none.

    Accepts None, one number for both directions, (low, high) for all components, or a pair for each.
    """
    if value is None:
        value = np.inf
    array = _real(who, "limits", value, "(low, high)")
    if array.shape == ():
        array = np.array([-array, array])
    if array.shape not in ((2,), (count, 2)):
        raise ModelError(
            f"{who}: limits have shape {array.shape}: give one effort for both directions, (low, high), "
            f"or a pair for each of {count} components"
        )
    full = np.array(np.broadcast_to(array, (count, 2)))
    if not ((full[:, 0] <= 0.0) & (full[:, 1] >= 0.0)).all():
        raise ModelError(
            f"{who}: limits are {shown(value)}: an actuator must be able to rest, give low <= 0 <= high"
        )
    full.setflags(write=False)
    return full


def no_load_speed(who: str, value: Any, efforts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the speeds (count,) at which motors with efforts (count, 2) give nothing, infinite where there is none."""
    count = len(efforts)
    array = np.array(np.inf) if value is None else _real(who, "no_load_speed", value, "a speed")
    if array.shape not in ((), (count,)) or not (array > 0.0).all():
        raise ModelError(f"{who}: no_load_speed is {shown(value)}: give a positive speed for each component")
    full = np.array(np.broadcast_to(array, (count,)))
    if (np.isfinite(full) & ~np.isfinite(efforts).all(axis=1)).any():
        raise ModelError(
            f"{who}: it has a no_load_speed but no limits that could shrink with speed: give limits to its effort"
        )
    full.setflags(write=False)
    return full


def stops(
    who: str, limits: Any, stiffness: Any, damping: Any, nv: int
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the stiffness (nv,) and damping (nv,) of the stops at given limits, None where they are rigid."""
    damps = coefficients(who, "limit_damping", damping, nv)
    if stiffness is None:
        if damps.any():
            raise ModelError(f"{who}: limit_damping needs a limit_stiffness: rigid stops have no damping")
        return None, None
    if limits is None:
        raise ModelError(f"{who}: limit_stiffness needs limits: give (low, high) as well")
    stiff = coefficients(who, "limit_stiffness", stiffness, nv)
    if not stiff.all():
        raise ModelError(
            f"{who}: limit_stiffness is {shown(stiffness)}: give more than zero, or leave it out"
        )
    return stiff, damps


def acting(who: str, stiffness: Any, damping: Any) -> None:
    """Refuse a spring that never exerts a force."""
    if not np.any(stiffness) and not np.any(damping):
        raise ModelError(f"{who}: stiffness and damping are both zero, so it does nothing: give one of them")
