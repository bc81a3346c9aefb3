"""Simple closed chains in lanes: m chains that support a reference member and nothing else. Lilly and Orin, steps 1 to
4 and eq. 22 to 48. Cost O(m N).

The plan is opened at the member, which floats by itself then. Compiled sweeps (`tree/open_chains`) find how all chains
accelerate and how their tips yield, Lambda_k^-1. With the constraint space Phi_k of the joint at the tip, at its frame,

    Phi^T Lambda^-1 Phi h = S - Phi^T X a_0,    S = Phi^T (x''_open - c - Lambda^-1 w),    f = w + Phi h = P - R a_0,

w being what friction and actuators of that joint pass to the member, and [I_0 + sum X^T R X] a_0 = I_0 a_open + sum X^T
P. Directions in which a chain cannot or can hardly move its tip stay as constraints of the member. The tip forces then
go through the sweeps again: they give the accelerations of all joints, and what they leave of the constraints is solved
for once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.dynamics.loops.problem import CLOSURE_FACTOR, LoopProblem
from catena.dynamics.loops.square_root import constrained, divide_lower, solve_upper
from catena.dynamics.tree.friction import friction_at
from catena.dynamics.tree.open_chains import open_accelerations, open_chains
from catena.joints import Free, JointKind
from catena.kernels.evaluation import Evaluator
from catena.kinematics import body_poses, stacks
from catena.kinematics.kind_values import kind_values, nearest_coordinates
from catena.kinematics.stacks import apply, transposed
from catena.structure import Plan
from catena.thresholds import RANK_EXACT

HARDLY = 1e-4
"""Directions in which a tip yields less than this part of its best stay with the member."""
NOTHING = 1e-12
"""Directions in which it yields less than this part do not yield at all."""
CERTAIN = 1e-9
"""States whose tips part by more than this part of what they accelerate by are not trusted."""
REFINEMENTS = 2


@dataclass(frozen=True, eq=False)
class Tip:
    """The joint between a chain and the member: its `name`, the node of the chain, the kind, the motion matrices (6, 6)
    from the two nodes to the joint's frames P and C, whether the chain has the child's frame C, and friction."""

    name: str
    node: int
    kind: JointKind
    on_chain: np.ndarray
    on_member: np.ndarray
    chain_is_child: bool
    damping: np.ndarray
    friction: np.ndarray
    effort: slice
    """Where its forces are: among those of the tree for the joint that carries the member, else of the loops."""
    of_tree: bool


@dataclass(frozen=True, eq=False)
class Opened:
    """A plan opened at the node `r`, where the coordinates of the others lie in it, and the tips."""

    r: int
    evaluator: Evaluator
    tips: tuple[Tip, ...]
    q_from: np.ndarray
    q_to: np.ndarray
    v_from: np.ndarray
    v_to: np.ndarray


@dataclass(frozen=True, eq=False)
class ChainQuantities:
    """What Lilly and Orin compute of each chain k, in the frame of the joint at its tip, [angular; linear].

    `chains` names these joints. (states, m, ...): `Lambda_inv` (6, 6), `x_open` (6,) the acceleration of the open
    chain's tip, `X_0` (6, 6) from the member to the tip's frame, `constraint_space` (6, n), `S` (n,), `M` (n, n), `P`
    (6,), `R` (6, 6) and the force `f` (6,) on the member, which accelerates by `a_0` (states, 6), in its own frame;
    accelerations contain that of the ground against gravity. n is the largest number of constraints; where a joint has
    fewer, rows are zero. `inertia` (states, 6, 6) is I_0 + sum X_0^T R X_0.
    """

    chains: tuple[str, ...]
    Lambda_inv: np.ndarray
    x_open: np.ndarray
    X_0: np.ndarray
    constraint_space: np.ndarray
    S: np.ndarray
    M: np.ndarray
    P: np.ndarray
    R: np.ndarray
    f: np.ndarray
    a_0: np.ndarray
    inertia: np.ndarray

    def shaped(self, batch: tuple[int, ...]) -> "ChainQuantities":
        """Return the same with the states in the shape of a batch."""
        arrays = {name: x for name, x in vars(self).items() if name != "chains"}
        return replace(self, **{name: x.reshape(*batch, *x.shape[1:]) for name, x in arrays.items()})


def opened(evaluator: Evaluator, r: int) -> Opened | None:
    """Return the plan of an evaluator opened at node r; None where something else than simple chains holds it: a loop
    that does not end at the member, two tips on one chain, or a joint that leads straight to ground."""
    known: dict[int, Opened | None] = evaluator.once(_nothing_opened)
    if r not in known:
        known[r] = _open(evaluator, r)
    return known[r]


def _nothing_opened(evaluator: Evaluator) -> dict[int, Opened | None]:
    return {}


def _open(evaluator: Evaluator, r: int) -> Opened | None:
    plan = evaluator.plan
    tips, at = [_tree_tip(plan, r)], 0
    for loop in plan.loop_joints:
        own, at = slice(at, at + loop.kind.nv), at + loop.kind.nv
        if not loop.constraints and not loop.rubs:
            continue
        if r not in (loop.parent_node, loop.child_node):
            return None
        child = loop.parent_node == r
        to_P, to_C = stacks.to_frame(loop.parent_pose), stacks.to_frame(loop.child_pose)
        tips.append(
            Tip(
                loop.name, loop.child_node if child else loop.parent_node, loop.kind, to_C if child else to_P,
                to_P if child else to_C, child, loop.damping, loop.friction, own, False,
            )
        )  # fmt: skip
    branch = _branches(plan, r)
    chains = [branch[tip.node] for tip in tips]
    if 0 in chains or r in chains or len(set(chains)) < len(chains):
        return None
    other = _opened_plan(plan, r)
    q_index, v_index = (
        [
            np.concatenate([np.arange(start[i], start[i] + size[i]) for i in range(1, plan.n) if i != r])
            for start, size in pairs
        ]
        for pairs in (
            ((plan.q_start, plan.q_size), (other.q_start, other.q_size)),
            ((plan.v_start, plan.v_size), (other.v_start, other.v_size)),
        )
    )
    return Opened(r, Evaluator(evaluator.mechanism, other), tuple(tips), *q_index, *v_index)


def _tree_tip(plan: Plan, r: int) -> Tip:
    """Return the joint of the tree that carries the member."""
    own = slice(int(plan.v_start[r]), int(plan.v_start[r] + plan.v_size[r]))
    on_chain = stacks.motion_matrices(plan.placement_R[r], plan.placement_p[r])
    kind = plan.kind[r]
    assert kind is not None
    return Tip(
        plan.joint[r], int(plan.parent[r]), kind, on_chain, np.eye(6), False, plan.damping[own],
        plan.friction[own], own, True,
    )  # fmt: skip


def _branches(plan: Plan, r: int) -> list[int]:
    """Return the first node on the way from ground to each node; r for what hangs on the member."""
    branch = list(range(plan.n))
    for i in range(1, plan.n):
        p = int(plan.parent[i])
        if i != r and p:
            branch[i] = branch[p]
    return branch


def _opened_plan(plan: Plan, r: int) -> Plan:
    """Return the tree with the member on six freedoms of its own, and without loops."""
    sizes = {"q": plan.q_size.copy(), "v": plan.v_size.copy()}
    sizes["q"][r], sizes["v"][r] = Free.nq, Free.nv
    order = np.argsort(plan.v_start, kind="stable")
    starts = {}
    for name, size in sizes.items():
        first = np.zeros(plan.n, dtype=np.int64)
        first[order] = np.cumsum(size[order]) - size[order]
        starts[name] = first
    parent, kind, params = plan.parent.copy(), list(plan.kind), list(plan.params)
    parent[r], kind[r], params[r] = 0, Free(), Free().params()
    depth = np.zeros(plan.n, dtype=np.int64)
    for i in range(1, plan.n):
        depth[i] = depth[parent[i]] + 1
    turned, moved, flipped = plan.placement_R.copy(), plan.placement_p.copy(), plan.flipped.copy()
    turned[r], moved[r], flipped[r] = np.eye(3), 0.0, False
    nv = int(sizes["v"].sum())
    per_velocity: dict[str, Any] = {}
    for name in ("damping", "friction", "actuated"):
        old = getattr(plan, name)
        per_velocity[name] = np.zeros(nv, dtype=old.dtype)
        for i in range(1, plan.n):
            if i != r:
                start, n = starts["v"][i], sizes["v"][i]
                per_velocity[name][start : start + n] = old[plan.v_start[i] : plan.v_start[i] + n]
    return replace(
        plan, nq=int(sizes["q"].sum()), nv=nv, loops=(), parent=parent, depth=depth, kind=kind, params=params,
        flipped=flipped, q_start=starts["q"], q_size=sizes["q"], v_start=starts["v"], v_size=sizes["v"],
        placement_R=turned, placement_p=moved, loop_joints=[], **per_velocity,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _TipJoints:
    """The joints at all tips (states, m, ...): X_b and X_0 (6, 6) from chain and member to the joint's frame, what
    velocities contribute c (6,), the wrench w (6,) on the member, Phi (6, n), S^+ of the tree's own joint, and how far
    the joints are `open` (states,), as an angle or a part of the mechanism's size."""

    X_b: np.ndarray
    X_0: np.ndarray
    c: np.ndarray
    w: np.ndarray
    Phi: np.ndarray
    own_rows: np.ndarray
    open: np.ndarray


