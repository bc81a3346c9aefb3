"""Steps of all states of a run: many in one call of the compiled loop, each state with its own time and step size; or
one after the other with Python in between (`paused`), where something acts that only Python knows.

Both play the same tape. A step that the compiled loop cannot vouch for halts its state, is taken again with care, and
the loop goes on behind it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from catena.dynamics.contacts.impulse_law import held_size
from catena.errors import SimulationError
from catena.kernels.algorithm import FORCE_INPUTS, NEAR
from catena.kernels.program import ONLY_FIRST
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand, algorithm_for
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.arguments import TimeSpan
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.faults import (
    collapse_message,
    crawling_message,
    lost_states,
    too_long_message,
    undecided_message,
)
from catena.simulation.stepping.first_steps import gather_past
from catena.simulation.stepping.integrators import ADAPTIVE
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.step import judges_works, reuses_last_stage, start_acceleration
from catena.simulation.stepping.methods.sticking import FAR, PIVOTS, STICKING_INPUTS, STICKING_NUMBERS, UNFIT
from catena.simulation.stepping.methods.time_stepping import CONTACT_NUMBERS
from catena.simulation.stepping.methods.work import SOURCES
from catena.simulation.stepping.paused import PausedSteps
from catena.simulation.stepping.record import StepRecord, leads
from catena.simulation.stepping.variant_for import variant_for
from catena.system.sticking import DryFriction, dry_friction, loop_senses, no_load_message

# Steps in one call: enough to forget the cost of a call, few enough to stop at once and to waste little.
FIRST_CALL, LONGEST_CALL = 8, 1024
# Calls of the tape in one call of the loop, at 0.1 us each: whoever cancels a run waits for no more than some 30 ms.
MOST_WORK = 300_000
# Lanes for a single state: the fewest that give the bits of a batch; one would be other machine instructions.
LANES_ALONE = 2
# Numbers that one call may record.
RECORD = 1_000_000
# A step below this part of the time passed makes no progress.
COLLAPSE = 1e-14
# What a function could not answer is why steps collapse where both happen within this part of the time passed.
TOGETHER = 1e-12
# Of steps with Python in between, every so many-th is looked at, and those that are not finite.
LOOKED_AT = 8
# What steps cost, in steps of the compiled loop: with Python in between, and with care where the loop cannot vouch (100
# steps for a row of 40 four-bars, 2000 for small mechanisms).
PAUSED, CAREFUL = 50.0, 2000.0
# Progress is judged over steps of this cost in all: at their pace the run must not cost more than that.
WATCHED, ENDLESS = 1e5, 1e8
# Steps that are taken more where contacts land: some, and a part of all.
SPARE, SPARED = 4.0, 0.05
# How many careful steps are taken together.
GATHERED = 64
# The longest step [s] where none is too long.
UNBOUNDED = 1e300


class BrokenOff(Exception):
    """Raised where a motion is broken off on purpose, behind the last step that was taken."""


class ContactChanged(BrokenOff):
    """Raised where a contact does not go on as it did."""


class CompiledSteps:
    """Moves the states of a run by steps of one method. `law` is a controller inside the step; `horizon` is when the
    run ends."""

    def __init__(
        self,
        excitation: ActingForces,
        drift: Drift,
        law: CompiledLaw | HeldCommand | None,
        horizon: float,
        tick: Callable[[float], None],
        method: str | None = None,
    ) -> None:
        problem = excitation.problem
        self.excitation, self.system, self.drift, self.law, self.tick = (
            excitation,
            excitation.system,
            drift,
            law,
            tick,
        )
        self.method = method or problem.integrator
        self.rtol, self.atol, self.horizon = problem.rtol, problem.atol, horizon
        self.adaptive, self.fixed_step = self.method in ADAPTIVE, problem.step
        self.controls = excitation.is_asked_always and law is None
        variant = variant_for(excitation, drift, law, self.method)
        self.counts, self.reuses, self.turns = variant.counts, reuses_last_stage(variant), variant.turns
        self.judges, self.sticks, self.loops_stick = (
            judges_works(variant),
            variant.sticks,
            variant.loops_stick,
        )
        self.bears = variant.bears
        self.landing, self.held_width = problem.landing, held_size(variant.rows)
        self.near_width = sum(force.joint.nq for force in excitation.counted if force.joint is not None)
        self.motors = excitation.told_motors
        self.algorithm = algorithm_for(variant, law, excitation)
        self.target = "given" if excitation.placed or self.sticks else "tau"
        wrench = "f_given" if excitation.placed else "f_ext"
        # Forces that do not compile are told as joint forces and wrenches on nodes.
        self.absent = frozenset({"a_base"} if excitation.has_python_elements else {"a_base", wrench})
        self.dry: DryFriction | None = None
        self.loop_friction: DryFriction | None = None
        if self.sticks:
            self.dry, self.loop_friction = dry_friction(self.system, drift.start)
        if self.dry is not None:
            self.absent |= STICKING_INPUTS.keys() - {"sense", *self.dry.told}
        if variant.rubs and self.landing is not None:
            self.absent |= {"excess", "fading", "fall"} - self.landing.dry.told.keys()
        self.start_acceleration = start_acceleration(self.method)
        self.constant = self._constants(wrench)
        # Whether even many states take the lanes of one, because those are compiled already.
        self.is_narrow = False
        self.steps = self.finished = 0
        self.every, self.since = drift.every, 0
        self.kept: dict[str, np.ndarray] = {}
        self.past: dict[str, np.ndarray] = {}
        self.meeting: dict[str, np.ndarray] = {}
        """What steps are told of contacts, for all states or (states, n)."""
        self.failing: dict[int, str] | None = None
        """States that were given up, with the reason, where the others are to go on; None where one ends the run."""
        self._paused: dict[int, PausedSteps] = {}
        self._starter: CompiledSteps | None = None

    @property
    def asks(self) -> bool:
        """Return whether Python is asked at every stage."""
        return self.controls or self.excitation.is_python or self.drift.in_python

    def _constants(self, wrench: str) -> dict[str, np.ndarray]:
        """Return the inputs that are the same for all states at all times, unless Python tells something else."""
        system = self.system
        found = {"rtol": np.array([self.rtol]), "atol": np.array([self.atol]), "halt": np.zeros(1)}
        if self.excitation.motion:
            told = "prescribed" if self.sticks else "driven"
            found |= {told: np.zeros(system.nv), "qdd_given": np.zeros(system.nv)}
            found[told][self.excitation.driven] = 1.0
        if self.judges:
            # Numbers that are not finite are taken for a trial that went astray.
            longest = min(self.excitation.longest, UNBOUNDED)
            found["longest"], found["energy"] = np.array([longest]), np.array([self.excitation.energy])
        if self.excitation.has_python_elements:
            found[wrench] = np.zeros(6 * system.plan.n)
        if self.excitation.forces or self.motors:
            found[FORCE_INPUTS] = np.zeros(6 * len(self.excitation.forces) + len(self.motors))
        if self.dry is not None:
            found |= self.dry.told
        if self.loop_friction is not None and self.loops_stick:
            found |= self.loop_friction.told_loops
        if self.drift.feedback is not None:
            found["feedback_given"] = np.array(self.drift.feedback)
        if self.drift.strength is not None:
            found["pull_given"] = np.array(self.drift.strength)
        touching = self.excitation.problem.touching
        if touching is not None:
            found["contacts"] = touching.numbers
        return found

    def begin(self, states: int, h: float, start: float = 0.0) -> None:
        """Begin a run of so many states at a time, with steps of about this size."""
        self.kept = {
            "h": np.full((states, 1), h),
            "row": np.zeros((states, 1)),
            "wish": np.zeros((states, 1)),
        }
        self.past = {}
        self.begun = False
        self.owner = np.arange(states)
        if self.counts:
            self.kept["work"] = np.zeros((states, len(SOURCES)))
        if self.landing is not None:
            self.kept |= {name: np.zeros((states, 1)) for name in CONTACT_NUMBERS}
            self.kept |= {"held": np.zeros((states, self.held_width))} if self.held_width else {}
        if self.sticks:
            self.kept["sense"] = np.ones((states, self.system.nv))
            self.kept |= {"by_load": np.zeros((states, self.system.nv))} if self.bears else {}
            self.kept |= {name: np.zeros((states, 1)) for name in STICKING_NUMBERS}
        if self.loop_friction is not None and self.loops_stick:
            self.kept["loop_sense"] = np.ones((states, self.loop_friction.friction.size))
            self.kept |= {"loop_load": np.zeros_like(self.kept["loop_sense"])} if self.bears else {}
        self._near = np.zeros((states, self.near_width))
        if self.turns:
            self.kept[NEAR] = self._near
        if self.judges:
            self.kept["turnover"] = np.zeros((states, 1))
        self.power_start = np.zeros((states, len(SOURCES)))
        self._cost, self._tried = np.zeros(states), np.zeros(states)
        # Cost, attempts and time when progress was judged last.
        self._watched = np.tile([0.0, 0.0, start], (states, 1))
        # For a single state there is no use for wide registers, and what it works on stays in the nearest cache.
        lanes = LANES_ALONE if states == 1 or self.is_narrow else None
        self.program = self.system.mechanics.program(
            self.algorithm, self.absent, lanes, self.excitation.placed
        )
        self.varying = self.system.mechanics.evaluator.varying_inputs(
            self.algorithm, None, self.excitation.placed
        )
        if self.law is not None:
            self.law.begin(states)

    @property
    def near(self) -> np.ndarray:
        """Return the positions (states, n) that the joints of forces which count turns are near, to be written to."""
        return self.kept[NEAR] if self.turns else self._near

    def resume(self, h: np.ndarray, work: np.ndarray) -> None:
        """Go on with steps of about the sizes h (states,) from states that carry this along (states, n)."""
        self.kept["h"][:, 0] = h
        self.carry(work)

    def carry(self, work: np.ndarray) -> None:
        """Carry this along (states, n) from now on, as `works` tells it."""
        done = len(SOURCES) if self.counts else 0
        if self.counts:
            self.kept["work"][:] = work[:, :done]
        self.near[:] = work[:, done : done + self.near_width]
        if self.held_width:
            self.kept["held"][:] = work[:, done + self.near_width :]
        if self.judges:
            self.kept["turnover"][:, 0] = np.abs(work[:, :done]).sum(axis=-1)

    def works(self, who: Any = slice(None)) -> np.ndarray:
        """Return what states carry along, (states, n): the works done so far, by source, with no sources where none are
        counted, behind them the positions that loop joints are near, and what contacts hold."""
        held = [self.kept["held"][who]] if self.held_width else []
        if not self.counts and not held:
            return self.near[who].copy()
        works = [self.kept["work"][who]] if self.counts else []
        return np.concatenate([*works, self.near[who], *held], axis=-1)

    def forget(self) -> None:
        """Forget past steps, because forces jumped and past rates say nothing about those to come. Steps that land keep
        their past, which tells no more than how velocities change within a step."""
        if self.landing is None:
            self.past = {}

    def advance(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        end: float | np.ndarray,
        nodes: StepRecord | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move the states from their times t (states,) to `end`, a time for all or (states,), under the held control
        forces tau, which a controller that is always asked overwrites; add what they pass to `nodes`. A state whose
        time is infinite stays where it is."""
        t, q, v = t.copy(), q.copy(), v.copy()
        if isinstance(self.law, HeldCommand):
            self.law.tau = tau
        ends = np.array(np.broadcast_to(np.asarray(end, dtype=np.float64), t.shape))
        if not self.adaptive:
            self._choose_fixed_steps(t, ends)
        if self.sticks:
            self.take_senses(q, v)
        if self.method == "abm4" and not self.past:
            if self._starter is None:
                self._starter = CompiledSteps(
                    self.excitation, self.drift, self.law, self.horizon, self.tick, "rk4"
                )
                self._starter.failing = self.failing
            gather_past(self, self._starter, t, q, v, tau, ends, nodes)
        if self.method in ("implicit_leapfrog", "time_stepping") and not self.past:
            # Without a past the first step is one of first order, which leaves the order of the run.
            self.past = {name: np.zeros_like(v) for name in method_of(self.method).past}
        # How many adaptive steps there will be is not known, so a call begins with few.
        plays = FIRST_CALL if self.adaptive else LONGEST_CALL
        while True:
            active = np.flatnonzero(ends - t > COLLAPSE * np.maximum(1.0, ends))
            if not len(active):
                return np.where(np.isfinite(t), ends, t), q, v
            if self.asks:
                is_finite = self._step_with_pauses(active, t, q, v, tau, ends, nodes)
                if is_finite and self.steps % LOOKED_AT:
                    self.tick(float(t.min()))
                    continue
            else:
                plays = self._run(active, t, q, v, tau, ends, nodes, plays)
            self._require_progress(active, t, q, v)
            self.tick(float(t.min()))

    def _choose_fixed_steps(self, t: np.ndarray, ends: np.ndarray) -> None:
        """Choose steps as near to the wanted size as whole numbers of them allow."""
        span = np.where(np.isfinite(t), ends - t, 0.0)
        step = self.fixed_step or 1.0
        count = np.maximum(1.0, np.round(span / step * (1.0 - 1e-9)))
        self.kept["h"][:, 0] = np.where(span > 0.0, span / count, step)

    def take_senses(self, q: np.ndarray, v: np.ndarray) -> None:
        """Let joints slip as they move, and where they are at rest go on as they did; steps mend what is wrong."""
        if self.loop_friction is not None and self.loops_stick:
            before = self.kept["loop_sense"] if self.begun else None
            self.kept["loop_sense"] = loop_senses(self.system, q, v, self.loop_friction, before)
        assert self.dry is not None
        rubs = self.dry.rubs
        sense = np.where(v != 0.0, np.sign(v), np.where(self.begun, self.kept["sense"], 0.0))
        self.kept["sense"] = np.where(rubs, sense, 1.0)
        self.begun = True
        self.kept["cap"][:], self.kept["part"][:], self.kept["pivots"][:] = FAR, 0.0, 0.0

    def _require_senses(self, who: np.ndarray, t: np.ndarray) -> None:
        """Raise for states in which no senses of friction go on."""
        for state in who[self.kept["pivots"][who, 0] > PIVOTS][:1]:
            if self.kept["pivots"][state, 0] >= UNFIT:
                raise SimulationError(f"At t = {t[state]:.9g} s: {no_load_message(self.system)}")
            raise SimulationError(undecided_message(self.system, int(state), float(t[state])))

    # Many steps in one call.

    def _run(
        self, active: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None, plays: int,
    ) -> int:  # fmt: skip
        """Play up to so many steps of the active states, and with care those that halt. Returns how many to play
        next."""
        active, until = self._together(active, t, ends)
        if self.adaptive and len(active) > self.program.tape.lanes:
            # States of a block wait for each other, so those with about as many steps before them go together.
            order = np.argsort((until - t[active]) / self.kept["h"][active, 0])
            active, until = active[order], until[order]
        ahead = float(((until - t[active]) / self.kept["h"][active, 0]).max())
        if isinstance(self.law, CompiledLaw) and self.law.asked == "timed":
            # No step passes a sample, however large it may be.
            ahead += float(np.max(until - t[active])) * float(self.law.rate or 0.0)
        room = max(1, RECORD // (len(active) * (self.system.nq + self.system.nv)))
        blocks = math.ceil(len(active) / self.program.tape.lanes)
        soon = MOST_WORK // (blocks * self.program.tape.work)
        if self.landing is not None:
            # Some states take steps more, where contacts land; others then have nothing to do.
            ahead += SPARE + SPARED * ahead
        plays = max(1, min(LONGEST_CALL, room, soon, math.ceil(ahead * (1.0 - 1e-9)), plays))
        inputs = self._inputs(active, t, q, v, tau, ends)
        if self.law is not None:
            inputs |= self.law.given(active, float(t[active].min()), float(self.kept["h"][0, 0]), plays)
        every = 1 if self.adaptive else self.every
        rare = ONLY_FIRST if self.reuses else (every, self.since % every)
        wanted = ["q", "qd", "t", "accepted", "halt", "doubt", *self.kept, *self.past]
        wanted += [self.start_acceleration] if nodes is not None else []
        wanted += ["power_start"] if self.counts else []
        if self.law is not None:
            wanted += [self.target, "tau_start", *self.law.kept]
        # Of fixed steps that nobody asks for, only the last is recorded.
        sparse = nodes is None and self.law is None and not self.adaptive
        status, out = self.program.run(
            inputs, len(active), steps=plays, every=plays if sparse else 1, rare=rare, wanted=wanted
        )
        self.since += plays
        tried = (out["t"][:, :-1, 0] < ends[active, None]) & (out["halt"][:, :-1, 0] < 0.5)
        count: Any = float(plays) if sparse else 1.0 + tried.sum(axis=1)
        self.steps += int(count if sparse else count.max())
        self._cost[active] += count
        self._tried[active] += count
        if nodes is not None:
            self._record(active, out, tau, nodes, bool(status))
        if self.law is not None and not self.law.holds:
            tau[active] = out[self.target][:, -1]
            self.law.remember(active, out)
        self._keep(active, t, q, v, {name: x[:, -1] for name, x in out.items()})
        # A state that has come to its end may still be told to be in doubt there.
        unfinished = ends[active] - t[active] > COLLAPSE * np.maximum(1.0, ends[active])
        halted = np.flatnonzero((out["halt"][:, -1, 0] > 0.5) & unfinished)
        if self.sticks:
            self._require_senses(active[halted], t)
        if self.excitation.problem.touching is not None and len(halted):
            raise ContactChanged
        if self.landing is not None:
            self._finish(active[halted], t, q, v, tau, ends, nodes)
            return min(2 * plays, LONGEST_CALL)
        most = GATHERED if self.adaptive and self.law is None else 1
        for group in (halted[k : k + most] for k in range(0, len(halted), most)):
            doubtful = (out["doubt"][group, :, 0].max(axis=-1) > 0.5) | self.adaptive | sparse
            self._step_carefully(active[group], t, q, v, tau, ends, nodes, doubtful)
        return min(2 * plays, LONGEST_CALL)

    def _finish(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None,
    ) -> None:  # fmt: skip
        """Take the rest of a step of states whose impulses were not found by the law that locates what contacts do, one
        state after the other."""
        landing, problem = self.landing, self.excitation.problem
        assert landing is not None
        self._give_up(lost_states(self.system, who, t[who], q[who], v[who], self.drift.suspect), t)
        for k in who[np.isfinite(t[who])].tolist():
            left = float(self.kept["part"][k, 0]) or float(self.kept["h"][k, 0])
            # What is less than a step from the end is a part of the last one.
            until = float(ends[k]) if (1.0 + 1e-9) * left >= ends[k] - t[k] else float(t[k]) + left
            span = TimeSpan(float(t[k]), until)
            try:
                q[k], v[k] = landing.finished(problem, int(self.owner[k]), span, q[k], v[k], tau[k])
            except SimulationError as error:
                self._give_up([(k, str(error))], t)
                continue
            t[k] = until
            for name in (*CONTACT_NUMBERS, "held"):
                self.kept[name][k] = 0.0
            self.past["a_past"][k] = 0.0
            self.finished += 1
            if nodes is not None:
                nodes.add(
                    np.array([k]), t[k : k + 1].copy(), q[k : k + 1].copy(), v[k : k + 1].copy(),
                    self.works(np.array([k])), tau[k : k + 1].copy(), np.zeros((1, self.system.nv)),
                )  # fmt: skip

    def _record(
        self,
        active: np.ndarray,
        out: dict[str, np.ndarray],
        tau: np.ndarray,
        nodes: StepRecord,
        doubtful: bool,
    ) -> None:
        """Add the steps of a call that were accepted, and are finite where that is `doubtful`, to the nodes."""
        accepted = out["accepted"][:, :, 0] > 0.5
        if doubtful:
            accepted &= np.isfinite(out["q"]).all(axis=-1) & np.isfinite(out["qd"]).all(axis=-1)
        count, total = len(accepted), np.count_nonzero(accepted)
        plays = total // count
        if nodes.wants_all and plays and plays * count == total and accepted[:, :plays].all():
            # All states take the first steps and no others, so nothing is chosen.
            state = np.repeat(np.arange(count), plays)

            def taken(name: str, start: bool = False) -> np.ndarray:
                return out[name][:, :plays].reshape(total, -1)
        else:
            state, play = np.nonzero(accepted)
            needed = nodes.needed(state, out["t"][state, play, 0])
            lead = leads(state, needed)
            first, then = (state[lead], play[lead]), (state[needed], play[needed])
            state = then[0]

            def taken(name: str, start: bool = False) -> np.ndarray:
                return out[name][first if start else then]

        carried = [taken(name) for name in ("work", NEAR, "held") if name in self.kept]
        is_held = self.law is None or self.law.holds
        nodes.add(
            active[state], taken("t")[:, 0], taken("q"), taken("qd"),
            np.concatenate([np.zeros((len(state), 0)), *carried], axis=-1),
            tau[active[state]] if is_held else taken("tau_start", True), taken(self.start_acceleration, True),
        )  # fmt: skip

    def _together(self, active: np.ndarray, t: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states that go on in the next call, and how far: a law that is told when it is due is so for all
        of them, so those that were held up come first."""
        if self.law is None or self.law.asked != "due":
            return active, ends[active]
        behind = t[active] < t[active].min() + 0.5 * self.kept["h"][0, 0]
        until = ends[active] if behind.all() else np.full(len(active), t[active[~behind]].min())
        return active[behind], until[behind]

    def _inputs(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray
    ) -> dict[str, np.ndarray]:
        along = self.excitation.paths.inputs(t[who]) if self.excitation.paths else {}
        return {
            # A step without the law needs nothing of what the law is given.
            **self.constant, **self._told_of_contacts(who),
            **{name: x for name, x in along.items() if name in self.program.input_names},
            "q": q[who], "qd": v[who], "t": t[who, None], "end": ends[who, None], **self.told(q[who], tau[who]),
            **{name: x[who] for name, x in (self.kept | self.past).items()},
            **{name: x[self.owner[who]] for name, x in self.varying.items()},
        }  # fmt: skip

    def _told_of_contacts(self, who: np.ndarray) -> dict[str, np.ndarray]:
        """Return what steps are told of contacts of the states `who`."""
        own = self.owner[who]
        return {name: x if x.ndim == 1 else x[own] for name, x in self.meeting.items()}

    def told(self, q: np.ndarray, tau: np.ndarray) -> dict[str, np.ndarray]:
        """Return the inputs by which the step is told control forces tau (states, width) that are held, at q (states,
        nq)."""
        found = {self.target: np.ascontiguousarray(self.excitation.at_tree(q, tau, but_motors=True))}
        if self.motors:
            wrenches = np.zeros((len(tau), 6 * len(self.excitation.forces)))
            found[FORCE_INPUTS] = np.concatenate([wrenches, tau[:, self.motors]], axis=-1)
        return found

    def _keep(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, out: dict[str, np.ndarray]
    ) -> None:
        """Keep where the states have come to."""
        t[who], q[who], v[who] = out["t"][:, 0], out["q"], out["qd"]
        if self.counts:
            self.power_start[who] = out["power_start"]
        for name, x in (self.kept | self.past).items():
            if self.adaptive or name != "h":
                x[who] = out[name]

    # One step, with Python in between.

    def _step_with_pauses(
        self, active: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None,
    ) -> bool:  # fmt: skip
        """Take one step of the states that are furthest behind, which share their time and their step size, and return
        whether all numbers in it were finite."""
        who = active
        if len(active) > 1:
            now, until = t[active].min(), ends[active][np.argmin(t[active])]
            who = active[(t[active] == now) & (ends[active] == until)]
            for name in ("h", "cap") if self.sticks else ("h",):
                self.kept[name][who] = self.kept[name][who].min()
        out, paused = self._step(who, t, q, v, tau, ends, None)
        if out["halt"][0, 0] < 0.5:
            self._taken(who, t, q, v, tau, out, nodes)
            return paused.is_finite
        if self.excitation.problem.touching is not None:
            raise ContactChanged
        if self.sticks:
            self._keep(who, t, q, v, out)
            self._require_senses(who, t)
        doubtful = np.ones(len(who), dtype=bool) if self.adaptive else paused.doubts.copy()
        self._keep(who, t, q, v, out)
        self._step_carefully(who, t, q, v, tau, ends, nodes, doubtful)
        return False

    def _step(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        careful: np.ndarray | None,
    ) -> tuple[dict[str, np.ndarray], PausedSteps]:  # fmt: skip
        count = len(who)
        if count not in self._paused:
            lanes = LANES_ALONE if count == 1 or self.is_narrow else None
            program = self.system.mechanics.program(
                self.algorithm, self.absent, lanes, self.excitation.placed
            )
            self._paused[count] = PausedSteps(
                program, count, self.excitation, self.drift, self.method, self.target, self.controls,
                self.law is not None, self.asks,
            )  # fmt: skip
        paused = self._paused[count]
        inputs = self._inputs(who, t, q, v, tau, ends)
        if self.law is not None:
            given = self.law.given(who, float(t[who].min()), float(self.kept["h"][0, 0]), 1)
            inputs |= {name: x.reshape(x.shape[0], -1) if x.ndim == 3 else x for name, x in given.items()}
        every = 1 if self.adaptive else self.every
        self.since += 1
        self.steps += 1
        self._cost[who] += PAUSED if careful is None else CAREFUL
        self._tried[who] += 1.0
        closes = self.since % every == 0
        return paused.step(self.owner[who], inputs, tau[who], careful, closes, self.near[who]), paused

    def _taken(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray,
        out: dict[str, np.ndarray], nodes: StepRecord | None,
    ) -> None:  # fmt: skip
        """Keep what a step that did not halt leaves behind, whether it was accepted or not."""
        count = self._paused[len(who)].count
        self._keep(who, t, q, v, out)
        if count is not None:
            self.near[who] = count.at(t[who], q[who], v[who])
        is_held = self.law is not None and self.law.holds
        force = tau[who] if is_held else out.get("tau_start", tau[who])
        if self.law is not None and not self.law.holds:
            tau[who] = out[self.target]
            self.law.remember(who, {name: x[:, None] for name, x in out.items()})
        accepted = out["accepted"][:, 0] > 0.5
        if nodes is not None and accepted.any():
            some = who[accepted]
            nodes.add(
                some, t[some].copy(), q[some], v[some], self.works(some), np.array(force)[accepted],
                out[self.start_acceleration][accepted],
            )  # fmt: skip

    def _step_carefully(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None, doubtful: np.ndarray,
    ) -> None:  # fmt: skip
        """Take one step, with Python in between, of states whose step the compiled loop could not certify."""
        self._give_up(lost_states(self.system, who, t[who], q[who], v[who], self.drift.suspect), t)
        going = np.isfinite(t[who])
        who, doubtful = who[going], doubtful[going]
        while len(who):
            self.kept["row"][who] = 0.0
            h = np.minimum(self.kept["h"][who, 0], ends[who] - t[who])
            out, _ = self._step(who, t, q, v, tau, ends, doubtful)
            self._taken(who, t, q, v, tau, out, nodes)
            left = out["accepted"][:, 0] <= 0.5
            who, doubtful = who[left], doubtful[left]
            if not len(who):
                return
            if not self.adaptive:
                sizes = h[left]
                self._give_up(
                    ((int(k), too_long_message(self.method, float(t[k]), int(k), float(size)))
                     for k, size in zip(who, sizes, strict=True)),
                    t,
                )  # fmt: skip
                return
            self._require_progress(who, t, q, v)
            going = np.isfinite(t[who])
            who, doubtful = who[going], doubtful[going]

    # Progress.

    def _give_up(self, faults: Iterable[tuple[int, str]], t: np.ndarray) -> None:
        """Raise for the first of the states that cannot go on, each with its words, or let the others go on without
        them."""
        for state, words in faults:
            if self.failing is None:
                raise SimulationError(words)
            self.failing.setdefault(state, words)
            t[state] = np.inf

    def _require_progress(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Give up states that have run away, or do not get on."""
        self._give_up(lost_states(self.system, who, t[who], q[who], v[who], self.drift.suspect), t)
        if not self.adaptive:
            return
        who = who[np.isfinite(t[who])]
        slow = itertools.chain(self._crawling(who, t, q), self._stuck(who, t, q, v))
        if self.asks:
            # They share their steps, so that nobody knows whose fault it is.
            for _, words in slow:
                raise SimulationError(words)
        self._give_up(slow, t)

    def _crawling(self, who: np.ndarray, t: np.ndarray, q: np.ndarray) -> Iterator[tuple[int, str]]:
        """Give the states that would take for ever, each with its words."""
        if self.steps * CAREFUL < WATCHED:
            # Not even steps with care cost so much.
            return
        watched = self._cost[who] - self._watched[who, 0] > WATCHED
        if not watched.any():
            return
        ready = who[watched]
        cost, tried, before = self._watched[ready].T
        passed = np.maximum(t[ready] - before, 1e-300)
        left = self.horizon - t[ready]
        pace = passed / (self._tried[ready] - tried)
        endless = left * (self._cost[ready] - cost) > ENDLESS * passed
        self._watched[ready] = np.stack([self._cost[ready], self._tried[ready], t[ready]], axis=1)
        for k in np.flatnonzero(endless):
            state = int(ready[k])
            words = crawling_message(
                self.system, state, float(t[state]), q[state], float(pace[k]), float(left[k])
            )
            yield state, words

    def _stuck(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> Iterator[tuple[int, str]]:
        """Give the states whose steps have become too small to move them, each with its words."""
        small = self.kept["h"][who, 0] < COLLAPSE * np.maximum(1.0, np.abs(t[who]))
        for k in who[small] if small.any() else ():
            state, fault = int(k), self.excitation.fault
            if fault is not None and abs(fault[0] - t[state]) <= TOGETHER * max(1.0, abs(t[state])):
                yield state, fault[1]
                continue
            own = self.system.variants.state(int(self.owner[state]))
            yield state, collapse_message(own, state, float(t[state]), q[state], v[state])
