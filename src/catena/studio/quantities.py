"""Numbers that somebody types, with units or without, and what of them goes into the text of a scenario."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena.errors import CatenaError, StateError
from catena.formulas import parse
from catena.formulas.units import UNITS, Dimension, added, dimension_text, scaled
from catena.validation import shown


@dataclass(frozen=True)
class QuantityKind:
    """What a field holds: its unit in SI, an example in words, and its dimension."""

    unit: str
    example: str
    dimension: Dimension


_M, _KG, _S, _N = (UNITS[name].dimension for name in ("m", "kg", "s", "N"))
_NONE = (0.0, 0.0, 0.0)
QUANTITY_KINDS: dict[str, QuantityKind] = {
    "length": QuantityKind("m", "a length such as 0.35 m", _M),
    "angle": QuantityKind("rad", "an angle such as 30 deg", _NONE),
    "mass": QuantityKind("kg", "a mass such as 2 kg", _KG),
    "density": QuantityKind("kg/m", "a mass for each metre such as 1 kg/m", added(_KG, scaled(_M, -1))),
    "speed": QuantityKind("rad/s", "a speed such as 60 rpm", scaled(_S, -1)),
    "velocity": QuantityKind("m/s", "a speed such as 0.2 m/s", added(_M, scaled(_S, -1))),
    "time": QuantityKind("s", "a time such as 1.5 s", _S),
    "moment": QuantityKind("N m", "a moment such as 2 N*m", added(_N, _M)),
    "stiffness": QuantityKind("N/m", "a stiffness such as 500 N/m", added(_N, scaled(_M, -1))),
    "damping": QuantityKind("N s/m", "a damping such as 5 N*s/m", added(added(_N, _S), scaled(_M, -1))),
    "acceleration": QuantityKind("m/s^2", "an acceleration such as 9.81 m/s^2", added(_M, scaled(_S, -2))),
    "force": QuantityKind("N", "a force such as 10 N", _N),
    "mass_density": QuantityKind("kg/m^3", "a density such as 7850 kg/m^3", added(_KG, scaled(_M, -3))),
    "angle or length": QuantityKind("rad or m", "an angle such as 30 deg or a length such as 0.2 m", _NONE),
    "rate": QuantityKind("rad/s or m/s", "a speed such as 60 rpm or 0.2 m/s", scaled(_S, -1)),
    "inertia": QuantityKind("kg m^2", "a moment of inertia such as 0.1 kg*m^2", added(_KG, scaled(_M, 2))),
    "number": QuantityKind("", "a number", _NONE),
}


def quantity(
    typed: Any, sort: str, who: str, least: float | None = None, names: Mapping[str, float] | None = None
) -> float | str:
    """Return what goes into the text for a value that somebody typed: a number, or the text with its unit or formula.

    Raises a StateError that names the field `who` where it is no number, has another dimension, or is not above
    `least`. Names in a formula are those of `names`.
    """
    wanted = QUANTITY_KINDS[sort]
    if isinstance(typed, bool) or not isinstance(typed, int | float | str):
        raise StateError(f"{who} is {shown(typed)}; give {wanted.example}.")
    text = str(typed).strip()
    try:
        formula = parse(text)
        value = float(formula.number(dict(names or {})))
    except (CatenaError, ValueError, TypeError) as error:
        raise StateError(f"{who} is {shown(text)}; give {wanted.example}.") from error
    found = formula.dimension
    either = {"angle or length": ("angle", "length"), "rate": ("speed", "velocity")}.get(sort, (sort,))
    turns = re.search(r"\b(m?rad|deg|rev)\b", text) is not None and not (found and any(found))
    if turns and not {*either} & {"angle", "number"}:
        raise StateError(f"{who} is {shown(text)}, which is an angle; give {wanted.example}.")
    if found is not None and any(found) and all(found != QUANTITY_KINDS[one].dimension for one in either):
        raise StateError(f"{who} is {shown(text)}, which is {dimension_text(found)}; give {wanted.example}.")
    if not math.isfinite(value):
        raise StateError(f"{who} is {shown(text)}, which is not finite; give {wanted.example}.")
    if least is not None and value <= least:
        raise StateError(f"{who} is {shown(text)}; give {wanted.example}, greater than {least:g}.")
    try:
        return float(text)
    except ValueError:
        return text


def value_of(value: float | str, names: Mapping[str, float] | None = None) -> float:
    """Return the number that a value of the text stands for, in SI units."""
    return float(parse(value).number(dict(names or {}))) if isinstance(value, str) else float(value)
