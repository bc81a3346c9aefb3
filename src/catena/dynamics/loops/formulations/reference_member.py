"""Elimination of chains onto a reference member. Lilly and Orin, steps 1 to 4. Where only simple chains hold the
member, in lanes (`simple_chains`), cost O(m N) for m chains of N degrees of freedom; otherwise, and in states that this
does not settle, here, each chain factorised densely, cost O(m N^3).

Take one node, the reference member, and ground away; what still hangs together is a chain, and m of them support
the member. A chain starts at ground, whichever way the tree of the plan walks it (Type 0 and Type 1 look the
same from here), or floats if it touches only the member. Its equations, opened at the member, are

    H_k s = force_k + C_k^T h_k,    C_k s + K_k a_0 + c_k = 0

with h_k the constraint forces at its tip, and where it has loops of its own, in them. With H_k = L L^T and
C_k L^-T = U Sigma V^T (rows scaled) this is, direction by direction of U,

    Sigma^2 U^T h + U^T K a_0 + U^T (c + C s_open) = 0,

eq. 36 with M_k = U Sigma^-2 U^T. Directions with Sigma well above zero are eliminated: they add K^T M_k K to the
inertia of the member (eq. 46). Directions in which the chain cannot move the tip, Sigma = 0, are constraints on the
member and stay in the last system as such; those that it can hardly move stay there too, as a unit mass z =
Sigma U^T h that is geared to the member by Sigma z + U^T K a_0 + ... = 0, since Sigma^-2 would drown the member's
own inertia in rounding.

A decomposition is exact relative to its largest row only, and soft directions carry its errors. What is left of the
equations of chains and member is therefore solved for again with the same factors, as `constrained` does in the small.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from catena.dynamics.loops.formulations.certified_elimination import EliminationSolution
from catena.dynamics.loops.formulations.joint_graph import (
    GraphJoint,
    graph_joints,
    node_forces,
    node_inertias,
    tree_accelerations,
)
from catena.dynamics.loops.formulations.kkt import multipliers_of
from catena.dynamics.loops.formulations.simple_chains import opened, solve
from catena.dynamics.loops.problem import LoopProblem, LoopSolution, row_scale, row_weight, typical_inertia
from catena.dynamics.loops.square_root import (
    REFINEMENTS,
    constrained,
    divide_lower,
    positive_definite,
    solve_lower,
    solve_upper,
)
from catena.dynamics.tree.rotors import has_rotors
from catena.errors import LoopError
from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.stacks import apply, transposed
from catena.structure import Plan

# Directions in which a chain moves its tip less than this part of its best stay in the member's system.
HARDLY = 1e-2
Joined = TypeVar("Joined", GraphJoint, "_Edge")


def reference_member(problem: LoopProblem, name: str | None = None) -> LoopSolution:
    """Solve by eliminating the chains that support a reference member: the body called `name`, or the one that
    leaves the smallest chains."""
    plan = problem.plan
    if has_rotors(plan):
        raise LoopError(
            f"reference_member knows no rotors, and joints of {plan.name!r} have an armature. Choose another method, "
            "such as auto."
        )
    if plan.couplings:
        raise LoopError(
            f"reference_member eliminates chains one by one, and the couplings of {plan.name!r} tie joints of several: "
            f"{', '.join(repr(tied.name) for tied in plan.couplings)}. Choose another method, such as auto."
        )
    r = member_node(problem, name)
    is_plain = problem.states and problem.lent is None and not problem.evaluator.by_state
    at = opened(problem.evaluator, r) if is_plain else None
    if at is None:
        return _by_decomposition(problem, r)
    vdot, certain, _ = solve(problem, at)
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        vdot[doubtful] = _by_decomposition(problem.some(doubtful), r).vdot
    note = (
        f"{len(at.tips)} chains eliminated in lanes onto the reference member {'/'.join(plan.bodies[r])!r}; "
        f"{len(doubtful)} of {problem.states} states by singular values"
    )
    return EliminationSolution(problem, vdot, note, doubtful)


def _by_decomposition(problem: LoopProblem, r: int) -> LoopSolution:
    """Solve with dense chains, whose singular values tell which directions a chain blocks."""
    plan, joints = problem.plan, graph_joints(problem)
    inertias = node_inertias(problem)
    g = node_forces(problem, inertias, joints)
    a_ground = problem.ground_acceleration
    chains = [
        _open(problem, r, nodes, mine, inertias, g, a_ground) for nodes, mine in chains_of(plan, joints, r)
    ]
    a = np.zeros((problem.states, plan.n, 6))
    a[:, 0] = a_ground
    member = _Member(problem, inertias[r], chains)
    for _ in range(1 + REFINEMENTS):
        force = g[:, r] - a[:, r] @ inertias[r] + sum(chain.on_member() for chain in chains)
        for chain in chains:
            chain.open(a[:, r])
        change, eta = member.acceleration(force)
        a[:, r] += change
        at = 0
        for chain in chains:
            chain.close(change, eta[:, at : at + chain.soft])
            at += chain.soft
    for chain in chains:
        chain.write(a)
    vdot = tree_accelerations(problem, joints, a)
    multipliers, rank = multipliers_of(problem, vdot)
    bodies = "/".join(plan.bodies[r])
    return LoopSolution(
        vdot, multipliers, rank, f"{len(chains)} chains eliminated onto the reference member {bodies!r}"
    )


class _Edge(NamedTuple):
    """A joint of a plan between two nodes, with so many degrees of freedom."""

    a: int
    b: int
    nv: int


def find_reference_member(evaluator: Evaluator) -> int:
    """Return the node whose removal leaves the smallest largest chain; the first one among equals."""
    plan = evaluator.plan
    joints = [_Edge(int(plan.parent[i]), i, int(plan.v_size[i])) for i in range(1, plan.n)]
    joints += [_Edge(loop.parent_node, loop.child_node, loop.kind.nv) for loop in plan.loop_joints]
    sizes = [
        max((sum(j.nv for j in mine) for _, mine in chains_of(plan, joints, r)), default=0)
        for r in range(1, plan.n)
    ]
    return 1 + int(np.argmin(sizes))


def chains_of(plan: Plan, joints: Sequence[Joined], r: int) -> list[tuple[list[int], list[Joined]]]:
    """Return the chains that are left without ground and node r, each as its nodes and its joints; a joint that leads
    from ground to r, or from one of these to itself, is a chain without nodes."""
    leader = list(range(plan.n))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for joint in joints:
        if not {joint.a, joint.b} & {0, r}:
            leader[max(find(joint.a), find(joint.b))] = min(find(joint.a), find(joint.b))
    nodes: dict[int, list[int]] = {}
    for i in range(1, plan.n):
        if i != r:
            nodes.setdefault(find(i), []).append(i)
    mine: dict[int, list[Joined]] = {k: [] for k in nodes}
    direct: list[tuple[list[int], list[Joined]]] = []
    for joint in joints:
        inner = [i for i in (joint.a, joint.b) if i not in (0, r)]
        if inner:
            mine[find(inner[0])].append(joint)
        else:
            direct.append(([], [joint]))
    found: list[tuple[list[int], list[Joined]]] = [(nodes[k], mine[k]) for k in nodes]
    return found + direct


@dataclass(eq=False)
class Chain:
    """A chain opened at the member, whose equations are H s = force + C^T h and C s + K a_0 + c = 0, rows scaled.
    Accelerations of its nodes are B s + bdot; C L^-T = U Sigma V^T, best direction first, the last `soft` of them kept
    for the member; G is U^T K.

    s (states, n) and h (states, m) are the solution so far, `free` (states, n) what the open chain does under what is
    missing of it, and `rest` (states, m) what that leaves of the constraints, in the directions of U.
    """

    nodes: list[int]
    B: dict[int, np.ndarray]
    bdot: dict[int, np.ndarray]
    H: np.ndarray
    L: np.ndarray
    force: np.ndarray
    C: np.ndarray
    K: np.ndarray
    c: np.ndarray
    U: np.ndarray
    sigma: np.ndarray
    Vt: np.ndarray
    G: np.ndarray
    stiff: np.ndarray
    soft: int
    s: np.ndarray
    h: np.ndarray
    free: np.ndarray
    rest: np.ndarray

    def on_member(self) -> np.ndarray:
        """Return the force (states, 6) on the member of the solution so far."""
        return apply(transposed(self.K), self.h)

    def open(self, a_0: np.ndarray) -> None:
        """What the open chain does under what is missing (step 1), while the member accelerates by a_0 (states, 6)."""
        c = self.c + apply(self.C, self.s) + apply(self.K, a_0)
        self.rest = apply(transposed(self.U), c)
        if self.s.shape[-1]:
            force = self.force - apply(self.H, self.s) + apply(transposed(self.C), self.h)
            self.free = solve_lower(self.L, force)
            k = self.Vt.shape[-2]
            self.rest[:, :k] += self.sigma[:, :k] * apply(self.Vt, self.free)

    def felt(self) -> np.ndarray:
        """Return the inertia (states, 6, 6) that the member feels of the eliminated directions."""
        return transposed(self.G) @ (self._inverse[..., None] ** 2 * self.G)

    def pushed(self) -> np.ndarray:
        """Return the force (states, 6) that the member feels of the eliminated directions."""
        return -apply(transposed(self.G), self._inverse**2 * self.rest)

    def kept(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G (states, soft, 6), Sigma and rest (states, soft) of the directions that stay, zero in states where a
        direction is eliminated all the same."""
        last = slice(self.sigma.shape[-1] - self.soft, None)
        stay = ~self.stiff[:, last]
        return self.G[:, last] * stay[..., None], self.sigma[:, last] * stay, self.rest[:, last] * stay

    def close(self, a_0: np.ndarray, eta: np.ndarray) -> None:
        """Add to the solution what belongs to the acceleration a_0 (states, 6) of the member and the forces eta
        (states, soft) in the directions that stayed (steps 3 and 4)."""
        z = -self._inverse * (apply(self.G, a_0) + self.rest)
        along = self._inverse * z
        last = self.sigma.shape[-1] - self.soft
        along[:, last:] += np.where(self.stiff[:, last:], 0.0, eta)
        z[:, last:] += np.where(self.stiff[:, last:], 0.0, self.sigma[:, last:] * eta)
        self.h = self.h + apply(self.U, along)
        if self.s.shape[-1]:
            y = self.free + apply(transposed(self.Vt), z[:, : self.Vt.shape[-2]])
            self.s = self.s + solve_upper(self.L, y)

    def write(self, a: np.ndarray) -> None:
        """Write the accelerations of the nodes into a (states, n, 6)."""
        for i in self.nodes:
            a[:, i] = apply(self.B[i], self.s) + self.bdot[i]

    @property
    def _inverse(self) -> np.ndarray:
        """1 / Sigma of the eliminated directions, zero for the others."""
        return np.where(self.stiff, 1.0 / np.where(self.stiff, self.sigma, 1.0), 0.0)


