"""Translation between Catena's coordinates and those of another engine, for one state or a batch.

Per joint the peer's velocity is v_peer = T(q) v with an orthogonal T, so that efforts, which pair with
velocities to power, translate by the same T, and accelerations by a_peer = T vdot + Tdot v.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class JointMap(Protocol):
    """How the coordinates of one joint translate; arrays have shape (..., n of the joint)."""

    def position(self, q: Array) -> Array: ...
    def position_back(self, q_peer: Array) -> Array: ...
    def turn(self, q: Array, x: Array) -> Array:
        """T(q) x."""
        ...

    def turn_back(self, q: Array, y: Array) -> Array:
        """T(q)^T y."""
        ...

    def drift(self, q: Array, v: Array) -> Array:
        """Tdot v."""
        ...


@dataclass(frozen=True)
class Block:
    """One joint: where its coordinates are on both sides, and how they translate."""

    q: slice
    v: slice
    q_peer: slice
    v_peer: slice
    map: JointMap


@dataclass(frozen=True)
class Coordinates:
    """The translation for a whole mechanism.

    Every function takes arrays of shape (..., nq) or (..., nv); arguments named `q` and `v` are Catena's,
    those named `*_peer` the peer's, which has as many coordinates. `damping` and `friction` (nv,) are those
    joint forces that the peer's model does not have itself: `effort` takes them off the actuators' efforts,
    `catena_effort` puts them on again.
    """

    nq: int
    nv: int
    blocks: tuple[Block, ...]
    damping: Array
    friction: Array

    def configuration(self, q: Array) -> Array:
        """The peer's configuration."""
        return self._gather("q_peer", self.nq, lambda b: b.map.position(q[..., b.q]))

    def catena_configuration(self, q_peer: Array) -> Array:
        """Catena's configuration."""
        return self._gather("q", self.nq, lambda b: b.map.position_back(q_peer[..., b.q_peer]))

    def velocity(self, q: Array, v: Array) -> Array:
        """The peer's velocity."""
        return self._gather("v_peer", self.nv, lambda b: b.map.turn(q[..., b.q], v[..., b.v]))

    def catena_velocity(self, q: Array, v_peer: Array) -> Array:
        """Catena's velocity."""
        return self._gather("v", self.nv, lambda b: b.map.turn_back(q[..., b.q], v_peer[..., b.v_peer]))

    def acceleration(self, q: Array, v: Array, vdot: Array) -> Array:
        """The peer's acceleration."""
        return self._gather(
            "v_peer",
            self.nv,
            lambda b: b.map.turn(q[..., b.q], vdot[..., b.v]) + b.map.drift(q[..., b.q], v[..., b.v]),
        )

    def catena_acceleration(self, q: Array, v: Array, a_peer: Array) -> Array:
        """Catena's vdot."""
        drift = self._gather("v_peer", self.nv, lambda b: b.map.drift(q[..., b.q], v[..., b.v]))
        return self.catena_velocity(q, a_peer - drift)

    def effort(self, q: Array, v: Array, tau: Array) -> Array:
        """The peer's joint efforts, less the damping and friction that its model does not have."""
        net = tau - self.damping * v - self.friction * np.sign(v)
        return self.velocity(q, net)

    def catena_effort(self, q: Array, v: Array, tau_peer: Array) -> Array:
        """What Catena's actuators give when the peer's model needs tau_peer."""
        return self.catena_velocity(q, tau_peer) + self.damping * v + self.friction * np.sign(v)

    def _gather(self, place: str, size: int, values: Callable[[Block], Array]) -> Array:
        parts = [(getattr(block, place), values(block)) for block in self.blocks]
        result = np.empty((*parts[0][1].shape[:-1], size))
        for where, part in parts:
            result[..., where] = part
        return result


@dataclass(frozen=True)
class Same:
    """Coordinates that both sides share."""

    def position(self, q: Array) -> Array:
        return q

    def position_back(self, q_peer: Array) -> Array:
        return q_peer

    def turn(self, q: Array, x: Array) -> Array:
        return x

    def turn_back(self, q: Array, y: Array) -> Array:
        return y

    def drift(self, q: Array, v: Array) -> Array:
        return np.zeros_like(v)


@dataclass(frozen=True)
class Reordered:
    """Coordinates that differ only in order: peer = catena[..., order]."""

    q_order: Sequence[int]
    v_order: Sequence[int]

    def position(self, q: Array) -> Array:
        return q[..., list(self.q_order)]

    def position_back(self, q_peer: Array) -> Array:
        return q_peer[..., np.argsort(self.q_order)]

    def turn(self, q: Array, x: Array) -> Array:
        return x[..., list(self.v_order)]

    def turn_back(self, q: Array, y: Array) -> Array:
        return y[..., np.argsort(self.v_order)]

    def drift(self, q: Array, v: Array) -> Array:
        return np.zeros_like(v)


