"""Where the bodies of a mechanism are now, as edits need it: the position of a joint, the pose of a body.

Who knows that is a system at a state, which this room must not know; `System.configuration(q)` makes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism


@runtime_checkable
class PlacedMechanism(Protocol):
    """A mechanism at one configuration."""

    def position_of(self, joint: str) -> NDArray[np.float64]:
        """Return the position (nq,) of a joint, be it of the tree, of a loop or locked."""

    def pose_of(self, frame: str) -> Pose:
        """Return the pose of a body or frame in ground."""

    def pose_at(self, body: str, pose: Pose) -> Pose:
        """Return the pose in ground of what is at a pose on a body, and moves with its place where it is flexible."""

    def pose_on(self, body: str, pose: Pose) -> Pose:
        """Return the pose on a body of what is at a pose in ground; on a flexible body, where it rests."""

    def require_closed(self, changed: Mechanism, joint: str) -> None:
        """Raise an error unless a joint of the changed mechanism fits to where its two bodies are now."""
