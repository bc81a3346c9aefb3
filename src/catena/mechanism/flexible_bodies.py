"""Flexible bodies as parts of a mechanism: their rigid data, and the name of their modes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from catena.bodies.contract import FlexibleBody
from catena.errors import ModelError
from catena.mechanism import validation
from catena.mechanism.parts import Body
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.mechanism.shapes import Shape
from catena.validation import shown

MODES = ".modes"
"""The modes of the flexible body "boom" are coordinates called "boom.modes", as those of a joint would be."""


def flexible_body(
    who: str, name: str, flexible: Any, visuals: tuple[Shape, ...], collisions: tuple[Shape, ...]
) -> Body:
    """Return a body with modes, whose mass, mass centre and inertia are those of its undeformed shape."""
    if not isinstance(flexible, FlexibleBody):
        raise ModelError(
            f"{who}: flexible is {shown(flexible)}, which is no flexible body: give one such as Beam(...)"
        )
    mass, com, inertia = flexible.rigid
    for values in (com, inertia):
        values.setflags(write=False)
    return Body(name, mass, com, inertia, visuals, collisions, flexible)


def owner_of_modes(name: Any, bodies: Mapping[str, Body]) -> Body | None:
    """Return the flexible body whose modes are called so, None if there is none."""
    if not isinstance(name, str):
        return None
    single = re.fullmatch(r"(.+)\.mode\d+", name)
    if single and (body := bodies.get(single[1])) is not None and body.flexible is not None:
        raise ModelError(
            f"{name!r}: the modes of a body are locked and freed together: name {single[1] + MODES!r}, or describe the "
            f"body with fewer modes"
        )
    if not name.endswith(MODES):
        return None
    body = bodies.get(name.removesuffix(MODES))
    return body if body is not None and body.flexible is not None else None


def with_modes_locked(body: Body, at: Any) -> Body:
    """Return the body with its modes held at amplitudes, at zero if None, or where they are now."""
    assert body.flexible is not None
    count = body.flexible.modes
    if isinstance(at, PlacedMechanism):
        at = at.position_of(body.name + MODES)
    position = np.zeros(count) if at is None else at
    return replace(
        body,
        locked_at=validation.coordinates(f"body {body.name!r}", "the locked amplitudes", position, count),
    )
