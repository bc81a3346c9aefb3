"""The loop that advances time.

One structure, changes of structure and contacts are moved by different means. All of them go on to where a guard says
that something happens (a sample, a knot, an event, a contact that cannot go on), and say what that is: a controller is
asked, an event changes the structure, a contact goes on otherwise, with an impact or without. The loop lets it happen,
and what it tells goes to the transitions of the motion. Motions can be saved and taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from catena.simulation.lanes import Going
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.transition import Transition
from catena.simulation.snapshot import Snapshot
from catena.system import System


class Happened(NamedTuple):
    """What happened in a while: events, and changes of structure or of contacts."""

    events: tuple[EventHit, ...] = ()
    transitions: tuple[Transition, ...] = ()


Happening = Callable[[], Sequence[Transition]]
"""What happens at the time that a motion has come to: it changes the state, the structure or the contacts of the motion
whose it is, and returns what is to be told of that."""


class Playable(Protocol):
    """What moves in time, with all that was told of what happened on the way."""

    transitions: list[Transition]

    def goes_on(self, until: float) -> bool:
        """Return whether there is something to move before a time."""

    def move(self, until: float) -> Sequence[Happening]:
        """Move on to where something happens, at most to a time, and return what does, in order."""


class Waiting(Protocol):
    """What moves in time, and waits for compiled steps on the way."""

    transitions: list[Transition]

    def goes_on(self, until: float) -> bool:
        """Return whether there is something to move before a time."""

    def moving(self, until: float) -> Going[Sequence[Happening]]:
        """Do what `Playable.move` does, and wait for compiled steps."""


class Timeline(Protocol):
    """What moves in time step by step, and is at the time `now`."""

    now: float

    @property
    def system(self) -> System:
        """Return the system that moves now."""

    @property
    def q(self) -> np.ndarray:
        """Return positions now."""

    @property
    def v(self) -> np.ndarray:
        """Return velocities now."""

    @property
    def over(self) -> str:
        """Return why nothing goes on any more, if nothing does."""

    def advance(self, until: float) -> None:
        """Move on to a time, or to where an event ends the motion."""

    def ask(self) -> None:
        """Ask for the control forces now."""

    def taken(self) -> Happened:
        """Return what happened since it was asked last."""

    def save(self) -> Snapshot:
        """Return all that is needed to go on from here."""


class OneOfSeveral(Timeline, Protocol):
    """What moves beside others."""

    def advancing(self, until: float) -> Going[None]:
        """Do what `advance` does, and wait for compiled steps on the way."""


def play(motion: Playable, until: float) -> None:
    """Advance time: move to where something happens, and let it happen, up to a time."""
    while motion.goes_on(until):
        for happens in motion.move(until):
            motion.transitions += happens()


def playing(motion: Waiting, until: float) -> Going[None]:
    """Do what `play` does, and wait for compiled steps that several motions take together."""
    while motion.goes_on(until):
        for happens in (yield from motion.moving(until)):
            motion.transitions += happens()
