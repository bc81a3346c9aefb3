"""A mechanism at one configuration, as edits ask for it: where a joint is, where a body is, whether a joint fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.changing.carrying import Bodies, bodies_of, carry, nearest
from catena.changing.fitting import require_fit
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.spatial import Pose
from catena.system import System


@dataclass(frozen=True, eq=False)
class Configuration:
    """A system at one configuration q (nq,): what `m.lock(..., at=)` and `m.attach(..., at=)` take for "where it is
    now". Made by `System.configuration(q)`."""

    system: System
    q: np.ndarray

    @cached_property
    def bodies(self) -> Bodies:
        """Return where all bodies are, at rest."""
        return bodies_of(self.system, self.q[None], np.zeros((1, self.system.nv)))

    def position_of(self, joint: str) -> np.ndarray:
        """Return the position (nq,) of a joint, be it of the tree, of a loop or locked."""
        described = self.system.mechanism.joints[known("joint", joint, self.system.mechanism.joints)]
        if joint in self.system.joints:
            return self.q[self.system.slice_q(joint)].copy()
        if described.locked_at is not None:
            return np.array(described.locked_at)
        return nearest(self.system.mechanism, self.bodies, [described])[0][0][0]

    def pose_of(self, frame: str) -> Pose:
        """Return the pose of a body or frame in ground."""
        mechanism = self.system.mechanism
        known("body or frame", frame, [*mechanism.bodies, *mechanism.frames])
        own = mechanism.frames.get(frame)
        body = frame if own is None else own.body
        R, p = stacks.parts(self.bodies.X[0, list(mechanism.bodies).index(body)])
        at = Pose.unchecked(p.copy(), np.ascontiguousarray(R.T))
        return at if own is None else at * own.pose

    def require_closed(self, changed: Mechanism, joint: str) -> None:
        """Raise a LoopError unless a joint of the changed mechanism fits to where its two bodies are; the error offers
        the assembled state if there is one near."""
        new = changed.system()
        carried = carry(self.bodies, self.system, self.q[None], np.zeros((1, self.system.nv)), new)
        require_fit(carried, new, f"joint {joint!r}", extent(self.system.plan))
