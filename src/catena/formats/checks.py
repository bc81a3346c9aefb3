"""What can be said about a mechanism that was read: numbers that no machine has, parts that do nothing, files that are
missing.

The checks look at a description only. Whether loops close is found by trying, which `catena.check` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from catena.formats.findings import Finding, Severity
from catena.formats.source import Source
from catena.mechanism import GROUND, Body, Mechanism
from catena.mechanism.groups import Groups
from catena.mechanism.shapes import Mesh
from catena.mechanism.validation import inertia_fault

OBVIOUS = 0.02
"""How far, in parts of the largest, principal moments may break the triangle inequality to be a matter of digits."""
DENSEST = 5e4
"""Kilograms for each cubic metre that nothing is made of; platinum has 21450."""
FARTHEST = 50.0
"""Metres between the joints of a body from which on they look like millimetres."""


def check_mechanism(mechanism: Mechanism, source: Source) -> list[Finding]:
    """Return what is found, and repair what has one obvious repair if the source says so."""
    found = [
        finding for body in list(mechanism.bodies.values()) for finding in _inertia(mechanism, body, source)
    ]
    extents = _extents(mechanism)
    found += _units(mechanism, extents, source)
    found += _massless_leaves(mechanism, source)
    found += _loose_bodies(mechanism, source)
    found += _meshes(mechanism, source)
    found += _stuck(mechanism, source)
    found += _alike(mechanism, source)
    return found


def _inertia(mechanism: Mechanism, body: Body, source: Source) -> Iterator[Finding]:
    """Principal moments that no body has."""
    matrix = body.inertia
    largest = float(np.abs(matrix).max())
    if largest == 0.0:
        return
    moments, axes = np.linalg.eigh(matrix / largest)
    moments = moments * largest
    fault = inertia_fault(moments.tolist(), body.mass)
    if fault is None:
        return
    repaired = ""
    if source.fix:
        mended = np.zeros((3, 3)) if body.mass == 0.0 else _nearest(moments, axes)
        if mended is not None:
            mended.setflags(write=False)
            mechanism.replace_body(replace(body, inertia=mended))
            repaired = (
                "the inertia was dropped"
                if body.mass == 0.0
                else "the moments were moved as little as possible"
            )
    who = f"body {body.name!r}"
    yield Finding(Severity.WARNING, source.place("body", body.name), who, fault, "inertia", repaired)


def _nearest(moments: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the closest inertia that a body can have, or None if it is so far away that another one may be meant.

    Where a body's mass is, along its principal axes, is J = trace(I) / 2 - I; these must not be negative.
    """
    spread = 0.5 * moments.sum() - moments
    if spread.min() < -OBVIOUS * np.abs(moments).max():
        return None
    spread = np.maximum(spread, 0.0)
    mended = axes @ np.diag(spread.sum() - spread) @ axes.T
    return 0.5 * (mended + mended.T)


def _extents(mechanism: Mechanism) -> dict[str, float]:
    """Return how far from each other the joints, the mass centre and the shapes of a body are, 0 if nothing tells."""
    points: dict[str, list[NDArray[np.float64]]] = {name: [] for name in mechanism.bodies}
    for joint in mechanism.joints.values():
        points[joint.parent].append(joint.in_parent.p)
        points[joint.child].append(joint.in_child.p)
    found = {}
    for name, body in mechanism.bodies.items():
        array = np.array([*points[name], body.com])
        widest = float(np.abs(array - array[0]).max())
        for shape in (*body.visuals, *body.collisions):
            if shape.half_extents is not None:
                widest = max(widest, 2.0 * max(shape.half_extents))
        found[name] = widest
    return found


def _units(mechanism: Mechanism, extents: dict[str, float], source: Source) -> Iterator[Finding]:
    """Lengths that look like millimetres, masses like grams, inertias like those of other units."""
    bodies = [body for body in mechanism.bodies.values() if body.name != GROUND]
    largest = max((extents[body.name] for body in bodies), default=0.0)
    if largest > FARTHEST:
        name = max(bodies, key=lambda body: extents[body.name]).name
        message = f"its joints are up to {largest:.4g} m apart: if these are millimetres, divide them by 1000"
        yield Finding(Severity.WARNING, source.place("body", name), f"body {name!r}", message, "units")
    for body in bodies:
        size = extents[body.name]
        if body.mass <= 0.0 or size == 0.0:
            continue
        place, who = source.place("body", body.name), f"body {body.name!r}"
        # A body may stand out of the box of its joints, so the box is taken three times as large.
        if body.mass > 50.0 and (body.mass / DENSEST) ** (1 / 3) > 3.0 * size:
            message = (
                f"it weighs {body.mass:.4g} kg and is {size:.3g} m long: if these are grams, divide by 1000"
            )
            yield Finding(Severity.WARNING, place, who, message, "units")
        radius = float(np.sqrt(np.trace(body.inertia) / body.mass)) if np.trace(body.inertia) > 0.0 else 0.0
        if radius > 100.0 * max(size, 0.01) and radius > 3.0:
            message = (
                f"its inertia is that of a body {radius:.3g} m wide, but it is {size:.3g} m long: "
                "check the units, kg m^2 are meant"
            )
            yield Finding(Severity.WARNING, place, who, message, "units")


