"""Motion with contacts as they are, up to the first change of one of them, by compiled steps one after the other.

Whatever contacts do is told to one and the same step by numbers (`inside`), so that nothing is laid out anew when one
of them changes. A step tells what contacts do where it begins. Where that cannot go on, the step before is taken again,
shorter and shorter, until it ends where the contact changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import hypot
from typing import Any

import numpy as np

from catena.dynamics.contact_forces import PLACES, PULLS, TOLD
from catena.kernels import Session
from catena.simulation.acting.excitation import Excitation
from catena.simulation.arguments import Window
from catena.simulation.contacts.coulomb import OPEN, SLIDE, STICK
from catena.simulation.contacts.deciding import CLOSED, LIGHT, SLOWS
from catena.simulation.contacts.dips import lowest
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.inside import Inside
from catena.simulation.contacts.looking import LIFTS, SLIPPING, STOPS, TOUCHES, Change
from catena.simulation.contacts.meeting import Meeting
from catena.simulation.following import Cancelled, stopped
from catena.simulation.guards.events import Event
from catena.simulation.problem import Touching
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import EventHit, Segment
from catena.simulation.stepping.compiled import COLLAPSE, CompiledSteps
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.methods.work import SOURCES

# What is left of a block of contacts that are not redundant.
DETERMINED = 1e-11
# Attempts after which a motion has got on too slowly, for each careful step that would have done as well.
ATTEMPTS, PATIENCE = 60, 4.0
# Steps in one call.
MANY = 32
# How often a step is taken again to find a change: at most, as secants have it, and then how near to the ends of what
# is left.
TRIALS, SECANTS, CLIP = 60, 8, 1e-3


@dataclass(slots=True, eq=False)
class State:
    """A time, q (nq,), v (nv,), works (sources,), and what contacts do there (contacts, told), None as long as nobody
    has looked."""

    t: float
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    told: Any


class QuickSteps:
    """Takes compiled steps of one state of a system with contacts, within a `window` of a run; `h` is the size of a
    careful step, `length` [m] that of the mechanism. Who follows the run is told by `tick` how far it is, and may
    cancel it."""

    def __init__(
        self,
        free_motion: FreeMotion,
        inside: Inside,
        window: Window,
        length: float,
        h: float,
        tick: Callable[[float], None],
    ) -> None:
        self.free_motion, self.inside, self.window = free_motion, inside, window
        self.length, self.h, self.tick = length, h, tick
        # Whoever takes steps asks the controller, and tells what it gave.
        problem = replace(
            free_motion.problem, control=None, touching=Touching(inside.nodes, inside.numbers.reshape(-1))
        )
        system = self.system = free_motion.system
        self.mover = mover = CompiledSteps(
            Excitation(problem, ()), Drift(system, problem.drift, system.neutral()), None, window.end, tick
        )
        mover.begin(1, min(1e-2, 1e-2 * window.duration), window.begin)
        self.session = session = Session(mover.program, 1)
        self.b = b = session.buffers
        for name, value in (mover.constant | mover.varying).items():
            b[name][:] = value
        session.piece(0, 0, mover.program.input_names, ())()
        counted = ("work",) if mover.counts else ()
        moving = ("q", "qd", "t", "h", "end", "halt", "row", "wish", *counted)
        results = ("q", "qd", "t", "h", "halt", "accepted", "told", "row", "wish", *counted)
        self._told = session.piece(0, 0, ("contacts", mover.target), ())
        self._step = session.piece(0, None, moving, ("q", "qd", "accepted", "told_now", *counted))
        self._many = session.recording(MANY, moving, results)
        self._look = session.piece(0, session.row("contacts"), moving, ("told",))
        self.heavy = LIGHT * max(float(np.linalg.norm(system.gravity)), length)
        self.steps, self.end, self.tau = 0, window.end, np.zeros(system.nv)

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
        self.tau, self.end = self.free_motion.command(t, q, v), self.free_motion.until(self.window.end)
        self.b[self.mover.target][0] = self.tau
        self._told()

    def _put(
        self, t: float, q: np.ndarray, v: np.ndarray, work: np.ndarray, h: float, end: float,
        last: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        b = self.b
        b["q"][0], b["qd"][0], b["t"][0, 0], b["h"][0, 0], b["end"][0, 0] = q, v, t, h, end
        b["halt"][0, 0] = b["row"][0, 0] = b["wish"][0, 0] = 0.0
        if last is not None:
            b["row"][0, 0], b["wish"][0, 0] = last
        if self.mover.counts:
            b["work"][0] = work

    def moved(self, state: State, span: float) -> State | None:
        """Return the state a time behind another one that is less than a step; None if one step does not do."""
        self._put(state.t, state.q, state.v, state.work, span, state.t + span)
        self.steps += 1
        if self._step() or self.b["accepted"][0, 0] < 0.5:
            return None
        b = self.b
        work = b["work"][0].copy() if self.mover.counts else state.work
        told = b["told_now"].reshape(-1, TOLD).copy()
        return State(state.t + span, b["q"][0].copy(), b["qd"][0].copy(), work, told)

    def many(self, state: State, h: float, last: tuple[float, float] | None = None) -> Passed:
        """Take some steps behind a state, the first of about h seconds, up to where a contact changes or to the end;
        `last` are the error and the size of the step before, if there was one."""
        self._put(state.t, state.q, state.v, state.work, h, self.end, last)
        bad, r = self._many(), self._many.results
        halts, count = r["halt"][:, 0].tolist(), MANY
        if bad:
            finite = np.isfinite(r["told"]).all(axis=1) & np.isfinite(r["q"]).all(axis=1)
            count = MANY if finite.all() else int(np.argmin(finite))
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
        work = r["work"][taken] if self.mover.counts else np.zeros((len(taken), len(SOURCES)))
        size = float(r["h"][max(0, count - 1), 0])
        lost = count < MANY or not taken or size < COLLAPSE
        return Passed(
            r["t"][taken, 0], r["q"][taken], r["qd"][taken], work, told, halted, slow, lost, size,
            (float(r["row"][-1, 0]), float(r["wish"][-1, 0])),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Passed:
    """Steps in a row: times t (states,), q (states, nq), v (states, nv) and works (states, sources) behind them, and
    what contacts do (states, contacts, told) where they begin; whether the last was `halted` because a contact changes
    where it begins, or because friction is stiff there (`slow`), whether they are `lost` otherwise, the size `h` of the
    next one, and the error and the size of the `last` one."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    told: np.ndarray
    halted: bool
    slow: bool
    lost: bool
    h: float
    last: tuple[float, float]


