"""Shapes of bodies, for pictures, for collisions and for mass: what they are, not how they are drawn.

A shape is a frozen description placed by a `pose` in the frame of its body. `colour` is (red, green, blue, alpha)
between 0 and 1, or None where whoever draws it may choose. Lengths are metres. Every closed shape knows its mass
properties at a uniform density.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError
from catena.hooks import hook
from catena.spatial import Pose, is_one_pose
from catena.validation import entries, real_array, shown


@dataclass(frozen=True)
class MassProperties:
    """The mass [kg], the mass centre `com` (3,) [m] and the `inertia` (3, 3) [kg m^2] about it, in one frame's axes."""

    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]

    def placed(self, pose: Pose) -> MassProperties:
        """Return the same mass as seen from the frame in which its own frame has a pose."""
        return MassProperties(self.mass, pose * self.com, pose.R @ self.inertia @ pose.R.T)

    @classmethod
    def sum(cls, parts: Iterable[MassProperties]) -> MassProperties:
        """Return the mass properties of several parts in the same frame together."""
        listed = list(parts)
        mass = float(sum(part.mass for part in listed))
        if mass == 0.0:
            return cls(0.0, np.zeros(3), np.zeros((3, 3)))
        com = sum((part.mass * part.com for part in listed), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for part in listed:
            arm = part.com - com
            inertia += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return cls(mass, com, inertia)


Colour = tuple[float, float, float, float]
SEEN_FROM_WORKING_FOLDER = Path()


@dataclass(frozen=True)
class Shape(ABC):
    """What all shapes have: a place in the body frame, a colour and a name, which may be empty."""

    pose: Pose = field(default=Pose(), kw_only=True)
    colour: Colour | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not is_one_pose(self.pose):
            raise ModelError(f"{self.who}: pose is {shown(self.pose)}: give Pose(p=(x, y, z), rpy=...)")
        if not isinstance(self.name, str):
            raise ModelError(f"{self.who}: name is {shown(self.name)}: give a string")
        if self.colour is not None:
            object.__setattr__(self, "colour", _colour(self.who, self.colour))

    @property
    def who(self) -> str:
        """What messages call the shape."""
        kind = type(self).__name__.lower()
        named = isinstance(self.name, str) and self.name
        return f"{kind} {self.name!r}" if named else f"a {kind}"

    @property
    @abstractmethod
    def half_extents(self) -> tuple[float, float, float] | None:
        """Half the edge lengths of the smallest upright box around the shape in its own frame, None if unknown."""

    @abstractmethod
    def own_mass_properties(self, density: float) -> MassProperties:
        """Return the mass properties of the filled shape in its own frame, at a density [kg/m^3]."""

    def mass_properties(self, density: float) -> MassProperties:
        """Return the mass properties of the filled shape in the frame of its body, at a density [kg/m^3]."""
        try:
            own = self.own_mass_properties(density)
        except OverflowError:
            raise ModelError(
                f"{type(self).__name__}: its mass is no number, so large is it: give metres"
            ) from None
        return own.placed(self.pose)

    def _set_lengths(self, **lengths: Any) -> None:
        """Keep lengths as floats after checking that they are positive."""
        for name, value in lengths.items():
            object.__setattr__(self, name, _positive(self.who, name, value))


@dataclass(frozen=True)
class Box(Shape):
    """A box around its origin with edges `size` = (x, y, z)."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_lengths(size=self.size)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        x, y, z = self.size
        return x / 2, y / 2, z / 2

    def own_mass_properties(self, density: float) -> MassProperties:
        x, y, z = self.size
        mass = density * x * y * z
        squares = np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        return MassProperties(mass, np.zeros(3), np.diag(mass / 12.0 * squares))


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball around its origin."""

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_lengths(radius=self.radius)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        return (self.radius,) * 3

    def own_mass_properties(self, density: float) -> MassProperties:
        mass = density * 4.0 / 3.0 * pi * self.radius**3
        return MassProperties(mass, np.zeros(3), 0.4 * mass * self.radius**2 * np.eye(3))


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid around its origin with the half axes `radii` = (x, y, z)."""

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_lengths(radii=self.radii)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        return self.radii

    def own_mass_properties(self, density: float) -> MassProperties:
        x, y, z = self.radii
        mass = density * 4.0 / 3.0 * pi * x * y * z
        squares = np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        return MassProperties(mass, np.zeros(3), np.diag(mass / 5.0 * squares))


@dataclass(frozen=True)
class RoundShape(Shape):
    """A shape that is round about the z axis of its origin, with a radius and a length."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_lengths(radius=self.radius, length=self.length)


@dataclass(frozen=True)
class Cylinder(RoundShape):
    """A cylinder around its origin, its axis along z, `length` long."""

    @property
    def half_extents(self) -> tuple[float, float, float]:
        return self.radius, self.radius, self.length / 2

    def own_mass_properties(self, density: float) -> MassProperties:
        mass = density * pi * self.radius**2 * self.length
        across = mass * (3.0 * self.radius**2 + self.length**2) / 12.0
        along = 0.5 * mass * self.radius**2
        return MassProperties(mass, np.zeros(3), np.diag([across, across, along]))


@dataclass(frozen=True)
class Capsule(RoundShape):
    """A cylinder around its origin along z, `length` long, with half balls at both ends beyond that length."""

    @property
    def half_extents(self) -> tuple[float, float, float]:
        return self.radius, self.radius, self.length / 2 + self.radius

    def own_mass_properties(self, density: float) -> MassProperties:
        r, h = self.radius, self.length / 2
        middle = Cylinder(r, self.length).own_mass_properties(density)
        caps = density * 4.0 / 3.0 * pi * r**3
        # Each half ball has its mass centre 3 r / 8 above its base, which is h above the origin.
        across = caps * (0.4 * r * r + h * h + 0.75 * r * h)
        inertia = middle.inertia + np.diag([across, across, 0.4 * caps * r * r])
        return MassProperties(middle.mass + caps, np.zeros(3), inertia)


@dataclass(frozen=True)
class Mesh(Shape):
    """A surface of triangles in a file.

    `path` is what a model says: a path, with slashes, relative to the folder of the model, or a name such as
    "package://arm/link.stl". `file` is where that is, None if nobody knows; unless it is given, a path is seen from
    the working folder. A file need not exist. `scale` multiplies the coordinates along the axes of the mesh.
    """

    path: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    file: Path | None = field(default=SEEN_FROM_WORKING_FOLDER, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.path, str | Path) or not str(self.path) or "\0" in str(self.path):
            raise ModelError(f"{self.who}: path is {shown(self.path)}: give the name of a file")
        object.__setattr__(
            self, "path", Path(self.path).as_posix() if isinstance(self.path, Path) else self.path
        )
        scale = _numbers(self.who, "scale", self.scale, 3)
        if not all(scale):
            raise ModelError(
                f"{self.who}: scale is {shown(self.scale)}: give three numbers that are not zero"
            )
        object.__setattr__(self, "scale", scale)
        if self.file == SEEN_FROM_WORKING_FOLDER:
            object.__setattr__(self, "file", None if "://" in self.path else Path(self.path).absolute())
        elif self.file is not None:
            object.__setattr__(self, "file", Path(self.file))

    @property
    def half_extents(self) -> None:
        return None

    def own_mass_properties(self, density: float) -> MassProperties:
        """Return the mass properties of the space that the surface encloses, in its own frame. The file is read for
        it; a surface that is not closed is refused with what was found."""
        if self.file is None:
            raise ModelError(
                f"{self.who}: nobody knows where {self.path!r} is: give the file, or mass, com and inertia"
            )
        whole = hook("read_mesh")(self.file).joined()
        return enclosed(
            whole.vertices * np.array(self.scale), whole.triangles, density, f"{self.who} {self.path!r}"
        )


SHAPES: dict[str, type[Shape]] = {
    "box": Box,
    "sphere": Sphere,
    "ellipsoid": Ellipsoid,
    "cylinder": Cylinder,
    "capsule": Capsule,
    "mesh": Mesh,
}
"""The shapes by the word that files have for them."""


def filled(shapes: Iterable[Shape], density: float) -> MassProperties:
    """Return the mass properties of shapes filled at a density [kg/m^3], in the frame of their body; overlaps count
    twice."""
    return MassProperties.sum(shape.mass_properties(density) for shape in shapes)


def as_shapes(who: str, what: str, shapes: Any) -> tuple[Shape, ...]:
    """Return what was given as a tuple of shapes: one shape, or several."""
    if isinstance(shapes, Shape):
        return (shapes,)
    try:
        listed = entries(shapes)
    except ValueError:
        listed = (shapes,)
    for one in listed:
        if not isinstance(one, Shape):
            raise ModelError(
                f"{who}: {what} hold {shown(one)}: give shapes such as catena.shapes.Box((0.1, 0.1, 0.4))"
            )
    return listed


def _numbers(who: str, what: str, value: Any, size: int | None) -> tuple[float, ...]:
    """Finite numbers as a tuple of floats; one number spreads over `size` of them."""
    try:
        array = real_array(value)
    except ValueError as error:
        raise ModelError(f"{who}: {what} is {shown(value)}, which are not numbers ({error})") from None
    if size is not None and array.shape == ():
        array = np.full(size, array)
    wanted = () if size is None else (size,)
    if array.shape != wanted or not np.isfinite(array).all():
        amount = "one finite number" if size is None else f"{size} finite numbers"
        raise ModelError(f"{who}: {what} is {shown(value)}: give {amount}")
    return tuple(float(x) for x in array.flat)


def _positive(who: str, what: str, value: Any) -> Any:
    """One length or three, all of them positive."""
    size = 3 if what in ("size", "radii") else None
    found = _numbers(who, what, value, size)
    if not all(x > 0.0 for x in found):
        raise ModelError(f"{who}: {what} is {shown(value)}: give metres above zero")
    return found if size else found[0]


def _colour(who: str, value: Any) -> Colour:
    """Four numbers between 0 and 1; three are opaque."""
    try:
        listed = [float(x) for x in real_array(value).ravel()]
    except ValueError:
        listed = []
    if len(listed) == 3:
        listed.append(1.0)
    if len(listed) != 4 or not all(0.0 <= x <= 1.0 for x in listed):
        raise ModelError(f"{who}: colour is {shown(value)}: give (red, green, blue, alpha) between 0 and 1")
    red, green, blue, alpha = listed
    return red, green, blue, alpha


SAME = 1e-7
"""How near two corners are that count as one, over the size of the surface: files keep seven digits."""


def enclosed(
    vertices: NDArray[np.float64], triangles: NDArray[np.int64], density: float, who: str
) -> MassProperties:
    """Return the mass properties at a density [kg/m^3] of the space inside a closed surface, in the axes of its
    vertices (n, 3) [m]; `triangles` (m, 3) count vertices from 0.

    Each triangle adds the tetrahedron between it and the middle of the surface, with a sign; what lies outside cancels.
    An inner surface that is turned inside out is a hole. A surface that is not closed raises a `ModelError` that begins
    with `who` and says what was found.
    """
    least, most = vertices[triangles].min(axis=(0, 1)), vertices[triangles].max(axis=(0, 1))
    middle, size = 0.5 * (least + most), float((most - least).max())
    fault = why_open(vertices, triangles, SAME * size)
    if fault:
        raise ModelError(
            f"{who}: {fault}, so it encloses no space that a density could fill: repair the mesh in the program that "
            "made it, or give mass, com and inertia"
        )
    corners = vertices[triangles] - middle
    volumes = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    volume = float(volumes.sum())
    if not abs(volume) > 1e-12 * float(np.abs(volumes).sum()):
        raise ModelError(f"{who}: the mesh is flat and encloses no space: give mass, com and inertia")
    sums = corners.sum(axis=1)
    com = volumes @ sums / (4.0 * volume)
    # The second moments of a tetrahedron with one corner in the origin.
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum(
        "n,ni,nj->ij", volumes, sums, sums
    )
    about_com = second / (20.0 * volume) - np.outer(com, com)
    # A surface whose triangles all look inwards encloses the same space.
    mass = density * abs(volume)
    inertia = mass * (np.trace(about_com) * np.eye(3) - about_com)
    return MassProperties(mass, com + middle, inertia)


def why_open(vertices: NDArray[np.float64], triangles: NDArray[np.int64], same: float) -> str:
    """Say why a surface is not closed, or return "": every edge must be passed as often one way as the other. Corners
    nearer than `same` [m] are one, because files tell the corners of each triangle anew."""
    if not same > 0.0:
        return "the mesh has no extent"
    grid = np.round(vertices / same)
    faces = np.unique(grid, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    # A triangle with two corners in one place has no area, and its edges cancel or are missing in others.
    distinct = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[distinct]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    _, which = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    passed, balance = np.bincount(which), np.bincount(which, weights=forward)
    open_edges = int(np.count_nonzero(passed % 2))
    if open_edges:
        return f"the mesh is not closed: {open_edges} of its {len(passed)} edges have a triangle on one side only"
    turned = int(np.count_nonzero(balance))
    if turned:
        return (
            f"the triangles of the mesh do not agree about which side is outside, at {turned} of its "
            f"{len(passed)} edges"
        )
    return ""
