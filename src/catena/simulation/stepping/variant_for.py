"""Which step a run takes: what is compiled into it, by what acts, how loops stay closed and what sticks."""

from __future__ import annotations

import numpy as np

from catena.dynamics import most_modes
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.dry_loops import dry_loops, has_dry_friction
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand
from catena.simulation.problem import Problem
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.independent import ChoicesOfStates
from catena.simulation.stepping.methods.variant import StepVariant
from catena.structure.stations import has_many_modes
from catena.system.dry_friction import bears
from catena.system.load_friction import require_none


def variant_for(
    acting: ActingForces,
    drift: Drift,
    law: CompiledLaw | HeldCommand | None,
    method: str,
    coordinates: str,
    observed: int = 0,
) -> StepVariant:
    """Return what a step by a method is compiled for, with a law for the joint forces inside it or none, in these
    coordinates; those of joints are independent where nothing closes loops. With an observer it carries so many numbers
    that are `observed`."""
    problem, system = acting.problem, acting.system
    sticks = _friction_sticks(problem, method)
    if not sticks:
        require_none(system, "a run with contacts of tips, by time_stepping, or a stepper by abm4,")
    supplied = not sticks and _supplies(problem, drift, method)
    drift = drift.telling() if supplied else drift
    # Contacts go through flexible bodies by elimination, as they go through loops.
    meets = problem.touching is not None or method == "time_stepping"
    bends = meets and bool(most_modes(system.plan))
    eliminates = (drift.couples or bends) and not drift.in_python
    return StepVariant(
        method,
        shape_for(system.mechanics.effective_plan, sticks) if eliminates else None,
        bool(acting.placed),
        law.shape if law else None,
        projects=drift.projects,
        fragile=drift.is_fragile and not drift.in_python,
        driven=bool(acting.motion),
        feedback=drift.feedback is not None and not drift.in_python,
        counts=_counts_work(acting, drift),
        paths=acting.compiled_motion and bool(acting.paths and acting.paths.motion),
        guided=acting.guide is not None,
        wrench_paths=len(acting.forces) if acting.compiled_wrenches else 0,
        pushed=acting.push is not None,
        pulls=drift.pulls and not drift.in_python,
        modes=0 if supplied else most_modes(system.plan),
        touches=problem.touching.nodes if problem.touching else (),
        least=problem.touching is not None and problem.touching.least,
        turns=bool(acting.counted) and not acting.has_python_elements,
        sticks=sticks,
        bears=sticks and not drift.in_python and bears(system),
        rows=problem.landing.units if problem.landing is not None else (),
        coordinates=coordinates if drift.closed else "joint",
        observed=observed,
        loops_stick=sticks and not drift.in_python and bool(dry_loops(system.mechanics.effective_plan)),
        supplied=supplied,
    )


def _supplies(problem: Problem, drift: Drift, method: str) -> bool:
    """Return whether Python tells a step its accelerations: where bodies have so many modes that code for their number
    would be long, and nothing acts that the step alone knows."""
    plain = problem.touching is None and problem.landing is None and problem.coordinates == "joint"
    remedied = drift.pulls or drift.feedback is not None or method == "time_stepping"
    return plain and not remedied and has_many_modes(problem.system.plan)


def choices_for(acting: ActingForces) -> ChoicesOfStates:
    """Return the choices of independent coordinates for the states of a run, in which some joints may be driven."""
    driven = np.zeros(acting.system.nv, dtype=bool)
    for joint in acting.motion:
        driven[acting.system.slice_v(joint)] = True
    return ChoicesOfStates(acting.system, driven, acting.problem.independent)


def _friction_sticks(problem: Problem, method: str) -> bool:
    """Return whether the dry friction of joints sticks in steps of a method: one without a past, in which contacts do
    not hold on to bodies."""
    can_stick = (
        problem.sticks
        and problem.coordinates == "joint"
        and problem.touching is None
        and not problem.tips
        and method not in ("abm4", "time_stepping")
    )
    return can_stick and has_dry_friction(problem.system.plan)


def _counts_work(acting: ActingForces, drift: Drift) -> bool:
    """Return whether something exchanges energy with the mechanism, and all of it compiles, so that its work is
    counted."""
    return acting.exchanges_energy and not (acting.has_python_elements or drift.in_python)
