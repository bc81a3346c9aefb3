"""Which joints at rest dry friction holds, and which begin to slip.

Friction f (c,) in components at rest gives them the accelerations r = b + W f, with their mobility W. One that stays at
rest has r = 0 and |f| within what holds it; one that begins to slip has the friction of a slip against r. Where both
are as large, f is the least of f W f / 2 + b f within bounds, a convex problem: r is unique, whatever joints share in a
loop, and an f that holds everything is found if there is one (Moreau's principle of least constraint, in forces).

Where friction at rest is larger, there may be several answers. Who looks for the one that holds most lets components
begin to slip with what holds them at rest, gives those that do the smaller bounds of a slip, and solves again until no
more do. Each bound falls once, so that this ends, and what sticks in the end is within what holds it.
"""

import numpy as np

from catena.thresholds import RANK_TOUCHING

# Accelerations are rounding below this part of all that adds to them.
ROUNDED = 1e-12
# In units in which each component has a mobility of one; how many changes for each component are tried at most.
LEVEL, CHANGES = 1e-13, 40


def holding_friction(
    mobility: np.ndarray, free: np.ndarray, limit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the friction (c,) of components at rest, and in which sense they begin to slip (c,), 0 where they stick:
    from their `mobility` (c, c), their accelerations without this friction, `free` (c,), and the most friction of each,
    `limit` (c,)."""
    force = _least_within(mobility, free, limit)
    rises = free + mobility @ force
    still = ROUNDED * (1.0 + np.abs(free) + np.abs(mobility) @ limit)
    return force, np.where(np.abs(rises) > still, np.sign(rises), 0.0)


def _least_within(W: np.ndarray, b: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the f (c,) that makes f W f / 2 + b f the least where |f| <= limit, by working sets of components that
    are at their bounds: those between them go to the least, or along what W does not see, until one comes to a bound;
    there the one that most wants to leave its bound does, and later the first one, which ends where many tie."""
    size = np.sqrt(np.maximum(np.diagonal(W), 0.0))
    size = np.where(size > RANK_TOUCHING * np.max(size, initial=0.0), size, 1.0)
    W, b, limit = W / np.multiply.outer(size, size), b / size, limit * size
    f, bound = np.zeros(len(b)), np.where(limit > 0.0, 0.0, 1.0)
    level = LEVEL * (np.abs(b) + np.abs(W) @ limit + np.max(np.abs(b), initial=0.0))
    arrived = False
    for change in range(CHANGES * (1 + len(b))):
        slope, free = b + W @ f, bound == 0.0
        step, reach = (None, 0.0) if arrived else _step(W[np.ix_(free, free)], slope[free], level[free])
        if step is None:
            wants = np.where(limit > 0.0, bound * slope - level, 0.0)
            if not np.any(wants > 0.0):
                break
            first = np.argmax(wants) if change < 4 * len(b) else np.flatnonzero(wants > 0.0)[0]
            bound[first], arrived = 0.0, False
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step != 0.0, (np.sign(step) * limit[free] - f[free]) / step, np.inf)
        ends = int(np.argmin(room))
        arrived = bool(room[ends] > reach)
        f[free] += min(max(room[ends], 0.0), reach) * step
        if not arrived:
            at = np.flatnonzero(free)[ends]
            bound[at] = np.sign(step[ends])
            f[at] = bound[at] * limit[at]
    return np.asarray(f / size)


def _step(W: np.ndarray, slope: np.ndarray, level: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Return a way down (n,) and how often it may be gone, without end where W does not see it; None at the least."""
    if np.all(np.abs(slope) <= level):
        return None, 0.0
    values, vectors = np.linalg.eigh(W)
    seen = values > RANK_TOUCHING * max(values[-1], 1.0)
    along = -(vectors.T @ slope)
    unseen = vectors[:, ~seen] @ along[~seen]
    if np.any(np.abs(unseen) > 1e3 * level):
        return unseen, np.inf
    return vectors[:, seen] @ (along[seen] / values[seen]), 1.0
