"""The joint contract: everything the rest of Catena knows about a kind of joint.

A kind describes how a child-side joint frame moves in a parent-side joint frame. A kind has to say how many
coordinates it has and what its transform is; every other method has a default derived from these two, which a
kind may replace by something better. Arguments are arrays of shape (nq,) and (nv,), of numbers or of CasADi
symbols, unless a method says "numbers".

To add a kind, subclass `JointKind` in a file of your own, define `nq`, `nv` and `transform` with the
functions of `catena.spatial.scalars`, and run `catena.joints.check_joint_kind` on an instance. Kinds are
compared and hashed, so make them frozen dataclasses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError, StateError
from catena.joints.axes import Direction
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, is_symbolic, orthogonal_complement
from catena.spatial.pose import ROTATION_TOLERANCE
from catena.spatial.scalars import Scalar, Scalars, array, floor
from catena.validation import real_number, shown

HINGE, SLIDE, BALL, FREE = "hinge", "slide", "ball", "free"


@dataclass(frozen=True)
class SimpleMotion:
    """One simple motion of a joint: its type, its axis (3,) in the joint frame at q = 0, and the component of the
    joint's coordinates that it is. Axes of hinges pass through the origin of the joint frame."""

    type: str
    axis: NDArray[np.float64]
    component: int


def in_order(*motions: tuple[str, Any]) -> tuple[SimpleMotion, ...]:
    """Return motions of these types and axes, one after the other."""
    return tuple(SimpleMotion(word, np.array(axis), k) for k, (word, axis) in enumerate(motions))


def reversed_motions(motions: tuple[SimpleMotion, ...] | None) -> tuple[SimpleMotion, ...] | None:
    """Return the motions of a joint as they are seen from its other side; None where there are none to tell."""
    if motions is None:
        return None
    return tuple(SimpleMotion(one.type, -one.axis, one.component) for one in reversed(motions))


IDENTITY = np.eye(3)
IDENTITY.flags.writeable = False


