"""One step in time as an algorithm: the stages of a method around the dynamics, the return of the loops to closed
states, and the decision whether the step is good enough, all in compiled lanes.

Positions live on a manifold, so a step is taken in the local coordinates xi of q = q0 (+) xi, whose rate is the joint's
`local_rate` of the velocity (Munthe-Kaas): quaternions stay of unit length and the order of the method is kept.

What the ground holds from step to step: the time t, the step h that is planned next, the `end` that is not passed, and
`halt`, which is not zero once a step could not be vouched for. Every state of a batch has its own.

The algorithm has pauses, where a session may stop and let Python do what only Python knows:

    forces          q and qd of a stage are there; forces, wrenches and prescribed motion can be given
    accelerations   qdd of the stage is there, and how far it can be trusted (`doubt`)
    contacts        what contacts do where the step begins is told
    closing         q and qd at the end of the step are there; loops are not closed yet
    decide          all is there but the decision

Where the last stage of a method stands at its result, and nothing moves that afterwards, it is the first stage of the
next step; if the step is rejected, its first stage is so. The sweeps of the first stage are then left out of all plays
of a call but the first (`reuses_last_stage`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics import articulated_body, contact_forces, flexible_dynamics
from catena.dynamics.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.dynamics.hybrid_dynamics import hybrid_dynamics
from catena.dynamics.loop_elimination import loop_elimination
from catena.dynamics.loop_elimination.feedback import elimination_with_feedback
from catena.dynamics.loop_elimination.flexible import OWN, flexible_elimination, flexible_steps
from catena.dynamics.loop_elimination.hybrid import articulate_driven, hybrid_elimination
from catena.dynamics.loop_elimination.least_change import stand, start_open, start_opening
from catena.dynamics.loop_elimination.pulling import (
    CALLED as PULL_STEPS,
    REWRITTEN as PULL_REWRITTEN,
    TIES_CALLED,
    pulling_sweeps,
    telling,
)
from catena.dynamics.loop_elimination.steps import accelerate, articulate
from catena.dynamics.loop_elimination.ties import leave_open, leave_opening
from catena.dynamics.particles import but_particles
from catena.kernels import (
    NEAR,
    POSITION,
    VELOCITY,
    Algorithm,
    OnCall,
    Pause,
    Sweep,
    at_ground,
    each_body,
    whole_state,
    with_ground,
)
from catena.simulation.steps import implicit, turns, work
from catena.simulation.steps.decision import (
    both,
    certify,
    decide,
    keep_first_doubt,
    larger,
    recall_acceleration,
    recall_force,
    settle,
)
from catena.simulation.steps.multistep import CORRECT, HISTORY, adams_sweeps, remember, scaled
from catena.simulation.steps.projection import (
    closing_sweeps,
    forget_shift,
    rest,
    shift_positions,
    shift_velocities,
)
from catena.simulation.steps.tableaus import Tableau, tableau
from catena.simulation.steps.variant import LawShape, Numbers, StepVariant
from catena.spatial.scalars import absolute, array, where

# A step turns a joint on a manifold by no more than this [rad]: local coordinates are good short of half a turn.
FAR = 1.5

# Methods that are no tables of coefficients.
UNTABLED = ("semi_implicit", "leapfrog", "implicit_leapfrog", "abm4")

LawFunction = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
PushFunction = Callable[[Any, Any, Any], Any]
GuideFunction = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]
# The degree of polynomials that driven joints and wrenches follow.
DEGREE = 5


@at_ground
def open_step(ground: Any) -> None:
    """Choose the size of a step: zero where the end is reached or the motion halted."""
    ground.goal = ground.end
    _open(ground)


@at_ground
def open_timed_step(ground: Any) -> None:
    """Choose the size of a step that does not pass the next sample of a controller."""
    sample = ground.sample / ground.rate
    ground.goal = where(sample < ground.end, sample, ground.end)
    _open(ground)


def _open(ground: Any) -> None:
    left = ground.goal - ground.t
    reaches = (1.0 + 1e-9) * ground.h >= left
    ground.last = where(reaches, 1.0, 0.0)
    ground.dt = where(ground.halt > 0.5, 0.0, where(reaches, left, ground.h))
    ground.error_0 = ground.error_1 = ground.doubt = ground.first_doubt = ground.shift = 0.0


@with_ground
@but_particles
def begin(body: Any, ground: Any) -> None:
    """Keep the state of a joint at the start of the step."""
    body.q0, body.v0 = body.q, body.qd
    body.xi = np.zeros(body.joint.nv)


@with_ground
@but_particles
def semi_implicit(body: Any, ground: Any) -> None:
    """Take Euler's step with the new velocity: symplectic where nothing depends on the velocity."""
    body.first = body.qdd
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(ground.dt, body.qd))


