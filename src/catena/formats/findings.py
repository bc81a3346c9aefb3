"""What a look at a model finds: how bad it is, where it stands, and whether it was repaired."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """The file cannot be used."""
    WARNING = "warning"
    """The file loads, and results may not be what its author meant."""
    NOTE = "note"
    """Worth knowing, without consequence for results."""


@dataclass(frozen=True)
class Finding:
    """One sentence about a model: `who` it is about, `place` in the file as "file:line" or the file alone.

    `what` is a short word for the sort of finding, by which programs may filter. `repaired` says what was done about
    it, and is empty where nothing was.
    """

    severity: Severity
    place: str
    who: str
    message: str
    what: str = ""
    repaired: str = ""

    def __str__(self) -> str:
        done = f" [repaired: {self.repaired}]" if self.repaired else ""
        who = f"{self.who}: " if self.who else ""
        return f"{self.place}: {self.severity}: {who}{self.message}{done}"