def _joints(problem: LoopProblem, at: Opened, pose: np.ndarray) -> _TipJoints:
    states, m, twist = problem.states, len(at.tips), problem.motions.v
    columns = max(6 - tip.kind.nv for tip in at.tips)
    wide, narrow = (states, m, 6, 6), (states, m, 6)
    found = _TipJoints(
        np.zeros(wide), np.zeros(wide), np.zeros(narrow), np.zeros(narrow), np.zeros((states, m, 6, columns)),
        np.zeros((states, at.tips[0].kind.nv, 6)), np.zeros(states),
    )  # fmt: skip
    for k in _alike(at.tips):
        tips = [at.tips[i] for i in k]
        child = np.array([tip.chain_is_child for tip in tips])[:, None, None]
        nodes = [tip.node for tip in tips]
        on_chain, on_member = (
            np.array([getattr(tip, name) for tip in tips]) for name in ("on_chain", "on_member")
        )
        chain, member = on_chain @ pose[:, nodes], on_member @ pose[:, [at.r]]
        X = np.where(child, chain @ stacks.inverse(member), member @ stacks.inverse(chain))
        v_b, v_0 = apply(on_chain, twist[:, nodes]), apply(on_member, twist[:, [at.r]])
        v_C, v_P = (np.where(child[..., 0], *pair) for pair in ((v_b, v_0), (v_0, v_b)))
        v_rel = v_C - apply(X, v_P)
        kind = tips[0].kind
        q = nearest_coordinates(kind, X)
        S_inv = stacks.pseudo_inverse(kind_values(kind, q, np.zeros(kind.nv)).S)
        rates = apply(S_inv, v_rel)
        values = kind_values(kind, q, rates)
        sign = np.where(child[..., 0], 1.0, -1.0)
        error = np.abs(stacks.logarithm(X @ stacks.inverse(values.X))) / ([1.0] * 3 + [problem.length] * 3)
        np.maximum(found.open, error.max(axis=(1, 2)), out=found.open)
        found.c[:, k] = sign * (stacks.cross(v_C, v_rel) + values.bias)
        # What acts on the child, with nothing along the constraints, acts on the member too, or against it.
        effort = np.stack([_effort(problem, tip, rates[:, i]) for i, tip in enumerate(tips)], axis=1)
        found.w[:, k] = -sign * apply(transposed(S_inv), effort)
        found.Phi[:, k, :, : values.Phi.shape[-1]] = values.Phi
        # All of it is told at the child's frame C.
        found.X_b[:, k] = np.where(child, on_chain, X @ on_chain)
        found.X_0[:, k] = np.where(child, X @ on_member, on_member)
        if 0 in k:
            found.own_rows[...] = S_inv[:, k.index(0)]
    return found


