"""What couplings look like: toothed wheels that mesh, rings around planets, pulleys with a belt, a pinion for a rack.

Two wheels with parallel axes on a common body, seen from which they turn against each other, touch; a wheel that turns
alike within a planetary gear is a planet in a ring; others that turn alike are pulleys with a belt. A hinge coupled
with a slide gets the pinion that would roll on it. Any other coupled hinge gets a small wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import Coupling, Joint, Mechanism
from catena.view.sites import Site
from catena.view.solids import Solid, ToothedWheel, frame_along, tapered_bar, toothed_ring, toothed_wheel

Floats = NDArray[np.float64]

# A wheel is as thick as this part of a joint, and a belt as this part; teeth are about so far apart.
THICK, BELT, TOOTH = 0.7, 0.16, 1.1
# Teeth of a wheel at most.
MOST = 56
# Pulleys take this part of the way between their axes; a wheel alone is so many joints large.
PULLEYS, ALONE = 0.6, 1.9
# A ring is no ring where its planet turns almost as often: by more than this part less.
INSIDE = 0.1


@dataclass(frozen=True, eq=False)
class Wheel:
    """Solids that stand for a coupling, in ground, and the body that carries them."""

    coupling: str
    body: str
    solids: tuple[Solid, ...]


def wheels(mechanism: Mechanism, sites: Mapping[str, Site], sizes: Mapping[str, float]) -> Iterator[Wheel]:
    """What is seen of all couplings; `sizes` [m] are those of joints."""
    seen: list[tuple[str, Solid]] = []
    couplings = {name: _joints(each, sites) for name, each in mechanism.couplings.items()}
    meshes = {name: _mesh(mechanism.couplings[name], joints) for name, joints in couplings.items()}
    # Wheels that mesh have teeth of one size, so that the largest of them has no more than are seen.
    largest = max((max(mesh.radii) for mesh in meshes.values() if mesh is not None), default=0.0)
    for name, coupling in mechanism.couplings.items():
        for wheel in _of_coupling(coupling, couplings[name], meshes[name], sizes, largest):
            # A planet meshes with its sun and with its ring, and is one wheel.
            fresh = tuple(x for x in wheel.solids if not any(_is_same(wheel.body, x, *one) for one in seen))
            seen += [(wheel.body, solid) for solid in fresh]
            if fresh:
                yield Wheel(wheel.coupling, wheel.body, fresh)


def _is_same(body: str, solid: Solid, other_body: str, other: Solid) -> bool:
    """Return whether two wheels on one body are as large and at the same place."""
    if body != other_body or not (isinstance(solid, ToothedWheel) and isinstance(other, ToothedWheel)):
        return False
    near = 1e-3 * solid.radius
    return bool(np.linalg.norm(solid.p - other.p) < near and abs(solid.radius - other.radius) < near)


def _joints(coupling: Coupling, sites: Mapping[str, Site]) -> dict[str, Site]:
    return {name: sites[name] for name in coupling.joints if name in sites}


def _of_coupling(
    coupling: Coupling, joints: Mapping[str, Site], mesh: GearPair | None, sizes: Mapping[str, float], largest: float
) -> Iterator[Wheel]:  # fmt: skip
    turning = [name for name, site in joints.items() if site.joint.kind.drawn_as == "hinge"]
    if len(joints) == 2 and len(turning) == 1:
        yield _pinion(coupling, turning[0], joints, sizes)
        return
    size = min((sizes[name] for name in turning), default=0.0)
    tooth = max(TOOTH * size, 2.0 * np.pi * largest / MOST)
    if mesh is None or mesh.distance < 2.0 * size or not 1e-3 < abs(mesh.ratio) < 1e3:
        yield from (_alone(coupling, joints[name], sizes[name]) for name in turning)
    elif mesh.ratio < 0.0:
        yield from _touching(coupling, mesh, size, tooth)
    elif mesh.is_internal:
        yield from _ring(coupling, mesh, size, tooth)
    else:
        yield from _pulleys(coupling, mesh, size)


@dataclass(frozen=True, eq=False)
class GearPair:
    """Two wheels that a coupling ties, seen from the body `carrier` that both turn on: the bodies that they belong to,
    their centres, the axis, and how often the first turns for a turn of the second, both about the axis."""

    carrier: str
    bodies: tuple[str, str]
    centres: tuple[Floats, Floats]
    axis: Floats
    ratio: float
    coefficients: tuple[float, float]
    is_planetary: bool

    @property
    def across(self) -> Floats:
        """The way from the first axis to the second, at right angles to both."""
        apart = self.centres[1] - self.centres[0]
        return np.asarray(apart - (apart @ self.axis) * self.axis)

    @property
    def distance(self) -> float:
        return float(np.linalg.norm(self.across))

    @property
    def radii(self) -> tuple[float, float]:
        """The radii of the two wheels. Where they touch, both rims are as fast: radii are as the turns of the other."""
        turns = abs(self.ratio)
        if self.ratio > 0.0 and self.is_internal:
            return self.distance / abs(1.0 - turns), self.distance * turns / abs(1.0 - turns)
        part = PULLEYS if self.ratio > 0.0 else 1.0
        return part * self.distance / (1.0 + turns), part * self.distance * turns / (1.0 + turns)

    @property
    def is_internal(self) -> bool:
        """Whether wheels that turn alike are one within the other: in planetary gears, and where coefficients are
        radii that say so."""
        a, b = map(abs, self.coefficients)
        return abs(self.ratio - 1.0) > INSIDE and (
            self.is_planetary or abs(abs(a - b) - self.distance) < 0.01 * self.distance
        )


def _mesh(coupling: Coupling, joints: Mapping[str, Site]) -> GearPair | None:
    """Return the two wheels of a coupling of hinges with parallel axes; None where there are no two such wheels."""
    if not all(site.joint.kind.drawn_as == "hinge" for site in joints.values()):
        return None
    slopes = coupling.gradient(dict.fromkeys(coupling.joints, 0.0))
    names = list(joints)
    axes = [joints[name].axis for name in names]
    if any(abs(axis @ axes[0]) < 0.999 for axis in axes):
        return None
    weights = {n: float(slopes[n] * np.sign(axis @ axes[0])) for n, axis in zip(names, axes, strict=True)}
    is_planetary = False
    if len(names) == 3:
        # The carrier's turns are taken off those of a wheel beside it, which leaves turns relative to the carrier.
        found = next((c for c in permutations(names) if _is_sun_and_carrier(c, joints, weights)), None)
        if found is None:
            return None
        sun, arm, planet = (joints[name].joint for name in found)
        carrier = _shared(arm, planet)
        own = [_other_end(sun, _shared(sun, arm)), _other_end(planet, carrier)]
        signs = [1.0 if sun.parent == _shared(sun, arm) else -1.0, 1.0 if planet.parent == carrier else -1.0]
        chosen, is_planetary = (found[0], found[2]), True
    elif len(names) == 2:
        first, second = (joints[name].joint for name in names)
        carrier = _shared(first, second)
        if not carrier:
            return None
        own = [_other_end(first, carrier), _other_end(second, carrier)]
        # A joint that leads to the carrier tells how that turns, and what it leads from turns the other way round it.
        signs = [1.0 if joint.parent == carrier else -1.0 for joint in (first, second)]
        chosen, is_planetary = (names[0], names[1]), signs[0] != signs[1]
    else:
        return None
    c = [weights[name] * sign for name, sign in zip(chosen, signs, strict=True)]
    if not (c[0] and c[1]):
        return None
    centres = joints[chosen[0]].point, joints[chosen[1]].point
    return GearPair(carrier, (own[0], own[1]), centres, axes[0], -c[1] / c[0], (c[0], c[1]), is_planetary)


def _is_sun_and_carrier(
    names: tuple[str, ...], joints: Mapping[str, Site], weights: Mapping[str, float]
) -> bool:
    """Return whether three joints are those of a sun, of the carrier about the same axis, and of a planet on the
    carrier."""
    sun, arm, planet = (joints[name].joint for name in names)
    base = _shared(sun, arm)
    if (
        not base
        or _shared(arm, planet) not in (_other_end(arm, base),)
        or base in (planet.parent, planet.child)
    ):
        return False
    same_side = (sun.parent == base) == (arm.parent == base)
    off = weights[names[0]] + (weights[names[1]] if same_side else -weights[names[1]])
    apart = joints[names[0]].point - joints[names[1]].point
    axis = joints[names[0]].axis
    beside = np.linalg.norm(apart - (apart @ axis) * axis)
    far = np.linalg.norm(joints[names[2]].point - joints[names[1]].point)
    return abs(off) < 1e-9 * abs(weights[names[0]]) and bool(beside < 1e-6 * far)


def _shared(a: Joint, b: Joint) -> str:
    """Return the body that two joints have in common, "" if there is none."""
    return min({a.parent, a.child} & {b.parent, b.child}, default="")


def _other_end(joint: Joint, body: str) -> str:
    return joint.child if joint.parent == body else joint.parent


def _touching(coupling: Coupling, mesh: GearPair, size: float, tooth: float) -> Iterator[Wheel]:
    """Two wheels that mesh. Where they touch, both rims are as fast: the radii are as the turns of the other one."""
    x = mesh.across / mesh.distance
    R = np.column_stack([x, np.cross(mesh.axis, x), mesh.axis])
    for body, centre, radius, phase in zip(
        mesh.bodies,
        mesh.centres,
        mesh.radii,
        (0.0, 0.5),
        strict=True,
    ):
        teeth = _teeth(radius, tooth)
        turned = phase * 2.0 * np.pi / teeth + (np.pi if phase else 0.0)
        yield Wheel(coupling.name, body, (toothed_wheel(centre, R, radius, THICK * size, teeth, turned),))


def _ring(coupling: Coupling, mesh: GearPair, size: float, tooth: float) -> Iterator[Wheel]:
    """A wheel within a ring, which is the slower of the two; they touch on the far side of the wheel."""
    large, small = (0, 1) if mesh.ratio < 1.0 else (1, 0)
    outer, inner = mesh.radii[large], mesh.radii[small]
    x = (1.0 if large == 0 else -1.0) * mesh.across / mesh.distance
    R = np.column_stack([x, np.cross(mesh.axis, x), mesh.axis])
    teeth = _teeth(outer, tooth)
    ring = toothed_ring(mesh.centres[large], R, outer, THICK * size, teeth, np.pi / teeth)
    yield Wheel(coupling.name, mesh.bodies[large], (ring,))
    wheel = toothed_wheel(mesh.centres[small], R, inner, THICK * size, _teeth(inner, tooth), 0.0)
    yield Wheel(coupling.name, mesh.bodies[small], (wheel,))


def _pulleys(coupling: Coupling, mesh: GearPair, size: float) -> Iterator[Wheel]:
    """Two pulleys and a belt."""
    radii = np.array(mesh.radii)
    x = mesh.across / mesh.distance
    R = np.column_stack([x, np.cross(mesh.axis, x), mesh.axis])
    for body, centre, radius in zip(mesh.bodies, mesh.centres, radii, strict=True):
        yield Wheel(coupling.name, body, (toothed_wheel(centre, R, radius, THICK * size, 0, 0.0),))
    yield Wheel(
        coupling.name, mesh.carrier, _belt(mesh.centres[0], mesh.across, mesh.axis, radii, BELT * size)
    )


def _belt(centre: Floats, across: Floats, axis: Floats, radii: Floats, thickness: float) -> tuple[Solid, ...]:
    """Return the two straight parts of an open belt around pulleys."""
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
    """Return the wheel of a hinge that a slide follows."""
    other = next(n for n in joints if n != name)
    site, size = joints[name], sizes[name]
    radius = abs(_ratio(coupling, [other, name]))
    if joints[other].joint.kind.drawn_as != "slide" or not 1.2 * size < radius < 40.0 * size:
        return _alone(coupling, site, size)
    return _one(coupling, site, radius, size)


def _alone(coupling: Coupling, site: Site, size: float) -> Wheel:
    return _one(coupling, site, ALONE * size, size)


def _one(coupling: Coupling, site: Site, radius: float, size: float) -> Wheel:
    R = frame_along(site.axis)
    wheel = toothed_wheel(site.point, R, radius, THICK * size, _teeth(radius, TOOTH * size), 0.0)
    return Wheel(coupling.name, site.joint.child, (wheel,))


def _teeth(radius: float, tooth: float) -> int:
    return int(np.clip(round(2.0 * np.pi * radius / tooth), 8, MOST))


def _ratio(coupling: Coupling, names: list[str]) -> float:
    """Return how far the first joint moves for a unit of the second, near the neutral position."""
    slopes = coupling.gradient(dict.fromkeys(coupling.joints, 0.0))
    first, second = (float(slopes[name]) for name in names)
    return -second / first if first else 0.0
