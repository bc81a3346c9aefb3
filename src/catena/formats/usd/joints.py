"""Joints of UsdPhysics: revolute, prismatic, spherical, fixed, and those whose limits leave one of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import FormatError
from catena.forces.servo import Servo
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.joints import Fixed, Free, JointKind, Prismatic, Revolute, Spherical
from catena.joints.contract import HINGE
from catena.mechanism import Mechanism

FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
PER_DEGREE = 180.0 / np.pi


def joint_kind(prim: Any, source: Source) -> JointKind:
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


def joint_limits(prim: Any, kind: JointKind, metre: float) -> Any:
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


def add_drive(
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
