"""How far each loop is from closed, how fast it opens, and what keeps it closed.

For a loop joint with frame P on its parent side and C on its child side, X takes motions from P to C. The
joint's coordinates are those of the configuration nearest to X; what is left is the position error. The twist
of C relative to P is J_rel v, and the joint resists its components along Phi, the constraint space:

    position residual      Phi^T log(X transform(q)^-1), zero exactly when the loop is closed
    velocity residual      Phi^T J_rel v = J v
    acceleration           J vdot + gamma = 0

with gamma = Phi^T (a_C - X a_P - v_C x v_rel - S' v_joint) for vdot = 0, the same recursion as in the tree
(Lilly and Orin, eq. 22 to 30; Nikravesh et al., eq. 11 to 15, C = J). Only joints below the last common ancestor
of the two sides take part, so what moves both sides alike cancels exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.joint_motions import joint_motions
from catena.kinematics.kind_values import kind_values, nearest_coordinates
from catena.spatial import Pose
from catena.structure import Plan
from catena.structure.plan import Loop


@dataclass(frozen=True, eq=False)
class Motions:
    """How all tree joints stand and move: X (..., n, 6, 6) from each node's parent, S_rows (..., nv, 6), twists v
    (..., n, 6) and velocity-dependent accelerations c (..., n, 6) relative to the parent; ground's are zero."""

    X: np.ndarray
    S_rows: np.ndarray
    v: np.ndarray
    c: np.ndarray


@dataclass(frozen=True, eq=False)
class LoopState:
    """A loop joint in a batch of states. m = 6 - nv_joint constraints; everything at the child-side frame C.

    `X` (..., 6, 6) takes motions from P to C, `q` (..., nq_joint) and `v` (..., nv_joint) are the joint's own
    coordinates and velocities, `S` (..., 6, nv_joint) and its pseudo-inverse `S_inv`, `Phi` (..., 6, m), `J_rel`
    (..., 6, nv), `J` = Phi^T J_rel (..., m, nv), `v_rel` (..., 6), `gamma` (..., m), `position` and `velocity` (...,
    m) the residuals; `error` (..., 6) is the whole position error as a twist, `c` (..., 6) the velocity-dependent
    acceleration v_C x v_rel + S' v that the joint allows for, and `drift` (..., 6) the acceleration of C relative to
    P less c when vdot is zero: gamma = Phi^T drift.
    """

    loop: Loop
    X: np.ndarray
    q: np.ndarray
    v: np.ndarray
    S: np.ndarray
    S_inv: np.ndarray
    Phi: np.ndarray
    J_rel: np.ndarray
    J: np.ndarray
    v_rel: np.ndarray
    c: np.ndarray
    drift: np.ndarray
    gamma: np.ndarray
    error: np.ndarray
    position: np.ndarray
    velocity: np.ndarray

    @property
    def name(self) -> str:
        """The name of the joint."""
        return self.loop.name


def tree_motions(evaluator: Evaluator, q: Any, v: Any = None) -> Motions:
    """Return how all tree joints stand and move at q (..., nq) and v (..., nv), or at rest."""
    result = evaluator.evaluate(joint_motions, {"q": q, "qd": v})
    twist, c = result["v"].copy(), result["c"].copy()
    twist[..., :1, :] = c[..., :1, :] = 0.0
    entries = result["X"].copy()
    entries[..., 0, :] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    return Motions(stacks.from_entries(entries), result["S_rows"], twist, c)


def loop_kinematics(
    evaluator: Evaluator, q: Any, v: Any = None, motions: Motions | None = None
) -> list[LoopState]:
    """Return the state of every loop joint of the plan, at q (..., nq) and v (..., nv), or at rest when v is None.

    `motions` are those of the tree at the same state, if the caller has them already.
    """
    if not evaluator.plan.loop_joints:
        return []
    return loop_states(evaluator.numbers, tree_motions(evaluator, q, v) if motions is None else motions, v)


def loop_states(plan: Plan, motions: Motions, v: Any = None) -> list[LoopState]:
    """Return the state of every loop joint of a plan whose tree moves like this, with velocities v (..., nv)."""
    states: dict[str, LoopState] = {}
    for alike in _by_kind(plan.loop_joints):
        states |= {state.name: state for state in _states_alike(plan, motions, alike, v)}
    return [states[loop.name] for loop in plan.loop_joints]