def _open(
    problem: LoopProblem, r: int, nodes: list[int], joints: list[GraphJoint], inertias: np.ndarray, g: np.ndarray,
    a_ground: np.ndarray,
) -> Chain:  # fmt: skip
    """Return the open-chain solution (step 1), and the constraints at the tip in their own directions."""
    states = problem.states
    tree, closing = _walk(nodes, joints)
    n = sum(6 if step.joint is None else step.joint.S.shape[-1] for step in tree)
    B = {0: np.zeros((states, 6, n)), r: np.zeros((states, 6, n))}
    bdot = {0: a_ground, r: np.zeros((states, 6))}
    at = 0
    for step in tree:
        joint, forward = step.joint, step.forward
        if joint is None:
            # What does not reach ground floats on six coordinates of its own.
            B[step.node], bdot[step.node] = np.zeros((states, 6, n)), np.zeros((states, 6))
            B[step.node][:, :, at : at + 6] = np.eye(6)
            at += 6
            continue
        old, new = (joint.a, joint.b) if forward else (joint.b, joint.a)
        X_old, X_new = (joint.X_a, joint.X_b) if forward else (joint.X_b, joint.X_a)
        back, sign = stacks.inverse(X_new), 1.0 if forward else -1.0
        X = back @ X_old
        B[new] = X @ B[old]
        B[new][:, :, at : at + joint.S.shape[-1]] += sign * (back @ joint.S)
        bdot[new] = apply(X, bdot[old]) + sign * apply(back, joint.c)
        at += joint.S.shape[-1]
    H, force = np.zeros((states, n, n)), np.zeros((states, n))
    for i in nodes:
        Bt = transposed(B[i])
        H += Bt @ inertias[i] @ B[i]
        force += apply(Bt, g[:, i] - bdot[i] @ inertias[i])
    C6 = [j.X_b @ B[j.b] - j.X_a @ B[j.a] for j in closing]
    K6 = [(j.X_b if j.b == r else 0.0) - (j.X_a if j.a == r else np.zeros((states, 6, 6))) for j in closing]
    c6 = [apply(j.X_b, bdot[j.b]) - apply(j.X_a, bdot[j.a]) - j.c for j in closing]
    across = [transposed(j.Phi) for j in closing]
    C = _stack([P @ x for P, x in zip(across, C6, strict=True)], (states, 0, n), -2)
    K = _stack([P @ x for P, x in zip(across, K6, strict=True)], (states, 0, 6), -2)
    c = _stack([apply(P, x) for P, x in zip(across, c6, strict=True)], (states, 0), -1)
    weight = _stack([row_weight(j.Phi, problem.mass, problem.length) for j in closing], (states, 0), -1)
    if nodes:
        internal = np.array(
            [r not in (j.a, j.b) for j in closing for _ in range(j.Phi.shape[-1])], dtype=bool
        )
        # Only constraints of the chain by itself may lend it inertia; those at the tip belong to the member too.
        rows = [np.eye(6)[None] if step.joint is None else transposed(step.joint.S) for step in tree]
        rows = [np.broadcast_to(x, (states, *x.shape[1:])) for x in rows]
        typical = typical_inertia(np.concatenate(rows, axis=-2), problem.mass, problem.length)
        L, H, force = positive_definite(H, force, C, c, weight * internal, problem.plan.name, typical)
    else:
        L = np.zeros((states, 0, 0))
    mobility = [divide_lower(L, transposed(x)) if n else np.zeros((states, 0, 6)) for x in C6]
    # A joint that leads straight from ground to the member is weighed with the motions of the member.
    sizes = [
        row_scale(j.Phi, m if m.shape[-2] else _member_mobility(problem, inertias[r], x), problem.length)
        for j, m, x in zip(closing, mobility, K6, strict=True)
    ]
    scale = _stack(sizes, (states, 0), -1)
    A = _stack([P @ transposed(m) for P, m in zip(across, mobility, strict=True)], (states, 0, n), -2)
    U, sigma, Vt = np.linalg.svd(A / scale[..., None], full_matrices=True)
    m = scale.shape[-1]
    sigma = np.concatenate([sigma, np.zeros((states, m - sigma.shape[-1]))], axis=-1)
    stiff = sigma > HARDLY * np.max(sigma, axis=-1, initial=0.0, keepdims=True)
    soft = m - int(np.min(stiff.sum(axis=-1), initial=m))
    C, K, c = C / scale[..., None], K / scale[..., None], c / scale
    start = {"s": np.zeros((states, n)), "h": np.zeros((states, m))}
    left = {"free": np.zeros((states, n)), "rest": np.zeros((states, m))}
    return Chain(
        nodes, B, bdot, H, L, force, C, K, c, U, sigma, Vt[:, : min(m, n)], transposed(U) @ K, stiff, soft,
        **start, **left,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _MemberStep:
    """A node of a chain's tree, reached by a joint walked from a to b (`forward`) or back, or floating (None)."""

    node: int
    joint: GraphJoint | None = None
    forward: bool = True


def _walk(nodes: list[int], joints: list[GraphJoint]) -> tuple[list[_MemberStep], list[GraphJoint]]:
    """Return a tree over the nodes of a chain from ground, and the joints that are left. A joint that leaves a part of
    its constraints to others cannot carry a node; what only such joints hold floats."""
    inside, reached = set(nodes), {0}
    tree: list[_MemberStep] = []
    left = list(joints)
    while inside - reached:
        # The stiffest joint first: it leaves the fewest constraints for later.
        found = []
        for k, joint in enumerate(left):
            whole = joint.S.shape[-1] + joint.Phi.shape[-1] == 6
            for old, new, forward in ((joint.a, joint.b, True), (joint.b, joint.a, False)):
                if whole and old in reached and new in inside - reached:
                    found.append((joint.S.shape[-1], k, not forward, new))
        if found:
            _, k, back, node = min(found)
            tree.append(_MemberStep(node, left.pop(k), not back))
        else:
            tree.append(_MemberStep(min(inside - reached)))
        reached.add(tree[-1].node)
    return tree, left


class _Member:
    """The last system: the member with the inertia of the eliminated directions, unit masses for those that stayed,
    and these as constraints."""

    def __init__(self, problem: LoopProblem, inertia: np.ndarray, chains: list[Chain]) -> None:
        self.problem, self.chains = problem, chains
        states, soft = problem.states, sum(chain.soft for chain in chains)
        M = np.zeros((states, 6 + soft, 6 + soft))
        M[:, :6, :6] = inertia + sum(chain.felt() for chain in chains)
        M[:, 6:, 6:] = np.eye(soft)
        self.C = np.zeros((states, soft, 6 + soft))
        at = 0
        for chain in chains:
            G, sigma, _ = chain.kept()
            rows = np.arange(at, at + chain.soft)
            self.C[:, rows, :6] = G
            self.C[:, rows, 6 + rows] = sigma
            at += chain.soft
        typical = np.concatenate([typical_inertia(np.eye(6), problem.mass, problem.length), np.ones(soft)])
        nothing, weight = np.zeros((states, 6 + soft)), np.ones((states, soft))
        self.L, self.M, _ = positive_definite(
            M, nothing, self.C, np.zeros((states, soft)), weight, problem.plan.name, typical
        )
        # Where the constraints had to lend inertia they push as well.
        self.lent = 0.0 if self.M is M else 1.0
        # What a constraint on the member alone would be worth, whether or not one of the directions is one.
        reach = np.max([np.linalg.norm(chain.K, axis=-2) for chain in chains], axis=0, initial=0.0)
        size = np.max(reach / np.sqrt(np.diagonal(self.M, axis1=-2, axis2=-1)[:, :6]), axis=-1)
        # Where no chain constrains the member, what is left of a chain's own constraints is measured by unit masses.
        self.size = np.where(size > 0.0, size, 1.0)

    def acceleration(self, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the acceleration (states, 6) of the member under a force (states, 6) and its chains as they are
        opened, and the forces in the directions that stayed (step 2)."""
        f = np.zeros(self.M.shape[:-1])
        f[:, :6] = force + sum(chain.pushed() for chain in self.chains)
        rest = _stack([chain.kept()[2] for chain in self.chains], (len(f), 0), -1)
        f -= self.lent * apply(transposed(self.C), rest)
        A = transposed(divide_lower(self.L, transposed(self.C)))
        y, eta, _ = constrained(A, solve_lower(self.L, f), -rest, self.problem.tolerance, self.size)
        return solve_upper(self.L, y)[:, :6], eta


def _member_mobility(problem: LoopProblem, inertia: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return how the member by itself moves under wrenches at a joint, (states, 6, 6) in square-root form."""
    size = problem.mass * np.array([problem.length**2] * 3 + [1.0] * 3)
    return transposed(X) / np.sqrt(np.maximum(np.diagonal(inertia), 1e-3 * size))[:, None]


def _stack(parts: list[np.ndarray], empty: tuple[int, ...], axis: int) -> np.ndarray:
    return np.concatenate(parts, axis=axis) if parts else np.zeros(empty)


def member_node(problem: LoopProblem, member: str | None) -> int:
    """Return the node of the reference member that is named, or of the best one."""
    if member is None:
        return problem.evaluator.once(find_reference_member)
    plan = problem.plan
    node = plan.body_node.get(member, -1) if isinstance(member, str) else -1
    if node <= 0:
        raise LoopError(
            f"{member!r} cannot be the reference member: name a body that moves, one of "
            f"{', '.join(name for name, i in plan.body_node.items() if i > 0)}."
        )
    return node
