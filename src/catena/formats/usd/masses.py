"""Mass and shapes of a rigid body of UsdPhysics: what MassAPI says, and for the rest the shapes below the body;
poses and sizes of prims in metres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, FormatError
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.mechanism.shapes import Box, Capsule, Cylinder, MassProperties, Shape, Sphere
from catena.spatial import Pose
from catena.spatial.pose import ROTATION_TOLERANCE

Floats = NDArray[np.float64]


class PrimPlacement:
    """Where prims are in the world, as poses [m] and scales; `metre` is the length of a unit."""

    def __init__(self, stage: Any, name: str) -> None:
        from pxr import UsdGeom

        self.metre = float(UsdGeom.GetStageMetersPerUnit(stage))
        self._name = name
        self._cache = UsdGeom.XformCache()
        self._found: dict[Any, tuple[Pose, Floats]] = {}

    def of(self, prim: Any) -> tuple[Pose, Floats]:
        """Return the pose of a prim in the world and its scale (3,) along its own axes."""
        key = prim.GetPath()
        if key not in self._found:
            self._found[key] = self._split(np.array(self._cache.GetLocalToWorldTransform(prim)), str(key))
        return self._found[key]

    def _split(self, matrix: Floats, path: str) -> tuple[Pose, Floats]:
        # USD multiplies rows from the left.
        axes, p = matrix[:3, :3], self.metre * matrix[3, :3]
        scale = np.linalg.norm(axes, axis=1)
        turned = axes / np.where(scale > 0.0, scale, 1.0)[:, None]
        off = np.abs(turned @ turned.T - np.eye(3)).max()
        if not np.isfinite(matrix).all() or off > ROTATION_TOLERANCE or np.linalg.det(turned) < 0.0:
            raise FormatError(
                f"{self._name}: {path}: its transformation is no rotation with a scale, but a shear or a mirror: "
                "give its parents one scale for all axes"
            )
        # Matrices of single precision turn by a little more or less than a rotation.
        left, _, right = np.linalg.svd(turned.T)
        return Pose(p=p, R=left @ right), scale


DENSITY = 1000.0
"""The density [kg/m^3] of UsdPhysics where none is told."""
TURNS = {"X": (0.0, np.pi / 2, 0.0), "Y": (-np.pi / 2, 0.0, 0.0), "Z": (0.0, 0.0, 0.0)}
"""What turns the z axis of our shapes to the axis of theirs, as roll, pitch and yaw."""


class MassReader:
    """What a stage says about masses; `kilogram` is the mass of a unit."""

    def __init__(self, stage: Any, places: PrimPlacement, source: Source) -> None:
        from pxr import UsdPhysics

        self._places, self._source = places, source
        self.kilogram = float(UsdPhysics.GetStageKilogramsPerUnit(stage))

    def body(self, prim: Any) -> dict[str, Any]:
        """Return the arguments of `add_body` for a prim that is a rigid body."""
        from pxr import Usd, UsdPhysics

        base, scale = self._places.of(prim)
        visuals: list[Shape] = []
        collisions: list[Shape] = []
        parts: list[MassProperties] = []
        below = iter(Usd.PrimRange(prim, Usd.TraverseInstanceProxies()))
        for one in below:
            if one != prim and one.HasAPI(UsdPhysics.RigidBodyAPI):
                below.PruneChildren()
                continue
            try:
                shape = self._shape(one, base)
            except CatenaError as error:
                message = f"{error}: the shape is left out"
                self._source.note(Severity.WARNING, str(one.GetPath()), message, what="shape")
                continue
            touches = one.HasAPI(UsdPhysics.CollisionAPI)
            if shape is not None:
                (collisions if touches else visuals).append(shape)
            if shape is not None and touches:
                parts.append(self._part(one, prim, shape))
        return self._read_prim(prim, scale, parts) | {
            "visuals": visuals,
            "collisions": collisions,
            "physical": False,
        }

    def _part(self, one: Any, body: Any, shape: Shape) -> MassProperties:
        """Return the mass of a shape: what it says itself, or its density, or that of the body."""
        own, whole = _mass_api(one), _mass_api(body)
        mass = _positive(own, "mass") if one != body else 0.0
        density = (
            (_positive(own, "density") or _positive(whole, "density")) * self.kilogram / self._places.metre**3
        )
        filled = shape.mass_properties(density or DENSITY)
        return _scaled(filled, mass * self.kilogram) if mass else filled

    def _read_prim(self, prim: Any, scale: Any, parts: list[MassProperties]) -> dict[str, Any]:
        """Mass, centre and inertia; what is not said follows from the shapes, in proportion to the mass."""
        api, metre = _mass_api(prim), self._places.metre
        whole = MassProperties.sum(parts)
        mass = _positive(api, "mass") * self.kilogram
        whole = _scaled(whole, mass) if mass else whole
        if not whole.mass:
            message = "it has neither a mass nor a shape that could have one"
            self._source.note(Severity.WARNING, str(prim.GetPath()), message, what="mass")
        com, inertia = whole.com, whole.inertia
        centre = None if api is None else api.GetCenterOfMassAttr().Get()
        if centre is not None and np.isfinite(np.array(centre)).all():
            com = metre * scale * np.array(centre, dtype=np.float64)
        moments = None if api is None else api.GetDiagonalInertiaAttr().Get()
        if moments is not None and np.any(np.array(moments) > 0.0):
            axes = api.GetPrincipalAxesAttr().Get()
            quat = np.array([axes.GetReal(), *axes.GetImaginary()], dtype=np.float64)
            R = Pose(quat=quat / np.linalg.norm(quat)).R if np.linalg.norm(quat) > 0.0 else np.eye(3)
            principal = self.kilogram * metre**2 * np.array(moments, dtype=np.float64)
            inertia = R @ np.diag(principal) @ R.T
        return {"mass": whole.mass, "com": com, "inertia": inertia}

    def _shape(self, prim: Any, base: Pose) -> Shape | None:
        """Return the shape of a prim in the frame of its body, None where it has none that is read."""
        from pxr import UsdGeom

        place, scale = self._places.of(prim)
        sizes = self._places.metre * scale
        pose = base.inverse() * place
        colour = self._colour(prim)
        if prim.IsA(UsdGeom.Cube):
            edge = float(UsdGeom.Cube(prim).GetSizeAttr().Get())
            return Box(tuple(edge * sizes), pose=pose, colour=colour)
        if prim.IsA(UsdGeom.Sphere):
            radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
            return Sphere(radius * float(sizes.max()), pose=pose, colour=colour)
        for form, made in ((UsdGeom.Cylinder, Cylinder), (UsdGeom.Capsule, Capsule)):
            if prim.IsA(form):
                axis = str(form(prim).GetAxisAttr().Get())
                along = "XYZ".index(axis)
                radius = float(form(prim).GetRadiusAttr().Get()) * float(np.delete(sizes, along).max())
                length = float(form(prim).GetHeightAttr().Get()) * float(sizes[along])
                return made(radius, length, pose=pose * Pose(rpy=TURNS[axis]), colour=colour)
        if prim.IsA(UsdGeom.Gprim):
            message = f"shapes of type {prim.GetTypeName()} are not read: the shape is left out"
            self._source.note(Severity.NOTE, str(prim.GetPath()), message, what="unread")
        return None

    def _colour(self, prim: Any) -> tuple[float, float, float, float] | None:
        from pxr import UsdGeom

        if not prim.IsA(UsdGeom.Gprim):
            return None
        colours = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
        if not colours:
            return None
        red, green, blue = (min(max(float(x), 0.0), 1.0) for x in colours[0])
        return red, green, blue, 1.0


def _mass_api(prim: Any) -> Any:
    from pxr import UsdPhysics

    return UsdPhysics.MassAPI(prim) if prim.HasAPI(UsdPhysics.MassAPI) else None


def _positive(api: Any, what: str) -> float:
    """Return a mass or density that is told, zero where it is not."""
    if api is None:
        return 0.0
    value = (api.GetMassAttr() if what == "mass" else api.GetDensityAttr()).Get()
    return float(value) if value is not None and np.isfinite(value) and value > 0.0 else 0.0


def _scaled(found: MassProperties, mass: float) -> MassProperties:
    """Return the same distribution with another mass."""
    if not found.mass:
        return MassProperties(mass, np.zeros(3), np.zeros((3, 3)))
    return MassProperties(mass, found.com, mass / found.mass * found.inertia)
