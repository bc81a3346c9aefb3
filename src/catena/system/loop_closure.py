"""Closing loops by name: positions and velocities of the closed mechanism from what users give for some joints."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics import most_modes, tree_dynamics
from catena.dynamics.closed.certified_elimination import is_trusted
from catena.dynamics.closed.consistent_velocity import consistent_velocity
from catena.dynamics.closed.motion_problem import motion_problem
from catena.dynamics.loop_elimination import sort_for
from catena.dynamics.loop_elimination.flexible import flexible_correction
from catena.dynamics.loop_elimination.least_change import (
    closure as compiled_closure,
    holds,
    position_correction,
    velocity_correction,
)
from catena.errors import LoopError, StateError
from catena.given import is_not_negative, shown
from catena.kernels import Algorithm, is_plain
from catena.kinematics import integrate
from catena.kinematics.assembly import assemble as assemble_one
from catena.kinematics.coupling_states import CouplingState, constraint_states
from catena.kinematics.held import Held, held_positions, held_velocities
from catena.kinematics.scales import Scales, scales_of
from catena.structure import Plan, bridge_joints
from catena.system import arrays
from catena.system.evaluation import Evaluator
from catena.system.holding import project_holding as hold_and_close


def assemble(
    evaluator: Evaluator, given: Mapping[str, Any] | None, guess: np.ndarray, slack: float
) -> np.ndarray:
    """Return coordinates (..., nq) that close the loops, near `guess` (..., nq), for given values (..., nq_joint)."""
    given_rows = held(evaluator, given)
    batch = _batch(given_rows, guess.shape[:-1])
    _check_slack(slack)
    q = np.broadcast_to(guess, (*batch, guess.shape[-1])).copy()
    done = np.zeros(batch, dtype=bool)
    quick = evaluator.quick_assembly
    if quick is not None and q.size and not is_plain():
        rows = [replace(h, value=arrays.rows(h.value, batch)) for h in given_rows]
        found, closed = quick.assemble(rows, q.reshape(-1, q.shape[-1]), slack)
        done = closed.reshape(batch)
        q = np.where(done[..., None], found.reshape(q.shape), q)
    for k in np.ndindex(batch):
        if not done[k]:
            q[k] = assemble_one(evaluator, _at(given_rows, batch, k), q[k], slack)
    return q


def held(evaluator: Evaluator, given: Mapping[str, Any] | None) -> list[Held]:
    """Return what is given for joints by name, checked."""
    evaluator.check_current()
    return held_positions(evaluator.mechanism, evaluator.plan, {} if given is None else given)


def put(evaluator: Evaluator, q: np.ndarray, given: Mapping[str, Any]) -> np.ndarray:
    """Return q (..., nq) with the positions (..., nq of the joint) of some joints of the tree in place."""
    rows = held(evaluator, given)
    batch = _batch(rows, q.shape[:-1])
    q = np.broadcast_to(q, (*batch, q.shape[-1])).copy()
    for h in rows:
        if h.node >= 0:
            own = int(evaluator.plan.q_start[h.node]) + np.arange(h.kind.nq)
            q[..., own] = np.where(np.isnan(h.value), q[..., own], h.value)
    return q


def velocity(evaluator: Evaluator, q: np.ndarray, given: Mapping[str, Any], slack: float) -> np.ndarray:
    """Return velocities (..., nv) of the closed mechanism at q (..., nq) for given velocities (..., nv_joint).

    This is the one rule for velocities of which only some are given: joints on no loop that are not named stand still,
    and what the loops leave open of the others has least kinetic energy. `simulate` and the command line start by it.
    """
    evaluator.check_current()
    plan = evaluator.plan
    resting = frozenset(bridge_joints(plan))
    held = _with_rest(plan, held_velocities(evaluator.mechanism, plan, given), resting)
    batch = _batch(held, q.shape[:-1])
    _check_slack(slack)
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
        named[name] = Held(name, kind, node, loop, value, whole, given=name in named)
    return list(named.values())


def closure(evaluator: Evaluator, q: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the position and velocity errors (..., m) of all constraints, in the order of the loops."""
    plan = evaluator.plan
    if not knows_all_coordinates(plan):
        return _closure_of_user_kinds(evaluator, q, v)
    sort = sort_for(plan)
    result = evaluator.evaluate(compiled_closure(sort), {"q": q, "qd": v})
    counts = np.array([joint.constraints for joint in plan.constraints], dtype=int)
    keep = np.arange(sort.columns) < counts[:, None]
    return result["position"][..., keep], result["velocity"][..., keep]


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


# Newton's method stops where the closure errors [rad or characteristic lengths] are this small or smaller no more.
CLOSED = 1e-13
STEPS = 20
# Errors above this are more than rounding leaves.
LEFT = 1e-12
# Velocities that open loops by more than this part of themselves have not been found by the elimination.
MISSED = 1e-10