class JointKind(ABC):
    """A kind of joint: the motions it allows, and the coordinates that describe them."""

    finds_coordinates_of_symbols: ClassVar[bool] = False
    """Whether `coordinates` takes symbols too, so that a loop closed by this kind can be compiled although its
    constraint space varies."""
    drawn_as: ClassVar[str] = "motions"
    """What pictures show: a "hinge", "slide", "sleeve", "screw", "cross", "ball", "plate" or "block" that lies along
    `drawn_along`, "none", or by default a shape for each of its "motions"."""
    letters: ClassVar[str] = ""
    """What diagrams write on the joint, such as "R"; the name of the class where there is none."""
    words: ClassVar[str] = ""
    """What the letters stand for."""

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        """The axes in the joint frame that what is drawn lies along: the second one of a "cross" is the child's."""
        return ()

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """The names (nv) of the velocity components, "" where there is one only."""
        return _numbered(self.nv)

    @property
    def position_names(self) -> tuple[str, ...]:
        """The names (nq) of the coordinates, "" where there is one only."""
        return self.velocity_names if self.nq == self.nv else _numbered(self.nq)

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...] | None:
        """The hinges, slides and balls that the kind consists of, from parent to child; None, the default, where it is
        no row of such motions."""
        return None

    def consists_of(self, *types: str) -> bool:
        """Return whether the kind is a row of simple motions of these types, in this order."""
        motions = self.simple_motions
        return motions is not None and tuple(one.type for one in motions) == types

    @property
    def is_floating(self) -> bool:
        """Whether nothing is held and velocities are twists, so that bases float by the kind."""
        return False

    @property
    def quaternion_start(self) -> int | None:
        """Where a unit quaternion (w, x, y, z) begins in q; None, the default, where there is none."""
        return None

    @property
    def plane_normal(self) -> Direction | None:
        """The normal of the plane in which the kind lets the child move as it likes; None, the default, for others."""
        return None

    @property
    def is_modal(self) -> bool:
        """Whether the coordinates are modes of a flexible body."""
        return False

    @property
    def follows(self) -> bool:
        """Whether the coordinates are those of another node: all points of a flexible body share its modes."""
        return False

    @property
    def is_particle(self) -> bool:
        """Whether the node is a point with mass of a flexible body, at which nothing attaches."""
        return False

    @property
    @abstractmethod
    def nq(self) -> int:
        """The number of position coordinates."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """The number of velocity coordinates, which is the number of degrees of freedom."""

    @abstractmethod
    def transform(self, q: np.ndarray) -> Transform:
        """Return the transform from the parent-side to the child-side frame; identity at `neutral()`."""

    @property
    def signature(self) -> tuple[Hashable, ...]:
        """The name of the code this kind needs: two kinds with equal signatures differ only in `params()`.

        By default the class, and its attributes unless `params` declares them to be data.
        """
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        if type(self).params is not JointKind.params:
            return (name,)
        return (name, *(f"{key}={value!r}" for key, value in sorted(getattr(self, "__dict__", {}).items())))

    def params(self) -> tuple[float, ...]:
        """Return the numbers that are data to the compiled code, such as a pitch."""
        return ()

    def with_params(self, params: Sequence[Scalar]) -> Self:
        """Return this kind with the entries of `params()` replaced by these numbers or symbols."""
        if len(params):
            raise ModelError(f"{type(self).__name__} has no parameters, but {len(params)} were given.")
        return self

    @property
    def rotor(self) -> np.ndarray | None:
        """The inertias (nv,) of rotors that are geared to the joint; None where there are none."""
        return None

    def rotor_fault(self, armature: np.ndarray) -> str | None:
        """Return why rotors with these inertias (nv,), not all zero, cannot be geared to the joint; None if they can.

        Rotors have the energy armature v^2 / 2. Where v is dq/dt, armature dv/dt is all that they take, and energy
        and momentum hold. Where it is not, as for angular velocities in turning axes, the same energy takes gyroscopic
        forces too, which rotors on shafts do not have: such a kind takes no rotors unless it says otherwise. Numbers.
        """
        if type(self).rate is JointKind.rate:
            return None
        return "its velocities are no rates of coordinates, so no rotor turns with one of them"

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        """Return (R, kind) such that this motion is that of `kind`, with axis z, in axes turned by R (3, 3).

        The pose of the child in the parent is R motion(q) R^T, with the same q and v. R takes canonical
        coordinates to coordinates of the joint frame.
        """
        return IDENTITY, self

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        """Return S (6 x nv): the twist of the child relative to the parent is S v, in child-side coordinates.

        By default the exact derivative of `transform` along `rate`.
        """
        from catena.joints import derivatives

        return derivatives.motion_space(self, q)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        """Return Sdot v, the rate of S v as its child-side coordinates see it while v stays the same.

        By default the exact derivative of `motion_space` along `rate`.
        """
        from catena.joints import derivatives

        return derivatives.bias(self, q, v)

    def restoring(self, q: np.ndarray) -> Scalars | None:
        """Return the joint force (nv,) that holds the joint away from its neutral position; None, the default, if the
        kind has no stiffness of its own."""
        return None

    def energy(self, q: Scalars) -> Scalar:
        """Return the energy that `restoring` takes from what moves, zero by default."""
        return 0.0

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        """Return the forces the joint resists, 6 x (6 - nv) of full rank, S^T of which is zero.

        By default an orthonormal complement of `motion_space`, which has full rank even where S has not.
        """
        return ForceSpace(orthogonal_complement(self.motion_space(q).array))

    @property
    def has_constant_constraint_space(self) -> bool:
        """Whether `constraint_space` is the same wherever the joint stands. Numbers."""
        here = self.constraint_space(self.neutral()).array
        rng = np.random.default_rng(0)
        places = (self.integrate(self.neutral(), rng.uniform(-1.0, 1.0, self.nv)) for _ in range(2))
        return all(np.array_equal(here, self.constraint_space(q).array) for q in places)

    @property
    def has_constant_motion_space(self) -> bool:
        """Whether `motion_space` is the same wherever the joint stands. Numbers."""
        here = self.motion_space(self.neutral()).array
        there = self.integrate(self.neutral(), np.linspace(0.3, 0.9, self.nv))
        return np.array_equal(here, self.motion_space(there).array)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dq/dt (nq,) at q (nq,) with velocity `v` (nv,); by default v itself."""
        self._plain("rate")
        return v

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return q (+) v (nq,), the position reached from q (nq,) with constant `v` (nv,) in unit time; by default q +
        v."""
        self._plain("integrate")
        return q + v

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dxi/dt at velocity `v` for the local coordinates xi (nv,) of q = q0 (+) xi; by default v itself."""
        if self.nv > 1:
            self._plain("local_rate")
        return v

    @property
    def turning(self) -> tuple[int, ...]:
        """The velocity components whose local coordinates are good only short of half a turn; by default none where
        positions are plain numbers, and all elsewhere."""
        return () if self.nq == self.nv else tuple(range(self.nv))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the v for which integrate(q0, v) is the position q1; by default q1 - q0."""
        self._plain("difference")
        return q1 - q0

    def coordinates(self, X: Transform) -> np.ndarray:
        """Return the q (nq,) whose transform is nearest to `X`. Numbers. By default found by Newton iterations."""
        from catena.joints import nearest

        return nearest.coordinates(self, X)

    @property
    def wraps(self) -> tuple[int, ...]:
        """The coordinates that are angles, of which whole turns more or less are the same place. By default those for
        which that is so where it is tried; a kind with `params` says it itself."""
        if self.nq != self.nv or self.params():
            return ()
        rng, found = np.random.default_rng(0), []
        places = [self.integrate(self.neutral(), rng.uniform(-1.0, 1.0, self.nv)) for _ in range(2)]
        for k in range(self.nq):
            turn = math.tau * np.eye(self.nq)[k]
            pairs = [(self.transform(q), self.transform(q + turn)) for q in places]
            if all(np.allclose([*x.entries()], [*y.entries()], rtol=0.0, atol=1e-9) for x, y in pairs):
                found.append(k)
        return tuple(found)

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        """Return those of the `coordinates` of `X` that are nearest to the position `near` (nq,), where whole turns
        make a difference: angles are counted on from there. By default turns are added to those that `wraps` names."""
        q = self.coordinates(X)
        return array([counted_on(x, near[k]) if k in self.wraps else x for k, x in enumerate(q)])

    def neutral(self) -> np.ndarray:
        """Return the q (nq,) at which both joint frames coincide. Numbers."""
        return np.zeros(self.nq)

    def flip(self) -> JointKind:
        """Return the same joint seen from its child: the inverse transform for the same q, in the same v."""
        from catena.joints.flipped import Flipped

        return Flipped(self)

    def check(self, q: np.ndarray, joint: str = "") -> None:
        """Raise a StateError unless `q` (..., nq) holds positions of the joint called `joint`. Numbers."""
        who = f"joint {joint!r}" if joint else type(self).__name__
        if np.shape(q)[-1:] != (self.nq,):
            raise StateError(f"{who}: q has shape {np.shape(q)}; its last dimension must be {self.nq}.")
        if not np.isfinite(q).all():
            raise StateError(f"{who}: q has an entry that is not finite; all must be finite.")

    def _plain(self, method: str) -> None:
        if self.nq != self.nv:
            raise NotImplementedError(
                f"{type(self).__name__} has nq = {self.nq} and nv = {self.nv}, so it must define {method}."
            )


def _numbered(count: int) -> tuple[str, ...]:
    return ("",) if count == 1 else tuple(str(k + 1) for k in range(count))


def counted_on(angle: Any, near: Any) -> Any:
    """Return the angle with as many whole turns more or less as bring it next to another one."""
    return angle + math.tau * floor((near - angle) / math.tau + 0.5)


def check_unit_quaternion(q: np.ndarray, who: str) -> None:
    """Raise a StateError unless the quaternions `q` (..., 4) have length 1 within `ROTATION_TOLERANCE`."""
    length = np.sqrt((np.asarray(q) ** 2).sum(axis=-1))
    if (np.abs(length - 1.0) > ROTATION_TOLERANCE).any():
        worst = float(np.ravel(length)[np.argmax(np.abs(np.ravel(length) - 1.0))])
        raise StateError(
            f"{who}: the quaternion (w, x, y, z) in q has length {worst:.9g}; it must have length 1: "
            "normalise it."
        )


def number(name: str, value: Any, owner: str) -> Any:
    """Return `value` as a finite float, or unchanged when it is a symbol; otherwise raise a ModelError."""
    if is_symbolic(value):
        return value
    try:
        result = real_number(value)
    except ValueError as error:
        raise ModelError(
            f"{owner}: {name} = {shown(value)} is no real number ({error}); give one."
        ) from error
    if not np.isfinite(result):
        raise ModelError(f"{owner}: {name} = {result} is not finite; give a finite number.")
    return result
