"""Newton's method for one state or many: where residuals e(q) vanish, whatever their rank.

    y = -A^T (A A^T + mu)^-1 e,      mu = lambda |e|

are steps in a metric of the caller's, A being the Jacobian in that metric. Damping in proportion to the error
(Levenberg and Marquardt) keeps quadratic convergence where equations are redundant or singular. A step that gains
nothing is tried again with more damping. Each state goes by itself, so that it is found in a batch as it is alone;
arrays hold the states that still move, and while all of them gain nothing is picked from any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

# Steps that are tried at most, and the damping beyond which no shorter one is.
TRIALS, STIFFEST = 200, 1e7
# Damping falls and grows by these factors, to no less than the third, or than it began with, and at once to the last.
EASE, STIFFEN, EASIEST, STIFF = 0.3, 6.0, 1e-3, 1e-2
# A step that leaves more than the first part of the error is slow, and after so many of them in a row a descent ends.
SLOW, SLOW_STEPS = 0.99, 6

Known = TypeVar("Known")
Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Descent:
    """A way down to where residuals vanish.

    `residual(q, which)` returns the errors (n, m) of states q (n, nq), `jacobian(q, which)` their derivative (n, m, k)
    by steps, `move(q, y, which)` the states (n, nq) to which steps y (n, k) lead; `which` (n,) are the numbers of the
    states. `is_closed(q, worst)` says which states (n,), by their largest errors, are good enough where nothing is
    gained any more. `length(y, size)`, if given, says how long steps are (n,), of errors of norm `size` (n,); longer
    ones than `longest` are shortened. `slow` is the part of the error that a slow step leaves.

    Who knows the step (n, k) itself, and gives `newton(q, which)` in place of the Jacobian, damps nothing: the first
    step that gains nothing is the last.
    """

    residual: Measure
    jacobian: Measure | None
    move: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    is_closed: Measure = lambda q, worst: np.ones(len(q), dtype=bool)
    length: Measure | None = None
    longest: float = np.inf
    slow: float = SLOW
    newton: Measure | None = None

    def __call__(
        self, q: np.ndarray, enough: float | np.ndarray, damping: float = 0.0, which: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (n, nq) that steps lead to from q (n, nq), and the largest error (n,) of each: `enough`
        (n,), or the least that was found. `damping` is where lambda begins."""
        at = np.arange(len(q))
        which = at if which is None else which
        e = self.residual(q, which)
        worst, size = largest(e), _norm(e)
        enough, damp, least = np.full(len(q), enough), np.full(len(q), damping), min(damping, EASIEST)
        ended, slow, gained = worst <= enough, np.zeros(len(q), dtype=int), len(q)
        found, left = q, worst
        linear: tuple[np.ndarray, ...] = ()
        better = np.ones(len(q), dtype=bool)
        for _ in range(TRIALS):
            if gone := np.count_nonzero(ended):
                if gone == len(found):
                    return q, worst
                if len(at) == len(found):
                    found, left = q.copy(), worst.copy()
                found[at[ended]], left[at[ended]] = q[ended], worst[ended]
                if gone == len(at):
                    return found, left
                on = ~ended
                at, which, enough, damp, slow = at[on], which[on], enough[on], damp[on], slow[on]
                q, e, worst, size, better = q[on], e[on], worst[on], size[on], better[on]
                linear, gained = tuple(x[on] for x in linear), int(np.count_nonzero(better))
            if gained == len(at):
                linear = self._linear(q, e, which)
            elif gained:
                for x, new in zip(linear, self._linear(q[better], e[better], which[better]), strict=True):
                    x[better] = new
            y = self._step(linear, damp * size)
            if self.length is not None:
                far = self.length(y, size)
                if np.count_nonzero(far > self.longest):
                    y = y * (self.longest / np.maximum(far, self.longest))[:, None]
            trial = self.move(q, y, which)
            e_trial = self.residual(trial, which)
            reached = _norm(e_trial)
            better, is_slow = reached < size, reached > self.slow * size
            gained = int(np.count_nonzero(better))
            if gained == len(at):
                damp = np.maximum(least, EASE * damp)
                q, e, size, worst = trial, e_trial, reached, largest(e_trial)
                ended = worst <= enough
            else:
                damp = np.where(better, np.maximum(least, EASE * damp), np.maximum(STIFFEN * damp, STIFF))
                if gained:
                    q, e = np.where(better[:, None], trial, q), np.where(better[:, None], e_trial, e)
                    size, worst = np.where(better, reached, size), largest(e)
                # What is closed and gets no better is done.
                is_last = self.newton is not None or not y.size
                lost = ~better & ((damp > STIFFEST) | is_last | self.is_closed(q, worst))
                ended = (worst <= enough) | lost
            if np.count_nonzero(is_slow) or np.count_nonzero(slow):
                slow = np.where(better, (slow + 1) * is_slow, slow)
                ended |= slow >= SLOW_STEPS
        if len(at) == len(found):
            return q, worst
        found[at], left[at] = q, worst
        return found, left

    def _linear(self, q: np.ndarray, e: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return what gives steps of any damping from states: the step that has none, or what the Jacobian is made of
        and the error in its terms."""
        if self.jacobian is None:
            assert self.newton is not None
            return (self.newton(q, which),)
        U, s, Vt = np.linalg.svd(self.jacobian(q, which), full_matrices=False)
        return s, Vt, np.matmul(e[:, None, :], U)[:, 0]

    def _step(self, linear: tuple[np.ndarray, ...], mu: np.ndarray) -> np.ndarray:
        """Return the steps (n, k) with damping mu (n,)."""
        if len(linear) == 1:
            return linear[0]
        s, Vt, back = linear
        return np.asarray(np.matmul((s / -(s * s + mu[:, None]) * back)[:, None, :], Vt)[:, 0])


def remembered(
    measure: Callable[[np.ndarray, np.ndarray], Known],
) -> Callable[[np.ndarray, np.ndarray], Known]:
    """Return a function of states and their numbers that remembers what it returned for the last two arrays of states,
    where a residual and a Jacobian come from the same source."""
    recent: list[tuple[np.ndarray, Known]] = []

    def found(q: np.ndarray, which: np.ndarray) -> Known:
        for at, known in recent:
            if at is q:
                return known
        recent[:] = [(q, measure(q, which)), *recent[:1]]
        return recent[0][1]

    return found


def largest(e: np.ndarray) -> np.ndarray:
    """Return the largest error (...) of errors (..., m)."""
    return np.asarray(np.maximum.reduce(np.abs(e), axis=-1, initial=0.0))


def _norm(e: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.add.reduce(e * e, axis=-1)))
