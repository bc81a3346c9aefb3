"""Compiled steps of one state with contacts inside, many in a call, alone or in lanes beside other states (`lanes`).

Whatever contacts do is told to one and the same step by numbers (`inside`), so that nothing is laid out anew when one
of them changes. A controller with a rate is asked where its forces end; what is always asked is so at the pauses of the
same step (`asked_plays`). No step passes a knot of a prescribed motion or of a wrench.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catena.dynamics.contacts.contact_forces import TOLD
from catena.kernels import CONSTANTS, Program, Session
from catena.kernels.algorithm import FORCE_INPUTS, NEAR
from catena.kernels.program import EVERY_TIME, ONLY_FIRST
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.acting.paths import Paths
from catena.simulation.arguments import TimeWindow
from catena.simulation.contacts.deciding import LIGHT
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.inside import Inside
from catena.simulation.following import nobody_follows
from catena.simulation.lanes import Going, Play, Played
from catena.simulation.lockstep import Along
from catena.simulation.problem import Touching
from catena.simulation.run_start import longest_step
from catena.simulation.stepping.asked_plays import AskedLook, AskedPlays
from catena.simulation.stepping.compiled import CompiledSteps
from catena.simulation.stepping.drift import Drift, name_of
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.step import evaluation_times
from catena.simulation.stepping.methods.work import SOURCES
from catena.simulation.stepping.progress_of_steps import COLLAPSE
from catena.system import System

if TYPE_CHECKING:
    from catena.simulation.contacts.quick_path import Path

# The number of the only step.
_ONE = (0,)
# A step that cannot be vouched for is taken again by shorter ones, down to this part of a careful step.
DOUBTED = 1e-3
# Steps in one call, and from one sample to the next where these follow each other quickly.
MANY, FEW = 32, 4.0
# The time in which friction turns a slip at the quickest, in careful steps: so much with relative errors of so much or
# more, less by the root of smaller ones, down to a part of it.
EASES, ROUGH, FINEST = 2.0, 1e-4, 0.1
# Attempts that may take as long as a careful step, more where steps are as small as errors have it.
PATIENCE = 4.0
# What acts by itself is looked at so many times in a run, at least, by steps that may be a little longer than that.
OFTEN, LONG = 200, 1.1


@dataclass(slots=True, eq=False)
class ContactState:
    """A time, q (nq,), v (nv,), works (sources,), what contacts do there (contacts, told) and control forces tau (nv,),
    both None as long as nobody has looked."""

    t: float
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    told: Any
    tau: Any


class ContactSteps(NamedTuple):
    """Steps in a row: times t, q (states, nq), v (states, nv) and works (states, sources) behind them, and what
    contacts do (states, contacts, told) and control forces tau, (states, nv) or (nv,) for all, where they begin; both
    also at the end of the last one, if that was taken (`ahead`); whether the last was `halted` because a contact
    changes where it begins, or because friction is stiff there (`slow`), whether they are `lost` otherwise, the size
    `h` of the next one, the error and the size of the `last` one, and whether contacts are to be looked at that one of
    them, or the last one, has `met`."""

    t: list[float]
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    told: np.ndarray
    tau: np.ndarray
    ahead: tuple[np.ndarray, np.ndarray] | None
    halted: bool
    slow: bool
    lost: bool
    h: float
    last: tuple[float, float]
    met: bool
    met_last: bool


class QuickSteps:
    """Takes compiled steps of one state of a system with contacts, within a `window` of a run; `h` is the size of a
    careful step, `length` [m] that of the mechanism, `at_hand` the energy [J] by which works of drives are judged. Who
    follows the run is told by `tick` how far it is, and may cancel it. Where contacts may be redundant, their `least`
    forces are found. Which constraints of loops count is settled at a closed configuration, `start` (nq,). `every` is
    the system of all states that go beside this one, itself if None; one that `goes_alone` waits for nobody."""

    def __init__(
        self,
        free_motion: FreeMotion,
        inside: Inside,
        window: TimeWindow,
        length: float,
        h: float,
        at_hand: float,
        tick: Callable[[float], None] = nobody_follows,
        least: bool = False,
        start: np.ndarray | None = None,
        every: System | None = None,
        goes_alone: bool = True,
    ) -> None:
        self.free_motion, self.inside, self.window = free_motion, inside, window
        self.every, self.goes_alone = every, goes_alone
        self.length, self.h, self.tick = length, h, tick
        # Whoever takes steps asks the controller, and tells what it gave.
        touching = Touching(inside.nodes, inside.numbers.reshape(-1), least)
        problem = replace(free_motion.problem, control=None, touching=touching)
        self.least = least
        system = self.system = free_motion.system
        at_loops, self.bends = free_motion.acting.at_loops, bool(inside.places.on_fields)
        self.acting = acting = ActingForces(problem, (), bool(at_loops))
        acting.use_paths(window.begin)
        self.controls = free_motion.acting.is_asked_always
        asks = self.controls or acting.is_python or self.bends
        if at_loops and not asks:
            # Forces that are held at joints which close loops are other forces of the tree at every stage.
            acting.at_loops = set(at_loops)
            acting.use_motors()
        acting.longest, acting.energy = longest_step(window.duration, None), at_hand
        self.mover = mover = CompiledSteps(
            acting,
            Drift(system, problem.drift, system.neutral() if start is None else start),
            None,
            window.end,
            tick,
        )
        self.closes = mover.drift.projects
        self.shape = len(inside.nodes), TOLD
        """What is told of a state, (contacts, told)."""
        table = method_of(mover.method).tableau
        self.ends_at_result = table is not None and table.ends_at_result and not self.closes
        """Whether the last stage of a step stands at its end."""
        self.step = problem.step
        """The size of steps [s], None where they are chosen."""
        self.friction, self.is_dry = (x.tolist() for x in (inside.places.friction, inside.places.is_dry))
        mover.begin(1, min(1e-2, 1e-2 * window.duration), window.begin)
        self.session = session = Session(mover.program, 1)
        self.b = b = session.buffers
        for name, value in (mover.constant | mover.varying).items():
            b[name][:] = value
        session.piece(0, 0, mover.program.input_names, ())()
        kept: tuple[str, ...] = tuple(name for name in ("work", "turnover") if name in mover.kept)
        paths = acting.paths.inputs(np.array([window.begin])) if acting.paths else {}
        self._along = tuple(name for name in paths if name in b)
        self._piece = -1
        self.winds = bool(acting.counted)
        """Whether turns of joints that close loops are counted."""
        kept = (*kept, NEAR) if NEAR in b else kept
        self.motors = list(mover.motors)
        held = (mover.target, FORCE_INPUTS) if self.motors else (mover.target,)
        self._moving = ("q", "qd", "t", "h", "end", "halt", "row", "wish", *held, *kept)
        self.outputs = (
            "q", "qd", "t", "h", "dt", "halt", "accepted", "told", "told_now", "row", "wish", *kept,
            *(["met"] if "met" in b else []),
        )  # fmt: skip
        self._told = session.piece(0, 0, ("contacts",), ())
        self._take_path = session.piece(0, 0, self._along, ())
        told, rate = free_motion.problem, free_motion.problem.rate
        self.settings = {
            "integrator": f"{told.integrator}, step {told.step:g} s"
            if told.step is not None
            else f"{told.integrator}, rtol {told.rtol:g}, atol {told.atol:g}",
            "drift": name_of(told.drift) if system.mechanics.constrained else "no loops",
            "control": "none"
            if told.control is None
            else "at every stage"
            if rate is None
            else f"{rate:g} Hz",
            "steps taken by": "compiled steps with contacts inside",
        }
        """What a run is told to have been made by."""
        self.steps, self.end, self.tau = 0, window.end, np.zeros(free_motion.acting.width)
        self.asks, self._plays = False, dict[int, Any]()
        self._look: Callable[[], int] = session.piece(0, session.row("contacts"), self._moving, ("told",))
        if asks:
            self._ask_at_stages()
        is_bare = not acting.is_limited and acting.width == system.nv and acting.paths is None
        self.goes_along = self.is_timed and is_bare and not (mover.judges or self.winds)
        """Whether this state may go from sample to sample in lockstep with others."""
        self.eases = EASES * h * min(1.0, max(FINEST, sqrt(problem.rtol / ROUGH)))
        """The time [s] in which friction turns a slip, at the quickest."""
        self.patience = PATIENCE * max(1.0, (ROUGH / problem.rtol) ** 0.2)
        """So many attempts may take as long as a careful step does."""
        self.heavy = LIGHT * max(float(np.linalg.norm(system.mechanics.gravity)), length)
        self.longest = np.inf
        """The longest step [s]."""
        self.turnover = 0.0
        """The energy [J] that was moved about before the stretch that works are counted in."""

    def _ask_at_stages(self) -> None:
        """Let Python be asked at every stage from now on."""
        session, stages, mover = self.session, self._given, self.mover
        self.asks, self.motors = True, []
        if self.mover.motors:
            self.b[FORCE_INPUTS][:] = 0.0
        self._look = AskedLook(session, session.row("contacts"), self._moving, ("told",), stages, self._ask)
        self._plays[MANY] = AskedPlays(
            session, MANY, self._moving, self.outputs, evaluation_times(mover.method, True), stages, self._ask,
            len(self.tau), self._close if self.acting.asks_motion else None, mover.chosen.reuses,
        )  # fmt: skip

    @property
    def is_timed(self) -> bool:
        """Return whether a controller is asked at samples, up to which steps tell all that is to be known."""
        clock, b = self.free_motion.acting.clock, self.b
        return clock is not None and not self.asks and self.ends_at_result and "met" in b

    @property
    def _given(self) -> tuple[str, ...]:
        """Return the inputs that Python gives at every stage."""
        acting, wrench = self.acting, "f_given" if "f_given" in self.b else "f_ext"
        found: tuple[str, ...] = (self.mover.target,)
        found += (wrench,) if acting.has_python_elements else ()
        found += (FORCE_INPUTS,) if acting.asks_wrenches else ()
        found += ("fields",) if self.bends else ()
        return (*found, "q", "qd", "qdd_given") if acting.asks_motion else found

    def _ask(self, t: float, trial: bool) -> np.ndarray:
        """Give the step what acts at a stage, and return the control forces."""
        b, acting = self.b, self.acting
        if acting.asks_motion:
            b["q"][:], b["qd"][:], b["qdd_given"][:] = acting.prescribed.imposed(t, b["q"], b["qd"])
        tau, control = self.tau, self.free_motion.acting
        if self.controls:
            tau = control.command(t, b["q"], b["qd"], trial=trial)[0]
        # What acts at joints that close loops is another force of the tree at every stage.
        acts = control.at_tree(b["q"], tau[None])
        if acting.has_python_elements:
            near = self.free_motion.near_positions(t, b["q"][0], b["qd"][0])
            acts, wrenches = acting.beyond_compiled(b["q"], b["qd"], acts, near)
            b["f_given" if "f_given" in b else "f_ext"][:] = wrenches
        b[self.mover.target][:] = acts
        if acting.asks_wrenches:
            b[FORCE_INPUTS][:] = acting.told_wrenches(t, b["q"], b["qd"], trial)
        if self.bends:
            b["fields"][:] = self.inside.places.fields(b["q"])
        return tau

    def _close(self, t: float) -> None:
        """Put prescribed joints where they are at the end of a step."""
        self.b["q"][:], self.b["qd"][:], _ = self.acting.prescribed.imposed(t, self.b["q"], self.b["qd"])

    def look(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what contacts do at a state (contacts, told), with the modes that were told last."""
        self._put(t, q, v, np.zeros(len(SOURCES)), self.h, self.window.end)
        self._look()
        return self.b["told"].reshape(-1, TOLD).copy()

    def tell(self, numbers: np.ndarray) -> None:
        """Tell the step what contacts are and do, (contacts, numbers)."""
        self.b["contacts"][0] = numbers.reshape(-1)
        self._told()

    def look_often(self, often: bool) -> None:
        """Let no step pass over what acts by itself, where contacts that hold a mechanism still leave steps as large as
        can be."""
        looks = often and self.acting.is_python and self.step is None
        self.longest = self.window.duration / OFTEN if looks else np.inf

    def keep_time(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Go on from a time and a state q (nq,), v (nv,) that the motion has come to, up to where control forces
        change."""
        self.free_motion.keep_time(t, q, v)
        if self.winds:
            self.free_motion.turns.know(np.array([t]), q[None], v[None])
        self.end = self.free_motion.until(self.window.end)
        if not self.controls and self.free_motion.acting.control is not None:
            self.tau = self.free_motion.commands(t, q, v)
            if self.free_motion.acting.at_loops.difference(self.acting.motors) and not self.asks:
                self._ask_at_stages()

    def _put(
        self, t: float, q: np.ndarray, v: np.ndarray, work: np.ndarray, h: float, end: float,
        last: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        b = self.b
        b["halt"][0, 0] = b["row"][0, 0] = b["wish"][0, 0] = 0.0
        if last is not None:
            b["row"][0, 0], b["wish"][0, 0] = last
        self._put_state(t, q, v, work, h, end)

    def _put_state(
        self, t: float, q: np.ndarray, v: np.ndarray, work: np.ndarray, h: float, end: float
    ) -> None:
        b = self.b
        b["q"][0], b["qd"][0], b["t"][0, 0], b["h"][0, 0], b["end"][0, 0] = q, v, t, h, end
        b[self.mover.target][0] = self.tau[: self.system.nv]
        if self.motors:
            b[FORCE_INPUTS][0, self.acting.wrench_width :] = self.tau[self.motors]
        if self.mover.counts:
            b["work"][0] = work
        if self.mover.judges:
            b["turnover"][0, 0] = self.turnover + np.abs(work).sum()
        if NEAR in b:
            b[NEAR][:] = self.free_motion.near_positions(t, q, v)
        if self.acting.paths is not None:
            self._follow_paths(t, self.acting.paths)

    def _follow_paths(self, t: float, paths: Paths) -> None:
        """Tell the step the polynomials of the time t, and let no step pass the next knot."""
        piece = int(np.searchsorted(self._knots, t + 1e-12 * max(1.0, abs(t)), side="right"))
        if piece != self._piece:
            for name, x in paths.inputs(np.array([t])).items():
                if name in self.b:
                    self.b[name][0] = x[0]
            self._take_path()
            self._piece = piece
        if piece < len(self._knots):
            self.b["end"][0, 0] = min(float(self.b["end"][0, 0]), float(self._knots[piece]))

    @cached_property
    def _knots(self) -> np.ndarray:
        """Return the times at which a path goes over to another polynomial."""
        assert self.acting.paths is not None
        return self.acting.paths.within(self.window.begin, self.window.begin + self.window.duration)

    def moved(self, state: ContactState, span: float) -> Going[ContactState | None]:
        """Return the state a time behind another one that is less than a step; None if one step does not do."""
        self._put(state.t, state.q, state.v, state.work, span, state.t + span)
        self.steps += 1
        tau = self.tau
        if self.asks:
            asked = self._plays[MANY]
            r, bad = asked.results, asked(1)[1]
            tau = asked.tau_now.copy()
        else:
            r, bad = self.alone(1) if self.goes_alone else (yield Play(self, 1))
        if bad or r["accepted"][0, 0] < 0.5:
            return None
        work = r["work"][0].copy() if self.mover.counts else state.work
        q, v = r["q"][0].copy(), r["qd"][0].copy()
        # Where loops have gone back to a closed state, contacts do not stand where the last stage did.
        told = (
            r["told_now"][0].reshape(-1, TOLD).copy()
            if self.ends_at_result
            else self.look(state.t + span, q, v)
        )
        return ContactState(state.t + span, q, v, work, told, tau)

    @cached_property
    def wide(self) -> Program:
        """Return the step for many states; that of this one where it has another tape than they have."""
        mover, every = self.mover, self.every
        if every is None or every.variants.shape == () or self.motors:
            return mover.program_for(MANY)
        acting = ActingForces(replace(self.acting.problem, system=every), ())
        acting.use_paths(self.window.begin)
        found = every.mechanics.program(mover.chosen.algorithm, mover.absent, None, acting.placed)
        own, width = mover.program.tape, found.tape.inputs[CONSTANTS][0]
        self.b[CONSTANTS] = own.constants[None, :width]
        return found if len(found.tape.calls) == len(own.calls) else mover.program

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Return the inputs that are not the same for all states of a batch."""
        names = self.wide.input_names
        if CONSTANTS in names:
            return names
        same = self.mover.constant.keys() - {"contacts", "energy", *self._moving, *self._along}
        return tuple(name for name in names if name not in same)

    @property
    def rare(self) -> tuple[int, int]:
        """Return when occasional sweeps are made."""
        return ONLY_FIRST if self.mover.chosen.reuses else EVERY_TIME

    def alone(self, count: int) -> Played:
        """Return what so many steps tell, {name: (steps, ...)}, and whether something was not finite."""
        if count not in self._plays:
            self._plays[count] = self.session.recording(
                count, self._moving, self.outputs, not self.mover.chosen.reuses
            )
        bad = self._plays[count]()
        return self._plays[count].results, bool(bad)

    def _played(self, ahead: float) -> Going[tuple[dict[str, np.ndarray], int, bool]]:
        """Take some steps, of which about so many are `ahead`, and return what they tell, how many there were, and
        whether something was not finite."""
        if self.asks:
            plays = self._plays[MANY]
            return plays.results, *plays()
        count = _worth(ahead)
        told, bad = self.alone(count) if self.goes_alone else (yield Play(self, count))
        return told, count, bad

    def many(
        self, state: ContactState, h: float, last: tuple[float, float] | None = None
    ) -> Going[ContactSteps]:
        """Take some steps behind a state, the first of about h seconds, up to where a contact changes or to the end;
        `last` are the error and the size of the step before, if there was one."""
        h = h if self.step is None else self.step
        end = self.end if h < 0.25 * self.longest else min(self.end, state.t + self.longest)
        self._put(state.t, state.q, state.v, state.work, h, end, last)
        r, plays, bad = yield from self._played((float(self.b["end"][0, 0]) - state.t) / h)
        count, halts = plays, r["halt"][:plays, 0].tolist()
        if bad:
            finite = np.isfinite(r["told"][:plays]).all(axis=1) & np.isfinite(r["q"][:plays]).all(axis=1)
            count = plays if finite.all() else int(np.argmin(finite))
        ended = next((k for k in range(count) if halts[k] > 0.5), -1)
        doubted = ended >= 0 and float(r["dt"][ended, 0]) > 0.0
        shorter = 0.0
        if doubted:
            # The step could not be vouched for, next to a singular configuration: a shorter one may be.
            tried = float(r["dt"][ended, 0])
            shorter = 0.25 * tried if tried > DOUBTED * self.h else 0.0
            count, ended = ended, -1
        halted, slow = (ended >= 0 and is_so for is_so in (halts[ended] < 1.5, halts[ended] > 1.5))
        if ended >= 0:
            # What contacts do where they change is told by the step that was not taken.
            count = ended + 1
        taken = [k for k, x in enumerate(r["accepted"][:count, 0].tolist()) if x > 0.5]
        reached = r["t"][:count, 0].tolist()
        size = shorter or float(r["h"][max(0, count - 1), 0])
        times = [state.t, *(reached[k] for k in taken)]
        long = next(
            (k for k, a, b in zip(taken, times, times[1:], strict=False) if b - a > LONG * self.longest), -1
        )
        if long >= 0:
            # What acts by itself is not passed over: the rest is taken again by shorter steps.
            count, halted, slow, size, taken = (
                long,
                False,
                False,
                self.longest,
                [k for k in taken if k < long],
            )
            times = times[: len(taken) + 1]
        self.steps += count
        # A step tells what contacts do where it begins.
        begins = [0, *(k + 1 for k in taken if k + 1 < count)] if count else []
        told = _rows(r["told"], begins).reshape(len(begins), *self.shape)
        tau = self._plays[MANY].tau[begins] if self.asks else self.tau
        ahead = None
        if taken and taken[-1] == plays - 1 and self.ends_at_result:
            now = self._plays[MANY].tau_now.copy() if self.asks else self.tau
            ahead = r["told_now"][taken[-1]].copy(), now
        work = _rows(r["work"], taken) if self.mover.counts else np.zeros((len(taken), len(SOURCES)))
        if self.winds and taken:
            near = self.acting.near_by_joint(r[NEAR][taken]) if NEAR in r else None
            self.free_motion.turns.know(np.array(times[1:]), r["q"][taken], r["qd"][taken], near)
        stays = count < plays or (not taken and plays == MANY)
        lost = size < COLLAPSE or (not shorter and (doubted or (stays and long < 0)))
        met = met_last = True
        if "met" in self.outputs and self.ends_at_result:
            found = r["met"][:count, 0].tolist()
            met, met_last = any(found[k] > 0.5 for k in taken), bool(taken) and found[taken[-1]] > 0.5
        return ContactSteps(
            times[1:], _rows(r["q"], taken), _rows(r["qd"], taken), work, told, tau, ahead, halted, slow,
            lost, size, (float(r["row"][plays - 1, 0]), float(r["wish"][plays - 1, 0])), met, met_last,
        )  # fmt: skip

    def to_samples(self, path: Path, h: float) -> Going[float]:
        """Go on from sample to sample of a controller, by steps of about h seconds, as long as nobody has to look at
        what contacts do, and return the size of the next one."""
        b, same, last, counts = self.b, self.window.same, self.window.end, self.mover.counts
        state, waits = path.state(-1), self.free_motion.waits
        now, q, v, work = state.t, state.q, state.v, state.work
        self._put(now, q, v, work, h, self.end)
        while now < last - same and self.end - now <= FEW * h:
            end = b["end"].item()
            count = _worth((end - now) / h)
            # Where each state asks by itself, a step in lanes costs more than one alone.
            r, bad = self.alone(count) if waits is None else (yield Play(self, count))
            self.steps += count
            t, met, final = r["t"], r["met"], count - 1
            if bad or t.item(final) < end or r["halt"].item(final) > 0.5:
                break
            # One step that came to the end was taken.
            taken = [k for k in range(count) if r["accepted"].item(k) > 0.5] if count > 1 else _ONE
            if met.item(0) > 0.5 if taken is _ONE else any(met.item(k) > 0.5 for k in taken):
                break
            for k in taken:
                done = r["work"][k] if counts else work
                path.go_over(t.item(k), r["q"][k], r["qd"][k], done, r["told"][k], self.tau)
            now, h, at = t.item(final), max(self.h, r["h"].item(final)), len(path) - 1
            path.ahead = r["told_now"][final].copy(), self.tau
            self.tick(now)
            if now >= last - same or end < self.end:
                break
            path.before, path.begun = path.ahead, at
            q, v, work = path.q[at], path.v[at], path.work[at]
            if waits is not None:
                along = Along(self, path, h)
                yield waits(now, q, v, along if self.goes_along else None)
                now, h, at = path.t[-1], along.h, len(path) - 1
                q, v, work = path.q[at], path.v[at], path.work[at]
            self.keep_time(now, q, v)
            self._put_state(now, q, v, work, h, self.end)
        return h


def _worth(ahead: float) -> int:
    """Return how many steps a call takes of which about so many are `ahead`: where control forces change soon, about as
    many as there are up to then."""
    if ahead <= 1.0:
        return 1
    return MANY if ahead > 0.5 * MANY else 1 << (ceil(ahead - 1e-9) - 1).bit_length()


def _rows(x: np.ndarray, which: list[int]) -> np.ndarray:
    """Return some rows; those that follow each other are not copied."""
    if which and which[-1] - which[0] + 1 == len(which):
        return x[which[0] : which[-1] + 1]
    return x[which]
