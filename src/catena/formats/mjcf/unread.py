"""What MuJoCo would apply and Catena does not: told once for a file, in one list, by the names of the parts."""

from __future__ import annotations

from catena.formats.findings import Severity
from catena.formats.source import Source

NAMED = 6
"""How many parts of a sort are told by name."""


class Unread:
    """Collects parts of a model that act in MuJoCo and are left out here, by what they are."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}

    def add(self, what: str, *names: str) -> None:
        """Remember parts of a sort, told as in "tendons that pull"; what has no parts is told as it is."""
        self._parts.setdefault(what, []).extend(names)

    def tell(self, source: Source) -> None:
        """Say all of it in one warning."""
        if not self._parts:
            return
        message = f"MuJoCo applies what is not read: {'; '.join(map(self._told, self._parts))}"
        source.note(Severity.WARNING, "", message, what="unread")

    def _told(self, what: str) -> str:
        names = self._parts[what]
        if not names:
            return what
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"{what} {', '.join(map(repr, names[:NAMED]))}{more}"
