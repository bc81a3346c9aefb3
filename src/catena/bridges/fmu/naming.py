"""What variables are called in an FMU, and their units.

Names follow FMI's structured convention: parts joined by dots, and a part that is no identifier between apostrophes.
Characters that may not stand there are written by their number, `<U+00FC>`, so that different names stay different.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from types import MappingProxyType

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = frozenset(string.ascii_letters + string.digits + "_ !#$%&()*+,-./:;<>=?@[]^{}|~")


def part(text: str) -> str:
    """Return a name as one part of a structured name."""
    if _IDENTIFIER.fullmatch(text):
        return text
    coded = (
        c if c in _QUOTED and not text.startswith("<U+", k) else f"<U+{ord(c):04X}>"
        for k, c in enumerate(text)
    )
    return f"'{''.join(coded)}'"


def structured(owner: str, *parts: str) -> str:
    """Return the structured name of something that belongs to an owner; a part that counts, "0", is an index from 1."""
    text = part(owner)
    for one in parts:
        text += f"[{int(one) + 1}]" if one.isascii() and one.isdecimal() else f".{part(one)}"
    return text


def printable(text: str) -> str:
    """Return a text with the characters that XML does not know written by their numbers."""

    def is_known(c: str) -> bool:
        return c >= " " and not ("\ud800" <= c <= "\udfff" or c in "\ufffe\uffff\x7f")

    return "".join(c if is_known(c) else f"<U+{ord(c):04X}>" for c in text)


UNITS: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "1": {}, "s": {"s": 1}, "m": {"m": 1}, "rad": {"rad": 1}, "kg": {"kg": 1},
    "m/s": {"m": 1, "s": -1}, "rad/s": {"rad": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2}, "rad/s2": {"rad": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2}, "W": {"kg": 1, "m": 2, "s": -3},
    "kg.m2": {"kg": 1, "m": 2}, "m/rad": {"m": 1, "rad": -1},
    "N.s/m": {"kg": 1, "s": -1}, "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
})  # fmt: skip
"""The units that variables have, as powers of base units."""

RATE: Mapping[str, str] = MappingProxyType({
    "": "", "rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2",
})  # fmt: skip
"""The unit of the derivative of a coordinate or a velocity with a unit."""
