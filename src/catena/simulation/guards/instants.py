"""Many states of a motion, read by names of joints and frames: numbers of a state are a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.errors import StateError
from catena.simulation.turns import TurnsBehind, each_own
from catena.system import System
from catena.validation import is_one_of


@dataclass(frozen=True, eq=False)
class Instants:
    """States q (nq, n), v (nv, n) of a system at times t (n,), which are these `states` (n,) of its batch. It is asked
    as an `Instant` is, and everything has one more axis at its end: here["A"][0] is (n,). What it does not know, a
    function asks an `Instant`, state by state."""

    system: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    states: np.ndarray
    turns: TurnsBehind | None = None

    @property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ascontiguousarray(self.q.T), np.ascontiguousarray(self.v.T)

    @property
    def _own(self) -> System:
        return (
            self.system.variants.chosen(self.states, self.t.shape)
            if self.system.variants.shape
            else self.system
        )

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the positions (nq, n) of a joint, be it of the tree, of a loop or locked."""
        system = self.system
        if is_one_of(joint, system.joints):
            return self.q[system.slice_q(joint)].copy()
        if is_one_of(joint, system.loops):
            known = self.turns or TurnsBehind(self.t, self.states, {}, {})
            return known.position(system, joint, self.t, *self._rows).T
        described = system.mechanism.joints[joint]
        if described.locked_at is None:
            raise StateError(f"Nothing is known of joint {joint!r} for many states at once.")
        return np.repeat(np.asarray(described.locked_at)[:, None], len(self.t), axis=1)

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocities (nv, n) of a joint, be it of the tree, of a loop or locked."""
        described = self.system.mechanism.joints.get(joint)
        if described is not None and described.locked:
            return np.zeros((described.kind.nv, len(self.t)))
        if is_one_of(joint, self.system.joints):
            return self.v[self.system.slice_v(joint)].copy()
        return each_own(
            self.system, self.states, lambda s, q, v: s.joint_velocity(q, v, joint), *self._rows
        ).T

    def position(self, frame: str) -> np.ndarray:
        """Return the origins (3, n) of a frame or body in ground."""
        return np.asarray(self._own.pose(self._rows[0], frame))[:, :3, 3].T

    def twist(self, frame: str) -> np.ndarray:
        """Return the twists [angular; linear] (6, n) of a frame or body in its own axes."""
        return self._own.twist(*self._rows, frame).T
