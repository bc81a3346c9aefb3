"""The audits of the parts of a run whose structure or contacts change, as one that is short to read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import numpy as np

from catena.simulation.results.audit.lines import Audit, Line

# So many changes are told line by line; of more of them only those that warn, and how much they lost together.
FEW = 8
_RANK = {"ok": 0, "note": 1, "warn": 2}


class SegmentedAudit(tuple[Audit, ...]):
    """The audit of each segment, and then that of the changes between them if there are any. Print it to read the worst
    line of each kind over all segments; `audit[k]` tells all of one."""

    segments: int

    def __new__(cls, parts: Iterable[Audit], segments: int) -> SegmentedAudit:
        """Make it of the audits of so many segments, and behind them that of the changes, if there is one."""
        found = super().__new__(cls, parts)
        found.segments = segments
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self), self.segments)

    @property
    def ok(self) -> bool:
        """Return whether no line of any part warns."""
        return all(part.ok for part in self)

    @property
    def worst(self) -> tuple[tuple[Line, int], ...]:
        """Return of each thing that was checked the line of the segment in which it is worst, and the number of that
        segment."""
        found: dict[str, tuple[Line, int]] = {}
        for k, part in enumerate(self[: self.segments]):
            for line in part:
                if line.name not in found or _badness(line) > _badness(found[line.name][0]):
                    found[line.name] = line, k
        return tuple(found.values())

    def __str__(self) -> str:
        verdict = "nothing to warn of" if self.ok else "look at the lines marked 'warn'"
        many = "1 segment" if self.segments == 1 else f"{self.segments} segments"
        told = [(line.level, line.name, f"Segment {k}: {line.text}") for line, k in self.worst]
        changes = [line for part in self[self.segments :] for line in part]
        shown = [x for x in changes if len(changes) <= FEW or x.level != "ok"]
        told += [(line.level, line.name, line.text) for line in shown[:FEW]]
        if len(shown) < len(changes) or len(shown) > FEW:
            lost = sum(line.value for line in changes if line.unit == "J")
            rest = len(changes) - min(len(shown), FEW)
            who = f"{rest} more changes" if shown else f"{rest} changes"
            text = f"{who}; all together lose {lost:.4g} J. audit[-1] tells each, as run.transitions do."
            told.append(("ok", "changes", text))
        wide = max((len(name) for _, name, _ in told), default=0)
        rows = [f"Audit of {self[0].mechanism!r} in {many}, the worst of each kind: {verdict}."]
        for level, name, text in told:
            head = f"  {level:<4}  {name:<{wide}}  "
            rows.append(textwrap.fill(text, 110, initial_indent=head, subsequent_indent=" " * len(head)))
        return "\n".join(rows)

    __repr__ = __str__


def _badness(line: Line) -> tuple[int, float]:
    """Return how bad a line is, to be compared with others of its name."""
    part = line.value / line.bound if line.bound > 0.0 else line.value
    return _RANK[line.level], part if np.isfinite(part) else 0.0
