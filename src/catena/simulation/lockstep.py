"""States of a batch that go from one sample of a controller to the next side by side, each by one compiled step, as
long as nobody has to look at what their contacts do: what `QuickSteps.to_samples` does for one state, for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from catena.simulation.contacts.quick_path import Path
    from catena.simulation.contacts.quick_steps import QuickSteps

# Steps of one state that are kept before they go to its path, at most, and of all states.
KEPT, ROOM = 64, 4096
# What steps tell besides works.
TOLD = ("q", "qd", "t", "h", "halt", "accepted", "told", "told_now", "met")


@dataclass(eq=False)
class Along:
    """A state that may be taken along: its steps, where it has come to, and the size `h` [s] of its next step."""

    quick: QuickSteps
    path: Path
    h: float


class Lockstep:
    """States of one tape, each with a row of its own, of at most so many; `first` is one of them."""

    def __init__(self, first: QuickSteps, count: int) -> None:
        self.first, self.program = first, first.wide
        self.own, self.counts = first.own, first.mover.counts
        self.inputs = {name: np.zeros((count, first.b[name].shape[-1])) for name in self.own}
        self.least, self.now, self.filled = np.zeros(count), 0.0, 0
        self.members = list[int]()
        self._along = dict[int, tuple[Along, int]]()
        widths = dict[str, int]()
        for name in ("q", "qd", "work") if self.counts else ("q", "qd"):
            widths[name] = self.inputs[name].shape[1]
        widths["told"] = widths["told_now"] = first.shape[0] * first.shape[1]
        widths["tau"] = first.system.nv
        self.most = max(1, min(KEPT, ROOM // count))
        self.rows = {name: np.zeros((self.most, count, width)) for name, width in widths.items()}
        self.times = list[float]()

    def tick(self) -> None:
        """Tell whoever follows how far states have come, and let him cancel them."""
        self.first.tick(self.now)

    def join(self, k: int, along: Along, t: float) -> None:
        """Take a state along from a sample at the time t on."""
        path, x, at = along.path, self.inputs, len(along.path) - 1
        for name in self.own:
            x[name][k] = along.quick.b[name][0]
        x["q"][k], x["qd"][k], x["h"][k] = path.q[at], path.v[at], along.h
        if self.counts:
            x["work"][k] = path.work[at]
        self.least[k], self.now = along.quick.h, t
        self.members.append(k)
        self._along[k] = along, self.filled

    def go(self, tau: np.ndarray, q: np.ndarray, v: np.ndarray) -> list[int]:
        """Go on to the next sample under control forces tau (all states, nv), and put the states there into q (all
        states, nq) and v (all states, nv). Returns those that do not go on so, and stay where they were."""
        if not self.members:
            return []
        quick = self.first
        clock, window = quick.free_motion.acting.clock, quick.window
        assert clock is not None
        end = clock.after(self.now)
        if end >= window.end - window.same:
            return self.leave(self.members)
        # A step that is as long as it may be comes to the sample, and forces are numbers.
        every = np.array(self.members)
        goes = ((end - self.now) / self.inputs["h"][every, 0] <= 1.0) & np.isfinite(tau[every]).all(axis=1)
        some, done = every[goes], self._step(every[goes], end, tau)
        leaving = self.leave([*every[~goes].tolist(), *some[~done].tolist()])
        q[some[done]], v[some[done]] = (self.inputs[name][some[done]] for name in ("q", "qd"))
        self.now = end
        self.times.append(end)
        self.filled += 1
        if self.filled == self.most:
            for k in self.members:
                self._pass(k)
            self._along = {k: (along, 0) for k, (along, _) in self._along.items()}
            self.filled, self.times = 0, []
        return leaving

    def _step(self, some: np.ndarray, end: float, tau: np.ndarray) -> np.ndarray:
        """Take a step of some states, and return which of them have come to its end with nothing to look at."""
        if not len(some):
            return np.zeros(0, dtype=bool)
        first, x, at = self.first, self.inputs, self.filled
        x["t"][some], x["end"][some], x[first.mover.target][some] = self.now, end, tau[some]
        given = {name: first.b[name][0] for name in self.program.input_names if name not in x}
        given |= {name: rows[some] for name, rows in x.items()}
        wanted = (*TOLD, "work") if self.counts else TOLD
        status, r = self.program.run(given, len(some), steps=1, every=1, rare=first.rare, wanted=wanted)
        r = {name: found.reshape(len(some), -1) for name, found in r.items()}
        done = (r["t"][:, 0] == end) & (r["halt"][:, 0] <= 0.5) & (r["met"][:, 0] <= 0.5)
        if status:
            done &= np.all([np.isfinite(found).all(axis=1) for found in r.values()], axis=0)
        on = some[done]
        for name in ("q", "qd", "work") if self.counts else ("q", "qd"):
            self.rows[name][at, on] = x[name][on] = r[name][done]
        x["h"][on] = np.maximum(self.least[on, None], r["h"][done])
        self.rows["told"][at, on], self.rows["told_now"][at, on] = r["told"][done], r["told_now"][done]
        self.rows["tau"][at, on] = tau[on]
        return done

    def leave(self, some: Sequence[int]) -> list[int]:
        """Let some states go on by themselves, and return them."""
        gone = list(some)
        for k in gone:
            self._pass(k)
            del self._along[k]
        self.members = [k for k in self.members if k in self._along]
        return gone

    def _pass(self, k: int) -> None:
        """Add what a state has passed to its path."""
        along, begun = self._along[k]
        along.h = float(self.inputs["h"][k, 0])
        if self.filled > begun:
            own = {name: rows[begun : self.filled, k] for name, rows in self.rows.items()}
            along.path.go_along(self.times[begun : self.filled], own)
            along.quick.steps += self.filled - begun
