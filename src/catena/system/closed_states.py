"""Closed states from what users give: near a guess, with bodies that stay as they are deformed where they can, and with
the constraints that count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.dynamics.loops.closing import branches as searching, loop_closure, projection
from catena.dynamics.loops.closing.consistent_velocity import least_velocity
from catena.dynamics.loops.closing.joint_limits import JointLimits, within_limits
from catena.dynamics.loops.closing.quick_assembly import QuickAssembly, quick_assembly
from catena.errors import CatenaError, LoopError, StateError
from catena.kernels import arrays, is_plain
from catena.kernels.teams.blas import by_one_blas_thread
from catena.kinematics.loops.scales import scales_of
from catena.mechanism import InitialState
from catena.mechanism.validation import known
from catena.questions.dimension_repair import in_words, smallest_repair
from catena.system.by_name import Given
from catena.system.by_state import ask_each, one_by_one
from catena.system.of_system import of_system
from catena.validation import is_one_of

if TYPE_CHECKING:
    from catena.system.system import System


NEAR = 0.05
"""How far [rad, or part of the size] a state that has a name may leave loops open."""


def guessed(system: System, guess: ArrayLike | Given | None) -> np.ndarray:
    """Return where a search begins, (..., nq): the neutral configuration, or what is given of it."""
    evaluator = system.mechanics.evaluator
    if isinstance(guess, Mapping):
        own = {name: x for name, x in guess.items() if x is not None}
        start = loop_closure.put(evaluator, system.neutral(), own)
        on_loops = {name: x for name, x in own.items() if is_one_of(name, system.loops)}
        # A loop joint has no place in q: what is wanted of it is held for once.
        return system.assemble(on_loops, guess=start) if on_loops else start
    start = system.neutral() if guess is None else evaluator.checked(kinematics.integrate, "q", guess)
    evaluator.check_positions("guess", start)
    return start


def assemble(
    system: System,
    wanted: Given | str | InitialState | None,
    guess: ArrayLike | Given | None,
    slack: float,
) -> np.ndarray:
    """Return the coordinates (..., nq) that close all loops and hold what is given; with nothing given, those that a
    motion starts from."""
    if system._states is not None:
        return _of_states(system, wanted, guess, slack)
    if wanted is None and guess is None:
        initial = system.mechanism.initial
        wanted = initial if is_named(system, initial) else initial.q
    if isinstance(wanted, str | InitialState):
        return _near(system, state_of(system, wanted), guess, slack)
    return _assembled(system, wanted, guessed(system, guess), slack, repair=True)


def _of_states(
    system: System, wanted: Given | str | InitialState | None, guess: ArrayLike | Given | None, slack: float
) -> np.ndarray:
    """Return the coordinates (..., nq) that close all loops of each state's own mechanism, in lanes as far as that
    goes."""
    states = system._states
    assert states is not None
    if wanted is None and guess is None:
        wanted = planned(system, system.mechanism.initial.q)
    if isinstance(wanted, str | InitialState):
        return ask_each(system, "assemble", wanted, guess, slack)
    start = guessed(states.base, guess)
    held = loop_closure.held(states.base.mechanics.evaluator, {} if wanted is None else wanted)
    loop_closure.check_slack(slack)
    batch = loop_closure.common_batch(held, start.shape[:-1], states.batch)
    if not system.plan.total_constraints and all(h.node >= 0 for h in held):
        # Nothing ties joints together, so that all mechanisms stand where they are told to.
        found = states.base.assemble({} if wanted is None else wanted, guess, slack)
        return np.broadcast_to(found, (*batch, system.nq)).copy()
    q = np.broadcast_to(start, (*batch, system.nq)).copy()
    done, limits = np.zeros(batch, dtype=bool), states.base._counted.described.once(JointLimits)
    described, is_settled = system._counted.described, system._counted.found is None
    is_quick = QuickAssembly.fits(system.plan) and is_settled and system.plan.owner is None
    if is_quick and q.size and not limits.loops and not is_plain():
        closing = QuickAssembly(described, batch)
        rows = [replace(h, value=arrays.rows(h.value, batch)) for h in held]
        found, closed = closing.assemble(rows, q.reshape(-1, system.nq), slack)
        # What is beyond a limit is looked at by itself, as what does not close.
        done = (closed & limits.keeps(found)).reshape(batch)
        q = np.where(done[..., None], found.reshape(q.shape), q)
    return _completed(system, "assemble", ({} if wanted is None else wanted, start, slack), q, done)


def _completed(
    system: System, asked: str, arguments: tuple[Any, ...], found: np.ndarray, done: np.ndarray
) -> np.ndarray:
    """Return what was `found` (*batch, n) with states that are not `done` (*batch) answered one by one; an error about
    some of them knows the others."""
    if done.all():
        return found
    try:
        careful = ask_each(system, asked, *arguments, only=~done)
    except CatenaError as error:
        if error.failed:
            rest = np.full(found.shape, np.nan) if error.found is None else error.found
            error.found = np.where(done[..., None], found, rest)
        raise
    return np.where(done[..., None], found, careful)


def start(system: System, state: str | InitialState | None, slack: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the closed coordinates (nq,) and velocities (nv,) that a motion starts from, in a state of the
    mechanism."""
    states = system._states
    if states is not None and (state is not None or is_named(system, system.mechanism.initial)):
        found = [states.alone(k).start(state) for k in range(states.count)]
        q, v = (np.stack(rows).reshape(*states.batch, -1) for rows in zip(*found, strict=True))
        return q, v
    q = assemble(system, state, None, slack)
    chosen = system.mechanism.initial if state is None else state_of(system, state)
    by_joint = planned(system, chosen.v)
    if states is not None:
        return q, system.velocity(q, by_joint)
    try:
        return q, velocity(system, q, by_joint, slack)
    except LoopError:
        if not is_named(system, chosen):
            raise
    v = np.zeros(system.nv)
    for name, value in by_joint.items():
        if name in system.joints:
            v[system.slice_v(name)] = value
    closed = project(system, q, v, None)[1]
    assert closed is not None
    return q, closed


