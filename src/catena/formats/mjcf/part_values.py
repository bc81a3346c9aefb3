"""What MJCF says of a joint: damping, friction, rotors and one spring, summed up over a joint and the forces at it; and
of a body: its shapes, its mass properties as moments along principal axes, of which MuJoCo refuses more than Catena
does, and forces that bear its weight, as far as they act in its mass centre."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena import forces
from catena.errors import FormatError
from catena.forces import Buoyancy
from catena.forces.deflection import is_vector
from catena.formats.markup import quoted
from catena.formats.mjcf.poses import number_text, numbers_text, pose_text
from catena.formats.named import NamedParts
from catena.formats.shape_files import path_from
from catena.mechanism import Body, ForceElement, Joint, Mechanism, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from catena.spatial import Pose

Floats = NDArray[np.float64]
ORDER = 3
"""How many coefficients the polynomials of MuJoCo have."""
SERVOS = "servos of joints that close loops or have a quaternion"


@dataclass
class JointValues:
    """Numbers of a joint: polynomials of `damping` (nv, 3) and `stiffness` (nv, 3), the position `rest` (nv,) where the
    springs are relaxed, `friction` (nv,), `armature` (nv,), and the servos at it by name."""

    damping: Floats
    stiffness: Floats
    rest: Floats
    friction: Floats
    armature: Floats
    servos: dict[str, forces.Servo] = field(default_factory=dict)

    @property
    def has_any(self) -> bool:
        """Whether anything has to be said."""
        numbers = (self.damping, self.stiffness, self.friction, self.armature)
        return any(x.any() for x in numbers) or bool(self.servos)


def joint_values(mechanism: Mechanism, lost: NamedParts) -> dict[str, JointValues]:
    """Return the values of each joint; forces at joints that MJCF cannot say are told in `lost`."""
    found = {name: _own(joint) for name, joint in mechanism.joints.items()}
    for force in mechanism.force_elements.values():
        if force.at_joint is not None and not _take(
            found[force.at_joint], mechanism.joints[force.at_joint], force
        ):
            lost.add("springs and forces at joints", force.name)
    return found


def _own(joint: Joint) -> JointValues:
    nv = joint.kind.nv
    damping, stiffness = np.zeros((nv, ORDER)), np.zeros((nv, ORDER))
    damping[:, 0] = joint.damping
    armature = np.zeros(nv) if joint.armature is None else np.array(joint.armature)
    return JointValues(damping, stiffness, np.zeros(nv), np.array(joint.friction), armature)


def _take(values: JointValues, joint: Joint, force: ForceElement) -> bool:
    """Add what a force does at a joint to its values; False if they cannot hold it."""
    kind = force.kind
    if isinstance(kind, forces.JointSpring):
        rest = joint.kind.neutral() if not kind.rest else np.array(kind.rest)
        d = joint.kind.difference(joint.kind.neutral(), rest)
        if kind.stiffness:
            d = np.asarray(d, dtype=np.float64)
            # Rests of quaternions have no mean, and MuJoCo knows springs from the neutral position only.
            is_told = is_vector(joint.kind) or not d.any()
            if not is_told or not _add_springs(values, np.array(kind.stiffness), d):
                return False
        if kind.damping:
            values.damping[:, 0] += kind.damping
        return True
    if isinstance(kind, forces.JointFriction):
        if kind.damping:
            values.damping[:, 0] += kind.damping
        if kind.friction:
            values.friction += kind.friction
        return True
    if isinstance(kind, forces.PolynomialJointSpring):
        return _add_polynomial(values, kind)
    if isinstance(kind, forces.Servo):
        values.servos[force.name] = kind
        return True
    return False


def _add_springs(values: JointValues, stiffness: Any, rest: Any) -> bool:
    """Add linear springs: several are one, relaxed at the mean of where they are, weighed by their stiffness."""
    if values.stiffness[stiffness > 0.0, 1:].any():
        return False
    total = values.stiffness[:, 0] + stiffness
    weighed = values.stiffness[:, 0] * values.rest + stiffness * rest
    mean = np.divide(weighed, total, out=values.rest.copy(), where=total > 0.0)
    values.rest = np.where(values.stiffness[:, 0] == 0.0, rest, mean)
    values.stiffness[:, 0] = total
    return True


def _add_polynomial(values: JointValues, kind: forces.PolynomialJointSpring) -> bool:
    k = kind.component
    if max(len(kind.stiffness), len(kind.damping)) > ORDER:
        return False
    if kind.stiffness:
        if values.stiffness[k].any() and values.rest[k] != kind.rest:
            return False
        values.stiffness[k, : len(kind.stiffness)] += kind.stiffness
        values.rest[k] = kind.rest
    values.damping[k, : len(kind.damping)] += kind.damping
    return True


class Geoms:
    """Writes the shapes of a mechanism for a file in a folder; `meshes` are those that it has to name, by path and
    scale."""

    def __init__(self, mechanism: Mechanism, folder: Path) -> None:
        self.mechanism, self.folder = mechanism, folder
        self.meshes: dict[tuple[str, Any], str] = {}

    def text(self, shape: Shape, more: str) -> str:
        """Return the element of a shape, with `more` attributes."""
        if isinstance(shape, Box):
            form = f'type="box" size="{numbers_text(np.array(shape.size) / 2)}"'
        elif isinstance(shape, Sphere):
            form = f'type="sphere" size="{number_text(shape.radius)}"'
        elif isinstance(shape, Ellipsoid):
            form = f'type="ellipsoid" size="{numbers_text(shape.radii)}"'
        elif isinstance(shape, Cylinder | Capsule):
            word = "cylinder" if isinstance(shape, Cylinder) else "capsule"
            form = f'type="{word}" size="{numbers_text((shape.radius, shape.length / 2))}"'
        elif isinstance(shape, Mesh):
            key = (path_from(shape, self.folder), shape.scale)
            form = f'type="mesh" mesh="{self.meshes.setdefault(key, f"mesh {len(self.meshes)}")}"'
        name = f" name={quoted(shape.name)}" if shape.name and self._is_only(shape) else ""
        colour = "" if shape.colour is None else f' rgba="{numbers_text(shape.colour)}"'
        return f"<geom{name} {form}{pose_text(shape.pose)}{colour}{more}/>"

    def _is_only(self, shape: Shape) -> bool:
        """Return whether no other shape has its name, which MuJoCo does not allow."""
        bodies = self.mechanism.bodies.values()
        found = [s for b in bodies for s in {*b.visuals, *b.collisions} if s.name == shape.name]
        return len(found) == 1


ROUNDING = 1e-12
"""What is less than this, in parts of the largest moment, is a matter of rounding."""


def inertial(path: Path, body: Body) -> str:
    """Return the element with the mass properties of a body."""
    moments, axes = _principal(body)
    if moments.min() < 0.0 or body.mass < 0.0:
        raise FormatError(
            f"{path}: body {body.name!r} has a negative mass or moment of inertia, which MuJoCo refuses: "
            "save a .toml file"
        )
    turned = Pose(R=axes)
    quat = "" if np.array_equal(axes, np.eye(3)) else f' quat="{_numbers(turned.quat)}"'
    place = f'pos="{_numbers(body.com)}"{quat}'
    return f'<inertial {place} mass="{_numbers([body.mass])}" diaginertia="{_numbers(moments)}"/>'


def needs_balance(body: Body) -> bool:
    """Return whether the moments break the triangle inequality, which MuJoCo does not take."""
    moments = np.sort(_principal(body)[0])
    return bool(moments[2] > moments[0] + moments[1])


def _principal(body: Body) -> tuple[Any, Any]:
    """Return the moments (3,) along principal axes, which are the columns of a right-handed matrix, without what
    rounding does to thin bodies."""
    diagonal = np.diag(body.inertia)
    if np.array_equal(body.inertia, np.diag(diagonal)):
        moments, axes = diagonal.copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(body.inertia)
        axes = axes * np.sign(np.linalg.det(axes))
    largest = np.abs(moments).max()
    moments[np.abs(moments) < ROUNDING * largest] = 0.0
    top = int(np.argmax(moments))
    others = float(np.delete(moments, top).sum())
    if others < moments[top] <= others + ROUNDING * largest:
        moments[top] = others
    return moments, axes


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)


def lifts_at_mass_centres(mechanism: Mechanism) -> dict[str, str]:
    """Return the forces that bear weight in the mass centre of a body, with the names of the bodies."""
    found = {}
    for force in mechanism.forces.values():
        if isinstance(force.kind, Buoyancy) and force.frames is not None:
            name = force.frames[1]
            frame = mechanism.frames.get(name)
            body, place = (name, np.zeros(3)) if frame is None else (frame.body, frame.pose.p)
            if mechanism.bodies[body].mass and np.array_equal(place, mechanism.bodies[body].com):
                found[force.name] = body
    return found
