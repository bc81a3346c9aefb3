"""Minimal coordinates: as many equations as the closed mechanism has degrees of freedom. Nikravesh, Gim, Arabyan
and Rein, eq. 16 to 25 (with -C_d^-1 C' thetadot in eq. 25); Lampariello, Abiko and Hirzinger, eq. 4 and 5. Cost O(N^3).

    thetadot = E thetadot_i,   M' = E^T M E,   f' = E^T (f - M E' thetadot_i),   M' thetadd_i = f'

Which coordinates are independent is said by the user, or decided by a QR decomposition of C with pivoting over
coordinates, each in units of its own inertia: the ones that C determines best become dependent. What the first state of
a batch decides serves all others together, from inertias and biases that were computed in lanes. States in which it
would not do (others are determined better there, or C has another rank) decide for themselves, one by one.
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.formulations.kkt import multipliers_of
from catena.dynamics.loops.independent import component_names
from catena.dynamics.loops.problem import LoopProblem, LoopSolution, row_weight
from catena.errors import LoopError, SingularDynamicsError
from catena.kinematics.stacks import apply, transposed
from catena.thresholds import RANK_EXACT

# Pivots of the first state, as parts of the largest, that tell its rank without a doubt.
CERTAIN, NONE = 1e-6, 1e-11
# A dependent coordinate moves at most so many times as far as an independent one, in units of their inertias.
GROWTH = 1e3
# Coordinates that a user declares independent may determine others this badly before they are refused.
CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class Partition:
    """Independent coordinates of one state: their indices (d,), E (nv, d), and E' thetadot_i (nv,)."""

    independent: np.ndarray
    E: np.ndarray
    drift: np.ndarray


@dataclass(frozen=True, eq=False)
class Split:
    """Which coordinates are `independent` (d,), which `dependent` (r,), and the `rows` (r,) of C that tell these."""

    independent: np.ndarray
    dependent: np.ndarray
    rows: np.ndarray


def minimal(problem: LoopProblem, independent: np.ndarray | None = None) -> LoopSolution:
    """Solve for the accelerations of independent coordinates: those with the indices given (d,), or the best."""
    states, nv = problem.states, problem.plan.nv
    vdot, multipliers = np.zeros((states, nv)), np.zeros(problem.gamma.shape)
    rank = np.zeros(states, dtype=np.int64)
    together = _together(problem, independent, vdot, multipliers, rank)
    alone = np.flatnonzero(~together)
    for s in alone.tolist():
        vdot[s] = _alone(problem, independent, s)
    if len(alone):
        values, ranks = multipliers_of(problem, vdot)
        multipliers[alone], rank[alone] = values[alone], ranks[alone]
    chosen = "chosen by a pivoted QR decomposition" if independent is None else "as they were given"
    return LoopSolution(vdot, multipliers, rank, f"minimal coordinates, {chosen}")


def _together(
    problem: LoopProblem,
    chosen: np.ndarray | None,
    vdot: np.ndarray,
    multipliers: np.ndarray,
    rank: np.ndarray,
) -> np.ndarray:
    """Solve all states for which the coordinates that the first one decides on will do, and return which (states,)
    these are."""
    none = np.zeros(problem.states, dtype=bool)
    if not problem.states:
        return none
    H, force = problem.H, problem.force
    inertia = np.diagonal(H[0])
    if np.min(inertia, initial=np.inf) <= 1e-12 * np.max(inertia, initial=0.0):
        return none
    unit, rows = 1.0 / np.sqrt(inertia), problem.rows
    weights = [np.sqrt(row_weight(state.Phi, problem.mass, problem.length)) for state in rows]
    root = np.concatenate([np.zeros((problem.states, 0)), *weights], axis=-1)
    C = root[..., None] * problem.J * unit
    split = _split(C[0], chosen)
    if split is None:
        return none
    i, d, r = split.independent, split.dependent, split.rows
    E, drift = np.zeros((problem.states, len(unit), len(i))), np.zeros((problem.states, len(unit)))
    E[:, i, np.arange(len(i))] = 1.0
    try:
        C_d, C_i = C[:, r[:, None], d], C[:, r[:, None], i]
        known = np.concatenate([C_i, (root * problem.gamma)[:, r, None]], axis=-1)
        solved = -np.linalg.solve(C_d, known)
        E[:, d], drift[:, d] = solved[..., :-1], solved[..., -1]
        M = H * unit * unit[:, None]
        f = force * unit
        reduced = transposed(E) @ M @ E
        thetadd = np.linalg.solve(reduced, transposed(E) @ (f - apply(M, drift))[..., None])
        found = (E @ thetadd)[..., 0] + drift
        lent = np.linalg.solve(transposed(C_d), (apply(M, found) - f)[:, d, None])[..., 0]
    except np.linalg.LinAlgError:
        return none
    growth = np.max(np.abs(E), axis=(-1, -2), initial=1.0)
    left = np.max(np.abs(C @ E), axis=(-1, -2), initial=0.0)
    slack = np.maximum(RANK_EXACT, 10.0 * problem.closure_error) * growth
    if chosen is not None:
        _require_determined(problem, chosen, growth)
    fine: np.ndarray = (growth <= (GROWTH if chosen is None else CONDITION)) & (left <= slack)
    # What rounds to a singular inertia is for the ways that see it.
    fine &= np.isfinite(found).all(axis=-1) & (np.max(np.abs(reduced), axis=(-1, -2), initial=0.0) > 0.0)
    vdot[fine] = (found * unit)[fine]
    rank[fine] = len(d)
    multipliers[np.ix_(fine, r)] = (lent * root[:, r])[fine]
    return fine


