"""States of a batch that move side by side, each on a timeline of its own, because contacts and changes of structure
give each of them a motion of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.guards.instant import Instant
from catena.simulation.lanes import Going, remembering, together
from catena.simulation.results.transition import Transition
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.timeline import Happened, Happening, OneOfSeveral, play
from catena.system import System
from catena.validation import real_array, shown

# How often somebody is asked who is only asked when he has something else to give [Hz].
HARDLY_EVER = 1e-9


class HeldForces:
    """Control forces, (..., nv) or by joint, that hold until others are told."""

    rate = HARDLY_EVER

    def __init__(self) -> None:
        self.tau: Any = None

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return np.zeros_like(v) if self.tau is None else self.tau


class Several:
    """Timelines of the states of a `batch`, side by side, which `begin` makes by number. They share a controller: each
    has a memory of its own in it, which is put there when its state moves."""

    def __init__(
        self, batch: tuple[int, ...], begin: Sequence[Callable[[], OneOfSeveral]], control: Any
    ) -> None:
        self.batch, self.control = batch, control
        self.parts: list[OneOfSeveral] = []
        self.memory: list[Snapshot] = []
        for make in begin:
            self.parts.append(make())
            self.memory.append(self._memory())
        self.efforts: list[Any] = [None] * len(self.parts)
        self.transitions: list[Transition] = []
        self.now = self.parts[0].now

    def _memory(self) -> Snapshot:
        """Return what the controller remembers now, and the controllers that structures have of their own."""
        return Snapshot(memory_of(self.control))

    def state(self, number: int) -> Instant:
        """Return one state, with the time it has come to."""
        part = self.parts[number]
        return Instant(part.system, part.now, part.q, part.v)

    @property
    def system(self) -> System:
        """Return the system of the first state, while all have the same joints."""
        first = self.parts[0].system
        if any(part.system.joints != first.joints for part in self.parts):
            raise StateError(
                "Each state of this batch has a structure of its own now; ask one of them, stepper.state(0).system."
            )
        return first

    @property
    def q(self) -> np.ndarray:
        """Return positions (states, nq); where structures differ, an array (states,) of arrays (nq,)."""
        return self._rows([part.q for part in self.parts])

    @property
    def v(self) -> np.ndarray:
        """Return velocities (states, nv); where structures differ, an array (states,) of arrays (nv,)."""
        return self._rows([part.v for part in self.parts])

    def _rows(self, rows: list[np.ndarray]) -> np.ndarray:
        joints = {part.system.joints for part in self.parts}
        if len(joints) == 1:
            return np.array(rows)
        found = np.empty(len(rows), dtype=object)
        for k, row in enumerate(rows):
            found[k] = np.array(row)
        return found

    @property
    def over(self) -> str:
        """Return what ended the motion of the last state that did, if none goes on."""
        ends = [part.over for part in self.parts]
        return ends[int(np.argmax([part.now for part in self.parts]))] if all(ends) else ""

    def ask(self) -> None:
        """Ask for the control forces now: those that were told are taken apart by states."""
        assert isinstance(self.control, HeldForces)
        self.efforts = self._apart(self.control.tau)
        for part in self.parts:
            if not part.over:
                part.ask()

    def _apart(self, tau: Any) -> list[Any]:
        """Return control forces, (..., nv) or by joint, of each state."""
        if tau is None:
            return [None] * len(self.parts)
        if isinstance(tau, Mapping):
            rows = {joint: self._apart(x) for joint, x in tau.items()}
            return [{joint: x[k] for joint, x in rows.items()} for k in range(len(self.parts))]
        try:
            effort = np.atleast_1d(real_array(tau))
            wide = np.broadcast_to(effort, (*self.batch, effort.shape[-1]))
        except ValueError as error:
            raise StateError(
                f"Stepper: tau is {shown(tau)}, which does not go with a batch of shape {self.batch} ({error})."
            ) from error
        return list(wide.reshape(len(self.parts), -1))

    def advance(self, until: float) -> None:
        """Move all states on to a time, or to where events end their motions."""
        play(self, until)

    def goes_on(self, until: float) -> bool:
        """Return whether some state moves before a time."""
        return self.now < until and not self.over

    def move(self, until: float) -> Sequence[Happening]:
        """Move all states that go on to a time, in lanes. What happens to a state happens in its own timeline."""
        together([self._moved(k, until) for k, part in enumerate(self.parts) if not part.over])
        ends = max(part.now for part in self.parts)
        self.now = ends if self.over else until
        return ()

    def _moved(self, k: int, until: float) -> Going[None]:
        """Move one state to a time, with what the controller remembers of it."""
        self.memory[k].restore()
        if isinstance(self.control, HeldForces):
            self.control.tau = self.efforts[k]

        def moved() -> Going[None]:
            yield from self.parts[k].advancing(until)
            self.memory[k] = self._memory()

        return remembering(moved(), self.control, self._memory())

    def taken(self) -> Happened:
        """Return what happened to all states since it was asked last, each with the index of its state."""
        events, transitions = [], []
        for k, part in enumerate(self.parts):
            index = tuple(int(x) for x in np.unravel_index(k, self.batch))
            found = part.taken()
            events += [replace(hit, state=index) for hit in found.events]
            transitions += [replace(change, state=index) for change in found.transitions]
        return Happened(tuple(events), tuple(transitions))

    def save(self) -> Snapshot:
        """Return all that is needed to go on from here."""
        return Snapshot([self], [part.save() for part in self.parts])
