"""Forward dynamics of trees with flexible bodies by articulated bodies: three sweeps, cost O(N k^3) with k modes.

The points of a flexible body are nodes that follow the node of its floating frame, whose amplitudes eta they share. A
follower's acceleration is X a + S eta'' + c with a and eta'' of that node, so it passes on, besides articulated inertia
and force, what eta'' does to it: E = X^T IA S, the modal inertia S^T IA S, and the modal force S^T (pA + IA c). The
node of the floating frame eliminates eta'' as other joints their coordinates (Nikravesh et al., section 6, eq. 27-30).
All other bodies do what they do in `articulated_body`, or in `hybrid_dynamics` where joints are driven.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import bias, load, place, weight
from catena.dynamics.tree.articulated_body import (
    accelerations as free_accelerations,
    articulated_body as free_algorithm,
    articulated_inertias as free_inertias,
    ground as free_ground,
    pass_on,
    velocities as free_velocities,
)
from catena.dynamics.tree.friction import passive_force
from catena.dynamics.tree.hybrid_dynamics import (
    DRIVE_INPUTS,
    accelerations as driven_accelerations,
    articulated_inertias as driven_inertias,
    hybrid_dynamics as driven_algorithm,
    inverse_where_free,
    velocities as driven_velocities,
)
from catena.dynamics.tree.symmetric import Symmetric, Triangle
from catena.kernels import VELOCITY, Algorithm, base_to_tip, tip_to_base
from catena.spatial import ArticulatedInertia, ForceSpace, spd_inverse
from catena.spatial.scalars import array
from catena.structure import Plan


def most_modes(plan: Plan) -> int:
    """Return the modes of the body of a plan that has most; zero where all are rigid."""
    if plan.owner is None:
        return 0
    return int(max(plan.v_size[i] for i in set(plan.owner.tolist()) if is_flexible(plan.kind[i])))


def is_flexible(kind: Any) -> bool:
    """Return whether a joint kind has or follows the modes of a flexible body."""
    return kind is not None and kind.is_modal


def tree_dynamics(plan: Plan, drives: bool = False) -> Algorithm:
    """Return the algorithm of forward dynamics for the tree of a plan: articulated bodies, with modes where some are
    flexible; with `drives`, hybrid dynamics, in which some accelerations are given."""
    modes = most_modes(plan)
    if modes:
        return flexible_dynamics(modes, drives)
    return driven_algorithm if drives else free_algorithm


@lru_cache(maxsize=32)
def flexible_dynamics(modes: int, drives: bool = False, implicit: bool = False) -> Algorithm:
    """Return forward dynamics for bodies of at most so many modes; with `drives`, some accelerations are given; with
    `implicit`, modes have the inertia and the force that a step implicit in them lends them (`steps.implicit`)."""
    move = driven_velocities if drives else free_velocities
    go = driven_inertias if drives else free_inertias
    come_back = driven_accelerations if drives else free_accelerations

    def ground(ground: Any) -> None:
        """The ground has no modes."""
        free_ground(ground)
        ground.E = np.zeros((6, modes))
        ground.modal_inertia = Triangle(modes).zero()
        ground.modal_force = np.zeros(modes)
        ground.modal_qdd = np.zeros(modes)
        ground.eta, ground.modal_qd = np.zeros(modes), np.zeros(modes)

    def velocities(body: Any, parent: Any) -> None:
        """As with rigid bodies; points of flexible ones are not driven by themselves."""
        if body.joint.is_particle:
            k = body.joint.nv
            body.x, L = place(body, parent.eta[:k])
            body.b = bias(body, body.x, L, parent.v, parent.eta[:k], parent.modal_qd[:k])
            if body.joint.curves:
                body.L = L
            return
        (free_velocities if body.joint.follows else move).step(body, parent)
        if is_flexible(body.joint) and not body.joint.follows:
            rest = [0.0] * (modes - body.joint.nv)
            body.eta, body.modal_qd = array([*body.q, *rest]), array([*body.qd, *rest])

    def articulated_inertias(body: Any, parent: Any) -> None:
        """What the parent feels of a body, of a point of a flexible body, or of a flexible body as a whole."""
        if body.joint.is_particle:
            _weigh(body, parent)
        elif body.joint.follows:
            _follow(body, parent)
        elif is_flexible(body.joint):
            _yield_in_modes(body, parent, drives, implicit)
        else:
            go.step(body, parent)

    def accelerations(body: Any, parent: Any) -> None:
        """As with rigid bodies; points of flexible ones know how the modes accelerate."""
        if body.joint.is_particle:
            return
        if body.joint.follows:
            k = body.joint.nv
            body.qdd = parent.modal_qdd[:k]
            body.a = body.X_joint * body.placement * parent.a + body.c + body.S * body.qdd
            if drives:
                body.drive = np.zeros(k)
            return
        come_back.step(body, parent)
        if is_flexible(body.joint):
            body.modal_qdd = array([*body.qdd, *[0.0] * (modes - body.joint.nv)])
            if drives:
                # The drive of a mode holds against the others too, where those are left to themselves.
                yielding = body.qdd - body.driven * body.qdd_given
                body.drive = body.drive + body.driven * (body.between_modes @ yielding)

    def _weigh(body: Any, parent: Any) -> None:
        x, b, k = body.x, body.b, body.joint.nv
        L = body.L if body.joint.curves else array(body.joint.slopes(np.zeros(k)))
        felt = weight(body.inertia.mass, x, L)
        p, f = load(body, x, b)
        parent.IA += ArticulatedInertia.from_rigid(felt.rigid)
        parent.pA += p
        _add(parent, k, felt.E, Symmetric(felt.M).matrix(), L.T @ f)

    def _follow(body: Any, parent: Any) -> None:
        IA, pA = body.IA + body.inertia, body.pA + body.p
        X, U = body.X_joint * body.placement, IA * body.S
        pa = pA + IA * body.c
        parent.IA += X.pull(IA)
        parent.pA += X.pull(pa)
        _add(parent, body.joint.nv, X.pull(U).array, body.S.T * U, body.S.T * pa)

    def _add(parent: Any, k: int, E_k: Any, M_k: Any, force_k: Any) -> None:
        E, M = np.zeros((6, modes), dtype=object), np.zeros((modes, modes), dtype=object)
        force = np.zeros(modes, dtype=object)
        E[:, :k], M[:k, :k], force[:k] = E_k, M_k, force_k
        parent.E = parent.E + array(E)
        parent.modal_inertia += Symmetric.from_matrix(M)
        parent.modal_force = parent.modal_force + array(force)

    return Algorithm(
        f"flexible_dynamics_{modes}{'_driven' if drives else ''}{'_implicit' if implicit else ''}", ground,
        (base_to_tip(velocities), tip_to_base(articulated_inertias), base_to_tip(accelerations)),
        inputs={**free_algorithm.inputs, **(DRIVE_INPUTS if drives else {})},
        outputs={"qdd": VELOCITY, **({"drive": VELOCITY} if drives else {})},
        ground_inputs=free_algorithm.ground_inputs, optional=free_algorithm.optional,
        rewritten=frozenset({"c"} if drives else ()),
    )  # fmt: skip


def _yield_in_modes(body: Any, parent: Any, drives: bool, implicit: bool) -> None:
    """What the parent feels of a flexible body whose modes yield, or accelerate as given where they are driven."""
    k = body.joint.nv
    IA, pA = body.IA + body.inertia, body.pA + body.p
    E = ForceSpace(body.E[:, :k])
    U = IA * body.S + E
    M = body.modal_inertia.matrix()[:k, :k]
    modal_force = body.modal_force[:k]
    if implicit:
        M, modal_force = M + array(np.diag(body.lent_inertia)), modal_force - body.lent_force
    D = body.S.T * U + (body.S.T * E).T + M
    if drives:
        driven_acceleration = body.driven * body.qdd_given
        pA = pA + E * driven_acceleration
        modal_force = modal_force + M @ driven_acceleration
        body.between_modes = body.S.T * E + M
    u = body.tau - passive_force(body) - body.S.T * pA - modal_force
    D_inv = inverse_where_free(D, body.driven) if drives else spd_inverse(D)
    pass_on(body, parent, IA - ArticulatedInertia.from_outer(U, D_inv), pA, U, D_inv, u)
