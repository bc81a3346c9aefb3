"""Compiled steps of one state with contacts inside, many in a call.

Whatever contacts do is told to one and the same step by numbers (`inside`), so that nothing is laid out anew when one
of them changes. A controller with a rate is asked where its forces end; one that is always asked is so at the pauses of
the same step (`asked_plays`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from catena.dynamics.contacts.contact_forces import TOLD
from catena.kernels import Session
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.arguments import TimeWindow
from catena.simulation.contacts.deciding import LIGHT
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.inside import Inside
from catena.simulation.following import nobody_follows
from catena.simulation.problem import Touching
from catena.simulation.stepping.asked_plays import AskedLook, AskedPlays
from catena.simulation.stepping.compiled import COLLAPSE, CompiledSteps
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.methods.step import evaluation_times
from catena.simulation.stepping.methods.work import SOURCES

# Steps in one call.
MANY = 32


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


@dataclass(frozen=True, eq=False)
class ContactSteps:
    """Steps in a row: times t (states,), q (states, nq), v (states, nv) and works (states, sources) behind them, and
    what contacts do (states, contacts, told) and control forces tau, (nv,) each, where they begin; both also at the end
    of the last one, if that was taken (`ahead`); whether the last was `halted` because a contact changes where it
    begins, or because friction is stiff there (`slow`), whether they are `lost` otherwise, the size `h` of the next
    one, and the error and the size of the `last` one."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    told: np.ndarray
    tau: Sequence[np.ndarray]
    ahead: tuple[np.ndarray, np.ndarray] | None
    halted: bool
    slow: bool
    lost: bool
    h: float
    last: tuple[float, float]