@dataclass(frozen=True)
class FreeInWorldAxes:
    """A free joint whose peer counts position and linear velocity in the axes it is placed in.

    Catena: q = (p, quaternion) seen from the parent-side joint frame, v = [omega; v] in the child's own axes.
    Peer: q = (p, quaternion) and v = [pdot; omega], where p, pdot and the quaternion are seen from a frame in
    which the parent-side joint frame has the pose `placement` (4 x 4), and omega is in the child's axes.
    """

    placement: Array

    def position(self, q: Array) -> Array:
        R, p = self.placement[:3, :3], self.placement[:3, 3]
        quat = quaternion_product(quaternion(R), q[..., 3:])
        return np.concatenate([q[..., :3] @ R.T + p, quat], axis=-1)

    def position_back(self, q_peer: Array) -> Array:
        R, p = self.placement[:3, :3], self.placement[:3, 3]
        quat = quaternion_product(quaternion(R.T), q_peer[..., 3:])
        return np.concatenate([(q_peer[..., :3] - p) @ R, quat], axis=-1)

    def turn(self, q: Array, x: Array) -> Array:
        return np.concatenate([_times(self._axes(q), x[..., 3:]), x[..., :3]], axis=-1)

    def turn_back(self, q: Array, y: Array) -> Array:
        return np.concatenate([y[..., 3:], _times(np.swapaxes(self._axes(q), -1, -2), y[..., :3])], axis=-1)

    def drift(self, q: Array, v: Array) -> Array:
        linear = _times(self._axes(q), np.cross(v[..., :3], v[..., 3:]))
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)

    def _axes(self, q: Array) -> Array:
        """The child's axes as columns (..., 3, 3) in the peer's frame."""
        return self.placement[:3, :3] @ rotation(q[..., 3:])


@dataclass(frozen=True)
class FlippedBall:
    """A spherical joint that the peer sees from its child; `order` is that of the peer's quaternions.

    Seen so, the rotation is the inverse, and the angular velocity the opposite one in the parent's axes.
    """

    order: Sequence[int]

    def position(self, q: Array) -> Array:
        return _conjugate(q)[..., list(self.order)]

    def position_back(self, q_peer: Array) -> Array:
        return _conjugate(q_peer[..., np.argsort(self.order)])

    def turn(self, q: Array, x: Array) -> Array:
        return -_times(rotation(q), x)

    def turn_back(self, q: Array, y: Array) -> Array:
        return -_times(np.swapaxes(rotation(q), -1, -2), y)

    def drift(self, q: Array, v: Array) -> Array:
        return np.zeros_like(v)


@dataclass(frozen=True)
class FlippedFree:
    """A free joint that the peer sees from its child as a ball and three slides; `order` as in FlippedBall.

    The slides run against z, y and x of the parent-side frame and count the position of the child in it.
    """

    order: Sequence[int]

    def position(self, q: Array) -> Array:
        return np.concatenate([FlippedBall(self.order).position(q[..., 3:]), q[..., 2::-1]], axis=-1)

    def position_back(self, q_peer: Array) -> Array:
        quat = FlippedBall(self.order).position_back(q_peer[..., :4])
        return np.concatenate([q_peer[..., :3:-1], quat], axis=-1)

    def turn(self, q: Array, x: Array) -> Array:
        R = rotation(q[..., 3:])
        return np.concatenate([-_times(R, x[..., :3]), _times(R, x[..., 3:])[..., ::-1]], axis=-1)

    def turn_back(self, q: Array, y: Array) -> Array:
        R = np.swapaxes(rotation(q[..., 3:]), -1, -2)
        return np.concatenate([-_times(R, y[..., :3]), _times(R, y[..., :2:-1])], axis=-1)

    def drift(self, q: Array, v: Array) -> Array:
        linear = _times(rotation(q[..., 3:]), np.cross(v[..., :3], v[..., 3:]))
        return np.concatenate([np.zeros_like(linear), linear[..., ::-1]], axis=-1)


def reversed_order(n: int) -> Reordered:
    """Coordinates of n motions that the peer composes in reversed order."""
    order = tuple(reversed(range(n)))
    return Reordered(order, order)


def rotation(quat: Array) -> Array:
    """The rotation matrix (..., 3, 3) of a unit quaternion (..., 4) in the order w, x, y, z."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


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


def quaternion_product(a: Array, b: Array) -> Array:
    """The product of quaternions (..., 4) in the order w, x, y, z."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def _times(R: Array, x: Array) -> Array:
    return np.einsum("...ij,...j->...i", R, x)


def _conjugate(quat: Array) -> Array:
    return quat * np.array([1.0, -1.0, -1.0, -1.0])
