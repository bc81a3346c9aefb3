"""Configurations one behind the other, to be played where nothing was simulated: a mechanism that is driven through
its range, a mode that swings, a recorded motion."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import StateError
from catena.hooks import hook
from catena.system import System
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.view.live.view import View

Floats = NDArray[np.float64]

SECONDS = 4.0
"""How long configurations are shown for that have no times of their own."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Course:
    """Configurations q (n, nq) of a system at the times t (n,), evenly over some seconds unless given.

    It plays as runs do, without velocities and forces.
    """

    system: System
    t: Floats
    q: Floats

    def __init__(self, system: System, q: ArrayLike, t: ArrayLike | None = None) -> None:
        if not isinstance(system, System):
            raise StateError(f"Course: {shown(system)} is no system; give what m.system() returns.")
        try:
            positions = np.array(real_array(q), dtype=np.float64)
        except (TypeError, ValueError):
            raise StateError(f"Course: q is {shown(q)}; give numbers (n, {system.nq}).") from None
        if positions.ndim != 2 or positions.shape[1] != system.nq or not len(positions):
            raise StateError(
                f"Course: q has shape {positions.shape}; give configurations (n, {system.nq}), one or more."
            )
        system.body_poses(positions)  # complains about what is not finite or no quaternion
        try:
            times = (
                np.linspace(0.0, SECONDS, len(positions))
                if t is None
                else np.array(real_array(t), dtype=np.float64)
            )
        except (TypeError, ValueError):
            raise StateError(
                f"Course: t is {shown(t)}; give increasing seconds ({len(positions)},)."
            ) from None
        if (
            times.shape != positions.shape[:1]
            or not np.all(np.isfinite(times))
            or np.any(np.diff(times) <= 0.0)
        ):
            raise StateError(
                f"Course: t has shape {times.shape}; give finite, increasing seconds ({len(positions)},)."
            )
        for name, value in (("system", system), ("t", times), ("q", positions)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Course({self.system.mechanism.name!r}, {len(self.t)} configurations over {self.t[-1] - self.t[0]:g} s)"

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch dimensions: none."""
        return ()

    @property
    def segments(self) -> tuple[Course, ...]:
        """The parts that have one structure each: this one."""
        return (self,)

    @property
    def events(self) -> tuple[Any, ...]:
        """What was met on the way: nothing is looked for."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that carry coordinates."""
        return tuple(self.system.joints)

    def system_of(self, joint: str) -> System:
        """Return the system that has a joint: the only one."""
        return self.system

    def __getitem__(self, joint: str) -> Floats:
        """Return the coordinates of a joint, (n, nq of the joint)."""
        return np.asarray(self.system.joint_position(self.q, joint))

    def at(self, times: ArrayLike) -> tuple[Floats]:
        """Return the configurations (n, nq) at other times, straight from one to the next."""
        asked = np.clip(np.asarray(times, dtype=np.float64), self.t[0], self.t[-1])
        if len(self.t) == 1:
            return (np.broadcast_to(self.q, (*asked.shape, self.system.nq)),)
        k = np.clip(np.searchsorted(self.t, asked, side="right") - 1, 0, len(self.t) - 2)
        part = (asked - self.t[k]) / (self.t[k + 1] - self.t[k])
        way = self.system.difference(self.q[k], self.q[k + 1])
        return (np.asarray(self.system.integrate(self.q[k], way * part[..., None])),)

    def resample(self, times: Floats) -> Course:
        """Return the same motion at other times (n,)."""
        return Course(self.system, self.at(times)[0], times)

    def view(self, **options: Any) -> View:
        """Play the configurations in a browser or a notebook; options are those of `Trajectory.view`."""
        return hook("view")(self, **options)

    def save_html(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write one self-contained page; options are those of `Trajectory.save_html`."""
        hook("save_html")(self, path, **options)

    def save_video(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the configurations as a film; options are those of `Trajectory.save_video`."""
        hook("save_video")(self, path, **options)
