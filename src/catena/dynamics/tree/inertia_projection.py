"""The joint-space inertia H by the inertia projection method, which van der Merwe's section 5.2 names beside the
structurally recursive one (Lilly and Orin): the inertia of every link by itself is taken back from joint to joint, and
what a unit acceleration of each takes is projected on all joints before it. Cost O(N d^2), d the depth of the tree."""

import numpy as np

from catena.dynamics.tree.joint_space import Joints, add_column
from catena.spatial import RigidInertia


def inertia_projection(joints: Joints) -> np.ndarray:
    """H, shape (nv, nv), of numbers or symbols."""
    plan, H = joints.plan, joints.zero()
    for link in range(1, plan.n):
        inertia, i = RigidInertia.from_entries(list(plan.inertia[link])), link
        while i:
            for k, s in joints.motions(i):
                add_column(joints, H, i, k, inertia * s)
            inertia, i = joints.X[i].pull(inertia), int(plan.parent[i])
    return H
