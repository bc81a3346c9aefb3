"""Derivatives of inverse dynamics: three sweeps and a product for each pair of components on one way to the ground,
cost O(N d), d the depth of the tree. Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body
dynamics using spatial vector algebra" (2022), for joints of any kind.

Everything is told in ground axes, so that what bodies hand on needs no transform. A step of joint j along the motion s
carries all bodies beyond it as one; seen from these bodies, each of them has its twist changed by the same d and its
acceleration by e + d x v. So the forces beyond change by Ic e + B d, with the composite inertia Ic and a matrix B of
twelve numbers: with r the place and r' the velocity of a particle of mass m, B d = 2 sum of m [r x (w x r'); w x r'],
w the angular part of d. From K = sum m r' r^T and the momentum p = sum m r' follow B = 2 [tr K - K, 0; -p~, 0].
Seen from the ground the wrench f on these bodies is carried along too, which adds s x f.

The origin is that of the first body of the tree, so that nothing is lost far from the ground's.
"""

from typing import Any

import numpy as np

from catena.dynamics.tree.friction import friction_slope
from catena.joints.derivatives import force_tangent, tangents
from catena.kernels import (
    POSITION,
    VELOCITY,
    Algorithm,
    OnMatrices,
    Scalars,
    base_to_tip,
    on_call,
    tip_to_base,
)
from catena.kernels.matrices import MatrixPanel, Work
from catena.spatial import Force, Motion, RigidInertia, Transform, cross, cross3
from catena.spatial.scalars import array


def ground(ground: Any) -> None:
    """The ground accelerates against gravity. Where bodies stand is told from the first body, so `is_body` is zero
    here."""
    ground.v = Motion.zero()
    ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
    ground.stance = Transform.identity()
    ground.is_body = 0.0
    ground.Ic = RigidInertia.zero()
    ground.K = np.zeros((3, 3))
    ground.p = np.zeros(3)
    ground.f = Force.zero()


@base_to_tip
def changes(body: Any, parent: Any) -> None:
    """How a step along each component, and a change of its velocity, change the motion of everything beyond it."""
    X = body.joint.transform(body.q) * body.placement
    stance = X * parent.stance
    change(body, parent, Transform(stance.R, array([x * parent.is_body for x in stance.p])))
    body.is_body = 1.0


def change(body: Any, parent: Any, stance: Transform) -> None:
    """The same for a body that stands so."""
    S = stance.pull_motion(body.joint.motion_space(body.q))
    v_joint = S * body.qd
    v = parent.v + v_joint
    carried = [cross(parent.v, s) for s in S.columns()]
    # What a single component does to itself vanishes, s x s = 0.
    alone = S.n == 1
    a = parent.a + S * body.qdd + (carried[0] * body.qd[0] if alone else cross(parent.v, v_joint))
    moved, pushed, bent, bent_by_v = ([stance.pull_motion(x) for x in part] for part in _own_changes(body))
    if not body.has_constant_motion_space:
        a = a + stance.pull_motion(body.joint.bias(body.q, body.qd))
    d_q, e_q, e_v = [], [], []
    for c, s in enumerate(S.columns()):
        d = carried[c] + moved[c]
        d_q.append(d)
        e_q.append(cross(parent.a, s) + pushed[c] + bent[c] + cross(v, moved[c]) - cross(d, parent.v))
        own = Motion.zero() if alone else cross(v_joint, s)
        e_v.append(bent_by_v[c] + 2.0 * carried[c] + own)
    inertia = stance.pull(body.inertia)
    momentum = inertia * v
    body.own_f = inertia * a + cross(v, momentum) - stance.pull(body.f_ext)
    body.own_I, body.own_p = inertia, momentum.linear
    body.own_K = array(np.outer(v.linear, inertia.h)) + _turned(v.angular, inertia.euler_tensor())
    motions = [x.entries() for vectors in zip(S.columns(), e_q, d_q, e_v, strict=True) for x in vectors]
    body.components = (
        array([x for entries in motions for x in entries]).reshape(S.n, -1) if S.n else np.zeros((0, 24))
    )
    body.stance, body.v, body.a = stance, v, a
    body.own_stance = stance


