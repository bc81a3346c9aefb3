"""One step in time as an algorithm: the stages of a method around the dynamics, the return of the loops to closed
states, and the decision whether the step is good enough, all in compiled lanes.

Positions live on a manifold, so a step is taken in the local coordinates xi of q = q0 (+) xi, whose rate is the joint's
`local_rate` of the velocity (Munthe-Kaas): quaternions stay of unit length and the order of the method is kept.

What the ground holds from step to step: the time t, the step h that is planned next, the `end` that is not passed, and
`halt`, which is not zero once a step could not be vouched for. Every state of a batch has its own.

The algorithm has pauses, where a session may stop and let Python do what only Python knows:

    leading         q and qd of a stage are there where loops are closed at each; prescribed motion can be given
    forces          q and qd of a stage are there; forces, wrenches and prescribed motion can be given
    accelerations   qdd of the stage is there, and how far it can be trusted (`doubt`)
    contacts        what contacts do where the step begins is told
    closing         q and qd at the end of the step are there; loops are not closed yet
    decide          all is there but the decision

Where the last stage of a method stands at its result, and nothing moves that afterwards, it is the first stage of the
next step; if the step is rejected, its first stage is so. The sweeps of the first stage are then left out of all plays
of a call but the first (`reuses_last_stage`).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from catena.dynamics.contacts import contact_elimination, contact_forces, impulse_law
from catena.dynamics.elements.force_sweeps import GIVEN, SHARED
from catena.dynamics.loops.elimination.dry_loops import (
    at_dry_loops,
    start_open_held,
    start_opening_held,
    tell_rate,
)
from catena.dynamics.loops.elimination.least_change import stand, start_open, start_opening
from catena.dynamics.loops.elimination.pulling import (
    CALLED as PULL_STEPS,
    REWRITTEN as PULL_REWRITTEN,
    TIES_CALLED,
)
from catena.dynamics.loops.elimination.steps import accelerate, articulate
from catena.dynamics.loops.elimination.ties import leave_open, leave_opening
from catena.kernels import NEAR, VELOCITY, Algorithm, OnCall, Pause, Schedule, Sweep, at_ground
from catena.simulation.stepping.methods import (
    adams,
    implicit_leapfrog,
    leapfrog,
    loads,
    minimal,
    runge_kutta,
    semi_implicit,
    sticking,
    time_stepping,
    turns,
    work,
)
from catena.simulation.stepping.methods.decision import decide, recall_acceleration, recall_force, settle
from catena.simulation.stepping.methods.evaluation import Stages
from catena.simulation.stepping.methods.interface import ground_inputs, ground_outputs, inputs, outputs
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.opening import begin, open_step
from catena.simulation.stepping.methods.projection import (
    forget_shift,
    rest,
    shift_positions,
    shift_velocities,
)
from catena.simulation.stepping.methods.steering import (
    CompiledLaws,
    GuideFunction,
    LawFunction,
    ObserverFunction,
    PushFunction,
    follow,
    follow_formulas,
    look_at_the_clock,
    observe,
    steer,
)
from catena.simulation.stepping.methods.variant import StepVariant

MOVES: dict[str, Callable[[Stages], list[Sweep]]] = {
    "abm4": adams.sweeps,
    "semi_implicit": semi_implicit.sweeps,
    "leapfrog": leapfrog.sweeps,
    "implicit_leapfrog": implicit_leapfrog.sweeps,
    "time_stepping": time_stepping.sweeps,
}
"""How methods that are no tables of coefficients move a mechanism."""


def evaluation_times(method: str, touches: bool = False) -> tuple[float, ...]:
    """Return when a step, in which something `touches` or not, asks for accelerations, as parts of its duration, in
    order."""
    return method_of(method, touches).times


def start_acceleration(method: str) -> str:
    """Return the name of the field that holds the accelerations with which the step began, or those of its middle."""
    return method_of(method).first


def reuses_last_stage(variant: StepVariant) -> bool:
    """Return whether the last stage of a step is the first of the next one: nothing moves the result of the step, and
    nothing acts otherwise from there on. Where loops go back to closed states, joints are driven or stick, turns are
    counted, or a law is asked at samples or remembers something, that is not so."""
    table = method_of(variant.method).tableau
    if table is None or not table.ends_at_result:
        return False
    law = variant.law
    still = variant.shape is None and not variant.holds and not variant.turns
    return still and (law is None or law.is_forgetful)


def judges_works(variant: StepVariant) -> bool:
    """Return whether the works count where a step chooses its size: joints are driven, and it does choose."""
    return method_of(variant.method).is_adaptive and variant.driven and variant.counts


def step_algorithm(
    variant: StepVariant,
    law: LawFunction | None = None,
    push: PushFunction | None = None,
    guide: GuideFunction | None = None,
    observer: ObserverFunction | None = None,
) -> Algorithm:
    """Return a step by the method, of a tree or of a mechanism with loops, with a `law` for joint forces, one for
    wrenches and one for the motion of driven joints where they are compiled in, and an `observer` of every step."""
    if law is None and push is None and guide is None:
        return _plain_step(variant, observer)
    return _assembled(variant, CompiledLaws(law, push, guide, observer))


@lru_cache(maxsize=64)
def _plain_step(variant: StepVariant, observer: ObserverFunction | None) -> Algorithm:
    return _assembled(variant, CompiledLaws(observer=observer))


def _assembled(variant: StepVariant, formulas: CompiledLaws) -> Algorithm:
    """Return the step: its opening, what schedules call, the stages, the closing of loops, and the decision."""
    method = method_of(variant.method, bool(variant.touches))
    stages = Stages(variant, method, formulas, reuses_last_stage(variant), judges_works(variant))
    dynamics, touching = stages.dynamics, bool(variant.touches)
    # What schedules call is traced first, because it writes what other steps read; what the implicit method lends is
    # read by that.
    opening = _opening(stages)
    ahead: list[Sweep] = [implicit_leapfrog.drift_ahead] if method.is_implicit else []
    if method.lands and variant.shape:
        ahead = [time_stepping.drift_to_middle]
    sweeps = [*opening, *ahead] if ahead else []
    if variant.sticks:
        sweeps = [
            sticking.hold_still(variant.driven),
            *([] if variant.forces else [sticking.take_over]),
            *(loads.beginning(variant.loops_stick) if variant.bears else []),
            *sweeps,
        ]
    sweeps += _called(stages)
    sweeps += [] if ahead else opening
    sweeps += _forgetting(stages)
    # The sweeps of the algorithm begin with another one.
    first = len(sweeps) + 1
    sweeps += [contact_forces.forget_contacts] if touching else []
    begun = len(sweeps) + 1
    sweeps += MOVES.get(method.name, runge_kutta.sweeps)(stages)
    occasional = (first, begun + stages.first) if stages.reuses else (0, 0)
    sweeps += _ahead(stages)
    if variant.sticks:
        with_loops = (sticking.keep_last, sticking.leave_still_with_loops)
        sweeps += with_loops if variant.shape else (sticking.leave_still,)
    sweeps.append(Pause("closing"))
    if variant.shape and variant.projects:
        first = len(sweeps) + 1
        sweeps += _closing(stages)
        occasional = (first, len(sweeps) + 1)
    sweeps.append(Pause("decide"))
    if method.lands and variant.shape:
        sweeps += [time_stepping.heed_closing, time_stepping.settle]
    sweeps += [stages.measuring] if variant.loops_stick else []
    sweeps += stages.judging.sweeps if variant.sticks else ()
    if not method.lands:
        sweeps += [
            decide(method.tableau, _corrections(stages), touching, variant.sticks, variant.bears),
            settle,
        ]
    sweeps += stages.judging.switch if variant.sticks else ()
    sweeps += loads.recalling(method.times, variant.loops_stick) if variant.bears else []
    sweeps += [observe(formulas.observer, method.first)] if formulas.observer is not None else []
    sweeps += _kept(stages)
    asked = ground_inputs(stages)

    @at_ground
    def hold(ground: Any) -> None:
        """Read all inputs of the ground, so that they keep their places whichever step reads them first."""
        for name in asked:
            if name not in ("a_base", "feedback_given", "pull_given"):
                getattr(ground, name)

    meets = touching or method.lands
    return Algorithm(
        f"{variant.name}_{variant.touches}_{variant.rows}" if meets else variant.name, dynamics.ground, (hold, *sweeps),
        inputs=inputs(stages), outputs=outputs(stages), ground_inputs=asked, ground_outputs=ground_outputs(stages),
        optional=dynamics.optional | GIVEN.keys() | (sticking.STICKING_INPUTS.keys() - {"sense"}),
        views=_views(stages), multiplier_inputs=(*dynamics.multiplier_inputs, *_misses_of_loops(stages)),
        multiplier_outputs=_told_of_loops(stages),
        columns=dynamics.columns, link_rows=dynamics.link_rows, rewritten=_rewritten(stages), replayed=True,
        rests="going" if method.lands else "dt", occasional=occasional,
        force_outputs=(NEAR,) if variant.turns else (), shared=_shared(stages),
        component_fields=_component_fields(stages),
        code=variant.name if meets else "", use_constants=not _is_bare(stages),
    )  # fmt: skip


def _is_bare(stages: Stages) -> bool:
    """Return whether a step integrates coordinates and nothing else: Python tells accelerations, and nobody inside the
    step asks where bodies are."""
    variant, formulas = stages.variant, stages.formulas
    inside = (
        variant.law,
        variant.paths,
        variant.guided,
        variant.pushed,
        variant.wrench_paths,
        variant.observed,
    )
    return variant.supplied and not (variant.forces or any(inside) or formulas.observer is not None)


def _told_of_loops(stages: Stages) -> tuple[str, ...]:
    """Return what is kept of loops from step to step."""
    if not stages.variant.loops_stick:
        return ()
    of_loads = ("loop_load", *_misses_of_loops(stages)) if stages.variant.bears else ()
    return ("loop_sense", *of_loads)


def _misses_of_loops(stages: Stages) -> tuple[str, ...]:
    variant = stages.variant
    return loads.miss_names(stages.method.times, "loop_") if variant.bears and variant.loops_stick else ()


def _component_fields(stages: Stages) -> dict[str, str]:
    """Return the fields of joints that contacts see."""
    if stages.method.lands:
        seen = {"seen": "node"} if stages.variant.shape else contact_forces.FIELDS
        return {**seen, **impulse_law.LAW_FIELDS}
    return _told_to_contacts(stages.variant)


def _told_to_contacts(variant: StepVariant) -> dict[str, str]:
    """Return what bodies tell contacts, and how each is seen."""
    if not variant.touches:
        return {}
    return (contact_elimination if variant.shape else contact_forces).fields(variant.touches)


def _shared(stages: Stages) -> Mapping[str, Any]:
    """Return what bodies keep where forces find it."""
    if not stages.variant.forces:
        return {}
    return {**SHARED, "resists": VELOCITY} if stages.method.lands else SHARED


def _opening(stages: Stages) -> list[Sweep]:
    """Return what a step begins with: a law that is due, its size, and what is kept of its start."""
    variant, law, sweeps = stages.variant, stages.formulas.law, list[Sweep]()
    if law is not None and variant.law is not None and variant.law.asked != "always":
        sweeps += [look_at_the_clock(0.0), steer(law, variant.law, stages.target)]
    if stages.judged:
        sweeps.append(work.no_longer)
    is_timed = variant.law is not None and variant.law.asked == "timed"
    sweeps += [time_stepping.open_step if stages.method.lands else open_step(is_timed, variant.sticks), begin]
    if variant.loops_stick and stages.method.times[0]:
        sweeps += [stages.measuring, Schedule(partial(at_dry_loops, sticking.keep_rate))]
    return [*sweeps, turns.begin_count] if variant.turns else sweeps


def _called(stages: Stages) -> list[Sweep]:
    """Return what schedules call: the elimination of loops, and the forces of contacts."""
    variant, sweeps = stages.variant, list[Sweep]()
    if variant.shape:
        sweeps += [sweep for sweep in stages.dynamics.sweeps if isinstance(sweep, OnCall)]
        if variant.bears:
            sweeps += loads.ELIMINATION_STEPS
            sweeps += loads.loop_steps(stages.method.times) if variant.loops_stick else []
        sweeps += [stand, start_open, start_opening, *(PULL_STEPS if variant.pulls else ())]
        if variant.shape.coupled:
            sweeps += [leave_open, leave_opening, *(TIES_CALLED if variant.pulls else ())]
        if variant.loops_stick:
            sweeps += [start_open_held, start_opening_held, tell_rate]
            sweeps += [sticking.keep_rate, *sticking.keeping(variant.bears)]
            sweeps += [stages.judging.looking_at_loops, stages.judging.changing_loops]
        if variant.is_minimal:
            sweeps.append(stages.yielding)
        if variant.holds:
            sweeps.append(accelerate)
        if stages.method.lands:
            sweeps.append(stages.yielding)
        elif variant.holds and variant.pulls:
            sweeps.append(articulate)
    if variant.touches:
        meeting = contact_elimination.called if variant.shape else contact_forces.meeting
        sweeps += [
            *meeting(variant.touches),
            *contact_forces.solving(len(variant.touches), variant.least),
        ]
    if stages.method.lands:
        sweeps += impulse_law.called(variant.rows)
        sweeps += contact_elimination.ASKING if variant.shape else ()
    return sweeps


def _forgetting(stages: Stages) -> list[Sweep]:
    """Return what sets sums over a step to zero."""
    sweeps: list[Sweep] = [work.forget_gain] if stages.variant.counts else []
    if stages.judged and stages.method.tableau is not None:
        sweeps.append(work.forget_errors(len(stages.method.tableau.errors)))
    return sweeps


def _ahead(stages: Stages) -> list[Sweep]:
    """Return what puts driven joints where they are at the end of the step, and judges works."""
    # A step that lands has told the time that it has come to.
    at = 0.0 if stages.method.lands else 1.0
    sweeps: list[Sweep] = [follow(at)] if stages.variant.paths else []
    if stages.formulas.guide is not None:
        sweeps += follow_formulas(stages.formulas.guide, at)
    if stages.judged and stages.method.tableau is not None:
        sweeps.append(work.judge(len(stages.method.tableau.errors)))
    return sweeps


def _corrections(stages: Stages) -> int:
    """Return how often positions are corrected where loops go back to closed states."""
    if not (stages.variant.shape and stages.variant.projects):
        return 0
    return 1 if stages.method.is_adaptive and not stages.variant.fragile else 2


def _closing(stages: Stages) -> list[Sweep]:
    """Return the way of the loops back to closed states."""
    close_positions, close_velocities = stages.closing
    positions: list[Sweep] = [rest, forget_shift, close_positions, shift_positions]
    return [*_corrections(stages) * positions, rest, close_velocities, shift_velocities]


def _kept(stages: Stages) -> list[Sweep]:
    """Return what a step that is decided about leaves for the next one."""
    variant, name = stages.variant, stages.method.name
    sweeps: list[Sweep] = minimal.watching(stages.closing[1]) if variant.is_minimal else []
    sweeps += [turns.settle_count] if variant.turns else []
    if name == "abm4":
        sweeps.append(adams.remember)
    elif stages.method.is_implicit:
        sweeps.append(implicit_leapfrog.remember_acceleration)
    if variant.counts and stages.method.lands:
        sweeps.append(time_stepping.keep_work)
    elif variant.counts:
        past = name == "abm4"
        sweeps += [*([work.weighted_past] if past else []), work.keep_work]
        sweeps += [*([work.keep_power] if past else []), *([work.keep_turnover] if stages.judged else [])]
    if stages.reuses:
        sweeps.append(recall_acceleration)
        sweeps += [] if stages.formulas.law is None else [recall_force(stages.target)]
        sweeps += [work.recall_power] if variant.counts else []
        sweeps += [contact_forces.look_at_contacts, contact_forces.recall_contacts] if variant.touches else []
    return sweeps


def _views(stages: Stages) -> dict[str, Any]:
    """Return the fields of neighbours that are no bodies."""
    views, variant = dict(stages.dynamics.views), stages.variant
    if variant.loops_stick:
        misses = dict.fromkeys(_misses_of_loops(stages), loads.COMPONENT_VIEW)
        own = {**sticking.LOOP_VIEW, **(loads.LOOP_VIEW if variant.bears else {}), **misses}
        views["multiplier"] = {**stages.dynamics.view("multiplier"), **own}
    if stages.method.lands:
        views |= {**contact_forces.VIEWS, **impulse_law.LAW_VIEWS}
    meets = variant.touches or stages.method.lands
    views |= contact_elimination.ELIMINATION_VIEWS if meets and variant.shape else {}
    return views | (contact_forces.views(len(variant.touches)) if variant.touches else {})


def _rewritten(stages: Stages) -> frozenset[str]:
    """Return the fields that are written more than once in a step."""
    variant = stages.variant
    found = {"q", "qd", "qdd", "xi", "tau", "c", "p0", "effort", "X", "S", "d_inv", "U"}
    found |= stages.dynamics.rewritten | stages.method.rewritten | {NEAR, "near_start", "seen", "seen_rate"}
    found |= {"drive", "qdd_given"} if variant.holds else set()
    found |= {"sense"} if variant.sticks else set()
    found |= minimal.WRITTEN if variant.is_minimal else set()
    found |= loads.REWRITTEN if variant.bears else set()
    found |= PULL_REWRITTEN if variant.pulls else set()
    found |= _told_to_contacts(variant).keys()
    if stages.method.lands:
        found |= contact_forces.FIELDS.keys() | impulse_law.LAW_FIELDS.keys()
        found |= {"drive"} if variant.shape else set()
    return frozenset(found)
