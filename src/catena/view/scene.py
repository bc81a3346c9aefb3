"""What a mechanism looks like: named geometry carried by its bodies, found once and free of any drawing library.

Everything that shows a mechanism starts here. A *part* is rigid and rides on one body; a *span* is stretched between
points of two bodies, as a spring or the rod of a slide is. `Scene.at` puts them where given poses say, for painters
that draw one configuration; players hand parts over once and then only poses. On a flexible body parts ride on
*stations*, points that move with its modes, and the body itself is a *skin* between them (see `flexing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import GROUND, Body, Mechanism
from catena.system import System
from catena.view import theme
from catena.view.camera import Camera, camera
from catena.view.flexing import Flexing, Skin, body_skin, exaggerated, flexings, given_skin
from catena.view.footing import Footings, is_guided, sliding_way
from catena.view.gears import wheels
from catena.view.glyphs import joint_glyph
from catena.view.outlines import body_outline, body_solids, carried_points
from catena.view.parts import Anchor, Part, Poses, SpanningPart
from catena.view.picture import Picture, picture_of
from catena.view.sites import Site, joint_sites
from catena.view.solids import BarSolid, Solid

Floats = NDArray[np.float64]

APART = 4
"""Joints at one place that are drawn one larger than the other; more would hide everything else."""


@dataclass(frozen=True, eq=False)
class Scene:
    """All parts and spans of a mechanism, with its mass centres {body: (mass, centre in the body)}, the anchors of
    labels, the direction it is best seen from, the radius of its bars and its extent [m].

    It is the shape of one `structure`: a mechanism whose structure changes has a scene for each.
    """

    system: System
    parts: tuple[Part, ...]
    spans: tuple[SpanningPart, ...]
    masses: Mapping[str, tuple[float, Floats]]
    body_anchors: Mapping[str, Anchor]
    joint_anchors: Mapping[str, Anchor]
    camera: Camera
    bar_radius: float
    extent: float
    has_gravity: bool
    skins: tuple[Skin, ...] = ()
    flexings: tuple[Flexing, ...] = ()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies that carry something, ground first."""
        return tuple(self.system.mechanism.bodies)

    @cached_property
    def carriers(self) -> tuple[str, ...]:
        """All that carries something: the bodies, then the stations of those that are flexible."""
        return (*self.bodies, *(name for each in self.flexings for name in each.stations))

    def poses(self, q: Floats, exaggerate: float = 1.0) -> dict[str, Floats]:
        """Return the poses (..., 4, 4) of all bodies, frames and stations at q (..., nq), with deformations so many
        times as large as they are."""
        q = np.asarray(q, dtype=np.float64)
        shown = q if exaggerate == 1.0 else exaggerated(self.system, q, exaggerate)
        return _carrier_poses(self.system, self.flexings, shown)

    def amplitudes(self, q: Floats) -> Floats:
        """Return the amplitudes (..., modes) of all flexible bodies at q (..., nq), one body after the other."""
        found = [each.amplitudes(q) for each in self.flexings]
        return np.concatenate(found, axis=-1) if found else np.zeros((*q.shape[:-1], 0))

    def carriage(self, body: str, point: Any) -> tuple[str, Floats]:
        """Return what carries a point (3,) of a body, and the point in its axes: the body, or a station of it."""
        return carriage(self.flexings, body, point)

    def at(self, poses: Poses) -> Picture:
        """Return the picture of the mechanism with its bodies and frames at these poses (4, 4)."""
        return picture_of(self, poses)


def picture(
    system: System,
    q: Any,
    scale: float = 1.0,
    view: tuple[float, float] | None = None,
    exaggerate: float = 1.0,
) -> Picture:
    """Return what is to be painted of a system at one configuration q (nq,), in ground; flexible bodies deform
    `exaggerate` times as far as they do."""
    q = np.asarray(q, dtype=np.float64)
    q = q if exaggerate == 1.0 else exaggerated(system, q, exaggerate)
    shape = scene(system, q, scale, view)
    return shape.at(shape.poses(q))


def carriage(flexing: Iterable[Flexing], body: str, point: Any) -> tuple[str, Floats]:
    """Return what carries a point (3,) of a body at rest, and the point in its axes."""
    p = np.asarray(point, dtype=np.float64)
    for each in flexing:
        if each.body == body:
            return each.nearest(p)
    return body, p


