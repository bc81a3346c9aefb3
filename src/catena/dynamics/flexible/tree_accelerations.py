"""Accelerations of trees whatever the number of modes: by articulated bodies, or from the inertia of all coordinates
together where bodies have many modes, whose number is then no part of any code. Cost O(n^3) for n coordinates there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import tree_dynamics
from catena.dynamics.tree.articulated_body import articulated_body
from catena.dynamics.tree.composite_body import accelerations
from catena.dynamics.tree.inertia_and_bias import inertia_and_bias
from catena.kernels.evaluation import Evaluator
from catena.kernels.teams.blas import by_one_blas_thread
from catena.structure.stations import has_many_modes


def tree_accelerations(evaluator: Evaluator, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return the accelerations (..., nv) of a tree for the inputs of `articulated_body`, by name."""
    if has_many_modes(evaluator.plan):
        return _of_all_coordinates(evaluator, inputs)
    return evaluator.evaluate(tree_dynamics(evaluator.plan), inputs)["qdd"]


@by_one_blas_thread
def _of_all_coordinates(evaluator: Evaluator, inputs: Mapping[str, Any]) -> np.ndarray:
    tau = inputs.get("tau")
    found = evaluator.evaluate(inertia_and_bias, {n: x for n, x in inputs.items() if n != "tau"})
    force = 0.0 if tau is None else evaluator.checked(articulated_body, "tau", tau)
    return accelerations(found["H"], force - found["tau"])
