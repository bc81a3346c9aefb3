"""The states a run has passed: for each state of a batch its own times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

Part = tuple[np.ndarray, ...]
# A column is put together for so many times fewer rows than it has.
MANY = 4
# So many small parts become one.
SMALL = 256


class StepHistory:
    """What states have passed, in order of states and times: the numbers `who` (n,) of states and times t (n,). With
    each node go q (nq,), v (nv,), the works (sources,) done until then, and of the way that led to it the control
    forces tau (nv,) and the accelerations vdot (nv,) with which it began; of the first node of a state these say
    nothing.

    Of many nodes few are looked at, so only what is asked for is brought into order."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = [part for part in parts if len(part[0])] or list(parts[:1])
        who, t = (np.concatenate([part[k] for part in self._parts]) for k in (0, 1))
        self._order = _order(who, t)
        self.who, self.t = who[self._order], t[self._order]
        self._columns: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.t)

    def q(self, rows: np.ndarray) -> np.ndarray:
        """Return positions (m, nq) at some of the nodes (m,)."""
        return self._taken(2, rows)

    def v(self, rows: np.ndarray) -> np.ndarray:
        """Return velocities (m, nv)."""
        return self._taken(3, rows)

    def work(self, rows: np.ndarray) -> np.ndarray:
        """Return works (m, sources)."""
        return self._taken(4, rows)

    def tau(self, rows: np.ndarray) -> np.ndarray:
        """Return the control forces (m, nv) on the way to nodes."""
        return self._taken(5, rows)

    def vdot(self, rows: np.ndarray) -> np.ndarray:
        """Return the accelerations (m, nv) with which the ways to nodes began."""
        return self._taken(6, rows)

    def everywhere(self, function: Callable[..., np.ndarray]) -> np.ndarray:
        """Return the values (n,) of a function of states, times, q and v at all nodes."""
        return np.concatenate([function(*part[:4]) for part in self._parts])[self._order]

    def taken(self, rows: np.ndarray, lead: np.ndarray) -> Part:
        """Return some of the nodes (m,) with all that goes with them; what belongs to the ways to them is that of the
        nodes `lead` (m,)."""
        there = (self._taken(k, rows) for k in (2, 3, 4))
        return (self.who[rows], self.t[rows], *there, *(self._taken(k, lead) for k in (5, 6)))

    def _taken(self, column: int, rows: np.ndarray) -> np.ndarray:
        raw = self._order[rows]
        if column not in self._columns and MANY * len(raw) < len(self.t):
            found = np.empty((len(raw), self._parts[0][column].shape[1]))
            begin = 0
            for part in self._parts:
                own = np.flatnonzero((raw >= begin) & (raw < begin + len(part[0])))
                found[own] = part[column][raw[own] - begin]
                begin += len(part[0])
            return found
        if column not in self._columns:
            self._columns[column] = np.concatenate([part[column] for part in self._parts])
        found = self._columns[column][raw]
        return found


