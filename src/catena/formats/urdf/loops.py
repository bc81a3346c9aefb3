"""What closes loops in URDF files, which have no standard way to say it.

Three ways are in use: <loop_joint> with two links and a pose on each (as Drake and Isaac Sim write it, or with parent
and child and their origins), <loop> or <constraint> with predecessor and successor (as URDF+ writes it), and joints of
SDF inside <gazebo>.
"""

from __future__ import annotations

from collections.abc import Mapping

from catena.errors import CatenaError
from catena.formats.markup import Element
from catena.formats.sdf.joints import add_sdf_joint
from catena.formats.source import Source
from catena.formats.urdf.joints import axis_of, joint_kind
from catena.formats.urdf.links import IDENTITY, origin, pose_of
from catena.mechanism import Mechanism
from catena.spatial import Pose

TAGS = ("loop_joint", "loop", "constraint")


def add_loops(mechanism: Mechanism, robot: Element, links: Mapping[str, str], poses: Mapping[str, Pose],
              source: Source) -> None:  # fmt: skip
    """Add the joints that close loops. `links` are the bodies of links, `poses` where links are in the root link when
    all joints are at zero."""
    for tag in TAGS:
        for element in robot.all(tag):
            _add_loop(mechanism, element, links, source)
    for gazebo in robot.all("gazebo"):
        if "reference" in gazebo.attributes:
            continue
        for element in gazebo.all("joint"):
            add_sdf_joint(mechanism, element, links, poses, source)


def _add_loop(mechanism: Mechanism, element: Element, links: Mapping[str, str], source: Source) -> None:
    (parent, in_parent), (child, in_child) = _ends(element)
    name = element.needed("name")
    kind = joint_kind(element, element.get("type", "spherical"), axis_of(element))
    for link in (parent, child):
        if link not in links:
            element.fail(f"no link is named {link!r}")
    try:
        mechanism.add_joint(
            name, links[parent], links[child], kind, in_parent=in_parent, in_child=in_child, actuated=False
        )
    except CatenaError as error:
        element.refuse(error, f"joint {name!r}")
    source.places["joint", name] = element.line


def _ends(element: Element) -> list[tuple[str, Pose]]:
    """The two links of a loop and the frame of its joint in each."""
    told = [*element.all("link1"), *element.all("link2")]
    if len(told) == 2:
        return [(end.needed("link"), pose_of(end)) for end in told]
    for first, second in (("predecessor", "successor"), ("parent", "child")):
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
