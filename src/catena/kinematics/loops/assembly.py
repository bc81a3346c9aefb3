"""Closing the loops: coordinates at which every loop joint fits, with some of them held.

Newton-Raphson on the closure, C dtheta = -Phi* (Nikravesh et al., eq. 26), with steps on the manifold of q and
Levenberg-Marquardt damping mu = lambda |error|, which keeps quadratic convergence where constraints are
redundant or the configuration is singular. The coordinates held are given to tree joints directly and to loop
joints as further equations.

The branch is that of the guess. If the guess is itself closed, the given values move there from the guess in
small steps; else the iteration starts at the guess. Only when neither closes the loops are other starts
tried, near ones first, always in the same order.

If what is given over-determines the loops, but by no more than `slack` (rad or m of any loop, of mechanisms smaller
than a metre that part of their size), the given values move by the least amount that closes them. Loops whose own
dimensions leave a gap of no more than `slack` are closed as well as they can be, with a warning.

The search is bounded: joints that move no loop are put where they should be at once, whole turns are not walked, the
way from the guess is walked in a bounded number of steps, and after so many evaluations of the loops what has been
found is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.descent import Descent, largest
from catena.errors import LoopError, warn
from catena.joints import JointKind
from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.extent import characteristic_length
from catena.kinematics.kind_values import kind_values
from catena.kinematics.loops.closure import LoopState, loop_kinematics
from catena.kinematics.loops.coupling_states import CouplingState, constraint_states
from catena.kinematics.loops.held import Held, free_components
from catena.kinematics.loops.loop_movers import gear_response, geared_units, moving_loops, only_geared
from catena.kinematics.loops.scales import CLOSED, rounding_left, row_sizes, scaled_rows
from catena.thresholds import RANK_EXACT

# Errors in rad, or in fractions of the characteristic length.
FINISHED = 2e-15
ROUGHLY = 1e-6
# The given values follow the guess in steps of at most this (rad, or fractions of the length), but in no more than so
# many; those of long ways are longer.
STEP, FOLLOWED = 0.2, 100
# A step of Newton's method turns no joint by more than this [rad], and slides none by more than this or, where the
# error is larger, this part of it.
FAR = 0.7
# The loops of a mechanism are evaluated this often at most, so many of them together; the way from the guess takes no
# more than the last part of that.
EVALUATIONS, FEWEST, ON_THE_WAY = 2500, 400, 0.6
# Given values may move by this many times the slack; beyond, it is the mechanism that does not fit.
YIELD = 100.0
STARTS = (1e-3, 1e-2, 0.1, 0.3, 0.3, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0)


@dataclass(frozen=True, eq=False)
class _LoopFit:
    """A configuration and how well it closes the loops: the scaled errors e (m,) with their Jacobian (m, nv), the
    largest of them, what rounding may leave of it, and the states of the loops with the error (6,) of each, measured
    from the position held where one is. `length` is the size of the mechanism [m]."""

    q: np.ndarray
    e: np.ndarray
    J: np.ndarray
    worst: float
    rounding: float
    states: list[LoopState | CouplingState]
    errors: list[np.ndarray]
    length: float

    @property
    def closed(self) -> bool:
        return self.worst <= self.rounding

    @property
    def residual(self) -> float:
        """The largest rotation [rad] or translation left in any loop, in metres or, where the mechanism is smaller than
        that, in its own size: a gap of 10 um is little between bars of 1 m, and all there is between bars of 10 um."""
        unit = min(1.0, self.length)
        return max((max(turn, slide / unit) for turn, slide in map(gap, self.errors)), default=0.0)


def gap(error: np.ndarray) -> tuple[float, float]:
    """Return the rotation [rad] and the translation [m] of an error (6,)."""
    return float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))


def assemble(evaluator: Evaluator, held: Sequence[Held], guess: np.ndarray, slack: float) -> np.ndarray:
    """Return the coordinates (nq,) near `guess` (nq,) that close the loops and hold what is given.

    Raises a LoopError with the residual of each loop when there are none.
    """
    # Values that are too large for any mechanism overflow, which is an error like any other.
    with np.errstate(over="ignore", invalid="ignore"):
        return _assembled(evaluator, held, guess, slack)


def _assembled(evaluator: Evaluator, held: Sequence[Held], guess: np.ndarray, slack: float) -> np.ndarray:
    solver = _LoopEquations(evaluator, held)
    start = solver.fit(guess, {})
    fits = []
    if start.residual <= slack:
        followed = solver.follow(start.q)
        if followed is not None:
            return followed.q
    fit = solver.descend(solver.put(guess))
    if fit.closed:
        return fit.q
    fits.append(fit)
    if fit.residual > slack:
        for other in solver.other_starts(guess):
            if other.closed:
                return other.q
            fits.append(other)
            if other.residual <= slack:
                break
    best = min(fits, key=lambda f: f.worst)
    if best.residual <= slack:
        moved = solver.give_way(best.q)
        if moved is not None and solver.moved(moved) <= YIELD * slack:
            return moved.q
        warn(_warning(solver, best))
        return best.q
    raise _complaint(solver, best, slack)


def close(evaluator: Evaluator, q: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the coordinates nearest in descent from q (nq,) that close the loops, nothing held, and whether they
    do."""
    fit = _LoopEquations(evaluator, ()).descend(q)
    return fit.q, fit.closed