def project(evaluator: Evaluator, q: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv), in lanes: Newton's method on the position
    errors with steps of least kinetic energy, then the least change of velocities."""
    plan = evaluator.plan
    if not knows_all_coordinates(plan):
        raise LoopError(
            f"project needs the coordinates of loop joints as formulas, which a joint kind of {plan.name!r} does not "
            f"give (finds_coordinates_of_symbols); use assemble."
        )
    q = np.array(evaluator.checked(integrate, "q", q))
    evaluator.check_positions("q", q)
    if not plan.total_constraints:
        return q, None if v is None else np.array(evaluator.checked(integrate, "qd", v))
    scales, start = scales_of(plan), q
    before = _worst(scales, closure(evaluator, q)[0])
    sure = np.ones(before.shape, dtype=bool)
    for _ in range(STEPS):
        step, trusted = _change(evaluator, True, {"q": q, "qd": None})
        trial = evaluator.evaluate(integrate, {"q": q, "qd": np.nan_to_num(step)})["q_next"]
        after = _worst(scales, closure(evaluator, trial)[0])
        better = after < before
        sure &= trusted | ~better
        q = np.where(better[..., None], trial, q)
        before = np.where(better, after, before)
        if np.all((before <= CLOSED) | ~better):
            break
    q, before = _closed_in_any_rank(evaluator, np.where(sure[..., None], q, start), q, before, sure)
    _require_closed(evaluator, q, before)
    if v is None:
        return q, None
    given = evaluator.checked(integrate, "qd", v)
    step, trusted = _change(evaluator, False, {"q": q, "qd": v})
    # Where nothing with inertia can move a loop, or at its singular configuration, there is no quick correction.
    rates = np.where(trusted[..., None], given + step, given)
    return q, _weakly_held(evaluator, scales, q, rates)


def _change(
    evaluator: Evaluator, of_positions: bool, inputs: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes (..., nv) that close the loops to first order, and which of them (...) can be trusted:
    others may close loops as well, and move what they need not."""
    found = evaluator.evaluate(_correcting(evaluator.plan, of_positions), inputs, finite=False)
    trusted = np.isfinite(found["qdd"]).all(axis=-1)
    if "defect" in found:
        trusted &= is_trusted(*(found[name][..., 0] for name in ("defect", "change", "before", "size")))
    return found["qdd"], trusted


