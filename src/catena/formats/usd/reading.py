"""Reading a mechanism from USD: rigid bodies, mass properties and joints of UsdPhysics, a graph with loops as it is.

Which joints an articulation leaves out (excludeFromArticulation) does not matter here: planning finds the tree. Bodies
that no joint ties to the world float, with the poses of the file as their initial positions; kinematic ones are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.forces.servo import Servo
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.formats.usd.masses import MassReader, PrimPlacement
from catena.joints import Fixed, Free, JointKind, Prismatic, Revolute, Spherical
from catena.joints.contract import HINGE
from catena.mechanism import GROUND, Mechanism
from catena.mechanism.groups import Groups
from catena.spatial import Pose, Transform

EARTH = 9.81
MOST_PRIMS = 100_000
"""How many prims a stage may have."""
FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
PER_DEGREE = 180.0 / np.pi


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism of a USD text. Axes stay those of the stage, lengths become metres and masses kilograms."""
    stage = open_stage(text, source)
    try:
        return _Reading(stage, source).mechanism
    except FormatError:
        raise
    except CatenaError as error:
        raise FormatError(f"{source.name}: {error}") from error
    except Exception as error:
        # A library that reads what anybody may have written raises whatever comes first.
        raise FormatError(
            f"{source.name}: it cannot be read: {' '.join(str(error).split())[:300]}"
        ) from error


