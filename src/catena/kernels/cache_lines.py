"""Memory that begins on a cache line, so that no vector lies on two of them and threads do not share one unawares."""

from typing import Any

import numpy as np

LINE = 64
"""Bytes of a cache line."""


def aligned(count: int, dtype: Any = np.float64, filled: bool = False) -> np.ndarray:
    """Return `count` words of eight bytes that begin on a cache line: zeros, unless they are to be `filled`."""
    raw = (np.empty if filled else np.zeros)(count + LINE // 8, dtype=dtype)
    skip = (-raw.ctypes.data % LINE) // 8
    return raw[skip : skip + count]
