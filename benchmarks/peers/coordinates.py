"""Translation between Catena's coordinates and those of a peer's model, for one state or a batch.

Coordinates translate as `catena.bridges.conventions` has it. A peer's model may lack damping and friction of joints,
which are then taken off the efforts that it gets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.bridges.conventions import Coordinates as Conventions, JointCoordinates

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinates:
    """The translation for a whole mechanism.

    Every function takes arrays of shape (..., nq) or (..., nv); arguments named `q` and `v` are Catena's,
    those named `*_peer` the peer's, which has as many coordinates. `damping` and `friction` (nv,) are those
    joint forces that the peer's model does not have itself: `effort` takes them off the actuators' efforts,
    `catena_effort` puts them on again.
    """

    conventions: Conventions
    damping: Array
    friction: Array

    @staticmethod
    def of(
        nq: int, nv: int, blocks: list[JointCoordinates], damping: Array, friction: Array
    ) -> "Coordinates":
        """The translation that joints, each a block, make up together."""
        return Coordinates(Conventions(np.zeros(nq), nv, np.zeros(nq), nv, tuple(blocks)), damping, friction)

    @property
    def blocks(self) -> tuple[JointCoordinates, ...]:
        """The joints."""
        return self.conventions.blocks

    def configuration(self, q: Array) -> Array:
        """The peer's configuration."""
        return self.conventions.configuration(q)

    def catena_configuration(self, q_peer: Array) -> Array:
        """Catena's configuration."""
        return self.conventions.catena_configuration(q_peer)

    def velocity(self, q: Array, v: Array) -> Array:
        """The peer's velocity."""
        return self.conventions.velocity(q, v)

    def catena_velocity(self, q: Array, v_peer: Array) -> Array:
        """Catena's velocity."""
        return self.conventions.catena_velocity(q, v_peer)

    def acceleration(self, q: Array, v: Array, vdot: Array) -> Array:
        """The peer's acceleration."""
        return self.conventions.acceleration(q, v, vdot)

    def catena_acceleration(self, q: Array, v: Array, a_peer: Array) -> Array:
        """Catena's vdot."""
        return self.conventions.catena_acceleration(q, v, a_peer)

    def effort(self, q: Array, v: Array, tau: Array) -> Array:
        """The peer's joint efforts, less the damping and friction that its model does not have."""
        return self.conventions.effort(q, tau - self.damping * v - self.friction * np.sign(v))

    def catena_effort(self, q: Array, v: Array, tau_peer: Array) -> Array:
        """What Catena's actuators give when the peer's model needs tau_peer."""
        return self.conventions.catena_effort(q, tau_peer) + self.damping * v + self.friction * np.sign(v)


def quaternion(R: Array) -> Array:
    """The unit quaternion (w, x, y, z) of one rotation matrix; an eigenvector, so safe at every angle."""
    xx, yx, zx, xy, yy, zy, xz, yz, zz = R.T.ravel()
    K = np.array(
        [
            [xx + yy + zz, 0.0, 0.0, 0.0],
            [zy - yz, xx - yy - zz, 0.0, 0.0],
            [xz - zx, yx + xy, yy - xx - zz, 0.0],
            [yx - xy, zx + xz, zy + yz, zz - xx - yy],
        ]
    )
    values, vectors = np.linalg.eigh(K)
    result = vectors[:, int(np.argmax(values))]
    return result if result[0] >= 0 else -result
