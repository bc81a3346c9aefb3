"""Articulated bodies of a chain with Denavit and Hartenberg's links, whose transforms are done as two screws: one along
x with a length and a twist, which are numbers, and one along z with an offset and the angle of the joint. So the papers
count; Catena's own steps turn and shift in one go.
"""

from typing import Any

import numpy as np

from catena.equations.building import graph_of
from catena.equations.graph import ExpressionGraph
from catena.equations.parameters import SymbolicPlan
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import new_symbols
from catena.joints import Revolute
from catena.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform, cross, spd_inverse
from catena.spatial.scalars import array


def two_screws(symbolic: SymbolicPlan, tip: bool = False) -> ExpressionGraph:
    """Return the accelerations qdd as a graph of q, qd and tau; with `tip` also the acceleration of the last body."""
    plan = symbolic.plan
    q, qd, tau = (new_symbols(name, plan.nv) for name in ("q", "qd", "tau"))
    with quick_symbols():
        qdd, a = _Chain(plan, q, qd, tau).accelerations()
    outputs = {"qdd": qdd, **({"a": a} if tip else {})}
    return graph_of("two screws", {"q": q, "qd": qd, "tau": tau}, outputs)


class _Chain:
    def __init__(self, plan: Any, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> None:
        self.plan, self.qd, self.tau = plan, qd, tau
        self.S = Revolute("z").motion_space(q[:1])
        self.screws = [_screws(plan, i, q[i - 1]) for i in range(1, plan.n)]
        self.inertia = [RigidInertia.from_entries(list(row)) for row in plan.inertia[1:]]

    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Three sweeps."""
        n, S = len(self.screws), self.S
        v, c, p = Motion.zero(), [], []
        for k, (x, z) in enumerate(self.screws):
            turning = S * self.qd[k : k + 1]
            v = z * (x * v) + turning
            c.append(cross(v, turning))
            p.append(self.inertia[k].velocity_product(v))
        IA, pA, kept = ArticulatedInertia.zero(), Force.zero(), []
        for k in reversed(range(n)):
            x, z = self.screws[k]
            IA, pA = IA + self.inertia[k], pA + p[k]
            U = IA * S
            D_inv = spd_inverse(S.T * U)
            u = self.tau[k : k + 1] - S.T * pA
            kept.append((U, D_inv, u))
            Ia = IA.felt_through(S, U, D_inv)
            pa = pA + Ia * c[k] + U * (D_inv @ u)
            IA, pA = x.pull(z.pull(Ia)), x.pull(z.pull(pa))
        qdd, a = [], Motion(array([0.0, 0.0, 0.0, *(-self.plan.gravity)]))
        for k, (x, z) in enumerate(self.screws):
            U, D_inv, u = kept[n - 1 - k]
            a = z * (x * a) + c[k]
            qdd.append((D_inv @ (u - U.T * a))[0])
            a = a + S * array([qdd[-1]])
        return array(qdd), array(a.entries())


def _screws(plan: Any, i: int, angle: Any) -> tuple[Transform, Transform]:
    """Return the screws along x and along z from the body before to body i."""
    R, p = plan.placement_R[i], plan.placement_p[i]
    # The placement is a shift along x, a turn about x, and a shift along the new z.
    offset = float(R[2] @ p)
    x = Transform(R, array([float(p[0]), 0.0, 0.0]))
    return x, Transform.rotation_z(angle) * Transform.translation(array([0.0, 0.0, offset]))