def _massless_leaves(mechanism: Mechanism, source: Source) -> Iterator[Finding]:
    """Ends of chains that move and have no mass, so that nothing determines how they accelerate."""
    whole = _welded(mechanism)
    mass: dict[str, float] = {}
    for name, group in whole.items():
        body = mechanism.bodies[name]
        mass[group] = mass.get(group, 0.0) + body.mass + float(np.abs(body.inertia).max())
    moving = [
        joint
        for joint in mechanism.joints.values()
        if joint.dof and whole[joint.parent] != whole[joint.child]
    ]
    degree: dict[str, int] = {}
    for joint in moving:
        for end in (joint.parent, joint.child):
            degree[whole[end]] = degree.get(whole[end], 0) + 1
    held = {name for force in mechanism.force_elements.values() for name in force.frames or ()}
    coupled = {name for coupling in mechanism.couplings.values() for name in coupling.joints}
    for joint in moving:
        # What is coupled to others follows them.
        if joint.name in coupled:
            continue
        for end in (joint.parent, joint.child):
            group = whole[end]
            if degree[group] == 1 and mass[group] == 0.0 and group != whole[GROUND] and end not in held:
                message = (
                    f"it hangs on joint {joint.name!r} and has no mass, so its acceleration is not determined"
                )
                place = source.place("body", end)
                yield Finding(Severity.WARNING, place, f"body {end!r}", message, "massless")


def _welded(mechanism: Mechanism) -> dict[str, str]:
    """For each body the name of one of those that joints without freedom hold together with it."""
    groups = Groups(mechanism.bodies)
    for joint in mechanism.joints.values():
        if joint.dof == 0:
            groups.join(joint.parent, joint.child)
    return {name: groups.top(name) for name in mechanism.bodies}


def _loose_bodies(mechanism: Mechanism, source: Source) -> Iterator[Finding]:
    """Bodies that no joint connects."""
    connected = {end for joint in mechanism.joints.values() for end in (joint.parent, joint.child)}
    for name in mechanism.bodies:
        if name not in connected and name != GROUND:
            message = "no joint connects it to anything: remove it, or add a joint"
            yield Finding(Severity.WARNING, source.place("body", name), f"body {name!r}", message, "unused")


def _meshes(mechanism: Mechanism, source: Source) -> Iterator[Finding]:
    """Meshes that are not there, and scales that turn them inside out."""
    seen = set()
    for body in mechanism.bodies.values():
        for shape in (*body.visuals, *body.collisions):
            if not isinstance(shape, Mesh) or (shape.path, shape.scale) in seen:
                continue
            seen.add((shape.path, shape.scale))
            place, who = source.place("body", body.name), f"body {body.name!r}"
            is_there = shape.file is not None and os.path.isfile(shape.file)
            if not is_there and shape.path not in source.outside:
                message = f"the mesh {shape.path!r} is not there"
                yield Finding(Severity.WARNING, place, who, message, "mesh")
            if np.prod(shape.scale) < 0.0:
                message = (
                    f"the scale {shape.scale} of mesh {shape.path!r} mirrors it: its axes are left-handed"
                )
                yield Finding(Severity.NOTE, place, who, message, "left-handed")


def _stuck(mechanism: Mechanism, source: Source) -> Iterator[Finding]:
    """Joints whose limits leave no room."""
    for joint in mechanism.joints.values():
        if joint.limits is not None and (joint.limits[:, 0] == joint.limits[:, 1]).any():
            message = (
                f"its limits are {joint.limits.tolist()}: it cannot move; if it should not, make it fixed"
            )
            yield Finding(
                Severity.NOTE, source.place("joint", joint.name), f"joint {joint.name!r}", message, "limits"
            )


def _alike(mechanism: Mechanism, source: Source) -> Iterator[Finding]:
    """Names that differ only in case or blanks."""
    for what, names in (("body", mechanism.bodies), ("joint", mechanism.joints)):
        first: dict[str, str] = {}
        for name in names:
            plain = "".join(name.split()).lower()
            if plain in first:
                message = f"its name differs from {first[plain]!r} only in case or blanks"
                yield Finding(Severity.NOTE, source.place(what, name), f"{what} {name!r}", message, "name")
            first.setdefault(plain, name)
