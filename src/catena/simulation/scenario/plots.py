"""What is to be drawn of a run, as plain frozen data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from catena.errors import StateError
from catena.validation import entries, shown

WORDS = ("positions", "velocities", "forces", "energy", "power", "reactions", "closure", "contacts")
"""What `run.plot` draws besides joints, frames and bodies by name."""
PICTURES = (".png", ".pdf", ".svg", ".jpg")
"""The endings of pictures."""


class ViewOptions(TypedDict, total=False):
    """The options of `run.view` that belong to a scenario."""

    traces: Sequence[str]
    forces: bool


@dataclass(frozen=True)
class Plot:
    """A picture of a run: `show` are words such as "positions", or names of joints, frames or bodies, as `run.plot`
    takes them, the usual ones unless given; `file` is the name of the picture, without a folder; without one it goes to
    the screen."""

    show: str | Sequence[str] = ()
    file: str = ""

    def __post_init__(self) -> None:
        try:
            words = entries(self.show)
        except ValueError:
            words = (None,)
        if not all(isinstance(word, str) for word in words):
            raise StateError(
                f"Plot: show is {shown(self.show)}; give words such as 'positions', or names of joints."
            )
        object.__setattr__(self, "show", words)
        # A file from a stranger must not say where on a disk it writes.
        if not isinstance(self.file, str) or any(mark in self.file for mark in "/\\:\0"):
            raise StateError(
                f"Plot: file is {shown(self.file)}; give a name without a folder, such as 'run.png'."
            )
        if self.file and not self.file.lower().endswith(PICTURES):
            raise StateError(f"Plot: file is {shown(self.file)}; let it end in {', '.join(PICTURES)}.")


def plot_list(plots: Any) -> tuple[Plot, ...]:
    """Return pictures from one or many."""
    try:
        listed = (plots,) if isinstance(plots, Plot) else entries(plots)
    except ValueError:
        listed = (plots,)
    for plot in listed:
        if not isinstance(plot, Plot):
            raise StateError(f"plots holds {shown(plot)}; give a list of ct.Plot.")
    return listed
