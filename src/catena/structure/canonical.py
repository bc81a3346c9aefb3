"""Canonical joint kinds, remembered: most joints of a mechanism share a handful of kinds and axes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from catena.joints import JointKind

Canonical = tuple[NDArray[np.float64], JointKind, tuple[float, ...]]


def canonical(kind: JointKind, flipped: bool) -> Canonical:
    """Return (R, canonical kind, its parameters), seen from parent to child or, when flipped, from child to
    parent.

    R takes canonical axes to the axes of the joint frame: motion(q) = R motion_canonical(q) R^-1.
    """
    try:
        return _remembered(kind, flipped)
    except TypeError:  # a user's kind that cannot be hashed
        return _compute(kind, flipped)


def _compute(kind: JointKind, flipped: bool) -> Canonical:
    R, plain = (kind.flip() if flipped else kind).canonical()
    return np.asarray(R, dtype=np.float64), plain, tuple(plain.params())


_remembered = lru_cache(maxsize=4096)(_compute)
