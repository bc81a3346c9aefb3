"""Driving a mechanism with loops through its range: where it goes, how fast, and where it can go no further.

The curve of the driven joint is followed on both sides of the start (`driven_curve.py`), and sampled evenly in the
driven coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.loops.closing import loop_closure
from catena.dynamics.loops.closing.driven_curve import DrivenCurve, End, followed, rates
from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.errors import LoopError, StateError
from catena.hooks import hook
from catena.mechanism.validation import known
from catena.system.by_name import Given
from catena.system.closed_states import guessed, quick_assembly_for
from catena.validation import is_finite, shown

if TYPE_CHECKING:
    from catena.system.system import System
    from catena.view.course import Course

# Where the driver moves by less than this part of the fastest joint, it stands still.
STILL = 1e-10


@dataclass(frozen=True, eq=False)
class Drive:
    """A mechanism driven at a constant rate: the driven coordinate `values` (n,), configurations `q` (n, nq),
    velocities `v` (n, nv) and accelerations `vdot` (n, nv), and the two ends of the curve.

    At a dead point the driver cannot move at a rate of its own, and v and vdot are NaN there.
    """

    system: System
    joint: str
    values: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    ends: tuple[End, End]

    def __repr__(self) -> str:
        low, high = self.ends
        return (
            f"Drive({self.joint!r} from {low.value:.6g} ({low.reason}) to {high.value:.6g} ({high.reason}), "
            f"{len(self.values)} configurations)"
        )

    @property
    def range(self) -> tuple[float, float]:
        """Return the lowest and the highest value of the driven coordinate."""
        return self.ends[0].value, self.ends[1].value

    @property
    def dead_points(self) -> tuple[End, ...]:
        """Return the ends at which the driver can go no further because the loops do not let it."""
        return tuple(end for end in self.ends if end.reason == "dead point")

    @property
    def turns(self) -> bool:
        """Return whether the driver can turn all the way round."""
        return all(end.reason == "full turn" for end in self.ends)

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint, tree or loop, (n, nq of the joint)."""
        return self.system.joint_position(self.q, joint)

    def pose(self, frame: str) -> np.ndarray:
        """Return the poses of a frame or body in ground, (n, 4, 4)."""
        return np.asarray(self.system.pose(self.q, frame))

    def position(self, frame: str) -> np.ndarray:
        """Return the origin of a frame or body in ground, (n, 3)."""
        return self.pose(frame)[:, :3, 3]

    def velocity(self, frame: str) -> np.ndarray:
        """Return the velocity of the origin of a frame or body, (n, 3) in ground axes."""
        return self._at_moving(lambda q, v, a: self.system.twist(q, v, frame, axes="aligned")[..., 3:])

    def acceleration(self, frame: str) -> np.ndarray:
        """Return the acceleration of the origin of a frame or body, (n, 3) in ground axes."""
        return self._at_moving(
            lambda q, v, a: self.system.acceleration(q, v, a, frame, axes="aligned")[..., 3:]
        )

    def _at_moving(self, ask: Any) -> np.ndarray:
        moving = np.isfinite(self.v).all(axis=-1)
        found = np.full((len(self.values), 3), np.nan)
        if moving.any():
            found[moving] = ask(self.q[moving], self.v[moving], self.vdot[moving])
        return found

    def course(self) -> Course:
        """Return the configurations as something to play: `course().view()`, `save_html`, `save_video`."""
        return hook("course")(self.system, self.q)

    def transmission_angle(self, joint: str, between: tuple[str, str] | None = None) -> np.ndarray:
        """Return the angle (n,) [rad, 0 to pi] at a joint between the lines to two others, one on each of the bodies it
        connects: pi / 2 is best, and at 0 or pi the one body can only push or pull the other.

        `between` names the two joints where a body has more than two.
        """
        mechanism = self.system.mechanism
        joints = mechanism.joints
        known("joint", joint, joints, repr(mechanism.name))
        ends = joints[joint].parent, joints[joint].child
        others = []
        for number, body in enumerate(ends):
            near = [n for n, j in joints.items() if n != joint and body in (j.parent, j.child)]
            if between is not None:
                near = [n for n in near if n == between[number]] or [n for n in near if n in between]
            if len(near) != 1:
                raise StateError(
                    f"Body {body!r} of joint {joint!r} has the other joints {near}: say which two joints the lines go "
                    f"to, between=(one on {ends[0]!r}, one on {ends[1]!r})."
                )
            others.append(near[0])
        corner, a, b = (self._joint_place(name) for name in (joint, *others))
        a, b = a - corner, b - corner
        sine = np.sqrt(np.sum(np.cross(a, b) ** 2, axis=-1))
        return np.arctan2(sine, np.einsum("ij,ij->i", a, b))

    def _joint_place(self, name: str) -> np.ndarray:
        """Return where a joint is in ground, (n, 3), on its parent's side."""
        joint = self.system.mechanism.joints[name]
        poses = self._poses[joint.parent]
        return poses[:, :3, :3] @ joint.in_parent.p + poses[:, :3, 3]

    @cached_property
    def _poses(self) -> dict[str, np.ndarray]:
        return self.system.body_poses(self.q)


