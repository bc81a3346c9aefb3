"""How loops open when a number of the mechanism changes and the coordinates stay: closures of changed mechanisms."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from catena.dynamics.loops.closing.loop_closure import closure
from catena.equations.parameters import find_parameters, with_values
from catena.kernels.evaluation import Evaluator
from catena.kinematics.extent import extent
from catena.kinematics.loops.kept_constraints import kept_as
from catena.structure import plan as planned

if TYPE_CHECKING:
    from catena.system.system import System

# The increment of a difference quotient, as a part of the parameter, or of the size of the mechanism if that is more.
INCREMENT = 1e-5


def opened_loops(
    system: "System", q: np.ndarray, v: np.ndarray, names: Iterable[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the derivatives of the position errors c and of the velocity errors J v of the constraints that count, by
    parameters at the states q (states, nq), v (states, nv): {name: two of (states, m, entries)}."""
    mechanism, plan = system.mechanism, system.plan
    found = {}
    for parameter in find_parameters(mechanism, names):
        columns = []
        for k, value in enumerate(parameter.value):
            h = INCREMENT * (max(abs(float(value)), extent(plan)) or 1.0)
            ends = []
            for step in (h, -h):
                moved = np.array(parameter.value, dtype=float)
                moved[k] += step
                changed = with_values(mechanism, {parameter.name: moved})
                own = planned(changed, root=plan.root, cut=plan.cut, keep=plan.keep)
                ends.append(closure(Evaluator(changed, kept_as(own, system.mechanics.effective_plan)), q, v))
            columns.append([(up - down) / (2.0 * h) for up, down in zip(*ends, strict=True)])
        found[parameter.name] = (
            np.stack([position for position, _ in columns], axis=-1),
            np.stack([velocity for _, velocity in columns], axis=-1),
        )
    return found