def _split(C: np.ndarray, asked: np.ndarray | None) -> Split | None:
    """Return how the scaled constraints C (m, nv) of one state split its coordinates; None where their rank is not
    plain to see."""
    from scipy.linalg import qr

    nv = C.shape[1]
    if min(C.shape) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return Split(np.arange(nv), nothing, nothing) if asked is None or len(asked) == nv else None
    R, order = qr(C, mode="r", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(pivots > CERTAIN * pivots[0]))
    # In these units a constraint that holds something is about 1; all of them may be rounding.
    if pivots[0] <= CERTAIN or np.any(pivots[rank:] > NONE * pivots[0]):
        return None
    independent = np.sort(order[rank:]) if asked is None else asked
    dependent = np.setdiff1d(np.arange(nv), independent)
    if len(dependent) != rank:
        return None
    chosen = qr(C[:, dependent].T, mode="r", pivoting=True)[1][:rank]
    return Split(independent, dependent, np.sort(chosen))


def _require_determined(problem: LoopProblem, chosen: np.ndarray, growth: np.ndarray) -> None:
    """Raise where coordinates that were given do not determine the others."""
    worst = int(np.argmax(np.nan_to_num(growth, nan=np.inf)))
    if not growth[worst] <= CONDITION:
        raise undetermined(problem, chosen, worst)


def undetermined(problem: LoopProblem, chosen: np.ndarray, state: int) -> LoopError:
    """Return the error of coordinates `chosen` (d,) that do not determine all others in a state."""
    plan = problem.plan
    freedoms = plan.nv - int(problem.rank[state])
    what = (
        f"are {len(chosen)} velocity components, but {plan.name!r} has {freedoms} degrees of freedom when closed"
        if len(chosen) != freedoms
        else f"do not determine how the others of {plan.name!r} move"
    )
    return LoopError(
        f"independent = {component_names(plan, chosen)} {what} in state {state}; name joints of the tree that "
        f"have as many components together and determine all others, or leave `independent` out."
    )


def _alone(problem: LoopProblem, chosen: np.ndarray | None, s: int) -> np.ndarray:
    """Return the accelerations (nv,) of one state, for which coordinates are chosen in units of the inertia that they
    move with all others free."""
    H, force = problem.H[s], problem.force[s]
    part = partition_of(problem, chosen, s)
    E = part.E
    try:
        thetadd = np.linalg.solve(E.T @ H @ E, E.T @ (force - H @ part.drift))
    except np.linalg.LinAlgError:
        raise SingularDynamicsError(
            f"{problem.plan.name!r} has a motion that its loops allow and that moves no inertia. Give the bodies "
            f"that take part mass and inertia, or lock a joint."
        ) from None
    found: np.ndarray = E @ thetadd + part.drift
    return found


def partition_of(problem: LoopProblem, chosen: np.ndarray | None = None, s: int = 0) -> Partition:
    """Return the split of the coordinates of one state, of which those `chosen` (d,) are independent, if these
    determine all others; None takes the best."""
    scale, rank = problem.scale[s], int(problem.rank[s])
    unit = 1.0 / np.linalg.norm(problem.equations[0][s], axis=-1)
    if chosen is not None and len(chosen) != problem.plan.nv - rank:
        raise undetermined(problem, chosen, s)
    part = partition(problem.J[s] / scale[:, None], problem.gamma[s] / scale, unit, rank, chosen)
    if (
        chosen is not None
        and not np.max(np.abs(part.E) * unit[chosen] / unit[:, None], initial=0.0) <= CONDITION
    ):
        raise undetermined(problem, chosen, s)
    return part


def partition(
    C: np.ndarray, drift: np.ndarray, unit: np.ndarray, rank: int, chosen: np.ndarray | None = None
) -> Partition:
    """Split the coordinates of C (m, nv) into dependent and independent ones.

    `drift` (m,) is C' thetadot, `unit` (nv,) the unit in which each coordinate counts, `rank` the rank of C. With
    C P = Q [R_d R_i] the dependent coordinates are -R_d^-1 R_i times the independent ones, which covers redundant
    rows. The independent ones are those `chosen` (nv - rank,), if any; where these do not determine the others at
    all, E is infinite.
    """
    from scipy.linalg import qr, solve_triangular

    nv, r = C.shape[1], rank
    if min(C.shape) == 0:
        return Partition(np.arange(nv), np.eye(nv), np.zeros(nv))
    scaled = C * unit
    if chosen is None:
        Q, R, order = qr(scaled, mode="economic", pivoting=True)
        dependent, independent = order[:r], np.sort(order[r:])
        R_d = R[:r, :r]
    else:
        others = np.setdiff1d(np.arange(nv), chosen)
        Q, R_d, order = qr(scaled[:, others], mode="economic", pivoting=True)
        dependent, independent = others[order], chosen
    R_i = Q[:, :r].T @ scaled[:, independent]
    E = np.zeros((nv, nv - r))
    E[independent, np.arange(nv - r)] = 1.0
    known = np.zeros(nv)
    if np.any(np.diagonal(R_d)[:r] == 0.0):
        E[dependent] = known[dependent] = np.inf
        return Partition(independent, E, known)
    E[dependent] = -solve_triangular(R_d[:r, :r], R_i) * unit[dependent][:, None] / unit[independent]
    known[dependent] = -solve_triangular(R_d[:r, :r], Q[:, :r].T @ drift) * unit[dependent]
    return Partition(independent, E, known)
