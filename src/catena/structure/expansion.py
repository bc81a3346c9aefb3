"""Flexible bodies as planning sees them: a floating frame with material points around it.

Each flexible body becomes a star. In the middle is its floating frame, without mass; around it are the few points that
have its mass, and a frame for each place where joints or frames attach. The arms of the star are joints of the kind
`Modal`, which all have the same coordinates: the modes of the body. So everything that works on trees of rigid bodies
works on flexible ones; the only news is that some nodes of a plan share coordinates. Mechanisms without flexible
bodies pass as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from catena.bodies.contract import FlexibleBody
from catena.errors import CatenaError, PlanError
from catena.joints.modal import material_point
from catena.mechanism import MODES, Body, Frame, Joint, Mechanism
from catena.spatial import Pose

SAME_PLACE = 1e-12
"""Places closer than this part of the body's length are one."""


@dataclass
class Expanded:
    """Bodies, joints and frames with stars in the place of flexible bodies. `star` maps the indices of joints that are
    arms to the name of their body; `flexible` maps those names to the bodies whose modes move. `place_of_root` is the
    frame of the pinned root's joint, where that is a flexible body."""

    bodies: list[Body]
    joints: list[Joint]
    frames: list[Frame]
    star: dict[int, str] = field(default_factory=dict)
    flexible: dict[str, FlexibleBody] = field(default_factory=dict)
    place_of_root: str = ""


def expand(mechanism: Mechanism, root: str | None = None) -> Expanded:
    """Return the parts of a mechanism, with flexible bodies as stars. `root` is a body that must have a place for the
    joint of a pinned root."""
    bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
    frames = list(mechanism.frames.values())
    found = Expanded(bodies, joints, frames)
    if not any(body.flexible is not None for body in bodies):
        return found
    stars = {body.name: _Star(body) for body in bodies if body.flexible is not None}
    found.bodies = [stars[body.name].middle() if body.name in stars else body for body in bodies]
    found.joints = [_attached(joint, stars) for joint in joints]
    found.frames = [_carried(frame, stars) for frame in frames]
    if root in stars:
        found.place_of_root = stars[str(root)].place(Pose(), f"the root {root!r}")
    for star in stars.values():
        for arm, end in star.arms():
            found.star[len(found.joints)] = star.name
            found.joints.append(arm)
            found.bodies.append(end)
        if star.body.locked_at is None:
            found.flexible[star.name] = star.kind
    return found


def attachment(body: str, number: int) -> str:
    """Return the name of the frame at a place of a flexible body where something attaches."""
    return f"{body}{MODES}@{number}"


class _Star:
    """A flexible body, and the places where something attaches to it."""

    def __init__(self, body: Body) -> None:
        assert body.flexible is not None
        self.body, self.name, self.kind = body, body.name, body.flexible
        self.places: list[np.ndarray] = []
        self.users: list[str] = []

    def middle(self) -> Body:
        """Return the floating frame, which has none of the mass."""
        return replace(
            self.body,
            mass=0.0,
            com=np.zeros(3),
            inertia=self.kind.turning_inertia,
            visuals=(),
            collisions=(),
            flexible=None,
        )

    def place(self, pose: Pose, user: str) -> str:
        """Return the name of the frame at a place."""
        p = np.asarray(pose.p, dtype=np.float64)
        for number, known in enumerate(self.places):
            if np.abs(known - p).max() <= SAME_PLACE * self.kind.reach():
                return attachment(self.name, number)
        self.places.append(p)
        self.users.append(user)
        return attachment(self.name, len(self.places) - 1)

    def arms(self) -> list[tuple[Joint, Body]]:
        """Return the arms and what is at their ends."""
        found = []
        none = np.zeros(self.kind.modes)
        for number, (p, user) in enumerate(zip(self.places, self.users, strict=True)):
            try:
                shapes = self.kind.shapes(tuple(p))
            except CatenaError as error:
                raise PlanError(f"{user} on body {self.name!r}: {error}") from None
            kind = material_point(shapes.S, shapes.R, shapes.B, F=shapes.F, products=self.kind.products)
            found.append((kind, p, Body(attachment(self.name, number), 0.0, np.zeros(3), np.zeros((3, 3)))))
        points = self.kind.points()
        for number, s in enumerate(points.s):
            kind = material_point(
                points.S[number], np.zeros_like(points.S[number]), points.B[number], has_mass=True,
                F=None if points.F is None else points.F[number], products=self.kind.products,
            )  # fmt: skip
            name = f"{self.name}{MODES}#{number}"
            found.append((kind, s, Body(name, points.mass, np.zeros(3), np.zeros((3, 3)))))
        return [
            (
                Joint(
                    body.name, self.name, body.name, kind, Pose(p=tuple(p)), Pose(), none, none, None,
                    np.zeros(kind.nv, dtype=bool), locked_at=self.body.locked_at,
                ),
                body,
            )
            for kind, p, body in found
        ]  # fmt: skip


def _attached(joint: Joint, stars: Mapping[str, _Star]) -> Joint:
    """Return a joint whose ends on flexible bodies are at the frames of their places."""
    who = f"joint {joint.name!r}"
    if joint.parent in stars:
        at = stars[joint.parent].place(joint.in_parent, who)
        joint = replace(joint, parent=at, in_parent=Pose(R=joint.in_parent.R))
    if joint.child in stars:
        at = stars[joint.child].place(joint.in_child, who)
        joint = replace(joint, child=at, in_child=Pose(R=joint.in_child.R))
    return joint


def _carried(frame: Frame, stars: Mapping[str, _Star]) -> Frame:
    """Return a frame that moves with its place on a flexible body."""
    if frame.body not in stars:
        return frame
    at = stars[frame.body].place(frame.pose, f"frame {frame.name!r}")
    return Frame(frame.name, at, Pose(R=frame.pose.R))


def welds_across(
    joints: Sequence[Joint], ends: Sequence[tuple[int, int]], star: Mapping[int, str]
) -> set[int]:
    """Return the joints of 0 dof that would weld two places of one flexible body together: they close loops."""
    welded: dict[int, int] = {}
    together: dict[int, int] = {}
    arms = [k for k in star if joints[k].dof]
    for k in arms:
        _join(together, *ends[k])
    across = set()
    for k, joint in enumerate(joints) if arms else ():
        if joint.dof == 0:
            a, b = ends[k]
            if _first(together, a) == _first(together, b) and _first(welded, a) != _first(welded, b):
                across.add(k)
                continue
            _join(welded, a, b)
            _join(together, a, b)
    return across


def _first(sets: dict[int, int], x: int) -> int:
    while sets.get(x, x) != x:
        x = sets[x]
    return x


def _join(sets: dict[int, int], a: int, b: int) -> None:
    sets[_first(sets, a)] = _first(sets, b)
