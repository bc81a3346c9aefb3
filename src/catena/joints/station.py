"""How a point of a flexible body moves in the body's floating frame, whatever the number of modes.

Where a body has many modes, its points get their displacement and rotation from outside (`kernels.stations`), so that
compiled code knows points and no modes. Planning makes such joints; nobody describes one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.joints.contract import JointKind
from catena.joints.modal import Modal
from catena.spatial import Motion, MotionSpace, Transform, array

_UNIT = np.eye(3)


@dataclass(frozen=True)
class Station(JointKind):
    """Displacement u (3,) of a point and, where it `turns`, its rotation vector psi (3,), as `Modal` has them.

    q = (u, psi, g), v = (du/dt, dpsi/dt). The acceleration of the displacement is that of v and, besides, g (3,), which
    is what a displacement that is curved in the amplitudes takes while they change at constant rates.
    """

    turns: bool = True

    @property
    def nq(self) -> int:
        return self.nv + 3

    @property
    def nv(self) -> int:
        return 6 if self.turns else 3

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Station", self.turns)

    @cached_property
    def _modal(self) -> Modal:
        """The same with the entries of u and psi as amplitudes."""
        if not self.turns:
            return Modal(3, tuple(_UNIT.ravel().tolist()))
        none = np.zeros((3, 3))
        moves, turns = np.hstack([_UNIT, none]), np.hstack([none, _UNIT])
        return Modal(6, tuple(moves.ravel().tolist()), tuple(turns.ravel().tolist()))

    def transform(self, q: np.ndarray) -> Transform:
        return self._modal.transform(q[: self.nv])

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return self._modal.motion_space(q[: self.nv])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        turned = self._modal.transform(q[: self.nv]).R @ q[self.nv :]
        return self._modal.bias(q[: self.nv], v) + Motion(array([0.0, 0.0, 0.0, *turned]))

    @property
    def has_constant_motion_space(self) -> bool:
        return not self.turns

    @property
    def has_constant_constraint_space(self) -> bool:
        return False

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return array([*v, 0.0, 0.0, 0.0])

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return array([*(q[: self.nv] + v), *q[self.nv :]])

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return q1[: self.nv] - q0[: self.nv]

    @property
    def turning(self) -> tuple[int, ...]:
        return ()
