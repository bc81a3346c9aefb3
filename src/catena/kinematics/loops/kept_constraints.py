"""Which part of its constraint space each loop joint keeps, so that as many constraints are left as count and these
determine the motion well wherever a mechanism was seen.

In each place the constraints have a left null space N (m x d): forces in the loop joints that play against each other
and move nothing. Of it d directions are given up, each within one joint: those that take part most in what is
redundant, on average over the places. What is left is a fixed part of each joint's constraint space, in the frame on
its child's side. Seen from the parent's side the same space turns against that frame when the joint moves, so a joint
is turned round first where its redundant directions keep still from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from catena.joints import Flipped, Reduced
from catena.kernels.evaluation import Evaluator
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.closure import LoopState, Motions, coordinate_rows, loop_states, tree_motions
from catena.kinematics.loops.coupling_states import CouplingState, coupling_states
from catena.kinematics.loops.scales import row_sizes
from catena.kinematics.stacks import transposed
from catena.structure import Plan
from catena.structure.flattening import canonical
from catena.structure.plan import Loop

# How often a choice is improved. What is kept need not determine more than the second part of the motion.
CHOICES, ENOUGH = 40, 0.5
# Rounding must not choose between directions that take part alike.
ALIKE = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class KeptConstraints:
    """A plan whose loops keep only a part of their constraint spaces, which of them were turned round for that, so that
    parent and child are exchanged, and the least part of the motion that they determine in any place."""

    plan: Plan
    turned: tuple[bool, ...]
    determined: float


def keep(evaluator: Evaluator, q: np.ndarray, rank: int) -> KeptConstraints:
    """Keep `rank` constraints in all, chosen for the places q (places, nq)."""
    length, motions = characteristic_length(evaluator.plan), tree_motions(evaluator, q)
    found = []
    for plan, turned in _directions(evaluator.plan, motions, length, rank, q):
        kept, determined = _best(plan, motions, length, rank, q)
        sizes = [row_sizes(state.Phi[0], length) for state in loop_states(plan, motions)]
        parts = zip(plan.loop_joints, kept, sizes, strict=False)
        loops = [_reduced(loop, K / size[:, None]) for loop, K, size in parts]
        # A coupling has one row, which is kept or not.
        ties = [
            replace(tied, constraints=K.shape[1])
            for tied, K in zip(plan.couplings, kept[len(loops) :], strict=True)
        ]
        found.append(KeptConstraints(replace(plan, loop_joints=loops, couplings=ties), turned, determined))
    most = max(kept.determined for kept in found)
    return next(kept for kept in found if kept.determined >= ALIKE * most)


def kept_as(plan: Plan, other: Plan) -> Plan:
    """Return a plan of the same structure, perhaps of symbols, whose loops keep what those of the other plan keep."""
    pairs = zip(plan.loop_joints, other.loop_joints, strict=True)
    ties = zip(plan.couplings, other.couplings, strict=True)
    return replace(
        plan,
        loop_joints=[_like(loop, model) for loop, model in pairs],
        couplings=[replace(tied, constraints=model.constraints) for tied, model in ties],
    )


def _like(loop: Loop, model: Loop) -> Loop:
    if loop.parent_node != model.parent_node:
        turned = _other_way(loop)
        assert turned is not None
        loop = turned
    return _reduced(loop, np.array(model.kind.kept)) if isinstance(model.kind, Reduced) else loop


def _best(
    plan: Plan, motions: Motions, length: float, rank: int, q: np.ndarray
) -> tuple[list[np.ndarray], float]:
    """Return what each loop keeps (m_loop, k), and the least part of the motion that this determines in any place."""
    U = np.linalg.svd(_constraints(plan, motions, length, q))[0]
    best: list[np.ndarray] = []
    determined = -1.0
    for choose in (_all_at_once, _one_by_one):
        kept = choose(U[..., rank:], _blocks(plan))
        for _ in range(1 + CHOICES):
            least = _weakest_hold(kept, U[..., :rank])
            if least > determined + 1e-3:
                best, determined = kept, least
            if determined > ENOUGH:
                return best, determined
            kept = _better(kept, U[..., :rank])
    return best, determined


def _weakest_hold(kept: list[np.ndarray], U: np.ndarray) -> float:
    """Return the least singular value in any place of what is kept of the constraints U (places, m, rank) that
    count."""
    control = np.linalg.svd(transposed(_joined(kept)) @ U, compute_uv=False)
    return float(control.min(initial=1.0))


def _better(kept: list[np.ndarray], U: np.ndarray) -> list[np.ndarray]:
    """Return a step that raises the mean over the places of log det (K^T U U^T K): where K hardly grips the logarithm
    falls without bound, so such places weigh most. It has its maximum where K spans the gradient."""
    K = _joined(kept)
    control = transposed(K) @ U
    ridge = 1e-6 * np.eye(K.shape[1])
    gradient = np.mean(U @ transposed(control) @ np.linalg.inv(control @ transposed(control) + ridge), axis=0)
    result, row, column = [], 0, 0
    for part in kept:
        m, k = part.shape
        result.append(np.linalg.qr(gradient[row : row + m, column : column + k])[0])
        row, column = row + m, column + k
    return result


def _constraints(plan: Plan, motions: Motions, length: float, q: np.ndarray) -> np.ndarray:
    """Return the Jacobian (places, m, nv) of all loops and couplings, rows and columns in radians and lengths."""
    S = transposed(coordinate_rows(plan, motions.S_rows))
    units = 1.0 / row_sizes(S, 1.0 / length)[..., None, :]
    J = [np.zeros((len(S), 0, plan.nv))]
    loops = loop_states(plan, motions)
    states: list[LoopState | CouplingState] = [*loops, *coupling_states(plan, q, None, loops)]
    J += [state.J / row_sizes(state.Phi, length)[..., None] for state in states]
    return np.concatenate(J, axis=-2) * units


def _blocks(plan: Plan) -> list[slice]:
    """Return the rows of each loop and of each coupling."""
    ends = np.cumsum([0, *(each.constraints for each in plan.constraints)])
    return [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _directions(
    plan: Plan, motions: Motions, length: float, rank: int, q: np.ndarray
) -> list[tuple[Plan, tuple[bool, ...]]]:
    """Return the plan as it is, with all loops turned round that can be, and with those turned whose redundant
    directions then keep still; and which ones were turned."""
    other = [_other_way(loop) for loop in plan.loop_joints]
    able = [loop is not None for loop in other]

    def turned(which: Iterable[bool]) -> tuple[Plan, tuple[bool, ...]]:
        chosen = tuple(w and a for w, a in zip(which, able, strict=True))
        loops = [
            b if w and b is not None else a for a, b, w in zip(plan.loop_joints, other, chosen, strict=True)
        ]
        return replace(plan, loop_joints=loops), chosen

    ways = [turned([False] * len(able)), turned(able)]
    still = []
    for each, _ in ways:
        N = np.linalg.svd(_constraints(each, motions, length, q))[0][..., rank:]
        mean = _mean(N)
        still.append([float(np.sum(mean[block, block] ** 2)) for block in _blocks(each)])
    better = [there > here * (1.0 + 1e-6) for here, there in zip(*still, strict=True)][: len(able)]
    return [*ways, turned(better)]


def _other_way(loop: Loop) -> Loop | None:
    """Return the same loop described from child to parent; None where its kind knows no closed form for that."""
    R, kind, params = canonical(loop.kind, True)
    if isinstance(kind, Flipped):
        return None
    return replace(
        loop, kind=kind, params=params,
        parent_node=loop.child_node, parent_R=loop.child_R @ R, parent_p=loop.child_p,
        child_node=loop.parent_node, child_R=loop.parent_R @ R, child_p=loop.parent_p,
    )  # fmt: skip


def _all_at_once(N: np.ndarray, blocks: list[slice]) -> list[np.ndarray]:
    """Return what each loop keeps (m_loop, k), for null spaces N (places, m, d): all but the d directions that take
    part most. Right where each loop is redundant by itself."""
    values, vectors = [np.zeros(0)], []
    for block in blocks:
        w, V = np.linalg.eigh(_mean(N[:, block]))
        values.append(w)
        vectors.append(V)
    order = np.argsort(-np.concatenate(values), kind="stable")
    gone = np.zeros(len(order), dtype=bool)
    gone[order[: N.shape[-1]]] = True
    return [V[:, ~gone[block]] for V, block in zip(vectors, blocks, strict=True)]


def _one_by_one(N: np.ndarray, blocks: list[slice]) -> list[np.ndarray]:
    """Return the same, but always the direction that takes part most in what the ones before left redundant. Right
    where loops are redundant only together."""
    given_up: list[list[np.ndarray]] = [[] for _ in blocks]
    for _ in range(N.shape[-1]):
        found: list[tuple[float, np.ndarray | None]] = []
        for block, gone in zip(blocks, given_up, strict=True):
            if len(gone) == block.stop - block.start:
                found.append((0.0, None))
                continue
            values, vectors = np.linalg.eigh(_mean(N[:, block]))
            found.append((float(values[-1]), vectors[:, -1]))
        most = max(value for value, _ in found)
        k = next(k for k, (value, w) in enumerate(found) if w is not None and value >= ALIKE * most)
        w = found[k][1]
        assert w is not None
        given_up[k].append(w)
        N = _without(N, blocks[k], w)
    return [_complement(gone, block.stop - block.start) for gone, block in zip(given_up, blocks)]


def _mean(N: np.ndarray) -> np.ndarray:
    """Return the mean (m, m) of N N^T over places."""
    return np.asarray(np.mean(N @ transposed(N), axis=0))


def _without(N: np.ndarray, block: slice, w: np.ndarray) -> np.ndarray:
    """Return the part (places, m, d - 1) of null spaces N (places, m, d) in which the direction w of a loop takes no
    part."""
    along = np.einsum("pid,i->pd", N[:, block], w)
    # The columns of the null space of a single row, by a singular value decomposition of it.
    Vt = np.linalg.svd(along[:, None, :])[2]
    return N @ transposed(Vt[:, 1:])


def _complement(gone: list[np.ndarray], m: int) -> np.ndarray:
    """Return an orthonormal basis (m, m - k) of what is orthogonal to k directions (m,)."""
    if not gone:
        return np.eye(m)
    return np.linalg.svd(np.array(gone).T, full_matrices=True)[0][:, len(gone) :]


def _joined(kept: list[np.ndarray]) -> np.ndarray:
    """Return all that is kept as the columns of one matrix (m, rank)."""
    K = np.zeros((sum(k.shape[0] for k in kept), sum(k.shape[1] for k in kept)))
    row = column = 0
    for part in kept:
        m, k = part.shape
        K[row : row + m, column : column + k] = part
        row, column = row + m, column + k
    return K


def _reduced(loop: Loop, kept: np.ndarray) -> Loop:
    """Return the loop with what it keeps (m, k); as it is if that is everything."""
    k = kept.shape[1]
    if k == loop.constraints:
        return loop
    kind = Reduced(loop.kind, tuple(tuple(float(x) for x in row) for row in kept), k)
    return replace(loop, kind=kind, params=kind.params(), constraints=k)
