"""The SDOF joint: a sequence of elementary motions (van der Merwe, chapter 2).

Its coordinates are the angles of up to three successive rotations, each about an axis perpendicular to the one before.
R = rot(a1, x1) rot(a2, x2) rot(a3, x3) gives a1 . R a3 = a1 . rot(a2, x2) a3 = A cos x2 + B sin x2 with A = a1 . a3 and
B = a1 . (a2 x a3), so that x2 = phi +- delta, tan phi = B / A. The first angle then turns rot(a2, x2) a3 onto R a3, and
the last is what is left. Euler angles of all twelve kinds are among them: about three different axes phi is +-90
degrees, and where the last axis is the first phi is 0. Numbers or symbols.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.joints import nearest
from catena.joints.axes import NAMED
from catena.joints.contract import HINGE, SLIDE, JointKind, SimpleMotion, counted_on, in_order, number
from catena.joints.nearest import angle_about
from catena.spatial import Motion, MotionSpace, Transform, cross, is_symbolic, spd_inverse
from catena.spatial.scalars import Scalar, Scalars, array, atan2, less, sqrt, where
from catena.validation import is_one_of, shown

ROTATIONS = ("rx", "ry", "rz")
MOTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")
# Motions whose axes come together nearer than this wherever the joint stands are not independent: S has rounding left.
INDEPENDENT = 1e-9


@dataclass(frozen=True, init=False)
class Sdof(JointKind):
    """Elementary motions one after the other, each along an axis of the frame the previous ones have reached.

    `Sdof("ry", "rz", "dx")` turns about y, then about the new z, then slides along the new x. Any sequence of rx,
    ry, rz, dx, dy, dz whose motions are independent will do, and axes may come again: `Sdof("rz", "ry", "rz")`. A
    motion with a number stands still: `Sdof("rx", ("rz", 0.5), "dx")` slides along an axis that lies 0.5 rad off the
    one it turns about. q has one angle or displacement per motion that moves, in their order, and v = dq/dt. Both
    joint frames coincide at q = 0, whatever stands still. Where two axes fall together (the middle one of three
    rotations at 90 degrees, or at 0 where the last axis is the first) S loses rank; nothing else fails there.
    """

    sequence: tuple[str | tuple[str, Scalar], ...]

    def __init__(self, *motions: str | tuple[str, Scalar]) -> None:
        object.__setattr__(self, "sequence", tuple(_checked(motion) for motion in motions))
        if not self.motions:
            raise ModelError(
                "Sdof: no motion was given; name one or more of rx ry rz dx dy dz, or use Fixed."
            )
        if self.nv > 1 and not is_symbolic(self.params()):
            _check_independence(self)

    @property
    def motions(self) -> tuple[str, ...]:
        """The names of the motions that move, in their order."""
        return tuple(motion for motion in self.sequence if isinstance(motion, str))

    @property
    def nq(self) -> int:
        return len(self.motions)

    @property
    def nv(self) -> int:
        return len(self.motions)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return (
            "Sdof",
            *(motion if isinstance(motion, str) else f"{motion[0]} held" for motion in self.sequence),
        )

    @property
    def letters(self) -> str:  # type: ignore[override]
        return "".join("R" if motion in ROTATIONS else "P" for motion in self.motions)

    @property
    def words(self) -> str:  # type: ignore[override]
        if self.nv > 1:
            return "turns (R) and slides (P) in this order"
        return "revolute" if self.letters == "R" else "prismatic"

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return self.motions if self.nv > 1 else ("",)

    def params(self) -> tuple[float, ...]:
        """Return the values of what stands still, in their order."""
        return tuple(motion[1] for motion in self.sequence if not isinstance(motion, str))

    def with_params(self, params: Sequence[Scalar]) -> Sdof:
        values = iter(params)
        return Sdof(*(x if isinstance(x, str) else (x[0], next(values)) for x in self.sequence))

    def transform(self, q: np.ndarray) -> Transform:
        X = Transform.identity()
        for motion, x in self._steps(q):
            X = _elementary(motion, x) * X
        return self._held.inverse() * X if self.params() else X

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        """Return the axis of each motion, carried through the motions after it."""
        columns: list[Motion] = []
        for step, (motion, x) in zip(self.sequence, self._steps(q), strict=True):
            X = _elementary(motion, x)
            columns = [X * column for column in columns]
            if isinstance(step, str):
                columns.append(_axis(motion))
        if self.params():
            back = self._held.inverse()
            columns = [back * column for column in columns]
        return MotionSpace.from_columns(columns)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        """Return the sum over the motions of (its twist) x (the twists of the motions after it)."""
        twists = [column * x for column, x in zip(self.motion_space(q).columns(), v, strict=True)]
        later, total = twists[-1], Motion.zero()
        for twist in reversed(twists[:-1]):
            total = total + cross(twist, later)
            later = later + twist
        return total

    @property
    def wraps(self) -> tuple[int, ...]:
        return tuple(k for k, motion in enumerate(self.motions) if motion in ROTATIONS)

    @property
    def finds_coordinates_of_symbols(self) -> bool:  # type: ignore[override]
        """Whether the rotation alone tells the angles, by formulas: it does for at most three turns that follow each
        other about different axes, with no rotation held between them."""
        rotations = [step for step in self.sequence if step in ROTATIONS or step[0] in ROTATIONS]
        turns = [k for k, step in enumerate(rotations) if isinstance(step, str)]
        followed = all(second - first == 1 for first, second in zip(turns, turns[1:]))
        names = [rotations[k] for k in turns]
        return len(turns) <= 3 and followed and all(x != y for x, y in zip(names, names[1:]))

    def coordinates(self, X: Transform) -> np.ndarray:
        """Return the q (nq,) with the angles from the rotation alone, then displacements by linear least squares."""
        if not self.finds_coordinates_of_symbols:
            return nearest.coordinates(self, X)
        return self._turned(X, angles_of_turns(self._turn_axes, X))

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        """Return the q (nq,) with angles counted on from those of `near`; three of them reach each place in two ways,
        of which the nearer one is taken."""
        if not self.finds_coordinates_of_symbols:
            q = nearest.coordinates(self, X, start=near)
            return array([counted_on(x, near[k]) if k in self.wraps else x for k, x in enumerate(q)])
        there = [near[k] for k in self.wraps]
        ways = [
            [counted_on(x, y) for x, y in zip(angles_of_turns(self._turn_axes, X, other), there, strict=True)]
            for other in ((False, True) if len(there) == 3 else (False,))
        ]
        if len(ways) == 1:
            return self._turned(X, ways[0])
        far, near_by = (sum((x - y) * (x - y) for x, y in zip(way, there, strict=True)) for way in ways)
        return self._turned(X, [where(less(near_by, far), y, x) for x, y in zip(*ways, strict=True)])

    @property
    def _held(self) -> Transform:
        """The transform of all that stands still, which is where the motions would lead at q = 0."""
        X = Transform.identity()
        for motion, x in self._steps(np.zeros(self.nq)):
            X = _elementary(motion, x) * X
        return X

    def _steps(self, q: Sequence[Any] | np.ndarray) -> Iterator[tuple[str, Scalar]]:
        """The name and the value of every motion in order, of those that stand still too."""
        values = iter(q)
        for step in self.sequence:
            yield (step, next(values)) if isinstance(step, str) else step

    def screws(self) -> list[tuple[str, Scalars, Scalars]]:
        """Return (name, axis (3,), a point of it (3,)) of each motion that moves, in the joint frame at q = 0: what
        stands still before a motion places its axis."""
        X, found = Transform.identity(), []
        for step in self.sequence:
            if isinstance(step, str):
                found.append((step, X.R.T @ np.array(NAMED[step[1]]), X.p))
            else:
                X = _elementary(*step) * X
        return found

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...] | None:
        screws = self.screws()
        if is_symbolic(self.params()) or any(np.any(point) for name, _, point in screws if name in ROTATIONS):
            return None  # axes that do not pass through one point
        return in_order(*((HINGE if name in ROTATIONS else SLIDE, axis) for name, axis, _ in screws))

    @property
    def _turn_axes(self) -> list[Any]:
        return [axis.tolist() for name, axis, _ in self.screws() if name in ROTATIONS]

    def _turned(self, X: Transform, turned: Sequence[Any]) -> np.ndarray:
        """Return the coordinates with these angles: displacements are found by linear least squares."""
        angles = iter(turned)
        R: Any = np.eye(3)
        # Where the last frame of the sequence lies; what is held moves it besides the slides.
        rest = X.p + X.R.T @ self._held.p if self.params() else X.p
        found: list[Any] = []
        slides: list[int] = []
        directions: list[list[Any]] = []
        for step in self.sequence:
            name = step if isinstance(step, str) else step[0]
            direction = R @ np.array(NAMED[name[1]])
            if name in ROTATIONS:
                x = next(angles) if isinstance(step, str) else step[1]
                R = R @ _elementary(name, x).R.T
                if isinstance(step, str):
                    found.append(x)
            elif isinstance(step, str):
                slides.append(len(found))
                found.append(0.0)
                directions.append(direction.tolist())
            else:
                rest = rest - array([x * step[1] for x in direction])
        if slides:
            rows = array(directions)
            # Slides along axes that a rotation has brought together share what they move.
            gram = rows @ rows.T + 1e-14 * np.eye(len(slides))
            for k, x in zip(slides, (spd_inverse(gram) @ (rows @ rest)).tolist(), strict=True):
                found[k] = x
        return array(found)


def _checked(motion: Any) -> str | tuple[str, Scalar]:
    """Return a motion that moves, or one that stands still with its value, as it was given."""
    name, *value = motion if isinstance(motion, tuple | list) and len(motion) == 2 else (motion,)
    if not is_one_of(name, MOTIONS):
        raise ModelError(
            f"Sdof: motion {shown(motion)} is not known; use rx, ry, rz, dx, dy or dz, or a pair such as ('rz', 0.5) "
            "for one that stands still."
        )
    return (name, number(f"the value of {name}, which stands still,", value[0], "Sdof")) if value else name


@lru_cache(maxsize=256)
def _check_independence(kind: Sdof) -> None:
    """Raise a ModelError unless there are places at which all motions are independent."""
    rng = np.random.default_rng(0)
    places = rng.uniform(-1.0, 1.0, (4, kind.nq))
    least = max(np.linalg.svd(kind.motion_space(q).array)[1][: kind.nv].min(initial=1.0) for q in places)
    if kind.nv > 6 or least < INDEPENDENT:
        said = " ".join(
            step if isinstance(step, str) else f"({step[0]} {step[1]:.6g})" for step in kind.sequence
        )
        raise ModelError(
            f"Sdof: of the {kind.nv} motions {said} some are the same wherever the joint stands: leave one of them "
            "out, or put another motion between them."
        )


def _elementary(motion: str, x: Any) -> Transform:
    """Return the transform of one rotation or displacement."""
    if motion in ROTATIONS:
        return Transform.rotation(NAMED[motion[1]], x)
    return Transform.translation(array([x if letter == motion[1] else 0.0 for letter in "xyz"]))


def _axis(motion: str) -> Motion:
    """Return the unit twist of one rotation or displacement."""
    return Motion(np.eye(6)[MOTIONS.index(motion)])


# Below this sine the last axis lies on the first one, and only the sum of their angles is determined.
LOCKED = 1e-9


def angles_of_turns(axes: Sequence[Any], X: Transform, other: bool = False) -> list[Any]:
    """Return the angles about `axes` (at most three unit vectors) whose rotation is that of X, or near it where fewer
    than three axes cannot reach it.

    Three axes reach a rotation in two ways: the first has the middle angle within 90 degrees, or between 0 and 180
    degrees where the last axis is the first; `other` asks for the second.
    """
    if len(axes) < 2:
        return [angle_about(axis, X) for axis in axes]
    a1, a2 = array(axes[0]), array(axes[1])
    R = X.R.T
    # The first angle alone turns the second axis.
    first = _angle_between(a1, a2, R @ a2)
    if len(axes) == 2:
        return [first, _rest(axes, [first], X)]
    a3 = array(axes[2])
    reached = R @ a3
    aside = np.cross(a1, reached)
    phi = atan2(a1 @ np.cross(a2, a3), a1 @ a3)
    delta = atan2(sqrt(aside @ aside), a1 @ reached)
    middle = phi + where(less(phi, 0.5), 1.0, -1.0) * (-delta if other else delta)
    turned = _angle_between(a1, Transform.rotation(axes[1], middle).R.T @ a3, reached)
    angles = [where(less(aside @ aside, LOCKED * LOCKED), first, turned), middle]
    return [*angles, _rest(axes, angles, X)]


def _angle_between(a: np.ndarray, u: np.ndarray, w: np.ndarray) -> Any:
    """Return the angle about `a` that turns the part of u across a onto that of w."""
    return atan2(a @ np.cross(u, w), u @ w - (a @ u) * (a @ w))


def _rest(axes: Sequence[Any], angles: Sequence[Any], X: Transform) -> Any:
    """Return the last angle: that about the last axis nearest to what the others leave of X."""
    for axis, x in zip(axes, angles):
        X = X * Transform.rotation(axis, x).inverse()
    return angle_about(axes[len(angles)], X)
