"""The equations of motion in joint coordinates as one set, solved as a whole: M = B^T M_abs B and f = B^T (g - M_abs
B' v), with B from joint velocities to the velocities of all bodies. Nikravesh, Gim, Arabyan and Rein, eq. 5 to 10.

Cubic in the length of a chain. Everything is written out as the equations read, in ground axes; a body's velocity is
that of its mass centre.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from catena.equations.building import graph_of
from catena.equations.graph import ExpressionGraph
from catena.equations.papers.ground_axes import Axis, GroundAxesBodies
from catena.equations.papers.scalars import (
    cross,
    dot,
    minus,
    plus,
    scaled,
    solve_ldl,
    symmetric,
    times,
    total,
)
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import new_symbols
from catena.spatial.scalars import array
from catena.structure import Plan

NOTHING = np.zeros(3)


def non_recursive(
    plan: Plan, every_zero: bool = False, along_the_chain: bool = False, driven: bool = True
) -> tuple[ExpressionGraph, dict[str, np.ndarray]]:
    """Return the accelerations vdot as a literal graph of q, v, tau and the mechanism's data, and the values of the
    data.

    With `every_zero`, zeros and ones of B, of M_abs and of rotations are multiplied like all other numbers. Velocities
    are B v and gamma is B' v as the equations have it, each arm being formed where it is needed; or both are found
    `along_the_chain`, and nothing is done twice, which is cheaper. There is no tau unless the joints are `driven`.
    """
    tau = new_symbols("tau", plan.nv)
    with quick_symbols(), _as_written(not along_the_chain):
        form = _Form(GroundAxesBodies(plan, every_zero), along_the_chain)
        vdot = solve_ldl(form.M, plus(form.f, tau) if driven else form.f)
    data = form.bodies.data
    inputs = {"q": form.bodies.q, "v": form.bodies.v, "tau": tau, "data": array(data.symbols)}
    graph = graph_of("non-recursive", inputs, {"vdot": vdot}, literal=True, shared=along_the_chain)
    return graph, {"data": np.array(data.values)}


@contextlib.contextmanager
def _as_written(wanted: bool) -> Iterator[None]:
    """Keep CasADi from seeing that (p + s) - p is s."""
    from casadi import GlobalOptions

    usual = GlobalOptions.getSimplificationOnTheFly()
    GlobalOptions.setSimplificationOnTheFly(usual and not wanted)
    try:
        yield
    finally:
        GlobalOptions.setSimplificationOnTheFly(usual)


class _Form:
    """B, B' and what follows from them."""

    def __init__(self, bodies: GroundAxesBodies, along_the_chain: bool) -> None:
        self.bodies, self.along_the_chain = bodies, along_the_chain
        self.axes = sorted((a for axes in bodies.axes for a in axes), key=lambda a: a.at)
        self.joint_of = {a.at: i for i, axes in enumerate(bodies.axes) for a in axes}
        self.on_path = {j: self._path(j) for j in bodies.bodies}
        self.B = {(a.at, j): self._column(a, j) for j in bodies.bodies for a in self._columns(j)}
        self.gamma: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        if along_the_chain:
            _, self.angular = bodies.velocities()
            self._carry_biases()
        else:
            self._multiply_velocities()
            self._multiply_rates()
        forces = {j: self._force(j) for j in bodies.bodies}
        MB = {j: self._times_mass(j) for j in bodies.bodies}
        columns = {at: [j for j in bodies.bodies if (at, j) in self.B] for at in range(len(self.axes))}
        self.f = array([
            total([x for j in columns[k] for x in self._products(self.B[k, j], forces[j])]) for k in columns
        ])  # fmt: skip

        def entry(k: int, m: int) -> Any:
            both = [j for j in columns[k] if (m, j) in self.B]
            return total([x for j in both for x in self._products(self.B[k, j], MB[j][m])])

        self.M = symmetric(entry, len(self.axes))

    def _path(self, j: int) -> list[int]:
        path = []
        while j:
            path.append(j)
            j = self.bodies.parent[j]
        return path[::-1]

    def _arm(self, i: int, j: int) -> np.ndarray:
        """From the origin of joint i to the mass centre of body j."""
        if i == j and self.along_the_chain:
            return self.bodies.s[j]
        return minus(self.bodies.r[j], self.bodies.p[i])

    def _columns(self, j: int) -> list[Axis]:
        """Return the columns of B that body j has: those of the joints before it, or all if zeros count."""
        return [a for a in self.axes if self.bodies.every_zero or self.joint_of[a.at] in self.on_path[j]]

    def _column(self, a: Axis, j: int) -> tuple[np.ndarray, np.ndarray]:
        i = self.joint_of[a.at]
        if i not in self.on_path[j]:
            return self._hidden(NOTHING), self._hidden(NOTHING)
        return (cross(a.u, self._arm(i, j)), a.u) if a.turns else (a.u, self._hidden(NOTHING))

    def _hidden(self, zeros: np.ndarray) -> np.ndarray:
        return self.bodies.data.opaque(zeros) if self.bodies.every_zero else zeros

    def _multiply_velocities(self) -> None:
        """v = B theta'."""
        v = self.bodies.v
        self.linear, self.angular = [NOTHING], [NOTHING]
        for j in self.bodies.bodies:
            for part, known in ((0, self.linear), (1, self.angular)):
                known.append(plus(*(scaled(self.B[a.at, j][part], v[a.at]) for a in self._columns(j))))

    def _multiply_rates(self) -> None:
        """gamma = B' theta'."""
        v = self.bodies.v
        self.origins = {i: self._origin_rate(i) for i in self.bodies.bodies}
        self.u_rates = {a.at: self._axis_rate(a) for a in self.axes}
        for j in self.bodies.bodies:
            rates = [(self._column_rate(a, j), v[a.at]) for a in self._columns(j)]
            self.gamma[j] = (
                plus(*(scaled(x, t) for (x, _), t in rates)),
                plus(*(scaled(y, t) for (_, y), t in rates)),
            )

    def _column_rate(self, a: Axis, j: int) -> tuple[np.ndarray, np.ndarray]:
        i = self.joint_of[a.at]
        if i not in self.on_path[j]:
            return self._hidden(NOTHING), self._hidden(NOTHING)
        u_rate = self.u_rates[a.at]
        if not a.turns:
            return u_rate, self._hidden(NOTHING)
        arm_rate = minus(self.linear[j], self.origins[i])
        return plus(cross(u_rate, self._arm(i, j)), cross(a.u, arm_rate)), u_rate

    def _axis_rate(self, a: Axis) -> np.ndarray:
        return self._hidden(NOTHING) if a.fixed else cross(self.angular[self.joint_of[a.at]], a.u)

    def _origin_rate(self, i: int) -> np.ndarray:
        """Return the velocity of the origin of joint i, which moves with the body before it."""
        above = self.bodies.parent[i]
        if not above:
            return self._hidden(NOTHING)
        arm = minus(self.bodies.p[i], self.bodies.r[above])
        return plus(self.linear[above], cross(self.angular[above], arm))

    def _carry_biases(self) -> None:
        """The same from body to body, as accelerations that need no theta''."""
        bodies = self.bodies
        for j in bodies.bodies:
            above, own = bodies.parent[j], bodies.bias(j, self.angular)
            if not above:
                self.gamma[j] = own
                continue
            linear, angular = self.gamma[above]
            carried = plus(linear, cross(angular, minus(bodies.r[j], bodies.r[above])))
            self.gamma[j] = plus(carried, own[0]), plus(angular, own[1])

    def _force(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """g - M_abs gamma of body j."""
        weight, gyroscopic = self.bodies.applied(j, self.angular[j])
        inertial = self._mass(j, self.gamma[j])
        return minus(weight, inertial[0]), minus(gyroscopic, inertial[1])

    def _times_mass(self, j: int) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {a.at: self._mass(j, self.B[a.at, j]) for a in self._columns(j)}

    def _mass(self, j: int, motion: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """M_abs of body j times a motion."""
        mass, J = self.bodies.mass[j], self.bodies.J[j]
        if not self.bodies.every_zero:
            return scaled(motion[0], mass), times(J, motion[1])
        M = np.zeros((6, 6), dtype=object)
        M[3:, 3:] = J
        M = self.bodies.data.opaque(M)
        M[0, 0] = M[1, 1] = M[2, 2] = mass
        force = times(M, np.concatenate(motion))
        return force[:3], force[3:]

    @staticmethod
    def _products(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> list[Any]:
        """Return the six products of a column with a force; those with a zero stay in, and cost nothing."""
        return [dot([x], [y]) for x, y in zip(np.concatenate(a), np.concatenate(b), strict=True)]
