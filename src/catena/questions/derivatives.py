"""Derivatives of dynamics, in lanes: by steps along the velocity components, by velocities, by
forces or accelerations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from catena import dynamics
from catena.dynamics.loops.elimination import borrowers, loop_wrenches, shape_for
from catena.dynamics.loops.formulations.certified_elimination import is_for, is_trusted
from catena.dynamics.loops.loop_derivatives import loop_derivatives
from catena.dynamics.mechanics import Mechanics
from catena.dynamics.tree.forward_derivatives import forward_derivatives
from catena.dynamics.tree.friction import tree_stiffness
from catena.dynamics.tree.inverse_derivatives import inverse_derivatives
from catena.errors import StateError
from catena.forces import AppliedWrench, PlacedForce
from catena.forces.placed import LOOP
from catena.kernels import FORCE_INPUTS, Algorithm, arrays, is_plain
from catena.kernels.constants import mobility_scale
from catena.kernels.evaluation import Evaluator
from catena.questions.response import Responder
from catena.spatial import Transform
from catena.structure import Plan
from catena.thresholds import RANK_EXACT

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def of_inverse_dynamics(evaluator: Evaluator, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """Return tau by q, by v and by vdot, each (*batch, nv, nv), of the tree."""
    if evaluator.plan.owner is not None:
        return _written(_of_flexible_inverse(evaluator, inputs), out)
    return _evaluated(evaluator, inverse_derivatives, inputs, ("by_q", "by_v", "H"), out)


def of_forward_dynamics(evaluator: Evaluator, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """Return vdot by q, by v and by tau, each (*batch, nv, nv), of a tree that accelerates by the given qdd."""
    if evaluator.plan.owner is not None:
        by_q, by_v, H = _of_flexible_inverse(evaluator, inputs)
        by_tau = np.linalg.inv(H)
        return _written((-by_tau @ by_q, -by_tau @ by_v, by_tau), out)
    return _evaluated(evaluator, forward_derivatives, inputs, ("by_q", "by_v", "by_tau"), out)


def _of_flexible_inverse(evaluator: Evaluator, inputs: Mapping[str, Any]) -> Three:
    """Return the derivatives of inverse dynamics where bodies are flexible; compiled code lacks the stiffness."""
    by_q, by_v, H = _evaluated(evaluator, inverse_derivatives, inputs, ("by_q", "by_v", "H"), None)
    return by_q + tree_stiffness(evaluator.plan, np.asarray(inputs["q"], dtype=np.float64)), by_v, H


def _written(found: Three, out: Any) -> Three:
    if out is None:
        return found
    targets = _targets(out)
    for y, x in zip(targets, found, strict=True):
        y[...] = x
    return targets[0], targets[1], targets[2]


def of_closed_dynamics(responder: Responder, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """Return vdot by q, by v and by tau, each (*batch, nv, nv), of a mechanism with loops: in lanes where its loops
    allow it and where their rank is beyond doubt, else by the response."""
    model = responder.model
    evaluator = model.evaluator
    evaluator.check_current()
    checked = {
        n: evaluator.checked(dynamics.articulated_body, n, x) for n, x in inputs.items() if x is not None
    }
    for name in ("q", "qd"):
        if name not in checked:
            raise StateError(f"{'v' if name == 'qd' else name} is None; give an array.")
    evaluator.check_positions("q", checked["q"])
    batch = arrays.batch_shape(
        {{"qd": "v", "a_base": "base_acceleration"}.get(n, n): x for n, x in checked.items()}
    )
    rows = {n: np.ascontiguousarray(arrays.rows(x, batch)) for n, x in checked.items()}
    states = len(rows["q"])
    shape = (states, model.nv, model.nv)
    results = [np.zeros(shape) for _ in range(3)] if out is None else []
    for y in [] if out is None else _targets(out):
        if (
            y.shape != (*batch, *shape[1:])
            or y.dtype != np.float64
            or not (y.flags.c_contiguous and y.flags.writeable)
        ):
            raise StateError(
                f"out holds an array of shape {y.shape} and type {y.dtype}; give C-contiguous arrays of float64 of "
                f"shape {(*batch, *shape[1:])} that can be written."
            )
        results.append(y.reshape(shape))
    doubtful = np.ones(states, dtype=bool)
    model.settle(rows["q"])
    evaluator = model.evaluator
    if states and has_lanes(evaluator.plan) and not is_plain():
        doubtful = _in_lanes(evaluator, rows, results)
    if doubtful.any():
        rest = {n: x[doubtful] for n, x in rows.items()}
        found, _ = responder.respond(
            rest["q"],
            rest["qd"],
            rest.get("tau"),
            acting=False,
            f_ext=rest.get("f_ext"),
            a_base=rest.get("a_base"),
        )
        for y, x in zip(results, (found.by_q, found.by_v, found.by_tau), strict=True):
            if not np.isfinite(x).all():
                raise StateError(
                    f"{model.mechanism.name!r}: derivatives of forward dynamics are beyond all numbers, because "
                    "positions, velocities or forces are; give smaller ones."
                )
            y[doubtful] = x
    first, second, third = (y.reshape(*batch, *shape[1:]) for y in results)
    return first, second, third


def with_own_forces(responder: Responder, q: Any, v: Any, found: Three) -> Three:
    """Return derivatives of vdot, found with the forces of the mechanism as they are, with those of these forces."""
    if responder.model.elements.is_empty:
        return found
    by_q, by_v, by_tau = found
    stiff, damped = responder.element_slopes(q, v)
    by_q += by_tau @ stiff
    by_v += by_tau @ damped
    return found


def less_own_forces(responder: Responder, q: Any, v: Any, found: Three) -> Three:
    """Return derivatives of joint forces that a motion takes besides the forces of the mechanism."""
    if responder.model.elements.is_empty:
        return found
    stiff, damped = responder.element_slopes(q, v)
    for y, x in zip(found, (stiff, damped), strict=False):
        y -= x
    return found


def of_energies(model: Mechanics, gravity: np.ndarray, q: Any, v: Any) -> Three:
    """Return the kinetic energy by q and by v and the potential energy by q, each (*batch, nv), under
    `gravity` (..., 3)."""
    rotors = [coupling.name for coupling in model.plan.couplings if coupling.is_rotor]
    if rotors:
        raise StateError(
            f"{model.mechanism.name!r}: the rotors {rotors} turn with joints that close loops, and derivatives of "
            f"their energy are not told; cut other joints, m.system(cut=[...]), or take "
            f"equations('kinetic_energy').casadi()."
        )
    speed = model.evaluator.checked(dynamics.articulated_body, "qd", v)
    rest = np.zeros(model.nv)
    # On a ground that falls freely the forces for accelerations v, at rest, are H v.
    falling = np.concatenate([np.zeros_like(gravity), gravity], axis=-1)
    still, inputs = model.evaluator, {"q": q, "qd": rest, "a_base": falling}
    moving, _, H = of_inverse_dynamics(still, {**inputs, "qdd": speed})
    if model.plan.owner is not None:
        moving = moving - of_inverse_dynamics(still, {**inputs, "qdd": rest})[0]
    by_q = 0.5 * np.einsum("...i,...ij->...j", speed, moving)
    by_v = np.einsum("...ij,...j->...i", H, speed)
    falls = still.evaluate(dynamics.newton_euler, {"q": q, "qd": rest})["tau"]
    if model.elements.stored:
        falls = falls - model.elements.at_joints(q, rest, model.elements.stored)
    return by_q, by_v, np.broadcast_to(falls, by_q.shape).copy()


def has_lanes(plan: Plan) -> bool:
    """Return whether derivatives with the loops of a plan are computed in lanes."""
    return _loops_in_lanes(plan).has_lanes


@dataclass(frozen=True)
class _LoopsInLanes:
    """What is the same for all states of a plan: whether its loops are differentiated in lanes, the loop joints as
    forces, and what the ground is told."""

    has_lanes: bool
    held: tuple[PlacedForce, ...]
    ground_inputs: np.ndarray


def _loops_in_lanes(plan: Plan) -> _LoopsInLanes:
    """Return what is the same for all states of a plan; found once."""
    found = _known_loops.get(plan)
    if found is None:
        held = tuple(
            PlacedForce(loop.name, AppliedWrench(), LOOP, loop.parent_node, loop.child_node,
                        Transform.from_pose(loop.parent_pose), Transform.from_pose(loop.child_pose), loop.kind)
            for loop in plan.loop_joints
        )  # fmt: skip
        ground_inputs = np.array([RANK_EXACT, *mobility_scale(plan), 1.0])
        found = _known_loops.setdefault(plan, _LoopsInLanes(_are_for_lanes(plan), held, ground_inputs))
    return found


_known_loops: WeakKeyDictionary[Plan, _LoopsInLanes] = WeakKeyDictionary()


def _are_for_lanes(plan: Plan) -> bool:
    return (
        is_for(plan)
        and plan.owner is None
        and not plan.couplings
        and not borrowers(plan)
        and plan.nv * plan.total_constraints <= LARGEST
        and all(
            not loop.rubs
            and loop.constraints == 6 - loop.kind.nv > 0
            and loop.parent_node != loop.child_node
            and loop.kind.has_constant_constraint_space
            for loop in plan.loop_joints
        )
    )


def _in_lanes(evaluator: Evaluator, rows: Mapping[str, np.ndarray], results: list[np.ndarray]) -> np.ndarray:
    """Write the derivatives to `results`, and tell which states (states,) are in doubt."""
    plan = evaluator.plan
    names = ("tau", "f_ext", "a_base")
    moved = evaluator.evaluate(
        loop_wrenches(shape_for(plan)),
        {"q": rows["q"], "qd": rows["qd"], **{n: rows.get(n) for n in names}}, finite=False,
    )  # fmt: skip
    trusted = is_trusted(*(moved[name][:, 0] for name in ("defect", "change", "before", "size")))
    if not trusted.all():
        # States that are in doubt anyway must not spoil the check of the others.
        moved["qdd"][~trusted], moved["on_child"][~trusted] = 0.0, 0.0
    held, bounds = _loops_in_lanes(plan).held, _loops_in_lanes(plan).ground_inputs
    into = dict(zip(("by_q", "by_v", "by_tau"), results, strict=True))
    inputs = {
        "q": rows["q"], "qd": rows["qd"], "qdd": moved["qdd"], "f_ext": rows.get("f_ext"),
        "a_base": rows.get("a_base"), "ground_bounds": bounds,
        FORCE_INPUTS: moved["on_child"].reshape(len(rows["q"]), -1),
    }  # fmt: skip
    found = evaluator.evaluate(loop_derivatives(), inputs, finite=False, forces=held, into=into)
    sure = found["doubt"][:, 0] < 1.0 / WEAKEST**2
    return ~(trusted & sure)


# Beside a row that is nearer to the others than this, rank is not taken for granted.
WEAKEST = 1e-6
# Larger products of velocity components and constraints than this are left to the other way.
LARGEST = 4000


def _evaluated(
    evaluator: Evaluator, algorithm: Algorithm, inputs: Mapping[str, Any], names: Sequence[str], out: Any
) -> Three:
    into = None if out is None else dict(zip(names, _targets(out), strict=True))
    result = evaluator.evaluate(algorithm, inputs, into=into)
    if into is not None and is_plain():
        for name in names:
            into[name][...] = result[name]
        result = into
    first, second, third = (result[name] for name in names)
    return first, second, third


def _targets(out: Any) -> list[np.ndarray]:
    found = arrays.as_list("out", out, np.ndarray, "three arrays, such as an earlier call returned")
    if len(found) != 3:
        raise StateError(f"out has {len(found)} arrays; give three, such as an earlier call returned.")
    return found
