"""Which step a run takes: what is compiled into it, by what acts, how loops stay closed and what sticks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from catena.dynamics import most_modes
from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.dry_loops import dry_loops
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.problem import Problem
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.methods.variant import StepVariant
from catena.structure import Plan
from catena.system.load_friction import require_none
from catena.system.sticking import bears


def variant_for(
    excitation: ActingForces, drift: Drift, law: CompiledLaw | HeldCommand | None, method: str
) -> StepVariant:
    """Return what a step by a method is compiled for, with a law for the joint forces inside it or none."""
    problem, system = excitation.problem, excitation.system
    sticks = _friction_sticks(problem, method)
    if not sticks:
        require_none(system, "a run with contacts or rigid stops, or by abm4 or time_stepping,")
    return StepVariant(
        method,
        sort_for(system.mechanics.effective_plan, sticks) if drift.couples and not drift.in_python else None,
        bool(excitation.placed),
        law.shape if law else None,
        projects=drift.projects,
        fragile=drift.is_fragile and not drift.in_python,
        driven=bool(excitation.motion),
        feedback=drift.feedback is not None and not drift.in_python,
        counts=_counts_work(excitation, drift),
        paths=excitation.compiled_motion and bool(excitation.paths and excitation.paths.motion),
        guided=excitation.guide is not None,
        wrench_paths=len(excitation.forces) if excitation.compiled_wrenches else 0,
        pushed=excitation.push is not None,
        pulls=drift.pulls and not drift.in_python,
        modes=most_modes(system.plan),
        touches=problem.touching.nodes if problem.touching else (),
        least=problem.touching is not None and problem.touching.least,
        turns=bool(excitation.counted) and not excitation.has_python_elements,
        sticks=sticks,
        bears=sticks and not drift.in_python and bears(system),
        rows=problem.landing.units if problem.landing is not None else (),
        loops_stick=sticks and not drift.in_python and bool(dry_loops(system.mechanics.effective_plan)),
    )


def _friction_sticks(problem: Problem, method: str) -> bool:
    """Return whether the dry friction of joints sticks in steps of a method: one without a past, in which contacts do
    not hold on to bodies."""
    is_told = problem.sticks and problem.touching is None and method not in ("abm4", "time_stepping")
    return is_told and _has_dry_friction(problem.system.plan)


@lru_cache(maxsize=64)
def _has_dry_friction(plan: Plan) -> bool:
    return bool(np.any(plan.friction > 0.0) or dry_loops(plan))


def _counts_work(excitation: ActingForces, drift: Drift) -> bool:
    """Return whether something exchanges energy with the mechanism, and all of it compiles, so that its work is
    counted."""
    return excitation.exchanges_energy and not (excitation.has_python_elements or drift.in_python)
