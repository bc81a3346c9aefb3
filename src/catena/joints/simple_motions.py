"""Joints as rows of simple motions, for files, engines and papers that know no other joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HINGE, SLIDE, BALL, FREE = "hinge", "slide", "ball", "free"


@dataclass(frozen=True)
class SimpleMotion:
    """One simple motion of a joint: its type, its axis (3,) in the joint frame at q = 0, and the component of the
    joint's coordinates that it is. Axes of hinges pass through the origin of the joint frame."""

    type: str
    axis: NDArray[np.float64]
    component: int


def in_order(*motions: tuple[str, Any]) -> tuple[SimpleMotion, ...]:
    """Return motions of these types and axes, one after the other."""
    return tuple(SimpleMotion(word, np.array(axis), k) for k, (word, axis) in enumerate(motions))


def reversed_motions(motions: tuple[SimpleMotion, ...] | None) -> tuple[SimpleMotion, ...] | None:
    """Return the motions of a joint as they are seen from its other side; None where there are none to tell."""
    if motions is None:
        return None
    return tuple(SimpleMotion(one.type, -one.axis, one.component) for one in reversed(motions))
