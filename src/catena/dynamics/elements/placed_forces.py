"""The forces of a mechanism on one plan of it, as records for the tape, and the stops at the limits of its joints.

A stop without a stiffness of its own is nearly rigid: k = I / T^2 and c = 2 I / T with T = 2 ms and the inertia I that
the joint feels with everything else free to move, so that the joint meets a critically damped stop of that time
constant. It gives way by about v T / e at an impact with velocity v, and a step of 1 ms can still follow it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.forces import (
    AppliedWrench,
    ForceKind,
    JointForce,
    JointFriction,
    JointStop,
    LineForce,
    PlacedForce,
)
from catena.forces.joint_stop import FAR
from catena.forces.placed import FRAMES, LOOP, TREE
from catena.forces.stretch import FIRST, NEXT, PULLING, TELLING, LineSection
from catena.mechanism import LIMITS, Mechanism
from catena.spatial import Transform
from catena.spatial.scalars import sqrt
from catena.structure import Plan

STOP_TIME = 2e-3
"""The time constant [s] of a rigid stop."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The stops of one joint, each (nv,): lowest and highest position, stiffness and damping. A component without
    limits has no stiffness and no damping."""

    low: np.ndarray
    high: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    @property
    def kind(self) -> JointStop:
        """The kind of force that they are."""
        return JointStop(tuple(self.low), tuple(self.high), tuple(self.stiffness), tuple(self.damping))


def joint_stops(mechanism: Mechanism, felt_inertia: Callable[[str], np.ndarray]) -> dict[str, Stops]:
    """Return the stops of all joints that move and have limits. `felt_inertia` tells the inertia (nv,) that a joint
    feels; it is asked for those with rigid stops only."""
    result = {}
    for name, joint in mechanism.joints.items():
        if joint.limits is None or not joint.dof or not np.isfinite(joint.limits).any():
            continue
        bounded = np.isfinite(joint.limits).any(axis=1)
        if joint.limit_stiffness is None:
            inertia = felt_inertia(name)
            stiffness, damping = inertia / STOP_TIME**2, 2.0 * inertia / STOP_TIME
        else:
            stiffness = joint.limit_stiffness
            damping = np.zeros_like(stiffness) if joint.limit_damping is None else joint.limit_damping
        low, high = np.clip(joint.limits, -FAR, FAR).T
        result[name] = Stops(low, high, bounded * stiffness, bounded * damping)
    return result


FRICTION = ".friction"


def has_forces(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has forces or stops of its own, apart from the friction that its joints have."""
    return bool(mechanism.force_elements) or any(
        joint.limits is not None and joint.dof for joint in mechanism.joints.values()
    )


def place_forces(mechanism: Mechanism, plan: Plan, stops: Mapping[str, Stops]) -> tuple[PlacedForce, ...]:
    """Return all forces of a mechanism, and the stops of its joints. Those at locked and welded joints are left out,
    because these have no coordinates."""
    placed = []
    for name, element in mechanism.force_elements.items():
        if element.frames is not None:
            placed += between(plan, name, element.kind, element.frames)
        elif element.at_joint is not None:
            placed += at_joint(plan, name, element.kind, element.at_joint)
    for joint, stop in stops.items():
        placed += at_joint(plan, joint + LIMITS, stop.kind, joint)
    return tuple(placed)


def place_frictions(plan: Plan) -> tuple[PlacedForce, ...]:
    """Return the friction of joints, of the tree and of loops, as forces that are told and counted but do not act,
    because the dynamics applies them."""
    places = [(plan.joint[i], plan.damping[own], plan.friction[own]) for i, own in _columns(plan)]
    places += [(loop.name, loop.damping, loop.friction) for loop in plan.loop_joints]
    placed = []
    for joint, damping, friction in places:
        if damping.any() or friction.any():
            kind = JointFriction(
                tuple(damping) if damping.any() else (), tuple(friction) if friction.any() else ()
            )
            placed += [replace(force, acts=False) for force in at_joint(plan, joint + FRICTION, kind, joint)]
    return tuple(placed)


