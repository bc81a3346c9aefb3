"""Motions over changes of the structure, found as one.

Phases are planned by direct transcription, each on a system of its own. They begin where the one before ends, with the
velocities that an impact leaves. What is least is the sum of all phases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError, warn
from catena.planning.closed_plan import closed_plan
from catena.planning.joining import PhaseChange
from catena.planning.motion_plan import MotionPlan, PhasedPlan
from catena.planning.nonlinear_program import NonlinearProgram
from catena.planning.objectives import Expression, objective_of
from catena.planning.phase import MotionPhase
from catena.planning.task import MotionTask
from catena.planning.transcription import check_guess, check_search, plan_found
from catena.structure import Plan
from catena.system.of_system import as_one_system
from catena.validation import listed, shown


def plan_motions(
    phases: Iterable[MotionPhase],
    start: ArrayLike,
    *,
    velocity: ArrayLike | None = None,
    objective: str | Expression = "force",
    smooth: float = 1e-3,
    iterations: int = 300,
    guess: Iterable[MotionPlan] | None = None,
) -> PhasedPlan:
    """Return a motion over changes of the structure that spends least in all its `phases` together, from `start` (nq,)
    of the first system with `velocity` (nv,), at rest unless given.

    Each phase has a system of its own with the same bodies, and a duration, or the shortest and the longest. Where one
    ends the next begins: all bodies are where they were, so a phase ends where the joints of the next one fit, wherever
    that is best; velocities are those after the impact of what closes, as `transfer` has it, and nothing has to stand
    still for it. What is asked of a phase is asked in the words of `plan_motion`, at the end of that phase or along it;
    `objective` and `smooth` are those of `plan_motion`, the same for all phases. `guess` are plans of all phases to
    begin the search with. If the solver fails, a warning says why, and the best motion that it had is returned.
    """
    checked = _phases(phases)
    clock = perf_counter()
    check_search(smooth, iterations)
    guesses = _guesses(checked, guess)
    first = checked[0].system
    _, q0, v0 = first.mechanics.states(start, np.zeros(first.nv) if velocity is None else velocity)
    if len(q0) != 1 or len(v0) != 1:
        raise StateError("plan_motions: start or velocity have batch dimensions; give one state.")
    tasks, links, met = _tasks(checked, objective, q0[0], v0[0], guesses)
    scale = max(task.scale for task in tasks)
    aims = []
    for task in tasks:
        task.scale = scale
        aims.append(objective_of(task.system, objective, task.acting, scale))
        task.spend_least(aims[-1], smooth)
    program, begins = _joined(tasks, links, met)
    x0 = np.zeros(len(program.low))
    for task, begin, one, (end, _) in zip(tasks, begins, guesses, [*met, (None, None)], strict=True):
        own = task.guess(one, end)
        x0[begin : begin + len(own)] = own
    found = program.solve(x0, int(iterations))
    made = [
        plan_found(task, aim, replace(found, x=found.x[begin : begin + len(task.program.low)]), clock)
        for task, aim, begin in zip(tasks, aims, begins, strict=True)
    ]
    message = found.status
    for plan, advice in made:
        if advice:
            message = plan.message
            names = " to ".join(repr(task.system.mechanism.name) for task in tasks)
            warn(f"plan_motions from {names}: {message}. {advice}")
            break
    plans = tuple(plan for plan, _ in made)
    return PhasedPlan(
        plans, aims[0].name, float(sum(plan.cost for plan in plans)), all(plan.success for plan in plans), message,
        max(found.missed.values()), found.iterations, perf_counter() - clock,
    )  # fmt: skip


def _tasks(
    phases: Sequence[MotionPhase], objective: str | Expression, q: np.ndarray, v: np.ndarray,
    guesses: Sequence[MotionPlan | None],
) -> tuple[list[MotionTask], list[PhaseChange], list[tuple[np.ndarray, np.ndarray]]]:  # fmt: skip
    """Return the tasks of all phases, the links between them, and positions before and after each change."""
    tasks: list[MotionTask] = []
    links: list[PhaseChange] = []
    met: list[tuple[np.ndarray, np.ndarray]] = []
    plans: list[Plan] = []
    origin = phases[0].system, q
    for k, (phase, guess) in enumerate(zip(phases, guesses, strict=True)):
        if tasks:
            links.append(PhaseChange(tasks[-1], phase.system))
            met.append(links[-1].meet(_near(phase, guess)))
            q, v = met[-1][1], np.zeros(phase.system.nv)
        tasks.append(phase.task(objective, q, v, origin if tasks else None))
        phase.ask(tasks[-1], rest=k == len(phases) - 1)
        if len(tasks[-1].held):
            tasks[-1].watch()
        plans.append(closed_plan(phase.system))
    for phase, plan in zip(phases, plans, strict=True):
        if closed_plan(phase.system) is not plan:
            raise StateError(
                f"plan_motions: phases share the system {phase.system.mechanism.name!r}, and hold its loops in "
                "different ways; give each a system of its own, m.system()."
            )
    return tasks, links, met


def _near(phase: MotionPhase, guess: MotionPlan | None) -> np.ndarray | None:
    """Return a configuration (nq,) to look near to for where a phase begins."""
    if phase.near is None:
        return None if guess is None else guess.q[0]
    _, near, _ = phase.system.mechanics.states(phase.near, np.zeros(phase.system.nv))
    if len(near) != 1:
        raise StateError("plan_motions: near has batch dimensions; give one configuration.")
    found: np.ndarray = near[0]
    return found


def _joined(
    tasks: Sequence[MotionTask], links: Sequence[PhaseChange], met: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[NonlinearProgram, list[int]]:
    """Return the program of all tasks and links, and where the variables of each task begin in it."""
    parts = {f"phase {k + 1}": task.program for k, task in enumerate(tasks)}
    parts |= {f"change {k + 1}": NonlinearProgram(link.multipliers) for k, link in enumerate(links)}
    begins = np.cumsum([0, *(len(part.low) for part in parts.values())]).tolist()
    program = NonlinearProgram.joined(parts)
    for k, (link, places) in enumerate(zip(links, met, strict=True)):
        link.ask(program, tasks[k + 1], (begins[k], begins[k + 1], begins[len(tasks) + k]), *places)
    return program, begins[: len(tasks)]


def _phases(sequence: Any) -> list[MotionPhase]:
    """Return phases, or the complaint that they are none."""
    try:
        phases = list(listed(sequence))
    except ValueError:
        phases = []
    if not phases or not all(isinstance(phase, MotionPhase) for phase in phases):
        raise StateError(
            f"plan_motions: phases are {shown(sequence)}; give a list of ct.MotionPhase(system, duration, ...)."
        )
    for phase in phases:
        as_one_system(phase.system, "plan_motions")
    return phases


def _guesses(phases: Sequence[MotionPhase], guess: Any) -> list[MotionPlan | None]:
    """Return a plan of each phase to begin with, None where there is none."""
    if guess is None:
        return [None] * len(phases)
    try:
        plans = list(listed(guess))
    except ValueError:
        plans = []
    if len(plans) != len(phases):
        raise StateError(
            f"plan_motions: guess is {shown(guess)}; give a plan of each of the {len(phases)} phases."
        )
    for phase, plan in zip(phases, plans, strict=True):
        check_guess(phase.system, plan)
    return plans
