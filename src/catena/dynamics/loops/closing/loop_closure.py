"""Closing loops by name: positions and velocities of the closed mechanism from what users give for some joints, and how
far loops are open. Flexible bodies stay as they are deformed while joints move."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.loops.closing.consistent_velocity import consistent_velocity
from catena.dynamics.loops.closing.quick_assembly import kept_entries, quick_assembly
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.least_change import closure as compiled_closure
from catena.dynamics.loops.motion_problem import motion_problem
from catena.errors import CatenaError, LoopError, StateError, raise_for_states
from catena.kernels import Algorithm, arrays, is_plain
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.assembly import assemble as assemble_one
from catena.kinematics.loops.coupling_states import constraint_states
from catena.kinematics.loops.held import Held, held_positions, held_velocities
from catena.structure import Plan, bridge_joints
from catena.validation import is_not_negative, shown


def assemble(
    evaluator: Evaluator, by_joint: Mapping[str, Any] | None, guess: np.ndarray, slack: float
) -> np.ndarray:
    """Return coordinates (..., nq) that close the loops, near `guess` (..., nq), for given values (..., nq_joint)."""
    given_rows = held(evaluator, by_joint)
    batch = common_batch(given_rows, guess.shape[:-1])
    check_slack(slack)
    if batch and not evaluator.plan.total_constraints and all(h.node >= 0 for h in given_rows):
        # Nothing ties joints together: they stand where they are told to.
        return put(evaluator, guess, {} if by_joint is None else by_joint)
    q = np.broadcast_to(guess, (*batch, guess.shape[-1])).copy()
    done = np.zeros(batch, dtype=bool)
    quick = quick_assembly(evaluator)
    if quick is not None and q.size and not is_plain():
        rows = [replace(h, value=arrays.rows(h.value, batch)) for h in given_rows]
        found, closed = quick.assemble(rows, q.reshape(-1, q.shape[-1]), slack)
        done = closed.reshape(batch)
        q = np.where(done[..., None], found.reshape(q.shape), q)
    errors: dict[tuple[int, ...], CatenaError] = {}
    for k in np.ndindex(batch):
        if not done[k]:
            try:
                q[k] = assemble_one(evaluator, _at(given_rows, batch, k), q[k], slack)
            except LoopError as error:
                # The others are told to whoever asks for them.
                q[k], errors[k] = np.nan, error
    raise_for_states(errors, q)
    return q


def held(evaluator: Evaluator, by_joint: Mapping[str, Any] | None) -> list[Held]:
    """Return what is given for joints by name, checked."""
    evaluator.check_current()
    return held_positions(evaluator.mechanism, evaluator.plan, {} if by_joint is None else by_joint)


def put(evaluator: Evaluator, q: np.ndarray, by_joint: Mapping[str, Any]) -> np.ndarray:
    """Return q (..., nq) with the positions (..., nq of the joint) of some joints of the tree in place."""
    rows = held(evaluator, by_joint)
    batch = common_batch(rows, q.shape[:-1])
    q = np.broadcast_to(q, (*batch, q.shape[-1])).copy()
    for h in rows:
        if h.node >= 0:
            own = int(evaluator.plan.q_start[h.node]) + np.arange(h.kind.nq)
            q[..., own] = np.where(np.isnan(h.value), q[..., own], h.value)
    return q


def velocity(evaluator: Evaluator, q: np.ndarray, by_joint: Mapping[str, Any], slack: float) -> np.ndarray:
    """Return velocities (..., nv) of the closed mechanism at q (..., nq) for given velocities (..., nv_joint).

    This is the one rule for velocities of which only some are given: joints on no loop that are not named stand still,
    and what the loops leave open of the others has least kinetic energy. `simulate` and the command line start by it.
    """
    plan = evaluator.plan
    held, resting = held_rates(evaluator, by_joint)
    batch = common_batch(held, q.shape[:-1])
    check_slack(slack)
    v = np.zeros((*batch, plan.nv))
    if any(name not in resting for name in (*plan.joints, *(h.name for h in held if h.loop >= 0))):
        problem = motion_problem(evaluator, np.broadcast_to(q, (*batch, q.shape[-1])))
        flat = [replace(h, value=arrays.rows(h.value, batch)) for h in held]
        v = consistent_velocity(problem, flat, slack).reshape(*batch, plan.nv)
    # What depends on nothing else is as given to the last digit.
    for h in held:
        if h.name in resting and h.node >= 0:
            v[..., int(plan.v_start[h.node]) + np.arange(h.kind.nv)] = h.value
    return v


def held_rates(evaluator: Evaluator, by_joint: Mapping[str, Any]) -> tuple[list[Held], frozenset[str]]:
    """Return what is given for velocities of joints by name, checked, with zero for joints on no loop that are not
    named, and the names of all joints on no loop."""
    evaluator.check_current()
    resting = frozenset(bridge_joints(evaluator.plan))
    return _with_rest(
        evaluator.plan, held_velocities(evaluator.mechanism, evaluator.plan, by_joint), resting
    ), resting


def _with_rest(plan: Plan, held: Sequence[Held], resting: Set[str]) -> list[Held]:
    """Return the given values with zero for the joints in `resting` that nothing is given for."""
    named = {h.name: h for h in held}
    nodes = {joint: i for i, joint in enumerate(plan.joint)}
    loops = {joint.name: k for k, joint in enumerate(plan.loop_joints)}
    for name in resting:
        node, loop = nodes.get(name, -1), loops.get(name, -1)
        kind = plan.kind[node] if node >= 0 else plan.loop_joints[loop].kind
        assert kind is not None
        value, whole = np.zeros(kind.nv), np.ones(kind.nv, dtype=bool)
        if name in named:
            value = np.where(named[name].mask, named[name].value, 0.0)
        named[name] = Held(name, kind, node, loop, value, whole, asked_for=name in named)
    return list(named.values())


def closure(evaluator: Evaluator, q: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the position and velocity errors (..., m) of all constraints, in the order of the loops."""
    compiled = evaluator.once(_compiled)
    if compiled is None:
        return _closure_of_user_kinds(evaluator, q, v)
    algorithm, kept = compiled
    result = evaluator.evaluate(algorithm, {"q": q, "qd": v})
    position, velocity = result["position"], result["velocity"]
    flat = *position.shape[:-2], position.shape[-2] * position.shape[-1]
    return position.reshape(flat).take(kept, axis=-1), velocity.reshape(flat).take(kept, axis=-1)


