"""Single steps taken piece by piece, with Python in between: for forces, wrenches and motions that only Python knows,
and for steps that the compiled code cannot vouch for.

It is the same step, the same tape, that the compiled loop plays (`methods.step`). At its pauses Python gives what it
knows: forces and prescribed motion before the accelerations of a stage; the accelerations themselves next to singular
configurations, from a rank-revealing decomposition or from both sides of the configuration; and the closing of loops
there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catena.dynamics.loops.closing.projection import project_holding
from catena.errors import LoopError, SingularDynamicsError
from catena.kernels import Program, Session
from catena.kernels.algorithm import FORCE_INPUTS, NEAR
from catena.kernels.session import Piece
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.implicit_modes import implicit_accelerations, lent_inertia
from catena.simulation.stepping.integrators import ADAPTIVE
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.step import evaluation_times
from catena.simulation.stepping.near_singular import accelerations_near_singular, are_near_singular
from catena.simulation.turns import Count
from catena.system import System

# Next to singular configurations accelerations are good to some digits only, and so are the steps that pass them.
BESIDE = 1e-8
# What the decision looks at, which all states with a common step size share.
JUDGED = ("error_0", "error_1", "shift", "doubt", "first_doubt")


class PausedSteps:
    """Takes steps of so many states of one program. `target` is the name of the input that takes control forces;
    `controls` says that the controller is asked at every stage, `has_law` that the step asks it by itself, and `shares`
    that all states have one time and one step size."""

    def __init__(
        self, program: Program, states: int, acting: ActingForces, drift: Drift, method: str, target: str,
        controls: bool, has_law: bool, shares: bool,
    ) -> None:  # fmt: skip
        self.session, self.states = Session(program, states), states
        self.acting, self.system, self.drift = acting, acting.system, drift
        self.target, self.controls = target, controls
        self.asks = controls or acting.is_python
        self.times = evaluation_times(method)
        self.lands = method_of(method).lands
        self.is_implicit, self.is_adaptive = method == "implicit_leapfrog", method in ADAPTIVE
        self.start = tuple(program.tape.inputs)
        self.results = tuple(program.tape.outputs)
        self.has_law, self.shares = has_law, shares
        self.force_inputs: tuple[str, ...] = () if has_law else (target,)
        self.force_inputs += tuple(
            n
            for n in ("f_ext", "f_given", *((FORCE_INPUTS,) if acting.asks_wrenches else ()))
            if n in program.tape.inputs
        )
        if acting.asks_motion:
            self.force_inputs += ("q", "qd", "qdd_given")
        self._pieces: dict[tuple[bool, bool], list[tuple[str, Piece]]] = {}
        self.near_singular, self.doubts = np.zeros(states, dtype=bool), np.zeros(states, dtype=bool)
        self.who, self.is_finite = np.arange(states), True
        self.careful: np.ndarray | None = None
        self.tau_start: np.ndarray | None = None
        self.tau_now = np.zeros((states, acting.system.nv))
        self.held = tuple(acting.motion) if acting.motion else None
        self.counts_turns = acting.has_python_elements and bool(acting.counted)
        self.count: Count | None = None
        # Whether all states have the same parameters, so that what is solved for many can be solved at once.
        self.are_alike = self.system.variants.state(0) is self.system

    def step(
        self,
        who: np.ndarray,
        inputs: Mapping[str, np.ndarray],
        tau: np.ndarray,
        careful: np.ndarray | None,
        closes: bool,
        near: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Take one step of the states `who` of a batch from `inputs` (states, ...) with held control forces tau, where
        loop joints are next to the positions near (states, n), whose turns Python counts if forces do not compile.
        Where the step is `careful` (states,), Python solves what is in doubt. Without `closes` loops are left as they
        are. The results are buffers that the next step overwrites; `tau_start` are the forces with which the step
        began."""
        b = self.session.buffers
        for name, value in inputs.items():
            b[name][:] = value
        self.careful, self.tau_start, self.tau_now, self.who = careful, None, tau, who
        if self.counts_turns:
            self.count = Count(self.acting, near, b["t"][:, 0].copy(), b["q"], b["qd"])
        self.near_singular[:] = False
        if careful is not None:
            self._find_near_singular(b)
        stage, begun, self.is_finite = 0, False, True
        for pause, piece in self._pieces_between(careful is not None, closes):
            if pause == "leading":
                q, v, _ = self.acting.prescribed.imposed(self._time(b, self.times[stage]), b["q"], b["qd"])
                b["q"][:], b["qd"][:] = q, v
            elif pause == "forces":
                if not self.is_finite:
                    # A trial that went astray is rejected in the end; nobody need be asked about it.
                    b[self.target][:] = 0.0
                elif self.asks:
                    self._give_forces(b, self.times[stage], tau, self.is_adaptive and stage > 0)
                stage += 1
            elif pause == "accelerations":
                self._mend(b, self.times[stage - 1], begun)
                begun = True
            elif pause == "closing":
                self._close(b, closes)
            elif pause == "decide":
                self._share(b)
            self.is_finite = not piece() and self.is_finite
        if self.states == 1:
            self.doubts = b["doubt"][:, 0] > 0.5
        found = {name: b[name] for name in self.results}
        if self.tau_start is not None:
            found["tau_start"] = self.tau_start
        return found

    def _pieces_between(self, careful: bool, closes: bool) -> list[tuple[str, Piece]]:
        """Return the pieces of a step, each with the name of the pause it begins at."""
        if (careful, closes) not in self._pieces:
            stops = {"forces"} if self.asks else set()
            stops |= {"leading"} if self.acting.asks_motion else set()
            if careful or self.drift.in_python:
                stops |= {"accelerations"}
            moves = self.acting.asks_motion or self.acting.tips is not None
            if careful or moves or self.drift.in_python or not closes:
                stops |= {"closing"}
            if self.states > 1 or careful:
                stops |= {"decide"}
            self._pieces[careful, closes] = self._cut(stops, skip=careful or not closes)
        return self._pieces[careful, closes]

    def _cut(self, stops: set[str], skip: bool) -> list[tuple[str, Piece]]:
        """Return the tape cut at the pauses `stops`; with `skip` without what closes loops."""
        reads = {
            "forces": ("q", "qd", "dt"), "leading": ("q", "qd", "dt"), "closing": ("t", "q", "qd", "error_0"),
            "decide": JUDGED,
            "accelerations": (
                "q", "qd", "qdd", "dt", "doubt", self.target, *((NEAR,) if NEAR in self.start else ()),
            ),
        }  # fmt: skip
        writes = {
            "start": self.start, "forces": self.force_inputs, "leading": ("q", "qd"), "accelerations": ("qdd", "doubt"),
            "closing": ("q", "qd", "error_0"), "decide": JUDGED,
        }  # fmt: skip
        found, begun, first = [], "start", 0
        for name, row in self.session.program.tape.pauses:
            if name not in stops:
                continue
            if name == "decide" and skip and begun == "closing":
                # Python has closed the loops, or nobody does now.
                found.append((begun, self.session.piece(row, row, writes[begun], reads[name])))
            else:
                found.append((begun, self.session.piece(first, row, writes[begun], reads[name])))
            begun, first = name, row
        if skip and begun == "closing":
            first = self.session.row("decide")
        found.append((begun, self.session.piece(first, None, writes[begun], self.results)))
        return found

    def _time(self, b: Mapping[str, np.ndarray], part: float, state: int = 0) -> float:
        return float(b["t"][state, 0] + part * b["dt"][state, 0])

    def _give_forces(self, b: dict[str, np.ndarray], part: float, tau: np.ndarray, trial: bool) -> None:
        """Give the step the forces, wrenches and prescribed motion of this stage, which is a `trial` where the step may
        yet be rejected."""
        t = self._time(b, part)
        acting = self.acting
        if acting.asks_motion:
            q, v, vdot = acting.prescribed.imposed(t, b["q"], b["qd"])
            b["q"][:], b["qd"][:], b["qdd_given"][:] = q, v, vdot
        if self.controls:
            tau = acting.command(t, b["q"], b["qd"], self.who, trial)
        if not self.has_law:
            self.tau_now = tau
            self.tau_start = np.array(tau) if self.tau_start is None else self.tau_start
        if self.has_law:
            tau = b[self.target].copy()
        else:
            tau = acting.at_tree(b["q"], tau, but_motors=True)
        if acting.has_python_elements:
            near = self._near(b, part)
            tau, f_ext = acting.beyond_compiled(b["q"], b["qd"], tau, near)
            b["f_given" if "f_given" in b else "f_ext"][:] = f_ext
        b[self.target][:] = tau
        if acting.asks_wrenches:
            turned = self._near(b, part) if acting.tips is not None else None
            wrenches = acting.told_wrenches(t, b["q"], b["qd"], trial, self.tau_now, turned)
            b[FORCE_INPUTS][:, : wrenches.shape[-1]] = wrenches

    def _near(self, b: Mapping[str, np.ndarray], part: float) -> np.ndarray:
        """Return the positions (states, n) that loop joints are next to at a part of the step."""
        if NEAR in b:
            return b[NEAR]
        if self.count is None:
            return np.zeros((self.states, 0))
        return self.count.at(b["t"][:, 0] + part * b["dt"][:, 0], b["q"], b["qd"])

    def _find_near_singular(self, b: dict[str, np.ndarray]) -> None:
        """Find the careful states that begin next to a singular configuration, and loosen their tolerances to what
        can be reached there."""
        assert self.careful is not None
        if not self.drift.projects:
            return
        who = np.flatnonzero(self.careful)
        for some in [who] if self.are_alike else who[:, None]:
            system = self.system.variants.state(int(self.who[some[0]])) if len(some) else self.system
            self.near_singular[some] = are_near_singular(system, b["q"][some], b["qd"][some], b["h"][some, 0])
        for name in ("rtol", "atol"):
            b[name][self.near_singular] = np.maximum(b[name][self.near_singular], BESIDE)

    def _mend(self, b: dict[str, np.ndarray], part: float, begun: bool) -> None:
        """Replace accelerations that are in doubt; what pulls loops together is added to them. Those that a state has
        where a step begins must be determined. When it has `begun`, states are trials: one that went astray, so far
        that inertias are lost in the rounding of where bodies are, stays in doubt, and the step is rejected."""
        doubtful = b["doubt"][:, 0] > 0.5
        if self.drift.in_python:
            wanted = np.ones(self.states, dtype=bool)
        elif self.careful is None:
            return
        else:
            wanted = self.careful & (self.near_singular | doubtful)
        for i in np.flatnonzero(self._mend_together(b, wanted)):
            here = slice(i, i + 1)
            t, q, v = self._time(b, part, int(i)), b["q"][here].copy(), b["qd"][here].copy()
            tau = (b[self.target] if self.has_law else self.tau_now)[here]
            near = self._near(b, part)[here]
            if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(tau).all()):
                continue
            state = int(self.who[i])
            acting, drift = self.acting.alone(state), self.drift.alone(state)
            found = None
            if self.near_singular[i]:
                found = accelerations_near_singular(acting, t, q, v, tau, near)
            try:
                qdd = acting.accelerations(t, q, v, tau, near) if found is None else found
                if self.is_implicit:
                    past, h = b["a_past"][i], float(b["dt"][i, 0])
                    qdd = implicit_accelerations(acting.system, q[0], qdd[0], past, h)[None]
                b["qdd"][i] = (qdd + drift.pull(q, v) if drift.pulls else qdd)[0]
            except LoopError:
                continue
            except SingularDynamicsError:
                if not begun:
                    raise
                continue
            b["doubt"][i] = 0.0

    def _mend_together(self, b: dict[str, np.ndarray], wanted: np.ndarray) -> np.ndarray:
        """Replace the accelerations of the `wanted` states (states,) that can be found together, and return which are
        left: those next to singular configurations, and all where what acts depends on time or on the state's own
        parameters."""
        together = wanted & ~self.near_singular
        timed = self.asks or self.acting.motion or self.acting.wrench_width
        alone = self.drift.pulls or (self.drift.in_python and not self.drift.is_told)
        if together.sum() < 2 or not self.are_alike or timed or alone:
            return wanted
        if self.is_implicit:
            return wanted
        rows = [b["q"], b["qd"], b[self.target] if self.has_law else self.tau_now, self._near(b, 0.0)]
        for x in rows:
            together &= np.isfinite(x).all(axis=-1)
        q, v, tau, near = (x[together] for x in rows)
        try:
            b["qdd"][together] = self.acting.accelerations(0.0, q, v, tau, near)
        except (LoopError, SingularDynamicsError):
            return wanted
        b["doubt"][together] = 0.0
        return wanted & ~together

    def _close(self, b: dict[str, np.ndarray], closes: bool) -> None:
        """Bring prescribed joints where they must be, and, in a careful step, loops back to closed states."""
        q, v = b["q"], b["qd"]
        b["error_0"][:] = np.where(np.isfinite(q).all() and np.isfinite(v).all(), b["error_0"], np.inf)
        if self.acting.asks_motion:
            # A step that lands has told the time that it has come to.
            ends = b["t"][:, 0] + (0.0 if self.lands else b["dt"][:, 0])
            for end in np.unique(ends):
                own = ends == end
                q[own], v[own], _ = self.acting.prescribed.imposed(float(end), q[own], v[own])
        if self.acting.tips is not None and np.isfinite(q).all() and np.isfinite(v).all():
            v[:] = self.acting.tips.fitted(self._time(b, 1.0), q, v)
        if not (closes and self.drift.projects) or (self.careful is None and not self.drift.in_python):
            return
        finite = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        for i in np.flatnonzero(finite & ~self._close_together(q, v, finite)):
            try:
                own = self.system.variants.state(int(self.who[i]))
                if self.is_implicit and self.drift.is_told:
                    # Modes that are stiff and light must not take what closes a loop.
                    lent = lent_inertia(own, q[i], float(b["dt"][i, 0]))
                    evaluator, held = own.mechanics.evaluator, self.acting.driven
                    q[i], v[i] = project_holding(evaluator, q[i], v[i], held, lent)
                    continue
                q[i], v[i] = self._projected(own, q[i], v[i], bool(self.near_singular[i]))
            except LoopError:
                b["error_0"][i] = np.inf

    def _close_together(self, q: np.ndarray, v: np.ndarray, finite: np.ndarray) -> np.ndarray:
        """Bring the finite states (states,) that are not next to singular configurations back at once, and return
        which are; none where one of them cannot be brought back the quick way."""
        chosen = finite & ~self.near_singular
        if chosen.sum() < 2 or not self.are_alike or self.held is not None or self.drift.in_python:
            return np.zeros(self.states, dtype=bool)
        try:
            q[chosen], v[chosen] = self.system.project(q[chosen], v[chosen])
        except LoopError:
            return np.zeros(self.states, dtype=bool)
        return chosen

    def _projected(
        self, system: System, q: np.ndarray, v: np.ndarray, near_singular: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest closed state. Next to singular configurations, and where the quick way does not lead
        there, loops of any rank are closed."""
        if self.held is None and not near_singular and not self.drift.in_python:
            try:
                near, rates = system.project(q, v)
                return near, rates
            except LoopError:
                pass
        near, rates = system.project(q, v, held=self.held or ())
        return near, rates

    def _share(self, b: dict[str, np.ndarray]) -> None:
        """Give all states the step size of the worst one, if they share it. In a careful step loops are closed by other
        means, so their shift does not count."""
        if self.careful is not None:
            b["shift"][:] = 0.0
        self.doubts = b["doubt"][:, 0] > 0.5
        if self.states > 1 and self.shares and not self.lands:
            for name in JUDGED:
                worst = np.max(b[name])
                b[name][:] = np.inf if np.isnan(worst) else worst
