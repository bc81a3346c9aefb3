"""What Lilly and Orin compute of the chains of a system, asked by the name of the reference member."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.loops.formulations.reference_member import member_node
from catena.dynamics.loops.formulations.simple_chains import ChainQuantities, opened, solve
from catena.errors import LoopError
from catena.system.dynamics_calls import posed
from catena.system.system import System


def chain_quantities(
    system: System, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, member: str | None = None
) -> ChainQuantities:  # fmt: skip
    """Return Lambda^-1, S, M, P, R and f of all chains that hold a reference member, and its acceleration a_0, at
    closed states q (..., nq), v (..., nv) under joint forces tau (..., nv); at rest and without forces where these are
    None.

    `member` is the body that the chains hold, by default the one whose removal leaves the smallest chains. All joints
    that the plan cuts must be at the member; `m.system(cut=[...])` says which are. Directions in which a chain cannot
    move its tip are constraints of the member: they are in f, and not in M, P and R.
    """
    rates: Any = np.zeros(system.nv) if v is None else v
    problem = posed(system, q, rates, system._with_own(q, rates, tau), None, None)
    r = member_node(problem, member)
    at = None if problem.plan.owner is not None or problem.plan.couplings else opened(problem.evaluator, r)
    if at is None:
        raise LoopError(
            f"chain_quantities: {'/'.join(system.plan.bodies[r])!r} of {system.mechanism.name!r} is not held by simple "
            f"chains that are cut at it (the plan cuts {list(system.plan.loops)}): name another member, or plan with "
            f"cut=[...], the joints at the member but one."
        )
    _, certain, found = solve(problem, at)
    if not certain.all():
        raise LoopError(
            f"chain_quantities: in state {int(np.argmin(certain))} the chains of {system.mechanism.name!r} do not tell "
            f"how its member moves: the member or a link has no inertia of a body in space, or the loops are open. "
            f"Give bodies mass and inertia about all axes, or ask forward_dynamics, which needs neither."
        )
    return found.shaped(problem.batch)
