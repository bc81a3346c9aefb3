"""Tips of chains in contact with supports of known motion, as plain frozen data (van der Merwe, section 5.2.4).

A contact divides the relative motion of tip and support into free directions phi and constrained directions phi^c. What
is prescribed along phi^c is a motion, what is known along phi a force; both may be numbers, or functions of the time.
`TipContact.at` is what they are at one instant, and `tip_forces` finds what passes through contacts then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import ModelError, StateError
from catena.spatial import Pose, is_one_pose, orthogonal_complement
from catena.validation import can_take, is_finite, is_not_negative, is_one_of, real_array, shown

OverTime = Callable[..., ArrayLike]
"""A function of the time, or of (t, q, v)."""
DIRECTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")


@dataclass(frozen=True, eq=False)
class Support:
    """A surface or body in the environment whose motion is prescribed; at rest in ground unless told otherwise.

    `pose` places its frame in ground, `twist` (6,) or (..., 6) is [angular velocity; velocity of its origin] and
    `acceleration` the same of accelerations, both in ground axes.
    """

    pose: Pose = field(default_factory=Pose)
    twist: ArrayLike = (0.0,) * 6
    acceleration: ArrayLike = (0.0,) * 6

    def __post_init__(self) -> None:
        if not is_one_pose(self.pose):
            raise ModelError(f"a support's pose is {shown(self.pose)}; give Pose(p=..., quat=...).")
        for what in ("twist", "acceleration"):
            object.__setattr__(self, what, _finite(f"a support's {what}", getattr(self, what), 6))

    @staticmethod
    def along(path: object) -> MovingSupport:
        """Return the support whose frame follows a `PosePath`, or any other reference of a `Free` joint: a function of
        the time."""
        return MovingSupport(path)


@dataclass(frozen=True)
class MovingSupport:
    """A support whose frame follows a path: q = (x, y, z, quaternion), v and vdot [angular; linear] in its own axes."""

    path: object

    def __post_init__(self) -> None:
        if not callable(getattr(self.path, "at", None)):
            raise ModelError(f"a support's path is {shown(self.path)}; give a PosePath.")

    def __call__(self, t: float) -> Support:
        path: Any = self.path
        q, v, vdot = (np.asarray(x, dtype=np.float64) for x in path.at(t))
        pose = Pose(p=q[:3], quat=q[3:])
        w, u = pose.R @ v[:3], pose.R @ v[3:]
        linear = pose.R @ vdot[3:] + np.cross(w, u)
        return Support(pose, np.concatenate([w, u]), np.concatenate([pose.R @ vdot[:3], linear]))


@dataclass(frozen=True, eq=False)
class TipContact:
    """A contact between the origin of a frame of the mechanism, the tip, and a support, which holds in both directions.

    `constrained` names the directions in which the support resists the tip, of "rx", "ry", "rz", "dx", "dy", "dz" in
    the axes of the support, or in those of the tip with axes="tip"; or it is a matrix phi^c (6, n_c). The other
    directions, in that order, are free (for a matrix of others, an orthonormal complement: `free`). Directions
    fixed to a tip that turns are nonholonomic as a rule: TipContact("blade", "dy", axes="tip") is a skate.

    `acceleration` (n_c,) is the prescribed relative acceleration g^c, `force` (6 - n_c,) the known force h that
    the tip exerts in the free directions (class I), `friction` (6 - n_c, n_c) the part of h that grows with the
    constraint forces h^c (class II): h = force + friction h^c. All are zero unless given.

    Over time the relative velocity along the constrained directions is `velocity` (n_c,) at the time `since` [s], and
    grows with the acceleration. Or `motion` says it: a reference, or a function of t that gives position, velocity and
    acceleration, of which the position does not count. `force` and `friction` may be functions of t or of (t, q, v),
    and `support` a function of t, as `Support.along(path)` is. `name` is what a run calls it, that of its frame unless
    given.
    """

    frame: str
    constrained: ArrayLike
    acceleration: ArrayLike | None = None
    force: ArrayLike | OverTime | None = None
    friction: ArrayLike | OverTime | None = None
    support: Support | Callable[[float], Support] = field(default_factory=Support)
    axes: str = "support"
    velocity: ArrayLike | None = None
    since: float = 0.0
    motion: object = None
    name: str = ""
    free: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        who = f"contact at {shown(self.frame)}"
        if not isinstance(self.frame, str):
            raise ModelError(f"{who}: give the name of a frame or body.")
        if not isinstance(self.name, str):
            raise ModelError(f"{who}: name is {shown(self.name)}; give a word.")
        if not isinstance(self.support, Support) and not can_take(self.support, "t"):
            raise ModelError(
                f"{who}: support is {shown(self.support)}: give a Support(pose=...), or a function of t."
            )
        phi_c, phi = _spaces(who, self.constrained)
        n_c = phi_c.shape[1]
        if not is_one_of(self.axes, ("support", "tip")):
            raise ModelError(f"{who}: axes is {shown(self.axes)}: choose 'support' or 'tip'.")
        if not is_finite(self.since):
            raise ModelError(f"{who}: since is {shown(self.since)}; give a time [s].")
        put: dict[str, Any] = {"constrained": phi_c, "free": phi}
        for what, size in (("acceleration", n_c), ("velocity", n_c), ("force", 6 - n_c)):
            value = getattr(self, what)
            if what == "force" and callable(value):
                continue
            put[what] = np.zeros(size) if value is None else _finite(f"{who}: {what}", value, size)
        if not callable(self.friction):
            none = np.zeros((6 - n_c, n_c))
            put["friction"] = none if self.friction is None else self._friction_matrix(self.friction, phi_c)
        if self.motion is not None:
            if put["acceleration"].any() or put["velocity"].any():
                raise ModelError(
                    f"{who}: motion says the velocity and the acceleration; leave the others out."
                )
            if not callable(getattr(self.motion, "at", self.motion)):
                raise ModelError(
                    f"{who}: motion is {shown(self.motion)}; give a reference or a function of t."
                )
        for name, value in put.items():
            object.__setattr__(self, name, value)

    def _friction_matrix(self, value: Any, phi_c: np.ndarray) -> np.ndarray:
        """Return friction as a matrix (..., 6 - n_c, n_c)."""
        who, n_c = f"contact at {shown(self.frame)}", phi_c.shape[1]
        F = _numbers(f"{who}: friction", value)
        if F.shape[-2:] != (6 - n_c, n_c) or not np.isfinite(F).all():
            raise ModelError(
                f"{who}: friction has shape {F.shape}; give a finite matrix with a row for each of the {6 - n_c} free "
                f"and a column for each of the {n_c} constrained directions."
            )
        return F

    @classmethod
    def sliding(cls, frame: str, coefficient: float, slip: ArrayLike, **options: Any) -> Self:
        """Return a point that slides on the support's x-y plane, which it touches from above, with Coulomb friction.

        `slip` is the direction (x, y) in which the tip slides over the support; the support feels `coefficient`
        times the pressure in that direction.
        """
        along = _numbers(f"contact at {frame!r}: slip", slip)
        length = np.linalg.norm(along)
        if along.shape != (2,) or not np.isfinite(length) or length == 0.0:
            raise ModelError(
                f"contact at {frame!r}: slip is {slip!r}; give its direction (x, y) on the support."
            )
        if not is_not_negative(coefficient):
            raise ModelError(
                f"contact at {frame!r}: the coefficient of friction is {coefficient}; it must be >= 0."
            )
        friction = np.zeros((5, 1))
        friction[3:, 0] = -coefficient * along / length  # h^c is negative under pressure
        return cls(frame, ("dz",), friction=friction, **options)

    @property
    def contact_class(self) -> int:
        """1 if the forces in the free directions are known, 2 if they depend on the constraint forces."""
        return 2 if callable(self.friction) or np.any(self.friction) else 1

    @property
    def phi_c(self) -> np.ndarray:
        """The constrained directions as a matrix (6, n_c)."""
        return np.asarray(self.constrained)

    @property
    def label(self) -> str:
        """Its name, or that of its frame."""
        return self.name or self.frame

    def at(self, t: float, q: np.ndarray, v: np.ndarray) -> TipInstant:
        """Return what is prescribed and known at a time t [s] and the states q (..., nq), v (..., nv)."""
        n_c = self.phi_c.shape[1]
        support = self.support if isinstance(self.support, Support) else self.support(t)
        if not isinstance(support, Support):
            raise StateError(f"{self._when(t)} the support is {shown(support)}; give a Support(pose=...).")
        velocity, acceleration = self._prescribed(t)
        force: Any = self.force
        friction: Any = self.friction
        if callable(force):
            force = self._asked(t, "force", lambda: _finite("it", _called(self.force, t, q, v), 6 - n_c))
        if callable(friction):
            asked = _called(self.friction, t, q, v)
            friction = self._asked(t, "friction", lambda: self._friction_matrix(asked, self.phi_c))
        return TipInstant(self, support, velocity, acceleration, force, friction)

    def _prescribed(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the relative velocity and acceleration (n_c,) along the constrained directions."""
        n_c = self.phi_c.shape[1]
        if self.motion is None:
            rate = np.asarray(self.acceleration)
            return np.asarray(self.velocity) + rate * (t - self.since), rate

        def read() -> tuple[np.ndarray, np.ndarray]:
            moves: Any = self.motion
            given = moves.at(t) if hasattr(moves, "at") else moves(t)
            _, velocity, acceleration = given
            return _finite("its velocity", velocity, n_c), _finite("its acceleration", acceleration, n_c)

        found: tuple[np.ndarray, np.ndarray] = self._asked(t, "motion", read)
        return found

    def _asked(self, t: float, what: str, read: Callable[[], Any]) -> Any:
        """Return what a function of the user gave, or raise with its name and the time."""
        try:
            return read()
        except (ModelError, TypeError, ValueError) as error:
            raise StateError(f"{self._when(t)} the {what} is not what it must be: {error}") from error

    def _when(self, t: float) -> str:
        return f"contact at {self.label!r}, t = {t:.9g} s:"


