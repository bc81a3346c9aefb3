"""Closing the loops of mechanisms that differ from state to state, in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from catena.dynamics.loops.closing.quick_assembly import Errors, QuickAssembly
from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.least_change import closure
from catena.kernels import CONSTANTS
from catena.kinematics.loops.held import Held
from catena.system.varied_evaluation import VariedEvaluator

# States that are closed together: the numbers of their mechanisms are repeated for each column of a Jacobian.
TOGETHER = 1024


class VariedClosing(QuickAssembly):
    """The loops of one plan with numbers of its own for each state: `which` (states,) are the rows of numbers."""

    def __init__(self, evaluator: VariedEvaluator, which: np.ndarray) -> None:
        super().__init__(evaluator)
        rows = evaluator.varying_inputs(closure(sort_for(self.plan)), None, ())[CONSTANTS]
        self.numbers, self.which = rows.reshape(-1, rows.shape[-1]), which

    def _numbers(self, who: np.ndarray | None, states: int) -> dict[str, np.ndarray]:
        return {CONSTANTS: self.numbers[self.which if who is None else self.which[who]]}

    def _one(self, q: np.ndarray, free: np.ndarray) -> Errors | None:
        """Decline: the shortest way knows one mechanism."""
        return None

    def assemble(
        self, held: Sequence[Held], guess: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (states, nq) near the guesses (states, nq) that close the loops and hold what is given,
        and which states (states,) do."""
        q, done, which = guess.copy(), np.zeros(len(guess), dtype=bool), self.which
        for first in range(0, len(guess), TOGETHER):
            part = slice(first, first + TOGETHER)
            self.which = which[part]
            own = [replace(h, value=h.value[part]) for h in held]
            q[part], done[part] = super().assemble(own, guess[part], slack)
        self.which = which
        return q, done