def scene(
    system: System,
    q: Any,
    scale: float = 1.0,
    view: tuple[float, float] | None = None,
    motion: Floats | None = None,
    colours: Mapping[str, theme.Colour] | None = None,
) -> Scene:
    """Return the scene of a system, shaped at the configuration q (nq,).

    `scale` makes bars and joints thicker or thinner; `view` is the elevation and azimuth of the eye
    [degrees], chosen from the mechanism when left out. `motion` (n, nq) are configurations that will be shown, so that
    rails are as long as they have to be; `colours` are those of bodies that are known from another structure.
    """
    mechanism = system.mechanism
    flexible = flexings(system)
    poses = _carrier_poses(system, flexible, np.asarray(q, dtype=np.float64))
    sites = joint_sites(mechanism, poses, system.loops, partial(carriage, flexible))
    bodies = {name: body for name, body in mechanism.bodies.items() if name != GROUND}
    centres = {name: poses[name][:3, :3] @ body.com + poses[name][:3, 3] for name, body in bodies.items()}
    reached = {name: carried_points(mechanism, name, poses, sites) for name in bodies}
    shapes = {name: body_solids(mechanism, name) for name in mechanism.bodies}
    corners = [
        poses[name][:3, :3] @ p + poses[name][:3, 3]
        for name in bodies
        for _, solids in shapes[name]
        for solid in solids
        for p in _box_around(solid.triangles().corners)
    ]
    corners += [poses[station][:3, 3] for each in flexible for station in each.stations]
    extent, r = _sizes(reached, [*centres.values(), *corners])
    r *= scale
    looking = camera(mechanism.gravity, sites.values(), view)
    into = {name: np.asarray(np.linalg.inv(pose), dtype=np.float64) for name, pose in poses.items()}
    around: dict[str, list[Site]] = {name: [] for name in mechanism.bodies}
    for site in sites.values():
        for end in {site.joint.parent, site.joint.child}:
            around[end].append(site)

    typical = _typical_mass(bodies)
    thickness = {name: r * _relative_size(body.mass, typical, 1.6) for name, body in bodies.items()}
    sizes = {name: _joint_size(site, thickness) for name, site in sites.items()}
    parts = [_given_ground(mechanism)] if shapes[GROUND] else []
    levels = _levels(sites)
    # A body alone may be of any size.
    others = extent if len(bodies) > 1 else np.inf
    skins: list[Skin] = []
    for name, body in bodies.items():
        colour = (colours or {}).get(name, theme.BODIES[levels.get(name, 0) % 2])
        own = next((each for each in flexible if each.body == name), None)
        if own is not None:
            skins += [
                given_skin(own, paint or colour, [face for solid in solids for face in solid.polygons()])
                for paint, solids in shapes[name]
            ] or [body_skin(own, colour, thickness[name])]
            continue
        for paint, solids in shapes[name]:
            parts.append(Part(name, "body", paint or colour, name, tuple(solids)))
        if not shapes[name]:
            outline = body_outline(body, poses[name], reached[name], around[name], thickness[name], others)
            outline = [_without_hidden_ends(solid, around[name], sizes) for solid in outline]
            parts.append(Part(name, "body", colour, name, tuple(x.moved(into[name]) for x in outline)))
    drawn = _Places()
    spans: list[SpanningPart] = []
    footings = Footings(
        looking,
        np.mean([np.zeros(3), *centres.values()][bool(centres) :], axis=0),
        extent,
        r,
        bool(np.any(mechanism.gravity)),
    )
    for name, site in sites.items():
        size = sizes[name]
        guided = looking.is_planar and is_guided(site)
        # A block goes with what slides, between rails, and a plane with what roams; other joints stay on their parents.
        on, at = (
            (site.joint.child, site.joint.in_child.p)
            if guided or site.roams
            else (site.joint.parent, site.joint.in_parent.p)
        )
        shown = replace(site, point=site.on_child[:3, 3]) if guided else site
        carrier, _ = carriage(flexible, on, at)
        parts += [
            part.moved(into[carrier])
            for part in _joint_parts(
                name, shown, size, drawn.rank(shown, r), carrier, looking.towards if guided else None
            )
        ]
        if not guided or site.gap > 0.05 * size:
            spans += _joint_spans(name, site, size, into, flexible)
        if GROUND in (site.joint.parent, site.joint.child) and not site.roams:
            child = site.joint.child if site.joint.parent == GROUND else site.joint.parent
            way = sliding_way(system, name, q, motion, extent) if guided else None
            parts += footings.of(name, site, centres[child], way)
    parts += footings.hangers()
    for wheel in wheels(mechanism, sites, sizes) if mechanism.couplings else ():
        carried = tuple(solid.moved(into[wheel.body]) for solid in wheel.solids)
        parts.append(Part(wheel.coupling, "coupling", theme.COUPLING, wheel.body, carried))
    spans += _force_spans(mechanism, r, flexible)
    masses = {name: (body.mass, body.com) for name, body in bodies.items() if body.mass > 0.0}
    body_anchors = {
        name: Anchor(name, _apply(into[name], _middle(reached[name], centres[name]))) for name in bodies
    }
    for each in flexible:
        # The middle of what is drawn, not of the joints, which may all be at one end.
        carrier, point = each.nearest(np.mean(each.s, axis=0))
        body_anchors[each.body] = Anchor(carrier, point)
    joint_anchors = {}
    for name, site in sites.items():
        carrier, _ = carriage(flexible, site.joint.parent, site.joint.in_parent.p)
        joint_anchors[name] = Anchor(carrier, _apply(into[carrier], site.point))
    return Scene(
        system, tuple(parts), tuple(spans), masses, body_anchors, joint_anchors, looking, r, extent,
        bool(np.any(mechanism.gravity)), tuple(skins), flexible,
    )  # fmt: skip