@dataclass(frozen=True, eq=False)
class TipInstant:
    """A contact at one instant: its `support`, the relative `velocity` and `acceleration` (..., n_c) that are
    prescribed, the known `force` (..., 6 - n_c) and the matrix of `friction` (..., 6 - n_c, n_c)."""

    contact: TipContact
    support: Support
    velocity: np.ndarray
    acceleration: np.ndarray
    force: np.ndarray
    friction: np.ndarray


def _called(function: Any, t: float, q: np.ndarray, v: np.ndarray) -> Any:
    """Return what a function of (t, q, v), or of t, gives."""
    return function(t, q.copy(), v.copy()) if can_take(function, "t", "q", "v") else function(t)


def _spaces(who: str, constrained: Any) -> tuple[np.ndarray, np.ndarray]:
    """phi^c (6, n_c) and phi (6, 6 - n_c) from names or a matrix."""
    if isinstance(constrained, str):
        constrained = (constrained,)
    if isinstance(constrained, Collection) and all(isinstance(name, str) for name in constrained):
        unknown = [name for name in constrained if name not in DIRECTIONS]
        if unknown or len(set(constrained)) < len(constrained):
            raise ModelError(
                f"{who}: constrained is {constrained!r}: name directions of {DIRECTIONS}, each once."
            )
        order = [DIRECTIONS.index(name) for name in constrained]
        return np.eye(6)[:, order], np.delete(np.eye(6), order, axis=1)
    phi_c = _numbers(f"{who}: constrained", constrained)
    if phi_c.ndim != 2 or phi_c.shape[0] != 6 or not np.isfinite(phi_c).all():
        raise ModelError(
            f"{who}: constrained has shape {phi_c.shape}; give a finite matrix (6, n_c) or names."
        )
    if np.linalg.matrix_rank(phi_c) < phi_c.shape[1]:
        raise ModelError(f"{who}: the columns of constrained depend on each other; leave some out.")
    axes = [np.flatnonzero(column) for column in phi_c.T]
    if all(len(x) == 1 for x in axes) and np.all(phi_c.sum(axis=0) == 1.0):
        return phi_c, np.delete(np.eye(6), np.concatenate([np.zeros(0, dtype=int), *axes]), axis=1)
    return phi_c, np.asarray(orthogonal_complement(phi_c), dtype=np.float64)


def _finite(what: str, value: Any, size: int) -> np.ndarray:
    x = _numbers(what, value)
    if x.ndim == 0 and size == 1:
        x = x[None]
    if x.shape[-1:] != (size,) or not np.isfinite(x).all():
        raise ModelError(f"{what} is {shown(value)}; give {size} finite numbers.")
    return x


def _numbers(what: str, value: Any) -> np.ndarray:
    try:
        return real_array(value)
    except ValueError as error:
        raise ModelError(f"{what} is {shown(value)} ({error}); give numbers.") from error
