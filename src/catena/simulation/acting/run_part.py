"""What the parts of a run have in common: they belong to the system that is moved."""

from __future__ import annotations

from copy import copy
from typing import Self

from catena.system import System


class RunPart:
    """A part of a run that was made for its system, in which parameters may differ from state to state."""

    system: System

    def alone(self, state: int) -> Self:
        """Return this part for one state by itself: itself, unless parameters differ from state to state."""
        own = self.system.variants.state(state)
        if own is self.system:
            return self
        changed = copy(self)
        changed.system = own
        return changed
