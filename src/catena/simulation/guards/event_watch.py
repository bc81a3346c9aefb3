"""Events of a run: what happened to its states since it was looked for last.

Between the steps of a run events are located by `locating`, at states that shorter steps of the method lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from catena.simulation.guards.event_values import SAME, EventValues
from catena.simulation.guards.in_step import StepWatch
from catena.simulation.guards.locating import Exact, Hit, Passage, hits
from catena.simulation.guards.sign_changes import Nodes
from catena.simulation.results.dense import behind_nodes
from catena.simulation.results.event_hit import EventHit
from catena.simulation.stepping.breaking_off import BrokenOff
from catena.simulation.stepping.compiled import CompiledSteps
from catena.simulation.stepping.record import StepHistory
from catena.simulation.turns import TurnsBehind, each_own

if TYPE_CHECKING:
    from catena.simulation.run import Run


# Where more than this part of states took their steps twice, so many looks less one are at all nodes.
MANY, REST = 0.25, 5


class EventWatch:
    """Looks for the events of a `run`, and ends the motions that they end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.watched = [EventValues(event, run.system) for event in run.events]
        self.values: np.ndarray | None = None
        """The values (events, states) of all functions now, where they are watched from inside the steps."""
        self.resting = 0
        """Looks before states are watched from inside their steps again."""
        self.mark, self.steps = run.nodes.mark, 0
        """What was added to the nodes, and how many steps were taken, before it was looked last."""

    def look(self, among: np.ndarray | None = None) -> None:
        """Locate what happened since it was looked for last to all states, or to some of them (states,); the first
        terminal event ends the motion of its state."""
        run, self.steps = self.run, self.run.mover.steps
        going = run.going if among is None else run.going & among
        if run.events and going.any():
            self._note(*self._happened(going))
        self.mark = run.nodes.mark

    def looked(self, among: np.ndarray | None) -> BrokenOff | None:
        """Look as `look` does, and return what breaks the motion off: it may do so where an event is located, and does
        so once."""
        try:
            self.look(among)
        except BrokenOff as error:
            self.look(among)
            return error
        return None

    def begins(self) -> StepWatch | None:
        """Begin with the way to the next stop, and return what watches its steps from inside; None where all of them
        are looked at."""
        self.mark, self.resting = self.run.nodes.mark, max(0, self.resting - 1)
        return None if self.resting else self.run.step_watch

    def advance(self, inside: StepWatch, end: float) -> np.ndarray:
        """Move the states of the run to a time, watched from inside their steps, and return to which of them (states,)
        something may have happened: those have passed all nodes, the others the last one."""
        run, mover = self.run, self.run.mover
        assert isinstance(mover, CompiledSteps)
        begin, carried = (run.t, run.q, run.v), mover.carried_for(inside)
        if self.values is None:
            self.values = self._values(*begin)
            carried[:] = inside.started(*begin, self.values)
        else:
            inside.looked_at(carried, run.v)
        memory = mover.memory()
        t, q, v = mover.advance(*begin, run.tau, end, None)
        there = run.going & np.isfinite(t)
        doubtful = there & inside.doubtful(carried, float(np.max(mover.kept["h"][there], initial=0.0)))
        try:
            self.values = self._values(t, q, v)
            known = np.all(
                np.abs(self.values - inside.values_at(carried)) <= SAME * np.abs(self.values).max(), axis=0
            )
            is_formula = bool(known[there].all())
        except Exception:
            # What is wrong is said where it is looked at, with what there was until then.
            is_formula = False
        if not is_formula:
            # The function is not what it was for symbols.
            doubtful, run.step_watch = there, None
        if np.count_nonzero(doubtful) > MANY * np.count_nonzero(there):
            self.values, self.resting = None, REST
        if doubtful.any():
            taken, since = mover.steps, mover.since
            mover.go_back(memory, doubtful)
            again = mover.advance(np.where(doubtful, begin[0], np.inf), *begin[1:], run.tau, end, run.nodes)
            for x, y in zip((t, q, v), again, strict=True):
                x[doubtful] = y[doubtful]
            mover.steps, mover.since = taken, since
        clear = np.flatnonzero(there & ~doubtful)
        if len(clear):
            # Nobody asks how the way to them began.
            run.nodes.add(
                clear,
                t[clear],
                q[clear],
                v[clear],
                mover.works(clear),
                run.tau[clear],
                np.zeros_like(v[clear]),
            )
        run.t, run.q, run.v = t, q, v
        return doubtful

    def _values(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the values (events, states) of all functions, zero for states that do not go on."""
        found, going = np.zeros((len(self.watched), len(t))), np.flatnonzero(np.isfinite(t))
        for row, event in zip(found, self.watched, strict=True):
            row[going] = event.at(t[going], q[going], v[going], going)
        return found

    def _happened(self, going: np.ndarray) -> tuple[StepHistory, list[Hit]]:
        """Return what states that are `going` (states,) have passed since the mark, and what happened to them."""
        run = self.run
        passed = run.nodes.since(self.mark, going)
        nodes = Nodes(
            passed.who, passed.t, passed.everywhere, partial(self._between, passed), self._turns(passed)
        )
        passage = Passage(nodes, partial(self._exactly, passed))
        return passed, hits(self.watched, run.system.plan, passage, run.start if run.begins else None)

    def _note(self, passed: StepHistory, found: Sequence[Hit]) -> None:
        """Note what happened, and end the motions that events end."""
        run, last = self.run, list[tuple[int, Hit]]()
        for hit in found:
            state = int(passed.who[hit.node])
            index = tuple(int(k) for k in np.unravel_index(state, run.batch)) if run.batch else ()
            run.found.append(EventHit(hit.event.label, hit.t, hit.q, hit.v, index))
            if hit.event.terminal:
                last.append((state, hit))
                run.ended = run.found[-1].ended
        if not last:
            return
        who = np.array([state for state, _ in last])
        t, q, v, work = (
            np.array([getattr(hit, name) for _, hit in last]) for name in ("t", "q", "v", "beside")
        )
        run.nodes.end(self.mark, who, t, q, v, work)
        run.going[who] = False
        run.q[who], run.v[who], run.t[who], run.ends[who] = q, v, np.inf, t
        # A law inside the loop may have gone on beyond the event.
        run.tau[who] = passed.tau(np.array([hit.node + 1 for _, hit in last]))

    def _between(
        self, passed: StepHistory, node: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q (n, nq) and v (n, nv) at times (n,) behind nodes (n,), roughly. Accelerations at the end of the last
        interval of a state are not known."""
        behind = np.minimum(node + 2, len(passed.who) - 1)
        known = (passed.who[behind] == passed.who[node]) & (behind > node + 1)
        t = np.stack([passed.t[node], passed.t[node + 1]], axis=1)
        q, v = (np.stack([x(node), x(node + 1)], axis=1) for x in (passed.q, passed.v))
        ahead = passed.vdot(node + 1), passed.vdot(behind)
        return behind_nodes(self.run.system, (t, q, v), ahead, times, known)

    def _exactly(self, passed: StepHistory, node: np.ndarray, times: np.ndarray) -> Exact:
        """Return states and their works at times (n,) that lie less than a step behind nodes (n,), by steps of the
        method from there."""
        q, v, work = passed.q(node), passed.v(node), passed.work(node)
        later = np.flatnonzero(times > passed.t[node])
        if len(later):
            at = node[later]
            rows = q[later], v[later], work[later], passed.tau(at + 1)
            q[later], v[later], work[later] = self.run.between.moved(
                passed.who[at], passed.t[at], rows, times[later]
            )
        return Exact(q, v, work)

    def _turns(self, passed: StepHistory) -> Callable[[np.ndarray], TurnsBehind] | None:
        """Return what tells events how loop joints have turned behind nodes (n,) that were passed."""
        run = self.run
        if not run.looking or not run.near.shape[-1]:
            return None
        every = np.arange(len(passed))
        near = run.acting.near_by_joint(passed.work(every)[:, run.near_columns])
        states = passed.q(every), passed.v(every)
        rates = {
            joint: each_own(
                run.system, passed.who, lambda s, q, v, j=joint: s.joint_velocity(q, v, j), *states
            )
            for joint in near
        }

        def behind(node: np.ndarray) -> TurnsBehind:
            own = ({joint: x[node] for joint, x in known.items()} for known in (near, rates))
            return TurnsBehind(passed.t[node], passed.who[node], *own)

        return behind


def joints_looked_at(run: Run) -> tuple[str, ...]:
    """Return the loop joints that events ask for by name, as far as they do so at the start."""
    for event in run.events:
        with suppress(Exception):
            # What is wrong with it is said when it is looked at.
            event.asked(run.start, run.q[0], run.v[0])
    return tuple(dict.fromkeys(name for looked in run.looking for name in looked.names))