def body_colours(shape: Scene) -> dict[str, theme.Colour]:
    """Return the colours of bodies, by which they are known again in the scene of another structure."""
    found = {part.name: part.colour for part in shape.parts if part.role == "body"}
    return found | {skin.name: skin.colour for skin in shape.skins}


def _carrier_poses(system: System, flexing: Iterable[Flexing], q: Floats) -> dict[str, Floats]:
    """Return the poses (..., 4, 4) of bodies, frames and stations."""
    found = system.body_poses(q)
    for each in flexing:
        stations = each.poses(found[each.body], each.amplitudes(q))
        found |= {name: stations[..., k, :, :] for k, name in enumerate(each.stations)}
    return found


def _apply(pose: Floats, point: Floats) -> Floats:
    return pose[:3, :3] @ point + pose[:3, 3]


def _given_ground(mechanism: Mechanism) -> Part:
    solids = tuple(solid for _, some in body_solids(mechanism, GROUND) for solid in some)
    return Part(GROUND, "ground", theme.GROUND, GROUND, solids)


class _Places:
    """Counts the joints at one place, for which a grid of cells remembers where joints were drawn before."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, ...], list[Floats]] = {}

    def rank(self, site: Site, r: float) -> int:
        """Return how many joints were drawn before within a tenth of the radius, at most as many as can be told
        apart."""
        cell = tuple(int(x) for x in np.floor(site.point / r))
        near = (
            p
            for dx in (-1, 0, 1)
            for dy in (-1, 0, 1)
            for dz in (-1, 0, 1)
            for p in self._cells.get((cell[0] + dx, cell[1] + dy, cell[2] + dz), ())
        )
        rank = sum(1 for p in near if np.linalg.norm(p - site.point) < 0.1 * r)
        self._cells.setdefault(cell, []).append(site.point)
        return min(rank, APART)


def _joint_size(site: Site, thickness: Mapping[str, float]) -> float:
    """Return a joint is a little thicker than the bars it connects, so that they end inside it."""
    joined = [thickness[end] for end in (site.joint.parent, site.joint.child) if end != GROUND]
    return min(max(joined), 1.3 * min(joined))


def _without_hidden_ends(solid: Solid, sites: Iterable[Site], sizes: Mapping[str, float]) -> Solid:
    """Return a bar that knows which of its ends lie inside a hinge or a ball joint."""
    if not isinstance(solid, BarSolid):
        return solid
    ends = ((solid.p, solid.radius), (solid.p + solid.length * solid.R[:, 2], solid.end_radius))
    covers = [(site.point, 1.2 * sizes[site.joint.name]) for site in sites if site.form in ("hinge", "ball")]
    hidden = [
        any(np.linalg.norm(p - point) < 1e-9 + 0.01 * radius and radius <= cover for point, cover in covers)
        for p, radius in ends
    ]
    return replace(solid, is_hidden=(hidden[0], hidden[1]))


def _joint_parts(name: str, site: Site, r: float, rank: int, carrier: str, flat: Floats | None) -> list[Part]:
    """Return what is seen of a joint itself, in ground, to be carried by its parent."""
    solids = joint_glyph(site, r, rank, flat)
    if not solids:
        return []
    role = "locked" if site.joint.locked else "loop" if site.is_loop else "joint"
    colour = {"locked": theme.LOCKED, "loop": theme.LOOP, "joint": theme.JOINT}[role]
    return [Part(name, role, colour, carrier, tuple(solids))]


def _joint_spans(
    name: str, site: Site, r: float, into: Poses, flexing: Iterable[Flexing]
) -> list[SpanningPart]:
    """Return what stretches when a joint moves: the rod of a slide, the line to a floating body, the gap of an open
    loop."""
    joint = site.joint
    parent, _ = carriage(flexing, joint.parent, joint.in_parent.p)
    child, _ = carriage(flexing, joint.child, joint.in_child.p)

    def span(form: str, colour: theme.Colour, a: Floats, b: Floats, radius: float) -> SpanningPart:
        return SpanningPart(
            name, form, colour, parent, _apply(into[parent], a), child, _apply(into[child], b), radius
        )

    if site.form == "none":
        return [span("float", theme.FAINT_INK, site.on_parent[:3, 3], site.on_child[:3, 3], r)]
    if site.form in ("block", "hinge", "ball", "cross"):
        if not site.is_loop:
            return []
        return [span("gap", theme.LOOP, site.on_parent[:3, 3], site.on_child[:3, 3], r)]
    end = site.on_child[:3, 3] if site.is_pulled_out(joint.child) else site.point
    found = [] if site.roams else [span("rod", theme.ROD, site.point, end, 0.55 * r)]
    if site.gap > 0.05 * r:
        found.append(span("gap", theme.LOOP, site.on_parent[:3, 3], site.on_child[:3, 3], r))
    return found


def _force_spans(mechanism: Mechanism, r: float, flexing: Iterable[Flexing]) -> Iterable[SpanningPart]:
    """Springs, dampers and cables between frames, a span for each stretch."""
    forms = {"spring": "coils", "bushing": "coils", "damper": "damper", "none": "", "arrow": ""}
    for name, element in mechanism.force_elements.items():
        form = forms.get(element.kind.drawn_as, "cable")
        if element.frames is None or not form:
            continue
        ends = []
        for frame in element.frames:
            at = mechanism.frames.get(frame)
            ends.append(
                carriage(flexing, at.body, at.pose.p) if at else carriage(flexing, frame, np.zeros(3))
            )
        for (body_a, a), (body_b, b) in zip(ends, ends[1:], strict=False):
            yield SpanningPart(name, form, theme.FORCE, body_a, np.asarray(a), body_b, np.asarray(b), r)


def _box_around(points: Floats) -> Floats:
    """Two opposite corners (2, 3) of the box around points (n, 3)."""
    return np.stack([points.min(axis=0), points.max(axis=0)]) if len(points) else np.zeros((0, 3))


def _sizes(reached: Mapping[str, list[Floats]], others: Sequence[Floats]) -> tuple[float, float]:
    """Return the size of the mechanism [m], and a radius for its bars that suits both its links and the whole; it
    reaches to `others` (3,) as well."""
    points = np.array([p for own in reached.values() for p in own] + list(others) or [np.zeros(3)])
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    lengths = [
        float(np.linalg.norm(np.ptp(np.array(own), axis=0))) for own in reached.values() if len(own) > 1
    ]
    lengths = [length for length in lengths if length > 1e-3 * extent]
    if extent == 0.0:
        return 1.0, 0.05
    link = float(np.median(lengths)) if lengths else extent
    # In a long row of short links, bars that suit the whole would hide the links between their joints.
    return extent, float(np.clip(0.14 * link, min(0.0105 * extent, 0.2 * link), 0.022 * extent))


def _relative_size(mass: float, typical: float, largest: float) -> float:
    """Return how much thicker a body is drawn than one of the typical mass: like balls of these masses."""
    return float(np.clip((mass / typical) ** (1.0 / 3.0), 0.8, largest)) if typical else 1.0


def _typical_mass(bodies: Mapping[str, Body]) -> float:
    masses = [body.mass for body in bodies.values() if body.mass > 0.0]
    return float(np.median(masses)) if masses else 0.0


def _middle(points: list[Floats], centre: Floats) -> Floats:
    return np.mean(points, axis=0) if len(points) > 1 else centre


def _levels(sites: Mapping[str, Site]) -> dict[str, int]:
    """Return the number of tree joints between each body and ground."""
    neighbours: dict[str, list[str]] = {}
    for site in sites.values():
        if not site.is_loop:
            neighbours.setdefault(site.joint.parent, []).append(site.joint.child)
            neighbours.setdefault(site.joint.child, []).append(site.joint.parent)
    levels, row = {GROUND: 0}, [GROUND]
    while row:
        row = [
            (levels.setdefault(other, levels[body] + 1), other)[1]
            for body in row
            for other in neighbours.get(body, ())
            if other not in levels
        ]
    return levels
