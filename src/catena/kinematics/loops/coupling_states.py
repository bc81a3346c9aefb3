"""How far each coupling is from holding, how fast it is broken, and what keeps it.

A coupling is one row among the constraints: with the positions q_t of its joints,

    position residual      e = sum_t sign_t f_t(q_t) - offset
    velocity residual      e' = sum_t f_t'(q_t) q_t' = j v
    acceleration           j vdot + gamma = 0,    gamma = sum_t f_t''(q_t) q_t'^2 + f_t'(q_t) (drift of q_t)

For a joint of the tree q_t is a coordinate and has no drift; for a loop joint it is what its two sides show. So that
rows of couplings can stand beside those of loops everywhere, they are told as if there were a joint whose relative
twist is e' / size about x: J_rel has that row, Phi is size e_x, and j = Phi^T J_rel. `size` is what a motion of a
radian, or of the mechanism's length, changes the sum by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.kinematics.loops.closure import LoopState, Motions, loop_kinematics
from catena.mechanism.profiles import Line
from catena.structure import Plan, PlannedCoupling, Term

TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class CouplingState:
    """A coupling in a batch of states, with the fields of a `LoopState` that constraints are computed from.

    `Phi` (..., 6, m), `J_rel` (..., 6, nv), `J` (..., m, nv), `gamma`, `position` and `velocity` (..., m), `error`
    (..., 6), with m = 1, or 0 for a coupling that is left out; `slopes` (..., terms) are the derivatives f_t'.
    """

    loop: PlannedCoupling
    Phi: np.ndarray
    J_rel: np.ndarray
    J: np.ndarray
    gamma: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    error: np.ndarray
    slopes: np.ndarray

    @property
    def name(self) -> str:
        """The name of the coupling."""
        return self.loop.name


def coupling_states(plan: Plan, q: Any, v: Any, loops: Sequence[LoopState]) -> list[CouplingState]:
    """Return the states of all couplings of a plan at q (..., nq) and v (..., nv), or at rest when v is None, given
    those of its loops there."""
    return [_state(plan, coupling, np.asarray(q), v, loops) for coupling in plan.couplings]


def term_motion(
    plan: Plan, term: Term, q: np.ndarray, v: Any, loops: Sequence[LoopState]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the position and the velocity (...) of a joint of one degree of freedom, the row (..., nv) that takes
    velocities of the tree to its own, and its acceleration (...) when vdot is zero."""
    rates = np.zeros(plan.nv) if v is None else np.asarray(v)
    if term.node >= 0:
        column = int(plan.v_start[term.node])
        row = np.zeros(plan.nv)
        row[column] = 1.0
        x, xd = q[..., int(plan.q_start[term.node])], rates[..., column]
        return x, xd, row, np.zeros(np.broadcast_shapes(x.shape, xd.shape))
    state = loops[term.loop]
    across = stacks.pseudo_inverse(state.S)[..., 0, :]
    row = np.einsum("...i,...ij->...j", across, state.J_rel)
    return state.q[..., 0], state.v[..., 0], row, np.einsum("...i,...i->...", across, state.drift)


def _state(
    plan: Plan, coupling: PlannedCoupling, q: np.ndarray, v: Any, loops: Sequence[LoopState]
) -> CouplingState:
    batch = np.broadcast_shapes(q.shape[:-1], () if v is None else np.shape(v)[:-1])
    e, rate, gamma = np.full(batch, -coupling.offset), np.zeros(batch), np.zeros(batch)
    row, slopes = np.zeros((*batch, plan.nv)), []
    for term in coupling.terms:
        x, xd, own, drift = term_motion(plan, term, q, v, loops)
        x = np.array(np.broadcast_to(x, batch))
        slope = np.asarray(term.sign * term.profile.slope(x))
        e = e + term.sign * term.profile.value(x)
        rate = rate + slope * xd
        gamma = gamma + term.sign * term.profile.curvature(x) * xd**2 + slope * drift
        row = row + slope[..., None] * own
        slopes.append(slope)
    e = without_turns(coupling, e)
    size, m = coupling.size(extent(plan)), coupling.constraints
    Phi, J_rel, error = np.zeros((*batch, 6, m)), np.zeros((*batch, 6, plan.nv)), np.zeros((*batch, 6))
    Phi[..., 0, :], J_rel[..., 0, :], error[..., 0] = size, row / size, m * e / size
    return CouplingState(
        coupling, Phi, J_rel, row[..., None, :] if m else row[..., None, :][..., :0, :], gamma[..., None][..., :m],
        e[..., None][..., :m], rate[..., None][..., :m], error, np.stack(slopes, axis=-1),
    )  # fmt: skip


def without_turns(coupling: PlannedCoupling, e: Any) -> Any:
    """Return a residual (...) without whole turns of the loop joints in it, whose angles are known up to these."""
    turning = [t.profile for t in coupling.terms if t.loop >= 0 and t.turns]
    steps = sorted((TURN * abs(f.coefficient) for f in turning if isinstance(f, Line)), reverse=True)
    for step in steps:
        e = e - step * np.round(e / step)
    return e


def constraint_states(
    evaluator: Evaluator, q: Any, v: Any = None, motions: Motions | None = None
) -> list[LoopState | CouplingState]:
    """Return the states of all loops and then of all couplings, as `loop_kinematics` does those of loops."""
    loops = loop_kinematics(evaluator, q, v, motions)
    return [*loops, *coupling_states(evaluator.plan, q, v, loops)]
