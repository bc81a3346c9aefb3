"""What a step is compiled for."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Numbers:
    """So many numbers of the ground; a single one is no array."""

    size: int

    def zero(self) -> Any:
        """Zeros."""
        return 0.0 if self.size == 1 else np.zeros(self.size)

    def from_entries(self, entries: list[Any]) -> Any:
        """The numbers in this list."""
        return entries[0] if self.size == 1 else np.array(entries)


SCALAR = Numbers(1)


@dataclass(frozen=True)
class LawShape:
    """A control law inside the loop: how many numbers it remembers and is given, and whether it is asked at every stage
    or only in steps that are `due`."""

    memory: int
    inputs: int
    continuous: bool


@dataclass(frozen=True)
class Making:
    """What a step is compiled for: the method, the most constraints of a loop (0: a tree), whether forces act, the
    law, whether loops go back to closed states, and whether they do so at every stage."""

    method: str
    columns: int
    elements: bool = False
    law: LawShape | None = None
    projects: bool = True
    fragile: bool = False

    @property
    def name(self) -> str:
        """A name for all of it."""
        law = (
            ""
            if self.law is None
            else f"_law_{self.law.memory}_{self.law.inputs}_{'always' if self.law.continuous else 'due'}"
        )
        drift = "_fragile" if self.fragile else "" if self.projects else "_drifting"
        return f"step_{self.method}_{self.columns}{drift}{'_forces' if self.elements else ''}{law}"