def _effort(problem: LoopProblem, tip: Tip, rates: np.ndarray) -> np.ndarray:
    """Return the forces (states, nv) of a tip's joint by actuators and friction."""
    actuator = problem.tau if tip.of_tree else problem.loop_tau
    found = -np.asarray(friction_at(tip.damping, tip.friction, rates))
    return np.broadcast_to(found if actuator is None else found + actuator[:, tip.effort], rates.shape)


def _alike(tips: Sequence[Tip]) -> list[list[int]]:
    """Return the numbers of tips by the kind of their joints; a kind that cannot be hashed stays alone."""
    groups: dict[Any, list[int]] = {}
    for k, tip in enumerate(tips):
        try:
            key: Any = (type(tip.kind), hash(tip.kind), tip.kind)
        except TypeError:
            key = k
        groups.setdefault(key, []).append(k)
    return list(groups.values())


def solve(problem: LoopProblem, at: Opened) -> tuple[np.ndarray, np.ndarray, ChainQuantities]:
    """Return the accelerations (states, nv) of the tree's joints, which of them (states,) are certain, and what the
    paper computes on the way."""
    states, n, r = problem.states, problem.plan.n, at.r
    pose = stacks.from_entries(problem.evaluator.evaluate(body_poses, {"q": problem.q})["pose"])
    pose[:, 0] = np.eye(6)
    joints = _joints(problem, at, pose)
    inputs = _inputs(problem, at, pose)
    nodes, outside = [tip.node for tip in at.tips], inputs["f_ext"]
    across, K = transposed(joints.Phi), transposed(joints.Phi) @ joints.X_0
    first = at.evaluator.evaluate(
        open_chains, {**inputs, "f_ext": outside.reshape(states, 6 * n)}, finite=False
    )
    Lambda = first["mobility"].reshape(states, n, 6, 6)
    Lambda_inv = joints.X_b @ Lambda[:, nodes] @ transposed(joints.X_b)
    tolerance = np.maximum(RANK_EXACT, CLOSURE_FACTOR * joints.open)
    solver = _Solver(across @ Lambda_inv @ joints.Phi, K, Lambda[:, r], tolerance)
    x_open = apply(joints.X_b, first["a"][:, nodes])
    f, answer, h, size = (
        joints.w,
        first,
        np.zeros((*K.shape[:2], K.shape[2])),
        np.zeros((states, len(at.tips), 1)),
    )
    for _ in range(1 + REFINEMENTS):
        answer = at.evaluator.evaluate(open_accelerations, _pushed(inputs, f, joints, nodes, r), finite=False)
        parting, size = _parting(joints, answer["a"], nodes, r)
        h = h + solver.forces(apply(across, parting))
        f = joints.w + apply(joints.Phi, h)
    answer = at.evaluator.evaluate(open_accelerations, _pushed(inputs, f, joints, nodes, r), finite=False)
    left, size = _parting(joints, answer["a"], nodes, r)
    vdot = np.zeros((states, problem.plan.nv))
    vdot[:, at.v_from] = answer["qdd"][:, at.v_to]
    own = at.tips[0]
    # The member is the child of the joint that carries it.
    parted = -(left[:, 0])
    vdot[:, own.effort] = apply(joints.own_rows, parted)
    off = np.abs(apply(across, left)).max(axis=(1, 2), initial=0.0)
    with np.errstate(invalid="ignore"):
        certain = np.isfinite(vdot).all(axis=-1) & (off <= CERTAIN * np.max(size, axis=1, initial=0.0))
    S = apply(across, x_open - joints.c - apply(Lambda_inv, joints.w))
    M = solver.M
    P = joints.w + apply(joints.Phi, apply(M, S))
    R = joints.Phi @ M @ K
    X_0 = joints.X_0
    inertia = np.linalg.inv(np.where(certain[:, None, None], Lambda[:, r], np.eye(6)))
    inertia = inertia + np.sum(transposed(X_0) @ R, axis=1)
    named = ChainQuantities(
        tuple(tip.name for tip in at.tips), Lambda_inv, x_open, X_0, joints.Phi, S, M, P, R, f, answer["a"][:, r],
        inertia,
    )  # fmt: skip
    return vdot, np.asarray(certain), named


