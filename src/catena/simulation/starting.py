"""Timelines for whoever owns the loop: everything that a run can have, one step a call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from catena.simulation.arguments import event_list, time_span
from catena.simulation.contacts import Contact, ContactRun, Stop
from catena.simulation.contacts.landing import goes_in_lanes, stepping
from catena.simulation.following import Following
from catena.simulation.guards.events import distinct
from catena.simulation.problem import Problem
from catena.simulation.run import Run
from catena.simulation.run_start import RunStart
from catena.simulation.several import Several
from catena.simulation.single_states import SingleState, single_states
from catena.simulation.structure_changes import ChangingRun, is_changing
from catena.simulation.timeline import Timeline

# How long a motion without an end is taken for [s], where parts of its duration count: so many steps, or more.
AHEAD, STEPS = 1.0, 100


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
    lands = problem.landing is not None
    if not is_changing(events) and (goes_in_lanes(problem.system) if lands else not contacts):
        return Run(problem, q, v, span, event_list(events), None, quiet, False, RunStart(open_ended=True))
    options = {
        name: getattr(problem, name)
        for name in ("integrator", "step", "rtol", "atol", "drift", "coordinates", "independent", "tips")
    }

    def one(state: SingleState) -> ContactRun | ChangingRun:
        changing = ChangingRun(
            state.system, span, problem.control, problem.motion, problem.forces, options,
            distinct(event_list(events)), None, quiet, False, state.near,
        )  # fmt: skip
        timeline: ChangingRun | ContactRun = changing
        if lands:
            timeline = stepping(changing, contacts, {}, state.every)
        elif contacts:
            timeline = ContactRun(contacts, changing, state.every)
        timeline.begin(state.q, state.v)
        return timeline

    batch, states = single_states(problem.system, q, v, problem.near)
    return (
        Several(batch, [partial(one, state) for state in states], problem.control)
        if batch
        else one(states[0])
    )
