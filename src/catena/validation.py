"""What users give, told from what it should be: numbers, words, lists.

Anything may come in at the public edge. These functions say whether it is what was asked for; the callers know who is
at fault and what to do, and put that into the error. What is taken for a number is real: complex numbers, text and
dates are none, although NumPy would make numbers of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 200
"""How much of a value is shown in a message."""


def real_array(value: Any) -> NDArray[np.float64]:
    """Return `value` as a float64 array, itself if it is one; a ValueError says why it is none."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O":
            # Objects may know how to become numbers; text does too, but was not meant.
            if any(isinstance(x, str | bytes | complex | np.complexfloating) for x in found.flat):
                raise ValueError("there is text or a complex number in it")
            found = found.astype(np.float64)
    except RecursionError:
        raise ValueError("it contains itself") from None
    except Exception as error:
        # Whatever an object does when it is asked for its numbers, it has none.
        raise ValueError(_first_line(error)) from error
    if found.dtype.kind == "c":
        raise ValueError("the numbers are complex")
    if found.dtype.kind not in "biuf":
        raise ValueError(f"the entries are of type {found.dtype}")
    return found.astype(np.float64)


def real_number(value: Any) -> float:
    """Return `value` as one float, which may be infinite or NaN; a ValueError says why it is none."""
    if type(value) is float:
        return value
    found = real_array(value)
    if found.shape != ():
        raise ValueError(f"it has shape {found.shape}")
    return float(found)


def is_finite(value: Any) -> bool:
    """Return whether `value` is one finite number, of Python or NumPy."""
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


def is_positive(value: Any) -> bool:
    """Return whether `value` is one finite number above zero."""
    return is_finite(value) and bool(value > 0)


def is_not_negative(value: Any) -> bool:
    """Return whether `value` is one finite number, zero or more."""
    return is_finite(value) and bool(value >= 0)


def is_count(value: Any) -> bool:
    """Return whether `value` is a whole number, zero or more; true and false are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def can_take(function: Any, *names: str) -> bool:
    """Return whether a function can be called with as many arguments as there are names; True where nobody can tell."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*names)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def is_one_of(value: Any, words: Collection[str]) -> bool:
    """Return whether `value` is one of some words."""
    return isinstance(value, str) and value in words


def entries(value: Any) -> tuple[Any, ...]:
    """Return the entries of a list or anything like it, and a single word as one entry; a ValueError if it has none."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise ValueError(f"a {type(value).__name__} has no entries")
    try:
        return tuple(value)
    except Exception as error:
        raise ValueError(_first_line(error)) from error


def listed(value: Any) -> tuple[Any, ...]:
    """Return the entries of a list as `entries` does; a ValueError for a mapping too, whose values would be ignored."""
    if isinstance(value, Mapping):
        raise ValueError(f"a {type(value).__name__} has values too, of which nothing would be made")
    return entries(value)


def shown(value: Any) -> str:
    """Return a value as messages show it: not too long, whatever it is."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"


def suggestion(name: str, names: Collection[str]) -> str:
    """Return what to say after a name that is not among those that there are."""
    close = get_close_matches(name, names, n=3, cutoff=0.6) or get_close_matches(name.lower(), names, n=3)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {', '.join(names)}" if names else "there are none"


def printable(text: str) -> str:
    """Return a text of one line that shows all that is in it: what has no glyph of its own, and might end the line,
    move the cursor of a terminal or turn the order of letters around, is escaped as in a literal of Python."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines that shows all that is in it; only the ends of its lines and tabs stay."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
