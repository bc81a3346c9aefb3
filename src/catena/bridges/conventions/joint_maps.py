"""How the coordinates of one joint translate between Catena and another program, one class for each difference.

With Catena's velocity v and the other program's w = T(q) v, efforts, which pair with velocities to power, translate by
the inverse transpose of T, and accelerations by wdot = T vdot + Tdot v. Arrays have shape (..., n of the joint); `q`,
`v` and `tau` are Catena's, names that end in `_there` belong to the other program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from catena.errors import StateError
from catena.joints import Free, JointKind
from catena.mechanism import MODES
from catena.simulation.results.quaternions import quaternions
from catena.system import System

Array = NDArray[np.float64]


def _identity() -> Array:
    return np.eye(4)


class JointMap(ABC):
    """The translation of one joint. Without more said, T is orthogonal, so that efforts translate as velocities do, and
    does not change with time."""

    @abstractmethod
    def position(self, q: Array) -> Array:
        """Return the other program's positions."""

    @abstractmethod
    def position_back(self, q_there: Array) -> Array:
        """Return Catena's positions."""

    @abstractmethod
    def rates(self, q: Array, v: Array) -> Array:
        """Return T v."""

    @abstractmethod
    def rates_back(self, q: Array, v_there: Array) -> Array:
        """Return T^-1 v_there."""

    def efforts(self, q: Array, tau: Array) -> Array:
        """Return T^-T tau."""
        return self.rates(q, tau)

    def efforts_back(self, q: Array, tau_there: Array) -> Array:
        """Return T^T tau_there."""
        return self.rates_back(q, tau_there)

    def drift(self, q: Array, v: Array) -> Array:
        """Return Tdot v."""
        return np.zeros(np.broadcast_shapes(q.shape[:-1], v.shape[:-1]) + v.shape[-1:])


@dataclass(frozen=True)
class Same(JointMap):
    """Coordinates that both sides share, but for where positions are counted from: there = here + offset."""

    offset: float = 0.0

    def position(self, q: Array) -> Array:
        return q + self.offset

    def position_back(self, q_there: Array) -> Array:
        return q_there - self.offset

    def rates(self, q: Array, v: Array) -> Array:
        return v

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return v_there


@dataclass(frozen=True)
class Reordered(JointMap):
    """Coordinates that differ only in order: there = here[..., order]."""

    q_order: Sequence[int]
    v_order: Sequence[int]

    def position(self, q: Array) -> Array:
        return q[..., list(self.q_order)]

    def position_back(self, q_there: Array) -> Array:
        return q_there[..., np.argsort(self.q_order)]

    def rates(self, q: Array, v: Array) -> Array:
        return v[..., list(self.v_order)]

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return v_there[..., np.argsort(self.v_order)]


@dataclass(frozen=True)
class CosineAndSine(JointMap):
    """A joint whose last coordinate, an angle, has its cosine and sine there; turns are lost on the way back."""

    def position(self, q: Array) -> Array:
        return np.concatenate([q[..., :-1], np.cos(q[..., -1:]), np.sin(q[..., -1:])], axis=-1)

    def position_back(self, q_there: Array) -> Array:
        angle = np.arctan2(q_there[..., -1:], q_there[..., -2:-1])
        return np.concatenate([q_there[..., :-2], angle], axis=-1)

    def rates(self, q: Array, v: Array) -> Array:
        return v

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return v_there


@dataclass(frozen=True)
class PlanarInChildAxes(JointMap):
    """A planar joint with the cosine and sine of its angle, and with velocities in the axes of its child."""

    def position(self, q: Array) -> Array:
        return CosineAndSine().position(q)

    def position_back(self, q_there: Array) -> Array:
        return CosineAndSine().position_back(q_there)

    def rates(self, q: Array, v: Array) -> Array:
        return _turned(v, -q[..., 2])

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return _turned(v_there, q[..., 2])

    def drift(self, q: Array, v: Array) -> Array:
        x, y, turning = np.moveaxis(self.rates(q, v), -1, 0)
        return np.stack([turning * y, -turning * x, np.zeros_like(x)], axis=-1)


