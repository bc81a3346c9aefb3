"""What all have in common that take steps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from catena.simulation.results.transition import Transition
from catena.simulation.stepping.record import StepRecord


class Steps(Protocol):
    """What moves the states of a run."""

    steps: int
    owner: np.ndarray
    failing: dict[int, str] | None

    @property
    def changes(self) -> list[Transition]:
        """Return where other coordinates became independent since this was asked last."""

    @property
    def asks(self) -> bool:
        """Return whether Python is asked at every stage."""

    def begin(self, states: int, h: float, start: float = 0.0) -> None:
        """Begin a run of so many states at a time, with steps of about this size."""

    def resume(self, h: np.ndarray, work: np.ndarray) -> None:
        """Go on with steps of about the sizes h (states,) from states that carry this along (states, n)."""

    def carry(self, work: np.ndarray) -> None:
        """Carry this along (states, n) from now on, as `works` tells it."""

    def works(self, who: Any = slice(None)) -> np.ndarray:
        """Return what states carry along (states, n): the works done so far by source, and the positions that loop
        joints are near."""

    def forget(self) -> None:
        """Forget past steps and accelerations, because forces or states changed at once."""

    def advance(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        end: float | np.ndarray,
        nodes: StepRecord | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move all states to `end`, and add what they pass to `nodes`."""
