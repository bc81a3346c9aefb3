"""Writing the companion of Extended URDF, robot.yaml: which links coincide, what joints really are, which have motors.

A companion closes loops by points and by whole frames. A joint of any other kind that closes a loop therefore goes into
the tree, between its parent and a massless link, and that link coincides with its place on the child: planning welds it
there, and the joint keeps its name, its friction, its limits and its motor.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from catena.errors import FormatError
from catena.formats.extended_urdf import JOINTS, KINDS, MOTORS, PAIRS, TYPES
from catena.formats.findings import NamedParts
from catena.formats.markup import quoted
from catena.formats.trees import Branch, motion_name
from catena.formats.urdf.loop_elements import WAYS, frame_link, is_axis, link_of
from catena.joints import JointKind, Universal
from catena.joints.contract import BALL, HINGE, SimpleMotion
from catena.mechanism import Joint, Mechanism
from catena.spatial import Pose


class Companion:
    """What a companion says of a mechanism, collected while the tree is written; `links` are lines of links that only
    it needs."""

    def __init__(self, mechanism: Mechanism, file: str, lost: NamedParts) -> None:
        self.links: list[str] = []
        self._mechanism, self._file, self._lost = mechanism, file, lost
        self._names = {*mechanism.bodies, *mechanism.frames, "world"}
        self._pairs: list[tuple[str, str]] = []
        self._types: list[str] = []
        self._kinds: dict[str, str] = {}

    def as_written(self, branch: Branch) -> Branch:
        """Return a branch of the tree as URDF writes it: a hinge where the companion says what the joint really is."""
        joint = branch.joint
        has_numbers = joint.damping.any() or joint.friction.any() or joint.limits is not None
        word = _word(joint.kind)
        # Two hinges say as much as a cross does, its friction and its limits too.
        if word.startswith("UJOINT") and (has_numbers or branch.parent != joint.parent):
            word = ""
        if word:
            self._kinds[joint.name] = word
            if has_numbers:
                self._lost.add("friction and limits of the joints", joint.name)
            return replace(branch, motions=(SimpleMotion(HINGE, np.array([0.0, 0.0, 1.0]), 0),))
        if branch.motions is None or any(one.type == BALL for one in branch.motions):
            raise FormatError(
                f"{self._file}: joint {joint.name!r} is {joint.kind!r}, which neither URDF nor a companion can say: "
                "save with loops='beside', or a .toml file"
            )
        return branch

    def closed(self, loops: list[Joint]) -> list[Branch]:
        """Close some loops, and return the branches that joints need for it which are more than a point or a frame."""
        return [branch for joint in loops for branch in self._closed(joint)]

    def _closed(self, joint: Joint) -> list[Branch]:
        bare = WAYS["elements"].says(joint)
        if bare and (joint.kind.consists_of(BALL) or not joint.kind.nv):
            first, second = self._end_names(joint)
            self._links(first, joint.parent, joint.in_parent)
            self._links(second, joint.child, joint.in_child)
            self._pairs.append((first, second))
            self._types.append("3d" if joint.kind.nv else "6d")
            return []
        end, other = self._free(f"{joint.name} end"), self._free(f"{joint.name} place")
        self.links.append(f"  <link name={quoted(end)}/>")
        self._links(other, joint.child, joint.in_child)
        self._pairs.append((end, other))
        self._types.append("6d")
        motions = joint.kind.simple_motions
        return [self.as_written(Branch(joint, joint.parent, end, joint.in_parent, Pose(), motions))]

    def _end_names(self, joint: Joint) -> tuple[str, str]:
        """Return the links that coincide. A joint that was read from a companion is called after them."""
        first, _, second = joint.name.partition(" on ")
        ends = (first, joint.parent, joint.in_parent), (second, joint.child, joint.in_child)
        if second and all(
            (name == link_of(body) and place == Pose()) or name not in self._names
            for name, body, place in ends
        ):
            return first, second
        return self._free(f"{joint.name} 1"), self._free(f"{joint.name} 2")

    def _links(self, name: str, body: str, place: Pose) -> None:
        """Add a link that is fixed to a body, unless it is the body itself."""
        if name != link_of(body):
            self._names.add(name)
            self.links += frame_link(name, body, place)

    def _free(self, name: str) -> str:
        """Return a name of a link that nobody has yet."""
        while name in self._names:
            name += "'"
        self._names.add(name)
        return name

    def text(self, branches: list[Branch]) -> str:
        """Return the text of the companion; `branches` are the joints of the tree as they are written."""
        motors = []
        for branch in branches:
            if not branch.joint.actuated or not branch.motions:
                continue
            motors += [motion_name(branch, one) for one in branch.motions]
        rows = {
            PAIRS: self._pairs,
            TYPES: self._types,
            JOINTS: list(self._kinds),
            KINDS: list(self._kinds.values()),
            MOTORS: motors,
        }
        # A list of strings in JSON is one in YAML too.
        return "".join(f"{key}: {json.dumps(row)}\n" for key, row in rows.items())


def _word(kind: JointKind) -> str:
    """Return what a companion calls a kind of joint that URDF has not, empty where neither has it."""
    if kind.consists_of(BALL):
        return "SPHERICAL"
    if isinstance(kind, Universal):
        for first in "xyz":
            for second in "xyz".replace(first, ""):
                if is_axis(kind.axis1, first) and is_axis(kind.axis2, second):
                    return f"UJOINT_{first}{second}".upper()
    return ""
