"""Steps by solvers of SciPy, one state after the other: of stiff problems, and of motions in other coordinates than
those of joints. Coordinates are local ones (`charts`), of where each stretch of steps begins. States in absolute
coordinates that nobody acts on from outside are moved together by explicit methods (`absolute_together`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catena.errors import CatenaError, LoopError, SimulationError
from catena.kinematics.loops.scales import scales_of
from catena.simulation.acting import loads
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.results.transition import Transition, change_of_coordinates
from catena.simulation.stepping.absolute_together import COLLAPSE, POINTS, WEIGHTS, AbsoluteTogether
from catena.simulation.stepping.charts import AbsoluteChart, Chart, JointChart, MinimalChart
from catena.simulation.stepping.charts.chart import Charted
from catena.simulation.stepping.drift import Drift, Nothing, Projection
from catena.simulation.stepping.faults import crawling_message, require_bounds
from catena.simulation.stepping.integrators import EXPLICIT, SOLVERS
from catena.simulation.stepping.methods.work import EXACT, SHORT, SOURCES
from catena.simulation.stepping.record import StepRecord
from catena.simulation.turns import Count
from catena.system import correction

# Progress is judged over so many steps, more than begin a motion: at their pace there must not be that many left.
WATCHED, ENDLESS = 2000, 1e6
# Loops that are open by more than this part of the tolerance are closed again.
OPEN = 10.0
# The increment of a difference quotient, as a part of the size of what varies, which counts as 1 at least.
INCREMENT = 1.5e-8


class StiffSteps:
    """Moves the states of a run one by one with a solver of SciPy; `horizon` is when the run ends [s]."""

    asks = True

    def __init__(
        self, acting: ActingForces, drift: Drift, horizon: float, tick: Callable[[float], None]
    ) -> None:
        problem = acting.problem
        self.acting_on_all, self.drift_of_all = acting, drift
        self.acting, self.system, self.method = acting, acting.system, problem.integrator
        self.rtol, self.atol, self.drift, self.tick = problem.rtol, problem.atol, drift, tick
        self.steps, self.states, self.state, self.horizon = 0, 0, 0, horizon
        self.coordinates, self.independent = problem.coordinates, problem.independent
        self.held = tuple(acting.motion) if acting.motion else None
        self._charts: dict[int, Chart] = {}
        """The coordinates that each state of the batch moves in."""
        self.chart: Chart = JointChart(self.system, None)
        self._changes: list[Transition] = []
        self.owner = np.arange(0)
        """Which state of the batch each state is."""
        self.sources = len(SOURCES) if acting.exchanges_energy else 0
        near = sum(force.joint.nq for force in acting.counted if force.joint is not None)
        self.work = np.zeros((0, self.sources + near))
        """What states carry along (states, n): works done so far, and positions that loop joints are near."""
        self.count: Count | None = None
        self.failing: dict[int, str] | None = None
        """States that were given up, with the reason, where the others are to go on; None where one ends the run."""
        self._watched = np.zeros((0, 2))
        """How many steps each state has taken since it was last looked at, and the time of that [s]."""

    @property
    def changes(self) -> list[Transition]:
        """Return where other coordinates became independent, once."""
        found, self._changes = self._changes, []
        return found

    def begin(self, states: int, h: float, start: float = 0.0) -> None:
        """Begin a run of so many states at a time."""
        self.states, self.owner = states, np.arange(states)
        self.work = np.zeros((states, self.work.shape[-1]))
        self._watched = np.tile([0.0, start], (states, 1))

    def resume(self, h: np.ndarray, work: np.ndarray) -> None:
        """Go on from states that carry this along (states, n); these methods choose their steps h themselves."""
        self.carry(work)

    def carry(self, work: np.ndarray) -> None:
        """Carry this along (states, n) from now on, as `works` tells it."""
        self.work = work.copy()

    def works(self, who: Any = slice(None)) -> np.ndarray:
        """Return what states carry along (states, n): the works done so far, with no sources where nothing exchanges
        energy, and the positions that loop joints are near."""
        return self.work[who].copy()

    def forget(self) -> None:
        """Do nothing when forces jump: these methods begin every piece without a past."""

    def advance(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        end: float | np.ndarray,
        nodes: StepRecord | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move the states from their times to `end`, a time for all or (states,); those whose time is infinite stay."""
        q, v = q.copy(), v.copy()
        ends = np.array(np.broadcast_to(np.asarray(end, dtype=np.float64), t.shape))
        going = np.flatnonzero(np.isfinite(t))
        if len(going) > 1 and self._may_move_together:
            t = t.copy()
            self.acting, self.drift, self.system = (
                self.acting_on_all,
                self.drift_of_all,
                self.acting_on_all.system,
            )
            self.count = None
            together = AbsoluteTogether(self, going, t[going], q[going], v[going], tau[going])
            together.advance(ends[going], nodes)
            t[going], q[going], v[going] = together.t, together.q, together.v
        for state in np.flatnonzero(t < ends).tolist():
            try:
                q[state], v[state] = self._advance(
                    state, float(t[state]), q[state], v[state], tau[state], float(ends[state]), nodes
                )
            except CatenaError as error:
                if self.failing is None:
                    raise
                self.failing[state], ends[state] = str(error), np.inf
        return np.where(np.isfinite(t), ends, t), q, v

    @property
    def _may_move_together(self) -> bool:
        """Return whether nothing differs between states but where they are, and nobody acts on them from outside."""
        acting, drift = self.acting_on_all, self.drift_of_all
        alike = not acting.system.variants.shape and self.work.shape[1] == self.sources
        kept = isinstance(drift.remedy, Projection | Nothing) and not drift.is_fragile
        explicit = self.coordinates == "absolute" and self.method in EXPLICIT
        return explicit and alike and kept and acting.is_left_alone

    def _advance(
        self, state: int, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: StepRecord | None
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        import scipy.integrate

        self.state = int(self.owner[state])
        self.acting, self.drift = (
            self.acting_on_all.alone(self.state),
            self.drift_of_all.alone(self.state),
        )
        self.system = self.acting.system
        self.chart = chart = self._charts.setdefault(self.state, self._chart(self.state))
        solver_class = getattr(scipy.integrate, (SOLVERS | EXPLICIT)[self.method])
        first: float | None = None
        held = None if self.acting.is_asked_always else tau
        nv, closes = self.system.nv, self.drift.projects and self.coordinates != "minimal"
        places = self.coordinates == "absolute" and isinstance(self.drift.remedy, Projection)
        while t < end:
            t0 = t

            def rate(time: float, y: np.ndarray) -> np.ndarray:
                return self._rates(time, y[None], held)[0]

            def jacobian(time: float, y: np.ndarray) -> np.ndarray:
                return self._jacobian(time, y, held)

            # A method without a past goes on with the step that it has come to.
            one_step = self.method in EXPLICIT
            options: dict[str, Any] = {"first_step": first} if one_step else {"jac": jacobian}
            solver = solver_class(
                rate, t, chart.begin(t, q, v), end, rtol=self.rtol, atol=self.atol,
                max_step=self.acting.longest, **options,
            )  # fmt: skip
            while solver.status == "running":
                self._begin_count(state, float(solver.t), q, v)
                start = np.zeros(nv)
                if nodes is not None:
                    start = self.accelerations(solver.t, chart.states(solver.t, solver.y[None]), held)[0]
                force = self._command(solver.t, q, v) if held is None else tau
                before, message = solver.t, self._step(solver, state)
                self.steps += 1
                if solver.status == "running" and solver.t - before < COLLAPSE * max(1.0, abs(before)):
                    message, solver.status = "the step size collapsed", "failed"
                if solver.status == "failed":
                    raise SimulationError(
                        f"{self.method} gave up at t = {solver.t:.9g} s in state {state}: {message}. The trajectory so "
                        f"far is in the attribute `trajectory` of this error."
                    )
                t = float(solver.t)
                at = chart.states(t, solver.y[None])
                (q,), (v,), _ = at
                require_bounds(self.system, np.array([state]), np.array([t]), q[None], v[None])
                self.require_progress(state, t, q)
                if self.sources:
                    self.work[state, : self.sources] += self._gain(solver, held, state)
                # Methods with a past begin anew only where they must.
                slack = 0.0 if one_step else OPEN * (self.rtol + self.atol)
                moved = places and chart.gap(solver.y, at) > slack
                if closes:
                    moved = moved or self._gap(q, v) > slack
                    q, v = self._close(t, q, v)
                if self.acting.tips is not None:
                    fits = self.acting.tips.fitted(t, q[None], v[None])[0]
                    moved, v = moved or bool(np.abs(fits - v).max() > slack), fits
                if self.count is not None:
                    self.work[state, self.sources :] = self.count.at(np.array([t]), q[None], v[None])[0]
                if nodes is not None:
                    row = (
                        np.array([state]),
                        np.array([t]),
                        q[None],
                        v[None],
                        self.works([state]),
                        force[None],
                        start[None],
                    )
                    nodes.add(*row)
                self.tick(t)
                if chart.is_spent(at) or moved:
                    first = min(solver.h_abs, end - t) if one_step and t < end else None
                    break
            assert t > t0
        return q, v

    def _chart(self, state: int) -> Chart:
        """Return the coordinates that one state of the batch moves in."""
        acting, system = self.acting, self.system

        def imposed(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return acting.prescribed.imposed(t, q, v)[:2]

        prescribed = imposed if acting.motion else None
        if self.coordinates == "absolute":
            return AbsoluteChart(system, prescribed)
        if self.coordinates == "joint":
            return JointChart(system, prescribed)
        driven = np.zeros(system.nv, dtype=bool)
        for joint in acting.motion:
            driven[system.slice_v(joint)] = True

        def on_change(t: float, before: list[str], after: list[str]) -> None:
            self._changes.append(change_of_coordinates(acting.batch, state, t, before, after))

        return MinimalChart(system, prescribed, driven, self.independent, on_change)

    def _begin_count(self, state: int, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Count the turns of loop joints on from where they are at a time."""
        near = self.work[[state], self.sources :]
        self.count = Count(self.acting, near, np.array([t]), q[None], v[None]) if near.size else None

    def _near(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
        """Return the positions (rows, n) that loop joints are next to at a time and at states q (rows, nq), v (rows,
        nv); None where none are counted."""
        return None if self.count is None else self.count.at(np.full(len(q), t), q, v)

    def _step(self, solver: Any, state: int) -> str | None:
        """Let the solver take a step, and return what it says if it fails."""
        try:
            message: str | None = solver.step()
            return message
        except CatenaError:
            raise
        # SciPy factorises numbers that are not finite.
        except (ValueError, np.linalg.LinAlgError) as error:
            raise SimulationError(
                f"{self.method} gave up at t = {solver.t:.9g} s in state {state}: {error}. The trajectory so far is in "
                f"the attribute `trajectory` of this error."
            ) from error

    def require_progress(self, state: int, t: float, q: np.ndarray) -> None:
        """Raise where a state is at t [s] after so many steps that the rest of the run would take for ever."""
        self._watched[state, 0] += 1.0
        taken, before = self._watched[state].tolist()
        if taken < WATCHED:
            return
        self._watched[state] = 0.0, t
        left, pace = self.horizon - t, (t - before) / taken
        # Where samples and events are looked for, time goes back.
        if t > before and left > ENDLESS * pace:
            raise SimulationError(crawling_message(self.system, self.state, t, q, pace, left, implicit=True))

    def _gain(self, solver: Any, held: np.ndarray | None, state: int) -> np.ndarray:
        """Return the works (sources,) of the step that the solver has taken. Where joints are driven it is halved until
        they are resolved, because the step knows nothing of forces then."""
        found, left = np.zeros(len(SOURCES)), [(float(solver.t_old), float(solver.t))]
        known = {span: self._gained(solver, held, *span) for span in left}
        while left:
            span = left.pop()
            whole, middle = known.pop(span), 0.5 * (span[0] + span[1])
            if not self.acting.motion or span[1] - span[0] < SHORT * self.acting.longest:
                found += whole
                continue
            parts = (span[0], middle), (middle, span[1])
            known |= {part: self._gained(solver, held, *part) for part in parts}
            both = known[parts[0]] + known[parts[1]]
            moved = (
                self.acting.energy
                + np.abs(self.work[state, : self.sources]).sum()
                + np.abs(found).sum()
                + np.abs(both).sum()
            )
            if np.max(np.abs(whole - both)) <= max(EXACT, self.rtol) * moved:
                found += both
                for part in parts:
                    del known[part]
            else:
                left += parts
        return found

    def _gained(self, solver: Any, held: np.ndarray | None, start: float, end: float) -> np.ndarray:
        """Return the works (sources,) from `start` to `end` [s] within the step that the solver has taken: the
        integrals of the powers along its polynomials, on the loops."""
        half = 0.5 * (end - start)
        times = (start + half * (1.0 + POINTS)).tolist()
        acting, system, nv = self.acting, self.system, self.system.nv
        y = np.ascontiguousarray(solver.dense_output()(np.array(times)).T)
        driven: dict[str, np.ndarray] = {}
        if acting.motion:
            states = [self.chart.states(t, y[[k]]) for k, t in enumerate(times)]
            q, v, _ = (np.concatenate(part) for part in zip(*states, strict=True))
            motions = [acting.prescribed.at(t) for t in times]
            driven = {joint: np.stack([each[joint][2] for each in motions]) for joint in acting.motion}
        else:
            q, v, _ = self.chart.states(start, y)
        if self.drift.projects and self.coordinates != "minimal":
            q, v = self._close(solver.t, q, v)
        if held is None:
            tau = np.array([self._command(t, q[k], v[k]) for k, t in enumerate(times)])
        else:
            tau = self.effort(held, v)
        near_rows = None if self.count is None else self.count.at(np.array(times), q, v)
        pushes = [
            acting.wrenches(t, q[[k]], v[[k]], tau[[k]], None if near_rows is None else near_rows[[k]])
            for k, t in enumerate(times)
        ]
        wrenches = {frame: np.concatenate([each[frame] for each in pushes]) for frame in pushes[0]}
        near = {} if near_rows is None else acting.near_by_joint(near_rows)
        besides = loads.Besides(acting.loop_forces(tau), near=near)
        tau = tau[:, :nv]
        if driven:
            tau = loads.with_drives(system, q, v, tau, wrenches, driven, besides)
        powers = loads.powers(system, q, v, tau, wrenches, driven, besides)
        return np.array([half * float(WEIGHTS @ powers[source]) for source in SOURCES])

    def effort(self, held: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what motors give of commands that are held (..., width), at velocities v (..., nv)."""
        tau, acting = np.broadcast_to(held, (*v.shape[:-1], held.shape[-1])), self.acting
        return acting.at_speed(tau, v) if acting.holds_commands else tau

    def _command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.acting.command(t, q[None], v[None], np.array([self.state]))[0]

    def accelerations(self, t: float, at: Charted, held: np.ndarray | None) -> np.ndarray:
        """Return the accelerations (rows, nv) of states at a time."""
        q, v = at.q, at.v
        if self.drift.is_fragile and self.coordinates != "minimal":
            q, v = self.system.project(q, v, held=self.held)
        if held is None:
            tau = np.array([self._command(t, *row) for row in zip(q, v, strict=True)])
        else:
            tau = self.effort(held, v)
        vdot = self.acting.accelerations(t, q, v, tau, self._near(t, q, v))
        if self.drift.feedback is not None:
            by_position, by_velocity = correction(self.system, q, v)
            vdot = vdot + self.drift.feedback[0] * by_velocity + self.drift.feedback[1] * by_position
        if self.drift.pulls:
            vdot = vdot + self.drift.pull(q, v)
        return vdot

    def _rates(self, t: float, y: np.ndarray, held: np.ndarray | None) -> np.ndarray:
        """Return the rates (rows, n) of coordinates y (rows, n); NaN where these belong to no state, so that the solver
        tries a shorter step."""
        at = self.chart.states(t, y)
        if not np.isfinite(at.q).all():
            return np.full_like(y, np.nan)
        return self.chart.rates(at, self.accelerations(t, at, held))

    def _jacobian(self, t: float, y: np.ndarray, held: np.ndarray | None) -> np.ndarray:
        """Return the derivatives (n, n) of the rates by central differences, all in one batch. SciPy would
        choose the increments by itself, and lets them grow without bound where nothing depends on a coordinate."""
        h = INCREMENT ** (2 / 3) * np.maximum(1.0, np.abs(y))
        rows = np.concatenate([y + np.diag(h), y - np.diag(h)])
        up, down = np.split(self._rates(t, rows, held), 2)
        found: np.ndarray = ((up - down) / (2.0 * h[:, None])).T
        return found

    def _gap(self, q: np.ndarray, v: np.ndarray) -> float:
        """Return how far loops are open at q (nq,) and v (nv,), as an angle or a part of the mechanism's size;
        velocities as a part of the speed, or of 1 if that is more."""
        scales = scales_of(self.system.plan)
        position, velocity = (scales.errors(x) for x in self.system.closure(q, v))
        speed = float(np.max(np.abs(v / scales.units), initial=1.0))
        return float(max(np.max(np.abs(position)), np.max(np.abs(velocity)) / speed))

    def _close(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        try:
            near, rates = self.system.project(q, v, held=self.held)
            return near, rates
        except LoopError as error:
            raise SimulationError(f"At t = {t:.9g} s: {error}") from error
