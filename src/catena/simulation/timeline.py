"""The loop that advances time.

One structure, changes of structure and contacts are moved by different means. All of them go on to where a guard says
that something happens (a sample, a knot, an event, a contact that cannot go on), and then let it happen: a controller
is asked, an event changes the structure, an impact changes velocities and contacts. They tell what happened on the way,
and can be saved and taken up again from there.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from catena.simulation.results.segment import EventHit
from catena.simulation.results.transition import Transition
from catena.simulation.snapshot import Snapshot
from catena.system import System


class Happened(NamedTuple):
    """What happened in a while: events, and changes of structure or of contacts."""

    events: tuple[EventHit, ...] = ()
    transitions: tuple[Transition, ...] = ()


class Playable(Protocol):
    """What moves in time."""

    def goes_on(self, until: float) -> bool:
        """Return whether there is something to move before a time."""

    def move(self, until: float) -> None:
        """Move on to where something happens, at most to a time."""

    def change(self) -> None:
        """Let happen what happens now."""


class Timeline(Playable, Protocol):
    """What moves in time step by step: at the time `now`, the states q and v of a system."""

    system: System
    now: float
    q: np.ndarray
    v: np.ndarray

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


def play(motion: Playable, until: float) -> None:
    """Advance time: move to where something happens, and let it happen, up to a time."""
    while motion.goes_on(until):
        motion.move(until)
        motion.change()
