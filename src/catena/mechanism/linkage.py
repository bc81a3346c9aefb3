"""A planar linkage as one draws it: points, bars by their lengths, and a sketch that says which way it is put together.

    leg = Linkage("dyad", fixed={"O": (0, 0), "P": (1, 0)})
    leg.bars({"O-A": 0.3, "A-B": 0.8, "P-B": 0.7})
    leg.sketch({"A": (0.3, 0.1), "B": (0.8, 0.6)})
    m = leg.mechanism()

The drawing lies in the x-z plane of ground, its second coordinate upwards. Bars that make triangles are one plate.
Where several bodies meet in a point, they turn about each other there. The mechanism's neutral configuration is the
drawing, brought to the exact lengths: all angles count from there, counterclockwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.descent import Descent, largest, remembered
from catena.errors import ModelError
from catena.joints import Prismatic, Revolute
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.parts import GROUND
from catena.mechanism.validation import known
from catena.spatial import Pose
from catena.validation import is_finite, is_not_negative, is_positive, real_array, shown

# The lengths of a drawing hold to the first part of its size, or else to the second.
EXACT, FITS = 1e-14, 1e-11


@dataclass(frozen=True)
class Slide:
    """A fixed line that a point slides along: `through` a point in the direction `along` [m], with a block of some mass
    [kg]."""

    through: tuple[float, float]
    along: tuple[float, float]
    mass: float

    @property
    def direction(self) -> np.ndarray:
        """The direction (2,), of unit length."""
        return np.array(self.along) / np.linalg.norm(self.along)


@dataclass(frozen=True)
class Drawing:
    """What was drawn: fixed points, bars by their two points with lengths, the sketch, slides by their point, the mass
    of bars [kg/m], and the directions of bars [rad] in which it was made a mechanism."""

    fixed: Mapping[str, tuple[float, float]]
    bars: Mapping[tuple[str, str], float]
    sketch: Mapping[str, tuple[float, float]]
    slides: Mapping[str, Slide]
    density: float
    at: Mapping[str, float]

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism that is drawn."""
        linkage = Linkage(name, self.fixed, self.density)
        linkage.bars({"-".join(pair): length for pair, length in self.bars.items()}).sketch(self.sketch)
        for point, slide in self.slides.items():
            linkage.slide(point, slide.along, slide.through, slide.mass)
        return linkage.mechanism(self.at)


