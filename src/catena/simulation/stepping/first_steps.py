"""The first steps of a method that needs a past, by one that does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from catena.simulation.stepping.methods.method import PAST, method_of
from catena.simulation.stepping.record import StepRecord

if TYPE_CHECKING:
    from catena.simulation.stepping.compiled import CompiledSteps


def gather_past(
    steps: CompiledSteps, starter: CompiledSteps, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray,
    ends: np.ndarray, nodes: StepRecord | None,
) -> None:  # fmt: skip
    """Move states by steps of a `starter`, and let the method of `steps` remember them; where the end is near, up to
    there. The arguments are those of `advance`, whose arrays are written to."""
    h = steps.kept["h"]
    starter.begin(len(t), 1.0)
    starter.fixed_step = math.inf
    starter.carry(steps.works())
    past, powers = [], []
    for _ in range(PAST):
        going = ends - t > h[:, 0] * (1.0 + 1e-9)
        if not going.any():
            break
        passed = StepRecord(t, q, v, tau, steps.works())
        now = np.where(np.isfinite(t), np.where(going, t + h[:, 0], t), 0.0)
        before = (q.copy(), v.copy())
        t[:], q[:], v[:] = starter.advance(t, q, v, tau, now, passed)
        past.append((*before, passed.last_accelerations()))
        powers.append(starter.power_start.copy())
        if nodes is not None:
            nodes.extend(passed)
    steps.steps += starter.steps
    starter.steps = 0
    if len(past) < PAST:
        # The end is near: the rest goes by the other method too.
        starter.fixed_step = steps.fixed_step
        t[:], q[:], v[:] = starter.advance(t, q, v, tau, ends, nodes)
        steps.steps += starter.steps
        steps.carry(starter.works())
        return
    steps.carry(starter.works())
    if steps.counts:
        steps.past |= {"power_past_1": powers[-1], "power_past_2": powers[-2]}
    for j, (q_past, v_past, a_past) in enumerate(reversed(past), start=1):
        for name, x in (("q_past", q_past), ("v_past", v_past), ("a_past", a_past)):
            steps.past[f"{name}_{j}"] = x
    assert set(steps.past) >= set(method_of(steps.method).past)
