"""Where a frame sits in another frame, in one state or in many. Numbers only, checked when made."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeGuard, overload

import numpy as np

from catena.errors import ModelError
from catena.spatial import quaternion
from catena.validation import real_array, shown

ROTATION_TOLERANCE = 1e-6
"""How far a given quaternion or rotation matrix may be from a true rotation: files and formulas have seven digits."""


class Pose:
    """The placement of a frame in a reference frame: its origin `p` and the direction of its axes.

    The axes are given by at most one of `quat` = (w, x, y, z), `rpy` = (roll, pitch, yaw) about the fixed
    axes x, y, z in that order (as in URDF), `R`, the 3x3 matrix whose columns are the axes of the placed
    frame, or `euler` = (sequence, angles): ("ZYZ", (a, b, c)) turns by a about z, by b about the new y and by c about
    the newest z; small letters stand for axes that stay fixed. Poses do not change.

    What a system tells for a batch of states is one `Pose` too, whose arrays have the dimensions of the batch in front.
    NumPy sees a pose as its homogeneous matrices (..., 4, 4), so that `pose[..., :3, 3]` and `np.asarray(pose)` do what
    they say.
    """

    __slots__ = ("_R", "_p", "_quat")
    _p: np.ndarray
    _R: np.ndarray
    _quat: np.ndarray | None

    def __init__(
        self,
        p: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
        quat: Sequence[float] | np.ndarray | None = None,
        rpy: Sequence[float] | np.ndarray | None = None,
        R: Sequence[Sequence[float]] | np.ndarray | None = None,
        euler: tuple[str, Sequence[float] | float | np.ndarray] | None = None,
    ) -> None:
        ways = (("quat", quat), ("rpy", rpy), ("R", R), ("euler", euler))
        rotations = [name for name, value in ways if value is not None]
        if len(rotations) > 1:
            raise ModelError(f"Pose: got {' and '.join(rotations)} together; give the axes one way only.")
        self._p = _numbers("p", p, (3,))
        self._quat = None
        if quat is not None:
            self._quat = _unit_quaternion(quat)
            self._R = quaternion.rotation(self._quat)
            self._quat.flags.writeable = False
        elif rpy is not None:
            self._R = _from_rpy(_numbers("rpy", rpy, (3,)))
        elif R is not None:
            self._R = _rotation_matrix(R)
        elif euler is not None:
            self._R = _from_euler(euler)
        else:
            self._R = np.eye(3)
        self._p.flags.writeable = False
        self._R.flags.writeable = False

    @classmethod
    def unchecked(cls, p: np.ndarray, R: np.ndarray) -> Pose:
        """Return the pose of these float arrays, taken over and made read-only, without any check."""
        pose = cls.__new__(cls)
        p.flags.writeable = False
        R.flags.writeable = False
        pose._p, pose._R, pose._quat = p, R, None
        return pose

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._p, self._R, self._quat)

    @property
    def p(self) -> np.ndarray:
        """The origin of the placed frame, (..., 3), in the reference frame."""
        return self._p

    @property
    def R(self) -> np.ndarray:
        """The axes of the placed frame as columns, (..., 3, 3), in the reference frame."""
        return self._R

    @property
    def quat(self) -> np.ndarray:
        """The unit quaternion (w, x, y, z), (..., 4), from coordinates of the placed frame to the reference frame."""
        if self._quat is None:
            flat = [quaternion.from_rotation(R) for R in self._R.reshape(-1, 3, 3)]
            self._quat = np.array(flat).reshape(*self._R.shape[:-2], 4)
            self._quat.flags.writeable = False
        return self._quat

    def euler(self, sequence: str) -> np.ndarray:
        """Return the three angles (..., 3) for which Pose(euler=(sequence, angles)) has these axes.

        The middle angle lies within 90 degrees, or between 0 and 180 degrees where the last axis is the first. At its
        ends only the sum or difference of the others is determined, and one of them is zero.
        """
        letters = _euler_letters(sequence)
        if len(letters) != 3:
            raise ModelError(f"Pose: the sequence {sequence!r} has {len(letters)} axes; all axes take three.")
        from scipy.spatial.transform import Rotation

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it tells of the ends, as we do above
            found = Rotation.from_matrix(self._R.reshape(-1, 3, 3)).as_euler(sequence)
        return np.asarray(found, dtype=np.float64).reshape(self._p.shape)

    def inverse(self) -> Pose:
        """Return the pose of the reference frame in the placed frame."""
        turned = np.ascontiguousarray(self._R.swapaxes(-1, -2))
        return Pose.unchecked(-_applied(turned, self._p), turned)

    def matrix(self) -> np.ndarray:
        """Return the homogeneous matrices [[R, p], [0, 1]], (..., 4, 4)."""
        result = np.zeros((*self._p.shape[:-1], 4, 4))
        result[..., :3, :3] = self._R
        result[..., :3, 3] = self._p
        result[..., 3, 3] = 1.0
        return result

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (..., 4, 4) of the homogeneous matrices."""
        return (*self._p.shape[:-1], 4, 4)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.matrix() if dtype is None else self.matrix().astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        """Return entries of the homogeneous matrices (..., 4, 4)."""
        return self.matrix()[index]

    @overload
    def __mul__(self, other: Pose) -> Pose: ...
    @overload
    def __mul__(self, other: np.ndarray | Sequence[float]) -> np.ndarray: ...
    def __mul__(self, other: Pose | np.ndarray | Sequence[float]) -> Any:
        """Return the pose of a frame placed in this one, or a point (3,) of this one in the reference."""
        if isinstance(other, Pose):
            return Pose.unchecked(self._p + _applied(self._R, other._p), self._R @ other._R)
        return self._p + _applied(self._R, _numbers("point", other, (3,)))

    def allclose(self, other: Pose, atol: float = 1e-9) -> bool:
        """Return whether no entry of `p` or `R` differs by more than `atol`."""
        return bool(np.abs(self._p - other._p).max() <= atol and np.abs(self._R - other._R).max() <= atol)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return np.array_equal(self._p, other._p) and np.array_equal(self._R, other._R)

    def __hash__(self) -> int:
        # Adding zero makes -0.0 and 0.0, which compare equal, hash equal.
        return hash(((self._p + 0.0).tobytes(), (self._R + 0.0).tobytes()))

    def __repr__(self) -> str:
        if self._p.ndim > 1:
            return f"<{' x '.join(map(str, self._p.shape[:-1]))} poses>"
        if np.array_equal(self._R, np.eye(3)):
            return f"Pose(p={tuple(self._p.tolist())})"
        return f"Pose(p={tuple(self._p.tolist())}, quat={tuple(self.quat.tolist())})"


