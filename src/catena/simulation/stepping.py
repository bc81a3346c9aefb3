"""One step in time as an algorithm: the stages of a Runge-Kutta method around the dynamics, all in compiled lanes.

Positions live on a manifold, so a step is taken in the local coordinates xi of q = q0 (+) xi, whose rate is the joint's
`local_rate` of the velocity (Munthe-Kaas): quaternions stay of unit length and the order of the method is kept.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics import articulated_body
from catena.dynamics.loop_elimination import loop_elimination
from catena.kernels import POSITION, VELOCITY, Algorithm, Sweep, base_to_tip
from catena.simulation.tableaus import Tableau


class Scalar:
    """One number."""

    size = 1

    @staticmethod
    def zero() -> float:
        """Zero."""
        return 0.0


@base_to_tip
def begin(body: Any, parent: Any) -> None:
    """Where the step begins."""
    body.h = parent.h
    body.q0, body.v0 = body.q, body.qd
    body.xi = np.zeros(body.joint.nv)


@base_to_tip
def semi_implicit(body: Any, parent: Any) -> None:
    """Euler's step with the new velocity: symplectic where nothing depends on the velocity."""
    body.h = parent.h
    h = np.array([body.h] * body.joint.nv)
    body.qd = body.v0 + h * body.qdd
    body.q = body.joint.integrate(body.q0, h * body.qd)


def advance(tableau: Tableau, stage: int) -> Sweep:
    """Keep the rates of a stage and go on to the next, or to the end of the step."""
    last = stage + 1 == tableau.stages
    weights = tableau.b if last else tableau.a[stage + 1]

    def move_on(body: Any, parent: Any) -> None:
        body.h = parent.h
        setattr(body, f"rate_xi_{stage}", body.joint.local_rate(body.xi, body.qd))
        setattr(body, f"rate_v_{stage}", body.qdd)
        body.xi = _sum(body, "rate_xi", weights)
        body.qd = body.v0 + _sum(body, "rate_v", weights)
        body.q = body.joint.integrate(body.q0, body.xi)
        if last and tableau.b_low:
            rest = [x - y for x, y in zip(tableau.b, tableau.b_low, strict=True)]
            body.error_q, body.error_v = _sum(body, "rate_xi", rest), _sum(body, "rate_v", rest)

    return base_to_tip(move_on)


def _sum(body: Any, name: str, weights: Any) -> Any:
    """h times the weighted sum of the rates of all stages so far."""
    total: Any = np.zeros(body.joint.nv)
    for j, weight in enumerate(weights):
        if weight:
            total = total + weight * getattr(body, f"{name}_{j}")
    return np.array([body.h] * body.joint.nv) * total


@lru_cache(maxsize=32)
def step_algorithm(tableau: Tableau | None, columns: int) -> Algorithm:
    """A step of size h by a Runge-Kutta method, or by the semi-implicit Euler method for None; of a tree (columns = 0),
    or of a mechanism whose loops have up to so many constraints."""
    dynamics = loop_elimination(columns) if columns else articulated_body

    def ground(ground: Any) -> None:
        dynamics.ground(ground)
        ground.h = ground.step

    sweeps: list[Sweep] = [begin]
    if tableau is None:
        sweeps += [*dynamics.sweeps, semi_implicit]
    else:
        for stage in range(tableau.stages):
            sweeps += [*dynamics.sweeps, advance(tableau, stage)]
    outputs: dict[str, Any] = {"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY}
    rewritten = {"q", "qd", "qdd", "xi"}
    if tableau and tableau.b_low:
        outputs |= {"error_q": VELOCITY, "error_v": VELOCITY}
    for j in range(tableau.stages if tableau else 0):
        rewritten |= {f"rate_xi_{j}", f"rate_v_{j}"}
    return Algorithm(
        f"step_{tableau.name if tableau else 'semi_implicit'}_{columns}",
        ground,
        tuple(sweeps),
        inputs=dynamics.inputs,
        outputs=outputs,
        ground_inputs={**dynamics.ground_inputs, "step": Scalar},
        ground_outputs=dynamics.ground_outputs,
        optional=dynamics.optional,
        views=dynamics.views,
        columns=dynamics.columns,
        rewritten=frozenset(rewritten) | dynamics.rewritten,
    )