def drive(
    system: System, joint: str, to: Sequence[float] | None, samples: int, rate: float,
    guess: ArrayLike | Given | None, hold: Given | None,
) -> Drive:  # fmt: skip
    """Return the mechanism driven at one joint of the tree through its range, from the closed configuration near
    `guess`."""
    where = system.slice_v(joint)
    if where.stop - where.start != 1 or system.slice_q(joint).stop - system.slice_q(joint).start != 1:
        raise StateError(
            f"Joint {joint!r} has {where.stop - where.start} velocities; drive one that has one."
        )
    if not (isinstance(samples, int | np.integer) and samples >= 2):
        raise StateError(f"samples is {shown(samples)}; give a whole number of configurations, at least 2.")
    if not is_finite(rate):
        raise StateError(f"rate is {shown(rate)}; give the velocity of the driver, a finite number.")
    if hold is not None and not isinstance(hold, Mapping):
        raise StateError(f"hold is {shown(hold)}; give a mapping from joints to positions.")
    held = {} if hold is None else dict(hold)
    if system.plan.owner is not None:
        held = loop_closure.with_modes(system.plan, held, guessed(system, guess))
    start = system.assemble(held, guess=guess)
    if start.ndim != 1:
        raise StateError(f"drive begins at one configuration, but the guess has shape {start.shape}.")
    quick, bounds = quick_assembly_for(system, "drive"), _checked_range(to)
    if bounds is not None and not bounds[0] <= start[system.slice_q(joint)][0] <= bounds[1]:
        start = system.assemble({**held, joint: 0.5 * sum(bounds)}, guess=start)
    return _driven(system, quick, joint, start, bounds, int(samples), float(rate), held)


def _driven(
    system: System, quick: QuickAssembly, joint: str, start: np.ndarray, to: tuple[float, float] | None,
    samples: int, rate: float, held: Mapping[str, Any],
) -> Drive:  # fmt: skip
    """Return the mechanism driven through its range from a closed configuration `start` (nq,)."""
    curve = DrivenCurve(quick, joint, held)
    along = curve.tangent(start, None)
    if abs(along[curve.column]) <= STILL:
        raise LoopError(
            f"Joint {joint!r} stands at a dead point of {system.mechanism.name!r}: start elsewhere."
        )
    nodes_back, low = followed(curve, start, -along, to)
    nodes_on, high = followed(curve, start, along, to)
    if low.reason == high.reason == "full turn" and to is None:
        # Once round is enough: from the start on.
        nodes_back, low = [start], End(curve.value(start), "full turn", "", start)
    nodes = np.array([*reversed(nodes_back), *nodes_on[1:]])
    at = nodes[:, system.slice_q(joint)][:, 0]
    values = np.linspace(low.value, high.value, samples)
    q = _sampled(system, joint, values, at, nodes, held, (low, high))
    v, vdot = rates(curve, q, rate)
    return Drive(system, joint, values, q, v, vdot, (low, high))


def _sampled(
    system: System, joint: str, values: np.ndarray, at: np.ndarray, nodes: np.ndarray, held: Mapping[str, Any],
    ends: tuple[End, End],
) -> np.ndarray:  # fmt: skip
    """Return the configurations (n, nq) at values (n,) of the driven coordinate, from those that were passed."""
    nearest = np.clip(np.searchsorted(at, values), 1, len(at) - 1)
    nearest -= np.abs(at[nearest - 1] - values) < np.abs(at[nearest] - values)
    inside = slice(1, len(values) - 1)
    positions: dict[str, ArrayLike] = {**held, joint: values[inside, None]}
    q = np.empty((len(values), system.nq))
    q[0], q[-1] = ends[0].q, ends[1].q
    if len(values) > 2:
        q[inside] = system.assemble(positions, guess=nodes[nearest[inside]])
    return q


def _checked_range(to: Any) -> tuple[float, float] | None:
    """Return (low, high) from what a caller gave."""
    if to is None:
        return None
    try:
        low, high = to
    except (TypeError, ValueError):
        raise StateError(
            f"to is {shown(to)}; give the lowest and the highest value, to=(low, high)."
        ) from None
    if not (is_finite(low) and is_finite(high) and low < high):
        raise StateError(f"to is {shown(to)}; give two finite numbers, the lower one first.")
    return float(low), float(high)