def _closed_in_any_rank(
    evaluator: Evaluator, start: np.ndarray, q: np.ndarray, left: np.ndarray, sure: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states q (..., nq) and their errors `left` (...), closed from `start` (..., nq) by a decomposition that
    sees the rank where Newton's method by elimination stopped before it came to rounding, as it does where loops hold
    bodies still, or where its steps are not `sure` (...) to be the least ones."""
    stuck = ((left > LEFT) | ~sure) & (left < OPEN)
    if np.any(stuck):
        at_rest = np.zeros((int(stuck.sum()), evaluator.plan.nv))
        near, _, after = hold_and_close(evaluator, start[stuck], at_rest, np.zeros(0, dtype=int))
        better = (after < left[stuck]) | (~sure[stuck] & (after < LEFT))
        q[stuck] = np.where(better[:, None], near, q[stuck])
        left = np.array(left)
        left[stuck] = np.where(better, after, left[stuck])
    return q, left


def _weakly_held(evaluator: Evaluator, scales: Scales, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return velocities v (..., nv) that open no loops at q (..., nq), given some that may do so a little because
    constraints that hold weakly were missed."""
    q = np.broadcast_to(q, (*v.shape[:-1], q.shape[-1]))
    speed = np.abs(v / scales.units).max(axis=-1, initial=0.0)
    missed = _worst(scales, closure(evaluator, q, v)[1]) > MISSED * speed
    if np.any(missed):
        v[missed] = hold_and_close(evaluator, q[missed], v[missed], np.zeros(0, dtype=int))[1]
    return v


def correction(evaluator: Evaluator, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes of position and velocity that close the loops to first order."""
    plan = evaluator.plan
    by_position = evaluator.evaluate(_correcting(plan, True), {"q": q, "qd": None})["qdd"]
    return by_position, evaluator.evaluate(_correcting(plan, False), {"q": q, "qd": v})["qdd"]


def _correcting(plan: Plan, of_positions: bool) -> Algorithm:
    """Return the least change of positions, or of velocities, with modes where bodies are flexible."""
    sort, modes = sort_for(plan), most_modes(plan)
    if modes:
        return flexible_correction(sort, modes, of_positions)
    return position_correction(sort) if of_positions else velocity_correction(sort)


def pulled(evaluator: Evaluator, q: Any, v: Any, stiffness: float, damping: float) -> np.ndarray:
    """Return the accelerations (states, nv) of the tree, loops cut, at rest and without weight under the forces
    -stiffness e - damping e' along the constraints of q (states, nq), v (states, nv)."""
    plan = evaluator.plan
    sort, states = sort_for(plan), len(q)
    found = evaluator.evaluate(holds(sort), {"q": q, "qd": v})
    force = -stiffness * found["position"] - damping * found["velocity"]
    f_ext = np.zeros((states, plan.n, 6))
    for k, loop in enumerate(plan.loop_joints):
        if loop.constraints:
            for node, side in ((loop.child_node, "K_child"), (loop.parent_node, "K_parent")):
                K = found[side][:, k].reshape(states, sort.columns, 6)
                f_ext[:, node] += np.einsum("sc,sci->si", force[:, k], K)
    f_ext[:, 0] = 0.0
    tau = np.zeros((states, plan.nv))
    if plan.couplings:
        tied = [s for s in constraint_states(evaluator, q, v) if isinstance(s, CouplingState)]
        for k, state in enumerate(tied, len(plan.loop_joints)):
            if state.loop.constraints:
                tau += force[:, k, :1] * state.J[:, 0]
    weightless = np.concatenate([np.zeros(3), plan.gravity])
    inputs = {
        "q": q, "qd": np.zeros((states, plan.nv)), "tau": tau,
        "f_ext": f_ext.reshape(states, 6 * plan.n), "a_base": weightless,
    }  # fmt: skip
    return evaluator.evaluate(tree_dynamics(evaluator.plan), inputs)["qdd"]


def project_holding(
    evaluator: Evaluator, q: Any, v: Any, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv) in which the velocity components `held` do not
    change; loops may have any rank."""
    q = np.array(evaluator.checked(integrate, "q", q))
    evaluator.check_positions("q", q)
    rates = (
        np.zeros((*q.shape[:-1], evaluator.plan.nv)) if v is None else evaluator.checked(integrate, "qd", v)
    )
    batch = arrays.batch_shape({"q": q, "v": rates})
    if not evaluator.plan.total_constraints:
        near, changed = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, rates))
        return near, None if v is None else changed
    near, changed, left = hold_and_close(evaluator, arrays.rows(q, batch), arrays.rows(rates, batch), held)
    near, changed = near.reshape(*batch, q.shape[-1]), changed.reshape(*batch, rates.shape[-1])
    _require_closed(evaluator, near, left.reshape(batch))
    return near, None if v is None else changed


def _worst(scales: Scales, errors: np.ndarray) -> np.ndarray:
    """Return the largest error (...) of errors (..., m), as an angle or a part of the characteristic length."""
    return np.asarray(np.abs(scales.errors(errors)).max(axis=-1, initial=0.0))


def _require_closed(evaluator: Evaluator, q: np.ndarray, worst: np.ndarray) -> None:
    """Raise a LoopError for states that Newton's method could not close, because their loops were too far open."""
    if np.all(worst < OPEN):
        return
    state = np.unravel_index(np.argmax(worst), worst.shape)
    errors = closure(evaluator, q[state])[0]
    at, words = 0, []
    for joint in evaluator.plan.constraints:
        part = errors[at : at + joint.constraints]
        at += joint.constraints
        if len(part):
            words.append(f"{joint.name} {np.abs(part).max():.3g}")
    where = f" in state {tuple(int(k) for k in state)}" if state else ""
    raise LoopError(
        f"The loops of {evaluator.plan.name!r} cannot be closed from here{where}; the errors left [rad or m] are "
        f"{', '.join(words)}. Begin nearer to a closed state, or find one with assemble."
    )


# A loop that is open by more than this [rad or characteristic lengths] is not closed.
OPEN = 1e-8


def knows_all_coordinates(plan: Plan) -> bool:
    """Return whether every loop joint is of a kind that gives its coordinates as formulas."""
    return all(joint.kind.finds_coordinates_of_symbols for joint in plan.loop_joints)


def _batch(held: Sequence[Held], batch: tuple[int, ...]) -> tuple[int, ...]:
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        return np.broadcast_shapes(batch, *shapes.values())
    except ValueError as error:
        raise StateError(f"The batch dimensions do not fit together: q {batch}, given {shapes}.") from error


def _at(held: Sequence[Held], batch: tuple[int, ...], k: tuple[int, ...]) -> list[Held]:
    return [replace(h, value=np.broadcast_to(h.value, (*batch, h.value.shape[-1]))[k]) for h in held]


def _check_slack(slack: float) -> None:
    if not is_not_negative(slack):
        raise StateError(
            f"slack is {shown(slack)}; give the largest gap [m or rad] that given values may yield to."
        )
