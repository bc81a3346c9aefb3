"""Timelines for whoever owns the loop: everything that a run can have, one step a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.arguments import event_list, time_span
from catena.simulation.contacts import Contact, ContactRun, Stop
from catena.simulation.following import Following
from catena.simulation.guards.events import distinct
from catena.simulation.problem import Problem
from catena.simulation.run import Beginning, Run
from catena.simulation.structure_changes import ChangingRun, is_changing
from catena.simulation.timeline import Timeline

# How long a motion without an end is taken for [s], where parts of its duration count: so many steps, or more.
AHEAD, STEPS = 1.0, 100
# How often somebody is asked who is only asked when he has something else to give [Hz].
HARDLY_EVER = 1e-9


class Told:
    """Control forces, (..., nv) or by joint, that hold until others are told."""

    rate = HARDLY_EVER

    def __init__(self) -> None:
        self.tau: Any = None

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return np.zeros_like(v) if self.tau is None else self.tau


def begun(
    problem: Problem,
    q: Any,
    v: Any,
    start: float,
    step: float,
    contacts: Sequence[Contact | Stop],
    events: Any,
) -> Timeline:
    """Return what moves q (..., nq), v (..., nv) of a problem from `start` [s] on by steps of about so many seconds,
    with contacts and events."""
    span = time_span(start, max(AHEAD, STEPS * step))
    quiet = Following(span, False)
    if not contacts and not is_changing(events):
        return Run(problem, q, v, span, events, None, quiet, False, Beginning(open_ended=True))
    if problem.system.origin is not problem.system or max(q.ndim, v.ndim) > 1:
        raise StateError(
            "Stepper: contacts, and events that change the structure, give every state of a batch a motion of its own: "
            "make a stepper for each."
        )
    options = {name: getattr(problem, name) for name in ("integrator", "step", "rtol", "atol", "drift")}
    changing = ChangingRun(
        problem.system, span, problem.control, problem.motion, problem.forces, options, distinct(event_list(events)),
        None, quiet, False, problem.near,
    )  # fmt: skip
    timeline = ContactRun(contacts, changing) if contacts else changing
    timeline.begin(q, v)
    return timeline
