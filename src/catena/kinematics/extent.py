"""How large a mechanism is, to weigh rotations against translations.

A length is zero where all joints coincide, and a difference of rounded coordinates where they do so but for rounding:
0.1 + 0.2 and 0.3 are 6e-17 m apart. Such a length must not pass for the size of a mechanism, so it is compared with
the coordinates that it is a difference of.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.structure import Plan

# A difference of coordinates below this part of the largest of them is rounding.
ROUNDING = 1e-12


@lru_cache(maxsize=64)
def extent(plan: Plan) -> float:
    """Return the size of a mechanism [m], whichever way it is planned: the largest distance of a joint from the middle
    of all joints on its body, or the largest radius of gyration of a body about that middle, whichever is more; 1 if
    there is no length at all."""
    return float(extents(plan))


def extents(plan: Plan) -> np.ndarray:
    """Return the sizes (...) [m] of mechanisms that differ in the numbers (..., n) of a plan."""
    places: list[list[np.ndarray]] = [[] for _ in range(plan.n)]
    # Joints that hold nothing are nowhere, so a pinned root or a floating base changes nothing.
    for i in range(1, plan.n):
        if plan.v_size[i] < 6:
            places[i].append(np.zeros(3))
            places[int(plan.parent[i])].append(plan.placement_p[..., i, :])
    for loop in plan.loop_joints:
        if loop.constraints:
            places[loop.parent_node].append(loop.parent_p)
            places[loop.child_node].append(loop.child_p)
    longest: Any = np.zeros(np.broadcast_shapes(plan.inertia.shape[:-2], plan.placement_p.shape[:-2]))
    for i, points in enumerate(places):
        mass, h = plan.inertia[..., i, 0, None], plan.inertia[..., i, 1:4]
        heavy = mass[..., 0] > 0.0
        com = h / np.where(mass > 0.0, mass, 1.0)
        middle: Any = com
        if points:
            middle = sum(points) / len(points)
            for point in points:
                longest = np.maximum(longest, np.linalg.norm(point - middle, axis=-1))
        # The trace of an inertia is twice the second moment of mass.
        about_origin = 0.5 * plan.inertia[..., i, [4, 7, 9]].sum(axis=-1) / np.where(heavy, mass[..., 0], 1.0)
        square = about_origin + np.sum(middle * (middle - 2.0 * com), axis=-1)
        longest = np.maximum(longest, np.where(heavy, np.sqrt(np.maximum(square, 0.0)), 0.0))
    return np.where(longest > ROUNDING * _largest(plan), longest, 1.0)


def characteristic_length(plan: Plan) -> float:
    """Return a length typical of the mechanism [m]: the largest offset of a joint in its node, or 1."""
    offsets = [np.linalg.norm(plan.placement_p, axis=1).max(initial=0.0)]
    for loop in plan.loop_joints:
        offsets += [np.linalg.norm(loop.parent_p), np.linalg.norm(loop.child_p)]
    return significant(plan, float(max(offsets)))


def significant(plan: Plan, length: float) -> float:
    """Return a length [m] found from the coordinates of a plan, or 1 if it is nothing but their rounding."""
    return length if length > ROUNDING * largest_coordinate(plan) else 1.0


@lru_cache(maxsize=64)
def largest_coordinate(plan: Plan) -> float:
    """Return the largest coordinate [m] by which a plan places joints and bodies: what lengths are rounded to a part
    of."""
    return _largest(plan)


def _largest(plan: Plan) -> float:
    coordinates = [plan.placement_p, plan.body_pose.p]
    coordinates += [side[None] for loop in plan.loop_joints for side in (loop.parent_p, loop.child_p)]
    return max(float(np.abs(x).max(initial=0.0)) for x in coordinates)
