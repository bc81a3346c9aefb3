"""Motion with contacts as they are, up to the first change of one of them, by compiled steps one after the other.

Whatever contacts do is told to one and the same step by numbers (`inside`), so that nothing is laid out anew when one
of them changes. A step tells what contacts do where it begins. Where that cannot go on, the step before is taken again,
shorter and shorter, until it ends where the contact changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import hypot

import numpy as np

from catena.dynamics.contacts.contact_forces import DETERMINED, PLACES, PULLS
from catena.simulation.contacts.coulomb import OPEN, STICK
from catena.simulation.contacts.deciding import CLOSED, ENDS, ends_at_once
from catena.simulation.contacts.dips import lowest
from catena.simulation.contacts.geometry import HELD
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.looking import ENDED, LIFTS, SLIPPING, STOPS, TOUCHES, ContactChange
from catena.simulation.contacts.meeting import Meeting
from catena.simulation.contacts.quick_path import Path, Quick
from catena.simulation.contacts.quick_steps import ContactState, ContactSteps, QuickSteps
from catena.simulation.guards.events import Event
from catena.simulation.guards.locating import Fallen, Margins, first_fall
from catena.simulation.lanes import Going, alone
from catena.simulation.results.segment import Segment
from catena.simulation.stepping.methods.work import SOURCES

# How much more roughly than to next to nothing changes are located, at most, where motions are rough.
LOOSE = 1e3
# Attempts after which it is looked at how far a motion has come.
ATTEMPTS = 60
# The part of the time that a slip lasts in which it may turn.
SHORT = 0.1
# So many times that part is hardly more than it.
HARDLY = 2.0
# The part of the speed below which the direction of a slip is eased up to which it stays where it began.
KEEPS = 0.005


class QuickStretch:
    """Contacts that go on as they do (`holding`), by quick steps."""

    def __init__(self, quick: QuickSteps, holding: Holding) -> None:
        self.quick, self.holding, self.length = quick, holding, holding.length
        standing, self.mu, self.is_dry = holding.standing, quick.friction, quick.is_dry
        # The kinds of margins that are watched, and of which contacts.
        watched: tuple[list[tuple[int, int]], ...] = ([], [], [], [])
        for k, mode in enumerate(standing.modes):
            if mode == OPEN:
                watched[0].append((0, k))
                continue
            if not self.is_dry[k]:
                watched[1].append((1, k))
            if mode == STICK:
                watched[2].append((2, k))
            elif self.mu[k] > 0.0:
                watched[3].append((3, k))
        self.watched = [each for some in watched for each in some]
        self.opens, self.rubs = ([k for _, k in watched[kind]] for kind in (0, 3))
        self.light: list[float] | None = None
        # Slips below these speeds are turned no faster than steps can follow.
        self.eased: list[float] | None = None
        if standing.yields is not None and self.rubs:
            self.light = [m * x for m, x in zip(self.mu, standing.yields, strict=True)]
            if not quick.least and standing.rates and standing.lasts and standing.turns:
                rates = zip(standing.rates, standing.lasts, strict=True)
                self.eased = [min(quick.eases, SHORT * last) * rate for rate, last in rates]
                begun = zip(holding.free_motion.places.none, standing.turns, self.eased, strict=True)
                holding.slow = [max(none, min(turn, KEEPS * eased)) for none, turn, eased in begun]
        loose = min(LOOSE, max(1.0, quick.free_motion.problem.rtol / 1e-8))
        # A point that sticks may be one that loops do not let go out of the other side again.
        self.located = 1e-7 if quick.closes else min(0.09, 9e-4 * loose)
        self.pulled, self.ended = loose * PULLS, min(0.1, loose * ENDED)
        self.path: Path | None = None

    def go(
        self, t: float, q: np.ndarray, v: np.ndarray, h: float, events: Sequence[Event] = ()
    ) -> Going[Quick | None]:
        """Return the motion from a time and a state q (nq,), v (nv,) on, with a first step of h seconds; None where the
        forces of contacts are not determined."""
        quick = self.quick

        def moved(state: ContactState, span: float) -> ContactState | None:
            return alone(quick.moved(state, span))

        self.meeting = Meeting(quick.system, quick.window.begin, events, moved) if events else None
        self.seen = 0
        made = yield from self._gone(t, q, v, h)
        made = None if made is None else made._replace(counts=quick.mover.counts)
        if made is None or self.meeting is None or made.ended:
            return made
        rows = zip(made.t.tolist(), made.q, made.v, made.work, made.told, made.tau, strict=True)
        found = self._ended_by_event([ContactState(*row) for row in rows][self.seen :], made)
        return made._replace(events=tuple(self.meeting.found)) if found is None else found

    def so_far(self) -> Quick | None:
        """Return what there is of a motion that something went wrong in, None if it is nothing."""
        return None if self.path is None else self._given_up(self.path, len(self.path))

    def _ended_by_event(self, states: Sequence[ContactState], made: Quick | Path) -> Quick | None:
        """Look for events between the last `states` of what is `made`. Returns the stretch up to the first that ends
        it; None if none does."""
        assert self.meeting is not None
        steps, first = self.quick.steps, self.seen
        ends = self.meeting.along(states)
        self.quick.steps, self.seen = steps, first + max(0, len(states) - 1)
        if ends is None:
            return None
        (node, end), found = ends, self.meeting.found
        count = first + node + 1
        if isinstance(made, Path):
            if end.told is None:
                told, tau = self._told_at_end(made)
                end = replace(end, told=told, tau=tau)
            made = made.stretch(count, None, None, False, steps)
        return made.until(count, end)._replace(events=tuple(found), ended=found[-1].ended)

    def _told_at_end(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return what contacts do at the last state, where no step begins that would tell it, and the control forces
        there."""
        quick, state = self.quick, path.state(-1)
        if path.ahead is not None:
            told, tau = path.ahead
            return told.reshape(quick.shape), tau
        return quick.look(state.t, state.q, state.v), quick.free_motion.commands(state.t, state.q, state.v)

    def _gone(self, t: float, q: np.ndarray, v: np.ndarray, h: float) -> Going[Quick | None]:
        """Return what `go` does; events of its last states are not looked for yet."""
        quick, holding = self.quick, self.holding
        yield from quick.free_motion.waiting(t, q, v)
        quick.keep_time(t, q, v)
        slips, gaps = self._begun(t, q, v)
        # A contact that has just opened may be a little in its plane, and comes out.
        touch = CLOSED * self.length
        self.deep = [0.1 * touch - min(gap, 0.0) if gap <= touch else 0.0 for gap in gaps]
        holding.begin_sliding(slips)
        self._tell()
        quick.look_often(bool(holding.closed))
        quick.steps, tried, since = 0, 0, t
        start = ContactState(t, q, v, np.zeros(len(SOURCES)), None, None)
        path, last, self.begun = Path(start, quick.shape, len(quick.tau)), None, 0
        self.path, self.met = path, False
        while True:
            quick.tick(path.t[-1])
            if quick.is_timed and self.meeting is None and path.begun == len(path) - 1:
                h = yield from quick.to_samples(path, h)
                self.begun = max(self.begun, path.begun)
            if path.t[-1] < quick.end - quick.window.same:
                passed, done = (yield from quick.many(path.state(-1), h, last)), path.known
                if not done and self._turns_sooner(passed.told):
                    continue
                h, last = passed.h, passed.last
                ended = yield from self._looked(path, done, path.add(passed), passed)
                if ended is not None:
                    return ended[0]
                if self.meeting is not None:
                    found = self._ended_by_event([path.state(k) for k in range(self.seen, len(path))], path)
                    if found is not None:
                        return found
                lost = passed.lost
            else:
                lost = False
            now = path.t[-1]
            if now >= quick.end - quick.window.same:
                ended = yield from self._at_an_end(path)
                if ended is not None:
                    return ended[0]
                h, last = max(quick.h, h), None
                continue
            slow = False
            if quick.step is None and quick.steps - tried > ATTEMPTS:
                # Where nothing rubs, steps are as small as the motion has it, and careful ones would lose what
                # vibrates. A slip may become slow, and its friction stiff, long after it began.
                slow = holding.rubs and (quick.steps - tried) * quick.h > quick.patience * (now - since)
                tried, since = quick.steps, now
            if slow or lost:
                return self._given_up(path, path.known)

    def forces_in(self, made: Quick, run: Segment) -> Callable[[Segment], np.ndarray]:
        """Return what tells the forces (samples, contacts, 3) of contacts at the samples of a run that was `made` by
        these steps, or of one within it."""
        times, forces, places = made.t, made.forces, self.quick.free_motion.places
        by_modes = self.holding.forces_in(run)

        def told(run: Segment) -> np.ndarray:
            k = slice(None) if run.t is times else np.minimum(np.searchsorted(times, run.t), len(times) - 1)
            is_known = np.array_equal(times[k], run.t)
            if not is_known and self.quick.asks:
                # Python has something to say at each of the samples.
                return by_modes(run)
            own = forces[k] if is_known else self._forces_at(run)
            return places.at(run.q, run.v).in_frame_axes(own) if places.turns.any() else own

        return told

    def _forces_at(self, run: Segment) -> np.ndarray:
        """Return the forces (samples, contacts, 3) of contacts at the samples of a run, in the axes of contacts."""
        quick, found = self.quick, list[np.ndarray]()
        quick.tell(self.numbers)
        acting, nv = quick.free_motion.acting, run.v.shape[-1]
        commands = np.zeros((len(run.t), acting.width))
        commands[:, :nv] = run.tau
        for joint, forces in run.loop_forces.items():
            commands[:, acting.loop_columns[joint]] = forces
        for t, q, v, tau in zip(run.t.tolist(), run.q, run.v, commands, strict=True):
            quick.tau = tau
            found.append(quick.look(t, q, v)[:, :3])
        return np.array(found)

    def _tell(self) -> None:
        """Tell steps what contacts do."""
        quick, holding = self.quick, self.holding
        numbers = quick.inside.numbers_of(holding, self.deep)
        if self.light is not None:
            # Steps go no further than to where a slip is stiff.
            way = ENDS * self.length
            numbers[:, PLACES["light"]] = [(quick.heavy / max(light, 1e-300), way) for light in self.light]
        if self.eased is not None and holding.standing.yields is not None:
            numbers[:, PLACES["soft"]] = list(zip(self.eased, holding.standing.yields, strict=True))
        quick.tell(numbers)
        self.numbers = numbers
        ended = [self.ended * none for none in holding.free_motion.places.none]
        self.edges = self.deep, holding.along, holding.least, ended

    def _turns_sooner(self, told: np.ndarray) -> bool:
        """Return whether slips must turn more quickly than was thought, from what the first step tells (steps,
        contacts, told), and let them: one whose direction is held may end at once where it would not if it turned."""
        if self.eased is None or not len(told):
            return False
        rates, rows, found = self.holding.standing.rates, told[0].tolist(), False
        assert rates is not None
        for k in self.rubs:
            speed, slower = hypot(rows[k][3], rows[k][4]), rows[k][8]
            if speed > self.holding.slow[k] and self.eased[k] * slower > HARDLY * SHORT * speed * rates[k]:
                self.eased[k], found = SHORT * speed / slower * rates[k], True
        if found:
            self._tell()
        return found

    def _begun(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[list[list[float]], list[float]]:
        """Return slips (contacts, 2) and gaps (contacts,) at a time and a state."""
        standing = self.holding.standing
        if standing.u is not None and standing.gap is not None:
            return standing.u[:, :2].tolist(), standing.gap.tolist()
        self.quick.tell(self.quick.inside.numbers)
        told = self.quick.look(t, q, v)
        return told[:, 3:5].tolist(), told[:, 6].tolist()

    def _at_an_end(self, path: Path) -> Going[tuple[Quick | None] | None]:
        """Look at the last state, where no step begins that would tell of a change. Returns the stretch if it ends
        there; else the controller is asked, and it goes on."""
        quick, at, state = self.quick, len(path) - 1, path.state(-1)
        if path.known < len(path):
            told, tau = self._told_at_end(path)
            path.look_ahead(told, tau)
            if self.met:
                ended = yield from self._seen(path, at, told[None], not self._margins(told).are_above, False)
                if ended is not None:
                    return ended
        if state.t >= quick.window.end - quick.window.same:
            return (path.stretch(len(path), None, None, False, quick.steps),)
        yield from quick.free_motion.waiting(state.t, state.q, state.v)
        quick.keep_time(state.t, state.q, state.v)
        path.go_on()
        self.begun = at
        return None

    def _looked(
        self, path: Path, done: int, told: np.ndarray, passed: ContactSteps
    ) -> Going[tuple[Quick | None] | None]:
        """Look at the states from number `done` on, which some steps have `passed` and of which it is `told` what
        contacts do. Returns what the stretch is if it ends there, else None."""
        # What is told behind the last step is told by the next one.
        looks = self.met or passed.met or passed.halted or passed.slow
        self.met = passed.met_last
        if not (looks and len(told)):
            return None
        return (yield from self._seen(path, done, told, passed.halted, passed.slow))

    def _seen(
        self, path: Path, done: int, told: np.ndarray, halted: bool, stiff: bool
    ) -> Going[tuple[Quick | None] | None]:
        """Do what `_looked` does; the last step may have been `halted` because a contact changes, or because friction
        is `stiff`."""
        quick, last = self.quick, len(told) - 1
        lost, turns, slow = set[int](), set[int](), {last} if stiff else set[int]()
        if told[:, :, 7].min() < DETERMINED:
            lost.update(np.flatnonzero((told[:, :, 7] < DETERMINED).any(axis=1)).tolist())
        if self.opens:
            rates = told[:, self.opens, 5]
            if done:
                rates = np.concatenate([path.state(done - 1).told[None, self.opens, 5], rates])
            back = (rates[:-1] < 0.0) & (rates[1:] > 0.0)
            if back.any():
                turns.update((np.flatnonzero(back.any(axis=1)) + (0 if done else 1)).tolist())
        for k in sorted(lost | turns | slow | ({last} if halted else set())):
            at, changes = done + k, halted and k == last
            if k in lost:
                return (self._given_up(path, at),)
            now = path.state(at)
            instead = self._otherwise(now) if changes and self.quick.least else None
            if instead is not None:
                made = path.stretch(at, instead, None, False, quick.steps)
                return (made._replace(otherwise=True),)
            if changes and at == self.begun:
                change = self._change(Fallen(0.0, now, self._margins(now.told)))
                path.end_before()
                return (path.stretch(at + 1, None, change, False, quick.steps),)
            found = (yield from self._located(path.state(at - 1), now, None)) if changes else None
            if at and (k in turns or found is not None):
                dip = yield from self._dipped(path.state(at - 1), now if found is None else found.state)
                found = dip or found
            if found is not None:
                return (path.stretch(at, found.state, self._change(found), False, quick.steps),)
            if at and k in slow:
                ended = self._given_up(path, at + 1)
                return (None if ended is None else ended._replace(slow=self._slow(now.told)),)
        return None

    def _otherwise(self, state: ContactState) -> ContactState | None:
        """Return a state at which the least forces of redundant contacts pull or leave their cones with others that do
        not; None where there are none, or something else changes."""
        holding, margins = self.holding, self._margins(state.told)
        if any(x < 0.0 for (kind, _), x in zip(self.watched, margins.values, strict=True) if kind in (0, 3)):
            return None
        holding.redundant = True
        told, t = state.told.copy(), np.array([state.t])
        tau = self.quick.free_motion.acting.at_tree(state.q[None], state.tau[None])
        told[holding.closed, :3] = holding.forces(t, state.q[None], state.v[None], tau).f[0]
        return replace(state, told=told) if self._margins(told).are_above else None

    def _given_up(self, path: Path, count: int) -> Quick | None:
        """Return what there is of a motion that compiled steps cannot go on with, None if it is nothing."""
        count = min(count, path.known)
        return path.stretch(count, None, None, True, self.quick.steps) if count > 1 else None

    def _margins(self, told: np.ndarray) -> Margins:
        """Return what must stay above zero, of all that is watched: gaps, pressure, friction that is left, slip; and
        how far each of the four may be below."""
        rows, values = told.tolist(), list[float]()
        deep, along, least, ended = self.edges
        most = 1e-300
        for x, y, n, *_ in rows:
            most = max(most, abs(x), abs(y), abs(n))
        nothing = PULLS * most
        for kind, k in self.watched:
            x, y, n, u, v, _, gap, *_ = rows[k]
            none = HELD * abs(n) if self.is_dry[k] else nothing
            if kind == 0:
                values.append(gap + deep[k])
            elif kind == 1:
                values.append(n + none)
            elif kind == 2:
                values.append(self.mu[k] * n - hypot(x, y) + none)
            else:
                values.append(u * along[k][0] + v * along[k][1] - least[k])
        each = self.located * CLOSED * self.length, self.pulled * most, self.pulled * most
        return Margins(values, [each[kind] if kind < 3 else ended[k] for kind, k in self.watched])

    def _slow(self, told: np.ndarray) -> tuple[int, ...]:
        """Return the contacts whose slips friction of a light body stops at once, from what is told of them (contacts,
        told)."""
        assert self.light is not None
        found = list[int]()
        rows = told.tolist()
        for k in self.rubs:
            now = rows[k]
            rate, speed = self.light[k] * now[2], hypot(now[3], now[4])
            if (
                rate > self.quick.heavy
                and speed > self.holding.slow[k]
                and ends_at_once(speed, now[8], self.length)
            ):
                found.append(k)
        return tuple(found)

    def _change(self, found: Fallen[ContactState]) -> ContactChange:
        """Return the change of the first contact whose margin is below zero."""
        below = (which for which, x in zip(self.watched, found.seen.values, strict=True) if x < 0.0)
        kind, k = next(below, self.watched[0])
        return ContactChange(found.state.t, k, (TOUCHES, LIFTS, SLIPPING, STOPS)[kind])

    def _dipped(self, a: ContactState, b: ContactState) -> Going[Fallen[ContactState] | None]:
        """Return where the first open contact that dips into the other side between two states comes to touch; None if
        none does."""
        parts = list[float]()
        for k in self.opens:
            if a.told[k, 5] >= 0.0 or b.told[k, 5] <= 0.0:
                continue
            gap, rate = ((float(a.told[k, i]), float(b.told[k, i])) for i in (6, 5))
            at, least = lowest(self.quick.free_motion.places, k, b.t - a.t, (a.q, b.q), (a.v, b.v), gap, rate)
            if least < -self.deep[k]:
                parts.append(at)
        for part in sorted(parts):
            found = yield from self._located(a, b, part)
            if found is not None:
                return found
        return None

    def _located(
        self, a: ContactState, b: ContactState, dip: float | None
    ) -> Going[Fallen[ContactState] | None]:
        """Return where the first contact changes between two states, at the first of which all margins are above zero;
        None where a dip turns out to be none."""
        quick, end = self.quick, b.t - a.t
        low, seen = self._margins(a.told).values, self._margins(b.told)
        if dip is not None:
            found = yield from quick.moved(a, dip * end)
            if found is None:
                return None
            b, end, seen = found, dip * end, self._margins(found.told)
            if seen.are_above:
                return None
        part = self._by_cubics(a, low, b, seen.values)
        moved = partial(quick.moved, a)
        last, now = Fallen(end, b, seen), a.t
        return (yield from first_fall(low, last, moved, lambda state: self._margins(state.told), part, now))

    def _by_cubics(self, a: ContactState, low: list[float], b: ContactState, high: list[float]) -> float:
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