def _inputs(problem: LoopProblem, at: Opened, pose: np.ndarray) -> dict[str, Any]:
    """Return what the sweeps are given: coordinates of the opened plan, forces of its joints, wrenches (states, n,
    6)."""
    from scipy.spatial.transform import Rotation

    plan, other, r, states = problem.plan, at.evaluator.plan, at.r, problem.states
    q, v, tau = np.zeros((states, other.nq)), np.zeros((states, other.nv)), np.zeros((states, other.nv))
    q[:, at.q_to], v[:, at.v_to] = problem.q[:, at.q_from], problem.v[:, at.v_from]
    if problem.tau is not None:
        tau[:, at.v_to] = problem.tau[:, at.v_from]
    R, p = stacks.parts(pose[:, r])
    start = int(other.q_start[r])
    q[:, start : start + 3] = p
    q[:, start + 3 : start + 7] = Rotation.from_matrix(transposed(R)).as_quat(scalar_first=True)
    start = int(other.v_start[r])
    v[:, start : start + 6] = problem.motions.v[:, r]
    outside = (
        np.zeros((states, plan.n, 6)) if problem.f_ext is None else problem.f_ext.reshape(states, plan.n, 6)
    )
    return {"q": q, "qd": v, "tau": tau, "f_ext": outside, "a_base": problem.a_base}


