"""Sensors of an MJCF file as sensors of the mechanism, where there are such.

Accelerometers and gyroscopes are inertial measurement units in the frames of their sites, sensors of joints and of
fixed tendons are encoders, sensors of force and torque are force sensors in the joint that carries the body of their
site, told in its frame; what a servo gives and how long a straight tendon is, gauges tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catena.formats.findings import NamedParts
from catena.formats.markup import Element
from catena.formats.mjcf.names import BALL, free_name
from catena.formats.mjcf.tendons import TendonJoint
from catena.mechanism import Mechanism
from catena.mechanism.mounted_sensors import ENCODER, FORCE, GAUGE, IMU

Mount = dict[str, Any] | None
"""The arguments of `add_sensor` besides the name, None where there is no such sensor."""


class SensorPlaces:
    """Where the parts of a model are in the mechanism: `sites` by their number in the model, freedoms of joints as
    `components`, fixed tendons as `slides`."""

    def __init__(
        self,
        mechanism: Mechanism,
        model: Any,
        sites: list[str],
        components: Mapping[int, tuple[str, int]],
        slides: Mapping[int, TendonJoint],
    ) -> None:
        self.mechanism, self.model = mechanism, model
        self.sites = {str(model.site(k).name): name for k, name in enumerate(sites)}
        self.joints = {str(model.joint(k).name): k for k in range(model.njnt)}
        self.slides = {str(model.tendon(k).name): slide.name for k, slide in slides.items()}
        self.components = components

    def in_frame(self, element: Element) -> Mount:
        """Return a unit in the frame of a site."""
        site = self.sites.get(element.get("site"))
        return None if site is None else {"kind": IMU, "at": site}

    def at_joint(self, element: Element) -> Mount:
        """Return an encoder at a hinge, a slide or a ball."""
        k = self.joints.get(element.get("joint"))
        if k is None:
            return None
        if k in self.components:
            joint, component = self.components[k]
            whole = self.mechanism.joints[joint].kind.nv == 1
            return {"kind": ENCODER, "at": joint, "component": None if whole else component}
        name = element.get("joint")
        is_ball = self.model.jnt_type[k] == BALL and name in self.mechanism.joints
        return {"kind": ENCODER, "at": name} if is_ball else None

    def in_joint(self, element: Element) -> Mount:
        """Return a force sensor in the joint that carries the body of a site."""
        site = self.sites.get(element.get("site"))
        if site is None:
            return None
        body = self.mechanism.frames[site].body
        joints = [joint for joint in self.mechanism.joints.values() if joint.child == body]
        # The first joint is that of the tree; what closes loops comes after all of these.
        return {"kind": FORCE, "at": joints[0].name, "frame": site} if joints else None

    def of_tendon(self, element: Element) -> Mount:
        """Return an encoder of the slide of a fixed tendon, or a gauge of a straight one that pulls."""
        name = element.get("tendon")
        if name in self.slides:
            return {"kind": ENCODER, "at": self.slides[name]}
        return {"kind": GAUGE, "at": name} if name in self.mechanism.force_elements else None

    def of_servo(self, element: Element) -> Mount:
        """Return a gauge of what a servo gives."""
        name = element.get("actuator")
        return {"kind": GAUGE, "at": name} if name in self.mechanism.servos else None


READ: dict[str, Callable[[SensorPlaces, Element], Mount]] = {
    "accelerometer": SensorPlaces.in_frame,
    "gyro": SensorPlaces.in_frame,
    "jointpos": SensorPlaces.at_joint,
    "jointvel": SensorPlaces.at_joint,
    "ballquat": SensorPlaces.at_joint,
    "ballangvel": SensorPlaces.at_joint,
    "force": SensorPlaces.in_joint,
    "torque": SensorPlaces.in_joint,
    "tendonpos": SensorPlaces.of_tendon,
    "tendonvel": SensorPlaces.of_tendon,
    "actuatorfrc": SensorPlaces.of_servo,
}
"""How elements become sensors."""


def add_sensors(places: SensorPlaces, elements: list[Element], idle: NamedParts) -> None:
    """Add the sensors that there are here, and tell the others."""
    mechanism = places.mechanism
    for k, element in enumerate(elements):
        name = element.get("name").strip() or f"{element.tag} {k + 1}"
        mount = READ[element.tag](places, element) if element.tag in READ else None
        if mount is None:
            idle.add(f"sensors <{element.tag}>", name)
        else:
            mechanism.add_sensor(free_name(name, mechanism.sensors), **mount)
