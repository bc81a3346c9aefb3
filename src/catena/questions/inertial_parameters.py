"""The inertial numbers of bodies as one vector, and the regressor that inverse dynamics multiplies it by.

Each body that moves has ten: mass, mass times mass centre (3), and the rotational inertia xx, xy, xz, yy, yz, zz about
the body's ORIGIN, all in its own axes. In these numbers, and not in those of `add_body`, inverse dynamics is linear.
"""

import numpy as np

from catena.mechanism import Mechanism
from catena.spatial import RigidInertia, Transform
from catena.structure import Plan

ENTRIES = ("mass", "h.x", "h.y", "h.z", "I.xx", "I.xy", "I.xz", "I.yy", "I.yz", "I.zz")


def moving_bodies(mechanism: Mechanism, plan: Plan) -> list[str]:
    """Return the bodies that inertial parameters are told of, in the order of the mechanism: rigid ones that are not
    welded to the ground, and flexible ones that are locked undeformed."""
    return [
        name
        for name, body in mechanism.bodies.items()
        if name in plan.body_pose
        and plan.body_pose[name][0]
        and (body.flexible is None or not (body.locked_at is None or np.any(body.locked_at)))
    ]


def inertial_parameters(mechanism: Mechanism, plan: Plan) -> np.ndarray:
    """Return the inertial numbers (10 b,) of all moving bodies."""
    rows = []
    for name in moving_bodies(mechanism, plan):
        body = mechanism.bodies[name]
        rows.append(
            RigidInertia.from_com(body.mass, np.asarray(body.com), np.asarray(body.inertia)).entries()
        )
    return np.array(rows, dtype=float).reshape(-1)


def by_bodies(mechanism: Mechanism, plan: Plan, Y: np.ndarray) -> np.ndarray:
    """Return the regressor (..., nv, 10 b) of bodies from that of nodes (..., nv, 10 n): bodies that are welded
    together share a node, and each has its numbers in its own frame."""
    blocks = [np.zeros((*Y.shape[:-1], 0))]
    for name in moving_bodies(mechanism, plan):
        node, pose = plan.body_pose[name]
        X = Transform.from_pose(pose)
        units = [X.pull(RigidInertia.from_entries(list(row))).entries() for row in np.eye(RigidInertia.size)]
        blocks.append(Y[..., 10 * node : 10 * node + 10] @ np.array(units, dtype=float).T)
    return np.concatenate(blocks, axis=-1)
