"""A mechanism as coloured solids, free of any plotting library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.joints import Free
from catena.mechanism import GROUND, Body, Mechanism
from catena.system import System
from catena.view import theme
from catena.view.camera import Camera, camera
from catena.view.footing import hatching, pedestal_or_pad
from catena.view.force_glyphs import force_strokes
from catena.view.glyphs import joint_glyph
from catena.view.outlines import body_outline, carried_points
from catena.view.sites import Site, joint_sites
from catena.view.solids import Polygons

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """Something to paint: the body or joint it stands for, its role, its colour, polygons and lines.

    Roles are "body", "joint", "loop", "locked" and "ground" for solids; "float" for the dashed line from
    ground to a floating body, "gap" for a loop that is open, "hatching" for strokes behind ground pads, "force" for
    springs, cables and arrows of wrenches.
    """

    name: str
    role: str
    colour: theme.Colour
    polygons: Polygons
    lines: list[Floats]


@dataclass(frozen=True, eq=False)
class Scene:
    """All parts of a picture in ground coordinates, with the mass centres and the radius of the bars [m].

    `masses` maps bodies to (mass, centre), `anchors` maps bodies and joints to the points of their labels.
    """

    parts: tuple[Part, ...]
    masses: Mapping[str, tuple[float, Floats]]
    body_anchors: Mapping[str, Floats]
    joint_anchors: Mapping[str, Floats]
    camera: Camera
    bar_radius: float
    has_gravity: bool

    def points(self) -> Floats:
        """All corners of all solids and forces, (n, 3)."""
        corners = [polygon for part in self.parts for polygon in part.polygons]
        corners += [line for part in self.parts if part.role == "force" for line in part.lines]
        return np.concatenate(corners) if corners else np.zeros((1, 3))


def scene(system: System, q: Any, scale: float = 1.0, view: tuple[float, float] | None = None) -> Scene:
    """The scene of a system at one configuration q (nq,).

    `scale` makes bars and joints thicker or thinner; `view` is the elevation and azimuth of the eye
    [degrees], chosen from the mechanism when left out.
    """
    mechanism = system.mechanism
    poses = {
        name: np.asarray(pose) for name, pose in system.body_poses(np.asarray(q, dtype=np.float64)).items()
    }
    sites = joint_sites(mechanism, poses, system.loops)
    bodies = {name: body for name, body in mechanism.bodies.items() if name != GROUND}
    centres = {name: poses[name][:3, :3] @ body.com + poses[name][:3, 3] for name, body in bodies.items()}
    reached = {name: carried_points(mechanism, name, poses, sites) for name in bodies}
    extent, r = _sizes(reached, centres)
    r *= scale
    looking = camera(mechanism.gravity, sites.values(), view)
    typical = _typical_mass(bodies)

    thickness = {name: r * _relative_size(body.mass, typical, 1.6) for name, body in bodies.items()}

    parts = []
    levels = _levels(mechanism, sites)
    for name, body in bodies.items():
        own = [site for site in sites.values() if name in (site.joint.parent, site.joint.child)]
        faces = body_outline(body, poses[name], reached[name], own, thickness[name])
        parts.append(Part(name, "body", theme.BODIES[levels.get(name, 0) % 2], faces, []))
    drawn: list[Floats] = []
    for name, site in sites.items():
        # A joint is a little thicker than the bars it connects, so that they end inside it.
        joined = [thickness[end] for end in (site.joint.parent, site.joint.child) if end != GROUND]
        rank = sum(1 for p in drawn if np.linalg.norm(p - site.point) < 0.1 * r)
        drawn.append(site.point)
        parts += _joint_parts(name, site, min(max(joined), 1.3 * min(joined)), rank)
        if GROUND in (site.joint.parent, site.joint.child) and not isinstance(site.joint.kind, Free):
            child = site.joint.child if site.joint.parent == GROUND else site.joint.parent
            faces = pedestal_or_pad(site, looking.up, centres[child], extent, r)
            parts.append(Part(name, "ground", theme.GROUND, faces, []))
            if looking.is_planar and abs(looking.towards @ looking.up) < 0.5:
                lines = hatching(site, looking.up, looking.right, centres[child], extent, r)
                parts.append(Part(name, "hatching", theme.FAINT_INK, [], list(lines)))
    for name, element in mechanism.force_elements.items():
        drawing = force_strokes(element, poses, r)
        if drawing:
            parts.append(Part(name, "force", theme.FORCE, [], drawing))
    masses = {name: (body.mass, centres[name]) for name, body in bodies.items() if body.mass > 0.0}
    body_anchors = {name: _middle(reached[name], centres[name]) for name in bodies}
    joint_anchors = {name: site.point for name, site in sites.items()}
    return Scene(
        tuple(parts), masses, body_anchors, joint_anchors, looking, r, bool(np.any(mechanism.gravity))
    )


def _joint_parts(name: str, site: Site, r: float, rank: int) -> list[Part]:
    parts = []
    if isinstance(site.joint.kind, Free):
        start, end = site.on_parent[:3, 3], site.on_child[:3, 3]
        if np.linalg.norm(end - start) > 3.0 * r:
            parts.append(Part(name, "float", theme.FAINT_INK, [], [np.array([start, end])]))
        return parts
    role = "locked" if site.joint.locked else "loop" if site.is_loop else "joint"
    colour = {"locked": theme.LOCKED, "loop": theme.LOOP, "joint": theme.JOINT}[role]
    parts.append(Part(name, role, colour, joint_glyph(site, r, rank), []))
    if site.gap > 0.05 * r:
        line = np.array([site.on_parent[:3, 3], site.on_child[:3, 3]])
        parts.append(Part(name, "gap", theme.LOOP, [], [line]))
    return parts


def _sizes(reached: Mapping[str, list[Floats]], centres: Mapping[str, Floats]) -> tuple[float, float]:
    """The size of the mechanism [m], and a radius for its bars that suits both its links and the whole."""
    points = np.array([p for own in reached.values() for p in own] + list(centres.values()) or [np.zeros(3)])
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    lengths = [
        float(np.linalg.norm(np.ptp(np.array(own), axis=0))) for own in reached.values() if len(own) > 1
    ]
    lengths = [length for length in lengths if length > 1e-3 * extent]
    if extent == 0.0:
        return 1.0, 0.05
    link = float(np.median(lengths)) if lengths else extent
    return extent, float(np.clip(0.14 * link, 0.0105 * extent, 0.022 * extent))


def _relative_size(mass: float, typical: float, largest: float) -> float:
    """How much thicker a body is drawn than one of the typical mass: like balls of these masses."""
    return float(np.clip((mass / typical) ** (1.0 / 3.0), 0.8, largest)) if typical else 1.0


def _typical_mass(bodies: Mapping[str, Body]) -> float:
    masses = [body.mass for body in bodies.values() if body.mass > 0.0]
    return float(np.median(masses)) if masses else 0.0


def _middle(points: list[Floats], centre: Floats) -> Floats:
    return np.mean(points, axis=0) if len(points) > 1 else centre


def _levels(mechanism: Mechanism, sites: Mapping[str, Site]) -> dict[str, int]:
    """The number of tree joints between each body and ground."""
    levels, before = {GROUND: 0}, -1
    while len(levels) > before:
        before = len(levels)
        for site in sites.values():
            a, b = site.joint.parent, site.joint.child
            if not site.is_loop:
                if a in levels and b not in levels:
                    levels[b] = levels[a] + 1
                elif b in levels and a not in levels:
                    levels[a] = levels[b] + 1
    return levels