@dataclass(frozen=True)
class FreeInWorldAxes(JointMap):
    """A free joint of which the other program has the pose of the child body in the world.

    Catena: q = (p, quaternion) of the child-side joint frame seen from the parent-side one, v = [omega; v] of it in its
    own axes. There: q = (p, quaternion) and [pdot; omega] of the child body, p, pdot and the quaternion seen from the
    world, omega in the body's axes. `placement` and `inner` (4 x 4) are the parent-side joint frame in the world and
    the child-side one in its body.
    """

    placement: Array = field(default_factory=_identity)
    inner: Array = field(default_factory=_identity)

    def position(self, q: Array) -> Array:
        R, p = self._axes(q), q[..., :3] @ self.placement[:3, :3].T + self.placement[:3, 3]
        turn = quaternion_product(quaternions(self.placement[:3, :3]), q[..., 3:])
        quat = quaternion_product(turn, quaternions(self.inner[:3, :3].T))
        return np.concatenate([p + times(R, self._arm), quat], axis=-1)

    def position_back(self, q_there: Array) -> Array:
        length = np.linalg.norm(q_there[..., 3:], axis=-1, keepdims=True)
        turn = quaternion_product(quaternions(self.placement[:3, :3].T), q_there[..., 3:] / length)
        quat = quaternion_product(turn, quaternions(self.inner[:3, :3]))
        R = self.placement[:3, :3] @ rotation(quat)
        p = q_there[..., :3] - times(R, self._arm) - self.placement[:3, 3]
        return np.concatenate([p @ self.placement[:3, :3], quat], axis=-1)

    def rates(self, q: Array, v: Array) -> Array:
        omega, linear = v[..., :3], v[..., 3:]
        moved = linear + np.cross(omega, self._arm)
        return _joined(times(self._axes(q), moved), omega @ self.inner[:3, :3].T)

    def rates_back(self, q: Array, v_there: Array) -> Array:
        omega = v_there[..., 3:] @ self.inner[:3, :3]
        return _joined(
            omega, times(_transposed(self._axes(q)), v_there[..., :3]) - np.cross(omega, self._arm)
        )

    def efforts(self, q: Array, tau: Array) -> Array:
        moment, force = tau[..., :3], tau[..., 3:]
        turned = (moment - np.cross(self._arm, force)) @ self.inner[:3, :3].T
        return _joined(times(self._axes(q), force), turned)

    def efforts_back(self, q: Array, tau_there: Array) -> Array:
        force = times(_transposed(self._axes(q)), tau_there[..., :3])
        return _joined(tau_there[..., 3:] @ self.inner[:3, :3] + np.cross(self._arm, force), force)

    def drift(self, q: Array, v: Array) -> Array:
        omega = v[..., :3]
        moved = v[..., 3:] + np.cross(omega, self._arm)
        linear = times(self._axes(q), np.cross(omega, moved))
        return np.concatenate([linear, np.zeros_like(linear)], axis=-1)

    def body_axes(self, q: Array) -> Array:
        """Return the axes of the child body as columns (..., 3, 3) in the world."""
        return self._axes(q) @ self.inner[:3, :3].T

    @property
    def _arm(self) -> Array:
        """Return the origin of the body in the child-side joint frame."""
        return -self.inner[:3, :3].T @ self.inner[:3, 3]

    def _axes(self, q: Array) -> Array:
        """Return the axes of the child-side joint frame as columns (..., 3, 3) in the world."""
        return self.placement[:3, :3] @ rotation(q[..., 3:])


@dataclass(frozen=True)
class FreeQuaternionFirst(JointMap):
    """A free joint as `FreeInWorldAxes` has it, but with q = (quaternion, p) and [omega; pdot] all in world axes."""

    body: FreeInWorldAxes

    def position(self, q: Array) -> Array:
        found = self.body.position(q)
        return np.concatenate([found[..., 3:], found[..., :3]], axis=-1)

    def position_back(self, q_there: Array) -> Array:
        return self.body.position_back(np.concatenate([q_there[..., 4:], q_there[..., :4]], axis=-1))

    def rates(self, q: Array, v: Array) -> Array:
        return self._out(q, self.body.rates(q, v))

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return self.body.rates_back(q, self._in(q, v_there))

    def efforts(self, q: Array, tau: Array) -> Array:
        return self._out(q, self.body.efforts(q, tau))

    def efforts_back(self, q: Array, tau_there: Array) -> Array:
        return self.body.efforts_back(q, self._in(q, tau_there))

    def drift(self, q: Array, v: Array) -> Array:
        # The angular velocity is parallel to itself, so that turning its axes adds nothing.
        return self._out(q, self.body.drift(q, v))

    def _out(self, q: Array, x: Array) -> Array:
        return _joined(times(self.body.body_axes(q), x[..., 3:]), x[..., :3])

    def _in(self, q: Array, x: Array) -> Array:
        return _joined(x[..., 3:], times(_transposed(self.body.body_axes(q)), x[..., :3]))


