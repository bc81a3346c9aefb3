"""Formulas of CasADi for many states at once: rows are read and written where they lie."""

from functools import lru_cache
from typing import Any

import numpy as np

# As many states are computed at a time.
PORTION = 1024


def formula_rows(function: Any, *given: np.ndarray) -> np.ndarray:
    """Return the results (states, m) of a CasADi function with one dense output, for arguments (states, n). To hand
    over matrices of CasADi's own costs many times as much."""
    out = np.empty((len(given[0]), function.nnz_out(0)))
    for first in range(0, len(out), PORTION):
        some = slice(first, first + PORTION)
        buffer, evaluate = _mapped(function, len(out[some])).buffer()
        rows = [np.ascontiguousarray(x[some], dtype=np.float64) for x in given]
        for k, x in enumerate(rows):
            buffer.set_arg(k, x.data)
        buffer.set_res(0, out[some].data)
        evaluate()
    return out


@lru_cache(maxsize=512)
def _mapped(function: Any, states: int) -> Any:
    return function.map(states)
