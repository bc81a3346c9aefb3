"""Where joints are seen: a point and two frames for each joint of a mechanism in one configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import GROUND, Joint, Mechanism
from catena.spatial import Pose, Transform

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Site:
    """A joint in ground coordinates: its frames (4, 4) on both bodies, and the point (3,) it is drawn at.

    `gap` is how far the two sides of a loop joint are from fitting together [m]; 0 for joints of the tree.
    """

    joint: Joint
    on_parent: Floats
    on_child: Floats
    point: Floats
    is_loop: bool
    gap: float

    @property
    def form(self) -> str:
        """What is drawn: what the kind is `drawn_as`, but a "block" where the joint is locked."""
        form = self.joint.kind.drawn_as
        return "block" if self.joint.locked and form != "none" else form

    @property
    def axis(self) -> Floats:
        """The first direction (3,) that what is drawn lies along, in ground."""
        return self.on_parent[:3, :3] @ np.asarray(self.joint.kind.drawn_along[0], dtype=np.float64)

    def is_pulled_out(self, body: str) -> bool:
        """Return whether a body slides on ground, away from the point that the joint is drawn at: a rod leads there."""
        joint = self.joint
        return joint.kind.drawn_as in SLIDES and joint.parent == GROUND and joint.child == body

    @cached_property
    def motions(self) -> tuple[Floats, Floats]:
        """The angular and the linear part (3, nv) of the motions that the joint allows here, in the axes of ground."""
        kind, R = self.joint.kind, self.on_child[:3, :3]
        relative = np.linalg.inv(self.on_parent) @ self.on_child
        q = kind.coordinates(Transform.from_pose(Pose.unchecked(relative[:3, 3], relative[:3, :3])))
        columns = np.asarray(kind.motion_space(q).array, dtype=np.float64)
        return R @ columns[:3], R @ columns[3:]

    @cached_property
    def roams(self) -> bool:
        """Whether the body goes about on ground in two or three directions: nothing stands where the joint is."""
        if self.form == "none" or self.joint.parent != GROUND or self.joint.locked or self.joint.kind.nv < 2:
            return self.form == "none"
        angular, linear = self.motions
        straight = linear[:, np.linalg.norm(angular, axis=0) < 1e-9]
        return int(np.linalg.matrix_rank(straight, tol=1e-9)) > 1


SLIDES = ("slide", "sleeve", "screw")
"""Forms of joints that have no place of their own along their axis."""
Carriage = Callable[[str, Floats], tuple[str, Floats]]
"""What carries a point (3,) of a body, and the point in its axes."""


def joint_sites(
    mechanism: Mechanism,
    poses: Mapping[str, Floats],
    loops: tuple[str, ...],
    carriage: Carriage | None = None,
) -> dict[str, Site]:
    """Return the sites of all joints, given the poses (4, 4) of all bodies and the names of the loop joints; where
    bodies are flexible, `carriage` tells which of the poses moves a point of them."""

    def seen(body: str, frame: Pose) -> Floats:
        carrier, p = carriage(body, frame.p) if carriage else (body, frame.p)
        return np.asarray(poses[carrier] @ Pose.unchecked(p, frame.R).matrix())

    sites = {}
    for name, joint in mechanism.joints.items():
        on_parent, on_child = seen(joint.parent, joint.in_parent), seen(joint.child, joint.in_child)
        point = _point(mechanism, joint, poses, on_parent, on_child)
        is_loop = name in loops
        gap = _gap(joint, on_parent, on_child) if is_loop else 0.0
        sites[name] = Site(joint, on_parent, on_child, point, is_loop, gap)
    return sites


def _point(
    mechanism: Mechanism, joint: Joint, poses: Mapping[str, Floats], on_parent: Floats, on_child: Floats
) -> Floats:
    """Return the point to draw a joint at.

    A slide has no place of its own along its axis; it is drawn between the mass centres of its bodies, which
    is where the parts overlap in a real machine.
    """
    if joint.kind.drawn_as in SLIDES:
        axis = on_parent[:3, :3] @ np.asarray(joint.kind.drawn_along[0], dtype=np.float64)
        origin: Floats = on_child[:3, 3]
        centres = []
        for name in (joint.parent, joint.child):
            body = mechanism.bodies[name]
            if name != GROUND and body.mass > 0.0:
                centres.append((poses[name][:3, :3] @ body.com + poses[name][:3, 3] - origin) @ axis)
        if GROUND in (joint.parent, joint.child):
            return np.array(on_parent[:3, 3])
        return origin + axis * (np.mean(centres) if centres else 0.0)
    if joint.kind.drawn_as in ("plate", "none"):
        return np.array(on_child[:3, 3])
    return np.array(on_parent[:3, 3])


def _gap(joint: Joint, on_parent: Floats, on_child: Floats) -> float:
    """Return how far the child-side origin is from where the joint could bring it."""
    relative = np.linalg.inv(on_parent) @ on_child
    pose = Pose.unchecked(relative[:3, 3], relative[:3, :3])
    if joint.locked_at is not None:
        reached = joint.kind.transform(joint.locked_at).pose()
    else:
        reached = joint.kind.transform(joint.kind.coordinates(Transform.from_pose(pose))).pose()
    distance = float(np.linalg.norm(reached.p - pose.p))
    return distance if distance > 1e-9 * (1.0 + float(np.linalg.norm(pose.p))) else 0.0
