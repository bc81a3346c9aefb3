"""Welding: bodies that joints of 0 dof (fixed or locked) hold together move as one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import Joint


@dataclass(frozen=True)
class Welds:
    """Which bodies are one, and where they sit.

    `group[b]` is the group of body b; group 0 holds ground, and a group is numbered by its first body. `R`
    (bodies, 3, 3) and `p` (bodies, 3) place each body in the frame of the first body of its group. `used`
    are the indices of the joints that weld; a joint of 0 dof that is not among them closes a cycle of
    welds.
    """

    group: list[int]
    count: int
    R: NDArray[np.float64]
    p: NDArray[np.float64]
    used: frozenset[int]


def motion_when_locked(joint: Joint) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pose (R, p) of the child-side joint frame in the parent-side one for a joint that cannot move."""
    if joint.locked_at is None:
        return np.eye(3), np.zeros(3)
    X = joint.kind.transform(joint.locked_at)
    return np.asarray(X.R, dtype=np.float64).T, np.asarray(X.p, dtype=np.float64)


def weld(
    body_count: int, joints: Sequence[Joint], ends: Sequence[tuple[int, int]], rigid: Sequence[int]
) -> Welds:
    """Group bodies that the joints with indices `rigid` hold together; `ends[j]` are the body indices of
    joint j."""
    R = np.broadcast_to(np.eye(3), (body_count, 3, 3)).copy()
    p = np.zeros((body_count, 3))
    if not rigid:
        return Welds(list(range(body_count)), body_count, R, p, frozenset())
    p = p.astype(
        np.result_type(p, *(side.p for j in rigid for side in (joints[j].in_parent, joints[j].in_child)))
    )
    touching: dict[int, list[int]] = {}
    for j in rigid:
        for body in ends[j]:
            touching.setdefault(body, []).append(j)
    placed = _children_in_parents(joints, rigid)
    group = [-1] * body_count
    used: set[int] = set()
    count = 0
    for first in range(body_count):
        if group[first] >= 0:
            continue
        group[first] = count
        stack = [first]
        while stack:
            body = stack.pop()
            for j in touching.get(body, ()):
                parent, child = ends[j]
                other = child if body == parent else parent
                if group[other] >= 0:
                    continue
                group[other] = count
                used.add(j)
                near_R, near_p = placed[j]
                if body == child:
                    near_R, near_p = near_R.T, -near_R.T @ near_p
                R[other] = R[body] @ near_R
                p[other] = p[body] + R[body] @ near_p
                stack.append(other)
        count += 1
    return Welds(group, count, R, p, frozenset(used))


def _children_in_parents(
    joints: Sequence[Joint], rigid: Sequence[int]
) -> dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """in_parent * motion * inverse(in_child) of joints that cannot move, as {joint: (R, p)}."""
    motions = [motion_when_locked(joints[j]) for j in rigid]
    outer, inner = [joints[j].in_parent for j in rigid], [joints[j].in_child for j in rigid]
    outer_R, motion_R = np.array([pose.R for pose in outer]), np.array([R for R, _ in motions])
    R = outer_R @ motion_R @ np.array([pose.R.T for pose in inner])
    moved = (outer_R @ np.array([p for _, p in motions])[..., None])[..., 0]
    back = (R @ np.array([pose.p for pose in inner])[..., None])[..., 0]
    p = np.array([pose.p for pose in outer]) + moved - back
    return {j: (R[k], p[k]) for k, j in enumerate(rigid)}
