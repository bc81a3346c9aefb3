"""Dry friction with a sense: 0 where a component sticks, and otherwise the sign of its slip, -1 or 1."""

from __future__ import annotations

from typing import Any

from catena.forces.smooth import smooth_sign
from catena.spatial.scalars import absolute


def sticks(sense: Any) -> Any:
    """Return whether a component of this sense sticks."""
    return absolute(sense) < 0.5


def slips(sense: Any) -> Any:
    """Return whether a component of this sense slips."""
    return absolute(sense) > 0.5


def slip_friction(
    friction: Any, fading: Any, fall: Any, v: Any, load: Any = 0.0, load_fading: Any = 0.0
) -> Any:
    """Return what friction takes of a component that slips at v: `friction`, what its `load` makes, and besides what
    has not faded yet of what holds at rest, (fading + load_fading load) / (1 + fall v^2)."""
    return friction + load + (fading + load_fading * load) / (1.0 + fall * v * v)


def load_slope(sense: Any, load_fading: Any, fall: Any, v: Any) -> Any:
    """Return how much friction of a component of a sense that slips at v there is for that which its load makes."""
    return sense * (1.0 + load_fading / (1.0 + fall * v * v))


def pressure(
    friction: Any, excess: Any, fading: Any, fall: Any, v: Any, slips: Any, sense: Any, whole: Any
) -> Any:
    """Return the most force of friction in a component at a velocity v: if it sticks what it can hold; if it `slips`
    (0 or 1) in a `sense` what friction takes, less what the smooth one takes already unless it is the `whole` (0 or
    1)."""
    besides = (1.0 - whole) * friction * sense * smooth_sign(v)
    slipping = slip_friction(friction, fading, fall, v) - besides
    return slips * slipping + (1.0 - slips) * (friction + excess)