@with_ground
@but_particles
def drift(body: Any, ground: Any) -> None:
    """Let a joint go on for half a step as it moves."""
    body.q = body.joint.integrate(body.q0, scaled(0.5 * ground.dt, body.v0))


@with_ground
@but_particles
def leap(body: Any, ground: Any) -> None:
    """Take a step with the acceleration in its middle (Stoermer and Verlet): symplectic and of second order where
    nothing depends on the velocity, which is that of the start there."""
    body.first = body.qdd
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(0.5 * ground.dt, body.v0 + body.qd))


def advance(method: Tableau, stage: int, stays: bool = False) -> Sweep:
    """Keep the rates of a stage and go on to the next, or to the end of the step; a last stage that `stays` stands
    there already."""
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
            for k, rest in enumerate(method.errors):
                worst = getattr(ground, f"error_{k}")
                if not k:
                    for turned in body.joint.turning:
                        worst = larger(worst, absolute(body.xi[turned]) / FAR)
                for e, moved in zip(scaled(h, _sum(body, "rate_xi", rest)), body.xi, strict=True):
                    # Where a step leads far, the distance is the scale: nothing is known better than to its rounding.
                    worst = larger(
                        worst, absolute(e) / (ground.atol + ground.rtol * larger(1.0, absolute(moved)))
                    )
                for e, before, after in zip(
                    scaled(h, _sum(body, "rate_v", rest)), body.v0, v_stage, strict=True
                ):
                    scale = ground.atol + ground.rtol * larger(absolute(before), absolute(after))
                    worst = larger(worst, absolute(e) / scale)
                setattr(ground, f"error_{k}", worst)

    return with_ground(but_particles(move_on))


def _sum(body: Any, name: str, weights: Any) -> Any:
    """Return the weighted sum of the rates of the stages so far."""
    total: Any = np.zeros(body.joint.nv)
    for j, weight in enumerate(weights):
        if weight:
            total = total + weight * getattr(body, f"{name}_{j}")
    return total


def keep_force(target: str) -> Sweep:
    """Keep the control force with which the step begins."""

    def keep(body: Any) -> None:
        body.tau_start = getattr(body, target)

    return each_body(but_particles(keep))


def steer(law: LawFunction, shape: LawShape, stage_time: float, target: str) -> Sweep:
    """Ask the law for joint forces."""

    def ask(whole: Any) -> None:
        t = whole.t + stage_time * whole.dt if stage_time else whole.t
        memory = _listed(whole.memory) if shape.memory else np.zeros(0)
        inputs = _listed(whole.inputs) if shape.inputs else np.zeros(0)
        if shape.changing:
            later = [_listed(getattr(whole, f"input_{j}")) for j in range(1, DEGREE + 1)]
            s = t - whole.path_origin
            for n, k in enumerate(shape.changing):
                inputs[k] = _polynomial(s, [array([c]) for c in (inputs[k], *(row[n] for row in later))])[0]
        force, kept = law(t, whole.q, whole.qd, memory, inputs)
        before = getattr(whole, target)
        if shape.asked != "always":
            is_due = whole.due > 0.5 if shape.asked == "due" else whole.t >= whole.sample / whole.rate
            due = both(is_due, whole.halt < 0.5)
            if shape.asked == "timed":
                whole.sample = where(due, whole.sample + 1.0, whole.sample)
            force = array([where(due, x, y) for x, y in zip(force, before, strict=True)])
            kept = array([where(due, x, y) for x, y in zip(kept, memory, strict=True)])
        setattr(whole, target, force)
        if shape.memory:
            whole.memory = kept

    return whole_state(ask)


def _listed(x: Any) -> np.ndarray:
    """Return an array, also of a single number."""
    return x if isinstance(x, np.ndarray) else array([x])


