"""Where things are in an SDF model: poses relative to links, joints and frames, in any order of the file."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

from catena.errors import CatenaError
from catena.formats.markup import Element
from catena.spatial import Pose

IDENTITY = Pose()


def own_pose(element: Element | None) -> Pose:
    """Return the pose that the <pose> inside an element tells, whatever it is relative to."""
    pose = None if element is None else element.first("pose")
    if element is None or pose is None or not pose.text.strip():
        return IDENTITY
    as_quaternion = pose.get("rotation_format") == "quat_xyzw"
    numbers = element.values("pose", 7 if as_quaternion else 6)
    try:
        if as_quaternion:
            x, y, z, w = numbers[3:]
            return Pose(p=numbers[:3], quat=(w, x, y, z))
        angles = numbers[3:]
        if pose.get("degrees").lower() in ("1", "true"):
            angles = [angle * pi / 180.0 for angle in angles]
        return Pose(p=numbers[:3], rpy=angles) if any(angles) else Pose(p=numbers[:3])
    except CatenaError as error:
        pose.refuse(error)


def _relative_to(element: Element) -> str:
    pose = element.first("pose")
    return "" if pose is None else pose.get("relative_to") or pose.get("frame")


class Frames:
    """The poses in the model of links, joints and frames, found when they are asked for."""

    def __init__(self, model: Element, links: Mapping[str, Element]) -> None:
        self._elements: dict[str, tuple[Element, str]] = {}
        for name, link in links.items():
            self._elements[name] = link, _relative_to(link) or "__model__"
        for frame in model.all("frame"):
            self._add(frame, _relative_to(frame) or frame.get("attached_to") or "__model__")
        for joint in model.all("joint"):
            child = joint.first("child")
            self._add(
                joint, _relative_to(joint) or ("" if child is None else child.text.strip()) or "__model__"
            )
        self._found: dict[str, Pose] = {"__model__": IDENTITY, "world": IDENTITY}

    def _add(self, element: Element, relative_to: str) -> None:
        self._elements.setdefault(element.needed("name"), (element, relative_to))

    def of_joint(self, joint: Element) -> Pose:
        """Return the pose of a joint in the model; a link or a frame may have its name."""
        child = joint.first("child")
        relative_to = _relative_to(joint) or ("" if child is None else child.text.strip())
        return self.of(relative_to or "__model__", joint) * own_pose(joint)

    def of(self, name: str, asked: Element) -> Pose:
        """Return the pose of a link, joint or frame in the model."""
        waiting: list[str] = []
        while name not in self._found:
            if name in waiting:
                asked.fail(f"the pose of {name!r} is told relative to itself: break the circle")
            if name not in self._elements:
                asked.fail(f"no link, joint or frame is named {name!r}")
            waiting.append(name)
            name = self._elements[name][1]
        for one in reversed(waiting):
            element, relative_to = self._elements[one]
            self._found[one] = self._found[relative_to] * own_pose(element)
        return self._found[waiting[0] if waiting else name]

    def attached(self, frame: Element) -> str:
        """Return the link, joint or frame that carries a frame."""
        return frame.get("attached_to")

    def body_of(self, name: str, asked: Element, links: Mapping[str, str]) -> str | None:
        """Return the link that carries a frame, directly or through other frames; None if it is the model."""
        seen = set()
        while name not in links:
            if name in seen or name not in self._elements:
                return None
            seen.add(name)
            element = self._elements[name][0]
            if element.tag == "joint":
                child = element.first("child")
                name = "" if child is None else child.text.strip()
            else:
                name = element.get("attached_to")
            if not name:
                return None
        return name
