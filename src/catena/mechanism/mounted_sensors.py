"""Sensors that belong to a mechanism, as plain data: what is measured, and where. `catena.sensors_of` makes the
instruments of them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from catena.errors import ModelError
from catena.mechanism import validation
from catena.mechanism.naming import body_of, moving_joint
from catena.validation import is_one_of, shown

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

IMU, ENCODER, FORCE, GAUGE = SENSOR_KINDS = ("imu", "encoder", "force", "gauge")
"""An inertial measurement unit in a frame, an encoder at a joint, a force sensor in a joint, a gauge of a force."""


@dataclass(frozen=True)
class MountedSensor:
    """A sensor: its `kind`, a word of `SENSOR_KINDS`, and `at` what it measures, the name of a frame, a joint or a
    force. An encoder may look at one `component` of its joint only, and a force sensor may tell its wrench in a
    `frame` of the joint's child."""

    name: str
    kind: str
    at: str
    frame: str = ""
    component: int | None = None

    def renamed(self, prefix: str) -> MountedSensor:
        """Return the same sensor where all names have a prefix."""
        frame = prefix + self.frame if self.frame else ""
        return replace(self, name=prefix + self.name, at=prefix + self.at, frame=frame)

    def is_at(self, joints: Container[str] = (), forces: Container[str] = ()) -> bool:
        """Return whether it measures one of some joints or forces."""
        return (
            self.at in joints if self.kind in (ENCODER, FORCE) else self.kind == GAUGE and self.at in forces
        )


def make_sensor(
    mechanism: Mechanism, name: str, kind: str, at: str, frame: str, component: int | None
) -> MountedSensor:
    """Return a sensor of a mechanism, checked."""
    who = f"sensor {name!r}"
    if not is_one_of(kind, SENSOR_KINDS):
        raise ModelError(f"{who}: kind is {shown(kind)}: give one of {', '.join(map(repr, SENSOR_KINDS))}")
    if frame and kind != FORCE:
        raise ModelError(f"{who}: only a force sensor tells what it measures in another frame: leave it out")
    if component is not None and kind != ENCODER:
        raise ModelError(f"{who}: only an encoder looks at one component: leave it out")
    if kind == IMU:
        body_of(mechanism, who, at)
    elif kind == ENCODER:
        nv = moving_joint(mechanism, who, at).kind.nv
        if component is not None and not (isinstance(component, int) and 0 <= component < nv):
            raise ModelError(f"{who}: component is {shown(component)}: the joint has {nv}, counted from 0")
    elif kind == FORCE:
        joint = mechanism.joints[validation.known("joint", at, mechanism.joints, who)]
        if frame and body_of(mechanism, who, frame) != joint.child:
            raise ModelError(
                f"{who}: frame {frame!r} is not part of {joint.child!r}, the child of joint {at!r}: give one that is"
            )
    else:
        validation.known("force", at, mechanism.force_elements, who)
    return MountedSensor(name, kind, at, frame, component)
