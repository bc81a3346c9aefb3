"""The Adams-Bashforth-Moulton method of order four: predict from four past rates, evaluate, correct, evaluate.

Past positions are seen from the present one, in the local coordinates xi of q = q_n (+) xi, so that joints on
manifolds keep the order too. The evaluation that ends a step is the one that begins the next.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, with_ground
from catena.simulation.stepping.methods.method import CORRECT, PAST
from catena.spatial.scalars import array, where

if TYPE_CHECKING:
    from catena.simulation.stepping.methods.evaluation import Stages

PREDICT = (55 / 24, -59 / 24, 37 / 24, -9 / 24)


def rates_of_past(joint: Any, q: Any, v: Any, past: list[tuple[Any, Any]]) -> list[Any]:
    """Return the rates of xi now and at past states (q, v), seen from q."""
    return [v, *(joint.local_rate(joint.difference(q, q_past), v_past) for q_past, v_past in past)]


@with_ground
@but_particles
def predict(body: Any, ground: Any) -> None:
    """Predict position and velocity of a joint from the present and three past rates (Adams-Bashforth)."""
    h = ground.dt
    past = [(getattr(body, f"q_past_{j}"), getattr(body, f"v_past_{j}")) for j in range(1, PAST + 1)]
    rates = rates_of_past(body.joint, body.q0, body.v0, past)
    body.first = body.qdd
    accelerations = [body.qdd, *(getattr(body, f"a_past_{j}") for j in range(1, PAST + 1))]
    for j, rate in enumerate(rates):
        setattr(body, f"rate_{j}", rate)
    body.xi_ahead = scaled(h, combine(PREDICT, rates))
    body.qd = body.v0 + scaled(h, combine(PREDICT, accelerations))
    body.q = body.joint.integrate(body.q0, body.xi_ahead)


@with_ground
@but_particles
def correct(body: Any, ground: Any) -> None:
    """Correct position and velocity of a joint with the rates at the prediction (Adams-Moulton)."""
    h = ground.dt
    ahead = body.joint.local_rate(body.xi_ahead, body.qd)
    rates = [ahead, body.rate_0, body.rate_1, body.rate_2]
    accelerations = [body.qdd, body.first, body.a_past_1, body.a_past_2]
    body.qd = body.v0 + scaled(h, combine(CORRECT, accelerations))
    body.q = body.joint.integrate(body.q0, scaled(h, combine(CORRECT, rates)))


@with_ground
@but_particles
def remember(body: Any, ground: Any) -> None:
    """Move the present state of a joint to the past ones, if the step is accepted."""
    taken = ground.accepted > 0.5
    newer = {"q_past": body.q0, "v_past": body.v0, "a_past": body.first}
    for j in range(1, PAST + 1):
        for name in newer:
            field = f"{name}_{j}"
            old = getattr(body, field)
            setattr(body, field, array([where(taken, x, y) for x, y in zip(newer[name], old, strict=True)]))
            newer[name] = old


def combine(weights: tuple[float, ...], values: list[Any]) -> Any:
    """Return the sum of values, each times its weight."""
    total: Any = np.zeros(np.shape(values[0]))
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


def scaled(h: Any, x: Any) -> Any:
    """Return h x, where h may be a symbol."""
    return array([h * entry for entry in x])


def sweeps(stages: "Stages") -> list[Sweep]:
    """Return the sweeps of a step."""
    return [*stages.accelerations(0.0), predict, *stages.accelerations(1.0), correct]