def state_of(system: System, state: str | InitialState) -> InitialState:
    """Return the state of a name, or the one that is given."""
    if isinstance(state, InitialState):
        return state
    states = system.mechanism.states
    return states[known("state", state, states, repr(system.mechanism.name))]


def is_named(system: System, state: InitialState) -> bool:
    """Return whether a state is one of those that the mechanism has by name, which say where it is near."""
    return any(state is one for one in system.mechanism.states.values())


def planned(system: System, values: Given) -> dict[str, Any]:
    """Return those of the values that belong to joints which this plan moves."""
    return {name: x for name, x in values.items() if name in system.joints or name in system.loops}


def _near(system: System, state: InitialState, guess: ArrayLike | Given | None, slack: float) -> np.ndarray:
    """Return the closed coordinates (nq,) of a state: with its joints where it says or, where that leaves loops open,
    those nearest to it. Keyframes of soft constraints are such states: they name all joints, to a few digits."""
    by_joint = planned(system, state.q)
    in_tree = {name: x for name, x in by_joint.items() if name in system.joints}
    if len(in_tree) == len(system.joints):
        begin = loop_closure.put(system.mechanics.evaluator, system.neutral(), in_tree)
        return _assembled(system, None, begin, slack, repair=True)
    begin = guessed(system, guess)
    try:
        return _assembled(system, by_joint, begin, slack, repair=False)
    except LoopError:
        return _assembled(system, by_joint, begin, max(slack, NEAR), repair=True)


def _assembled(
    system: System, by_joint: Given | None, start: np.ndarray, slack: float, repair: bool
) -> np.ndarray:
    """Return the coordinates (..., nq) near a start that close all loops and hold what is given; where there are none,
    the error tells the smallest `repair` if that is asked for."""
    system.mechanics.settle()
    if system.plan.owner is not None and system.loops:
        # Bodies stay as deformed as the guess has them, unless loops close only if they give way.
        held = loop_closure.with_modes(system.plan, by_joint, start)
        try:
            return _closed(system, held, start, slack)
        except LoopError:
            pass
    try:
        q = _closed(system, by_joint, start, slack)
    except LoopError as error:
        raise (_with_repair(system, error) if repair else error) from None
    return _closed(system, by_joint, start, slack) if system.mechanics.settle(q) else q


