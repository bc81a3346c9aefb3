"""Places and orientations of a frame over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.references.constant import Constant
from catena.simulation.references.protocol import Reference, ReferenceMotion, is_reference
from catena.simulation.references.rotation import orientation, rotations
from catena.spatial import Pose, is_one_pose
from catena.validation import entries, shown


class PosePath:
    """A frame whose origin follows `position` (three coordinates in the reference frame) and whose axes follow
    `rotation`.

    As a reference it is that of a `Free` joint: q = (x, y, z, w, x, y, z), v = [angular; linear] in its own axes, and
    vdot is the derivative of v. It also says what a tool should follow.
    """

    def __init__(
        self, position: Reference | ArrayLike, rotation: Reference | ArrayLike = (1.0, 0.0, 0.0, 0.0)
    ) -> None:
        self.position: Reference = position if is_reference(position) else Constant(position)
        if is_reference(rotation):
            self.rotation: Reference = rotation
        else:
            self.rotation = Constant(orientation(rotation, "pose path"), nv=3)
        for what, part, width in (("position", self.position, 3), ("rotation", self.rotation, 4)):
            found = part.at(0.0).q.shape
            if found != (width,):
                raise StateError(
                    f"pose path: the {what} has shape {found} at one time; it must be ({width},)."
                )

    @classmethod
    def through(cls, times: ArrayLike, poses: Sequence[Pose], law: str = "quintic") -> PosePath:
        """Return the path through poses that rests at each of them: straight lines and shortest turns."""
        from catena.simulation.references.polynomial import cubic, quintic
        from catena.simulation.references.rotation import OrientationPath

        try:
            listed = list(entries(poses))
        except ValueError as error:
            raise StateError(
                f"pose path: the poses are {shown(poses)} ({error}); give a list of Pose."
            ) from error
        if not all(map(is_one_pose, listed)):
            raise StateError("pose path: give a list of Pose(p=..., quat=...), one for each time.")
        points = cubic if law == "cubic" else quintic
        return cls(
            points(times, [pose.p for pose in listed]),
            OrientationPath.through(times, [pose.quat for pose in listed], law),
        )

    @property
    def span(self) -> tuple[float, float] | None:
        """Return the first and the last time of what moves, or None where that is not known."""
        spans = [getattr(part, "span", None) for part in (self.position, self.rotation)]
        known = [span for span in spans if span is not None]
        moving = [part for part in (self.position, self.rotation) if not isinstance(part, Constant)]
        if len(known) < len(moving) or not known:
            return None
        return min(span[0] for span in known), max(span[1] for span in known)

    def at(self, t: ArrayLike) -> ReferenceMotion:
        """Return (..., 7), (..., 6) and (..., 6)."""
        return posed(self.position.at(t), self.rotation.at(t))


def posed(place: tuple[Any, Any, Any], turn: tuple[Any, Any, Any]) -> ReferenceMotion:
    """Return the motion of a frame whose origin and whose axes move so; for numbers, and for symbols (3,) and (4,)."""
    (p, pdot, pddot), (quat, w, wdot) = place, turn
    Rt = np.swapaxes(rotations(quat), -1, -2)
    v = np.sum(Rt * pdot[..., None, :], axis=-1)
    a = np.sum(Rt * pddot[..., None, :], axis=-1) - np.cross(w, v)
    return ReferenceMotion(*(np.concatenate(pair, axis=-1) for pair in ((p, quat), (w, v), (wdot, a))))