def _pushed(
    inputs: dict[str, Any], f: np.ndarray, joints: _TipJoints, nodes: list[int], r: int
) -> dict[str, Any]:
    """Return the same with the wrenches f (states, m, 6) of the chains on the member, and against the tips."""
    pressed = inputs["f_ext"].copy()
    pressed[:, nodes] -= apply(transposed(joints.X_b), f)
    pressed[:, r] += np.sum(apply(transposed(joints.X_0), f), axis=1)
    return {**inputs, "f_ext": pressed.reshape(len(pressed), 6 * pressed.shape[1])}


def _parting(joints: _TipJoints, a: np.ndarray, nodes: list[int], r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how tips accelerate away from the member (states, m, 6), and the size (states, m) of the terms of it."""
    terms = apply(joints.X_b, a[:, nodes]), apply(joints.X_0, a[:, [r]]), joints.c
    with np.errstate(invalid="ignore"):
        size = sum(np.abs(x).max(axis=-1) for x in terms)
        return terms[0] - terms[1] - terms[2], np.asarray(size)


class _Solver:
    """Finds the tip forces h that keep tips from parting from the member: of A_k (states, m, n, n) = Phi^T Lambda^-1
    Phi, K_k = Phi^T X_0 and the mobility (states, 6, 6) of the member."""

    def __init__(self, A: np.ndarray, K: np.ndarray, mobility: np.ndarray, tolerance: np.ndarray) -> None:
        self._tolerance = tolerance
        fine = np.isfinite(A).all(axis=(1, 2, 3)) & np.isfinite(mobility).all(axis=(1, 2))
        A = np.where(fine[:, None, None, None], A, 0.0)
        mobility = np.where(fine[:, None, None], mobility, np.eye(6))
        # Unlike units are compared after each direction is measured by its own yielding.
        own = np.sqrt(np.maximum(np.diagonal(A, axis1=-2, axis2=-1), 0.0))
        own = np.where(own > RANK_EXACT * own.max(axis=-1, initial=0.0, keepdims=True), own, 0.0)
        self._scale = np.where(own > 0.0, 1.0 / np.where(own > 0.0, own, 1.0), 1.0)
        squares, self._U = np.linalg.eigh(A * self._scale[..., :, None] * self._scale[..., None, :])
        largest = np.max(squares, axis=-1, initial=0.0, keepdims=True)
        squares = np.where(squares > NOTHING * largest, squares, 0.0)
        self._stiff = squares > HARDLY * largest
        self._inverse = np.where(self._stiff, 1.0 / np.where(self._stiff, squares, 1.0), 0.0)
        self._G = transposed(self._U) @ (self._scale[..., None] * K)
        states = len(A)
        soft = ~self._stiff
        kept = int(soft.sum(axis=(1, 2)).max(initial=0))
        eliminated = transposed(self._G) @ (self._inverse[..., None] * self._G)
        self._L = np.linalg.cholesky(_spd(np.linalg.inv(mobility) + np.sum(eliminated, axis=1)))
        # The directions that stay come first, as many as there are in any state.
        flat = soft.reshape(states, soft.shape[1] * soft.shape[2])
        self._order = np.argsort(~flat, axis=-1, kind="stable")[:, :kept]
        self._counts = np.take_along_axis(flat, self._order, axis=-1)
        G = np.take_along_axis(self._G.reshape(*flat.shape, 6), self._order[..., None], axis=1)
        sigma = np.sqrt(np.take_along_axis(squares.reshape(flat.shape), self._order, axis=-1)) * self._counts
        rows = transposed(divide_lower(self._L, transposed(G * self._counts[..., None])))
        self._C = np.concatenate([rows, sigma[..., None] * np.eye(kept)], axis=-1)

    @property
    def M(self) -> np.ndarray:
        """M_k (states, m, n, n), zero in the directions that stay with the member."""
        U = self._U * self._scale[..., None]
        return U @ (self._inverse[..., None] * transposed(U))

    def forces(self, parting: np.ndarray) -> np.ndarray:
        """Return h (states, m, n) for accelerations (states, m, n) along Phi by which tips part from the member."""
        parting = np.where(np.isfinite(parting), parting, 0.0)
        rest = apply(transposed(self._U), self._scale * parting)
        force = np.sum(apply(transposed(self._G), self._inverse * rest), axis=1)
        free = np.concatenate(
            [divide_lower(self._L, force[..., None])[..., 0], np.zeros(self._order.shape)], axis=-1
        )
        states, kept = self._order.shape
        known = (
            np.take_along_axis(rest.reshape(states, rest.shape[1] * rest.shape[2]), self._order, axis=-1)
            * self._counts
        )
        mu, y = np.zeros((states, kept)), free
        if kept:
            y, mu, _ = constrained(self._C, free, known, self._tolerance)
        a_0 = solve_upper(self._L, y[:, :6])
        along = self._inverse * (rest - apply(self._G, a_0[:, None]))
        flat = along.reshape(states, along.shape[1] * along.shape[2])
        np.put_along_axis(
            flat,
            self._order,
            np.where(self._counts, mu, np.take_along_axis(flat, self._order, axis=-1)),
            axis=-1,
        )
        return self._scale * apply(self._U, flat.reshape(along.shape))


def _spd(A: np.ndarray) -> np.ndarray:
    """Symmetric matrices (states, 6, 6); the unit matrix where one is not positive definite."""
    A = 0.5 * (A + transposed(A))
    with np.errstate(invalid="ignore"):
        good = np.isfinite(A).all(axis=(1, 2))
        good[good] = np.linalg.eigvalsh(A[good])[:, 0] > 0.0
    return np.where(good[:, None, None], A, np.eye(6))
