"""What forces do that pull loops together, as springs and dampers along their constraints would."""

from typing import Any

import numpy as np

from catena.dynamics import tree_dynamics
from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.least_change import holds
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.coupling_states import CouplingState, constraint_states


def restoring_acceleration(
    evaluator: Evaluator, q: Any, v: Any, stiffness: float, damping: float
) -> np.ndarray:
    """Return the accelerations (states, nv) of the tree, loops cut, at rest and without weight under the forces
    -stiffness e - damping e' along the constraints of q (states, nq), v (states, nv)."""
    plan = evaluator.plan
    sort, states = sort_for(plan), len(q)
    found = evaluator.evaluate(holds(sort), {"q": q, "qd": v})
    force = -stiffness * found["position"] - damping * found["velocity"]
    f_ext = np.zeros((states, plan.n, 6))
    for k, loop in enumerate(plan.loop_joints):
        if loop.constraints:
            for node, side in ((loop.child_node, "K_child"), (loop.parent_node, "K_parent")):
                K = found[side][:, k].reshape(states, sort.columns, 6)
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
    return evaluator.evaluate(tree_dynamics(evaluator.plan), inputs)["qdd"]
