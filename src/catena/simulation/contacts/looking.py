"""When the first contact of a stretch of motion changes: a gap closes, a force would pull or leave its cone, or a slip
ends.

What must stay above zero is looked at where steps end, for all contacts at once, and gaps also between (`dips`).
Forces are looked at between as well where something acts that changes by itself: while contacts hold a mechanism still,
its steps are as large as can be, whatever pushes it. The time is then found in the motion itself (`guards.locating`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from catena.dynamics.contacts.contact_forces import PULLS
from catena.simulation.contacts.coulomb import OPEN
from catena.simulation.contacts.deciding import CLOSED
from catena.simulation.contacts.dips import lowest
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.quick_steps import OFTEN
from catena.simulation.guards.locating import Fallen, Margins, first_fall
from catena.simulation.lanes import Going, alone
from catena.simulation.results.segment import Segment
from catena.system import tree_forces

# Where forces bend by more than this part of what is left of them, places between are looked at as well, so many times
# in a row.
BENDS, CLOSER = 0.25, 6
# The part of a slip that is none up to which the end of one is found.
ENDED = 1e-2

TOUCHES, LIFTS, SLIPPING, STOPS = "touches", "lifts", "slips", "stops sliding"


class ContactChange(NamedTuple):
    """The first change of a stretch: when, of which contact, and what it does then."""

    t: float
    contact: int
    what: str


class _At(NamedTuple):
    """A state q (nq,), v (nv,) of a run at a time."""

    t: float
    q: np.ndarray
    v: np.ndarray


@dataclass(eq=False)
class Looking:
    """What must stay above zero while contacts go on as they do, in a run of `duration` seconds."""

    holding: Holding
    duration: float

    def __post_init__(self) -> None:
        holding = self.holding
        self.open = holding.standing.those(OPEN)
        self.margins: list[tuple[int, str]] = [(k, TOUCHES) for k in self.open]
        dry = holding.free_motion.places.is_dry
        self.pressing = [i for i, k in enumerate(holding.closed) if not dry[k]]
        self.margins += [(holding.closed[i], LIFTS) for i in self.pressing]
        self.slipping = [i for i, sticks in enumerate(holding.sticks) if sticks]
        self.stopping = [
            i for i, k in enumerate(holding.closed) if not holding.sticks[i] and holding.mu[i] > 0.0
        ]
        self.margins += [(holding.closed[i], SLIPPING) for i in self.slipping]
        self.margins += [(holding.closed[i], STOPS) for i in self.stopping]

    def begin(self, gap: np.ndarray) -> None:
        """Begin with gaps (contacts,): a contact that has just opened may be a little in its plane, and comes out."""
        self.deep = 0.1 * CLOSED * self.holding.length - np.minimum(gap, 0.0)

    def first(self, run: Segment) -> ContactChange | None:
        """Return the first change along a run, in its times; None if there is none."""
        values, gap, rate, _ = self._values(run.t, run.q, run.v, run.tree_forces)
        wrong = values < 0.0
        found = np.flatnonzero(wrong.any(axis=1))
        last = int(found[0]) if len(found) else len(run.t)
        dip = self._dips(run, gap[: last + 1], rate[: last + 1])
        hidden = self._hidden(run, run.t[: last + 1], values[: last + 1])
        between = [interval for interval in (dip, hidden) if interval is not None]
        if between:
            begin, end = min(between)
        elif last == len(run.t):
            return None
        elif last == 0:
            return ContactChange(float(run.t[0]), *self.margins[int(np.argmax(wrong[0]))])
        else:
            begin, end = float(run.t[last - 1]), float(run.t[last])
        return self._located(run, begin, end)

    def _values(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return what must stay above zero (states, margins), gaps and their rates (states, contacts), and forces
        (states,) that are none."""
        holding = self.holding
        all_touches = holding.free_motion.places.at(q, v)
        gap, rate = all_touches.gap, all_touches.u[..., 2]
        parts, nothing = [gap[:, self.open] + self.deep[self.open]], np.zeros(len(q))
        if holding.closed:
            f = holding.forces(t, q, v, tau).f
            nothing = PULLS * np.maximum(np.abs(f).max(axis=(1, 2)), 1e-300)
            none = holding.places.nothing(f, nothing[:, None])
            rubs = np.hypot(f[..., 0], f[..., 1])
            slips = (all_touches.u[:, holding.closed, :2] * np.asarray(holding.along)[holding.closed]).sum(
                axis=-1
            )
            parts += [
                (f[..., 2] + none)[:, self.pressing],
                (holding.mu * f[..., 2] - rubs + none)[:, self.slipping],
                (slips - np.array(holding.least)[holding.closed])[:, self.stopping],
            ]
        return np.concatenate(parts, axis=1), gap, rate, nothing

    def _margins(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Margins:
        """Return what must stay above zero at one time t (1,) and state q (1, nq), v (1, nv)."""
        values, _, _, none = self._values(t, q, v, tau)
        length, forces = self.holding.length, len(self.pressing) + len(self.slipping)
        each = [9e-4 * CLOSED * length] * len(self.open) + [float(none[0])] * forces
        still = self.holding.free_motion.places.still
        each += [ENDED * float(still[self.holding.closed[i]]) for i in self.stopping]
        return Margins(values[0].tolist(), each)

    def _dips(self, run: Segment, gap: np.ndarray, rate: np.ndarray) -> tuple[float, float] | None:
        """Return the first interval, up to the lowest place, in which an open contact dips into the other side between
        two of the first steps of a run, where gaps and their rates (states, contacts) are known."""
        if len(gap) < 2 or not self.open:
            return None
        turns = (rate[:-1] < 0.0) & (rate[1:] > 0.0)
        found: list[tuple[float, float]] = []
        for i, k in zip(*np.nonzero(turns[:, self.open]), strict=True):
            begin, contact = float(run.t[i]), self.open[k]
            if found and begin > found[0][0]:
                break
            h, two = float(run.t[i + 1]) - begin, slice(i, i + 2)
            at, least = lowest(
                self.holding.free_motion.places, contact, h, (run.q[i], run.q[i + 1]), (run.v[i], run.v[i + 1]),
                tuple(gap[two, contact].tolist()), tuple(rate[two, contact].tolist()),
            )  # fmt: skip
            if least < -self.deep[contact]:
                found.append((begin, begin + at * h))
        return min(found, default=None)

    def _hidden(self, run: Segment, t: np.ndarray, values: np.ndarray) -> tuple[float, float] | None:
        """Return the first interval between steps that end at the times t (states,), with what must stay above zero
        there (states, margins), in which a force pulls or leaves its cone for a while."""
        least = self.duration / OFTEN
        if not (self.holding.closed and self.holding.free_motion.changes_by_itself) or len(t) < 2:
            return None
        h = np.diff(t)
        parts = np.ceil(h / least * (1.0 - 1e-9)).astype(int)
        if parts.max() < 2:
            return None
        new = np.concatenate([a + b * np.arange(1, n) / n for a, b, n in zip(t, h, parts, strict=False)])
        f, wide = values[:, len(self.open) :], least / 2.0**CLOSER
        for _ in range(CLOSER):
            q, v = run.at(new)
            more = self._values(new, q, v, self._forces_at(run, new, q, v))[0][:, len(self.open) :]
            order = np.argsort(np.concatenate([t, new]), kind="stable")
            t, f = np.concatenate([t, new])[order], np.concatenate([f, more])[order]
            wrong = np.flatnonzero((f < 0.0).any(axis=1))
            if len(wrong):
                t, f = t[: wrong[0] + 1], f[: wrong[0] + 1]
            if len(t) < 3:
                break
            h = np.diff(t)[:, None]
            straight = (f[:-2] * h[1:] + f[2:] * h[:-1]) / (h[:-1] + h[1:])
            left = np.minimum(np.minimum(f[:-2], f[2:]), f[1:-1])
            bends = (np.abs(f[1:-1] - straight) > BENDS * np.maximum(left, 0.0)).any(axis=1)
            h, near = h[:, 0], np.zeros(len(t) - 1, dtype=bool)
            near[:-1] |= bends
            near[1:] |= bends
            near &= h > wide
            new = t[:-1][near] + 0.5 * h[near]
            if not len(new):
                break
        return (float(t[-2]), float(t[-1])) if (f[-1] < 0.0).any() else None

    def _located(self, run: Segment, begin: float, end: float) -> ContactChange | None:
        """Return the first change between two times at the first of which all margins are above zero; None where it is
        found between steps by a cubic, but not by the motion, which only comes near."""

        def at(after: float) -> _At:
            return _At(begin + after, *run.at(begin + after))

        def given(after: float) -> Going[_At | None]:
            yield from ()
            return at(after)

        def margins(state: _At) -> Margins:
            t, q, v = np.array([state.t]), state.q[None], state.v[None]
            return self._margins(t, q, v, self._forces_at(run, t, q, v))

        last, low = at(end - begin), [max(0.0, x) for x in margins(at(0.0)).values]
        seen = margins(last)
        if seen.are_above:
            return None
        part = seen.straight(low, seen.values)
        found = alone(first_fall(low, Fallen(end - begin, last, seen), given, margins, part, begin))
        which = next(k for k, x in enumerate(found.seen.values) if x < 0.0)
        return ContactChange(found.state.t, *self.margins[which])

    def _forces_at(self, run: Segment, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the control forces (times, nv) at times between steps."""
        if run.held:
            k = np.clip(np.searchsorted(run.t, times, side="right") - 1, 0, len(run.t) - 1)
            motors = {name: x[k] for name, x in run.loop_forces.items()}
            return run.tau[k] + tree_forces(run.system, q, motors) if motors else run.tau[k]
        asked = [
            self.holding.free_motion.command(float(t), x, y) for t, x, y in zip(times, q, v, strict=True)
        ]
        return np.array(asked)
