"""Steps of one state that are played one after the other as a `Recording` plays them, with Python asked for control
forces at every stage.

It is the same tape in the same workspace, cut at its pauses: nothing else is packed, computed or decided between two
stages. Where the last stage of a step is the first of the next one, so are its forces, and nobody is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.kernels import Session
from catena.kernels.session import Piece

Ask = Callable[[float, np.ndarray, np.ndarray, bool], np.ndarray]
"""Gives control forces (1, nv) at a time and a state q (1, nq), v (1, nv), which may be a trial."""


class AskedPlays:
    """Up to so many `steps` of the one state of a session by a method whose stages are at `times`, as parts of a step.
    The buffers `inputs` are packed before, `outputs` are recorded after each of them, and `ask` gives the forces that
    the input `target` takes. `tau` (steps, nv) are those with which steps began, `tau_now` (nv,) those of the last
    stage."""

    def __init__(
        self, session: Session, steps: int, inputs: Sequence[str], outputs: Sequence[str], times: Sequence[float],
        target: str, ask: Ask,
    ) -> None:  # fmt: skip
        self.b, self.times, self.target, self.ask = session.buffers, times, target, ask
        self.outputs = tuple(outputs)
        self.results = {name: np.zeros((steps, *self.b[name].shape[1:])) for name in outputs}
        self.tau = np.zeros((steps, self.b[target].shape[-1]))
        rows = [row for name, row in session.program.tape.pauses if name == "forces"]
        ends, told = [*rows[1:], None], ("q", "qd")
        self._head = session.piece(0, rows[0], inputs, ("dt",))
        self._stages: list[Piece] = [
            session.piece(first, end, (target,), outputs if end is None else told)
            for first, end in zip(rows, ends, strict=True)
        ]
        first, last = session.program.tape.rare
        self._again: list[Piece] | None = None
        if first >= 0:
            self._again = [session.piece(0, first, (), ("dt",)), session.piece(last, rows[1], (), told)]

    @property
    def tau_now(self) -> np.ndarray:
        """Return the control forces (nv,) of the last stage."""
        return self.b[self.target][0].copy()

    def __call__(self, steps: int | None = None) -> tuple[int, bool]:
        """Take so many steps, all there is room for if None, or less where the end is reached or a step halts. Returns
        how many were taken, and whether something in them was not finite."""
        b, bad, count = self.b, False, len(self.tau) if steps is None else steps
        end = float(b["end"][0, 0])
        for k in range(count):
            t, astray, stages = float(b["t"][0, 0]), False, range(len(self._stages))
            if k == 0 or self._again is None:
                # The buffers of the state are packed again, which are what the last step has left there.
                self._head()
            else:
                self.tau[k] = b[self.target][0] if b["accepted"][0, 0] > 0.5 else self.tau[k - 1]
                for piece in self._again:
                    astray = bool(piece()) or astray
                stages = stages[1:]
            for stage in stages:
                if astray:
                    # A trial that went astray is rejected in the end; nobody need be asked about it.
                    b[self.target][:] = 0.0
                else:
                    at = t + self.times[stage] * float(b["dt"][0, 0])
                    b[self.target][:] = self.ask(at, b["q"], b["qd"], stage > 0)
                if stage == 0:
                    self.tau[k] = b[self.target][0]
                astray = bool(self._stages[stage]()) or astray
            bad = bad or astray
            for name in self.outputs:
                self.results[name][k] = b[name][0]
            if b["halt"][0, 0] > 0.5 or b["t"][0, 0] >= end:
                return k + 1, bad
        return count, bad


class AskedLook:
    """A part of a step up to a row of its tape, with Python asked for the forces of its first stage."""

    def __init__(
        self, session: Session, row: int, inputs: Sequence[str], outputs: Sequence[str], target: str, ask: Ask
    ) -> None:
        self.b, self.target, self.ask = session.buffers, target, ask
        first = session.row("forces")
        self._head = session.piece(0, first, inputs, ())
        self._rest = session.piece(first, row, (target,), outputs)

    def __call__(self) -> int:
        b = self.b
        head = self._head()
        b[self.target][:] = self.ask(float(b["t"][0, 0]), b["q"], b["qd"], False)
        return self._rest() | head