def loop_state(evaluator: Evaluator, name: str, q: Any, v: Any = None) -> LoopState:
    """Return the state of the loop joint called `name`, at q (..., nq) and v (..., nv), or at rest when v is None."""
    plan = evaluator.numbers
    loop = next(loop for loop in plan.loop_joints if loop.name == name)
    return _states_alike(plan, tree_motions(evaluator, q, v), [loop], v)[0]


def _by_kind(loops: Iterable[Loop]) -> list[list[Loop]]:
    """Loops whose joints are equal, which are computed together. A user's kind that cannot be hashed stays alone."""
    groups: dict[Any, list[Loop]] = {}
    for loop in loops:
        try:
            hash(loop.kind)
            key: Any = loop.kind
        except TypeError:
            key = loop.name
        groups.setdefault((type(loop.kind), key), []).append(loop)
    return list(groups.values())


def _states_alike(plan: Plan, motions: Motions, loops: list[Loop], v: Any) -> list[LoopState]:
    """Return the states of loops whose joints are of one kind. They are the last batch dimension of all arrays in
    here."""
    parent, child = ([loop.parent_node for loop in loops], [loop.child_node for loop in loops])
    to_P, to_C = (
        _to_frames([loop.parent_pose for loop in loops]),
        _to_frames([loop.child_pose for loop in loops]),
    )
    last = [plan.last_common(a, b) for a, b in zip(parent, child, strict=True)]
    J_P, a_P, X_P = path_motions(plan, motions, parent, to_P, last)
    J_C, a_C, X_C = path_motions(plan, motions, child, to_C, last)
    X = X_C @ stacks.inverse(X_P)
    J_rel = J_C - X @ J_P
    v_C = stacks.apply(to_C, motions.v[..., child, :])
    rates = np.zeros(plan.nv) if v is None else np.asarray(v, dtype=np.float64)
    v_rel = stacks.apply(J_rel, rates[..., None, :])
    kind = loops[0].kind
    q_joint = nearest_coordinates(kind, X)
    at_rest = kind_values(kind, q_joint, np.zeros(kind.nv))
    S_inv = stacks.pseudo_inverse(at_rest.S)
    v_joint = stacks.apply(S_inv, v_rel) if kind.nv else np.zeros((*v_rel.shape[:-1], 0))
    if q_joint.shape[:-1] != v_joint.shape[:-1]:
        q_joint = np.broadcast_to(q_joint, (*v_joint.shape[:-1], kind.nq))
        S_inv = np.broadcast_to(S_inv, (*v_joint.shape[:-1], *S_inv.shape[-2:]))
    values = at_rest if v is None else kind_values(kind, q_joint, v_joint)
    Phi = values.Phi
    c = stacks.cross(v_C, v_rel) + values.bias
    drift = a_C - stacks.apply(X, a_P) - c
    error = stacks.logarithm(X @ stacks.inverse(values.X))
    across = stacks.transposed(Phi)
    matrices = {"X": X, "S": values.S, "S_inv": S_inv, "Phi": Phi, "J_rel": J_rel, "J": across @ J_rel}
    vectors = {
        "q": q_joint, "v": v_joint, "v_rel": v_rel, "c": c, "drift": drift, "gamma": stacks.apply(across, drift),
        "error": error, "position": stacks.apply(across, error), "velocity": stacks.apply(across, v_rel),
    }  # fmt: skip
    return [
        LoopState(
            loop,
            **{name: x[..., k, :, :] for name, x in matrices.items()},
            **{name: x[..., k, :] for name, x in vectors.items()},
        )
        for k, loop in enumerate(loops)
    ]


def coordinate_rows(plan: Plan, S_rows: np.ndarray) -> np.ndarray:
    """One motion (..., nv, 6) for each coordinate from those of all nodes: where nodes share a coordinate, the largest
    motion in each direction, which tells sizes and no directions."""
    if plan.owner is None:
        return S_rows
    found = np.zeros((*S_rows.shape[:-2], plan.nv, 6))
    for row, column in enumerate(plan.v_index):
        found[..., column, :] = np.maximum(found[..., column, :], np.abs(S_rows[..., row, :]))
    return found


def _to_frames(poses: list[Pose]) -> np.ndarray:
    """Return the motion matrices (..., frames, 6, 6) from reference frames to the frames that `poses` place in them."""
    R = np.array([pose.R for pose in poses], dtype=np.float64)
    places = np.broadcast_arrays(*(np.asarray(pose.p, dtype=np.float64) for pose in poses))
    return stacks.motion_matrices(stacks.transposed(R), np.stack(places, axis=-2))


