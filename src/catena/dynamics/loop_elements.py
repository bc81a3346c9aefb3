"""Springs, dampers and stops at a joint that closes a loop, as a pair of wrenches on its two bodies.

The joint's coordinates are those of the configuration nearest to where its two sides are. Its force is passed on along
its motions: the wrench f with S^T f = force and nothing else, since the constraints take up whatever they resist.
"""

import numpy as np

from catena.dynamics.point_forces import Bodies
from catena.dynamics.stacked_elements import StackedElements
from catena.kinematics import stacks
from catena.kinematics.kind_values import kind_values, nearest_coordinates
from catena.mechanism import Joint
from catena.structure.plan import Loop


class LoopElements:
    """What acts at one loop joint; `bodies` are its child and its parent."""

    def __init__(self, joint: Joint, loop: Loop, elements: StackedElements) -> None:
        self.loop, self.elements, self.bodies = loop, elements, (joint.child, joint.parent)
        self._to_child, self._to_parent = (stacks.to_frame(x) for x in (loop.child_pose, loop.parent_pose))

    def wrenches(self, at: Bodies) -> np.ndarray:
        """Wrenches (states, 2, 6) on the nodes of `bodies`."""
        loop = self.loop
        X, q = self._position(at)
        S = kind_values(loop.kind, q, np.zeros(loop.kind.nv)).S
        along = np.linalg.pinv(S, rcond=1e-10)
        on_parent = X @ self._to_parent
        v = at.v[:, loop.child_node] @ self._to_child.T - stacks.apply(on_parent, at.v[:, loop.parent_node])
        force = self.elements.force(q, stacks.apply(along, v))
        wrench = stacks.apply(stacks.transposed(along), force)
        pair = [wrench @ self._to_child, -stacks.apply(stacks.transposed(on_parent), wrench)]
        return np.stack(pair, axis=1)

    def energy(self, at: Bodies) -> np.ndarray:
        """What is stored, (states,)."""
        return self.elements.energy(self._position(at)[1])

    def _position(self, at: Bodies) -> tuple[np.ndarray, np.ndarray]:
        """The transform (states, 6, 6) from the parent's side to the child's, and the joint's coordinates."""
        loop, c, p = self.loop, self.loop.child_node, self.loop.parent_node
        R_c, R_p = loop.child_R.T @ at.R[:, c], loop.parent_R.T @ at.R[:, p]
        origin_c = at.p[:, c] + stacks.apply(stacks.transposed(at.R[:, c]), loop.child_p)
        origin_p = at.p[:, p] + stacks.apply(stacks.transposed(at.R[:, p]), loop.parent_p)
        X = stacks.motion_matrices(R_c @ stacks.transposed(R_p), stacks.apply(R_p, origin_c - origin_p))
        return X, nearest_coordinates(loop.kind, X)