def _with_repair(system: System, error: LoopError) -> LoopError:
    """Return the error with the smallest change of dimensions that would close loops which nothing else closes."""
    if error.gaps is None:
        return error
    try:
        repair = smallest_repair(system.mechanics.evaluator, list(error.gaps), error.configuration)
    except CatenaError:
        # It is advice: what cannot be advised about is told as it is.
        repair = None
    if not repair:
        return error
    repairable = LoopError(
        f"{error} The smallest change of dimensions found that closes them: move "
        f"{in_words(system.mechanism, repair)}."
    )
    repairable.gaps, repairable.configuration, repairable.repair = error.gaps, error.configuration, repair
    repairable.failed, repairable.found = error.failed, error.found
    return repairable


def _closed(system: System, by_joint: Given | None, start: np.ndarray, slack: float) -> np.ndarray:
    """Return closed coordinates (..., nq) near a start, with joints within their limits where that is possible."""
    evaluator = system.mechanics.evaluator
    q = loop_closure.assemble(evaluator, by_joint, start, slack)
    described = system._counted.described
    if not described.once(JointLimits).any:
        return q
    return within_limits(
        described, q, loop_closure.held(evaluator, by_joint), quick_assembly(evaluator), slack
    )


def velocity(system: System, q: ArrayLike, by_joint: Given, slack: float) -> np.ndarray:
    """Return the velocity (..., nv) of the closed mechanism at q (..., nq) in which joints move as given."""
    if system._states is not None:
        return _velocity_of_states(system, q, by_joint, slack)
    q = system.mechanics.evaluator.checked(kinematics.integrate, "q", q)
    system.mechanics.evaluator.check_positions("q", q)
    system.mechanics.settle(q)
    if system.plan.owner is not None and system.loops:
        try:
            held = loop_closure.with_modes(system.plan, by_joint, None)
            return loop_closure.velocity(system.mechanics.evaluator, q, held, slack)
        except LoopError:
            pass
    return loop_closure.velocity(system.mechanics.evaluator, q, by_joint, slack)


def _velocity_of_states(system: System, q: ArrayLike, rates: Any, slack: float) -> np.ndarray:
    """Return the velocity (..., nv) of each state's own closed mechanism in which joints move as given. Where no loop
    ties joints together, or all that move stand still, it is the same for all mechanisms."""
    states = system._states
    assert states is not None
    is_still = isinstance(rates, Mapping) and not any(np.any(np.asarray(x) != 0.0) for x in rates.values())
    if system.plan.total_constraints and not is_still:
        return _moving_states(system, q, rates, slack)
    q = states.base.mechanics.evaluator.checked(kinematics.integrate, "q", q)
    states.base.mechanics.evaluator.check_positions("q", q)
    batch = np.broadcast_shapes(q.shape[:-1], states.batch)
    if is_still:
        # What is wrong with names and shapes is said for one state.
        own = arrays.rows(q, q.shape[:-1])
        rows = {name: np.reshape(x, (-1, *np.shape(x)[-1:]))[:1] for name, x in rates.items()}
        states.alone(0).velocity(own[:1], rows, slack)
        shapes = [np.shape(x)[:-1] for x in rates.values()]
        return np.zeros((*np.broadcast_shapes(batch, *shapes), system.nv))
    found = states.base.velocity(q, rates, slack)
    return np.broadcast_to(found, (*np.broadcast_shapes(batch, found.shape[:-1]), system.nv)).copy()


