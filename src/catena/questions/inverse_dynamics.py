"""Inverse dynamics of mechanisms with loops: the smallest forces of actuated joints that produce a motion, and the
words for motions that loops or actuators do not allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.formulations import LoopProblem
from catena.dynamics.loops.problem import row_weight
from catena.dynamics.loops.square_root import constrained, divide_lower, effective
from catena.errors import LoopError, SingularDynamicsError, StateError
from catena.kinematics.levers import levers
from catena.kinematics.loops.held import held_forces
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import Mechanism
from catena.mechanism.elements import driven
from catena.thresholds import CONTRADICTION, LEFT_OF_SUMS, RANK_EXACT

# Forward dynamics is exact to this part of the accelerations that the forces would cause without loops. Which forces
# they were is not known here; some that cause 10 rad/s^2, or lengths of the mechanism/s^2, are always allowed for.
NO_MOTION = 10.0 * LEFT_OF_SUMS


def taken_by(problem: LoopProblem, vdot: np.ndarray) -> np.ndarray:
    """Return the forces (states, nv) at the joints of the tree that accelerations vdot (states, nv) take besides those
    that act, if nothing held the loops."""
    L, free = problem.equations
    return apply(L, apply(transposed(L), vdot) - free)


@dataclass(frozen=True, eq=False)
class ActuatedForces:
    """Who gives forces: units of them do `columns` (states, nv, k) at the joints of the tree and are `unit` (states, k)
    [N or N m]. They are `components` (k,) of the tree, or those of joints that were named, with the `sizes` {joint: nv
    of the joint}. The `hint` says what to do where they do not suffice."""

    columns: np.ndarray
    unit: np.ndarray
    hint: str
    components: np.ndarray
    sizes: Mapping[str, int] | None = None

    def told(self, forces: np.ndarray, nv: int, batch: tuple[int, ...]) -> Any:
        """Return forces (states, k, ...) as those of all components of the tree, (*batch, nv, ...), or by name."""
        if self.sizes is None:
            tau = np.zeros((len(forces), nv, *forces.shape[2:]))
            tau[:, self.components] = forces
            return tau.reshape(*batch, *tau.shape[1:])
        found, at = {}, 0
        for name, size in self.sizes.items():
            found[name] = forces[:, at : at + size].reshape(*batch, size, *forces.shape[2:])
            at += size
        return found


def actuated_components(problem: LoopProblem) -> ActuatedForces:
    """Return the actuated components of the tree (`kinematics.levers` tells how moments count). In a tree, joints that
    nothing drives are told what they would have to give."""
    plan = problem.plan
    lever = levers(plan, problem.lengths)
    acting = np.flatnonzero(plan.actuated if closed_chains.is_closed(plan) else ~plan.partly_driven)
    others = [loop.name for loop in plan.loop_joints if loop.actuated]
    hint = (
        f" Name those that act, actuated=[...]; the loop joints {others} have actuators too."
        if others
        else ""
    )
    columns = np.eye(plan.nv)[:, acting] * lever[:, None, acting]
    text = f"The joints {list(plan.idle)} have no actuator.{hint}"
    return ActuatedForces(columns, lever[:, acting], text, acting)


def named(problem: LoopProblem, mechanism: Mechanism, names: Sequence[str]) -> ActuatedForces:
    """Return the components of the joints called so, of the tree or of loops."""
    plan, length = problem.plan, problem.lengths[:, None]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StateError(f"actuated names joint {twice!r} twice: name each joint once.")
    columns, units, sizes = [np.zeros((problem.states, plan.nv, 0))], [np.zeros((problem.states, 0))], {}
    for h in held_forces(mechanism, plan, dict.fromkeys(names)):
        rows = problem.joint_rows(h.node, h.loop)
        S = np.asarray(h.kind.motion_space(h.kind.neutral()).array, dtype=np.float64)
        lever = np.sqrt(np.sum(S[:3] ** 2, axis=0) * length**2 + np.sum(S[3:] ** 2, axis=0))
        columns.append(transposed(rows) * lever[:, None])
        # Whoever names a joint that nothing drives lets all of it act; motors give what they can.
        powered = (
            driven(mechanism.joints[h.name], mechanism.actuators) if h.name in mechanism.joints else None
        )
        columns[-1] = columns[-1] * (1.0 if powered is None or not powered.any() else powered)
        units.append(lever)
        sizes[h.name] = lever.shape[-1]
    text = f"Forces at {', '.join(map(repr, names))} do not do it: name more joints."
    every = np.concatenate(columns, axis=-1)
    return ActuatedForces(every, np.concatenate(units, axis=-1), text, np.zeros(0, dtype=int), sizes)


@dataclass(frozen=True, eq=False)
class Demand:
    """What forces must add for a motion, along the motions that loops allow and in square-root form: `wanted` (states,
    nv). `whole` (states,) is the size of what it is the sum of, and `blocked` (states, r, nv) are the directions in
    which loops hold: with P the projection on the others, P L^-1 (H vdot - force - tau) = 0."""

    problem: LoopProblem
    wanted: np.ndarray
    whole: np.ndarray
    blocked: np.ndarray

    @staticmethod
    def of(problem: LoopProblem, vdot: np.ndarray) -> Demand:
        """Return that of accelerations vdot (states, nv), which keep loops closed."""
        L, free = problem.equations
        _require_closed_motion(problem, vdot)
        _, sigma, Vt = np.linalg.svd(problem.scaled, full_matrices=False)
        blocked = Vt * effective(sigma, problem.tolerance)[..., None]
        # What tau must add to the forces that act anyway.
        terms = apply(transposed(L), vdot), -free
        wanted = terms[0] + terms[1]
        wanted = wanted - apply(transposed(blocked), apply(blocked, wanted))
        whole = np.linalg.norm(terms[0], axis=-1) + np.linalg.norm(terms[1], axis=-1)
        return Demand(problem, wanted, whole, blocked)

    def effect(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what forces columns (states, nv, k) at the joints of the tree do, (states, nv, k), and the size
        (states,) of what they would do without loops."""
        effect = divide_lower(self.problem.equations[0], columns)
        size = np.linalg.norm(effect, axis=(-1, -2))
        return effect - transposed(self.blocked) @ (self.blocked @ effect), size

    def require_met(self, missed: np.ndarray, hint: str) -> None:
        """Raise where so much (states,) is missed."""
        problem, whole = self.problem, self.whole
        bad = np.flatnonzero(~(np.isfinite(missed) & np.isfinite(whole)))
        if len(bad):
            raise SingularDynamicsError(
                f"inverse dynamics gives a result that is not finite in state {bad[0]}: numbers are too large for "
                f"float64."
            )
        # Unit accelerations of all coordinates, in radians or lengths of the mechanism.
        per_lever = problem.lengths[:, None] / levers(problem.plan, problem.lengths)
        unit = np.linalg.norm(problem.equations[0] * per_lever[..., None], axis=(-1, -2))
        if np.any(missed > CONTRADICTION * whole + NO_MOTION * unit):
            worst = int(np.argmax(missed / np.where(whole > 0.0, whole, 1.0)))
            raise LoopError(
                f"The actuators of {problem.plan.name!r} cannot produce this motion in state {worst}: "
                f"{missed[worst] / whole[worst]:.3g} of the force it takes is left. {hint}"
            )


