"""What forces do that pull loops together, as springs and dampers along their constraints would."""

from typing import Any

import numpy as np

from catena.dynamics import composite_body
from catena.dynamics.flexible.tree_accelerations import tree_accelerations
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.least_change import holds
from catena.dynamics.tree.rotors import with_rotors
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.coupling_states import CouplingState, constraint_states

# What the weakest of all errors fades with, unless strengths are given [s].
FADING = 0.05


def suitable_strength(evaluator: Evaluator, q: np.ndarray) -> tuple[float, float, float, float]:
    """Return stiffness and damping for distances, and for angles, that suit the inertia which constraints feel at q
    (nq,): with the largest acceleration by unit forces x of either sort they are 1 / (T^2 x) and 2 / (T x), so that no
    error fades quicker than about exp(-4 t / T), whatever else follows more slowly."""
    plan = evaluator.plan
    shape = shape_for(plan)
    rest = np.zeros((1, plan.nv))
    found = evaluator.evaluate(holds(shape), {"q": q[None], "qd": rest})
    turning = turning_parts(evaluator, found["K_child"], shape.columns)[0]
    states = constraint_states(evaluator, q[None], rest)
    H = with_rotors(plan, evaluator.evaluate(composite_body, {"q": q[None]})["H"])[0]
    strength: list[float] = []
    for is_turning in (False, True):
        rows = [
            state.J[0][c]
            for k, state in enumerate(states)
            for c in range(state.loop.constraints)
            if (turning[k, c] > 0.5) == is_turning
        ]
        J = np.array(rows).reshape(len(rows), plan.nv)
        quickest = float(np.linalg.eigvalsh(J @ np.linalg.pinv(H) @ J.T)[-1]) if rows else 0.0
        felt = 1.0 / quickest if quickest > 0.0 else 0.0
        strength += [felt / FADING**2, 2.0 * felt / FADING]
    return strength[0], strength[1], strength[2], strength[3]


def turning_parts(evaluator: Evaluator, K_child: np.ndarray, columns: int) -> np.ndarray:
    """Return which part of each constraint is about angles, (states, loops, columns): one of a moment, zero of a
    force. `K_child` are the forces on children, at their origins; those of couplings count as distances."""
    K = K_child.reshape(len(K_child), -1, columns, 6)
    found = np.zeros(K.shape[:-1])
    for k, loop in enumerate(evaluator.plan.loop_joints):
        force = K[:, k, :, 3:]
        moment = K[:, k, :, :3] - np.cross(loop.child_p, force)
        a, b = (np.sum(x * x, axis=-1) for x in (moment, force))
        found[:, k] = a / np.where(a + b > 0.0, a + b, 1.0)
    return found


def restoring_acceleration(
    evaluator: Evaluator, q: Any, v: Any, strength: tuple[float, float, float, float]
) -> np.ndarray:
    """Return the accelerations (states, nv) of the tree, loops cut, at rest and without weight under the forces
    -k e - d e' along the constraints of q (states, nq), v (states, nv), with `strength` k and d for distances and then
    for angles."""
    plan = evaluator.plan
    shape, states = shape_for(plan), len(q)
    found = evaluator.evaluate(holds(shape), {"q": q, "qd": v})
    k, d, k_turning, d_turning = strength
    s = turning_parts(evaluator, found["K_child"], shape.columns)
    force = -(k + s * (k_turning - k)) * found["position"] - (d + s * (d_turning - d)) * found["velocity"]
    f_ext = np.zeros((states, plan.n, 6))
    for k, loop in enumerate(plan.loop_joints):
        if loop.constraints:
            for node, side in ((loop.child_node, "K_child"), (loop.parent_node, "K_parent")):
                K = found[side][:, k].reshape(states, shape.columns, 6)
                f_ext[:, node] += np.einsum("sc,sci->si", force[:, k], K)
    f_ext[:, 0] = 0.0
    tau = np.zeros((states, plan.nv))
    if plan.couplings:
        tied = [s for s in constraint_states(evaluator, q, v) if isinstance(s, CouplingState)]
        for k, state in enumerate(tied, len(plan.loop_joints)):
            if state.loop.constraints:
                tau += force[:, k, :1] * state.J[:, 0]
    weightless = np.concatenate([np.zeros(3), plan.gravity])
    inputs = {
        "q": q, "qd": np.zeros((states, plan.nv)), "tau": tau,
        "f_ext": f_ext.reshape(states, 6 * plan.n), "a_base": weightless,
    }  # fmt: skip
    return tree_accelerations(evaluator, inputs)