def is_one_pose(value: object) -> TypeGuard[Pose]:
    """Return whether something is the pose of a frame in one state, not in a batch of them."""
    return isinstance(value, Pose) and value.p.ndim == 1


def _applied(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """R p for matrices (..., 3, 3) and points (..., 3)."""
    return R @ p if R.ndim == 2 and p.ndim == 1 else (R @ p[..., None])[..., 0]


def _restored(p: np.ndarray, R: np.ndarray, quat: np.ndarray | None) -> Pose:
    """Return a pose from a pickle."""
    pose = Pose.unchecked(p, R)
    if quat is not None:
        quat.flags.writeable = False
        pose._quat = quat
    return pose


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a new float array, or say what is wrong with it."""
    try:
        result = np.array(real_array(value))
    except ValueError as error:
        raise ModelError(
            f"Pose: {name} = {shown(value)} is not made of real numbers ({error}); give shape {shape}."
        ) from error
    if result.shape != shape:
        raise ModelError(f"Pose: {name} has shape {result.shape}; it must have shape {shape}.")
    if not np.isfinite(result).all():
        raise ModelError(
            f"Pose: {name} = {result.tolist()} is not finite; every entry must be a finite number."
        )
    return result


def _unit_quaternion(quat: Any) -> np.ndarray:
    q = _numbers("quat", quat, (4,))
    length = float(np.sqrt(q @ q))
    if abs(length - 1.0) > ROTATION_TOLERANCE:
        raise ModelError(
            f"Pose: quat = {q.tolist()} has length {length:.9g}; a rotation (w, x, y, z) has length 1: "
            "normalise it."
        )
    return q / length


def _from_rpy(rpy: np.ndarray) -> np.ndarray:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _euler_letters(sequence: Any) -> str:
    """Return the axes of a sequence of one to three turns, each about another axis than the one before."""
    known = isinstance(sequence, str) and (set(sequence) <= set("xyz") or set(sequence) <= set("XYZ"))
    if not known or not 1 <= len(sequence) <= 3 or any(x == y for x, y in zip(sequence, sequence[1:])):
        raise ModelError(
            f"Pose: the sequence of euler is {shown(sequence)}; give one to three letters such as 'ZYZ' for axes that "
            "turn with the frame or 'xyz' for fixed ones, no two neighbours the same."
        )
    return sequence.lower()


def _from_euler(euler: Any) -> np.ndarray:
    """R of successive turns; about fixed axes the first turn stands last in the product."""
    if not isinstance(euler, tuple | list) or len(euler) != 2:
        raise ModelError(f"Pose: euler = {shown(euler)}; give a pair such as ('ZYZ', (0.1, 0.2, 0.3)).")
    letters = _euler_letters(euler[0])
    angles = _numbers("the angles of euler", np.atleast_1d(real_array(euler[1])), (len(letters),))
    turns = [
        _from_rpy(angle * np.eye(3)["xyz".index(letter)])
        for letter, angle in zip(letters, angles, strict=True)
    ]
    R = np.eye(3)
    for turn in turns if euler[0].isupper() else reversed(turns):
        R = R @ turn
    return R


def _rotation_matrix(matrix: Any) -> np.ndarray:
    R = _numbers("R", matrix, (3, 3))
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > ROTATION_TOLERANCE:
        raise ModelError(
            f"Pose: the columns of R are not orthonormal (R^T R differs from the identity by {error:.3g}); "
            "give the axes of the placed frame as orthonormal columns."
        )
    if np.linalg.det(R) < 0:
        raise ModelError("Pose: R has determinant -1, which is a reflection; give right-handed axes.")
    return R if error < 1e-14 else quaternion.rotation(quaternion.from_rotation(R))