class _Reading:
    """The parts of a mechanism as they are read from a stage."""

    def __init__(self, stage: Any, source: Source) -> None:
        from pxr import Usd, UsdPhysics

        prims = []
        for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
            prims.append(prim)
            if len(prims) > MOST_PRIMS:
                raise FormatError(f"{source.name}: it has more than {MOST_PRIMS} prims: this is no model")
        self.stage, self.source = stage, source
        self.places = PrimPlacement(stage, source.name)
        self.masses = MassReader(stage, self.places, source)
        top = stage.GetDefaultPrim()
        name = str(top.GetName()) if top else "stage"
        self.mechanism = Mechanism(name, self._gravity(prims))
        bodies = [one for one in prims if one.HasAPI(UsdPhysics.RigidBodyAPI) and _is_enabled(one)]
        if not bodies:
            raise FormatError(
                f"{source.name}: there is no rigid body in it: give prims the PhysicsRigidBodyAPI"
            )
        self.names = _names(bodies, {GROUND})
        for prim in bodies:
            self._refused(prim, self.mechanism.add_body, self.names[prim.GetPath()], **self.masses.body(prim))
        joints = [one for one in prims if one.IsA(UsdPhysics.Joint)]
        for prim, joint in ((one, called) for one, called in zip(joints, _names(joints, ()).values())):
            self._add_joint(prim, joint)
        self._add_roots(bodies)

    def _gravity(self, prims: Iterable[Any]) -> np.ndarray:
        """Return the gravity of the first scene; what it does not tell is that of the Earth, downwards."""
        from pxr import UsdGeom, UsdPhysics

        down = -np.eye(3)["XYZ".index(str(UsdGeom.GetStageUpAxis(self.stage)))]
        size = EARTH
        for prim in prims:
            if prim.IsA(UsdPhysics.Scene):
                direction = np.array(UsdPhysics.Scene(prim).GetGravityDirectionAttr().Get(), dtype=np.float64)
                length = float(np.linalg.norm(direction))
                down = direction / length if length > 0.0 else down
                magnitude = float(UsdPhysics.Scene(prim).GetGravityMagnitudeAttr().Get())
                size = magnitude * self.places.metre if np.isfinite(magnitude) and magnitude >= 0.0 else size
                break
        return size * down

    def _add_joint(self, prim: Any, name: str) -> None:
        from pxr import UsdPhysics

        joint = UsdPhysics.Joint(prim)
        if not joint.GetJointEnabledAttr().Get():
            return
        (parent, in_parent), (child, in_child) = (
            self._end(prim, joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
            self._end(prim, joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
        )
        if parent == child:
            message = f"both of its ends are on {parent!r}: it is left out"
            self.source.note(Severity.WARNING, str(prim.GetPath()), message, what="joint")
            return
        kind = self._refused(prim, _joint_kind, prim, self.source)
        limits = _joint_limits(prim, kind, self.places.metre)
        driven = any(prim.HasAPI(UsdPhysics.DriveAPI, word) for word in ("angular", "linear"))
        self._refused(
            prim, self.mechanism.add_joint, name, parent, child, kind, in_parent, in_child, limits=limits,
            actuated=driven and kind.nv == 1,
        )  # fmt: skip
        if driven:
            metre, kilogram = self.places.metre, self.masses.kilogram
            self._refused(prim, _add_drive, self.mechanism, name, prim, metre, kilogram, self.source)

    def _end(self, prim: Any, relation: Any, position: Any, rotation: Any) -> tuple[str, Pose]:
        """Return the body that an end of a joint is on, and the frame of the joint in it."""
        targets = relation.GetTargets()
        p, turn = position.Get(), rotation.Get()
        quat = np.array([turn.GetReal(), *turn.GetImaginary()], dtype=np.float64)
        if not np.linalg.norm(quat) > 0.0:
            raise FormatError(
                f"{self.source.name}: {prim.GetPath()}: a rotation of it is zero: give a unit quaternion"
            )
        here, scale = Pose(), np.ones(3)
        body = GROUND
        if targets:
            on = self.stage.GetPrimAtPath(targets[0])
            if not on:
                raise FormatError(
                    f"{self.source.name}: {prim.GetPath()}: there is no prim {str(targets[0])!r}"
                )
            here, scale = self.places.of(on)
            while on and on.GetPath() not in self.names:
                on = on.GetParent()
            body = self.names[on.GetPath()] if on else GROUND
        place = Pose(p=self.places.metre * scale * np.array(p), quat=quat / np.linalg.norm(quat))
        base = self.places.of(on)[0] if body != GROUND else Pose()
        return body, base.inverse() * here * place

    def _add_roots(self, bodies: Iterable[Any]) -> None:
        """Tie to ground what hangs on nothing, and set positions in which all bodies are where the file has them."""
        from pxr import UsdPhysics

        m = self.mechanism
        groups = Groups(m.bodies)
        at = {GROUND: Pose()}
        initial: dict[str, Any] = {}
        for joint in m.joints.values():
            groups.join(joint.parent, joint.child)
        for prim in bodies:
            body = self.names[prim.GetPath()]
            at[body] = self.places.of(prim)[0]
            fixed = bool(UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get())
            if fixed or groups.top(body) != groups.top(GROUND):
                groups.join(GROUND, body)
                self._refused(
                    prim, m.add_joint, f"{body} root", GROUND, body, Fixed() if fixed else Free(),
                    in_parent=at[body] if fixed else Pose(), actuated=False,
                )  # fmt: skip
        for name, joint in m.joints.items():
            if joint.kind.nv:
                place = (at[joint.parent] * joint.in_parent).inverse() * at[joint.child] * joint.in_child
                initial[name] = joint.kind.coordinates(Transform.from_pose(place))
        m.set_initial(q=initial)

    def _refused(self, prim: Any, edit: Any, *arguments: Any, **options: Any) -> Any:
        """Return what an edit returns; what it refuses is a fault of the prim."""
        try:
            return edit(*arguments, **options)
        except FormatError:
            raise
        except CatenaError as error:
            raise FormatError(f"{self.source.name}: {prim.GetPath()}: {error}") from error


def _is_enabled(prim: Any) -> bool:
    from pxr import UsdPhysics

    return bool(UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get())


def _names(prims: Iterable[Any], taken: Iterable[str]) -> dict[Any, str]:
    """Return the names of prims by their paths: the last word of the path where it is the only one, else the whole
    path."""
    listed = list(prims)
    words = [str(prim.GetName()) for prim in listed]
    return {
        prim.GetPath(): word if words.count(word) == 1 and word not in taken else str(prim.GetPath())
        for prim, word in zip(listed, words)
    }


DEEPEST = 100
"""How deep brackets may be nested; the parser of USD is recursive."""
_QUIET = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|@@@.*?@@@|@[^@\n]*@|#[^\n]*',
    re.DOTALL,
)
"""Strings, paths of assets and comments, in which a bracket means nothing."""


def open_stage(text: str, source: Source) -> Any:
    """Return the stage of a text, which must say everything itself: a file that is composed of others is refused,
    because USD would open them wherever they lie."""
    try:
        from pxr import Sdf, Usd
    except ImportError:
        raise FormatError(
            f"{source.name}: USD files need the package usd-core, which is not installed: "
            'pip install "catena-dynamics[usd]"'
        ) from None
    if not text.startswith("#usda"):
        raise FormatError(
            f"{source.name}: this is no USD text, which begins with #usda: convert it, usdcat -o x.usda"
        )
    _require_shallow(text, source)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    try:
        is_read = layer.ImportFromString(text)
    except Exception as error:
        place = re.search(r":(\d+):\d+: (.*?)'?$", _short(error))
        where, what = ("", _short(error)) if place is None else (f":{place.group(1)}", place.group(2).strip())
        raise FormatError(f"{source.name}{where}: this is not USD: {what}") from None
    if not is_read:
        raise FormatError(f"{source.name}: this is not USD")
    others = [*layer.GetCompositionAssetDependencies(), *layer.externalReferences]
    clips: list[str] = []
    layer.Traverse("/", lambda path: clips.append(str(path)) if _has_clips(layer, path) else None)
    if any(others) or clips:
        named = next((str(one) for one in others if one), f"clips of {clips[0] if clips else '/'}")
        raise FormatError(
            f"{source.name}: it is composed of other files, such as {named!r}, which are not opened: "
            "write it into one file, usdcat --flatten -o x.usda"
        )
    try:
        return Usd.Stage.Open(layer)
    except Exception as error:
        raise FormatError(f"{source.name}: this is not USD: {_short(error)}") from None


def _require_shallow(text: str, source: Source) -> None:
    depth = 0
    for sign in re.findall(r"[][(){}]", _QUIET.sub("", text)):
        depth += 1 if sign in "[({" else -1
        if depth > DEEPEST:
            raise FormatError(f"{source.name}: brackets are nested deeper than {DEEPEST}: this is no model")


def _has_clips(layer: Any, path: Any) -> bool:
    spec = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
    return bool(spec is not None and any(spec.HasInfo(key) for key in ("clips", "clipSets")))


def _short(error: Exception) -> str:
    """Return what an error of USD says, on one line."""
    return " ".join(str(error).split())[:300]


def _joint_kind(prim: Any, source: Source) -> JointKind:
    """Return the kind of a joint; a distance, and combinations of freedoms that no kind has, are refused."""
    from pxr import UsdPhysics

    if prim.IsA(UsdPhysics.RevoluteJoint):
        return Revolute(str(UsdPhysics.RevoluteJoint(prim).GetAxisAttr().Get()).lower())
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return Prismatic(str(UsdPhysics.PrismaticJoint(prim).GetAxisAttr().Get()).lower())
    if prim.IsA(UsdPhysics.SphericalJoint):
        return Spherical()
    if prim.IsA(UsdPhysics.FixedJoint):
        return Fixed()
    where = f"{source.name}: {prim.GetPath()}"
    if prim.IsA(UsdPhysics.DistanceJoint):
        raise FormatError(
            f"{where}: a distance between two points is no joint here: remove it, and add a rod with two ball joints"
        )
    free = [name for name in FREEDOMS if not _is_locked(prim, name)]
    kinds: dict[tuple[str, ...], JointKind] = {(): Fixed(), FREEDOMS: Free(), FREEDOMS[3:]: Spherical()}
    kinds |= {(f"trans{axis}",): Prismatic(axis.lower()) for axis in "XYZ"}
    kinds |= {(f"rot{axis}",): Revolute(axis.lower()) for axis in "XYZ"}
    if tuple(free) not in kinds:
        raise FormatError(
            f"{where}: its limits leave {', '.join(free)} free: only one of them, all turns, all or none are read"
        )
    return kinds[tuple(free)]


def _is_locked(prim: Any, freedom: str) -> bool:
    """Return whether the limits of a freedom are the wrong way round, which says that there is none."""
    from pxr import UsdPhysics

    if not prim.HasAPI(UsdPhysics.LimitAPI, freedom):
        return False
    limit = UsdPhysics.LimitAPI(prim, freedom)
    return float(limit.GetLowAttr().Get()) > float(limit.GetHighAttr().Get())


def _joint_limits(prim: Any, kind: JointKind, metre: float) -> Any:
    """Return the limits [rad or m] of a revolute or prismatic joint, None where there are none."""
    from pxr import UsdPhysics

    if kind.nv != 1:
        return None
    turns = kind.consists_of(HINGE)
    if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint):
        form = (UsdPhysics.RevoluteJoint if turns else UsdPhysics.PrismaticJoint)(prim)
        low, high = form.GetLowerLimitAttr().Get(), form.GetUpperLimitAttr().Get()
    else:
        name = next(one for one in FREEDOMS if not _is_locked(prim, one))
        if not prim.HasAPI(UsdPhysics.LimitAPI, name):
            return None
        limit = UsdPhysics.LimitAPI(prim, name)
        low, high = limit.GetLowAttr().Get(), limit.GetHighAttr().Get()
    unit = 1.0 / PER_DEGREE if turns else metre
    found = unit * np.array([low, high], dtype=np.float64)
    return found if np.isfinite(found).any() else None


