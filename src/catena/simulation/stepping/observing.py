"""Whoever looks at every step from inside the compiled loop, and the numbers that each state carries for that.

An observer is shown a step that was taken: the time and the state behind it, and the accelerations with which it began.
What it knows of the start of the step it has carried along. Observers are values: the step is compiled once for equal
ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from catena.joints import JointKind
from catena.simulation.results.dense import state_between
from catena.spatial.scalars import array, where
from catena.system import System

# Numbers that states carry are made more until they are a multiple of this, so that few steps are compiled.
ROUND = 16
# More numbers than these are not carried: whoever wants them looks at the steps behind the loop.
MOST = 128


class Observer(Protocol):
    """Looks at every step."""

    @property
    def size(self) -> int:
        """Return how many numbers each state carries."""

    def after(self, t: Any, q: Any, v: Any, vdot: Any, carried: Any) -> list[Any]:
        """Return what a state carries behind a step that ends at t with q, v and began with the accelerations vdot,
        from what it carried before: numbers or symbols."""


@dataclass(frozen=True)
class Observers:
    """Several `members` who look at every step: a function for the compiled step."""

    members: tuple[Observer, ...]

    @property
    def size(self) -> int:
        """Return how many numbers each state carries."""
        return -(-sum(one.size for one in self.members) // ROUND) * ROUND

    def columns(self, member: Observer) -> slice:
        """Return where the numbers of one of them are."""
        begin = sum(one.size for one in self.members[: self.members.index(member)])
        return slice(begin, begin + member.size)

    def __call__(self, t: Any, q: Any, v: Any, vdot: Any, taken: Any, carried: Any) -> np.ndarray:
        """Return what a state carries behind a step, if that is `taken`."""
        found = list(carried)
        for one in self.members:
            own = self.columns(one)
            after = one.after(t, q, v, vdot, carried[own])
            found[own] = [where(taken, x, y) for x, y in zip(after, carried[own], strict=True)]
        return array(found)


@dataclass(frozen=True)
class JointColumns:
    """A joint that is looked at: its kind, and where its coordinates and its velocities begin among all."""

    kind: JointKind
    q: int
    v: int

    @property
    def columns(self) -> tuple[slice, slice]:
        """Return where its coordinates and velocities are."""
        return slice(self.q, self.q + self.kind.nq), slice(self.v, self.v + self.kind.nv)


@dataclass(frozen=True)
class StepStart:
    """The time at which a step began and the states of some joints there, the first of what is carried along."""

    joints: tuple[JointColumns, ...]

    @staticmethod
    def of(system: System, names: set[str]) -> StepStart | None:
        """Return that of joints of a system; None where a kind is interpolated by numbers that may differ between
        states."""
        joints = tuple(
            JointColumns(system.mechanism.joints[j].kind, system.slice_q(j).start, system.slice_v(j).start)
            for j in system.joints
            if j in names
        )
        own = any(x.kind.nq != x.kind.nv and len(x.kind.params()) for x in joints)
        return None if own else StepStart(joints)

    @property
    def size(self) -> int:
        """Return how many numbers it has."""
        return 1 + sum(x.kind.nq + x.kind.nv for x in self.joints)

    def at(self, t: Any, q: Any, v: Any) -> list[Any]:
        """Return these numbers of a state, or of many (..., states) as rows."""
        return [t, *(x for joint in self.joints for of, own in zip((q, v), joint.columns) for x in of[own])]

    def between(
        self, s: float, t: Any, q: Any, v: Any, vdot: Any, carried: Any
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the time, q and v at a part s of a step, right in the columns of these joints."""
        q, v, place = q.copy(), v.copy(), 1
        h = where(t > carried[0], t - carried[0], 1.0)
        for joint in self.joints:
            own_q, own_v = joint.columns
            middle = place + joint.kind.nq
            end = middle + joint.kind.nv
            began = carried[place:middle], carried[middle:end], vdot[own_v]
            place = end
            q[own_q], v[own_v] = state_between(joint.kind, h, s, began, (q[own_q], v[own_v]))
        return carried[0] + s * h, q, v


Looking = TypeVar("Looking", bound=Observer)


def fit(observer: Looking) -> Looking | None:
    """Return an observer; None where it carries too many numbers, or has a joint kind that cannot be compared."""
    try:
        hash(observer)
    except TypeError:
        return None
    return observer if observer.size <= MOST else None