def path_motion(
    plan: Plan, motions: Motions, node: int, to_frame: np.ndarray, last: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Jacobian (..., 6, nv), the acceleration (..., 6) for vdot = 0, and the transform (..., 6, 6) of a
    frame relative to the node `last` on its way to ground.

    `to_frame` (6, 6) takes motions from the node that carries the frame to it.
    """
    J, a, Y = path_motions(plan, motions, [node], to_frame[None], [last])
    return J[..., 0, :, :], a[..., 0, :], Y[..., 0, :, :]


def path_motions(
    plan: Plan, motions: Motions, nodes: Sequence[int], to_frames: np.ndarray, last: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Jacobians (..., frames, 6, nv), accelerations (..., frames, 6) for vdot = 0, and transforms (...,
    frames, 6, 6) of frames, each relative to a node `last` (frames,) on its way to ground.

    `to_frames` (frames, 6, 6) take motions from the `nodes` (frames,) that carry them to the frames. All frames go
    towards ground together, a joint at a time.
    """
    batch, count = motions.v.shape[:-2], len(nodes)
    rows = np.zeros((*batch, count, plan.nv, 6))
    a = np.zeros((*batch, count, 6))
    Y = np.array(np.broadcast_to(to_frames, (*batch, count, 6, 6)))
    i, ends = np.array(nodes, dtype=int), np.asarray(last, dtype=int)
    going = np.flatnonzero(i != ends)
    while len(going):
        here = i[going]
        Y_here = Y[..., going, :, :]
        sizes = plan.v_size[here]
        frame = np.repeat(np.arange(len(going)), sizes)
        # The columns of all joints passed now, one behind the other.
        count_before = np.repeat(np.cumsum(sizes) - sizes, sizes)
        column = np.repeat(plan.v_start[here], sizes) - count_before + np.arange(len(frame))
        own = np.repeat(plan.spread.v_start[here], sizes) - count_before + np.arange(len(frame))
        # Joints that share coordinates are passed one after the other.
        rows[..., going[frame], column, :] += stacks.apply(
            Y_here[..., frame, :, :], motions.S_rows[..., own, :]
        )
        a[..., going, :] += stacks.apply(Y_here, motions.c[..., here, :])
        Y[..., going, :, :] = Y_here @ motions.X[..., here, :, :]
        i[going] = plan.parent[here]
        going = going[i[going] != ends[going]]
    return stacks.transposed(rows), a, Y


def forces_at_tree(evaluator: Evaluator, q: np.ndarray, loop_tau: np.ndarray) -> np.ndarray:
    """Return the forces (..., nv) at joints of the tree that do at q (..., nq) what forces at all loop joints do, one
    after the other (..., k)."""
    tau: Any = 0.0
    at = 0
    for loop in evaluator.plan.loop_joints:
        effort, at = loop_tau[..., at : at + loop.kind.nv], at + loop.kind.nv
        if effort.any():
            state = loop_state(evaluator, loop.name, q)
            rows = stacks.pseudo_inverse(state.S) @ state.J_rel
            tau = tau + stacks.apply(stacks.transposed(rows), effort)
    return np.asarray(tau)


def wrenches_on_nodes(evaluator: Evaluator, q: np.ndarray, loop_tau: np.ndarray) -> np.ndarray:
    """Return the wrenches (..., 6 n) on all nodes, in their axes at their origins, which are what forces at all loop
    joints, one after the other (..., k), do at q (..., nq): pairs of the two bodies of each."""
    plan = evaluator.numbers
    batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(loop_tau)[:-1])
    total, at = np.zeros((*batch, plan.n, 6)), 0
    for loop in plan.loop_joints:
        effort, at = loop_tau[..., at : at + loop.kind.nv], at + loop.kind.nv
        if effort.any():
            state = loop_state(evaluator, loop.name, q)
            on_child = stacks.apply(stacks.transposed(state.S_inv), effort)
            on_parent = stacks.apply(stacks.transposed(state.X), on_child)
            for node, pose, wrench in (
                (loop.child_node, loop.child_pose, on_child), (loop.parent_node, loop.parent_pose, -on_parent),
            ):  # fmt: skip
                total[..., node, :] += stacks.apply(
                    stacks.transposed(_to_frames([pose])[..., 0, :, :]), wrench
                )
    return total.reshape(*batch, 6 * plan.n)
