"""Lists of parts by what they are, such as those that one format has and another has not, told in one sentence."""

from __future__ import annotations

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