def _moving_states(system: System, q: ArrayLike, by_joint: Any, slack: float) -> np.ndarray:
    """Return the velocity (..., nv) of each state's own closed mechanism: in lanes where joints of the tree are given
    and nothing is in doubt."""
    states, plan = system._states, system.plan
    assert states is not None
    rotors = any(np.any(loop.armature) for loop in plan.loop_joints)
    if (
        not isinstance(by_joint, Mapping)
        or system._counted.found is not None
        or plan.owner is not None
        or rotors
    ):
        return ask_each(system, "velocity", q, by_joint, slack)
    base = states.base.mechanics.evaluator
    rows = base.checked(kinematics.integrate, "q", q)
    base.check_positions("q", rows)
    loop_closure.check_slack(slack)
    held, _ = loop_closure.held_rates(base, by_joint)
    batch = loop_closure.common_batch(held, rows.shape[:-1], states.batch)
    if any(h.node < 0 for h in held) or not loop_closure.knows_all_coordinates(plan) or 0 in batch:
        return ask_each(system, "velocity", q, by_joint, slack)
    rows = arrays.rows(rows, batch)
    wide, fixed = system.variants.over(batch), np.zeros(system.nv, dtype=bool)
    v = np.zeros((len(rows), system.nv))
    for h in held:
        own = int(plan.v_start[h.node]) + np.flatnonzero(h.mask)
        v[:, own], fixed[own] = arrays.rows(h.value, batch)[:, h.mask], True
    # Velocity errors are linear: those of unit velocities are the columns of the Jacobian.
    each = wide.variants.reshaped((len(rows), 1)).closure(rows[:, None], np.eye(system.nv))[1]
    J = np.swapaxes(each, -1, -2) / scales_of(plan).rows[:, None]
    v, sure = least_velocity(J, wide.mass_matrix(rows), v, fixed)
    return _completed(
        system, "velocity", (q, by_joint, slack), v.reshape(*batch, system.nv), sure.reshape(batch)
    )


def project(
    system: System, q: ArrayLike, v: ArrayLike | None, held: Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv), None where v is; joints of the tree in `held`
    stay as they are. What closes loops of any rank needs no formulas of their joints either."""
    system.mechanics.settle()
    if held is None and loop_closure.knows_all_coordinates(system.plan):
        return projection.project(system.mechanics.evaluator, q, v)
    names = arrays.as_list("held", () if held is None else held, str, "joints")
    components = [k for joint in names for k in range(system.nv)[system.slice_v(joint)]]
    return projection.project_holding(system.mechanics.evaluator, q, v, np.array(components, dtype=int))


def quick_assembly_for(system: System, what: str) -> QuickAssembly:
    """Return what closes loops by formulas, or raise a LoopError: `what` needs it."""
    quick = quick_assembly(system.mechanics.evaluator)
    if quick is None:
        raise LoopError(
            f"{what} needs loops whose joints find their coordinates by formulas, and {system.mechanism.name!r} has "
            + ("no loops." if not system.plan.total_constraints else "others.")
        )
    return quick


@of_system
@one_by_one
@by_one_blas_thread
def branches(system: System, given: Given, guess: ArrayLike | Given | None = None) -> np.ndarray:
    """Return all configurations, shape (n, nq), that close the loops with the positions given for some joints of
    the tree, those nearest to `guess` (the neutral configuration unless given) first.

    They are searched for from many starts, always the same ones, so a branch that hardly any start leads to may be
    missed; of the planar loops of linkages all are found. A LoopError tells when the mechanism can still move.
    """
    start = guessed(system, guess)
    if start.ndim != 1:
        raise StateError(f"branches looks from one guess, but it has shape {start.shape}.")
    system.mechanics.settle()
    quick = quick_assembly_for(system, "branches")
    if system.plan.owner is not None:
        given = loop_closure.with_modes(system.plan, given, start)
    held = loop_closure.held(system.mechanics.evaluator, given)
    for one in held:
        if one.value.ndim != 1:
            raise StateError(
                f"given: joint {one.name!r} has positions of shape {one.value.shape}; branches looks for one "
                f"configuration at a time."
            )
    return searching.branches(quick, held, start)
