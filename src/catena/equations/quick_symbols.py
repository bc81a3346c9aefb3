"""Arithmetic of CasADi symbols without the search for what an operand might be.

An operator of CasADi tries all its types of matrices before it adds two scalars, which takes ten times as long as the
addition. Where millions of them are made, `quick_symbols` lets the operators of `SX` call the operation itself for
symbols and numbers, and do as usual for everything else. What they return is the same.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

_lock = threading.Lock()
_depth = 0
_usual: dict[str, Any] = {}


@contextlib.contextmanager
def quick_symbols() -> Iterator[None]:
    """Make arithmetic of symbols quick inside this block."""
    global _depth
    import casadi

    with _lock:
        if _depth == 0:
            _usual.update({name: getattr(casadi.SX, name) for name in _operators(casadi)})
            for name, (code, swapped) in _operators(casadi).items():
                setattr(casadi.SX, name, _operator(casadi.SX, code, swapped, _usual[name]))
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for name, usual in _usual.items():
                    setattr(casadi.SX, name, usual)


def _operators(casadi: Any) -> dict[str, tuple[int, bool]]:
    """Names of operators with the operation, and whether the other operand comes first."""
    codes = {"add": casadi.OP_ADD, "sub": casadi.OP_SUB, "mul": casadi.OP_MUL, "truediv": casadi.OP_DIV}
    return {
        **{f"__{name}__": (code, False) for name, code in codes.items()},
        **{f"__r{name}__": (code, True) for name, code in codes.items()},
    }


def _operator(SX: Any, code: int, swapped: bool, usual: Callable[..., Any]) -> Callable[..., Any]:
    binary = SX.binary
    if swapped:

        def operate(self: Any, other: Any) -> Any:
            return binary(code, other, self) if isinstance(other, (SX, float, int)) else usual(self, other)

    else:

        def operate(self: Any, other: Any) -> Any:
            return binary(code, self, other) if isinstance(other, (SX, float, int)) else usual(self, other)

    return operate
