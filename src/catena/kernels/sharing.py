"""Coordinates that several nodes share, on the way in and out of compiled code.

Compiled code gives every node coordinates of its own (`Plan.spread`). On the way in, a shared coordinate is told to all
nodes that have it. On the way out there are two sorts of results: what the nodes agree about, such as accelerations, is
taken from the owner; what each node contributes to a coordinate, such as forces and Jacobians, is summed up, which is
done in NumPy (`summed`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.kernels.algorithm import COLUMNS, MATRIX, POSITION, ROWS, VELOCITY, Algorithm
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.kernels.tape import Tape

WORD = 8


def is_summed(algorithm: Algorithm, name: str) -> bool:
    """Return whether nodes contribute to a result, so that those which share a coordinate are summed up."""
    extent = algorithm.outputs.get(name)
    if name in algorithm.per_node:
        return False
    return (
        extent in (COLUMNS, ROWS, MATRIX) or name in algorithm.matrix_outputs or name in algorithm.contributed
    )


def fold(tape: "Tape", algorithm: Algorithm, plan: Plan) -> "Tape":
    """Return the tape with inputs and agreed results in shared coordinates."""
    index = {POSITION: plan.q_index, VELOCITY: plan.v_index}
    width = {POSITION: plan.nq, VELOCITY: plan.nv}
    inputs, outputs = dict(tape.inputs), dict(tape.outputs)
    for name, extent in algorithm.inputs.items():
        if name in inputs and extent in index:
            inputs[name] = (width[extent], shared_columns(inputs[name][1], index[extent]))
    for name, extent in algorithm.outputs.items():
        if extent in index and not is_summed(algorithm, name):
            outputs[name] = ((width[extent],), agreed_columns(outputs[name][1], plan, extent))
    return replace(tape, inputs=inputs, outputs=outputs)


def shared_columns(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return pairs of columns and slots with the columns of shared coordinates."""
    return np.stack([index[table[:, 0] // WORD] * WORD, table[:, 1]], axis=1)


def agreed_columns(table: np.ndarray, plan: Plan, extent: Any) -> np.ndarray:
    """Return pairs of shared columns and slots of all nodes, the owners last, so that theirs are what comes out; what
    Python writes there reaches all of them."""
    assert plan.owner is not None
    index, size = (plan.q_index, plan.q_size) if extent is POSITION else (plan.v_index, plan.v_size)
    own = np.repeat(plan.owner == np.arange(plan.n), size)[table[:, 0] // WORD]
    return shared_columns(np.concatenate([table[~own], table[own]]), index)


def owned_columns(table: np.ndarray, plan: Plan, extent: Any) -> np.ndarray:
    """Return pairs of shared columns and slots of those nodes that own their coordinates."""
    assert plan.owner is not None
    index, size = (plan.q_index, plan.q_size) if extent is POSITION else (plan.v_index, plan.v_size)
    own = np.repeat(plan.owner == np.arange(plan.n), size)
    return shared_columns(table[own[table[:, 0] // WORD]], index)


def spread_inputs(algorithm: Algorithm, plan: Plan, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of one state, numbers or symbols, with shared coordinates told to all nodes that have them."""
    index = {POSITION: plan.q_index, VELOCITY: plan.v_index}
    return {n: x[index[e]] if (e := algorithm.inputs.get(n)) in index else x for n, x in inputs.items()}


def shared_outputs(
    algorithm: Algorithm, plan: Plan, outputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the results of one state, numbers or symbols, in shared coordinates."""
    found = dict(outputs)
    for name, extent in algorithm.outputs.items():
        if extent in (POSITION, VELOCITY) and not is_summed(algorithm, name):
            index, width = (plan.q_index, plan.nq) if extent is POSITION else (plan.v_index, plan.nv)
            shared = np.zeros(width, dtype=found[name].dtype)
            # The owner comes before the nodes that follow it.
            shared[index[::-1]] = found[name][::-1]
            found[name] = shared
    return summed(algorithm, plan, found)


def summed(algorithm: Algorithm, plan: Plan, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the results with the contributions to shared coordinates summed up."""
    wide = len(plan.v_index)
    take = np.zeros((wide, plan.nv))
    take[np.arange(wide), plan.v_index] = 1.0
    found = dict(outputs)
    for name, y in outputs.items():
        if not is_summed(algorithm, name):
            continue
        extent = algorithm.outputs.get(name)
        if (extent in (COLUMNS, MATRIX) or extent is VELOCITY or extent is None) and y.shape[-1] == wide:
            y = y @ take
        if (extent in (ROWS, MATRIX) or extent is None) and y.ndim > 1 and y.shape[-2] == wide:
            y = np.swapaxes(np.swapaxes(y, -1, -2) @ take, -1, -2)
        found[name] = np.ascontiguousarray(y)
    return found
