"""What a look at a model finds: how bad it is, where it stands, and whether it was repaired; and lists of
parts by what they are, such as those that one format has and another has not."""

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


NAMED = 6
"""How many parts of a sort are told by name."""


class NamedParts:
    """Collects parts by what they are, told as in "tendons that pull 'a', 'b'"."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __str__(self) -> str:
        return "; ".join(map(self._listed, sorted(self._parts)))

    def add(self, what: str, *names: str) -> None:
        """Remember parts of a sort; what has no parts is told as it is."""
        self._parts.setdefault(what, {}).update(dict.fromkeys(names))

    def _listed(self, what: str) -> str:
        names = list(self._parts[what])
        if not names:
            return what
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"{what} {', '.join(map(repr, names[:NAMED]))}{more}"
