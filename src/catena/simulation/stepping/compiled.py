"""Steps of all states of a run: many in one call of the compiled loop, each state with its own time and step size; or
one after the other with Python in between (`paused`), where something acts that only Python knows.

Both play the same tape. A step that the compiled loop cannot vouch for halts its state, is taken again with care, and
the loop goes on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import SimulationError
from catena.kernels import Program
from catena.kernels.algorithm import FORCE_INPUTS, NEAR
from catena.kernels.program import ONLY_FIRST
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand
from catena.simulation.results.transition import Transition, change_of_coordinates
from catena.simulation.stepping.chosen_step import chosen_step, constant_inputs
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.faults import undecided_message
from catena.simulation.stepping.first_steps import gather_past
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.sticking import FAR, PIVOTS, STICKING_INPUTS, STICKING_NUMBERS, UNFIT
from catena.simulation.stepping.methods.time_stepping import CONTACT_NUMBERS
from catena.simulation.stepping.methods.work import SOURCES
from catena.simulation.stepping.observing import Observer, Observers
from catena.simulation.stepping.progress_of_steps import COLLAPSE, CallLength, ProgressOfSteps
from catena.simulation.stepping.record import StepRecord, leads
from catena.simulation.stepping.single_steps import SingleSteps
from catena.simulation.stepping.variant_for import choices_for
from catena.system.dry_friction import DryFriction, dry_friction, loop_senses, no_load_message

# Methods whose steps look back, the multi-step one apart.
HAVE_PAST = ("implicit_leapfrog", "time_stepping")
# Steps in one call: enough to forget the cost of a call, few enough to stop at once and to waste little.
FIRST_CALL, LONGEST_CALL = 8, 1024
# Lanes for a single state: the fewest that give the bits of a batch; one would be other machine instructions.
LANES_ALONE = 2
# Of steps with Python in between, every so many-th is looked at, and those that are not finite.
LOOKED_AT = 8
# Steps that are taken more where contacts land: some, and a part of all.
SPARE, SPARED = 4.0, 0.05
# How many careful steps are taken together.
GATHERED = 64


class CompiledSteps:
    """Moves the states of a run by steps of one method. `law` is a controller inside the step; `horizon` is when the
    run ends. `observers` look at every step."""

    def __init__(
        self, acting: ActingForces, drift: Drift, law: CompiledLaw | HeldCommand | None, horizon: float,
        tick: Callable[[float], None], method: str | None = None, coordinates: str = "joint",
        observers: Observers | None = None,
    ) -> None:  # fmt: skip
        problem = acting.problem
        self.acting, self.system, self.drift, self.law, self.tick = acting, acting.system, drift, law, tick
        self.method, self.coordinates, self.horizon = method or problem.integrator, coordinates, horizon
        self.chosen = chosen = chosen_step(acting, drift, law, self.method, coordinates, observers)
        variant = chosen.variant
        if variant.supplied:
            self.drift = drift = drift.telling()
        self.observers, self.observed = observers, variant.observed
        self.adaptive, self.fixed_step = chosen.adaptive, problem.step
        self.controls = acting.is_asked_always and law is None
        self.counts, self.turns, self.judges = variant.counts, variant.turns, chosen.judges
        self.sticks, self.loops_stick, self.bears = variant.sticks, variant.loops_stick, variant.bears
        self.landing, self.target, self.motors = problem.landing, chosen.target, chosen.motors
        self.absent = chosen.absent
        self.dry: DryFriction | None = None
        self.loop_friction: DryFriction | None = None
        if self.sticks:
            self.dry, self.loop_friction = dry_friction(self.system, drift.start)
            self.absent |= STICKING_INPUTS.keys() - {"sense", *self.dry.tree_inputs}
        if chosen.rubs and self.landing is not None:
            self.absent |= {"excess", "fading", "fall"} - self.landing.dry.tree_inputs.keys()
        self.constant = constant_inputs(chosen, acting, drift, self.dry, self.loop_friction)
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
        self.choices = choices_for(acting) if chosen.chooses else None
        self.asks = self.controls or acting.is_python or self.drift.in_python
        """Whether Python is asked at every stage."""
        self.length = CallLength()
        self._starter: CompiledSteps | None = None

    @property
    def changes(self) -> list[Transition]:
        """Return where other coordinates became independent, once."""
        if self.choices is None:
            return []
        found, self.choices.changes = self.choices.changes, []
        return [change_of_coordinates(self.acting.batch, *change) for change in found]

    @cached_property
    def single(self) -> SingleSteps:
        """Return what takes single steps, with Python in between or with care."""
        return SingleSteps(self)

    def begin(self, states: int, h: float, start: float = 0.0) -> None:
        """Begin a run of so many states at a time, with steps of about this size."""
        self.kept = {name: np.zeros((states, 1)) for name in ("h", "row", "wish")}
        self.kept["h"][:] = h
        self.past = {}
        self.begun = False
        self.owner = np.arange(states)
        if self.counts:
            self.kept["work"] = np.zeros((states, len(SOURCES)))
        if self.landing is not None:
            self.kept |= {name: np.zeros((states, 1)) for name in CONTACT_NUMBERS}
            self.kept |= (
                {"held": np.zeros((states, self.chosen.held_width))} if self.chosen.held_width else {}
            )
        if self.sticks:
            self.kept["sense"] = np.ones((states, self.system.nv))
            self.kept |= {"by_load": np.zeros((states, self.system.nv))} if self.bears else {}
            self.kept |= {name: np.zeros((states, 1)) for name in STICKING_NUMBERS}
        if self.loop_friction is not None and self.loops_stick:
            self.kept["loop_sense"] = np.ones((states, self.loop_friction.friction.size))
            self.kept |= {"loop_load": np.zeros_like(self.kept["loop_sense"])} if self.bears else {}
        self._near = np.zeros((states, self.chosen.near_width))
        if self.turns:
            self.kept[NEAR] = self._near
        if self.observed:
            self.kept["observed"] = np.zeros((states, self.observed))
        if self.judges:
            self.kept["turnover"] = np.zeros((states, 1))
        self.power_start = np.zeros((states, len(SOURCES)))
        self.progress = ProgressOfSteps(self, states, start)
        self.program = self.program_for(states)
        self.varying = self.system.mechanics.evaluator.varying_inputs(
            self.chosen.algorithm, None, self.acting.placed
        )
        if self.law is not None:
            self.law.begin(states)

    def program_for(self, states: int) -> Program:
        """Return the step for so many states. For a single one there is no use for wide registers, and what it works on
        stays in the nearest cache."""
        lanes = LANES_ALONE if states == 1 or self.is_narrow else None
        return self.system.mechanics.program(self.chosen.algorithm, self.absent, lanes, self.acting.placed)

    @property
    def near(self) -> np.ndarray:
        """Return the positions (states, n) that the joints of forces which count turns are near, to be written to."""
        return self.kept[NEAR] if self.turns else self._near

    def carried_for(self, observer: Observer) -> np.ndarray:
        """Return what states carry (states, n) for one of the observers, to be written to."""
        assert self.observers is not None
        return self.kept["observed"][:, self.observers.columns(observer)]

    @property
    def can_go_back(self) -> bool:
        """Return whether states may be put back to where they were, and take the same steps again: all that goes with
        them is in what they carry."""
        known = self.law is None and not self.asks and not self.turns and not self.sticks
        return (
            known
            and self.choices is None
            and self.landing is None
            and self.method not in ("abm4", *HAVE_PAST)
        )

    def memory(self) -> tuple[int, dict[str, np.ndarray]]:
        """Return what states carry now, by which they can be put back."""
        return self.since, {name: x.copy() for name, x in self.kept.items()}

    def go_back(self, memory: tuple[int, dict[str, np.ndarray]], who: np.ndarray) -> None:
        """Let the states `who` (states,) carry what they did."""
        self.since = memory[0]
        for name, x in memory[1].items():
            self.kept[name][who] = x[who]

    def resume(self, h: np.ndarray, work: np.ndarray) -> None:
        """Go on with steps of about the sizes h (states,) from states that carry this along (states, n)."""
        self.kept["h"][:, 0] = h
        self.carry(work)

    def carry(self, work: np.ndarray) -> None:
        """Carry this along (states, n) from now on, as `works` tells it."""
        done = len(SOURCES) if self.counts else 0
        if self.counts:
            self.kept["work"][:] = work[:, :done]
        self.near[:] = work[:, done : done + self.chosen.near_width]
        if self.chosen.held_width:
            self.kept["held"][:] = work[:, done + self.chosen.near_width :]
        if self.judges:
            self.kept["turnover"][:, 0] = np.abs(work[:, :done]).sum(axis=-1)

    def works(self, who: Any = slice(None)) -> np.ndarray:
        """Return what states carry along, (states, n): the works done so far, by source, with no sources where none are
        counted, behind them the positions that loop joints are near, and what contacts hold."""
        held = [self.kept["held"][who]] if self.chosen.held_width else []
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
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float | np.ndarray,
        nodes: StepRecord | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Move the states from their times t (states,) to `end`, a time for all or (states,), under the held control
        forces tau, which a controller that is always asked overwrites; add what they pass to `nodes`. A state whose
        time is infinite stays where it is."""
        t, q, v, ends = t.copy(), q.copy(), v.copy(), np.empty(t.shape)
        ends[:] = end
        if isinstance(self.law, HeldCommand):
            self.law.tau = tau
        if not self.adaptive:
            self._choose_fixed_steps(t, ends)
        if self.sticks:
            self.take_senses(q, v)
        if self.choices is not None:
            going = np.isfinite(t)
            self.choices.begin(self.owner[going], t[going], q[going])
        if self.method == "abm4" and not self.past:
            if self._starter is None:
                self._starter = CompiledSteps(
                    self.acting, self.drift, self.law, self.horizon, self.tick, "rk4", self.coordinates
                )
                self._starter.choices = self.choices
                self._starter.failing = self.failing
            gather_past(self, self._starter, t, q, v, tau, ends, nodes)
        if self.method in HAVE_PAST and not self.past:
            # Without a past the first step is one of first order, which leaves the order of the run.
            self.past = {name: np.zeros_like(v) for name in method_of(self.method).past}
        # How many adaptive steps there will be is not known, so a call begins with few, but no step passes a sample.
        plays = FIRST_CALL if self.adaptive else LONGEST_CALL
        if self.adaptive and isinstance(self.law, CompiledLaw):
            plays += self.law.samples_ahead(t, ends)
        while True:
            active = _before_end(t, ends)
            if not len(active):
                return np.where(np.isfinite(t), ends, t), q, v
            if self.asks:
                is_finite = self.single.with_pauses(active, t, q, v, tau, ends, nodes)
                if is_finite and self.steps % LOOKED_AT:
                    self.tick(float(t.min()))
                    continue
            else:
                plays = self._run(active, t, q, v, tau, ends, nodes, plays)
            self.progress.require(active, t, q, v)
            self.tick(float(t.min()))

    def _choose_fixed_steps(self, t: np.ndarray, ends: np.ndarray) -> None:
        """Choose steps as near to the wanted size as whole numbers of them allow."""
        step = self.fixed_step or 1.0
        if len(t) == 1 and t[0] < ends[0]:
            whole = float(ends[0] - t[0])
            self.kept["h"][0, 0] = whole / max(1.0, round(whole / step * (1.0 - 1e-9)))
            return
        span = np.where(np.isfinite(t), ends - t, 0.0)
        count = np.maximum(1.0, np.round(span / step * (1.0 - 1e-9)))
        self.kept["h"][:, 0] = np.where(span > 0.0, span / count, step)

    def take_senses(self, q: np.ndarray, v: np.ndarray) -> None:
        """Let joints slip as they move, and where they are at rest go on as they did; steps mend what is wrong."""
        if self.loop_friction is not None and self.loops_stick:
            before = self.kept["loop_sense"] if self.begun else None
            self.kept["loop_sense"] = loop_senses(self.system, q, v, self.loop_friction, before)
        assert self.dry is not None
        rubs = np.array(self.dry.rubs)
        # What a drive moves from rest does not stick.
        rubs[self.acting.driven] = False
        sense = np.where(v != 0.0, np.sign(v), np.where(self.begun, self.kept["sense"], 0.0))
        self.kept["sense"] = np.where(rubs, sense, 1.0)
        self.begun = True
        self.kept["cap"][:], self.kept["part"][:], self.kept["pivots"][:] = FAR, 0.0, 0.0

    def require_senses(self, who: np.ndarray, t: np.ndarray) -> None:
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
        until = ends[active]
        if self.law is not None and self.law.asked == "due":
            active, until = self._together(active, t, ends)
        is_whole = len(active) == len(t)
        if self.adaptive and len(active) > self.program.tape.lanes:
            # States of a block wait for each other, so those with about as many steps before them go together.
            order = np.argsort((until - t[active]) / self.kept["h"][active, 0])
            active, until, is_whole = active[order], until[order], False
        who: Any = slice(None) if is_whole else active
        # Of fixed steps that nobody asks for, only the last is recorded.
        sparse = nodes is None and self.law is None and not self.adaptive
        plays, soon = self._worth_playing(who, t, until, plays, sparse)
        if self.chosen.bends:
            # What is told of floors holds for one step.
            plays = 1
        inputs = self.inputs(who, t, q, v, tau, ends)
        if self.law is not None:
            inputs |= self.law.inputs_ahead(
                active, float(t[active].min()), float(self.kept["h"][0, 0]), plays
            )
        every = 1 if self.adaptive else self.every
        rare = ONLY_FIRST if self.chosen.reuses else (every, self.since % every)
        # Only a call that does much tells how much may be done in one.
        begun = time.thread_time() if 2 * plays > soon else None
        status, out = self.program.run(
            inputs, len(active), steps=plays, every=plays if sparse else 1, rare=rare, wanted=self._wanted(nodes)
        )  # fmt: skip
        if begun is not None:
            self.length.took(time.thread_time() - begun, plays >= soon)
        self.since += plays
        self.steps += plays
        count: Any = float(plays)
        if plays > 1 and not sparse:
            count = 1.0 + ((out["t"][:, :-1, 0] < ends[who][:, None]) & (out["halt"][:, :-1, 0] < 0.5)).sum(
                axis=1
            )
            self.steps += int(count.max()) - plays
        self.progress.count(who, count)
        if nodes is not None:
            self._record(active, out, tau, nodes, bool(status))
        if self.law is not None and not self.law.holds:
            tau[who] = out[self.target][:, -1]
            self.law.remember(active, out)
            if status:
                self.progress.ask_law(active, out, t, q, v)
        self.keep(who, t, q, v, {name: x[:, -1] for name, x in out.items()})
        if (out["halt"][:, -1, 0] > 0.5).any():
            self._go_on_behind(active, t, q, v, tau, ends, nodes, out, sparse)
        return min(2 * plays, LONGEST_CALL)

    def _worth_playing(
        self, who: Any, t: np.ndarray, until: np.ndarray, plays: int, sparse: bool
    ) -> tuple[int, int]:
        """Return how many steps the states `who` are to take in one call, at most so many, on their way to the times
        `until`, and how many are soon over; where the record is `sparse` it does not grow with them."""
        left, steps = until - t[who], self.kept["h"][who, 0]
        ahead = float((left / steps).max()) if len(left) > 1 else float(left[0] / steps[0])
        if isinstance(self.law, CompiledLaw):
            ahead += self.law.samples_ahead(t[who], until)
        if self.landing is not None:
            # Some states take steps more, where contacts land; others then have nothing to do.
            ahead += SPARE + SPARED * ahead
        blocks = -(-len(left) // self.program.tape.lanes)
        numbers = 1 if sparse else len(left) * (self.system.nq + self.system.nv)
        most, soon = self.length.chosen(ahead, numbers, blocks * self.program.work)
        return min(LONGEST_CALL, most, plays), soon

    def _wanted(self, nodes: StepRecord | None) -> list[str]:
        """Return the results of steps that are looked at."""
        found = ["q", "qd", "t", "accepted", "halt", "doubt", *self.kept, *self.past]
        found += [self.chosen.starts] if nodes is not None else []
        found += ["power_start"] if self.counts else []
        found += ["spent"] if self.choices is not None else []
        return found if self.law is None else [*found, self.target, "tau_start", *self.law.kept]

    def _go_on_behind(
        self, active: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None, out: dict[str, np.ndarray], sparse: bool,
    ) -> None:  # fmt: skip
        """Take steps with care of those active states that halt."""
        # A state that has come to its end may still be told to be in doubt there.
        unfinished = ends[active] - t[active] > COLLAPSE * np.maximum(1.0, ends[active])
        halted = np.flatnonzero((out["halt"][:, -1, 0] > 0.5) & unfinished)
        if self.sticks:
            self.require_senses(active[halted], t)
        if self.landing is not None:
            self.single.finish(active[halted], t, q, v, tau, ends, nodes)
            return
        if self.choices is not None:
            halted = halted[~self.choose_anew(active[halted], t, q, out["spent"][halted, -1, 0] > 0.5)]
        most = GATHERED if self.adaptive and self.law is None else 1
        for group in (halted[k : k + most] for k in range(0, len(halted), most)):
            doubtful = (out["doubt"][group, :, 0].max(axis=-1) > 0.5) | self.adaptive | sparse
            self.single.with_care(active[group], t, q, v, tau, ends, nodes, doubtful)

    def choose_anew(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, spent: np.ndarray) -> np.ndarray:
        """Choose other independent coordinates for the states `who` (n,) whose own are `spent`, and return which."""
        assert self.choices is not None
        for k in who[spent].tolist():
            self.choices.choose(int(self.owner[k]), float(t[k]), q[k])
        return spent

    def _record(
        self, active: np.ndarray, out: dict[str, np.ndarray], tau: np.ndarray, nodes: StepRecord, doubtful: bool
    ) -> None:  # fmt: skip
        """Add the steps of a call that were accepted, and are finite where that is `doubtful`, to the nodes."""
        accepted = out["accepted"][:, :, 0] > 0.5
        if doubtful:
            accepted &= np.isfinite(out["q"]).all(axis=-1) & np.isfinite(out["qd"]).all(axis=-1)
        count, total = len(accepted), np.count_nonzero(accepted)
        plays = total // count
        is_first = plays and plays * count == total and np.count_nonzero(accepted[:, :plays]) == total
        if nodes.wants_all and is_first:
            # All states take the first steps and no others, so nothing is chosen.
            state = np.repeat(np.arange(count), plays) if count > 1 else np.zeros(plays, dtype=int)

            def taken(name: str, start: bool = False) -> np.ndarray:
                x = out[name]
                return x[0, :plays] if count == 1 else x[:, :plays].reshape(total, -1)
        else:
            state, play = np.nonzero(accepted)
            needed = nodes.needed(state, out["t"][state, play, 0])
            lead = leads(state, needed)
            first, then = (state[lead], play[lead]), (state[needed], play[needed])
            state = then[0]

            def taken(name: str, start: bool = False) -> np.ndarray:
                return out[name][first if start else then]

        carried = [taken(name) for name in ("work", NEAR, "held") if name in self.kept]
        is_held, who = self.law is None or self.law.holds, active[state]
        nodes.add(
            who, taken("t")[:, 0], taken("q"), taken("qd"),
            np.concatenate(carried, axis=-1) if carried else np.zeros((len(state), 0)),
            tau[who] if is_held else taken("tau_start", True), taken(self.chosen.starts, True),
        )  # fmt: skip

    def _together(self, active: np.ndarray, t: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states that go on in the next call, and how far: a law that is told when it is due is so for all
        of them, so those that were held up come first."""
        behind = t[active] < t[active].min() + 0.5 * self.kept["h"][0, 0]
        until = ends[active] if behind.all() else np.full(len(active), t[active[~behind]].min())
        return active[behind], until[behind]

    def inputs(
        self, who: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Return what a step of the states `who` (n,), or of all (slice), is told."""
        found = {
            **self.constant, "q": q[who], "qd": v[who], "t": t[who, None], "end": ends[who, None],
            **self.held_effort(q[who], tau[who]),
        }  # fmt: skip
        for kept in (self.kept, self.past):
            for name, x in kept.items():
                found[name] = np.ascontiguousarray(x[who])
        if self.meeting:
            found |= self._told_of_contacts(who)
        if self.chosen.bends:
            assert self.landing is not None
            part, h = self.kept["part"], self.kept["h"]
            found["fields"] = self.landing.fields(q, v, 0.5 * np.where(part > 0.0, part, h))[who]
        if self.acting.paths is not None:
            # A step without the law needs nothing of what the law is given.
            along, known = self.acting.paths.inputs(t[who]), self.program.input_names
            found |= {name: x for name, x in along.items() if name in known}
        if self.varying:
            found |= {name: x[self.owner[who]] for name, x in self.varying.items()}
        if self.choices is not None:
            found |= self.choices.inputs(self.owner[who])
        return found

    def _told_of_contacts(self, who: Any) -> dict[str, np.ndarray]:
        """Return what steps are told of contacts of the states `who`."""
        own = self.owner[who]
        return {name: x if x.ndim == 1 else x[own] for name, x in self.meeting.items()}

    def held_effort(self, q: np.ndarray, tau: np.ndarray) -> dict[str, np.ndarray]:
        """Return the inputs by which the step is told control forces tau (states, width) that are held, at q (states,
        nq)."""
        found = {self.target: np.ascontiguousarray(self.acting.at_tree(q, tau, but_motors=True))}
        if self.motors:
            wrenches = np.zeros((len(tau), self.acting.wrench_width))
            found[FORCE_INPUTS] = np.concatenate([wrenches, tau[:, self.motors]], axis=-1)
        return found

    def keep(self, who: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, out: dict[str, np.ndarray]) -> None:
        """Keep where the states have come to."""
        t[who], q[who], v[who] = out["t"][:, 0], out["q"], out["qd"]
        if self.counts:
            self.power_start[who] = out["power_start"]
        for name, x in (self.kept | self.past).items():
            if self.adaptive or name != "h":
                x[who] = out[name]


def _before_end(t: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the states (n,) that have not come to their ends (states,) yet."""
    if len(t) == 1:
        end = float(ends[0])
        return _ONE if end - t[0] > COLLAPSE * max(1.0, end) else _NONE
    return np.flatnonzero(ends - t > COLLAPSE * np.maximum(1.0, ends))


_ONE, _NONE = np.arange(1), np.arange(0)