def _add_drive(
    mechanism: Mechanism, name: str, prim: Any, metre: float, kilogram: float, source: Source
) -> None:
    """Add the drive of a joint as a servo: stiffness and damping pull towards its targets, within its largest force."""
    from pxr import UsdPhysics

    kind = mechanism.joints[name].kind
    turns = kind.consists_of(HINGE)
    word = "angular" if turns else "linear"
    driven = [one for one in (word, "rotX", "rotY", "rotZ", "transX", "transY", "transZ") if
            prim.HasAPI(UsdPhysics.DriveAPI, one)]  # fmt: skip
    if not driven:
        return
    drive = UsdPhysics.DriveAPI(prim, driven[0])
    if kind.nv != 1 or str(drive.GetTypeAttr().Get()) != "force":
        message = "its drive is not read: only those of one freedom are that tell a force"
        source.note(Severity.WARNING, str(prim.GetPath()), message, what="unread")
        return
    # A drive tells angles in degrees, and stiffness for each of them.
    position, effort = (1.0 / PER_DEGREE if turns else metre), kilogram * (metre**2 if turns else metre)
    per = effort / position
    stiffness, damping = float(drive.GetStiffnessAttr().Get()), float(drive.GetDampingAttr().Get())
    most = effort * float(drive.GetMaxForceAttr().Get())
    target = position * float(drive.GetTargetPositionAttr().Get())
    speed = position * float(drive.GetTargetVelocityAttr().Get())
    bounded = np.isfinite(most) and most > 0.0
    mechanism.add_actuator(name, name, limits=most if bounded else None)
    if stiffness or damping:
        bias = (per * damping * speed, -per * stiffness, -per * damping)
        limits = (-most, most) if bounded else ()
        mechanism.add_force(name, Servo((per * stiffness,), bias, target, limits=limits), joint=name)