def follow(stage_time: float) -> Sweep:
    """Put driven joints where their polynomials have them at a part of the step."""

    def put(body: Any, ground: Any) -> None:
        if body.joint.nq != body.joint.nv:
            return
        s = ground.t + stage_time * ground.dt - ground.path_origin
        c = [getattr(body, f"path_{j}") for j in range(DEGREE + 1)]
        position = _polynomial(s, c)
        rate = _polynomial(s, [j * c[j] for j in range(1, DEGREE + 1)])
        change = _polynomial(s, [j * (j - 1) * c[j] for j in range(2, DEGREE + 1)])
        body.q = _where_driven(body, position, body.q)
        body.qd = _where_driven(body, rate, body.qd)
        body.qdd_given = change

    return with_ground(but_particles(put))


def follow_formulas(guide: GuideFunction, stage_time: float) -> list[Sweep]:
    """Put driven joints where formulas have them at a part of the step."""

    @at_ground
    def look_at_the_clock(ground: Any) -> None:
        ground.now = ground.t + stage_time * ground.dt

    def put(whole: Any) -> None:
        # The time is a number of the ground, so that the formulas are compiled once for all stages.
        whole.q, whole.qd, whole.qdd_given = guide(whole.now, whole.q, whole.qd, whole.qdd_given)

    return [look_at_the_clock, whole_state(put)]


