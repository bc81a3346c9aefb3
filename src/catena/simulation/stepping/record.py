"""The states a run has passed: for each state of a batch its own times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Part = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Passed:
    """What one state has passed: times t (n,), q (n, nq), v (n, nv), the works (n, sources) done until then, and of
    each interval between them the control forces tau (n - 1, nv) and the accelerations vdot (n - 1, nv) with which it
    begins."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    tau: np.ndarray
    vdot: np.ndarray


class StepRecord:
    """Times, positions, velocities and works of a number of states, growing as they move on. With each node go the
    control forces and the accelerations at the start of the step that led to it. `work` (states, n) is what states
    carry along at first: works done, and positions that loop joints are near. Where only the nodes before some times
    `before` (n,) are asked for, others may be left out (`needed`)."""

    def __init__(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        work: np.ndarray,
        before: np.ndarray | None = None,
    ) -> None:
        self.states, self.before = len(q), before
        self.ended = np.zeros(self.states, dtype=bool)
        self._parts: list[Part] = []
        still = t.copy(), q.copy(), v.copy(), work.copy()
        self.add(np.arange(self.states), *still, tau.copy(), np.zeros_like(v))

    @property
    def mark(self) -> int:
        """Return a number that stands for what has been added so far."""
        return len(self._parts)

    def needed(self, who: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return which of the nodes of states `who` (n,) at times t (n,) must be added: those with a time that is asked
        for between them and the next node of their state, and the last of each state. All, where all are asked for. The
        nodes are in order of states and times, with the same control forces since the last that was added."""
        wanted = np.ones(len(t), dtype=bool)
        if self.before is not None:
            passed = np.searchsorted(self.before, t)
            wanted[:-1] = (who[1:] != who[:-1]) | (passed[1:] > passed[:-1])
        return wanted

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
        if self.ended.any():
            going = ~self.ended[who]
            part = tuple(x[going] for x in part)
        self._parts.append(part)

    def extend(self, other: StepRecord) -> None:
        """Append the nodes that another record has passed since its start."""
        for part in other._parts[1:]:
            self.add(*part)

    def last_accelerations(self) -> np.ndarray:
        """Return the accelerations (states, nv) at the start of the last step of each state, zero where there was
        none."""
        found = np.zeros_like(self._parts[0][6])
        for who, *_, vdot in self._parts[1:]:
            found[who] = vdot
        return found

    def since(self, mark: int, state: int) -> Passed:
        """Return what one state has passed since the last node before the mark."""
        parts: list[tuple[np.ndarray, ...]] = []
        for k in range(len(self._parts) - 1, -1, -1):
            who, *columns = self._parts[k]
            own = np.flatnonzero(who == state)
            if k < mark and len(own):
                own = own[-1:]
            parts.append(tuple(x[own] for x in columns))
            if k < mark and len(own):
                break
        t, q, v, work, tau, vdot = (np.concatenate(column) for column in zip(*reversed(parts), strict=True))
        return Passed(t, q, v, work, tau[1:], vdot[1:])

    def end(self, state: int, t_end: float, q: np.ndarray, v: np.ndarray, work: np.ndarray) -> None:
        """End the motion of one state at the time t_end with the state q (nq,), v (nv,) and the works done."""
        led: tuple[np.ndarray, ...] | None = None
        for k, part in enumerate(self._parts):
            who, t = part[:2]
            later = np.flatnonzero((who == state) & (t >= t_end))
            if len(later):
                if led is None:
                    led = part[5][later[:1]], part[6][later[:1]]
                keep = (who != state) | (t < t_end)
                self._parts[k] = tuple(x[keep] for x in part)
        assert led is not None
        self._parts.append((np.array([state]), np.array([t_end]), q[None], v[None], work[None], *led))
        self.ended[state] = True

    def all(self, tau_now: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return t (states, nodes), q, v, the works, and the control force tau that acts from each node on (`tau_now`
        (states, nv) from the last); states with fewer nodes repeat their last."""
        return _arranged(_in_order(self._parts), self.states, tau_now)[0]

    def recent(self) -> Recent:
        """Return what is asked now and then for the nodes that are new."""
        return Recent(self)


class Recent:
    """The nodes of a record that are new since it was asked last, and the ones that these go on from."""

    def __init__(self, record: StepRecord) -> None:
        self.record, self.mark = record, 0
        self.kept: list[Part] = []

    def until(self, mark: int, tau_now: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Return t, q, v, works and tau as `StepRecord.all` does, of what was added up to the mark and not forgotten,
        and how many nodes each state has (states,)."""
        self.kept = [_in_order([*self.kept, *self.record._parts[self.mark : mark]])]
        self.mark = mark
        return _arranged(self.kept[0], self.record.states, tau_now)

    def forget(self, before: np.ndarray) -> None:
        """Forget the nodes of each state that lie before its times `before` (states,)."""
        who, t = self.kept[0][:2]
        self.kept = [tuple(x[t >= before[who]] for x in self.kept[0])]


def _in_order(parts: list[Part]) -> Part:
    """Return nodes in order of states and times."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    return tuple(x[order] for x in columns)


def _arranged(
    part: Part, states: int, tau_now: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Return nodes in order as arrays (states, nodes, ...), and how many there are of each state (states,)."""
    who, t, q, v, work, tau, _ = part
    edges = np.searchsorted(who, np.arange(states + 1))
    tau = np.roll(tau, -1, axis=0)
    tau[edges[1:] - 1] = tau_now
    counts = np.diff(edges)
    index = edges[:-1, None] + np.minimum(np.arange(int(counts.max())), counts[:, None] - 1)
    return (t[index], q[index], v[index], work[index], tau[index]), counts