class Path:
    """The states that a stretch has passed, of which the last may not be looked at yet, under control forces tau (nv,)
    from each on."""

    def __init__(self, start: State, tau: np.ndarray) -> None:
        self.t, self.told, self.tau = [start.t], list[np.ndarray](), [tau]
        self.parts = [(start.q[None], start.v[None], start.work[None])]
        self.before: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.t)

    def add(self, passed: Passed) -> np.ndarray:
        """Go on by some steps, and return what is new of what contacts are told to do."""
        # Steps that were rejected have told of the last state already.
        told = passed.told[1:] if len(self.told) == len(self.t) else passed.told
        self.t += passed.t.tolist()
        self.tau += [self.tau[-1]] * len(passed.t)
        self.told += list(told)
        if len(passed.t):
            self.parts.append((passed.q, passed.v, passed.work))
        return told

    def go_on(self, tau: np.ndarray) -> None:
        """Go on from the last state under other control forces (nv,); what contacts do there is told anew by the step
        that begins."""
        self.before = self.told.pop(), self.tau[-1]
        self.tau[-1] = tau

    def end_before(self) -> None:
        """End at the last state as it was before control forces changed there, if they did: a contact cannot bear the
        new ones, and they belong to what comes after it has changed."""
        if self.before is not None:
            self.told[len(self.t) - 1 :], self.tau[-1] = [self.before[0]], self.before[1]

    def state(self, k: int) -> State:
        """Return a state, from the last one on if k is negative."""
        at = k % len(self.t)
        back = at - len(self.t)
        for rows in reversed(self.parts):
            if -back <= len(rows[0]):
                q, v, work = (x[back] for x in rows)
                break
            back += len(rows[0])
        return State(self.t[at], q, v, work, self.told[at] if at < len(self.told) else None)

    def stretch(self, count: int, end: State | None, change: Change | None, stiff: bool, steps: int) -> Quick:
        """Return so many of the states, and the `end` if there is one, as a stretch."""
        q, v, work = (np.concatenate(rows)[:count] for rows in zip(*self.parts, strict=True))
        t, told, tau = self.t[:count], self.told[:count], self.tau[:count]
        if end is not None:
            t, told, tau = [*t, end.t], [*told, end.told], [*tau, tau[-1]]
            q, v, work = (np.concatenate([x, y[None]]) for x, y in ((q, end.q), (v, end.v), (work, end.work)))
        return Quick(np.array(t), q, v, np.array(tau), work, np.array(told), change, stiff, steps)