class _LoopEquations:
    """The equations of one assembly: the closure of every loop, and the coordinates held."""

    def __init__(self, evaluator: Evaluator, held: Sequence[Held]) -> None:
        self.evaluator, self.plan = evaluator, evaluator.plan
        self.held = held
        self.tree = [h for h in held if h.node >= 0]
        self.length = characteristic_length(self.plan)
        self.on_loops = {h.loop: h for h in held if h.loop >= 0}
        self.free = free_components(self.plan, held)
        self.held_values = {h.name: h.value for h in held}
        self.ignored: set[int] = set()
        self.moves_loops = moving_loops(self.plan)
        self.bends = ~only_geared(self.plan)
        self.coupled = {term.joint for coupling in self.plan.couplings for term in coupling.terms}
        self.turning = np.zeros(self.plan.nv, dtype=bool)
        for i in range(1, self.plan.n):
            S = self._kind(i).motion_space(self._kind(i).neutral()).array
            self.turning[self.plan.v_of(i)] = np.any(S[:3] != 0.0, axis=0)
        self.left = max(FEWEST, EVALUATIONS // max(1, len(self.plan.loop_joints)))
        self.reserve = int((1.0 - ON_THE_WAY) * self.left)

    # The equations.

    def fit(self, q: np.ndarray, values: dict[str, np.ndarray]) -> _LoopFit:
        """Return how well q closes the loops when loop joints are held at these values."""
        self.left -= 1
        states = constraint_states(self.evaluator, q)
        errors = [self._error(k, state, values) for k, state in enumerate(states)]
        e, J = self._equations(states, errors, bool(values))
        worst, rounding = float(np.abs(e).max(initial=0.0)), CLOSED
        if CLOSED < worst < ROUGHLY:
            rounding = rounding_left(self.plan, q)
        return _LoopFit(q, e, J, worst, rounding, states, errors, self.length)

    def _error(self, k: int, state: LoopState | CouplingState, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the error twist of a loop, measured from the position held."""
        h = self.on_loops.get(k)
        if h is None or h.name not in values or isinstance(state, CouplingState):
            return state.error
        kind = state.loop.kind
        position = np.where(h.mask, values[h.name], state.q) if kind.nq == kind.nv else values[h.name]
        put = kind_values(kind, position, np.zeros(kind.nv)).X
        return stacks.logarithm(state.X @ stacks.inverse(put))

    def _equations(
        self, states: list[LoopState | CouplingState], errors: list[np.ndarray], hold: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the scaled residuals (m,) of all loops and of the loop joints held, and their Jacobian (m, nv)."""
        e: list[np.ndarray] = [np.zeros(0)]
        J: list[np.ndarray] = [np.zeros((0, self.plan.nv))]
        for k, (state, error) in enumerate(zip(states, errors)):
            if k in self.ignored:
                continue
            rows = [state.Phi.T]
            if hold and k in self.on_loops and isinstance(state, LoopState):
                rows.append(stacks.pseudo_inverse(state.S)[self.on_loops[k].mask])
            for D in rows:
                D = scaled_rows(D, self.length)
                e.append(D @ error)
                J.append(D @ state.J_rel)
        return np.concatenate(e), np.concatenate(J)

    def _columns(self, q: np.ndarray) -> np.ndarray:
        """Return how much of each velocity component (nv,) is about a radian or a characteristic length."""
        scale = np.ones(self.plan.nv)
        for i in range(1, self.plan.n):
            kind = self.plan.kind[i]
            assert kind is not None
            S = kind.motion_space(q[self.plan.q_of(i)]).array
            scale[self.plan.v_of(i)] = 1.0 / row_sizes(S, 1.0 / self.length)
        return geared_units(self.plan, scale, self.length)

    # Steps.

    def descend(
        self,
        q: np.ndarray,
        values: dict[str, np.ndarray] | None = None,
        hold: bool = True,
        enough: float = FINISHED,
        damping: float = 1e-2,
    ) -> _LoopFit:
        """Damped Newton steps from q until the errors are small `enough` or no longer decrease."""
        values = (self.held_values if values is None else values) if hold else {}
        free = np.flatnonzero(self.free) if hold else np.arange(self.plan.nv)
        scale, turning = self._columns(q)[free], (self.turning & self.bends)[free]
        sliding = (~self.turning & self.bends)[free]
        best = self.fit(q, values)
        size = float(np.linalg.norm(best.e))

        def residual(at: np.ndarray, which: np.ndarray) -> np.ndarray:
            nonlocal best, size
            if at is start:
                return best.e[None]
            if self.left <= 0:
                return np.full((1, len(best.e)), np.inf)
            trial = self.fit(at[0], values)
            reached = float(np.linalg.norm(trial.e))
            if reached < size:
                best, size = trial, reached
            return trial.e[None]

        def move(at: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
            step = np.zeros(self.plan.nv)
            step[free] = scale * y[0]
            return self._move(at[0], step)[None]

        def length(y: np.ndarray, size: np.ndarray) -> np.ndarray:
            return np.maximum(largest(y[:, turning]), largest(y[:, sliding]) / np.maximum(1.0, size))

        start = q[None]
        Descent(
            residual, lambda at, which: (best.J[:, free] * scale)[None], move,
            lambda at, worst: np.array([best.closed]), length, FAR,
        )(start, enough, damping)  # fmt: skip
        return best

    def follow(self, q: np.ndarray) -> _LoopFit | None:
        """Lead the held coordinates from where they are at the closed configuration q to where they should
        be, closing the loops on the way; None where that is not possible."""
        states = loop_kinematics(self.evaluator, q)
        ways = {h.name: self._way(h, q, states) for h in self.held}
        far, led = 0.0, np.zeros(self.plan.nv)
        scale = self._columns(q)
        for h in self.held:
            if h.node >= 0 and not self.moves_loops[h.node]:
                ways[h.name] = np.zeros_like(ways[h.name])
                continue
            own = (
                scale[self.plan.v_of(h.node)]
                if h.node >= 0
                else 1.0 / row_sizes(states[h.loop].S, 1.0 / self.length)
            )
            far = max(far, float(np.abs(ways[h.name] / own).max(initial=0.0)))
            if h.node >= 0:
                led[self.plan.v_of(h.node)] = ways[h.name]
        # What a gear takes along through a loop of its own may have further to go.
        along = gear_response(self.plan, ~self.free, led[None])[0]
        far = max(far, float(np.abs(along / scale)[self.bends].max(initial=0.0)))
        steps = max(1, min(FOLLOWED, int(np.ceil(min(far / STEP, FOLLOWED)))))
        stride = max(STEP, far / steps)
        done, length, last = 0.0, 1.0 / steps, np.zeros(self.plan.nv)
        while True:
            to = 1.0 if done + length > 1.0 - 1e-9 else done + length
            values = {
                h.name: h.value if to == 1.0 else self._between(h, (1.0 - to) * ways[h.name])
                for h in self.held
            }
            # Start where the last step leads to when it is taken again.
            start = self.put(self._move(q, (to - done) * last), values)
            # A closed configuration is near, so that full Newton steps will mostly do.
            trial = self.descend(start, values, enough=FINISHED if to == 1.0 else ROUGHLY, damping=1e-6)
            near, way = self._near(q, trial.q, 4.0 * stride)
            if (trial.closed if to == 1.0 else trial.worst <= ROUGHLY) and near:
                if to == 1.0:
                    return trial
                last = np.where(self.free, way, 0.0) / (to - done)
                q, done = trial.q, to
                continue
            length *= 0.5
            last *= 0.0
            if length * steps < 1.0 / 64.0 or self.left <= self.reserve:
                return None

    def other_starts(self, guess: np.ndarray) -> list[_LoopFit]:
        """Descents from starts further and further from the guess, up to the first that closes."""
        rng = np.random.default_rng(0)
        scale, fits = self._columns(guess), []
        for size in STARTS:
            step = np.where(self.free, size * scale * rng.normal(size=self.plan.nv), 0.0)
            fits.append(self.descend(self.put(self._move(guess, step))))
            if fits[-1].closed or self.left <= 0:
                break
        return fits

    def give_way(self, q: np.ndarray) -> _LoopFit | None:
        """Close the loops with nothing held, while the given values move by the least amount: from closed configuration
        to closed configuration, each nearer to what is given. At a dead point the values given do not change along the
        closed configurations, so that a step of Gauss and Newton leads anywhere: it is shortened until it gains."""
        fit = self._closed_near(q)
        share = 1.0
        for _ in range(60):
            if fit is None or not fit.closed:
                return None
            scale = self._columns(fit.q)
            A, d = self._held_equations(fit)
            J = fit.J * scale
            _, s, Vt = np.linalg.svd(J)
            N = Vt[int((s > RANK_EXACT * s.max(initial=1.0)).sum()) :].T
            A = A * scale @ N
            y = N @ least_squares(A, -d, RANK_EXACT * float(np.linalg.norm(A)))
            far = float(np.abs(y).max(initial=0.0))
            if far < 1e-13:
                break
            off, better = float(np.linalg.norm(d)), None
            share = min(1.0, 2.0 * share, FAR / far)
            while better is None and share * far > 1e-9:
                trial = self._closed_near(self._move(fit.q, scale * (share * y)))
                if trial is not None and float(np.linalg.norm(self._held_equations(trial)[1])) < off:
                    better = trial
                else:
                    share *= 0.5
            if better is None:
                break
            fit = better
        return fit

    def _closed_near(self, q: np.ndarray) -> _LoopFit | None:
        """Return the closed configuration next to q, nothing held; None where no steps lead to one."""
        fit = self.descend(q, hold=False, damping=1e-6)
        return fit if fit.closed else None

    def apart(self, fit: _LoopFit) -> _LoopFit:
        """Return the fit with every set of loops that no joint ties to the others closed by itself as well as it can
        be, so that those that cannot be closed do not hold up the rest."""
        moved_by = [np.any(state.J_rel != 0.0, axis=0) for state in fit.states]
        sets: list[set[int]] = []
        for k, own in enumerate(moved_by):
            tied = [one for one in sets if any(np.any(own & moved_by[other]) for other in one)]
            sets = [one for one in sets if one not in tied] + [{k}.union(*tied)]
        if len(sets) > 1:
            for one in sets:
                self.ignored = {*range(len(fit.states))} - one
                self.left = max(self.left, FEWEST)
                fit = self.descend(fit.q)
            self.ignored = set()
            fit = self.fit(fit.q, self.held_values)
        return fit

    def moved(self, fit: _LoopFit) -> float:
        """Return how far the given values are from those of a configuration."""
        return float(np.abs(self._held_equations(fit)[1]).max(initial=0.0))

    def _held_equations(self, fit: _LoopFit) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobian (k, nv) of the coordinates held, and how far they are from the given values (k,)."""
        A, d = [np.zeros((0, self.plan.nv))], [np.zeros(0)]
        for h in self.held:
            if h.node >= 0:
                start = int(self.plan.v_start[h.node])
                rows = np.eye(self.plan.nv)[start : start + h.kind.nv]
                value = self._whole(h, fit.q[self.plan.q_of(h.node)])
                off = np.asarray(h.kind.difference(value, fit.q[self.plan.q_of(h.node)]), dtype=np.float64)
            else:
                state = fit.states[h.loop]
                assert isinstance(state, LoopState)
                across = stacks.pseudo_inverse(state.S)
                rows = across @ state.J_rel
                off = across @ self._error(h.loop, state, self.held_values)
            A.append(rows[h.mask])
            d.append(off[h.mask])
        return np.concatenate(A), np.concatenate(d)

    # Coordinates.

    def put(self, q: np.ndarray, values: dict[str, np.ndarray] | None = None) -> np.ndarray:
        """q with the held coordinates of tree joints in place."""
        q = q.copy()
        for h in self.tree:
            where = self.plan.q_of(h.node)
            value = h.value if values is None else values[h.name]
            q[where] = np.where(h.mask, value, q[where]) if h.kind.nq == h.kind.nv else value
        return q

    def _whole(self, h: Held, at: np.ndarray) -> np.ndarray:
        """Return the position given, with the entries left free as they are."""
        return np.where(h.mask, h.value, at) if h.kind.nq == h.kind.nv else h.value

    def _way(self, h: Held, q: np.ndarray, states: list[LoopState]) -> np.ndarray:
        """Return the shortest way back (nv_joint,) from the position given to the one at q."""
        at = q[self.plan.q_of(h.node)] if h.node >= 0 else states[h.loop].q
        value = self._whole(h, at)
        way = np.asarray(h.kind.difference(value, at), dtype=np.float64)
        if h.kind.nq != h.kind.nv or h.name in self.coupled:
            return way
        # Whole turns count in coordinates, and in couplings, but not on the way.
        turned = way - 2.0 * np.pi * np.round(way / (2.0 * np.pi))
        there, here = h.kind.transform(value + turned), h.kind.transform(at)
        # Values are known to their rounding, which grows with them.
        close = 1e-9 + 1e-15 * float(np.abs(value).max(initial=0.0) + np.abs(way).max(initial=0.0))
        same = np.allclose(there.R, here.R, atol=close) and np.allclose(
            there.p, here.p, atol=close * self.length
        )
        return turned if same else way

    def _between(self, h: Held, way: np.ndarray) -> np.ndarray:
        """Return the position on the way that is still this far from the one given."""
        value = np.where(np.isnan(h.value), 0.0, h.value)
        return np.asarray(h.kind.integrate(value, way), dtype=np.float64)

    def _move(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        result = q.copy()
        for i in range(1, self.plan.n):
            if step[self.plan.v_of(i)].any():
                result[self.plan.q_of(i)] = self._kind(i).integrate(
                    q[self.plan.q_of(i)], step[self.plan.v_of(i)]
                )
        return result

    def _near(self, q0: np.ndarray, q1: np.ndarray, most: float) -> tuple[bool, np.ndarray]:
        """Return whether no joint has moved by more than `most` rad or characteristic lengths, and the way (nv,)."""
        way = np.zeros(self.plan.nv)
        for i in range(1, self.plan.n):
            way[self.plan.v_of(i)] = self._kind(i).difference(q0[self.plan.q_of(i)], q1[self.plan.q_of(i)])
        far = np.where(self.free & self.bends, way, 0.0) / self._columns(q0)
        return bool(np.abs(far).max(initial=0.0) <= most), way

    def _kind(self, i: int) -> JointKind:
        kind = self.plan.kind[i]
        assert kind is not None
        return kind


def least_squares(A: np.ndarray, b: np.ndarray, cutoff: float) -> np.ndarray:
    """Return the smallest x (n,) for which A x is nearest to b (m,); singular values of A up to `cutoff` are zero."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > cutoff
    return Vt[kept].T @ (U[:, kept].T @ b / s[kept])


def _left(fit: _LoopFit, slack: float = 0.0) -> str:
    """Return what is left of each loop that is open by more than the slack, in words."""
    unit = min(1.0, fit.length)
    return "; ".join(
        f"coupling {state.name!r} {float(state.position[0]):.3g}"
        if isinstance(state, CouplingState)
        else f"loop {state.name!r} {gap(error)[1]:.3g} m and {gap(error)[0]:.3g} rad"
        for state, error in zip(fit.states, fit.errors)
        if max(gap(error)[0], gap(error)[1] / unit) > slack
    )


def _warning(solver: _LoopEquations, fit: _LoopFit) -> str:
    names = ", ".join(repr(h.name) for h in solver.held)
    condition = f" with the values given for {names}" if names else ""
    return (
        f"The loops of {solver.plan.name!r} stay open{condition}, by less than the slack: {_left(fit)}. If their "
        f"dimensions are no more accurate than that, plan it with m.system(accuracy=...), and constraints that are "
        f"redundant but for such errors count as redundant."
    )


def _complaint(solver: _LoopEquations, best: _LoopFit, slack: float) -> LoopError:
    """Why the loops do not close: what was given, or the mechanism itself; with what is left of those at fault."""
    names = ", ".join(repr(h.name) for h in solver.held)
    if solver.held:
        free = solver.descend(best.q, hold=False)
        if free.closed:
            return LoopError(
                f"The loops of {solver.plan.name!r} do not close with the values given for {names}: {_left(best)} are "
                f"left open, more than the slack of {slack:.3g}. They close when those values change by "
                f"{solver.moved(free):.3g}: give fewer values, or values that fit together, or a guess nearer to "
                f"the configuration wanted."
            )
    held = f" with or without the values given for {names}" if solver.held else ""
    best = solver.apart(best)
    left = _left(best, slack)
    error = LoopError(
        f"The loops of {solver.plan.name!r} cannot be closed from this guess{held}: {left} are left open, more than "
        f"the slack of {slack:.3g}. Check the dimensions and poses of the joints of these loops, or give a guess."
    )
    error.configuration = best.q
    unit = min(1.0, best.length)
    error.gaps = {
        state.name: gap(one)
        for state, one in zip(best.states, best.errors)
        if max(gap(one)[0], gap(one)[1] / unit) > slack
    }
    return error