@tip_to_base
def forces(body: Any, parent: Any) -> None:
    """What these changes take of the joint itself, and what is told to the others."""
    gather(body, parent, body.own_f)


def gather(body: Any, parent: Any, own_f: Force) -> None:
    """The same with the force that the body itself takes."""
    Ic, K, p, f = body.Ic + body.own_I, body.K + body.own_K, body.p + body.own_p, body.f + own_f
    motions = [[Motion(row[k : k + 6]) for k in range(0, 24, 6)] for row in body.components]
    S, n = [row[0] for row in motions], len(motions)
    spin = _spin(K)
    rows, force_q, force_v, momenta = [], [], [], []
    for s, e_q, d, e_v in motions:
        back = spin.T @ s.angular + 2.0 * cross3(p, s.linear)
        felt_q, felt_v, momentum = Ic * e_q + _bent(spin, p, d), Ic * e_v + _bent(spin, p, s), Ic * s
        carried = felt_q + cross(s, f)
        rows += [*momentum.entries(), *back, *carried.entries(), *felt_v.entries()]
        force_q.append(felt_q)
        force_v.append(felt_v)
        momenta.append(momentum)
    turned = (
        np.zeros((n, n))
        if body.has_constant_motion_space
        else force_tangent(body.joint, body.q, (body.own_stance * f).array)
    )
    slope = friction_slope(body)
    rotor = [0.0] * n if body.joint.rotor is None else body.joint.rotor
    own = []
    for r in range(n):
        for c in range(n):
            rubbed = slope[r] if r == c else 0.0
            mass = S[r].dot(momenta[c]) + (rotor[r] if r == c else 0.0)
            own += [S[r].dot(force_q[c]) + turned[r, c], S[r].dot(force_v[c]) + rubbed, mass]
    body.burdens = array(rows).reshape(n, -1) if n else np.zeros((0, 21))
    body.own = array(own).reshape(n * n, 3) if n else np.zeros((0, 3))
    parent.Ic += Ic
    parent.K = parent.K + K
    parent.p = parent.p + p
    parent.f += f


@on_call
def meet(component: Any, burden: Any, element: Any, transposed: Any) -> None:
    """A component and one beyond it: forces of the former by the latter's changes, and the other way round."""
    mass = component.S.dot(burden.momentum)
    element.numbers = array([component.S.dot(burden.carried), component.S.dot(burden.felt), mass])
    transposed.numbers = array([
        component.e_q.dot(burden.momentum) + component.d.angular @ burden.back,
        component.e_v.dot(burden.momentum) + component.S.angular @ burden.back,
        mass,
    ])  # fmt: skip


@on_call
def keep(element: Any, transposed: Any) -> None:
    """Two components of one joint: what the joint found by itself."""
    transposed.numbers = element.numbers


BY_Q, BY_V, MASS = range(3)
"""The numbers of an element: of tau by q and by v, and of H."""