@dataclass(frozen=True, eq=False)
class Quick:
    """A stretch of motion: times t (states,), q (states, nq), v (states, nv), control forces tau (states, nv), works
    (states, sources) and what contacts do (states, contacts, told), the change that ended it, whether it was `stiff`,
    and how many steps were tried."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    work: np.ndarray
    told: np.ndarray
    change: Change | None
    stiff: bool
    steps: int
    events: tuple[EventHit, ...] = ()
    ended: str = ""

    def until(self, count: int, end: State) -> Quick:
        """Return so many of the states, and an `end` behind them."""
        rows = [(self.q, end.q), (self.v, end.v), (self.work, end.work), (self.told, end.told)]
        q, v, work, told = (np.concatenate([x[:count], y[None]]) for x, y in rows)
        tau = np.concatenate([self.tau[:count], self.tau[count - 1 : count]])
        return replace(
            self,
            t=np.append(self.t[:count], end.t),
            q=q,
            v=v,
            tau=tau,
            work=work,
            told=told,
            change=None,
            stiff=False,
        )

    @property
    def forces(self) -> np.ndarray:
        """Return the forces (states, contacts, 3) of contacts in their axes."""
        return self.told[:, :, :3]


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """What must stay above zero, and how far margins of each kind may be below it."""

    values: list[float]
    none: tuple[float, float, float, float]


class QuickStretch:
    """Contacts that go on as they do (`holding`), by quick steps."""

    def __init__(self, quick: QuickSteps, holding: Holding) -> None:
        self.quick, self.holding, self.length = quick, holding, holding.length
        modes, places = holding.standing.modes, holding.free_motion.places
        self.mu = places.friction.tolist()
        closed = holding.closed
        sticks, slides = ([k for k in closed if modes[k] == mode] for mode in (STICK, SLIDE))
        opens, rubs = (
            [k for k, mode in enumerate(modes) if mode == OPEN],
            [k for k in slides if self.mu[k] > 0.0],
        )
        # The kinds of margins that are watched, and of which contacts.
        self.watched = [(kind, k) for kind, some in enumerate((opens, closed, sticks, rubs)) for k in some]
        self.opens, self.open, self.rubs = bool(opens), np.zeros(len(modes), bool), np.zeros(len(modes), bool)
        self.open[opens] = self.rubs[rubs] = True
        yields = holding.standing.yields
        self.light = None if yields is None or not rubs else places.friction * yields
        self.heavy = quick.heavy

    def go(
        self, t: float, q: np.ndarray, v: np.ndarray, h: float, events: Sequence[Event] = ()
    ) -> Quick | None:
        """Return the motion from a time and a state q (nq,), v (nv,) on, with a first step of h seconds; None where the
        forces of contacts are not determined."""
        quick = self.quick
        self.meeting = Meeting(quick.system, quick.window.begin, events, quick.moved) if events else None
        self.seen = 0
        made = self._gone(t, q, v, h)
        if made is None or self.meeting is None or made.ended:
            return made
        rows = zip(made.t.tolist(), made.q, made.v, made.work, made.told, strict=True)
        found = self._ended_by_event([State(*row) for row in rows][self.seen :], made)
        return replace(made, events=tuple(self.meeting.found)) if found is None else found

    def _ended_by_event(self, states: Sequence[State], made: Quick | Path) -> Quick | None:
        """Look for events between the last `states` of what is `made`. Returns the stretch up to the first that ends
        it; None if none does."""
        assert self.meeting is not None
        steps, first = self.quick.steps, self.seen
        ends = self.meeting.along(states)
        self.quick.steps, self.seen = steps, first + max(0, len(states) - 1)
        if ends is None:
            return None
        count, found = first + ends[0] + 1, self.meeting.found
        if isinstance(made, Path):
            made = made.stretch(count, None, None, False, steps)
        return replace(made.until(count, ends[1]), events=tuple(found), ended=found[-1].ended)

    def _gone(self, t: float, q: np.ndarray, v: np.ndarray, h: float) -> Quick | None:
        """Return what `go` does; events of its last states are not looked for yet."""
        quick, holding, inside = self.quick, self.holding, self.quick.inside
        quick.keep_time(t, q, v)
        slip, gap = self._begun(t, q, v)
        # A contact that has just opened may be a little in its plane, and comes out.
        near = 0.1 * CLOSED * self.length - np.minimum(gap, 0.0)
        self.deep = np.where(gap <= CLOSED * self.length, near, 0.0)
        holding.begin_sliding(slip)
        numbers = inside.told(holding, self.deep)
        if self.light is not None:
            # Steps go no further than to where a slip is stiff.
            numbers[:, PLACES["light"]] = np.stack(
                [self.heavy / np.maximum(self.light, 1e-300), SLOWS * quick.h * self.light], axis=1
            )
        quick.tell(numbers)
        self.edges = (self.deep.tolist(), holding.along.tolist(), holding.least.tolist())
        quick.steps = 0
        path, last, self.begun = Path(State(t, q, v, np.zeros(len(SOURCES)), None), quick.tau), None, 0
        while True:
            try:
                quick.tick(path.t[-1])
            except Cancelled as reason:
                made = self._given_up(path, len(path.told))
                return made and replace(made, stiff=False, ended=stopped(reason, float(made.t[-1])))
            passed, done = quick.many(path.state(-1), h, last), len(path.told)
            h, last = passed.h, passed.last
            ended = self._looked(path, done, path.add(passed), passed.halted, passed.slow)
            if ended is not None:
                return ended[0]
            if self.meeting is not None:
                found = self._ended_by_event([path.state(k) for k in range(self.seen, len(path))], path)
                if found is not None:
                    return found
            now = path.t[-1]
            if now >= quick.end - quick.window.same:
                ended = self._at_an_end(path)
                if ended is not None:
                    return ended[0]
                h, last = max(quick.h, h), None
                continue
            # Where nothing rubs, steps are as small as the motion has it, and careful ones would lose what vibrates.
            slow = holding.rubs and quick.steps > ATTEMPTS and quick.steps * quick.h > PATIENCE * (now - t)
            if slow or passed.lost:
                return self._given_up(path, len(path.told))

    def _begun(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return slips (contacts, 2) and gaps (contacts,) at a time and a state."""
        standing = self.holding.standing
        if standing.u is not None and standing.gap is not None:
            return standing.u[:, :2], standing.gap
        self.quick.tell(self.quick.inside.numbers)
        told = self.quick.look(t, q, v)
        return told[:, 3:5], told[:, 6]

    def _at_an_end(self, path: Path) -> tuple[Quick | None] | None:
        """Look at the last state, where no step begins that would tell of a change. Returns the stretch if it ends
        there; else the controller is asked, and it goes on."""
        quick, at, state = self.quick, len(path) - 1, path.state(-1)
        if len(path.told) < len(path):
            told = quick.look(state.t, state.q, state.v)
            path.told.append(told)
            ended = self._looked(path, at, told[None], min(self._margins(told).values) < 0.0, False)
            if ended is not None:
                return ended
        if state.t >= quick.window.end - quick.window.same:
            return (path.stretch(len(path), None, None, False, quick.steps),)
        quick.keep_time(state.t, state.q, state.v)
        path.go_on(quick.tau)
        self.begun = at
        return None

    def _looked(
        self, path: Path, done: int, told: np.ndarray, halted: bool, stiff: bool
    ) -> tuple[Quick | None] | None:
        """Look at the states from number `done` on, of which it is `told` what contacts do; the last step may have been
        `halted` there because a contact changes, or because friction is `stiff`. Returns what the stretch is if it ends
        there, else None."""
        quick, last = self.quick, len(told) - 1
        if not len(told):
            return None
        lost, turns, slow = set[int](), set[int](), {last} if stiff else set[int]()
        if told[:, :, 7].min() < DETERMINED:
            lost.update(np.flatnonzero((told[:, :, 7] < DETERMINED).any(axis=1)).tolist())
        if self.opens:
            rates = (
                told[:, :, 5]
                if not done
                else np.concatenate([path.told[done - 1][None, :, 5], told[:, :, 5]])
            )
            back = (rates[:-1] < 0.0) & (rates[1:] > 0.0) & self.open
            if back.any():
                turns.update((np.flatnonzero(back.any(axis=1)) + (0 if done else 1)).tolist())
        # Within a call steps know what was before, and have halted.
        if done and self.light is not None and self._is_slow(path.told[done - 1], told[0]):
            slow.add(0)
        for k in sorted(lost | turns | slow | ({last} if halted else set())):
            at, changes = done + k, halted and k == last
            if k in lost:
                return (self._given_up(path, at),)
            now = path.state(at)
            if changes and at == self.begun:
                path.end_before()
                return (path.stretch(at + 1, None, self._change(now), False, quick.steps),)
            found = self._located(path.state(at - 1), now, None) if changes else None
            if at and (k in turns or found is not None):
                found = self._dipped(path.state(at - 1), now if found is None else found) or found
            if found is not None:
                return (path.stretch(at, found, self._change(found), False, quick.steps),)
            if at and k in slow:
                return (self._given_up(path, at + 1),)
        return None

    def _given_up(self, path: Path, count: int) -> Quick | None:
        """Return what there is of a motion that compiled steps cannot go on with, None if it is nothing."""
        count = min(count, len(path.told))
        return path.stretch(count, None, None, True, self.quick.steps) if count > 1 else None

    def _margins(self, told: np.ndarray) -> Margins:
        """Return what must stay above zero, of all that is watched: gaps, pressure, friction that is left, slip; and
        how far each of the four may be below."""
        rows, values = told.tolist(), list[float]()
        deep, along, least = self.edges
        most = 1e-300
        for x, y, n, *_ in rows:
            most = max(most, abs(x), abs(y), abs(n))
        none = PULLS * most
        for kind, k in self.watched:
            x, y, n, u, v, _, gap, _ = rows[k]
            if kind == 0:
                values.append(gap + deep[k])
            elif kind == 1:
                values.append(n + none)
            elif kind == 2:
                values.append(self.mu[k] * n - hypot(x, y) + none)
            else:
                values.append(u * along[k][0] + v * along[k][1] - least[k])
        return Margins(values, (9e-4 * CLOSED * self.length, none, none, 1e-8 * self.length))

    def _is_slow(self, before: np.ndarray, told: np.ndarray) -> bool:
        """Return whether friction of a light body stops a slip, which becomes slower, within a part of a careful step,
        from what contacts did before and what is told of them (contacts, told)."""
        assert self.light is not None
        rows = zip(before.tolist(), told.tolist(), self.light.tolist(), self.rubs.tolist(), strict=True)
        for was, now, light, rubs in rows:
            speed, rate = hypot(now[3], now[4]), light * now[2]
            if (
                rubs
                and speed < hypot(was[3], was[4])
                and rate > self.heavy
                and speed < SLOWS * self.quick.h * rate
            ):
                return True
        return False

    def _change(self, state: State) -> Change:
        """Return the change of the first contact whose margin is below zero."""
        values = self._margins(state.told).values
        below = (which for which, x in zip(self.watched, values, strict=True) if x < 0.0)
        kind, k = next(below, self.watched[0])
        return Change(state.t, k, (TOUCHES, LIFTS, SLIPPING, STOPS)[kind])

    def _dipped(self, a: State, b: State) -> State | None:
        """Return where the first open contact that dips into the other side between two states comes to touch; None if
        none does."""
        parts, turns = list[float](), self.open & (a.told[:, 5] < 0.0) & (b.told[:, 5] > 0.0)
        for k in np.flatnonzero(turns).tolist():
            gap, rate = ((float(a.told[k, i]), float(b.told[k, i])) for i in (6, 5))
            at, least = lowest(self.quick.free_motion.places, k, b.t - a.t, (a.q, b.q), (a.v, b.v), gap, rate)
            if least < -self.deep[k]:
                parts.append(at)
        located = (self._located(a, b, part) for part in sorted(parts))
        return next((found for found in located if found is not None), None)

    def _located(self, a: State, b: State, dip: float | None) -> State | None:
        """Return where the first contact changes between two states, at the first of which all margins are above zero;
        None where a dip turns out to be none."""
        quick, begin, end = self.quick, 0.0, b.t - a.t
        low, seen = self._margins(a.told).values, self._margins(b.told)
        if dip is not None:
            found = quick.moved(a, dip * end)
            if found is None:
                return None
            b, end, seen = found, dip * end, self._margins(found.told)
            if min(seen.values) >= 0.0:
                return None
        high = seen.values
        part, side = self._by_cubics(a, low, b, high), 0
        for trial in range(TRIALS):
            if end - begin <= 1e-15 * max(1.0, abs(b.t)) or self._is_there(high, seen):
                break
            clip = CLIP if trial > SECANTS else 0.0
            span = begin + min(max(part, clip), 1.0 - clip) * (end - begin)
            found = quick.moved(a, span) if begin < span < end else None
            if found is None:
                # Too short a step, or one that is not good enough: from the other side.
                part = 0.5 * (1.0 + part)
                if part > 1.0 - CLIP:
                    break
                continue
            now = self._margins(found.told)
            # Regula falsi after Illinois: an end that stays where it is counts half.
            if min(now.values) < 0.0:
                b, end, high, seen = found, span, now.values, now
                low, side = ([0.5 * x for x in low] if side > 0 else low), 1
            else:
                begin, low = span, now.values
                high, side = ([0.5 * x for x in high] if side < 0 else high), -1
            part = self._straight(low, high, now)
        return b

    def _straight(self, low: list[float], high: list[float], seen: Margins) -> float:
        """Return the part of an interval at which the first margin is below zero by next to nothing, if all go
        straight."""
        parts = (
            (x + 0.5 * seen.none[kind]) / (x - y)
            for (kind, _), x, y in zip(self.watched, low, high, strict=True)
            if y < 0.0
        )
        return min([1.0, *parts])

    def _by_cubics(self, a: State, low: list[float], b: State, high: list[float]) -> float:
        """Return the part of a step at which the first margin is expected to be zero: gaps are cubics, because their
        rates are known, and all others go straight."""
        part, h = 1.0, b.t - a.t
        for (kind, k), g0, g1 in zip(self.watched, low, high, strict=True):
            if g1 >= 0.0:
                continue
            if kind == 0:
                d0, d1 = h * float(a.told[k, 5]), h * float(b.told[k, 5])
                cubic = (g0, d0, -3.0 * g0 - 2.0 * d0 + 3.0 * g1 - d1, 2.0 * g0 + d0 - 2.0 * g1 + d1)
                part = min(part, _first_fall(*cubic))
            else:
                part = min(part, g0 / (g0 - g1))
        return part

    def _is_there(self, values: list[float], seen: Margins) -> bool:
        """Return whether margins that are below zero are so by next to nothing."""
        return all(x >= -seen.none[kind] for (kind, _), x in zip(self.watched, values, strict=True))


