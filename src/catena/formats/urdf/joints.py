"""Joints of a URDF file: kind, limits, friction, motors, and mimic joints as couplings."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from catena.errors import CatenaError
from catena.formats.findings import Severity
from catena.formats.markup import Element
from catena.formats.source import Source
from catena.formats.urdf.links import origin
from catena.joints import Fixed, Free, Helical, JointKind, Planar, Prismatic, Revolute, Spherical
from catena.mechanism import Mechanism

AXIAL: dict[str, Callable[[Any], JointKind]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "screw": Helical,
}
OTHERS: dict[str, Callable[[], JointKind]] = {
    "fixed": Fixed,
    "floating": Free,
    "spherical": Spherical,
    "ball": Spherical,
}
LIMITED = ("revolute", "prismatic")
UNLIMITED = 1e9
"""A limit that stands for none, because a <limit> has two ends."""


def joint_kind(element: Element, word: str, axis: list[float]) -> JointKind:
    """Return the kind of joint that a type and an axis tell."""
    try:
        if word in AXIAL:
            return AXIAL[word](axis)
        if word in OTHERS:
            return OTHERS[word]()
    except CatenaError as error:
        element.refuse(error)
    element.fail(f"no type of joint is named {word!r}: there are {', '.join([*AXIAL, *OTHERS])}")


def axis_of(element: Element) -> list[float]:
    """Return the axis of a joint, x unless it is told."""
    axis = element.first("axis")
    return [1.0, 0.0, 0.0] if axis is None else axis.numbers("xyz", 3, (1.0, 0.0, 0.0))


def end_of(element: Element, tag: str) -> str:
    """Return the link that a joint names as its parent or child."""
    end = element.first(tag)
    if end is None:
        element.fail(f'there is no <{tag} link="..."/> in it')
    return end.needed("link")


def add_joint(
    mechanism: Mechanism, element: Element, parent: str, child: str, source: Source, **more: Any
) -> None:
    """Add a joint of the file between two bodies."""
    name = element.needed("name")
    word = element.needed("type")
    kind = joint_kind(element, word, axis_of(element))
    options: dict[str, Any] = {"in_parent": origin(element), **more}
    dynamics, limit = element.first("dynamics"), element.first("limit")
    if dynamics is not None and kind.nv:
        options["damping"] = dynamics.number("damping", 0.0)
        options["friction"] = dynamics.number("friction", 0.0)
        options["armature"] = dynamics.number("armature", 0.0)
    effort = 0.0
    if limit is not None and kind.nv == 1:
        if word in LIMITED:
            options["limits"] = _limits(element, limit, source)
        speed = limit.number("velocity", 0.0)
        # Zero stands for "not known" in many files; a joint that may neither move nor be driven would be fixed.
        options["velocity_limit"] = speed if speed > 0.0 else None
        effort = limit.number("effort", 0.0)
    follows = source.mimic and element.first("mimic") is not None
    text = element.get("actuated", "false" if follows else "true").strip().lower()
    options["actuated"] = kind.nv > 0 and text not in ("false", "0")
    try:
        mechanism.add_joint(name, parent, child, kind, **options)
        if effort > 0.0 and options["actuated"]:
            mechanism.add_actuator(name, name, limits=effort)
    except CatenaError as error:
        element.refuse(error)
    source.places["joint", name] = element.line


def _limits(element: Element, limit: Element, source: Source) -> tuple[float, float] | None:
    """Return the lowest and highest position; those in the wrong order are swapped, and told."""
    if "lower" not in limit.attributes and "upper" not in limit.attributes:
        return None
    low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if low > high:
        message = f"lower is {low:g}, above upper, {high:g}: they are taken the other way round"
        repaired = "swapped" if source.fix else ""
        source.note(Severity.WARNING, element.who, message, limit.line, "limits", repaired)
        low, high = high, low
    if low <= -UNLIMITED and high >= UNLIMITED:
        return None
    return -inf if low <= -UNLIMITED else low, inf if high >= UNLIMITED else high


def add_mimic(mechanism: Mechanism, element: Element, source: Source) -> None:
    """Couple a joint to the one that it mimics: position = multiplier * position(other) + offset."""
    mimic = element.first("mimic")
    if mimic is None or not source.mimic:
        return
    name, other = element.needed("name"), mimic.needed("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if other not in mechanism.joints:
        message = f"it mimics {other!r}, which is no joint: it moves by itself"
        source.note(Severity.WARNING, element.who, message, mimic.line, "coupling")
        return
    for joint in (name, other):
        if mechanism.joints[joint].kind.nv != 1:
            message = f"it mimics {other!r}, but {joint!r} has no single degree of freedom: this is left out"
            source.note(Severity.WARNING, element.who, message, mimic.line, "coupling")
            return
    coupling = f"{name} mimics {other}"
    try:
        if multiplier == 0.0:
            mechanism.add_coupling(coupling, {name: 1.0}, offset)
        elif name == other:
            mimic.fail(f"it mimics itself: name another joint than {name!r}", element.who)
        else:
            mechanism.add_coupling(coupling, {name: 1.0, other: -multiplier}, offset)
    except CatenaError as error:
        mimic.refuse(error, element.who)
    source.places["coupling", coupling] = mimic.line
