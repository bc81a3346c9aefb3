"""Dry friction in proportion to the load of a joint: of a shaft in its bearings, and of a slide in its guide.

What a joint holds against its constraints is carried by two supports on its axis u, each half a span from the
child-side joint frame: N = F / 2 +- (M x u) / span, with the force F and the moment M across the axis; by one support
at that frame where no span is given, and then something that does not rub holds the moment. Each rubs with mu |N|.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from catena.errors import ModelError
from catena.spatial import Force, MotionSpace, Transform, cross3, is_symbolic, spd_inverse
from catena.spatial.scalars import absolute, array, sqrt, where
from catena.validation import is_not_negative, is_positive, shown

NUMBERS = (
    "bear_radial",
    "bear_axial",
    "bear_twist",
    "bear_per_span",
    "bear_flipped",
    "bear_static",
    "bear_fading",
)
"""What compiled code is told of each velocity component: friction for each newton across the axis, along it, and for
each newton metre about it; one over the span; whether the plan has taken the described child for the parent; by which
part friction at rest is more, and the part of this that fades with the slip."""


@dataclass(frozen=True)
class BearingFriction:
    """Dry friction of a turning joint: mu times the `radius` [m] at which it rubs times what its bearings carry across
    the axis, and mu `thrust_radius` times what they carry along it (of a ball joint that is its radius too). Two
    bearings are a `span` [m] apart. At rest `static_mu` counts, mu if None."""

    mu: float
    radius: float
    span: float | None = None
    thrust_radius: float = 0.0
    static_mu: float | None = None

    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self, ("span",))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Return the first four of the `NUMBERS`."""
        return self.mu * self.radius, self.mu * self.thrust_radius, 0.0, _per(self.span)


@dataclass(frozen=True)
class SlideFriction:
    """Dry friction of a sliding joint: mu times what its guide carries across the axis, at two places a `length` [m]
    apart, and a moment about the axis at two rails a `width` [m] apart. At rest `static_mu` counts, mu if None."""

    mu: float
    length: float | None = None
    width: float | None = None
    static_mu: float | None = None

    turns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self, ("length", "width"))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Return the first four of the `NUMBERS`."""
        return self.mu, 0.0, 2.0 * self.mu * _per(self.width), _per(self.length)


LoadFriction = BearingFriction | SlideFriction
TRACE = 1e-300
"""The friction without load [N or N m], which is none, that plans give a joint with friction by load at least: so
whoever asks a plan whether a joint rubs is told that it does."""


def numbers_of(joint: Any, flipped: bool) -> np.ndarray | None:
    """Return the `NUMBERS` of a described joint, (7, nv), None where its load makes no friction."""
    if joint.load_friction is None:
        return None
    fades = joint.stribeck_velocity is not None
    found = np.zeros((len(NUMBERS), joint.kind.nv))
    for k, one in enumerate(joint.load_friction):
        if one is not None:
            more = more_at_rest(one)
            found[:, k] = *one.numbers, float(flipped), more, more if fades else 0.0
    return found


def with_trace(joint: Any) -> np.ndarray:
    """Return the friction (nv,) of a described joint for a plan."""
    if joint.load_friction is None:
        return np.asarray(joint.friction)
    return np.array(
        [x if one is None else max(x, TRACE) for x, one in zip(joint.friction, joint.load_friction)]
    )


def _check(friction: LoadFriction, lengths: tuple[str, ...]) -> None:
    """Raise unless all numbers are finite, lengths positive and others not negative."""
    who = type(friction).__name__
    for item in fields(friction):
        value = getattr(friction, item.name)
        if value is None and item.name in (*lengths, "static_mu"):
            continue
        good = is_positive(value) if item.name in lengths else is_not_negative(value)
        if not good:
            wanted = "a positive number, or None" if item.name in lengths else "zero or more"
            raise ModelError(f"{who}: {item.name} is {shown(value)}: give {wanted}")
        object.__setattr__(friction, item.name, float(value))
    if friction.static_mu is not None and friction.static_mu < friction.mu:
        raise ModelError(
            f"{who}: static_mu is {friction.static_mu:g}, less than mu {friction.mu:g}: give as much or more"
        )
    if friction.static_mu and not friction.mu:
        raise ModelError(f"{who}: static_mu needs mu: give what is left of it where the joint slips")


def _per(length: float | None) -> float:
    return 0.0 if length is None else 1.0 / length


def more_at_rest(friction: LoadFriction) -> float:
    """Return by which part friction at rest is more than that of a slip."""
    return friction.static_mu / friction.mu - 1.0 if friction.static_mu is not None and friction.mu else 0.0


def load_friction(owner: Any, prefix: str, S: MotionSpace, motion: Transform, f: Force) -> np.ndarray:
    """Return the friction (nv,) of a slip that the wrench f through a joint makes, f and the motions S being those at
    its child-side frame in the plan. `motion` is the joint's transform; the owner has the `NUMBERS` of the components
    under names with a prefix."""
    values = [getattr(owner, f"{prefix}{name}") for name in NUMBERS[:5]]
    # What does work along the joint's motions is no load.
    along = spd_inverse(S.array.T @ S.array + 1e-14 * np.eye(S.n)) @ (S.array.T @ f.array)
    held = f.array - S.array @ along
    F, M = array(held[3:]), array(held[:3])
    at_parent = M + cross3(motion.R @ motion.p, F)
    found, turning = [], turning_components(owner.joint)
    for k in range(S.n):
        radial, axial, twist, per_span, flipped = (numbers[k] for numbers in values)
        u = _axis(S.array[:, k], bool(turning[k]))
        moment = array([where(flipped > 0.5, b, a) for a, b in zip(M, at_parent, strict=True)])
        along_axis = F @ u
        half = [0.5 * (f - along_axis * x) for f, x in zip(F, u, strict=True)]
        turn = [x * per_span for x in cross3(moment, u)]
        pairs = list(zip(half, turn, strict=True))
        across = _length([a + b for a, b in pairs]) + _length([a - b for a, b in pairs])
        found.append(radial * across + axial * absolute(along_axis) + twist * absolute(moment @ u))
    return array(found)


def turning_components(kind: Any) -> np.ndarray:
    """Return which velocity components (nv,) of a joint kind turn."""
    S = kind.motion_space(kind.neutral()).array
    return np.array([any(is_symbolic(x) or x != 0.0 for x in column) for column in S[:3].T], dtype=bool)


def _axis(motion: np.ndarray, turns: bool) -> np.ndarray:
    """Return the unit vector (3,) about which a motion (6,) turns, or along which it goes if it does not turn."""
    axis = motion[:3] if turns else motion[3:]
    length = _length(list(axis))
    return array([x / length for x in axis])


def _length(vector: list[Any]) -> Any:
    return sqrt(sum(x * x for x in vector))