class QuickSteps:
    """Takes compiled steps of one state of a system with contacts, within a `window` of a run; `h` is the size of a
    careful step, `length` [m] that of the mechanism. Who follows the run is told by `tick` how far it is, and may
    cancel it."""

    def __init__(
        self,
        free_motion: FreeMotion,
        inside: Inside,
        window: TimeWindow,
        length: float,
        h: float,
        tick: Callable[[float], None] = nobody_follows,
    ) -> None:
        self.free_motion, self.inside, self.window = free_motion, inside, window
        self.length, self.h, self.tick = length, h, tick
        # Whoever takes steps asks the controller, and tells what it gave.
        problem = replace(
            free_motion.problem, control=None, touching=Touching(inside.nodes, inside.numbers.reshape(-1))
        )
        system = self.system = free_motion.system
        self.mover = mover = CompiledSteps(
            ActingForces(problem, ()), Drift(system, problem.drift, system.neutral()), None, window.end, tick
        )
        mover.begin(1, min(1e-2, 1e-2 * window.duration), window.begin)
        self.session = session = Session(mover.program, 1)
        self.b = b = session.buffers
        for name, value in (mover.constant | mover.varying).items():
            b[name][:] = value
        session.piece(0, 0, mover.program.input_names, ())()
        counted = ("work",) if mover.counts else ()
        self._moving = ("q", "qd", "t", "h", "end", "halt", "row", "wish", mover.target, *counted)
        self._results = ("q", "qd", "t", "h", "halt", "accepted", "told", "told_now", "row", "wish", *counted)
        self._told = session.piece(0, 0, ("contacts",), ())
        self.asks = free_motion.excitation.is_asked_always
        self._look: Callable[[], int]
        self._plays: dict[int, Any] = {}
        row = session.row("contacts")
        if self.asks:
            self._look = AskedLook(session, row, self._moving, ("told",), mover.target, self._asked)
            self._plays[MANY] = AskedPlays(
                session, MANY, self._moving, self._results, evaluation_times(mover.method), mover.target, self._asked
            )  # fmt: skip
        else:
            self._look = session.piece(0, row, self._moving, ("told",))
        self._step = session.piece(0, None, self._moving, ("q", "qd", "accepted", "told_now", *counted))
        self.heavy = LIGHT * max(float(np.linalg.norm(system.gravity)), length)
        self.steps, self.end, self.tau = 0, window.end, np.zeros(system.nv)

    def _asked(self, t: float, q: np.ndarray, v: np.ndarray, trial: bool) -> np.ndarray:
        return self.free_motion.excitation.command(t, q, v, trial=trial)

    def look(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what contacts do at a state (contacts, told), with the modes that were told last."""
        self._put(t, q, v, np.zeros(len(SOURCES)), self.h, self.window.end)
        self._look()
        return self.b["told"].reshape(-1, TOLD).copy()

    def tell(self, numbers: np.ndarray) -> None:
        """Tell the step what contacts are and do, (contacts, numbers)."""
        self.b["contacts"][0] = numbers.reshape(-1)
        self._told()

    def keep_time(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Go on from a time and a state q (nq,), v (nv,) that the motion has come to, up to where control forces
        change."""
        self.free_motion.keep_time(t, q, v)
        self.end = self.free_motion.until(self.window.end)
        if not self.asks:
            self.tau = self.free_motion.command(t, q, v)

    def _put(
        self, t: float, q: np.ndarray, v: np.ndarray, work: np.ndarray, h: float, end: float,
        last: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        b = self.b
        b["q"][0], b["qd"][0], b["t"][0, 0], b["h"][0, 0], b["end"][0, 0] = q, v, t, h, end
        b["halt"][0, 0] = b["row"][0, 0] = b["wish"][0, 0] = 0.0
        b[self.mover.target][0] = self.tau
        if last is not None:
            b["row"][0, 0], b["wish"][0, 0] = last
        if self.mover.counts:
            b["work"][0] = work

    def moved(self, state: ContactState, span: float) -> ContactState | None:
        """Return the state a time behind another one that is less than a step; None if one step does not do."""
        self._put(state.t, state.q, state.v, state.work, span, state.t + span)
        self.steps += 1
        b, tau = self.b, self.tau
        if self.asks:
            if self._plays[MANY](1)[1]:
                return None
            tau = self._plays[MANY].tau_now
        elif self._step():
            return None
        if b["accepted"][0, 0] < 0.5:
            return None
        work = b["work"][0].copy() if self.mover.counts else state.work
        told = b["told_now"].reshape(-1, TOLD).copy()
        return ContactState(state.t + span, b["q"][0].copy(), b["qd"][0].copy(), work, told, tau)

    def _played(self, ahead: float) -> tuple[dict[str, np.ndarray], int, bool]:
        """Take some steps, of which about so many are `ahead`, and return what they tell, how many there were, and
        whether something was not finite."""
        if self.asks:
            plays = self._plays[MANY]
            return plays.results, *plays()
        # Where control forces change soon, a call takes about as many steps as there are up to then.
        count = MANY if ahead > 0.5 * MANY else 1 << (max(1, ceil(ahead - 1e-9)) - 1).bit_length()
        if count not in self._plays:
            self._plays[count] = self.session.recording(count, self._moving, self._results)
        bad = self._plays[count]()
        return self._plays[count].results, count, bool(bad)

    def many(self, state: ContactState, h: float, last: tuple[float, float] | None = None) -> ContactSteps:
        """Take some steps behind a state, the first of about h seconds, up to where a contact changes or to the end;
        `last` are the error and the size of the step before, if there was one."""
        self._put(state.t, state.q, state.v, state.work, h, self.end, last)
        r, plays, bad = self._played((self.end - state.t) / h)
        count, halts = plays, r["halt"][:plays, 0].tolist()
        if bad:
            finite = np.isfinite(r["told"][:plays]).all(axis=1) & np.isfinite(r["q"][:plays]).all(axis=1)
            count = plays if finite.all() else int(np.argmin(finite))
        ended = next((k for k in range(count) if halts[k] > 0.5), -1)
        halted, slow = (ended >= 0 and is_so for is_so in (halts[ended] < 1.5, halts[ended] > 1.5))
        if ended >= 0:
            # What contacts do where they change is told by the step that was not taken.
            count = ended + 1
        self.steps += count
        taken = [k for k, x in enumerate(r["accepted"][:count, 0].tolist()) if x > 0.5]
        # A step tells what contacts do where it begins.
        begins = [k for k in (0, *(k + 1 for k in taken)) if k < count]
        told = r["told"][begins].reshape(len(begins), len(self.inside.nodes), TOLD)
        tau = list(self._plays[MANY].tau[begins]) if self.asks else [self.tau] * len(begins)
        ahead = None
        if taken and taken[-1] == plays - 1:
            now = self._plays[MANY].tau_now if self.asks else self.tau
            ahead = r["told_now"][taken[-1]].reshape(-1, TOLD).copy(), now
        work = r["work"][taken] if self.mover.counts else np.zeros((len(taken), len(SOURCES)))
        size = float(r["h"][max(0, count - 1), 0])
        lost = count < plays or (not taken and plays == MANY) or size < COLLAPSE
        return ContactSteps(
            r["t"][taken, 0], r["q"][taken], r["qd"][taken], work, told, tau, ahead, halted, slow, lost, size,
            (float(r["row"][plays - 1, 0]), float(r["wish"][plays - 1, 0])),
        )  # fmt: skip
