"""A mechanism as a line drawing with names, as textbooks have them: links as strokes and plates, joints as signs.

Hinges seen along their axis are small circles, slides are blocks, ball joints are circles with a socket, universal
joints circles with a cross; the ground is hatched, springs are zigzags. Everything is in one ink and made of lines, for
paper: .svg, .pdf or .png.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import FormatError, StateError
from catena.formats.complete import file_path, write_complete
from catena.mechanism import GROUND
from catena.system import System
from catena.validation import printable, shown
from catena.view import theme
from catena.view.camera import camera
from catena.view.flexing import checked_factor, exaggerated
from catena.view.glyphs import arrow_strokes, span_strokes
from catena.view.outlines import carried_points, distinct
from catena.view.plotting import literal, require_matplotlib
from catena.view.scene import scene
from catena.view.sites import SLIDES, Site, joint_sites

Floats = NDArray[np.float64]

ENDINGS = (".svg", ".pdf", ".png")
CHOICES = ("joints", "bodies", "frames", "all", None)
INK, THIN, THICK = "#000000", 0.8, 1.8


def save_drawing(
    system: System,
    path: str | os.PathLike[str],
    q: ArrayLike | None = None,
    *,
    labels: str | None = "joints",
    view: tuple[float, float] | None = None,
    width: float = 5.0,
    exaggerate: float = 1.0,
) -> None:
    """Write the line drawing of a system at q (nq,), closed by default, `width` inches wide; flexible bodies deform
    `exaggerate` times as far as they do."""
    file = file_path(path)
    if file.suffix.lower() not in ENDINGS:
        raise FormatError(
            f"{file}: {file.suffix!r} is no format for drawings: name a .svg, .pdf or .png file"
        )
    if labels not in CHOICES:
        raise StateError(f'labels is {shown(labels)}; choose "joints", "bodies", "frames", "all" or None.')
    figure = line_drawing(system, q, labels=labels, view=view, width=width, exaggerate=exaggerate)
    from matplotlib import rc_context

    stream = io.BytesIO()
    # Text stays text, which journals ask for and people can search.
    with rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(stream, format=file.suffix[1:].lower(), dpi=200, bbox_inches="tight", pad_inches=0.05)
    write_complete(file, stream.getvalue())


def line_drawing(
    system: System, q: Any = None, *, labels: str | None = "joints", view: Any = None, width: float = 5.0,
    exaggerate: float = 1.0,
) -> Any:  # fmt: skip
    """Return the drawing as a matplotlib `Figure` that belongs to nobody."""
    require_matplotlib()
    from matplotlib.figure import Figure

    q = system.assemble() if q is None else np.asarray(q, dtype=np.float64)
    if q.shape != (system.nq,):
        raise StateError(f"a drawing shows one configuration: q has shape {q.shape}, give ({system.nq},).")
    plane = _Plane(system, exaggerated(system, q, checked_factor(exaggerate)), view)
    low, high = plane.box()
    span = np.maximum(high - low, 0.12 * np.max(high - low))
    figure = Figure(figsize=(width, float(np.clip(width * span[1] / span[0], 0.3 * width, 1.6 * width))))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_aspect("equal")
    middle = 0.5 * (low + high)
    ax.set_xlim(middle[0] - 0.56 * span[0], middle[0] + 0.56 * span[0])
    ax.set_ylim(middle[1] - 0.56 * span[1], middle[1] + 0.56 * span[1])
    plane.draw(ax)
    if labels:
        plane.name(ax, labels)
    return figure


class _Plane:
    """A mechanism in the plane of the paper."""

    def __init__(self, system: System, q: Floats, view: Any) -> None:
        self.system, mechanism = system, system.mechanism
        self.scene = scene(system, q)
        self.poses = self.scene.poses(q)
        sites = joint_sites(mechanism, self.poses, system.loops, self.scene.carriage)
        # What slides on ground is drawn where it stands: on paper nothing moves away from there.
        self.sites = {
            name: replace(site, point=site.on_child[:3, 3]) if site.is_pulled_out(site.joint.child) else site
            for name, site in sites.items()
        }
        self.camera = camera(mechanism.gravity, self.sites.values(), view)
        towards, right = self.camera.towards, self.camera.right
        self.axes = np.array([right, np.cross(towards, right)])
        self.r = 0.8 * self.scene.bar_radius
        self._feet: list[Floats] = []
        self.reached = {
            name: carried_points(mechanism, name, self.poses, self.sites)
            for name in mechanism.bodies
            if name != GROUND
        }

    def flat(self, points: Any) -> Floats:
        """Points (..., 3) on paper (..., 2)."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T

    def box(self) -> tuple[Floats, Floats]:
        points = [p for own in self.reached.values() for p in own] + [s.point for s in self.sites.values()]
        points += [self._centre(name) for name in self.reached]
        points += [self.poses[station][:3, 3] for each in self.scene.flexings for station in each.stations]
        flat = self.flat(np.array(points or [np.zeros(3)]))
        room = 5.0 * self.r
        return flat.min(axis=0) - room, flat.max(axis=0) + room

    def draw(self, ax: Any) -> None:
        """Links first, then springs, then joints on top of them."""
        for name in self.reached:
            self._link(ax, name)
        for span in self.scene.spans:
            a, b = span.ends(self.poses)
            if span.form in ("coils", "damper", "cable"):
                self._strokes(ax, span_strokes(span.form, a, b, 1.2 * self.r), f"force:{span.name}")
        for name, element in self.system.mechanism.force_elements.items():
            self._strokes(ax, arrow_strokes(element, self.poses, self.r), f"force:{name}")
        for name, site in self.sites.items():
            if GROUND in (site.joint.parent, site.joint.child) and site.form != "none":
                self._ground(ax, name, site)
        for name, site in self.sites.items():
            self._joint(ax, name, site)

    def name(self, ax: Any, labels: str) -> None:
        """Names beside joints, upright, and of bodies and frames, slanted: beside the middle of links, and at small
        crosses where no joint of the same name is."""
        taken = [self.flat(site.point) for site in self.sites.values()] + self._feet
        ends = [
            (self.flat(a), self.flat(b)) for own in self.reached.values() for a, b in zip(own[:-1], own[1:])
        ]
        if labels in ("joints", "all"):
            for name, site in self.sites.items():
                if site.form != "none":
                    self._text(ax, name, self.flat(site.point), taken, ends, "normal", 2.6)
        if labels in ("bodies", "all"):
            for name, own in self.reached.items():
                middle = np.mean(own, axis=0) if len(own) > 1 else self._centre(name)
                self._text(ax, name, self.flat(middle), taken, ends, "italic", 1.8)
        if labels in ("frames", "all"):
            for name in self.system.mechanism.frames:
                place = self.flat(self.poses[name][:3, 3])
                at_joint = name in self.sites and np.allclose(
                    self.flat(self.sites[name].point), place, atol=self.r
                )
                if labels == "frames" or not at_joint:
                    self._cross(ax, name, place)
                    self._text(ax, name, place, taken, ends, "italic", 1.8)

    def _cross(self, ax: Any, name: str, place: Floats) -> None:
        arms = 0.6 * self.r * np.array([[1.0, 1.0], [1.0, -1.0]])
        for arm in arms:
            (line,) = ax.plot(*np.stack([place - arm, place + arm], axis=1), color=INK, linewidth=THIN)
            line.set_gid(f"frame:{printable(name)}")

    def _centre(self, name: str) -> Floats:
        body = self.system.mechanism.bodies[name]
        return self.poses[name][:3, :3] @ body.com + self.poses[name][:3, 3]

    def _link(self, ax: Any, name: str) -> None:
        from matplotlib.patches import Polygon
        from scipy.spatial import ConvexHull, QhullError

        if self._flexible(ax, name):
            return
        points = distinct(self.reached[name], 0.5 * self.r)
        if len(points) < 2:
            points = distinct([*points, self._centre(name)], 0.5 * self.r)
        flat = self.flat(np.array(points))
        if len(flat) > 2:
            try:
                hull = flat[ConvexHull(flat).vertices]
            except QhullError:
                hull = None
            if hull is not None and _area(hull) > 4.0 * self.r**2:
                ax.add_patch(
                    Polygon(
                        hull,
                        closed=True,
                        facecolor="#f2f2f2",
                        edgecolor=INK,
                        linewidth=THICK,
                        zorder=2,
                        gid=f"body:{printable(name)}",
                    )
                )
                return
            far = int(np.argmax(np.linalg.norm(flat - flat[0], axis=1)))
            flat = flat[[int(np.argmax(np.linalg.norm(flat - flat[far], axis=1))), far]]
        ax.plot(
            *flat.T,
            color=INK,
            linewidth=THICK,
            solid_capstyle="round",
            zorder=3,
            gid=f"body:{printable(name)}",
        )

    def _flexible(self, ax: Any, name: str) -> bool:
        """Return whether a body is flexible, and if so, its axis as a bent line, or the edges of its surface."""
        from matplotlib.collections import PolyCollection

        own = next((each for each in self.scene.flexings if each.body == name), None)
        if own is None:
            return False
        places = np.array([self.poses[station][:3, 3] for station in own.stations])
        spread = np.linalg.svd(own.s - own.s.mean(axis=0), compute_uv=False)
        if spread[1] <= 1e-9 * spread[0]:
            along = np.argsort(own.s @ (own.s[-1] - own.s[0]))
            ax.plot(
                *self.flat(places[along]).T, color=INK, linewidth=THICK, solid_capstyle="round", zorder=3,
                gid=f"body:{printable(name)}",
            )  # fmt: skip
            return True
        for skin in self.scene.skins:
            if skin.body == name:
                faces = self.flat(skin.surface(self.poses).corners)[skin.faces]
                ax.add_collection(
                    PolyCollection(
                        list(faces), facecolor="#f2f2f2", edgecolor="#808080", linewidth=0.3, zorder=2,
                        gid=f"body:{printable(name)}",
                    )
                )  # fmt: skip
        return True

    def _strokes(self, ax: Any, strokes: Any, gid: str) -> None:
        for stroke in strokes:
            ax.plot(*self.flat(stroke).T, color=INK, linewidth=THIN, zorder=4, gid=printable(gid))

    def _joint(self, ax: Any, name: str, site: Site) -> None:
        from matplotlib.patches import Arc, Circle, Polygon

        form, p, r = site.form, self.flat(site.point), self.r
        at = (float(p[0]), float(p[1]))
        style = {
            "facecolor": "white",
            "edgecolor": INK,
            "linewidth": THIN + 0.3,
            "zorder": 6,
            "gid": f"joint:{printable(name)}",
        }
        if form == "none":
            return
        if form == "block":
            ax.add_patch(Polygon(p + 0.9 * r * _SQUARE, closed=True, **(style | {"facecolor": INK})))
        elif form == "ball":
            ax.add_patch(Circle(at, 1.15 * r, **style))
            ax.add_patch(
                Arc(at, 3.6 * r, 3.6 * r, theta1=200, theta2=340, color=INK, linewidth=THIN + 0.3, zorder=6)
            )
        elif form == "cross":
            ax.add_patch(Circle(at, 1.3 * r, **style))
            for axis in (site.axis, site.on_child[:3, :3] @ site.joint.kind.drawn_along[1]):
                way = self.flat(axis) * 1.9 * r
                ax.plot(*np.array([p - way, p + way]).T, color=INK, linewidth=THIN, zorder=7)
        elif form == "hinge" and np.linalg.norm(self.flat(site.axis)) < 0.35:
            ax.add_patch(Circle(at, 1.1 * r, **style))
        else:
            axis, across, along = self._block(site)
            # The hinge of a slider is seen in front of its block.
            block = style | {"zorder": 5 if form in SLIDES else 6}
            ax.add_patch(Polygon(p + _turned(_SQUARE * (along * r, across * r), axis), closed=True, **block))
            if form in ("hinge", "sleeve", "screw"):
                ax.plot(
                    *np.array([p - 2.2 * r * axis, p + 2.2 * r * axis]).T,
                    color=INK,
                    linewidth=0.5,
                    dashes=(6, 2, 1, 2),
                    zorder=7,
                )

    def _block(self, site: Site) -> tuple[Floats, float, float]:
        """Return the direction on paper of a joint's axis, and half the size of its block across and along it."""
        form = site.joint.kind.drawn_as
        way = self.flat(site.axis) if site.joint.kind.drawn_along else np.array([1.0, 0.0])
        size = float(np.linalg.norm(way))
        axis = way / size if size > 0.1 else np.array([1.0, 0.0])
        if form == "plate":
            return (np.array([-axis[1], axis[0]]) if size > 0.1 else axis), 0.5, 2.6
        return axis, *{"slide": (1.1, 2.0), "hinge": (0.8, 1.6)}.get(form, (0.9, 2.2))

    def _ground(self, ax: Any, name: str, site: Site) -> None:
        """A triangle that stands on hatched ground under a joint, or hangs from it where the body hangs. A slider lies
        on the ground along which it goes."""
        from matplotlib.patches import Polygon

        p, r = self.flat(site.point), self.r
        up = self.flat(self.camera.up)
        up = up / np.linalg.norm(up) if np.linalg.norm(up) > 0.3 else np.array([0.0, 1.0])
        child = site.joint.child if site.joint.parent == GROUND else site.joint.parent
        if (self.flat(self._centre(child)) - p) @ up < -0.1 * self.scene.extent:
            up = -up
        right, wide, foot = np.array([up[1], -up[0]]), 3.0, p - 2.8 * r * up
        if site.joint.kind.drawn_as in SLIDES:
            axis, across, along = self._block(site)
            right, wide = axis, along + 1.6
            side = np.array([-axis[1], axis[0]])
            up = side if side @ up >= 0.0 else -side
            foot = p - across * r * up
        self._feet += [foot, foot - 2.0 * r * right, foot + 2.0 * r * right]
        if site.joint.kind.drawn_as not in SLIDES:
            corners = [p, foot - 1.9 * r * right, foot + 1.9 * r * right]
            style = {"facecolor": "white", "edgecolor": INK, "linewidth": THIN + 0.3, "zorder": 4}
            ax.add_patch(Polygon(corners, closed=True, **style))
        ax.plot(
            *np.array([foot - wide * r * right, foot + wide * r * right]).T,
            color=INK,
            linewidth=THIN + 0.3,
            zorder=4,
            gid=f"ground:{printable(name)}",
        )
        for k in np.linspace(0.4 - wide, wide - 0.2, round(2.0 * wide)):
            start = foot + k * r * right
            ax.plot(
                *np.array([start, start - r * up - 0.9 * r * right]).T, color=INK, linewidth=0.6, zorder=4
            )

    def _text(
        self,
        ax: Any,
        text: str,
        at: Floats,
        taken: list[Floats],
        ends: list[tuple[Floats, Floats]],
        style: str,
        away: float,
    ) -> None:
        """A name in the freest of eight directions around a point."""
        best, most = at, -np.inf
        for angle in np.radians([55, 125, -55, -125, 90, -90, 0, 180]):
            way = np.array([np.cos(angle), np.sin(angle)])
            place = at + (away + 0.35 * abs(way[0]) * len(text)) * self.r * 1.25 * way
            free = min(
                (float(np.linalg.norm(place - other)) for other in taken if other is not at), default=np.inf
            )
            free = min([free, *(2.0 * _distance(place, a, b) for a, b in ends)])
            if min(free, 9.0 * self.r) > most + 1e-12:
                best, most = place, min(free, 9.0 * self.r)
        taken.append(best)
        ax.text(
            *best,
            literal(text),
            ha="center",
            va="center",
            fontsize=9,
            style=style,
            color=theme.INK,
            zorder=9,
            gid=f"label:{printable(text)}",
        )


_SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def _turned(points: Floats, axis: Floats) -> Floats:
    return points @ np.array([axis, [-axis[1], axis[0]]])


def _area(hull: Floats) -> float:
    x, y = hull.T
    return 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))


def _distance(p: Floats, a: Floats, b: Floats) -> float:
    along = b - a
    squared = float(along @ along)
    part = float(np.clip((p - a) @ along / squared, 0.0, 1.0)) if squared else 0.0
    return float(np.linalg.norm(p - a - part * along))
