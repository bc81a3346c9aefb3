"""A motion whose independent components are those of another one, and whose others follow them continuously.

Conditions at nodes are met where loops are closed, whichever way round. A search may therefore end with single nodes on
another branch of the linkage. Here dependent components are taken along from node to node instead: predicted by eq. 4
of Lampariello, Abiko and Hirzinger, then closed by Newton's method while the independent ones stay.
"""

import numpy as np

from catena.errors import StateError
from catena.flying.independent import follow_independent
from catena.planning.task import MotionTask

# The way between two nodes is cut into parts of this [rad, m] at most, short beside the size of a branch, but into no
# more than so many.
PART, MOST_PARTS = 0.05, 64
# Newton steps that close loops after a prediction, and how far open [rad, m] they may be behind these.
CORRECTIONS, CLOSED = 6, 1e-9


def followed(task: MotionTask, x: np.ndarray) -> np.ndarray | None:
    """Return variables x (n,) of a program with positions and velocities of dependent components that follow the
    others from where the motion begins; None where these do not tell how, as at dead centres."""
    begin = x.copy()
    system, G = task.system, task.chosen.components
    q, before = task.q0, task.q0
    for k in range(1, len(task.t)):
        here = x[task.q[:, k]]
        ahead = system.difference(before, here)[G]
        before = here
        try:
            parts = min(1 + int(np.abs(ahead).max(initial=0.0) / PART), MOST_PARTS)
            for _ in range(parts):
                closed = _closed(task, system.integrate(q, _led(task, q, ahead / parts)))
                if closed is None:
                    return None
                q = closed
            begin[task.v[:, k]] = _led(task, q, x[task.v[G, k]])
        except StateError:
            # The independent components tell nothing there.
            return None
        begin[task.q[:, k]] = q
    return begin


def towards_the_end(task: MotionTask, x: np.ndarray) -> np.ndarray:
    """Return variables x (n,) with independent joints that have a place in the end on their way there, from rest to
    rest by polynomials of third order, and all others behind them; x itself where there is none, or they cannot
    follow."""
    system, last = task.system, task.q[:, -1]
    placed = task.program.low[last] == task.program.high[last]
    begin, s = x.copy(), task.t / task.t[-1]
    led = set(task.chosen.components.tolist())
    for name in system.joints:
        at, where = system.slice_v(name), system.slice_q(name)
        if at.stop - at.start != where.stop - where.start:
            continue
        for k, i in zip(range(at.start, at.stop), range(where.start, where.stop), strict=True):
            if placed[i] and k in led:
                way = task.program.low[last[i]] - task.q0[i]
                begin[task.q[i]] = task.q0[i] + way * s**2 * (3.0 - 2.0 * s)
                begin[task.v[k]] = way * 6.0 * s * (1.0 - s) / task.t[-1]
                begin[task.a[k]] = way * 6.0 * (1.0 - 2.0 * s) / task.t[-1] ** 2
    found = None if np.array_equal(begin, x) else followed(task, begin)
    return x if found is None else found


def _led(task: MotionTask, q: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return how all components move (nv,) where the independent ones move as given (d,)."""
    J = task.system.closure_jacobian(q)
    return follow_independent(J, task.chosen, "plan_motion") @ given


def _closed(task: MotionTask, q: np.ndarray) -> np.ndarray | None:
    """Return q (nq,) with closed loops, the independent components as they are; None if they do not close."""
    system, D = task.system, task.chosen.dependent
    for _ in range(CORRECTIONS):
        error = system.closure(q)[0]
        if float(np.abs(error).max(initial=0.0)) < CLOSED:
            return q
        step = np.zeros(system.nv)
        step[D] = np.linalg.lstsq(system.closure_jacobian(q)[:, D], -error, rcond=None)[0]
        q = system.integrate(q, step)
    return None
