"""A mechanism at one configuration, as edits ask for it: where a joint is, where a body is, whether a joint fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.changing.carrying import bodies_of, carry, nearest
from catena.changing.deformed import Bodies, parts_of, place_of, resting, with_points
from catena.changing.fitting import require_fit
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.mechanism import MODES, Mechanism
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
        """Return the position (nq,) of a joint, be it of the tree, of a loop or locked, or the amplitudes of
        "<body>.modes"."""
        self.system.mechanics.evaluator.check_current()
        body = joint.removesuffix(MODES) if isinstance(joint, str) else joint
        if joint != body and body in self.bodies.modes:
            return self.bodies.modes[body].eta[0].copy()
        described = self.system.mechanism.joints[known("joint", joint, self.system.mechanism.joints)]
        if joint in self.system.joints:
            return self.q[self.system.slice_q(joint)].copy()
        if described.locked_at is not None:
            return np.array(described.locked_at)
        parts = parts_of(self.system)
        return nearest(parts, with_points(self.bodies, self.system), [parts.joints[joint]])[0][0][0]

    def pose_of(self, frame: str) -> Pose:
        """Return the pose of a body or frame in ground; of a flexible body it is that of its floating frame."""
        self.system.mechanics.evaluator.check_current()
        mechanism = self.system.mechanism
        known("body or frame", frame, [*mechanism.bodies, *mechanism.frames])
        own = mechanism.frames.get(frame)
        if own is not None:
            return self.pose_at(own.body, own.pose)
        R, p = stacks.parts(self.bodies.X[0, list(mechanism.bodies).index(frame)])
        return Pose.unchecked(p.copy(), np.ascontiguousarray(R.T))

    def pose_at(self, body: str, pose: Pose) -> Pose:
        """Return the pose in ground of what is at a pose on a body, and moves with its place where it is flexible."""
        return self.pose_of(body) * place_of(self.system.mechanism.bodies[body], self._eta(body), pose)

    def pose_on(self, body: str, pose: Pose) -> Pose:
        """Return the pose on a body of what is at a pose in ground; on a flexible body, where it rests."""
        here = self.pose_of(body).inverse() * pose
        return resting(self.system.mechanism.bodies[body], self._eta(body), here)

    def _eta(self, body: str) -> np.ndarray:
        own = self.bodies.modes.get(body)
        return np.zeros(0) if own is None else own.eta[0]

    def require_closed(self, changed: Mechanism, joint: str) -> None:
        """Raise a LoopError unless a joint of the changed mechanism fits to where its two bodies are; the error offers
        the assembled state if there is one near."""
        new = changed.system()
        carried = carry(self.bodies, self.system, self.q[None], np.zeros((1, self.system.nv)), new)
        require_fit(carried, new, f"joint {joint!r}", extent(self.system.plan))
