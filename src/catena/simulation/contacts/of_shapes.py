"""Contacts from the collision shapes of a mechanism, as far as contacts know such shapes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from catena.errors import StateError, warn
from catena.mechanism import GROUND, Mechanism
from catena.mechanism.shapes import Box, Capsule, Shape, Sphere
from catena.mechanism.validation import known
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.height_field import HeightField
from catena.spatial import Pose
from catena.validation import entries, shown


def contacts_of(
    mechanism: Mechanism,
    on: str | Iterable[str] = GROUND,
    bodies: Iterable[str] | None = None,
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    between: bool = False,
    floor: HeightField | None = None,
) -> list[Contact]:
    """Return contacts for `simulate` where the collision shapes of a mechanism may touch something. The mechanism gets
    the frames that they name, an edit like `add_frame`: plan it afterwards.

    Shapes of all bodies, or of those in `bodies`, touch the x-y plane of the frame `on`, ground unless given, from
    above, or the planes of several frames, as those of a trough or of a floor that meets walls and ramps: a sphere
    as a ball, a capsule as the balls of its two ends, a box as its eight corners. With a `floor` the plane of `on` is
    that height field; corners of boxes touch it, and no faces that it would reach first. With `between` spheres of
    different bodies touch each other too, unless a joint connects the bodies. `friction` and `restitution` are
    those of every contact. Shapes that a plane does not touch in points (cylinders, ellipsoids, meshes) are named
    in one warning and left out.
    """
    if not isinstance(mechanism, Mechanism):
        raise StateError(f"contacts_of: {shown(mechanism)} is no mechanism; give one.")
    planes = _planes(mechanism, on)
    under = {mechanism.frames[plane].body if plane in mechanism.frames else plane for plane in planes}
    try:
        chosen = list(mechanism.bodies) if bodies is None else [str(name) for name in entries(bodies)]
    except ValueError as error:
        raise StateError(f"contacts_of: bodies is {shown(bodies)} ({error}); give names.") from None
    contacts: list[Contact] = []
    unknown: list[str] = []
    balls: list[tuple[str, str, float]] = []
    numbers: dict[str, Any] = {"friction": friction, "restitution": restitution}
    for name in chosen:
        body = mechanism.bodies[known("body", name, mechanism.bodies, "contacts_of")]
        if name in under | {GROUND}:
            continue
        for k, shape in enumerate(body.collisions):
            label = shape.name or f"{name} {type(shape).__name__.lower()} {k + 1}"
            points = _points(shape)
            if points is None:
                unknown.append(label)
                continue
            radius = float(shape.radius) if isinstance(shape, Sphere | Capsule) else 0.0
            for n, point in enumerate(points):
                frame = _free(mechanism, label if len(points) == 1 else f"{label} {n + 1}")
                mechanism.add_frame(frame, name, shape.pose * Pose(p=point))
                for plane in planes:
                    label_on = f"{frame} on {plane}" if len(planes) > 1 else ""
                    contacts.append(
                        Contact(frame, plane, radius=radius, name=label_on, floor=floor, **numbers)
                    )
                if isinstance(shape, Sphere):
                    balls.append((frame, name, radius))
    if between:
        contacts += _between(mechanism, balls, numbers)
    if unknown:
        warn(
            f"{mechanism.name!r}: contacts know points and balls, so these shapes are left out: "
            f"{', '.join(map(repr, unknown[:12]))}{f' and {len(unknown) - 12} more' if len(unknown) > 12 else ''}."
        )
    return contacts


def _planes(mechanism: Mechanism, on: str | Iterable[str]) -> list[str]:
    """The frames whose planes are touched."""
    try:
        planes = [str(name) for name in entries(on)]
    except ValueError as error:
        raise StateError(f"contacts_of: on is {shown(on)} ({error}); give names of frames.") from None
    if not planes or len(set(planes)) < len(planes):
        raise StateError(f"contacts_of: on is {shown(on)}; give one or several different frames.")
    return [known("frame", name, [*mechanism.bodies, *mechanism.frames], "contacts_of") for name in planes]


def _points(shape: Shape) -> list[np.ndarray] | None:
    """The points of a shape, or the centres of its balls, in its own frame, that a plane touches first; None where
    there are more than a few."""
    if isinstance(shape, Sphere):
        return [np.zeros(3)]
    if isinstance(shape, Capsule):
        return [np.array([0.0, 0.0, sign * 0.5 * shape.length]) for sign in (1.0, -1.0)]
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
        return [half * np.array(signs) for signs in product((1.0, -1.0), repeat=3)]
    return None


def _between(
    mechanism: Mechanism, balls: list[tuple[str, str, float]], numbers: dict[str, Any]
) -> list[Contact]:
    """Contacts of balls of different bodies that no joint connects."""
    joined = {frozenset((joint.parent, joint.child)) for joint in mechanism.joints.values()}
    found = []
    for k, (frame, body, radius) in enumerate(balls):
        for other, its_body, its_radius in balls[k + 1 :]:
            if body != its_body and frozenset((body, its_body)) not in joined:
                name = f"{frame} and {other}"
                found.append(Contact(frame, other, radius=radius, on_radius=its_radius, name=name, **numbers))
    return found


def _free(mechanism: Mechanism, name: str) -> str:
    """A name that no frame and no body has."""
    while name in mechanism.frames or name in mechanism.bodies:
        name += "'"
    return name
