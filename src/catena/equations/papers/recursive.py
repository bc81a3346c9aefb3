"""The equations of motion in joint coordinates solved body by body, from the tips to the base and back: a block
elimination that never forms the whole set. Nikravesh, Gim, Arabyan and Rein, eq. 27 to 30.

Linear in the number of bodies. In ground axes, as `non_recursive`. A body's acceleration is a = G a_parent + H
theta'' + gamma, with G = [1 -d~; 0 1] for the arm d between mass centres.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.equations.building import graph_of
from catena.equations.graph import ExpressionGraph
from catena.equations.papers.ground_axes import GroundAxesBodies
from catena.equations.papers.scalars import cross, dot, minus, plus, scaled, solve_ldl, symmetric, times
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import new_symbols
from catena.spatial.scalars import array
from catena.structure import Plan


def recursive(plan: Plan) -> tuple[ExpressionGraph, dict[str, np.ndarray]]:
    """Return the accelerations vdot as a literal graph of q, v, tau and the mechanism's data, and the values of the
    data."""
    tau = new_symbols("tau", plan.nv)
    with quick_symbols():
        bodies = GroundAxesBodies(plan)
        vdot = _LinkElimination(bodies, tau).vdot()
    inputs = {"q": bodies.q, "v": bodies.v, "tau": tau, "data": array(bodies.data.symbols)}
    graph = graph_of("recursive", inputs, {"vdot": vdot}, literal=True)
    return graph, {"data": np.array(bodies.data.values)}


@dataclass
class FeltInertia:
    """What a body shows: [[ll, la], [la^T, aa]] times its acceleration less the force (f, n)."""

    ll: np.ndarray
    la: np.ndarray
    aa: np.ndarray
    f: np.ndarray
    n: np.ndarray


class _LinkElimination:
    def __init__(self, bodies: GroundAxesBodies, tau: np.ndarray) -> None:
        self.bodies, self.tau = bodies, tau
        _, self.angular = bodies.velocities()
        self.felt = [self._alone(i) if i else None for i in range(bodies.plan.n)]

    def _alone(self, i: int) -> FeltInertia:
        weight, gyroscopic = self.bodies.applied(i, self.angular[i])
        return FeltInertia(
            _diagonal(self.bodies.mass[i]), np.zeros((3, 3)), self.bodies.J[i], weight, gyroscopic
        )

    def vdot(self) -> np.ndarray:
        """Tips to base, and back."""
        bodies = self.bodies
        gone: dict[int, Any] = {}
        for i in reversed(bodies.bodies):
            gone[i] = self._go(i)
        result: list[Any] = [0.0] * bodies.plan.nv
        linear: dict[int, np.ndarray] = {0: np.zeros(3)}
        angular: dict[int, np.ndarray] = {0: np.zeros(3)}
        for i in bodies.bodies:
            above = bodies.parent[i]
            H, U, D, u, gamma, d = gone[i]
            # The acceleration as far as the parent has it.
            a = plus(linear[above], cross(angular[above], d)) if above else linear[above]
            w = angular[above]
            rest = array([x - dot(c[0], a) - dot(c[1], w) for x, c in zip(u, U, strict=True)]) if above else u
            found = _solve(D, rest)
            linear[i] = plus(a, gamma[0], *(scaled(h[0], x) for h, x in zip(H, found, strict=True)))
            angular[i] = plus(w, gamma[1], *(scaled(h[1], x) for h, x in zip(H, found, strict=True)))
            for axis, x in zip(bodies.axes[i], found, strict=True):
                result[axis.at] = x
        return array(result)

    def _go(self, i: int) -> Any:
        """Eliminate a body: what is left of it at its parent, and what finds its joint's acceleration afterwards."""
        bodies, felt = self.bodies, self.felt[i]
        assert felt is not None
        above = bodies.parent[i]
        gamma = bodies.bias(i, self.angular)
        H = [(cross(a.u, bodies.s[i]), a.u) if a.turns else (a.u, np.zeros(3)) for a in bodies.axes[i]]
        f = minus(felt.f, plus(times(felt.ll, gamma[0]), times(felt.la, gamma[1])))
        n = minus(felt.n, plus(times(felt.la.T, gamma[0]), times(felt.aa, gamma[1])))
        U = [
            (
                plus(times(felt.ll, h[0]), times(felt.la, h[1])),
                plus(times(felt.la.T, h[0]), times(felt.aa, h[1])),
            )
            for h in H
        ]
        D = symmetric(lambda k, m: dot(H[k][0], U[m][0]) + dot(H[k][1], U[m][1]), len(H))
        u = array([
            self.tau[axis.at] + dot(h[0], f) + dot(h[1], n) for axis, h in zip(bodies.axes[i], H, strict=True)
        ])  # fmt: skip
        d = minus(bodies.r[i], bodies.r[above])
        if above:
            W = _inverse_times(D, U)
            share = _solve(D, u)
            ll = symmetric(lambda a, b: felt.ll[a, b] - sum_of(U, W, 0, 0, a, b), 3)
            aa = symmetric(lambda a, b: felt.aa[a, b] - sum_of(U, W, 1, 1, a, b), 3)
            la = array([[felt.la[a, b] - sum_of(U, W, 0, 1, a, b) for b in range(3)] for a in range(3)])
            f = minus(f, plus(*(scaled(c[0], x) for c, x in zip(U, share, strict=True))))
            n = minus(n, plus(*(scaled(c[1], x) for c, x in zip(U, share, strict=True))))
            self._press(above, ll, la, aa, f, n, d)
        return H, U, D, u, gamma, d

    def _press(
        self,
        above: int,
        ll: np.ndarray,
        la: np.ndarray,
        aa: np.ndarray,
        f: np.ndarray,
        n: np.ndarray,
        d: np.ndarray,
    ) -> None:
        """G^T Z G and G^T z onto the parent."""
        felt = self.felt[above]
        assert felt is not None
        # Rows of Z_ll d~ are cross products: x^T d~ = (x cross d)^T.
        moved = array([minus(la[a], cross(ll[a], d)) for a in range(3)])
        # d~ (Z_la - Z_ll d~) column by column, and Z_la^T d~ row by row.
        turned = [cross(d, moved[:, b]) for b in range(3)]
        back = [cross(la[:, a], d) for a in range(3)]
        felt.aa = symmetric(lambda a, b: felt.aa[a, b] + (aa[a, b] - back[a][b] + turned[b][a]), 3)
        felt.la = array([plus(felt.la[a], moved[a]) for a in range(3)])
        felt.ll = symmetric(lambda a, b: felt.ll[a, b] + ll[a, b], 3)
        felt.f = plus(felt.f, f)
        felt.n = plus(felt.n, n, cross(d, f))


def sum_of(U: list[Any], W: list[Any], part: int, other: int, a: int, b: int) -> Any:
    """Return an entry of U D^-1 U^T."""
    return dot([c[part][a] for c in U], [w[other][b] for w in W])


def _diagonal(x: Any) -> np.ndarray:
    return array([[x, 0.0, 0.0], [0.0, x, 0.0], [0.0, 0.0, x]])


def _solve(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    return solve_ldl(D, b)


def _inverse_times(D: np.ndarray, U: list[Any]) -> list[Any]:
    """Columns of D^-1 U^T, as pairs of linear and angular parts."""
    columns = [[c[part][k] for c in U] for part in (0, 1) for k in range(3)]
    solved = [solve_ldl(D, array(column)) for column in columns]
    n = len(U)
    return [
        (array([solved[k][m] for k in range(3)]), array([solved[3 + k][m] for k in range(3)]))
        for m in range(n)
    ]
