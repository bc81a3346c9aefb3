"""What couplings look like: toothed wheels that mesh, pulleys with a belt, and a pinion for a rack.

Two hinges with parallel axes that turn against each other get wheels that touch; those that turn alike get pulleys and
a belt; a hinge coupled with a slide gets the pinion that would roll on it. Any other coupled hinge gets a small wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.joints import Prismatic, Revolute
from catena.mechanism import Coupling, Mechanism
from catena.view.sites import Site
from catena.view.solids import Solid, frame_along, tapered_bar, toothed_wheel

Floats = NDArray[np.float64]

# A wheel is as thick as this part of a joint, and a belt as this part; teeth are about so far apart.
THICK, BELT, TOOTH = 0.7, 0.16, 1.1
# Pulleys take this part of the way between their axes; a wheel alone is so many joints large.
PULLEYS, ALONE = 0.6, 1.9


@dataclass(frozen=True, eq=False)
class Wheel:
    """Solids that stand for a coupling, in ground, and the body that carries them."""

    coupling: str
    body: str
    solids: tuple[Solid, ...]


def wheels(mechanism: Mechanism, sites: Mapping[str, Site], sizes: Mapping[str, float]) -> Iterator[Wheel]:
    """What is seen of all couplings; `sizes` [m] are those of joints."""
    for coupling in mechanism.couplings.values():
        joints = {name: sites[name] for name in coupling.joints if name in sites}
        turning = [name for name, site in joints.items() if isinstance(site.joint.kind, Revolute)]
        if len(joints) == 2 and len(turning) == 2:
            yield from _pair(coupling, turning, joints, sizes)
        elif len(joints) == 2 and len(turning) == 1:
            yield _pinion(coupling, turning[0], joints, sizes)
        else:
            for name in turning:
                yield _alone(coupling, joints[name], sizes[name])


def _pair(
    coupling: Coupling, names: list[str], joints: Mapping[str, Site], sizes: Mapping[str, float]
) -> Iterator[Wheel]:
    """Two wheels that mesh, or two pulleys and a belt."""
    a, b = (joints[name] for name in names)
    size = min(sizes[name] for name in names)
    axis, other = _axis(a), _axis(b)
    apart = b.point - a.point
    across = apart - (apart @ axis) * axis
    distance = float(np.linalg.norm(across))
    ratio = _ratio(coupling, names)
    if abs(axis @ other) < 0.999 or distance < 2.0 * size or not 1e-3 < abs(ratio) < 1e3:
        yield from (_alone(coupling, joints[name], sizes[name]) for name in names)
        return
    # Where the wheels touch, both rims are as fast: the radii are as the turns of the other one.
    slower, faster = 1.0 / (1.0 + abs(ratio)), abs(ratio) / (1.0 + abs(ratio))
    carrier = {a.joint.parent, a.joint.child} & {b.joint.parent, b.joint.child}
    is_alike = ratio * (axis @ other) > 0.0
    part = PULLEYS if is_alike else 1.0
    radii = part * distance * np.array([slower, faster])
    phases = 0.0, 0.5
    for site, radius, phase in zip((a, b), radii, phases, strict=True):
        moving = next((end for end in (site.joint.child, site.joint.parent) if end not in carrier), None)
        teeth = 0 if is_alike else _teeth(radius, size)
        R = np.column_stack([across / distance, np.cross(axis, across / distance), axis])
        turned = phase * 2.0 * np.pi / teeth if teeth else 0.0
        wheel = toothed_wheel(site.point, R, radius, THICK * size, teeth, turned + (np.pi if phase else 0.0))
        yield Wheel(coupling.name, moving or site.joint.child, (wheel,))
    if is_alike and carrier:
        yield Wheel(coupling.name, min(carrier), _belt(a.point, across, axis, radii, BELT * size))


def _belt(centre: Floats, across: Floats, axis: Floats, radii: Floats, thickness: float) -> tuple[Solid, ...]:
    """The two straight parts of an open belt around pulleys."""
    distance = float(np.linalg.norm(across))
    x = across / distance
    y = np.cross(axis, x)
    # The belt leaves both pulleys at the same angle.
    cos = (radii[0] - radii[1]) / distance
    sin = np.sqrt(max(0.0, 1.0 - cos * cos))
    ends = [(cos * x + side * sin * y) for side in (1.0, -1.0)]
    return tuple(
        tapered_bar(centre + radii[0] * n, centre + across + radii[1] * n, thickness, thickness) for n in ends
    )


def _pinion(coupling: Coupling, name: str, joints: Mapping[str, Site], sizes: Mapping[str, float]) -> Wheel:
    """The wheel of a hinge that a slide follows."""
    other = next(n for n in joints if n != name)
    site, size = joints[name], sizes[name]
    radius = abs(_ratio(coupling, [other, name]))
    if not isinstance(joints[other].joint.kind, Prismatic) or not 1.2 * size < radius < 40.0 * size:
        return _alone(coupling, site, size)
    return _one(coupling, site, radius, size)


def _alone(coupling: Coupling, site: Site, size: float) -> Wheel:
    return _one(coupling, site, ALONE * size, size)


def _one(coupling: Coupling, site: Site, radius: float, size: float) -> Wheel:
    R = frame_along(_axis(site))
    wheel = toothed_wheel(site.point, R, radius, THICK * size, _teeth(radius, size), 0.0)
    return Wheel(coupling.name, site.joint.child, (wheel,))


def _teeth(radius: float, size: float) -> int:
    return int(np.clip(round(2.0 * np.pi * radius / (TOOTH * size)), 8, 56))


def _axis(site: Site) -> Floats:
    kind = site.joint.kind
    assert isinstance(kind, Revolute)
    return site.on_parent[:3, :3] @ np.asarray(kind.axis, dtype=np.float64)


def _ratio(coupling: Coupling, names: list[str]) -> float:
    """How far the first joint moves for a unit of the second, near the neutral position."""
    slopes = coupling.gradient(dict.fromkeys(coupling.joints, 0.0))
    first, second = (float(slopes[name]) for name in names)
    return -second / first if first else 0.0
