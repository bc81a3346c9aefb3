"""A motion at one instant, read by names of joints and frames, so that it can be asked whatever the structure is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from catena.hooks import hook
from catena.simulation.turns import Looked
from catena.system import System
from catena.validation import is_one_of

if TYPE_CHECKING:
    from catena.changing import Configuration


@dataclass(frozen=True, eq=False)
class Instant:
    """One state q (nq,), v (nv,) of a system at the time t. Events whose functions take one argument are given it, and
    so is what an event does to the structure. `looked` knows whole turns of joints that close loops."""

    system: System
    t: float
    q: np.ndarray
    v: np.ndarray
    looked: Looked | None = None

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the position (nq,) of a joint, be it of the tree, of a loop or locked."""
        if self.looked is not None and is_one_of(joint, self.system.loops):
            return self.looked.position(self.system, self.t, self.q, self.v, joint)
        return self.configuration.position_of(joint)

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocity (nv,) of a joint, be it of the tree, of a loop or locked."""
        described = self.system.mechanism.joints.get(joint)
        if described is not None and described.locked:
            return np.zeros(described.kind.nv)
        return self.system.joint_velocity(self.q, self.v, joint)

    def position(self, frame: str) -> np.ndarray:
        """Return the origin (3,) of a frame or body in ground."""
        return np.asarray(self.configuration.pose_of(frame).p)

    def twist(self, frame: str) -> np.ndarray:
        """Return the twist [angular; linear] (6,) of a frame or body in its own axes."""
        return self.system.twist(self.q, self.v, frame)

    @property
    def configuration(self) -> Configuration:
        """Return where all is now, as `m.lock(..., at=)` and `m.attach(..., at=)` take it."""
        found: Configuration = hook("configuration")(self.system, self.q)
        return found
