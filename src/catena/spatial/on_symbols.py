"""Somebody's function, called on symbols instead of numbers: what goes wrong there is said in words."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from catena.errors import ModelError

# How CasADi 3.8 begins the announcement that NumPy's functions of its symbols will work another way; both do here.
_ANNOUNCEMENT = r"\s*casadi: a numpy function was called on a casadi value"


@contextmanager
def on_symbols(who: str) -> Iterator[None]:
    """Call functions of users on symbols in this block. `who` is the beginning of a message, such as "joint kind
    Rail()"; it tells whose `if` asked a symbol whether it is true, which no symbol knows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _ANNOUNCEMENT, FutureWarning)
        try:
            yield
        except (RuntimeError, TypeError, AttributeError) as error:
            said = str(error).strip()
            if "truth value" in said:
                raise ModelError(
                    f"{who} has a branch that depends on the state (an `if`, `and` or `max` on a value of q or v), but "
                    f"formulas are called on symbols, which have no value. Write it with `where` and `less` of "
                    f"catena.spatial.scalars: both ways are computed, and one is taken."
                ) from error
            if "casadi" in said.lower() or "SX" in said:
                raise ModelError(
                    f"{who} has a formula that does not work on symbols ({said.splitlines()[-1]}). Use arithmetic and "
                    f"the functions of catena.spatial.scalars, and `array` of catena.spatial for what they give."
                ) from error
            raise
