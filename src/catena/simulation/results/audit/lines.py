"""The lines of an audit, and the words that they have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from catena.errors import warn

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

Level = Literal["ok", "note", "warn"]
# With more steps than this for a sample, samples do not show what happened between them.
COARSE = 3


@dataclass(frozen=True)
class AuditLine:
    """One thing that was checked: its name, the worst `value` found, the `bound` it should stay below, and a sentence
    that says what this means. `level` is "ok", "note" (worth knowing, nothing wrong) or "warn"."""

    name: str
    value: float
    bound: float
    unit: str
    level: Level
    text: str

    @property
    def ok(self) -> bool:
        """Return whether there is nothing to warn of."""
        return self.level != "warn"


@dataclass(frozen=True)
class Audit:
    """The lines of an audit; print it to read them. Where a run has several segments, or several states that moved one
    by one, `parts` are the audits of each, and the lines tell the worst of each kind; `over` says over what."""

    mechanism: str
    lines: tuple[AuditLine, ...]
    parts: tuple[Audit, ...] = ()
    over: str = ""

    @property
    def ok(self) -> bool:
        """Return whether no line warns."""
        return all(line.ok for line in self.lines)

    def __getitem__(self, name: str) -> AuditLine:
        """Return the line with a name, such as "energy"."""
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(
            f"the audit has no line {name!r}: there are {', '.join(line.name for line in self.lines)}"
        )

    def __contains__(self, name: str) -> bool:
        return any(line.name == name for line in self.lines)

    def __iter__(self) -> Iterator[AuditLine]:
        return iter(self.lines)

    def __str__(self) -> str:
        verdict = "nothing to warn of" if self.ok else "look at the lines marked 'warn'"
        over = f" in {self.over}, the worst of each kind" if self.over else ""
        wide = max((len(line.name) for line in self.lines), default=0)
        text = [f"Audit of {self.mechanism!r}{over}: {verdict}."]
        for line in self.lines:
            head = f"  {line.level:<4}  {line.name:<{wide}}  "
            text.append(textwrap.fill(line.text, 110, initial_indent=head, subsequent_indent=" " * len(head)))
        return "\n".join(text)

    def warn(self) -> None:
        """Issue a `CatenaWarning` for each line that warns, about the line outside of Catena that asked for the run."""
        for line in self.lines:
            if not line.ok:
                warn(f"{self.mechanism!r}: {line.text}")


def worst(run: Segment, x: np.ndarray) -> tuple[float, str]:
    """Return the largest entry of x (..., samples), and where it is, in words."""
    at = np.unravel_index(int(np.argmax(x)), x.shape)
    *state, sample = (int(k) for k in at)
    index = f" in state {state[0] if len(state) == 1 else tuple(state)}" if state else ""
    return float(x[at]), f"t = {run.t[sample]:.4g} s{index}"


def percent(part: float) -> str:
    """Return a part in words."""
    return f"{100.0 * part:.2g} %" if part >= 1e-4 else f"a part {part:.1e}"


def listed(names: list[str]) -> str:
    """Return names as one writes them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
