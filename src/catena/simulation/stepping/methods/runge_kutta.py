"""Explicit Runge-Kutta methods on the manifold of q, from their tables of coefficients."""

from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, with_ground
from catena.kernels.algorithm import LeaveOut
from catena.simulation.stepping.methods import turns
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.conditions import larger
from catena.simulation.stepping.methods.decision import keep_first_doubt
from catena.simulation.stepping.methods.evaluation import Stages
from catena.simulation.stepping.methods.tableaus import Tableau
from catena.spatial.scalars import absolute

# A step turns a joint on a manifold by no more than this [rad]: local coordinates are good short of half a turn.
FAR = 1.5


def advance(method: Tableau, stage: int, stays: bool = False, minimal: bool = False) -> Sweep:
    """Keep the rates of a stage and go on to the next, or to the end of the step; a last stage that `stays` stands
    there already. Errors of `minimal` coordinates are those of the independent ones."""
    last = stage + 1 == method.stages
    weights = method.b if last else method.a[stage + 1]

    def move_on(body: Any, ground: Any) -> None:
        h = ground.dt
        setattr(body, f"rate_xi_{stage}", body.joint.local_rate(body.xi, body.qd))
        setattr(body, f"rate_v_{stage}", body.qdd)
        if last and method.errors:
            v_stage = body.qd
        if not (last and stays):
            body.xi = scaled(h, _sum(body, "rate_xi", weights))
            body.qd = body.v0 + scaled(h, _sum(body, "rate_v", weights))
            body.q = body.joint.integrate(body.q0, body.xi)
        if last and method.errors:
            for k, weights_of_error in enumerate(method.errors):
                worst = getattr(ground, f"error_{k}")
                worst = _turned_far(body, worst) if not k else worst
                counts = body.counts if minimal else None
                setattr(ground, f"error_{k}", _missed(body, ground, weights_of_error, v_stage, worst, counts))

    return with_ground(but_particles(move_on))


def _sum(body: Any, name: str, weights: Any) -> Any:
    """Return the weighted sum of the rates of the stages so far."""
    total: Any = np.zeros(body.joint.nv)
    for j, weight in enumerate(weights):
        if weight:
            total = total + weight * getattr(body, f"{name}_{j}")
    return total


def _turned_far(body: Any, worst: Any) -> Any:
    """Return the larger of an error and of how far a joint on a manifold turns in a step."""
    for turned in body.joint.turning:
        worst = larger(worst, absolute(body.xi[turned]) / FAR)
    return worst


def _missed(body: Any, ground: Any, weights: Any, v_stage: Any, worst: Any, counts: Any = None) -> Any:
    """Return the larger of an error and of what a joint misses as parts of the tolerance, by weights of the rates; of
    components that have a number where some of them `counts`, and of all without."""
    missed = [scaled(ground.dt, _sum(body, name, weights)) for name in ("rate_xi", "rate_v")]
    if counts is not None:
        missed = [counts * e for e in missed]
    for e, moved in zip(missed[0], body.xi, strict=True):
        # Where a step leads far, the distance is the scale: nothing is known better than to its rounding.
        worst = larger(worst, absolute(e) / (ground.atol + ground.rtol * larger(1.0, absolute(moved))))
    for e, before, after in zip(missed[1], body.v0, v_stage, strict=True):
        scale = ground.atol + ground.rtol * larger(absolute(before), absolute(after))
        worst = larger(worst, absolute(e) / scale)
    return worst


def sweeps(stages: Stages) -> list[Sweep]:
    """Return the sweeps of a step."""
    variant, table = stages.variant, stages.method.tableau
    assert table is not None
    found: list[Sweep] = []
    begun = 0
    for stage in range(table.stages):
        found += stages.evaluated(table.c[stage])
        found += stages.heeded()
        if variant.shape and not stage:
            found.append(keep_first_doubt)
        found.append(advance(table, stage, stages.reuses, variant.is_minimal))
        if variant.turns:
            found.append(turns.count_stage(table, stage))
        begun = begun if stage else len(found)
    if variant.touches and table.errors:
        # A step that contacts do not let begin is not taken.
        found.insert(begun, LeaveOut("dt", len(found) - begun))
    return found
