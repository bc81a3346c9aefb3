"""What came of each file of a collection, and how many files each verdict has; none is silent."""

import re
from collections import Counter
from dataclasses import dataclass, field

AGREES, APART, ALONE, REFUSED, WRONG = (
    "agrees",
    "agrees up to rounding of an ill-conditioned mass matrix",
    "loads, cannot be compared",
    "refused",
    "WRONG",
)
"""The verdicts from best to worst. What is wrong differs from the other program without a reason, or raised an error
that was not meant for the user."""


@dataclass
class Tally:
    """The verdicts of files, each with a reason where it needs one."""

    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, file: str, verdict: str, why: str = "") -> None:
        """Count a file."""
        self.rows.append((file, verdict, why))

    @property
    def wrong(self) -> list[tuple[str, str]]:
        """The files that something is wrong with, each with what it is."""
        return [(file, why) for file, verdict, why in self.rows if verdict == WRONG]

    def __str__(self) -> str:
        lines = [f"{len(self.rows)} files"]
        for verdict in (AGREES, APART, ALONE, REFUSED, WRONG):
            some = [(file, why) for file, one, why in self.rows if one == verdict]
            if not some:
                continue
            lines.append(f"{len(some):5} {verdict}")
            reasons = Counter(kind_of(why) for _, why in some if why)
            for reason, count in reasons.most_common():
                example = next(file for file, why in some if kind_of(why) == reason)
                lines.append(f"      {count:5} {reason}   [{example}]")
        return "\n".join(lines)


def kind_of(why: str) -> str:
    """A reason without the names and numbers that only one file has."""
    plain = re.sub(r"'[^']*'", "'...'", why)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", plain)[:160]