@dataclass(eq=False)
class Linkage:
    """A builder of planar linkages. `fixed` are points of ground, {name: (x, z)} [m]; `density` is the mass of bars
    [kg/m], `gravity` acts downwards [m/s^2]."""

    name: str = "linkage"
    fixed: Mapping[str, ArrayLike] = field(default_factory=dict)
    density: float = 1.0
    gravity: float = 9.81

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"linkage: its name is {shown(self.name)}: give a word")
        fixed = self._mapping("fixed", self.fixed)
        self._fixed = {name: _point(f"fixed point {name!r}", x) for name, x in fixed.items()}
        self._bars: dict[tuple[str, str], float] = {}
        self._sketch: dict[str, np.ndarray] = {}
        self._slides: dict[str, Slide] = {}
        if not is_not_negative(self.density):
            raise ModelError(
                f"linkage {self.name!r}: density is {shown(self.density)}: give kilograms for each metre"
            )
        if not is_finite(self.gravity):
            raise ModelError(f"linkage {self.name!r}: gravity is {shown(self.gravity)}: give a finite number")

    def bars(self, lengths: Mapping[str, float]) -> Linkage:
        """Add bars between points by their lengths, {"A-B": 0.8}. Returns the linkage, so that calls can follow."""
        if not isinstance(lengths, Mapping):
            raise ModelError(
                f"linkage {self.name!r}: bars are {shown(lengths)}: give a mapping such as {{'A-B': 0.8}}"
            )
        for name, length in lengths.items():
            ends = tuple(part.strip() for part in str(name).split("-"))
            if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
                raise ModelError(f"bar {name!r}: name the two points that it joins, such as 'A-B'")
            if not is_positive(length):
                raise ModelError(
                    f"bar {name!r}: its length is {shown(length)}: give a positive number of metres"
                )
            pair = (ends[0], ends[1])
            if pair in self._bars or pair[::-1] in self._bars:
                raise ModelError(f"bar {name!r}: there is a bar between these points already")
            if all(end in self._fixed for end in ends):
                raise ModelError(
                    f"bar {name!r}: both of its points are fixed, so it moves nothing: leave it out"
                )
            self._bars[pair] = float(length)
        return self

    def sketch(self, points: Mapping[str, ArrayLike]) -> Linkage:
        """Say roughly where points are, {"A": (x, z)}: that decides which way the linkage is put together."""
        places = self._mapping("sketch", points)
        self._sketch |= {name: _point(f"sketch of point {name!r}", x) for name, x in places.items()}
        return self

    def _mapping(self, what: str, value: Any) -> Mapping[str, Any]:
        """Return a mapping from names, or the complaint that it is none."""
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ModelError(
                f"linkage {self.name!r}: {what} is {shown(value)}: give a mapping such as {{'A': (0, 0)}}"
            )
        return value

    def slide(
        self, point: str, along: ArrayLike = (1.0, 0.0), through: ArrayLike = (0.0, 0.0), mass: float = 0.0
    ) -> Linkage:
        """Let a point slide along a fixed line through a point in a direction, as the pin of a slider of this mass [kg]
        does."""
        if not isinstance(point, str):
            raise ModelError(f"linkage {self.name!r}: {shown(point)} slides: give the name of a point")
        direction = _point(f"slide of point {point!r}", along)
        if not np.linalg.norm(direction) > 0.0:
            raise ModelError(f"slide of point {point!r}: its direction is zero: give one, such as (1, 0)")
        if not is_not_negative(mass):
            raise ModelError(f"slide of point {point!r}: its mass is {shown(mass)}: give kilograms")
        origin = _point(f"slide of point {point!r}", through)
        self._slides[point] = Slide(_pair(origin), _pair(direction), float(mass))
        return self

    def points(self, at: Mapping[str, float] | None = None) -> dict[str, np.ndarray]:
        """Return where all points are, {name: (2,)}: the sketch, moved by the least amount that gives all bars their
        lengths. `at` gives directions of bars [rad] from their first point to the second, counted from the x axis."""
        free = self._free_points()
        x = np.array([self._sketch[name] for name in free], dtype=np.float64).reshape(-1)
        where = {name: 2 * k for k, name in enumerate(free)}
        directions = self._directions(at)
        size = max([*self._bars.values(), *(float(np.abs(p).max()) for p in self._fixed.values()), 1e-300])
        with np.errstate(all="ignore"):
            measured = remembered(lambda x, which: self._residuals(x[0], where, directions))
            r, J = measured(sketch := x[None], np.zeros(1))
            if not (np.isfinite(r).all() and np.isfinite(J).all()):
                raise ModelError(
                    f"linkage {self.name!r}: its lengths and points are up to {size:.3g} m, with which nothing can be "
                    "computed: give smaller ones"
                )
            (x,), (left,) = Descent(
                lambda x, which: measured(x, which)[0][None] / size, lambda x, which: measured(x, which)[1][None],
                lambda x, y, which: x + size * y, lambda x, worst: worst <= FITS, lambda y, _: largest(y), 0.25,
            )(sketch, EXACT, 1e-6)  # fmt: skip
        if left > FITS:
            raise ModelError(self._misfit(self._residuals(x, where, directions)[0], directions))
        return {**self._fixed, **{name: x[k : k + 2] for name, k in where.items()}}

    def mechanism(self, at: Mapping[str, float] | None = None) -> Mechanism:
        """Return the mechanism: a body for every bar or plate, named after its points, a frame at every point, and
        joints called after the points. `at` is that of `points`: with {"O-A": 0.0} the angle of joint O is that of the
        bar O-A from the x axis."""
        points = self.points(at)
        groups = self._bodies()
        m = Mechanism(self.name, gravity=(0.0, 0.0, -float(self.gravity)))
        origin: dict[str, np.ndarray] = {GROUND: np.zeros(2)}
        carried: dict[str, list[str]] = {name: [] for name in points}
        for name in self._fixed:
            carried[name].append(GROUND)
        for names, bars in groups:
            body = "-".join(names)
            origin[body] = points[names[0]]
            mass, com, inertia = self._rods(points, bars, origin[body])
            m.add_body(body, mass=mass, com=com, inertia=inertia)
            for name in names:
                carried[name].append(body)
        for name, slide in self._slides.items():
            block = f"slider {name}"
            m.add_body(block, mass=slide.mass)
            origin[block] = points[name]
            line = Prismatic(_space(slide.direction))
            m.add_joint(f"slide {name}", GROUND, block, line, in_parent=Pose(p=_space(points[name])))
            carried[name].insert(0, block)
        for name, bodies in carried.items():
            first, p = bodies[0], points[name]
            for number, body in enumerate(bodies[1:], start=1):
                m.add_joint(
                    name if number == 1 else f"{name}{number}", first, body, Revolute("-y"),
                    in_parent=Pose(p=_space(p - origin[first])), in_child=Pose(p=_space(p - origin[body])),
                )  # fmt: skip
            m.add_frame(
                f"point {name}" if name in m.bodies else name,
                bodies[-1],
                Pose(p=_space(p - origin[bodies[-1]])),
            )
        m.drawing = self._drawing(at)
        return m

    def _drawing(self, at: Mapping[str, float] | None) -> Drawing:
        return Drawing(
            {name: _pair(p) for name, p in self._fixed.items()},
            dict(self._bars),
            {name: _pair(p) for name, p in self._sketch.items()},
            dict(self._slides),
            float(self.density),
            {str(name): float(angle) for name, angle in ({} if at is None else at).items()},
        )

    def _free_points(self) -> list[str]:
        """Return the points that move, each with a bar and a sketch."""
        used = list(dict.fromkeys(end for pair in self._bars for end in pair))
        for name in (*self._fixed, *self._slides):
            if name not in used:
                raise ModelError(
                    f"linkage {self.name!r}: no bar joins point {name!r}: add one, or leave the point out"
                )
        if not self._fixed:
            raise ModelError(f"linkage {self.name!r}: no point is fixed: give fixed={{'O': (0, 0)}}")
        free = [name for name in used if name not in self._fixed]
        for name in self._sketch:
            known("point", name, used, f"sketch of {self.name!r}")
        missing = [name for name in free if name not in self._sketch]
        if missing:
            raise ModelError(
                f"linkage {self.name!r}: the sketch has no place for {', '.join(map(repr, missing))}: say roughly "
                "where, so that it is known which way the linkage is put together"
            )
        return free

    def _directions(self, at: Mapping[str, float] | None) -> dict[tuple[str, str], tuple[np.ndarray, float]]:
        """Return the bars whose direction is given: as a vector, and the sign of the bar's own order of points."""
        found = {}
        for name, angle in ({} if at is None else self._mapping("at", at)).items():
            ends = tuple(part.strip() for part in str(name).split("-"))
            pair = ends if ends in self._bars else ends[::-1]
            known("bar", "-".join(pair), ["-".join(p) for p in self._bars], f"directions of {self.name!r}")
            if not is_finite(angle):
                raise ModelError(f"bar {name!r}: its direction is {shown(angle)}: give an angle in radians")
            sign = 1.0 if pair == ends else -1.0
            found[pair[0], pair[1]] = (np.array([np.cos(angle), np.sin(angle)]), sign)
        return found

    def _residuals(
        self,
        x: np.ndarray,
        where: Mapping[str, int],
        directions: Mapping[tuple[str, str], tuple[np.ndarray, float]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how far lengths, directions and slides are off [m], and the derivatives by x."""
        rows, values = [], []

        def place(name: str) -> np.ndarray:
            return x[where[name] : where[name] + 2] if name in where else self._fixed[name]

        def add(value: float, parts: Mapping[str, np.ndarray]) -> None:
            row = np.zeros(len(x))
            for name, part in parts.items():
                if name in where:
                    row[where[name] : where[name] + 2] += part
            rows.append(row)
            values.append(value)

        for (a, b), length in self._bars.items():
            d = place(b) - place(a)
            apart = float(np.linalg.norm(d)) or 1e-300
            add(apart - length, {a: -d / apart, b: d / apart})
        for (a, b), (u, sign) in directions.items():
            across = np.array([-u[1], u[0]])
            d = sign * (place(b) - place(a))
            # On the right side the part along the direction is the length, which tells the two directions apart.
            add(float(d @ across), {a: -sign * across, b: sign * across})
            add(float(d @ u) - self._bars[a, b], {a: -sign * u, b: sign * u})
        for name, slide in self._slides.items():
            along = slide.direction
            across = np.array([-along[1], along[0]])
            add(float((place(name) - np.array(slide.through)) @ across), {name: across})
        return np.array(values), np.array(rows).reshape(len(values), len(x))

    def _misfit(self, r: np.ndarray, directions: Mapping[tuple[str, str], Any]) -> str:
        """Return which lengths do not fit together, in words."""
        names = [
            f"bar {a}-{b} ({length:g} m) by {off:.3g} m"
            for ((a, b), length), off in zip(self._bars.items(), r)
        ]
        names += [f"direction of {a}-{b}" for a, b in directions for _ in range(2)]
        names += [f"slide of {name}" for name in self._slides]
        worst = np.argsort(-np.abs(r))[:4]
        return (
            f"linkage {self.name!r}: the lengths do not fit together near the sketch: "
            f"{', '.join(names[k] for k in worst)} are off: check them, or sketch another way to put it together"
        )

    def _bodies(self) -> list[tuple[list[str], list[tuple[str, str]]]]:
        """Return the rigid parts: the points and bars of each. Three that meet in three different points are one."""
        parts: list[tuple[list[str], list[tuple[str, str]]]] = [(list(self._fixed), [])]
        parts += [([a, b], [(a, b)]) for a, b in self._bars]
        while True:
            found = _triangle([set(points) for points, _ in parts])
            if found is None:
                return parts[1:]
            if found[0] == 0:
                names = ", ".join("-".join(parts[k][0]) for k in found[1:])
                raise ModelError(
                    f"linkage {self.name!r}: {names} cannot move, because fixed points hold it: leave it out, or make "
                    "its other points fixed too"
                )
            first, *others = found
            points, bars = parts[first]
            for k in others:
                points = list(dict.fromkeys([*points, *parts[k][0]]))
                bars = bars + parts[k][1]
            parts[first] = (points, bars)
            parts = [part for k, part in enumerate(parts) if k not in others]

    def _rods(
        self, points: Mapping[str, np.ndarray], bars: list[tuple[str, str]], origin: np.ndarray
    ) -> tuple[float, Any, Any]:
        """Return mass, mass centre and inertia of slender rods."""
        masses = [self.density * self._bars[pair] for pair in bars]
        total = float(sum(masses))
        middles = [_space(0.5 * (points[a] + points[b]) - origin) for a, b in bars]
        com = sum((m * c for m, c in zip(masses, middles)), np.zeros(3)) / total if total else np.zeros(3)
        inertia = np.zeros((3, 3))
        for (a, b), mass, middle in zip(bars, masses, middles):
            d, off = _space(points[b] - points[a]), middle - com
            inertia += mass / 12.0 * (d @ d * np.eye(3) - np.outer(d, d))
            inertia += mass * (off @ off * np.eye(3) - np.outer(off, off))
        return total, com, inertia


def _triangle(parts: list[set[str]]) -> tuple[int, ...] | None:
    """Return three parts that meet in three different points, or two that share two points; None if there are none."""
    at: dict[str, list[int]] = {}
    for k, part in enumerate(parts):
        for point in part:
            at.setdefault(point, []).append(k)
    beside = [sorted({j for point in part for j in at[point]}) for part in parts]
    for i, a in enumerate(parts):
        for j in (k for k in beside[i] if k > i):
            if len(a & parts[j]) >= 2:
                return i, j
            for k in (k for k in beside[j] if k > j):
                corners = [a & parts[j], parts[j] & parts[k], parts[k] & a]
                if all(len(c) == 1 for c in corners) and len(set.union(*corners)) == 3:
                    return i, j, k
    return None


def _point(who: str, value: Any) -> np.ndarray:
    try:
        p = np.array(real_array(value))
    except ValueError:
        p = np.zeros(0)
    if p.shape != (2,) or not np.isfinite(p).all():
        raise ModelError(f"{who} is {shown(value)}: give two finite numbers, (x, z) in metres")
    return p


def _pair(p: np.ndarray) -> tuple[float, float]:
    return float(p[0]), float(p[1])


def _space(p: np.ndarray) -> np.ndarray:
    """Return a vector of the drawing in space."""
    return np.array([p[0], 0.0, p[1]])