def _first_fall(a: float, b: float, c: float, d: float) -> float:
    """Return where a + b s + c s^2 + d s^3, which is above zero at 0 and below at 1, is zero first, or nearly so."""
    first = next((k for k in range(1, 16) if a + k / 16 * (b + k / 16 * (c + k / 16 * d)) < 0.0), 16)
    low, high = (first - 1) / 16, first / 16
    for _ in range(40):
        s = 0.5 * (low + high)
        if a + s * (b + s * (c + s * d)) < 0.0:
            high = s
        else:
            low = s
    return high


def quick_trajectory(free_motion: FreeMotion, made: Quick, holding: Holding) -> Segment:
    """Return a stretch of quick steps as a run. Wrenches are computed when somebody looks at them."""
    problem, q, v, work = free_motion.problem, made.q, made.v, made.work
    forces, bodies = made.forces, free_motion.places.bodies_of(holding.closed)

    def compute() -> dict[str, np.ndarray]:
        places = holding.places
        return places.wrenches(places.at(q, v), forces[:, holding.closed])

    settings = {
        "integrator": f"{problem.integrator}, rtol {problem.rtol:g}, atol {problem.atol:g}",
        "drift": "no loops",
        "control": "none" if problem.rate is None else f"{problem.rate:g} Hz",
        "steps taken by": "compiled steps with contacts inside",
    }
    return Segment(
        free_motion.system, made.t, q, v, made.tau, made.steps,
        work={name: work[:, k] for k, name in enumerate(SOURCES)},
        wrenches=OnDemand(bodies, compute) if holding.closed else {}, settings=settings, held=True,
        events=made.events, ended=made.ended,
    )  # fmt: skip