class Gatherer(Protocol):
    """Whoever wants to see every node once."""

    def add(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> None:
        """Take note of nodes of the states `who` (n,), in order of states and times."""


class Room:
    """Columns with room for so many nodes of one state, like those of a part `like` it. Each column is one piece of
    memory from the beginning, so that nothing has to be put together in the end."""

    def __init__(self, like: Part, nodes: int) -> None:
        # One row more, for the forces that act from the last node on.
        self.columns = tuple(np.empty((nodes + 1, *x.shape[1:]), dtype=x.dtype) for x in like)
        self.count = 0

    def add(self, part: Part) -> Part | None:
        """Return a part as rows of the columns, None where there is no room for it."""
        rows = slice(self.count, self.count + len(part[0]))
        if rows.stop >= len(self.columns[0]):
            return None
        for column, x in zip(self.columns, part, strict=True):
            column[rows] = x
        self.count = rows.stop
        return tuple(column[rows] for column in self.columns)

    def all(self, tau_now: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return what `StepRecord.all` does."""
        self.columns[5][self.count] = tau_now[0]
        t, q, v, work = (column[None, : self.count] for column in self.columns[1:5])
        return t, q, v, work, self.columns[5][None, 1 : self.count + 1]


class StepRecord:
    """Times, positions, velocities and works of a number of states, growing as they move on. With each node go the
    control forces and the accelerations at the start of the way that led to it. `work` (states, n) is what states
    carry along at first: works done, and positions that loop joints are near.

    Where only the nodes before some times `before` (n,) are asked for, others are left out when the record is settled,
    but for the last of each state, and a `tally` sees all of them then. Unless it `waits` until somebody has looked at
    what was passed, it settles whenever nodes are added. Of a single state `nodes` may be expected."""

    def __init__(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        work: np.ndarray,
        before: np.ndarray | None = None,
        tally: Gatherer | None = None,
        waits: bool = False,
        nodes: int = 0,
    ) -> None:
        self.states, self.before, self.tally, self.waits = len(q), before, tally, waits
        self.wants_all = before is None or waits or tally is not None
        """Whether all nodes must be added."""
        self.ended = np.zeros(self.states, dtype=bool)
        still = t.copy(), q.copy(), v.copy(), work.copy()
        self._start = still[0]
        self._parts: list[Part] = [(np.arange(self.states), *still, tau.copy(), np.zeros(v.shape))]
        # As long as parts are nothing but rows of it.
        self._room = Room(self._parts[0], nodes) if nodes else None
        if nodes:
            self._use_room(0)
        # How many parts are settled; the last of them are the last nodes of states. How many need not be gathered.
        self._settled = self._gathered = 1

    @property
    def mark(self) -> int:
        """Return a number that stands for what has been added so far."""
        return len(self._parts)

    def needed(self, who: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return which of the nodes of states `who` (n,) at times t (n,) must be added: those with a time that is asked
        for between them and the next node of their state, and the last of each state. All, where all are asked for. The
        nodes are in order of states and times."""
        if self.before is None or self.wants_all:
            return np.ones(len(t), dtype=bool)
        return _before(self.before, who, t)

    def add(
        self,
        who: np.ndarray,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        work: np.ndarray,
        tau: np.ndarray,
        vdot: np.ndarray,
    ) -> None:
        """Append nodes of the states `who` (n,), in order of time for each of them."""
        part = (who, t, q, v, work, tau, vdot)
        if np.count_nonzero(self.ended):
            going = ~self.ended[who]
            part = tuple(x[going] for x in part)
        self._parts.append(part)
        if self._room is not None:
            self._use_room(-1)
        if not self.waits:
            self.settle()

    def _use_room(self, k: int) -> None:
        """Let a part be rows of the room, as long as there is some."""
        assert self._room is not None
        part = self._room.add(self._parts[k])
        if part is None:
            self._room = None
        else:
            self._parts[k] = part

    def gather(self) -> None:
        """Make one of many small parts, so that all of them are put together soon at the end. Marks of parts that were
        passed hold no longer."""
        needs_none = self._room is not None or self.before is not None or self.tally is not None
        if len(self._parts) - self._gathered > SMALL and not needs_none:
            self._parts[self._gathered :] = [_together(self._parts[self._gathered :])]
            self._gathered += 1

    def settle(self) -> None:
        """Show what was added since the last time to the tally, and leave out of it what nobody asks for."""
        if self.before is None and self.tally is None:
            return
        fresh = self._parts[self._settled :]
        if not fresh:
            return
        if self.tally is not None:
            who, t, q, v, _, _, vdot = _in_order(_together(fresh))
            self.tally.add(who, t, q, v, vdot)
        if self.before is None:
            self._settled = len(self._parts)
            return
        passed = StepHistory(self._parts[self._settled - 1 :])
        wanted = _before(self.before, passed.who, passed.t)
        at, lead = np.flatnonzero(wanted), leads(passed.who, wanted)
        kept = passed.taken(at, lead)
        newest = np.append(kept[0][1:] != kept[0][:-1], True)
        settled = self._parts[: self._settled - 1]
        if not newest.all():
            settled.append(tuple(x[~newest] for x in kept))
        self._parts = [*settled, tuple(x[newest] for x in kept)]
        self._settled = len(self._parts)

    def extend(self, other: StepRecord) -> None:
        """Append the nodes that another record has passed since its start."""
        for part in other._parts[1:]:
            self.add(*part)

    def forget(self, state: int) -> None:
        """Forget what one state has passed since the start, where it stays."""
        self._room = None
        for k, part in enumerate(self._parts):
            others = (part[0] != state) | (part[1] <= self._start[state])
            if not others.all():
                self._parts[k] = tuple(x[others] for x in part)
        self.ended[state] = True

    def last(self) -> tuple[np.ndarray, ...]:
        """Return the times (states,), q (states, nq) and v (states, nv) that states have come to."""
        found = tuple(np.empty((self.states, *x.shape[1:])) for x in self._parts[0][1:4])
        for part in self._last_of(np.ones(self.states, dtype=bool), self._parts):
            for x, rows in zip(found, part[1:4], strict=True):
                x[part[0]] = rows
        return found

    def last_accelerations(self) -> np.ndarray:
        """Return the accelerations (states, nv) at the start of the last step of each state, zero where there was
        none."""
        found = np.zeros_like(self._parts[0][6])
        for who, *_, vdot in self._parts[1:]:
            found[who] = vdot
        return found

    def since(self, mark: int, going: np.ndarray) -> StepHistory:
        """Return what the states that are `going` (states,) have passed since the last node of each before the mark."""
        fresh = [
            part if going[part[0]].all() else _chosen(part, going[part[0]]) for part in self._parts[mark:]
        ]
        return StepHistory([*self._last_of(going, self._parts[:mark]), *fresh])

    def _last_of(self, states: np.ndarray, parts: Sequence[Part]) -> Iterator[Part]:
        """Return the last node in some parts of each of the `states` (states,)."""
        missing = states.copy()
        for part in reversed(parts):
            if not missing.any():
                break
            # The last node of each state that has none yet; a part has the nodes of a state in order.
            last = np.full(self.states, -1)
            last[part[0]] = np.arange(len(part[0]))
            rows = last[missing & (last >= 0)]
            missing[part[0][rows]] = False
            yield _chosen(part, rows)

    def end(
        self, mark: int, who: np.ndarray, t_end: np.ndarray, q: np.ndarray, v: np.ndarray, work: np.ndarray
    ) -> None:
        """End the motions of states `who` (n,), in order, at the times t_end (n,) with the states q (n, nq), v (n, nv)
        and the works (n, sources) done; all of them are later than what was added before the mark."""
        self._room = None
        ends = np.full(self.states, np.inf)
        ends[who] = t_end
        later = list[Part]()
        for k in range(len(self._parts) - 1, mark - 1, -1):
            part = self._parts[k]
            late = part[1] >= ends[part[0]]
            if late.any():
                later.append(_chosen(part, late))
                self._parts[k] = _chosen(part, ~late)
        rows = _in_order(_together(later))
        lead = np.flatnonzero(np.append(True, rows[0][1:] != rows[0][:-1]))
        assert np.array_equal(rows[0][lead], who)
        self._parts.append((who, t_end, q, v, work, rows[5][lead], rows[6][lead]))
        self.ended[who] = True

    def all(self, tau_now: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t (states, nodes), q, v, the works, and the control force tau that acts from each node on (`tau_now`
        (states, nv) from the last); states with fewer nodes repeat their last."""
        if self.states == 1:
            # What is handed out is not written to any more.
            room, self._room = self._room, None
            _, times, *columns = zip(*self._parts, strict=True)
            t = np.concatenate(times) if room is None else room.columns[1][: room.count]
            if room is not None and np.count_nonzero(t[1:] >= t[:-1]) == len(t) - 1:
                return room.all(tau_now)
            if np.count_nonzero(t[1:] >= t[:-1]) == len(t) - 1:
                q, v, work = map(np.concatenate, columns[:3])
                # Forces are told with the node behind the one from which they act on.
                tau = np.concatenate([*columns[3], tau_now])[1:]
                return t[None], q[None], v[None], work[None], tau[None]
        return _arranged(_in_order(_together(self._parts)), self.states, tau_now)[0]

    @property
    def permanent(self) -> int:
        """Return how many parts stay as they are; the others may be left out in part when the record is settled."""
        return len(self._parts) if self.before is None else self._settled - 1

    def recent(self) -> Recent:
        """Return what is asked now and then for the nodes that are new."""
        return Recent(self)


class Recent:
    """The nodes of a record that are new since it was asked last, and the ones that these go on from."""

    def __init__(self, record: StepRecord) -> None:
        self.record, self.mark = record, 0
        self.kept: list[Part] = []

    def until(self, mark: int, tau_now: np.ndarray) -> tuple[Part, np.ndarray]:
        """Return t, q, v, works and tau as `StepRecord.all` does, of what was added up to the mark and not forgotten,
        and how many nodes each state has (states,)."""
        parts, stay = self.record._parts, max(self.mark, min(mark, self.record.permanent))
        self.kept += parts[self.mark : stay]
        self.mark = stay
        return _arranged(_in_order(_together([*self.kept, *parts[stay:mark]])), self.record.states, tau_now)

    def forget(self, before: np.ndarray) -> None:
        """Forget the nodes of each state that lie before its times `before` (states,)."""
        self.kept = [tuple(x[part[1] >= before[part[0]]] for x in part) for part in self.kept]
        self.kept = [part for part in self.kept if len(part[0])]


def _together(parts: Sequence[Part]) -> Part:
    """Return the rows of all parts."""
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _arranged(part: Part, states: int, tau_now: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return t, q, v, works and tau of nodes in order as arrays (states, nodes, ...), and how many there are of each
    state (states,)."""
    who, t, q, v, work, tau, _ = part
    edges = np.searchsorted(who, np.arange(states + 1))
    tau = np.roll(tau, -1, axis=0)
    tau[edges[1:] - 1] = tau_now
    counts = np.diff(edges)
    index = edges[:-1, None] + np.minimum(np.arange(int(counts.max())), counts[:, None] - 1)
    return (t[index], q[index], v[index], work[index], tau[index]), counts


def _chosen(part: Part, rows: np.ndarray) -> Part:
    return tuple(x[rows] for x in part)


def _in_order(rows: Part) -> Part:
    """Return rows in order of states and times."""
    order = _order(rows[0], rows[1])
    return tuple(x[order] for x in rows)


def _order(who: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the order of states and times; nodes of a state that come at one time stay as they are."""
    order = np.argsort(who, kind="stable")
    own, times = who[order], t[order]
    if np.all((times[1:] >= times[:-1]) | (own[1:] != own[:-1])):
        return order
    return np.lexsort((t, who))


def _before(before: np.ndarray, who: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return which nodes have one of the times `before` between them and the next of their state, or are its last."""
    wanted = np.ones(len(t), dtype=bool)
    passed = np.searchsorted(before, t)
    wanted[:-1] = (who[1:] != who[:-1]) | (passed[1:] > passed[:-1])
    return wanted


def leads(who: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return for each of the `wanted` (n,) nodes of states `who` (n,), in order of states and times, the node behind
    the wanted one before it, or the first of its state: the way that leads to it begins with the forces told there."""
    at = np.flatnonzero(wanted)
    behind = np.append(0, at[:-1] + 1)
    first = np.flatnonzero(np.append(True, who[1:] != who[:-1])) if len(who) else at
    own = first[np.searchsorted(first, at, side="right") - 1]
    return np.maximum(behind, own)
