"""Planar bases that close a loop: where everything beyond stays in the plane anyway, they resist nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from catena.joints import Reduced
from catena.mechanism.bases import stays_in_plane
from catena.spatial import is_symbolic
from catena.structure.plan import Loop, Plan

# A body that a base would move out of its plane by no more than this, in radians or parts of the lengths added up, is
# in it but for rounding.
IN_PLANE = 1e-12


def without_planes(plan: Plan) -> Plan:
    """Return the plan in which planar bases that close a loop have no rows, if the joints between them and ground keep
    the body in the plane, as a `Free` base has none (Lampariello, example 1 in the plane).

    A base is a Planar joint to ground without a motor; where gravity leans on the plane, or friction goes by load, it
    is a support, whose reaction matters, and stays as it is.
    """
    loops = [_resisting_nothing(loop) if _is_idle(plan, loop) else loop for loop in plan.loop_joints]
    if all(a is b for a, b in zip(loops, plan.loop_joints, strict=True)):
        return plan
    return replace(plan, loop_joints=loops)


def _resisting_nothing(loop: Loop) -> Loop:
    kind = Reduced(loop.kind, ((),) * loop.constraints, 0)
    return replace(loop, kind=kind, params=kind.params(), constraints=0)


def _is_idle(plan: Plan, loop: Loop) -> bool:
    """Return whether a loop joint is a planar base that holds nothing which joints of the tree do not hold."""
    if loop.kind.plane_normal is None or loop.actuated or loop.bearing is not None:
        return False
    sides = [
        (loop.parent_node, loop.parent_R, loop.parent_p),
        (loop.child_node, loop.child_R, loop.child_p),
    ]
    (near, near_R, near_p), (node, R, p) = sides if sides[0][0] == 0 else sides[::-1]
    numbers = (near_R, near_p, R, p, plan.placement_R, plan.placement_p, plan.gravity)
    if near != 0 or any(is_symbolic(x) for x in numbers):
        return False
    normal = near_R @ np.asarray(loop.kind.plane_normal)
    if abs(normal @ plan.gravity) > IN_PLANE * np.linalg.norm(plan.gravity):
        return False
    height, length = -float(normal @ near_p), float(np.linalg.norm(near_p))
    way = []
    while node:
        way.append(node)
        node = int(plan.parent[node])
    for i in reversed(way):
        height, length = (
            height + float(normal @ plan.placement_p[i]),
            length + float(np.linalg.norm(plan.placement_p[i])),
        )
        normal = plan.placement_R[i] @ normal
        if not stays_in_plane(plan.joint_kind(i), normal):
            return False
    height, length = height + float(normal @ p), length + float(np.linalg.norm(p))
    tilt = np.linalg.norm(R @ np.asarray(loop.kind.plane_normal) - normal)
    return bool(tilt <= IN_PLANE and abs(height) <= IN_PLANE * length)
