"""Joint reactions as users see them: on the child that `add_joint` named, in the joint frame that it
described."""

import numpy as np

from catena.mechanism import Mechanism
from catena.structure import Plan
from catena.structure.canonical import canonical


def joint_wrenches(
    mechanism: Mechanism, plan: Plan, f: np.ndarray, X_joint: np.ndarray
) -> dict[str, np.ndarray]:
    """{joint: wrench (..., 6)} from the wrenches f (..., n, 6) that joints pass to their nodes, in node
    frames, and the joints' transforms (..., n, 12).

    Where the plan walks a joint from child to parent, the node is the described parent: the child gets the
    opposite wrench, taken through the joint to the child's side.
    """
    result = {}
    for i in range(1, plan.n):
        name = plan.joint[i]
        if name not in mechanism.joints:
            continue
        moment, force = f[..., i, :3], f[..., i, 3:]
        if plan.flipped[i]:
            R = X_joint[..., i, :9].reshape(*X_joint.shape[:-2], 3, 3)
            force = -np.einsum("...ji,...j->...i", R, force)
            moment = -np.einsum("...ji,...j->...i", R, moment) + np.cross(X_joint[..., i, 9:], force)
        turn = canonical(mechanism.joints[name].kind, bool(plan.flipped[i]))[0]
        result[name] = np.concatenate([moment @ turn.T, force @ turn.T], axis=-1)
    return {name: result[name] for name in plan.joints if name in result}
