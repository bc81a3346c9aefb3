"""What friction in joints can do to a mechanism with loops, and how joints that it holds share what they hold.

Friction in several joints of a loop may hold the same motion, and a joint that loops keep still may have any friction
at all. The motion is the same whatever they share. What is told is the share in which friction is used least: the sum
of (force / limit)^2 is the smallest within limits. It depends on joints alone and not on which of them a plan has cut.

In the square-root form H = L L^T forces h along rows R (c, nv) of joints move a mechanism by N^T (R L^-T)^T h, with a
basis N of what constraints leave free; h may change by whatever that does not see.
"""

import numpy as np

from catena.dynamics.loops.elimination.dry_loops import COMPONENTS
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import divide_lower, effective
from catena.kinematics.stacks import apply, transposed
from catena.thresholds import RANK_MOVING

# Friction at its limit, up to rounding.
FULL = 1e-12


def least_holding(
    problem: LoopProblem, rows: np.ndarray, is_held: np.ndarray, force: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    """Return friction forces (states, c) along rows (states, c, nv) of joints that do what `force` (states, c) does:
    the components that `is_held` (states, c), each up to its `limit` (states, c), share it in the least way."""
    found = np.array(force)
    wanted = np.flatnonzero(is_held.any(axis=-1))
    if not len(wanted):
        return found
    size, moved = _moved(problem, rows)
    for k in wanted:
        held = is_held[k]
        _, s, Vt = np.linalg.svd(moved[k][:, held])
        open_shares = Vt[int((s > RANK_MOVING).sum()) :].T / (size[k, held] * limit[k, held])[:, None]
        found[k, held] = limit[k, held] * least_within(force[k, held] / limit[k, held], open_shares)
    return found


def component_rows(problem: LoopProblem, components: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (states, c, nv) that give the velocities of components of joints, and their accelerations
    (states, c) when vdot is zero. Components of the tree are counted first, then `COMPONENTS` for each loop."""
    nv = problem.plan.nv
    rows, drifts = (
        np.zeros((problem.states, len(components), nv)),
        np.zeros((problem.states, len(components))),
    )
    for k, component in enumerate(components.tolist()):
        if component < nv:
            rows[:, k, component] = 1.0
        else:
            loop, own = divmod(component - nv, COMPONENTS)
            rows[:, k] = problem.joint_rows(-1, loop)[:, own]
            drifts[:, k] = apply(problem.loops[loop].S_inv, problem.loops[loop].drift)[:, own]
    return rows, drifts


def held_still(problem: LoopProblem, rows: np.ndarray) -> np.ndarray:
    """Return whether constraints do not let a mechanism move along rows (states, c, nv) of joints, (states, c)."""
    _, moved = _moved(problem, rows)
    return np.stack([np.linalg.norm(part, axis=0) <= RANK_MOVING for part in moved])


def _moved(problem: LoopProblem, rows: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the sizes (states, c) of rows (states, c, nv) in square-root form, and for each state the parts (d, c) of
    them that the d free motions of the mechanism have."""
    root = transposed(divide_lower(problem.equations[0], transposed(rows)))
    size = np.linalg.norm(root, axis=-1)
    # What moves with nothing at all is not there; it is held still whatever it is divided by.
    size = np.where(size > 0.0, size, 1.0)
    _, s, Vt = np.linalg.svd(problem.scaled)
    rank = np.count_nonzero(effective(s, problem.tolerance), axis=-1)
    return size, [Vt[k, rank[k] :] @ (root[k] / size[k][:, None]).T for k in range(len(root))]


def least_within(x: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return the smallest point x + ways z, each entry of which lies between -1 and 1, as those of x do: entries that
    would leave their bounds stay at them, the worst one first, until none would."""
    full: dict[int, float] = {}
    for _ in range(len(x) + 1):
        rows = list(full)
        # Ways that leave the full entries where they are, and a point that has them there.
        z = np.linalg.lstsq(ways[rows], np.array(list(full.values())) - x[rows], rcond=None)[0]
        start = x + ways @ z
        if rows:
            _, s, Vt = np.linalg.svd(ways[rows])
            left = ways @ Vt[int((s > RANK_MOVING * s.max(initial=0.0)).sum()) :].T
        else:
            left = ways
        found = start - left @ np.linalg.lstsq(left, start, rcond=None)[0]
        over = np.abs(found) - 1.0
        over[rows] = 0.0
        worst = int(np.argmax(over))
        if over[worst] <= FULL:
            return np.clip(found, -1.0, 1.0)
        full[worst] = float(np.sign(found[worst]))
    return x