def _polynomial(s: Any, coefficients: list[Any]) -> Any:
    """Return the sum of coefficients[j] s^j, entry by entry."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = array([s * x + y for x, y in zip(total, c, strict=True)])
    return total


def _where_driven(body: Any, given: Any, free: Any) -> Any:
    return array([where(d > 0.5, x, y) for d, x, y in zip(body.driven, given, free, strict=True)])


def push_by_paths(stage_time: float) -> Sweep:
    """Tell forces the wrenches that their polynomials have at a part of the step."""

    def tell(whole: Any) -> None:
        s = whole.t + stage_time * whole.dt - whole.path_origin
        _tell_wrenches(whole, _polynomial(s, [getattr(whole, f"wrench_{j}") for j in range(DEGREE + 1)]))

    return whole_state(tell)


def push_by_law(push: PushFunction, stage_time: float) -> Sweep:
    """Tell forces the wrenches that a formula gives."""

    def tell(whole: Any) -> None:
        t = whole.t + stage_time * whole.dt if stage_time else whole.t
        _tell_wrenches(whole, push(t, whole.q, whole.qd))

    return whole_state(tell)


def _tell_wrenches(whole: Any, wrenches: Any) -> None:
    """Tell forces these wrenches; motors of loop joints, which come behind them, are told what they were."""
    told = whole.force_inputs
    whole.force_inputs = array([*wrenches, *told[len(wrenches) :]]) if len(told) > len(wrenches) else wrenches


def evaluation_times(method: str) -> tuple[float, ...]:
    """Return when a step asks for accelerations, as parts of its duration, in order."""
    known = {"abm4": (0.0, 1.0), "semi_implicit": (0.0,), "leapfrog": (0.5,), "implicit_leapfrog": (0.5,)}
    return known.get(method) or tableau(method).c


def start_acceleration(method: str) -> str:
    """Return the name of the field that holds the accelerations with which the step began, or those of its middle."""
    return "first" if method in UNTABLED else "rate_v_0"


def reuses_last_stage(variant: StepVariant) -> bool:
    """Return whether the last stage of a step is the first of the next one: nothing moves the result of the step, and
    nothing acts otherwise from there on. Where loops go back to closed states, joints are driven, turns are counted, or
    a law is asked at samples or remembers something, that is not so."""
    if variant.method in UNTABLED or not tableau(variant.method).ends_at_result:
        return False
    law = variant.law
    still = variant.sort is None and not variant.driven and not variant.turns
    return still and (law is None or law.is_forgetful)


def judges_works(variant: StepVariant) -> bool:
    """Return whether the works count where a step chooses its size: joints are driven, and it does choose."""
    is_adaptive = variant.method not in UNTABLED and tableau(variant.method).is_adaptive
    return is_adaptive and variant.driven and variant.counts


def step_algorithm(
    variant: StepVariant,
    law: LawFunction | None = None,
    push: PushFunction | None = None,
    guide: GuideFunction | None = None,
) -> Algorithm:
    """Return a step by the method, of a tree or of a mechanism with loops, with a `law` for joint forces, one for
    wrenches and one for the motion of driven joints where they are compiled in."""
    if law is None and push is None and guide is None:
        return _steps(variant)
    return _step_algorithm(variant, law, push, guide)


@lru_cache(maxsize=64)
def _steps(variant: StepVariant) -> Algorithm:
    return _step_algorithm(variant, None, None, None)


def _dynamics(variant: StepVariant) -> Algorithm:
    firm = variant.method == "implicit_leapfrog"
    if variant.modes and variant.sort is not None:
        return flexible_elimination(variant.sort, variant.modes, variant.driven, variant.feedback, firm)
    if variant.modes:
        return flexible_dynamics(variant.modes, variant.driven, firm)
    if variant.sort is None:
        return hybrid_dynamics if variant.driven else articulated_body
    if variant.feedback:
        return elimination_with_feedback(variant.sort, variant.driven)
    return hybrid_elimination(variant.sort) if variant.driven else loop_elimination(variant.sort)


def _step_algorithm(
    variant: StepVariant, law: LawFunction | None, push: PushFunction | None, guide: GuideFunction | None
) -> Algorithm:
    sort, shape = variant.sort, variant.law
    dynamics = telling(_dynamics(variant)) if variant.pulls else _dynamics(variant)
    if variant.touches:
        dynamics = replace(dynamics, ground=contact_forces.begun_with_contacts(dynamics.ground))
    touching = contact_forces.contact_sweeps(variant.touches) if variant.touches else []
    method = None if variant.method in UNTABLED else tableau(variant.method)
    begin_dynamics = at_ground(dynamics.ground)
    target = "given" if variant.forces else "tau"
    # Driven joints do not give way when loops are closed.
    firm = variant.method == "implicit_leapfrog"
    steps = flexible_steps(variant.modes, variant.driven, firm) if variant.modes and sort else None
    close_positions, close_velocities = closing_sweeps(
        articulate_driven if variant.driven else articulate, steps
    )
    own: dict[Any, Any] = dict(steps.instead) if steps else {}
    pulled = () if not variant.pulls else pulling_sweeps(steps.pulling) if steps else pulling_sweeps()
    reuses = reuses_last_stage(variant)
    evaluations = 0
    weights = (CORRECT[1], CORRECT[0]) if variant.method == "abm4" else method.b if method else (1.0,)
    judged = judges_works(variant)

    def accelerations(stage_time: float = 0.0) -> list[Sweep]:
        """Return the accelerations of a stage, and whether they can be trusted, and what is done with them."""
        return [*evaluated(stage_time), *heeded(), *([turns.count_once(stage_time)] if variant.turns else [])]

    def evaluated(stage_time: float) -> list[Sweep]:
        """Return the accelerations of a stage, whether they can be trusted, and the powers."""
        nonlocal evaluations
        evaluations += 1
        sweeps: list[Sweep] = [follow(stage_time)] if variant.paths else []
        sweeps += follow_formulas(guide, stage_time) if guide is not None else []
        if variant.fragile and stage_time:
            sweeps += 2 * [rest, close_positions, shift_positions]
            sweeps += [rest, close_velocities, shift_velocities]
        sweeps += [begin_dynamics, Pause("forces")]
        if law is not None and shape is not None and shape.asked == "always":
            sweeps.append(steer(law, shape, stage_time, target))
        if push is not None:
            sweeps.append(push_by_law(push, stage_time))
        elif variant.wrench_paths:
            sweeps.append(push_by_paths(stage_time))
        if variant.forces:
            sweeps += force_sweeps(count=variant.counts)
        sweeps += [sweep for sweep in dynamics.sweeps if not isinstance(sweep, OnCall)]
        sweeps += [*touching, *([certify] if sort else []), *pulled, Pause("accelerations")]
        if variant.counts:
            sweeps += work.count(variant.forces, variant.driven, sort is not None)
            if touching:
                sweeps.append(contact_forces.count_contacts)
        return sweeps

    def heeded() -> list[Sweep]:
        """Return what is done with what was evaluated last."""
        sweeps: list[Sweep] = []
        if touching and evaluations == 1:
            sweeps += [contact_forces.heed_contacts, Pause("contacts")]
        if law is not None and evaluations == 1:
            sweeps.append(keep_force(target))
        if variant.counts:
            errors = tuple(row[evaluations - 1] for row in method.errors) if judged and method else ()
            sweeps.append(work.gain(weights[evaluations - 1], evaluations == 1, errors))
        return sweeps

    # What schedules call is traced first, because it writes what other steps read.
    called = [sweep for sweep in dynamics.sweeps if isinstance(sweep, OnCall)]
    sweeps: list[Sweep] = []
    opening: list[Sweep] = []
    if law is not None and shape is not None and shape.asked != "always":
        opening.append(steer(law, shape, 0.0, target))
    if judged:
        opening.append(work.no_longer)
    opening.append(open_timed_step if shape is not None and shape.asked == "timed" else open_step)
    opening.append(begin)
    if variant.turns:
        opening.append(turns.begin_count)
    if firm:
        # What it lends is read by what schedules call.
        sweeps += [*opening, implicit.drift_ahead]
    if sort:
        sweeps += [
            *called,
            own.get(stand, stand),
            start_open,
            start_opening,
            *(own.get(step, step) for step in (PULL_STEPS if variant.pulls else ())),
        ]
        if sort.coupled:
            sweeps += [leave_open, leave_opening, *(TIES_CALLED if variant.pulls else ())]
        if variant.driven:
            sweeps.append(own.get(accelerate, accelerate))
        if variant.driven and variant.pulls:
            sweeps.append(own.get(articulate, articulate))
    if touching:
        sweeps += [*contact_forces.MEETING, *contact_forces.solving(len(variant.touches))]
    if not firm:
        sweeps += opening
    if variant.counts:
        sweeps.append(work.forget_gain)
    if judged and method is not None:
        sweeps.append(work.forget_errors(len(method.errors)))
    # The sweeps of the algorithm begin with another one.
    first_stage = len(sweeps) + 1
    if touching:
        sweeps.append(contact_forces.forget_contacts)
    occasional = (0, 0)
    outputs: dict[str, Any] = {"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY}
    inputs: dict[str, Any] = dict(dynamics.inputs)
    rewritten = {"q", "qd", "qdd", "xi", "tau", "c", "p0", "effort", "X", "S", "d_inv", "U"}
    rewritten |= dynamics.rewritten | {NEAR, "near_start", "seen", "seen_rate"}
    if steps:
        rewritten |= OWN | {"Ux"}
    if variant.method == "abm4":
        sweeps += adams_sweeps(accelerations)
        inputs |= HISTORY
        outputs |= HISTORY
        rewritten |= {"first", "xi_ahead", "rate_0", "rate_1", "rate_2", "rate_3"}
    elif variant.method == "leapfrog":
        sweeps += [drift, *accelerations(0.5), leap]
    elif firm:
        sweeps += [*accelerations(0.5), implicit.leap_ahead]
        inputs |= implicit.PAST
        outputs |= implicit.PAST
        rewritten |= set(implicit.PAST)
    elif method is None:
        sweeps += [*accelerations(), semi_implicit]
    else:
        for stage in range(method.stages):
            sweeps += evaluated(method.c[stage])
            if reuses and not stage:
                occasional = (first_stage, len(sweeps) + 1)
            sweeps += heeded()
            if sort and not stage:
                sweeps.append(keep_first_doubt)
            sweeps.append(advance(method, stage, reuses))
            if variant.turns:
                sweeps.append(turns.count_stage(method, stage))
            rewritten |= {f"rate_xi_{stage}", f"rate_v_{stage}", f"seen_rate_{stage}"}
    if variant.paths:
        sweeps.append(follow(1.0))
    if guide is not None:
        sweeps += follow_formulas(guide, 1.0)
    if judged and method is not None:
        sweeps.append(work.judge(len(method.errors)))
    sweeps.append(Pause("closing"))
    corrections = 0
    if sort and variant.projects:
        corrections = 1 if method is not None and method.is_adaptive and not variant.fragile else 2
        first = len(sweeps) + 1
        for _ in range(corrections):
            sweeps += [rest, forget_shift, close_positions, shift_positions]
        sweeps += [rest, close_velocities, shift_velocities]
        occasional = (first, len(sweeps) + 1)
    sweeps += [Pause("decide"), decide(method, corrections, bool(variant.touches)), settle]
    sweeps += [turns.settle_count] if variant.turns else []
    if variant.method == "abm4":
        sweeps.append(remember)
    elif firm:
        sweeps.append(implicit.remember_acceleration)
    if variant.counts:
        past = [work.weighted_past] if variant.method == "abm4" else []
        sweeps += [*past, work.keep_work, *([work.keep_power] if past else [])]
        sweeps += [work.keep_turnover] if judged else []
    if reuses:
        sweeps.append(recall_acceleration)
        sweeps += [] if law is None else [recall_force(target)]
        sweeps += [work.recall_power] if variant.counts else []
        sweeps += [contact_forces.recall_contacts] if touching else []

    outputs[start_acceleration(variant.method)] = VELOCITY
    if variant.driven:
        outputs["drive"] = VELOCITY
        rewritten |= {"drive", "qdd_given"}
    if variant.pulls:
        rewritten |= PULL_REWRITTEN
    if variant.forces:
        inputs |= GIVEN
        del inputs["tau"], inputs["f_ext"]
    outputs["tau"] = VELOCITY
    if law is not None:
        outputs[target] = VELOCITY
        outputs["tau_start"] = VELOCITY
    ground_inputs = {
        **dynamics.ground_inputs,
        **{n: Numbers(1) for n in ("t", "h", "end", "halt", "rtol", "atol", "row", "wish")},
    }
    ground_outputs: tuple[str, ...] = (
        "t", "h", "accepted", "halt", "doubt", "row", "wish", "dt", "error_0", "error_1", "shift", "first_doubt",
    )  # fmt: skip
    if variant.paths:
        inputs |= {f"path_{j}": VELOCITY for j in range(DEGREE + 1)}
    if variant.wrench_paths:
        wide = Numbers(6 * variant.wrench_paths)
        ground_inputs |= {f"wrench_{j}": wide for j in range(DEGREE + 1)}
    if variant.paths or variant.wrench_paths or (shape is not None and shape.changing):
        ground_inputs["path_origin"] = Numbers(1)
    if variant.counts:
        counted = Numbers(len(work.SOURCES))
        names = ("work", *(("power_past_1", "power_past_2") if variant.method == "abm4" else ()))
        ground_inputs |= dict.fromkeys(names, counted)
        ground_outputs = (*ground_outputs, *names, "power_start")
    if judged:
        ground_inputs |= {name: Numbers(1) for name in ("longest", "energy", "turnover")}
        ground_outputs = (*ground_outputs, "turnover")
    if touching:
        ground_inputs["contacts"] = Numbers(contact_forces.SIZE * len(variant.touches))
        ground_outputs = (*ground_outputs, "told", "told_now")
        rewritten |= contact_forces.FIELDS.keys()
    if shape is not None:
        if shape.memory:
            ground_inputs["memory"] = Numbers(shape.memory)
            ground_outputs = (*ground_outputs, "memory")
        if shape.inputs:
            ground_inputs["inputs"] = Numbers(shape.inputs)
        if shape.asked == "due":
            ground_inputs["due"] = Numbers(1)
        if shape.asked == "timed":
            ground_inputs |= {"sample": Numbers(1), "rate": Numbers(1)}
            ground_outputs = (*ground_outputs, "sample")
        if shape.changing:
            ground_inputs |= {f"input_{j}": Numbers(len(shape.changing)) for j in range(1, DEGREE + 1)}

    @at_ground
    def hold(ground: Any) -> None:
        """Read all inputs of the ground, so that they keep their places whichever step reads them first."""
        for name in ground_inputs:
            if name not in ("a_base", "feedback_given", "pull_given"):
                getattr(ground, name)

    return Algorithm(
        f"{variant.name}_{variant.touches}" if touching else variant.name, dynamics.ground, (hold, *sweeps),
        inputs=inputs, outputs=outputs, ground_inputs=ground_inputs, ground_outputs=ground_outputs,
        optional=dynamics.optional | GIVEN.keys(),
        views={**dynamics.views, **(contact_forces.views(len(variant.touches)) if touching else {})},
        columns=dynamics.columns, link_rows=dynamics.link_rows, rewritten=frozenset(rewritten), replayed=True,
        rests="dt", occasional=occasional, force_outputs=(NEAR,) if variant.turns else (),
        shared=SHARED if variant.forces else {},
        component_fields=contact_forces.FIELDS if touching else {}, code=variant.name if touching else "",
    )  # fmt: skip