class DerivativeTable:
    """The matrices H, and tau by q and by v, as elements of three numbers for each pair of components, four slots
    apart."""

    def __init__(self, work: Work) -> None:
        self.work, self.n = work, len(work.components)
        self._start = work.reserve(4 * self.n * self.n)
        self.related = [[False] * self.n for _ in range(self.n)]

    def at(self, row: int, column: int) -> int:
        """Return the place of an element."""
        return self._start + 4 * (row * self.n + column) * self.work.slot

    def matrix(self, number: int, pairs: bool = False) -> MatrixPanel:
        """One of the matrices (n, n), or in pairs the matrix (n, 2 n) of this number and the next one."""
        n, slot = self.n, self.work.slot
        place, row, element = self.at(0, 0) + number * slot, 4 * self.n * slot, 4 * slot
        if pairs:
            return MatrixPanel(place, n, 2 * n, row, slot, element)
        return MatrixPanel(place, n, n, row, element, 2 * element)

    def relate(self, rows: range, columns: range) -> None:
        """Let a block have entries by q and by v; those that were not there before are zero."""
        new = [(r, c) for r in rows for c in columns if not self.related[r][c]]
        for r, c in new:
            self.related[r][c] = True
        if len(new) == len(rows) * len(columns):
            for number in (BY_Q, BY_V):
                self.work.clear(self.matrix(number).part(rows, columns))
        else:
            for r, c in new:
                self.work.combine(self.at(r, c), [], 2)

    def fill(self) -> None:
        """Compute all elements that can differ from zero."""
        work: Any = self.work
        for j, (node, k) in enumerate(work.components):
            burden = work.component("burdens", node, k)
            for i in work.reach(int(work.plan.parent[node])):
                self.related[i][j] = self.related[j][i] = True
                above = work.component("components", *work.components[i])
                work.step(meet, above, burden, self.at(i, j), self.at(j, i))
            n = int(work.plan.v_size[node])
            for r in range(n):
                i = work.index[node, r]
                self.related[i][j] = True
                work.step(keep, work.component("own", node, r * n + k), self.at(i, j))


def _tell(work: Any) -> None:
    table = DerivativeTable(work)
    table.fill()
    n = table.n
    pairs = sorted(
        (work.coordinate[i] * n + work.coordinate[j], table.at(i, j))
        for i in range(n)
        for j in range(n)
        if table.related[i][j]
    )
    for number, name in enumerate(("by_q", "by_v", "H")):
        work.output(name, (n, n), [(index, place + number * work.slot) for index, place in pairs])


def _own_changes(body: Any) -> list[list[Motion]]:
    """Changes of S v, S vdot and of the bias by steps of the joint itself, and of the bias by its velocities."""
    n = len(body.qd)
    if body.has_constant_motion_space:
        return [[Motion.zero()] * n] * 4
    found = tangents(body.joint, body.q, body.qd, body.qdd)
    return [found.motion_by_q, found.push_by_q, found.bias_by_q, found.bias_by_v]


def _spin(K: np.ndarray) -> np.ndarray:
    """2 (tr K - K), which takes w to the moment of B d."""
    trace = K[0, 0] + K[1, 1] + K[2, 2]
    return array([[2.0 * ((trace if i == j else 0.0) - K[i, j]) for j in range(3)] for i in range(3)])


def _bent(spin: np.ndarray, p: np.ndarray, d: Motion) -> Force:
    """B d."""
    return Force(array([*(spin @ d.angular), *(2.0 * cross3(d.angular, p))]))


def _turned(w: np.ndarray, J: np.ndarray) -> np.ndarray:
    """w~ J."""
    return array([cross3(w, J[:, k]) for k in range(3)]).T


VIEWS: dict[str, Any] = {
    "component": {"S": Motion, "e_q": Motion, "d": Motion, "e_v": Motion},
    "burden": {"momentum": Force, "back": Scalars(3), "carried": Force, "felt": Force},
    "element": {"numbers": Scalars(3)},
    "transposed": "element",
}  # fmt: skip
FIELDS = {"components": "component", "burdens": "burden", "own": "element"}
INPUTS = {"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY, "f_ext": Force}
OPTIONAL = frozenset({"qdd", "f_ext", "a_base"})

inverse_derivatives = Algorithm(
    "inverse_derivatives", ground, (changes, forces, meet, keep, OnMatrices(_tell)), INPUTS,
    ground_inputs={"a_base": Motion}, optional=OPTIONAL, views=VIEWS, component_fields=FIELDS,
    matrix_outputs=("by_q", "by_v", "H"),
)  # fmt: skip