def _columns(plan: Plan) -> list[tuple[int, slice]]:
    """Return the velocity components of each node that has some of its own."""
    starts = zip(plan.v_start.tolist(), plan.v_size.tolist(), strict=True)
    own = range(plan.n) if plan.owner is None else plan.owner.tolist()
    return [(i, slice(start, start + size)) for i, (start, size) in enumerate(starts) if i and own[i] == i]


def at_joint(plan: Plan, name: str, kind: ForceKind, joint: str) -> list[PlacedForce]:
    """Return a force at a joint of the tree or of a loop; nothing for other joints."""
    assert isinstance(kind, JointForce)
    if joint in plan.joint:
        i = plan.joint.index(joint)
        return [PlacedForce(name, kind, TREE, int(plan.parent[i]), i, joint=plan.kind[i], at=joint)]
    for loop in plan.loop_joints:
        if loop.name == joint and loop.kind.nv:
            on_a, on_b = (Transform.from_pose(pose) for pose in (loop.parent_pose, loop.child_pose))
            ends = loop.parent_node, loop.child_node
            return [PlacedForce(name, kind, LOOP, *ends, on_a, on_b, loop.kind, at=joint)]
    return []


def between(plan: Plan, name: str, kind: ForceKind, frames: Sequence[str]) -> list[PlacedForce]:
    """Return a force between two frames, or the stretches of one that pulls along a line over several."""
    owner = name if len(frames) > 2 else ""
    parts = stretches(plan, name, kind, frames)
    return [replace(_between(plan, own, made, *ends), owner=owner) for own, made, ends in parts]


def stretches(
    plan: Plan, name: str, kind: ForceKind, frames: Sequence[str]
) -> list[tuple[str, ForceKind, tuple[str, str]]]:
    """Return the names, kinds and ends of the forces that a force between frames consists of: itself between two. Of a
    line over several frames the stretches whose length changes measure it one after the other, and then all of them
    pull."""
    pairs = list(zip(frames, frames[1:], strict=False))
    if len(pairs) == 1:
        return [(name, kind, pairs[0])]
    assert isinstance(kind, LineForce)
    moving = [(a, b) for a, b in pairs if plan.body_pose[a][0] != plan.body_pose[b][0]] or pairs[:1]
    fixed = sum((_apart(plan, *pair) for pair in pairs if pair not in moving), 0.0)
    found: list[tuple[str, ForceKind, tuple[str, str]]] = []
    for k, pair in enumerate(moving):
        measuring = LineSection(kind, NEXT if k else FIRST, 0.0 if k else fixed)
        found.append((f"{name}.stretch {k + 1} measured", measuring, pair))
    for k, pair in enumerate(moving[:-1]):
        found.append((f"{name}.stretch {k + 1}", LineSection(kind, PULLING), pair))
    return [*found, (name, LineSection(kind, TELLING), moving[-1])]


def _apart(plan: Plan, frame_a: str, frame_b: str) -> Any:
    """Return how far two frames of one node are apart."""
    x, y, z = plan.body_pose[frame_b][1].p - plan.body_pose[frame_a][1].p
    return sqrt(x * x + y * y + z * z)


def applied_wrench(plan: Plan, frame: str, axes: str) -> PlacedForce:
    """Return a wrench on a frame, in the axes of a frame, that is told from outside at every instant."""
    return _between(plan, frame, AppliedWrench(), axes, frame)


def _between(plan: Plan, name: str, kind: ForceKind, frame_a: str, frame_b: str) -> PlacedForce:
    (a, pose_a), (b, pose_b) = plan.body_pose[frame_a], plan.body_pose[frame_b]
    ends = Transform.from_pose(pose_a), Transform.from_pose(pose_b)
    kind = kind.under(plan.gravity)
    return PlacedForce(name, kind, FRAMES, a, b, *ends, frames=(frame_a, frame_b))
