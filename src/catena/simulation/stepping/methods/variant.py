"""What a step is compiled for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics.contacts.contact_forces import Pair, bent_floors, code
from catena.dynamics.loops.elimination import EliminationShape


@dataclass(frozen=True)
class GroundField:
    """n scalars of the ground; n = 1 is a scalar."""

    size: int

    def zero(self) -> Any:
        """Return zeros."""
        return 0.0 if self.size == 1 else np.zeros(self.size)

    def from_entries(self, entries: list[Any]) -> Any:
        """Return the numbers in this list."""
        return entries[0] if self.size == 1 else np.array(entries)


SCALAR = GroundField(1)


@dataclass(frozen=True)
class LawShape:
    """A control law inside the step: how many numbers it remembers and is given, which of these change as polynomials
    of the time, and when it is asked: "always", at every stage; where the step is told that it is "due"; or "timed", at
    the samples of a rate, which no step passes."""

    memory: int
    inputs: int
    asked: str
    changing: tuple[int, ...] = ()

    @property
    def is_forgetful(self) -> bool:
        """Return whether the law is a function of time and state and of nothing else."""
        return self.asked == "always" and not self.memory

    @property
    def name(self) -> str:
        """Return a name for all of it."""
        along = "_".join(("", "along", *(str(k) for k in self.changing))) if self.changing else ""
        return f"law_{self.memory}_{self.inputs}_{self.asked}{along}"


@dataclass(frozen=True)
class StepVariant:
    """What a step is compiled for: the method, the `shape` of the elimination (None: a tree), whether `forces` act, the
    law, whether loops go back to closed states, whether they do so at every stage (`fragile`), whether some joints are
    `driven` along prescribed motions, whether closure errors feed back into the accelerations, whether work is
    counted, whether driven joints follow polynomials (`paths`) or formulas (`guided`), the number of wrenches
    that do, whether formulas give wrenches (`pushed`), whether forces pull loops together (`pulls`), the modes of
    the flexible body that has most (0: all are rigid), who meets in each contact (`touches`) and whether
    these may be redundant, so that the `least` forces are taken, whether forces look at loop joints whose `turns` are
    counted, whether dry friction `sticks`, in joints that close loops too (`loops_stick`), and comes from the load of
    joints (`bears`), the units along whose `rows` a step finds impulses, which `coordinates` are integrated, how
    many numbers somebody carries from step to step who has `observed` each of them, and whether accelerations are
    `supplied` by Python, because bodies have many modes."""

    method: str
    shape: EliminationShape | None
    forces: bool = False
    law: LawShape | None = None
    projects: bool = True
    fragile: bool = False
    driven: bool = False
    feedback: bool = False
    counts: bool = False
    paths: bool = False
    wrench_paths: int = 0
    pushed: bool = False
    pulls: bool = False
    modes: int = 0
    touches: tuple[Pair, ...] = ()
    least: bool = False
    turns: bool = False
    guided: bool = False
    sticks: bool = False
    loops_stick: bool = False
    bears: bool = False
    rows: tuple[Pair, ...] = ()
    coordinates: str = "joint"
    observed: int = 0
    supplied: bool = False

    @property
    def rubs(self) -> bool:
        """Return whether dry friction is among the rows."""
        return any(unit.rubs for unit in self.rows)

    @property
    def counted_rows(self) -> tuple[int, int, int]:
        """Return how many contacts, stops and joints with dry friction are among the rows."""
        stops = sum(unit.is_inside and not unit.rubs for unit in self.rows)
        rubbing = sum(unit.is_inside and unit.rubs for unit in self.rows)
        return len(self.rows) - stops - rubbing - self.cut_rows, stops, rubbing

    @property
    def cut_rows(self) -> int:
        """Return how many components of joints that close loops are among the rows, with dry friction."""
        return sum(unit.is_cut for unit in self.rows)

    @cached_property
    def bent_rows(self) -> int:
        """Return how many contacts with height fields are among the rows."""
        return bent_floors(self.rows)

    @property
    def is_minimal(self) -> bool:
        """Return whether independent coordinates are integrated, and others follow them."""
        return self.coordinates == "minimal"

    @property
    def holds(self) -> bool:
        """Return whether some joints may not yield: they are driven, or friction holds them."""
        return self.driven or self.sticks

    @property
    def name(self) -> str:
        """Return a name for all of it, but for what contacts touch and rows are, which is no code."""
        law = self.law
        words = [
            "step",
            self.method,
            str(self.shape or "tree"),
            "fragile" if self.fragile else "" if self.projects else "drifting",
            "driven" if self.driven else "",
            "feedback" if self.feedback else "",
            "counted" if self.counts else "",
            "paths" if self.paths else "",
            "guided" if self.guided else "",
            f"wrenches_{self.wrench_paths}" if self.wrench_paths else "",
            "pushed" if self.pushed else "",
            "pulled" if self.pulls else "",
            "forces" if self.forces else "",
            f"modes_{self.modes}" if self.modes else "",
            f"touches_{code(self.touches)}{'_least' if self.least else ''}" if self.touches else "",
            "turns" if self.turns else "",
            "sticking" if self.sticks else "",
            "in_loops" if self.loops_stick else "",
            "loaded" if self.bears else "",
            "rows_" + "_".join(str(n) for n in self.counted_rows) if self.rows else "",
            f"cut_{self.cut_rows}" if self.cut_rows else "",
            f"bent_{self.bent_rows}" if self.bent_rows else "",
            "rubbing" if self.rubs else "",
            self.coordinates if self.coordinates != "joint" else "",
            f"observed_{self.observed}" if self.observed else "",
            "supplied" if self.supplied else "",
            law.name if law else "",
        ]
        return "_".join(word for word in words if word)
