"""The velocity transformations of a system, asked by the names of its joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.loops.independent import independent_components
from catena.errors import StateError
from catena.questions.velocity_transformation import (
    VelocityTransformation,
    velocity_transformation as of_problem,
)
from catena.system.dynamics_calls import posed
from catena.system.system import System


def velocity_transformation(
    system: System, q: ArrayLike, v: ArrayLike | None = None, independent: str | Iterable[str] | None = None
) -> VelocityTransformation:
    """Return the matrices B, D, D*, C, E and what their rates do, of the joint-coordinate method at one closed state q
    (nq,), v (nv,), which is at rest if v is None.

    `independent` names the joints of the tree whose velocities are to be the independent ones ("crank", or "hip[1]" for
    one component); otherwise those are taken that determine all others best.
    """
    rates: Any = np.zeros(system.nv) if v is None else v
    if system.plan.owner is not None:
        raise StateError(
            f"velocity_transformation is for rigid bodies, and {system.mechanism.name!r} has flexible ones."
        )
    # Ground that falls as freely as everything else leaves the rates of the matrices alone.
    fall = np.concatenate([np.zeros(3), system.plan.gravity])
    problem = posed(system, q, rates, None, None, fall)
    if problem.batch:
        raise StateError(
            f"velocity_transformation looks at one state, but there are {problem.batch}: give q ({system.nq},)."
        )
    chosen = None if independent is None else independent_components(system.plan, independent)
    return of_problem(problem, chosen)
