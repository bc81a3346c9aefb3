"""What `simulate` was asked for, with formulas as functions and names as systems, and who computes it: all states
together, those of them that do not fail, or each by itself where structures or contacts change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.errors import CatenaError, StateError
from catena.simulation.acting.driven_joints import with_drives_in_tree
from catena.simulation.arguments import TimeSpan, initial_state
from catena.simulation.contacts import Contact, ContactRun, Stop
from catena.simulation.contacts.dry_component import needs_law
from catena.simulation.contacts.landing import Landing, stepping
from catena.simulation.failing_states import FailingStates, require_some
from catena.simulation.following import Following
from catena.simulation.following.headway import Headway
from catena.simulation.following.interrupting import raise_in_loop
from catena.simulation.guards.events import Event, distinct
from catena.simulation.keeping import Keep
from catena.simulation.keeping.of_segments import keeping
from catena.simulation.lanes import Going, alone, remembering, together
from catena.simulation.problem import Problem
from catena.simulation.results.batch import StateByState
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.run import Run
from catena.simulation.single_states import SingleState, single_states
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.structure_changes import ChangingRun
from catena.system import System
from catena.validation import is_one_of, shown


@dataclass(frozen=True, eq=False)
class SimulationRequest:
    """Systems and controllers, as many of both or one of either, with what acts on them; `settings` are those of a
    `Problem`, `followed` makes who follows the motion of a state of the batch, and `landing` says that steps find
    what contacts do."""

    systems: list[Any]
    controls: list[Any]
    motion: Any
    forces: Any
    settings: Mapping[str, Any]
    events: list[Event]
    contacts: tuple[Contact | Stop, ...]
    varied: Mapping[tuple[str, str], np.ndarray]
    near: Any
    span: TimeSpan
    samples: Any
    kept: Keep | None
    named: Mapping[str, float]
    check: bool
    followed: Callable[[tuple[int, ...], Headway], Following]
    landing: bool

    @property
    def rubs(self) -> bool:
        """Return whether the dry friction of joints is found by the law of contacts."""
        how = self.settings["integrator"], self.settings["coordinates"]
        # Beside contacts of tips friction goes smoothly through rest.
        return (
            not self.settings["tips"]
            and all(isinstance(x, str) for x in how)
            and any(needs_law(s, *how) for s in self.systems)
        )

    def each_by_state(self, q: Any, v: Any, records: bool) -> list[Trajectory]:
        """Return the motions of all states one after the other, for each of the systems and controllers."""
        systems, controls = self.systems, self.controls
        count = max(len(systems), len(controls))
        each = [
            replace(self, systems=[systems[k % len(systems)]], controls=[controls[k % len(controls)]])
            for k in range(count)
        ]
        return [one.state_by_state(q, v, records) for one in each]

    @property
    def changes(self) -> bool:
        """Return whether some of the events change the structure."""
        return any(event.then is not None for event in self.events)

    def all_states(self, q: Any, v: Any, is_varied: bool) -> list[Trajectory]:
        """Return the motions of all states together, for each of the systems and controllers."""
        systems, controls = self.systems, self.controls
        count = max(len(systems), len(controls))
        if isinstance(systems[0], System):
            alone = count == 1 and controls[0] is None and not self.events and not is_varied
            system, q, v = with_drives_in_tree(systems[0], q, v, self.motion, alone)
            systems = [system, *systems[1:]]
        runs = []
        for k in range(count):
            run = self._run(systems[k % len(systems)], controls[k % len(controls)], self.varied, q, v)
            runs.append(Trajectory([run.go()], run.transitions))
        return runs

    def those_that_do_not_fail(self, q: Any, v: Any, parameters: Any) -> Trajectory:
        """Return the motions of the states of a batch that can be simulated; the others are told by words."""
        if isinstance(self.near, Mapping) and any(np.ndim(x) > 1 for x in self.near.values()):
            raise StateError(
                "on_error='record' takes `near` for all states together, {joint: (nq of the joint,)}."
            )

        def some(system: System, q: np.ndarray, v: np.ndarray) -> tuple[Segment, Mapping[int, str]]:
            system, q, v = with_drives_in_tree(system, q, v, self.motion, False)
            made = self._run(system, self.controls[0], {}, q, v, records=True)
            return made.go(), made.failing or {}

        return FailingStates(some, self.systems[0], parameters).run(q, v)

    def _run(
        self, system: Any, control: Any, varied: Mapping[Any, Any], q: Any, v: Any, records: bool = False
    ) -> Run:
        landing = None
        if self.landing and isinstance(system, System):
            landing = Landing.of(system, self.contacts, varied)
        problem = Problem(
            system, control, self.motion, self.forces, **self.settings, near=self.near, landing=landing
        )
        return Run(
            problem, q, v, self.span, self.events, self.samples, self.followed((), Headway(self.span, control)),
            self.check, records=records, keep=self.kept, named=self.named,
        )  # fmt: skip

    def state_by_state(self, q: Any, v: Any, records: bool) -> Trajectory:
        """Return the motion of one state, or those of a batch, each with times and changes of its own; where it
        `records` states that fail, the others one behind the other."""
        system, coordinates = self.systems[0], self.settings["coordinates"]
        if self.contacts and not is_one_of(coordinates, ("joint",)):
            raise StateError(
                f"coordinates={shown(coordinates)} are for runs without contacts; with these leave coordinates out."
            )
        if isinstance(system, System):
            with_drives_in_tree(system, q, v, self.motion, False)
        q, v = initial_state(system, q, v)
        if self.kept is not None and not self.changes:
            # Unknown names are told before anything moves; other structures may have other names.
            for one in self.kept.signals:
                one.on(system, self.named)
        if self.varied:
            own = np.broadcast_shapes(q.shape[:-1], *(x.shape for x in self.varied.values()))
            q = np.broadcast_to(q, (*own, q.shape[-1]))
        batch, states = single_states(system, q, v, self.near)
        if not batch:
            return alone(self._one(states[0], self._follow(()), self._varied_at((), batch)))
        indices = list(np.ndindex(batch))
        follows = [self._follow(index) for index in indices]
        is_told = any(one.observe is not None for one in follows)
        if not is_told:
            follows = [one.quietly(self.span) for one in follows]
        numbers = [self._varied_at(index, batch) for index in indices]
        motions = [self._tried(*each, records) for each in zip(states, follows, numbers, strict=True)]
        runs = self._one_by_one(motions) if is_told else self._in_lanes(motions)
        made = dict(zip(indices, runs, strict=True))
        failed = {index: words for index, words in made.items() if isinstance(words, str)}
        found = [run for run in made.values() if isinstance(run, Trajectory)]
        require_some(len(found), failed)
        return StateByState(found, (len(found),) if failed else batch, failed)

    def _follow(self, index: tuple[int, ...]) -> Following:
        """Return who follows the motion of a state."""
        return self.followed(index, Headway(self.span, self.controls[0]))

    def _one_by_one(self, motions: Sequence[Going[Trajectory | str]]) -> list[Trajectory | str]:
        """Return the motions of all states, each behind the one before, for somebody who is told of them in order."""
        found = list[Trajectory | str]()
        for motion in motions:
            # Ctrl-C in one of the states is meant for all of them.
            raise_in_loop()
            found.append(alone(motion))
        return found

    def _in_lanes(self, motions: Sequence[Going[Trajectory | str]]) -> list[Trajectory | str]:
        """Return the motions of all states, whose compiled steps are taken together."""
        control, count, span, bar = self.controls[0], len(motions), self.span, self._follow(()).bar
        if memory_of(control):
            began = Snapshot(memory_of(control))
            motions = [remembering(motion, control, began) for motion in motions]

        def tick(times: Sequence[float], ended: int) -> None:
            rest = count - ended - len(times)
            bar.tick((sum(times) + ended * span.end + rest * span.start) / count)

        try:
            return together(motions, tick if bar.shown else None)
        finally:
            bar.done()

    def _varied_at(
        self, index: tuple[int, ...], batch: tuple[int, ...]
    ) -> Mapping[tuple[str, str], np.ndarray]:
        """Return the numbers of contacts of a state of a batch, () each."""
        return {name: np.broadcast_to(x, batch)[index] for name, x in self.varied.items()}

    def _tried(
        self,
        state: SingleState,
        following: Following,
        varied: Mapping[tuple[str, str], np.ndarray],
        records: bool,
    ) -> Going[Trajectory | str]:
        """Return the motion of one state of a batch; where failures are recorded, words if it fails."""
        try:
            return (yield from self._one(state, following, varied))
        except CatenaError as error:
            if not records:
                raise
            return str(error)

    def _one(
        self, state: SingleState, following: Following, varied: Mapping[tuple[str, str], np.ndarray]
    ) -> Going[Trajectory]:
        kept, samples, control = self.kept, self.samples, self.controls[0]
        if kept is not None:
            samples = None if kept.signals else list(self.span)
        asked = ChangingRun(
            state.system, self.span, control, self.motion, self.forces, self.settings, distinct(self.events), samples,
            following, self.check, state.near,
        )  # fmt: skip
        moves: ChangingRun | ContactRun = asked
        if self.landing:
            moves = stepping(asked, self.contacts, varied)
        elif self.contacts or self.rubs:
            moves = ContactRun(self.contacts, asked, state.every)
        made = (
            (yield from moves.going(state.q, state.v))
            if isinstance(moves, ContactRun)
            else moves.go(state.q, state.v)
        )
        if kept is not None and kept.signals:
            return keeping(made, kept, self.named, self.samples)
        return made


def require_as_many(systems: Sequence[Any], controls: Sequence[Any]) -> None:
    """Raise an error unless there are as many systems as controllers, or one of either."""
    count = max(len(systems), len(controls))
    if not systems or not controls or {len(systems), len(controls)} - {1, count}:
        raise StateError(
            f"There are {len(systems)} systems and {len(controls)} controllers; give as many of both, or one of either."
        )
