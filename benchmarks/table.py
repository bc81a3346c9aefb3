"""Results as Markdown tables, each with what it does not show."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Catena and a peer doing the same work: seconds for one state each, and the ratio aimed at, if any."""

    work: str
    peer: str
    catena_seconds: float
    peer_seconds: float
    aim: float | None = None

    @property
    def ratio(self) -> float:
        """How many times quicker Catena is."""
        return self.peer_seconds / self.catena_seconds


@dataclass(frozen=True)
class Figure:
    """One measured number with its unit, and the bound aimed at."""

    what: str
    value: float
    unit: str
    aim: str = ""


def comparison_table(title: str, rows: Sequence[Comparison], not_shown: str) -> str:
    """A table of ratios; times are in microseconds for one state."""
    lines = [
        f"### {title}",
        "",
        "| work | peer | Catena, us | peer, us | ratio | aim |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        aim = "" if row.aim is None else f">= {row.aim:g}"
        lines.append(
            f"| {row.work} | {row.peer} | {row.catena_seconds * 1e6:.3g} | {row.peer_seconds * 1e6:.3g} "
            f"| {row.ratio:.3g} | {aim} |"
        )
    return "\n".join([*lines, "", f"Not shown: {not_shown}", ""])


def figure_table(title: str, rows: Sequence[Figure], not_shown: str) -> str:
    """A table of single figures."""
    lines = [f"### {title}", "", "| what | measured | aim |", "|---|--:|--:|"]
    shown = [f"{row.value}" if isinstance(row.value, int) else f"{row.value:.3g}" for row in rows]
    lines += [
        f"| {row.what} | {value} {row.unit} | {row.aim} |" for row, value in zip(rows, shown, strict=True)
    ]
    return "\n".join([*lines, "", f"Not shown: {not_shown}", ""])
