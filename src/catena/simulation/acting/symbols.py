"""Functions for control laws that are written once for numbers and for symbols.

A law is a function of arrays whose last dimension counts coordinates. It is called with NumPy arrays that may have
leading batch dimensions, and once with one-dimensional arrays of CasADi symbols when it is compiled into the loop of a
simulation. Arithmetic and indexing `x[..., i]` work for both; what else a law needs is here. Conditions are made by
`less` and `both` and used by `where`: a law has no `if`, which could not be decided for symbols.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catena.spatial.scalars import array, is_symbolic
from catena.validation import real_array


def _elementwise(name: str, of_numbers: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return a function of one or two arguments that is NumPy's for numbers and CasADi's for symbols."""

    def function(*arguments: Any) -> Any:
        if not any(is_symbolic(x) for x in arguments):
            return of_numbers(*arguments)
        import casadi

        return _for_each(getattr(casadi, name), *arguments)

    function.__doc__ = doc
    return function


def _for_each(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function of the entries of arrays; single symbols and numbers go with every entry."""
    arrays = [x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object) for x in arguments]
    if all(x.ndim == 0 for x in arrays):
        return function(*(x.item() for x in arrays))
    wide = np.broadcast_arrays(*arrays)
    return array([function(*entries) for entries in zip(*(x.ravel() for x in wide))]).reshape(wide[0].shape)


sin = _elementwise("sin", np.sin, "Return the sine.")
cos = _elementwise("cos", np.cos, "Return the cosine.")
tan = _elementwise("tan", np.tan, "Return the tangent.")
tanh = _elementwise("tanh", np.tanh, "Return the hyperbolic tangent.")
exp = _elementwise("exp", np.exp, "Return the exponential.")
sqrt = _elementwise("sqrt", np.sqrt, "Return the square root of what is not negative.")
atan2 = _elementwise("atan2", np.arctan2, "Return the angle of the point (x, y) from y and x.")
absolute = _elementwise("fabs", np.abs, "Return the magnitude.")
sign = _elementwise("sign", np.sign, "Return -1, 0 or 1.")
minimum = _elementwise("fmin", np.minimum, "Return the smaller of two.")
maximum = _elementwise("fmax", np.maximum, "Return the larger of two.")


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds and `b` elsewhere; both are computed."""
    if not any(is_symbolic(x) for x in (condition, a, b)):
        return np.where(condition, a, b)
    import casadi

    return _for_each(casadi.if_else, condition, a, b)


def less(a: Any, b: Any) -> Any:
    """Return whether a < b, as a condition for `where`."""
    if not any(is_symbolic(x) for x in (a, b)):
        return np.less(a, b)
    return _for_each(operator.lt, a, b)


def both(a: Any, b: Any) -> Any:
    """Return whether two conditions hold."""
    if not any(is_symbolic(x) for x in (a, b)):
        return np.logical_and(a, b)
    import casadi

    return _for_each(casadi.logic_and, a, b)


def stack(entries: Sequence[Any]) -> np.ndarray:
    """Return an array whose last dimension counts these entries, such as tau from the forces of single joints."""
    if any(is_symbolic(x) for x in entries):
        return array([x.item() if isinstance(x, np.ndarray) else x for x in entries])
    return np.stack(np.broadcast_arrays(*(real_array(x) for x in entries)), axis=-1)


def join(parts: Sequence[Any]) -> np.ndarray:
    """Return arrays one behind the other along their last dimension."""
    if any(x.dtype == object if isinstance(x, np.ndarray) else is_symbolic(x) for x in parts):
        return array([entry for part in parts for entry in part])
    arrays = [np.asarray(x, dtype=np.float64) for x in parts]
    if all(x.ndim == 1 for x in arrays):
        return np.concatenate(arrays)
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays], axis=-1)