def smallest(problem: LoopProblem, vdot: np.ndarray, acting: ActuatedForces) -> np.ndarray:
    """Return the forces (states, k) that produce vdot (states, nv), the smallest where there are many."""
    demand = Demand.of(problem, vdot)
    effect, size = demand.effect(acting.columns)
    nothing = np.zeros((problem.states, effect.shape[-1]))
    tolerance = np.full(problem.states, RANK_EXACT)
    chosen = constrained(effect, nothing, demand.wanted, tolerance, size)[0]
    demand.require_met(np.linalg.norm(demand.wanted - apply(effect, chosen), axis=-1), acting.hint)
    return chosen * acting.unit


def _require_closed_motion(problem: LoopProblem, vdot: np.ndarray) -> None:
    """Raise for accelerations that would open a loop."""
    L, free = problem.equations
    opening = (apply(problem.J, vdot) + problem.gamma) / problem.scale
    size = sum(
        np.linalg.norm(x, axis=-1) for x in (apply(transposed(L), vdot), problem.gamma / problem.scale)
    )
    alone = np.linalg.norm(free, axis=-1)
    # Unit accelerations along all constraints, in radians or lengths of the mechanism.
    units = [problem.length / np.sqrt(row_weight(s.Phi, 1.0, problem.length)) for s in problem.rows]
    unit = np.linalg.norm(np.concatenate([opening[:, :0], *units], axis=-1) / problem.scale, axis=-1)
    bad = np.linalg.norm(opening, axis=-1) > CONTRADICTION * size + LEFT_OF_SUMS * alone + NO_MOTION * unit
    if bad.any():
        worst = int(np.argmax(np.where(bad, np.linalg.norm(opening, axis=-1), 0.0)))
        at, rows = 0, []
        for loop in problem.plan.constraints:
            part = (opening * problem.scale)[worst, at : at + loop.constraints]
            rows.append(f"{loop.name!r} by {np.linalg.norm(part):.3g}")
            at += loop.constraints
        raise LoopError(
            f"vdot opens the loops of {problem.plan.name!r} in state {worst}: {', '.join(rows)} [rad/s^2 or m/s^2]. "
            f"Give the accelerations of the closed mechanism, such as those that forward_dynamics returns."
        )