def _compiled(evaluator: Evaluator) -> tuple[Algorithm, np.ndarray] | None:
    """Return the algorithm that finds the errors of all constraints, and where they are in what it returns; None where
    a kind of joint does not give its coordinates as formulas."""
    if not knows_all_coordinates(evaluator.plan):
        return None
    return compiled_closure(shape_for(evaluator.plan)), evaluator.once(kept_entries)


def _closure_of_user_kinds(evaluator: Evaluator, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    states = constraint_states(evaluator, q, v)
    batch = np.broadcast_shapes(
        *(s.position.shape[:-1] for s in states), *(s.velocity.shape[:-1] for s in states)
    )
    position, velocity = (
        np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)
        for parts in ([s.position for s in states], [s.velocity for s in states])
    )
    return position, velocity


def knows_all_coordinates(plan: Plan) -> bool:
    """Return whether every loop joint is of a kind that gives its coordinates as formulas."""
    return all(joint.kind.finds_coordinates_of_symbols for joint in plan.loop_joints)


def common_batch(held: Sequence[Held], batch: tuple[int, ...], *others: tuple[int, ...]) -> tuple[int, ...]:
    """Return the batch dimensions of what is given and of states, or raise where they do not fit together."""
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        return np.broadcast_shapes(batch, *shapes.values(), *others)
    except ValueError as error:
        more = "".join(f", parameters {other}" for other in others)
        raise StateError(
            f"The batch dimensions do not fit together: q {batch}, given {shapes}{more}."
        ) from error


def _at(held: Sequence[Held], batch: tuple[int, ...], k: tuple[int, ...]) -> list[Held]:
    return [replace(h, value=np.broadcast_to(h.value, (*batch, h.value.shape[-1]))[k]) for h in held]


def check_slack(slack: float) -> None:
    """Raise for a slack that is none."""
    if not is_not_negative(slack):
        raise StateError(
            f"slack is {shown(slack)}; give the largest gap [m or rad] that given values may yield to."
        )


def with_modes(plan: Plan, by_joint: Mapping[str, Any] | None, q: np.ndarray | None) -> dict[str, Any]:
    """Return what is given for joints by name, and besides the amplitudes of all modes in q (..., nq), or zero
    velocities where q is None."""
    assert plan.owner is not None
    found: dict[str, Any] = {}
    for i in range(1, plan.n):
        if plan.owner[i] == i and is_flexible(plan.kind[i]):
            first, count = int(plan.q_start[i]), int(plan.q_size[i])
            found[plan.joint[i]] = np.zeros(count) if q is None else q[..., first : first + count]
    return {**found, **(by_joint or {})}
