"""Where the bodies of a tree are, and what they weigh, in the axes of the ground: what both forms of Nikravesh, Gim,
Arabyan and Rein begin with. Numbers of the mechanism are data (symbols), so that only zeros and ones are left out.

The velocities and forces of a spherical joint are those in ground axes, as in the paper: its motions are then the axes
of the ground, and most products with them are none.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.equations.papers.scalars import Data, cross, dot, minus, plus, scaled, symmetric, times
from catena.equations.unrolling import new_symbols
from catena.errors import EquationsError
from catena.joints.contract import BALL, HINGE, SLIDE
from catena.spatial.scalars import array
from catena.structure import Plan


@dataclass(frozen=True, eq=False)
class Axis:
    """One velocity component of a joint: its direction in ground axes, whether it turns, its place in v, and whether
    the direction is that of an axis of the ground."""

    u: np.ndarray
    turns: bool
    at: int
    fixed: bool = False


class GroundAxesBodies:
    """All bodies in ground axes. `A` are their axes, `p` the origins of their joints, `s` from there to the mass
    centre, `r` the mass centres, `J` the inertias; `axes` the velocity components of their joints. Index 0 is the
    ground."""

    def __init__(self, plan: Plan, every_zero: bool = False) -> None:
        self.plan, self.data, self.every_zero = plan, Data(), every_zero
        self.q, self.v = new_symbols("q", plan.nq), new_symbols("v", plan.nv)
        self.parent = [int(k) for k in plan.parent]
        self.gravity = self.data.of(plan.gravity) if every_zero else self.data.of_others(plan.gravity)
        self.A: list[np.ndarray] = [np.eye(3)]
        self.p: list[np.ndarray] = [np.zeros(3)]
        self.s: list[np.ndarray] = [np.zeros(3)]
        self.r: list[np.ndarray] = [np.zeros(3)]
        self.axes: list[list[Axis]] = [[]]
        self.mass: list[Any] = [0.0]
        self.J: list[np.ndarray] = [np.zeros((3, 3))]
        for i in range(1, plan.n):
            self._place(i)
            self._weigh(i)

    @property
    def bodies(self) -> range:
        """The bodies, parents first."""
        return range(1, self.plan.n)

    def _place(self, i: int) -> None:
        plan, kind, above = self.plan, self.plan.kind[i], self.parent[i]
        types = [type for type in (HINGE, SLIDE, BALL) if kind is not None and kind.consists_of(type)]
        if kind is None or not types:
            raise EquationsError(
                f"Joint {plan.joint[i]!r} of {plan.name!r} is {type(kind).__name__}; the forms of the paper are "
                f"written for Revolute, Prismatic and Spherical."
            )
        q = self.q[plan.q_of(i)]
        X = kind.transform(q)
        turn = self.data.opaque(X.R.T) if self.every_zero else X.R.T
        C = self.data.of(plan.placement_R[i].T)
        offset = self.data.of(plan.placement_p[i])
        if above:
            offset = plus(self.p[above], times(self.A[above], offset))
        # What does not depend on the bodies before comes first, so that they are waited for as little as possible.
        A = C if types == [SLIDE] else times(C, turn)
        if above:
            A = times(self.A[above], A)
        # The axis is the same on both sides of the joint.
        axis = A[:, 2]
        if types == [SLIDE]:
            offset = plus(offset, scaled(axis, q[0]))
        inertia = plan.inertia[i]
        s = times(A, self.data.of(inertia[1:4] / inertia[0]))
        v = int(plan.v_start[i])
        if types == [BALL]:
            axes = [Axis(np.eye(3)[k], True, v + k, True) for k in range(3)]
        else:
            axes = [Axis(axis, types == [HINGE], v)]
        for known, new in ((self.A, A), (self.p, offset), (self.s, s), (self.r, plus(offset, s))):
            known.append(new)
        self.axes.append(axes)

    def _weigh(self, i: int) -> None:
        """J = A J' A^T about the mass centre."""
        mass, c = self.plan.inertia[i, 0], self.plan.inertia[i, 1:4] / self.plan.inertia[i, 0]
        xx, xy, xz, yy, yz, zz = self.plan.inertia[i, 4:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_com = about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c))
        a, b, d, e, f, g = self.data.of(about_com[np.triu_indices(3)])
        A = self.A[i]
        AJ = times(A, array([[a, b, d], [b, e, f], [d, f, g]]))
        self.mass.append(self.data.of(mass)[()])
        self.J.append(symmetric(lambda i, j: dot(AJ[i], A[j]), 3))

    def velocities(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Linear velocities of mass centres and angular velocities, from body to body."""
        linear: list[np.ndarray] = [np.zeros(3)]
        angular: list[np.ndarray] = [np.zeros(3)]
        for i in self.bodies:
            above = self.parent[i]
            w = plus(angular[above], *(scaled(a.u, self.v[a.at]) for a in self.axes[i] if a.turns))
            slides = [scaled(a.u, self.v[a.at]) for a in self.axes[i] if not a.turns]
            carried = [cross(angular[above], minus(self.p[i], self.r[above]))] if above else []
            linear.append(plus(linear[above], *carried, cross(w, self.s[i]), *slides))
            angular.append(w)
        return linear, angular

    def applied(self, i: int, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weight, and the moment that keeps an angular velocity w, both taken as applied forces."""
        return scaled(self.gravity, self.mass[i]), -cross(w, times(self.J[i], w))

    def bias(self, i: int, angular_velocities: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of a body's acceleration, linear and angular, without those of its parent and its
        joint."""
        above = self.parent[i]
        before, w = angular_velocities[above], angular_velocities[i]
        turning = [scaled(a.u, self.v[a.at]) for a in self.axes[i] if a.turns]
        sliding = [scaled(a.u, self.v[a.at]) for a in self.axes[i] if not a.turns]
        turning = turning if not any(a.fixed for a in self.axes[i]) else []
        angular = plus(*(cross(before, x) for x in turning)) if turning and above else np.zeros(3)
        linear = [cross(w, cross(w, self.s[i]))]
        if above:
            linear.append(cross(before, cross(before, minus(self.p[i], self.r[above]))))
            linear += [scaled(cross(before, x), 2.0) for x in sliding]
        if turning and above:
            linear.append(cross(angular, self.s[i]))
        return plus(*linear), angular