@dataclass(frozen=True)
class BallOfAngles(JointMap):
    """A spherical joint with the angles (roll, pitch, yaw) about the fixed axes x, y, z of its parent-side frame, and
    the angular velocity in that frame's axes."""

    def position(self, q: Array) -> Array:
        R = rotation(q)
        roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
        pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 2, 1], R[..., 2, 2]))
        yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
        return np.stack([roll, pitch, yaw], axis=-1)

    def position_back(self, q_there: Array) -> Array:
        turns = [np.concatenate([np.cos(a / 2), np.sin(a / 2) * axis], axis=-1)
                 for a, axis in zip(np.split(q_there, 3, axis=-1), np.eye(3), strict=True)]  # fmt: skip
        return quaternion_product(turns[2], quaternion_product(turns[1], turns[0]))

    def rates(self, q: Array, v: Array) -> Array:
        return times(rotation(q), v)

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return times(_transposed(rotation(q)), v_there)


@dataclass(frozen=True)
class FlippedBall(JointMap):
    """A spherical joint that the other program sees from its child; `order` is that of its quaternions.

    Seen so, the rotation is the inverse, and the angular velocity the opposite one in the parent's axes.
    """

    order: Sequence[int]

    def position(self, q: Array) -> Array:
        return _conjugate(q)[..., list(self.order)]

    def position_back(self, q_there: Array) -> Array:
        return _conjugate(q_there[..., np.argsort(self.order)])

    def rates(self, q: Array, v: Array) -> Array:
        return -times(rotation(q), v)

    def rates_back(self, q: Array, v_there: Array) -> Array:
        return -times(_transposed(rotation(q)), v_there)


@dataclass(frozen=True)
class FlippedFree(JointMap):
    """A free joint that the other program sees from its child as a ball and three slides; `order` as in `FlippedBall`.

    The slides run against z, y and x of the parent-side frame and count the position of the child in it.
    """

    order: Sequence[int]

    def position(self, q: Array) -> Array:
        return np.concatenate([FlippedBall(self.order).position(q[..., 3:]), q[..., 2::-1]], axis=-1)

    def position_back(self, q_there: Array) -> Array:
        quat = FlippedBall(self.order).position_back(q_there[..., :4])
        return np.concatenate([q_there[..., :3:-1], quat], axis=-1)

    def rates(self, q: Array, v: Array) -> Array:
        R = rotation(q[..., 3:])
        return _joined(-times(R, v[..., :3]), times(R, v[..., 3:])[..., ::-1])

    def rates_back(self, q: Array, v_there: Array) -> Array:
        R = _transposed(rotation(q[..., 3:]))
        return _joined(-times(R, v_there[..., :3]), times(R, v_there[..., :2:-1]))

    def drift(self, q: Array, v: Array) -> Array:
        linear = times(rotation(q[..., 3:]), np.cross(v[..., :3], v[..., 3:]))
        return np.concatenate([np.zeros_like(linear), linear[..., ::-1]], axis=-1)


def reversed_order(n: int) -> Reordered:
    """Return the translation of n motions that the other program composes in reversed order."""
    order = tuple(reversed(range(n)))
    return Reordered(order, order)


def rotation(quat: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4) in the order w, x, y, z."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the products of quaternions (..., 4) in the order w, x, y, z."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def times(R: Array, x: Array) -> Array:
    """Return R x for matrices (..., n, n) and vectors (..., n)."""
    return np.einsum("...ij,...j->...i", R, x)


def _transposed(R: Array) -> Array:
    return np.swapaxes(R, -1, -2)


def _joined(a: Array, b: Array) -> Array:
    """Return a (..., n) with b (..., m) behind it, (..., n + m); one of them may lack batch dimensions."""
    batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    both = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (a, b)]
    return np.concatenate(both, axis=-1)


def _conjugate(quat: Array) -> Array:
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def _turned(rates: Array, angle: Array) -> Array:
    """Return velocities (..., 3) with their first two turned by an angle (...)."""
    x, y, turning = np.moveaxis(rates, -1, 0)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack(np.broadcast_arrays(c * x - s * y, s * x + c * y, turning), axis=-1)


def own_name(system: System, there: str, names: Mapping[str, str] | None) -> str:
    """Return the name of the tree joint that is called `there` in another program's model."""
    name = (names or {}).get(there, there)
    if name not in system.joints or name.endswith(MODES):
        raise StateError(
            f"the other model has the joint {there!r}, which carries no coordinates here: load both from the same "
            "file, cut the loops so that they have the same tree, m.system(cut=[...]), or say what it is called here, "
            f"names={{{there!r}: ...}}"
        )
    return name


def kind_of(system: System, name: str) -> JointKind:
    """Return the kind of a tree joint; the root of a pinned plan hangs on a free joint that nobody described."""
    joint = system.mechanism.joints.get(name)
    return joint.kind if joint is not None else Free()
