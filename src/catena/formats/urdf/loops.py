"""What closes loops and couples joints in URDF files, which have no standard way to say it.

Ways in use: <loop_joint> with two links and a pose on each (as Drake and Isaac Sim write it, or with parent and child
and their origins), <loop>, <constraint> and <coupling> with predecessor and successor (as URDF+ writes it),
<constraint> with parent, child and an origin and an axis of each (as proposed for urdfdom), <drake:ball_constraint>,
and joints of SDF inside <gazebo>.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.ball_constraints import BALL, add_ball_constraint
from catena.formats.markup import Element
from catena.formats.sdf.joints import add_sdf_joint
from catena.formats.source import Source
from catena.formats.urdf.joints import axis_of, joint_kind
from catena.formats.urdf.links import IDENTITY, origin, pose_of
from catena.joints import Cylindrical, JointKind, Prismatic, Revolute, Spherical, Universal
from catena.joints.axes import direction
from catena.mechanism import Mechanism
from catena.spatial import Pose

TAGS = ("loop_joint", "loop", "constraint", "loop_constraint", "coupling", BALL)
POINTS = ("position", "point")
"""Types of loops that tie two points."""
ROLLING = "rolling"
"""The type of a <constraint> that is a coupling."""
ENDS = (("predecessor", "successor"), ("parent", "child"))


def add_loops(mechanism: Mechanism, robot: Element, links: Mapping[str, str], poses: Mapping[str, Pose],
              source: Source) -> None:  # fmt: skip
    """Add the joints that close loops and the couplings. `links` are the bodies of links, `poses` where links are in
    the root link when all joints are at zero."""
    # Couplings follow the tree, so they come before what closes it.
    inwards: dict[str, tuple[str, str]] = {}
    for joint in mechanism.joints.values():
        inwards.setdefault(joint.child, (joint.name, joint.parent))
    for element in robot.children:
        if element.tag == BALL:
            add_ball_constraint(mechanism, element, links, source)
        elif element.tag == "coupling" or (element.tag in TAGS and element.get("type") == ROLLING):
            _add_coupling(mechanism, element, links, inwards, source)
        elif element.tag in TAGS:
            _add_loop(mechanism, element, links, source)
    for gazebo in robot.all("gazebo"):
        if "reference" in gazebo.attributes:
            continue
        for element in gazebo.all("joint"):
            add_sdf_joint(mechanism, element, links, poses, source)


def _add_loop(mechanism: Mechanism, element: Element, links: Mapping[str, str], source: Source) -> None:
    (parent, in_parent), (child, in_child) = _ends(element)
    name = element.needed("name")
    kind, turns = _kind(element)
    for link in (parent, child):
        if link not in links:
            element.fail(f"no link is named {link!r}")
    try:
        mechanism.add_joint(
            name, links[parent], links[child], kind, in_parent=in_parent * turns[0], in_child=in_child * turns[1],
            actuated=False,
        )  # fmt: skip
    except CatenaError as error:
        element.refuse(error, f"joint {name!r}")
    source.places["joint", name] = element.line


def _kind(element: Element) -> tuple[JointKind, tuple[Pose, Pose]]:
    """Return the kind of joint of a loop, and how its frame is turned on either side from the origin that is told
    there."""
    word = element.get("type", "spherical").strip().lower()
    if word in POINTS:
        return Spherical(), (IDENTITY, IDENTITY)
    own_axes = [element.first(f"{side}_axis") for side in ("parent", "child")]
    axes = [axis_of(element) if one is None else one.numbers("xyz", 3) for one in own_axes]
    try:
        if word == "universal":
            # Two axes that cross at a right angle, one on either side.
            second = axes[1] if own_axes[1] is not None else [0.0, 1.0, 0.0]
            return Universal("x", "y"), (_turn((1.0, 0.0, 0.0), axes[0]), _turn((0.0, 1.0, 0.0), second))
        made: dict[str, Any] = {"revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic}
        made["cylindrical"] = Cylindrical
        if word not in made:
            return joint_kind(element, word, axes[0]), (IDENTITY, IDENTITY)
        if own_axes[1] is None or np.array_equal(axes[0], axes[1]):
            return made[word](axes[0]), (IDENTITY, IDENTITY)
        return made[word]("z"), (_turn((0.0, 0.0, 1.0), axes[0]), _turn((0.0, 0.0, 1.0), axes[1]))
    except CatenaError as error:
        element.refuse(error)


def _turn(start: tuple[float, float, float], axis: list[float]) -> Pose:
    """Return the shortest turn that takes one direction to another."""
    a, b = np.array(start), np.array(direction(axis, "axis"), dtype=np.float64)
    if np.array_equal(a, b):
        return IDENTITY
    middle = a + b
    if np.linalg.norm(middle) < 1e-9:
        # Half a turn about anything across.
        across = np.roll(a, 1)
        return Pose(R=2.0 * np.outer(across, across) - np.eye(3))
    # Two reflections, first across the start and then across the middle, are the turn between them.
    half = middle / np.linalg.norm(middle)
    return Pose(R=(2.0 * np.outer(half, half) - np.eye(3)) @ (2.0 * np.outer(a, a) - np.eye(3)))


def _ends(element: Element) -> list[tuple[str, Pose]]:
    """Return the two links of a loop and the frame of its joint in each."""
    links = [*element.all("link1"), *element.all("link2")]
    if len(links) == 2:
        return [(end.needed("link"), pose_of(end)) for end in links]
    for first, second in ENDS:
        ends = element.first(first), element.first(second)
        if ends[0] is None or ends[1] is None:
            continue
        found = []
        for word, end in zip((first, second), ends):
            assert end is not None
            own = element.first(f"{word}_origin")
            pose = pose_of(own) if own is not None else origin(end)
            # An origin that belongs to no side tells where the joint is on the first.
            if own is None and end.first("origin") is None:
                pose = origin(element) if word == first else IDENTITY
            found.append((end.needed("link"), pose))
        return found
    element.fail(
        "it does not say which links it connects: give <link1> and <link2>, or predecessor and successor"
    )


def _add_coupling(mechanism: Mechanism, element: Element, links: Mapping[str, str],
                  inwards: Mapping[str, tuple[str, str]], source: Source) -> None:  # fmt: skip
    """Couple two links as URDF+ does: ratio times the positions of the joints that lead to the predecessor, from where
    the two ways part, is the sum of those that lead to the successor."""
    if not source.mimic:
        return
    ratio = element.first("ratio")
    factor = 1.0 if ratio is None else ratio.number("value", 1.0)
    ways = []
    for link, _ in _ends(element):
        if link not in links:
            element.fail(f"no link is named {link!r}")
        way, body = [], links[link]
        while body in inwards:
            joint, body = inwards[body]
            way.append(joint)
        ways.append(way)
    shared = {*ways[0]} & {*ways[1]}
    terms = {
        joint: sign
        for way, sign in zip(ways, (factor, -1.0))
        for joint in way
        if joint not in shared and mechanism.joints[joint].kind.nv
    }
    name = element.needed("name")
    try:
        mechanism.add_coupling(name, terms)
    except CatenaError as error:
        element.refuse(error, f"coupling {name!r}")
    source.places["coupling", name] = element.line
