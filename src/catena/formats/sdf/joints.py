"""Joints of SDF, in SDF files and in the <gazebo> elements of URDF files.

A joint has one frame, given in its child. Where that frame is when all links are at the poses that the file tells, the
parent has it too, so every joint is closed at zero, loops among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.findings import Severity
from catena.formats.markup import Element
from catena.formats.sdf.poses import own_pose
from catena.formats.source import Source
from catena.joints import Fixed, Helical, JointKind, Prismatic, Revolute, Spherical, Universal
from catena.joints.contract import HINGE
from catena.mechanism import Mechanism
from catena.spatial import Pose

UNLIMITED = 1e16
"""From here on SDF means that there is no limit."""
ACTUATED = "catena:actuated"
"""The attribute of a joint that says whether something drives it, which SDF does not."""
ROTOR, GEAR = "drake:rotor_inertia", "drake:gear_ratio"
"""The inertia of a rotor and how often it turns for one turn of its joint, as Drake has them."""
ROTORS = "catena:armature"
"""The inertias of rotors that a joint of several freedoms feels."""
TYPES = ("revolute", "continuous", "prismatic", "screw", "universal", "revolute2", "ball", "fixed", "gearbox")


def add_sdf_joint(
    mechanism: Mechanism,
    element: Element,
    links: Mapping[str, str],
    poses: Mapping[str, Pose],
    source: Source,
    at: Pose | None = None,
) -> None:
    """Add a joint. `links` are the bodies of links, `poses` where links are in the model, `at` where the joint is in
    it if that is not told in the child."""
    name, word = element.needed("name"), element.needed("type")
    parent, child = (_end(element, tag, links) for tag in ("parent", "child"))
    frame = poses[child] * own_pose(element) if at is None else at
    kind = _kind(element, word, frame)
    options: dict[str, Any] = {
        "in_parent": poses[parent].inverse() * frame,
        "in_child": poses[child].inverse() * frame,
        "actuated": kind.nv > 0 and element.get(ACTUATED).strip().lower() not in ("0", "false"),
    }
    if kind.nv == 1 and element.first(ROTOR) is not None:
        options["armature"] = element.value(ROTOR) * element.value(GEAR, 1.0) ** 2 or None
    elif kind.nv > 1 and element.first(ROTORS) is not None:
        options["armature"] = element.values(ROTORS, kind.nv)
    axes = [axis for axis in (element.first("axis"), element.first("axis2")) if axis is not None][: kind.nv]
    parsed = [_axis_options(axis, element, source) for axis in axes]
    springs = [one.pop("spring") for one in parsed]
    efforts = [one.pop("effort") for one in parsed]
    if parsed and kind.nv == len(parsed):
        for key in ("damping", "friction"):
            options[key] = [one[key] for one in parsed]
        if any(np.isfinite(one["limits"]).any() for one in parsed):
            options["limits"] = [one["limits"] for one in parsed]
        speeds = [one["velocity_limit"] for one in parsed]
        options["velocity_limit"] = speeds if np.isfinite(speeds).any() else None
    try:
        mechanism.add_joint(name, links[parent], links[child], kind, **options)
        if any(stiffness for stiffness, _ in springs):
            stiffness, rest = ([pair[k] for pair in springs] for k in (0, 1))
            mechanism.add_spring(f"{name} spring", name, stiffness, rest)
        if efforts and np.isfinite(efforts).any() and len(efforts) == kind.nv:
            mechanism.add_actuator(name, name, limits=[(-effort, effort) for effort in efforts])
    except CatenaError as error:
        element.refuse(error)
    source.places["joint", name] = element.line


def _end(element: Element, tag: str, links: Mapping[str, str]) -> str:
    """Return the link at one end of a joint."""
    end = element.first(tag)
    name = "" if end is None else (end.text.strip() or end.get("link"))
    if not name:
        element.fail(f"there is no <{tag}> with the name of a link in it")
    if name not in links:
        element.fail(f"no link is named {name!r}: there are {', '.join(map(repr, list(links)[:8]))}")
    return name


def _kind(element: Element, word: str, frame: Pose) -> JointKind:
    """Return the kind of joint of a type, with axes in the frame of the joint."""
    first = element.first("axis")
    try:
        if word in ("revolute", "continuous"):
            return Revolute(axis_of(element, first, frame))
        if word == "prismatic":
            return Prismatic(axis_of(element, first, frame))
        if word == "screw":
            return Helical(axis_of(element, first, frame), _pitch(element))
        if word in ("universal", "revolute2"):
            second = element.first("axis2")
            return Universal(axis_of(element, first, frame), axis_of(element, second, frame))
        if word == "ball":
            return Spherical()
        if word == "fixed":
            return Fixed()
    except CatenaError as error:
        element.refuse(error)
    element.fail(f"no type of joint is named {word!r}: there are {', '.join(TYPES)}")


def axis_of(element: Element, axis: Element | None, frame: Pose) -> Any:
    """Return the direction of an axis (3,) in the frame of the joint; files before version 1.7 may tell it in the
    model."""
    if axis is None:
        element.fail("there is no <axis> in it")
    xyz = axis.values("xyz", 3, (0.0, 0.0, 1.0))
    in_model = axis.first("use_parent_model_frame")
    xyz_element = axis.first("xyz")
    expressed = "" if xyz_element is None else xyz_element.get("expressed_in")
    if expressed == "__model__" or (in_model is not None and in_model.text.strip().lower() in ("1", "true")):
        return frame.R.T @ np.array(xyz)
    if expressed:
        axis.fail(
            f"its axis is expressed in the frame {expressed!r}, which is not supported: give it in the joint"
        )
    return xyz


def _pitch(element: Element) -> float:
    """Return the pitch [m/rad] of a screw joint."""
    metres = element.first("screw_thread_pitch")
    if metres is not None:
        return element.value("screw_thread_pitch") / (2.0 * pi)
    ratio = element.value("thread_pitch", -1.0)
    if ratio == 0.0:
        element.fail("thread_pitch is zero: give radians for each metre")
    return -1.0 / ratio


def _axis_options(axis: Element, joint: Element, source: Source) -> dict[str, Any]:
    """Limits, friction and spring of one axis."""
    limit, dynamics = axis.first("limit"), axis.first("dynamics")
    found: dict[str, Any] = {"limits": (-np.inf, np.inf), "velocity_limit": np.inf, "effort": np.inf}
    if limit is not None:
        low, high = limit.value("lower", -UNLIMITED), limit.value("upper", UNLIMITED)
        if low > high:
            message = f"lower is {low:g}, above upper, {high:g}: they are taken the other way round"
            repaired = "swapped" if source.fix else ""
            source.note(Severity.WARNING, joint.who, message, limit.line, "limits", repaired)
            low, high = high, low
        found["limits"] = (low if low > -UNLIMITED else -np.inf, high if high < UNLIMITED else np.inf)
        for key, tag in (("velocity_limit", "velocity"), ("effort", "effort")):
            value = limit.value(tag, -1.0)
            found[key] = value if 0.0 < value < UNLIMITED else np.inf
    values = dict.fromkeys(("damping", "friction", "spring_stiffness", "spring_reference"), 0.0)
    if dynamics is not None:
        values = {key: dynamics.value(key, 0.0) for key in values}
    found |= {"damping": values["damping"], "friction": values["friction"]}
    found["spring"] = (values["spring_stiffness"], values["spring_reference"])
    return found


def add_gearbox(
    mechanism: Mechanism,
    element: Element,
    links: Mapping[str, str],
    poses: Mapping[str, Pose],
    source: Source,
) -> None:
    """Add the coupling of a gearbox: angle(child) = -ratio * angle(parent), both seen from its reference link."""
    name = element.needed("name")
    reference = element.first("gearbox_reference_body")
    if reference is None or reference.text.strip() not in links:
        element.fail("there is no <gearbox_reference_body> with the name of a link in it")
    ratio = element.value("gearbox_ratio", 1.0)
    axis, axis2 = element.first("axis"), element.first("axis2")
    terms: dict[str, float] = {}
    frame = poses[_end(element, "child", links)] * own_pose(element)
    for tag, axis_element, factor in (("parent", axis, ratio), ("child", axis2 or axis, 1.0)):
        direction = frame.R @ axis_of(element, axis_element, frame)
        found = _turning(
            mechanism, links[reference.text.strip()], links[_end(element, tag, links)], poses, links
        )
        if found is None or factor == 0.0:
            message = "a gearbox couples two joints that turn about its reference link, which are not there: left out"
            source.note(Severity.WARNING, element.who, message, element.line, "coupling")
            return
        joint, axis_in_model = found
        terms[joint] = float(np.sign(direction @ axis_in_model) or 1.0) * factor
    if len(terms) == 2:
        try:
            mechanism.add_coupling(name, terms)
        except CatenaError as error:
            element.refuse(error)
        source.places["coupling", name] = element.line


def add_mimics(mechanism: Mechanism, element: Element, source: Source) -> None:
    """Couple a joint to those that it mimics: position = multiplier * (position(other) - reference) + offset, told by
    <mimic> in its axis, or by <drake:mimic> in the joint."""
    name, axis = element.needed("name"), element.first("axis")
    own = None if axis is None else axis.first("mimic")
    drakes = element.first("drake:mimic")
    for mimic in (one for one in (own, drakes) if one is not None):
        other = mimic.needed("joint")
        if mimic is own:
            multiplier, offset, reference = (
                mimic.value(tag, value)
                for tag, value in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
            )
        else:
            multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            reference = 0.0
        coupling, right = f"{name} mimics {other}", offset - multiplier * reference
        terms = {name: 1.0} if multiplier == 0.0 else {name: 1.0, other: -multiplier}
        if name == other:
            mimic.fail(f"it mimics itself: name another joint than {name!r}", element.who)
        try:
            mechanism.add_coupling(coupling, terms, right)
        except CatenaError as error:
            mimic.refuse(error, element.who)
        source.places["coupling", coupling] = mimic.line


def _turning(
    mechanism: Mechanism, reference: str, body: str, poses: Mapping[str, Pose], links: Mapping[str, str]
) -> Any:
    """Return the revolute joint between two bodies, and the direction about which the second turns against the
    first."""
    where = {links[link]: pose for link, pose in poses.items() if link in links}
    for joint in mechanism.joints.values():
        motions = joint.kind.simple_motions
        if (
            not motions
            or not joint.kind.consists_of(HINGE)
            or {joint.parent, joint.child} != {reference, body}
        ):
            continue
        direction = (where[joint.parent] * joint.in_parent).R @ motions[0].axis
        return joint.name, direction if joint.child == body else -direction
    return None
