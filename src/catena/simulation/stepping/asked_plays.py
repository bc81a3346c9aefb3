"""Steps of one state that are played one after the other as a `Recording` plays them, with Python asked at every stage
for control forces, wrenches and motions that only Python knows.

It is the same tape in the same workspace, cut at its pauses: nothing else is packed, computed or decided between two
stages. Where the last stage of a step is the first of the next one, so are its forces, and nobody is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.kernels import Session
from catena.kernels.session import Piece

Ask = Callable[[float, bool], np.ndarray]
"""Writes what acts at a time, and at the state in the buffers of a session, to these buffers, and returns the control
forces (width,); the state may be a trial."""


class AskedPlays:
    """Up to so many `steps` of the one state of a session by a method whose stages are at `times`, as parts of a step.
    The buffers `inputs` are packed before, `outputs` are recorded after each of them, and `ask` writes the inputs
    `given`; `close`, if it is not None, puts prescribed joints where they are at the end of a step, given its time; one
    that `reuses` the last stage of a step as the first of the next asks once for both.
    `tau` (steps, width) are the control forces with which steps began, `tau_now` (width,) those of the last stage."""

    def __init__(
        self, session: Session, steps: int, inputs: Sequence[str], outputs: Sequence[str], times: Sequence[float],
        arguments: Sequence[str], ask: Ask, width: int, close: Callable[[float], None] | None = None,
        reuses: bool = True,
    ) -> None:  # fmt: skip
        self.b, self.times, self.ask, self.close = session.buffers, times, ask, close
        self.outputs = tuple(outputs)
        self.results = {name: np.zeros((steps, *self.b[name].shape[1:])) for name in outputs}
        self.tau_now = np.zeros(width)
        self.tau = np.zeros((steps, len(self.tau_now)))
        rows = [row for name, row in session.program.tape.pauses if name == "forces"]
        for_python, state = ("q", "qd"), ("q", "qd", "error_0")
        closing = None if close is None else session.row("closing")
        ends = [*rows[1:], closing]
        self._head = session.piece(0, rows[0], inputs, (*for_python, "dt"))
        self._stages: list[Piece] = [
            session.piece(
                first, end, arguments, outputs if end is None else state if end == closing else for_python
            )
            for first, end in zip(rows, ends, strict=True)
        ]
        self._last = None if closing is None else session.piece(closing, None, state, outputs)
        first, last = session.program.tape.rare
        self._again: list[Piece] | None = None
        if reuses and first >= 0:
            self._again = [session.piece(0, first, (), ("dt",)), session.piece(last, rows[1], (), for_python)]

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
                self.tau[k] = self.tau_now if b["accepted"][0, 0] > 0.5 else self.tau[k - 1]
                for piece in self._again:
                    astray = bool(piece()) or astray
                stages = stages[1:]
            dt = float(b["dt"][0, 0])
            for stage in stages:
                # A trial that went astray is rejected in the end; nobody need be asked about it.
                if not astray:
                    self.tau_now = self.ask(t + self.times[stage] * dt, stage > 0)
                if stage == 0:
                    self.tau[k] = self.tau_now
                astray = bool(self._stages[stage]()) or astray
            if self._last is not None and self.close is not None:
                if astray:
                    b["error_0"][:] = np.inf
                else:
                    self.close(t + dt)
                astray = bool(self._last()) or astray
            bad = bad or astray
            for name in self.outputs:
                self.results[name][k] = b[name][0]
            # Nobody is asked about a state that is lost.
            is_over = b["halt"][0, 0] > 0.5 or b["t"][0, 0] >= end
            if is_over or (astray and not np.isfinite(b["q"]).all()):
                return k + 1, bad
        return count, bad


class AskedLook:
    """A part of a step up to a row of its tape, with Python asked for what acts at its first stage."""

    def __init__(
        self,
        session: Session,
        row: int,
        inputs: Sequence[str],
        outputs: Sequence[str],
        arguments: Sequence[str],
        ask: Ask,
    ) -> None:
        self.b, self.ask = session.buffers, ask
        first = session.row("forces")
        self._head = session.piece(0, first, inputs, ("q", "qd"))
        self._rest = session.piece(first, row, arguments, outputs)

    def __call__(self) -> int:
        head = self._head()
        self.ask(float(self.b["t"][0, 0]), False)
        return self._rest() | head
