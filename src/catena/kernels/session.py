"""A workspace that is kept between calls: pieces of a tape are played in it, with Python in between.

A `Program` plays a whole tape and forgets everything but its results. A `Session` keeps the workspaces of all blocks of
a batch, so that a tape may be played piece by piece, from one `Pause` to the next. Between two pieces Python reads
fields of all states and writes others; what it writes is packed into the lanes when the next piece begins.
"""

from collections.abc import Sequence

import numpy as np

from catena.kernels.cache_lines import aligned
from catena.kernels.code import loops
from catena.kernels.constants import WORD
from catena.kernels.driver import TABLE
from catena.kernels.program import EVERY_TIME, ONLY_FIRST, Program, address, entry, run_words


class Session:
    """The workspaces of a program for `states` states, and a buffer (states, ...) for each field that goes in or comes
    out. `piece` prepares a part of the tape for playing."""

    def __init__(self, program: Program, states: int) -> None:
        self.program, self.states = program, states
        tape = program.tape
        blocks = -(-states // tape.lanes)
        self._stride = -(-tape.workspace_bytes // 64) * 64
        self._workspace = aligned(blocks * self._stride // WORD)
        shapes: dict[str, tuple[int, ...]] = {name: (width,) for name, (width, _) in tape.inputs.items()}
        shapes |= {name: shape for name, (shape, _) in tape.outputs.items() if name not in shapes}
        self.buffers = {name: np.zeros((states, *shape)) for name, shape in shapes.items()}
        self._rows = {
            name: (address(buffer), buffer.size // states, *program.columns(name), 0)
            for name, buffer in self.buffers.items()
        }
        loops(tape.lanes)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the buffer (states, ...) of a field."""
        return self.buffers[name]

    def row(self, pause: str, which: int = 0) -> int:
        """Return the number of calls before the pause of this name; `which` counts those of the same name."""
        return [row for name, row in self.program.tape.pauses if name == pause][which]

    def table(self, names: Sequence[str]) -> np.ndarray:
        """Return where the driver finds buffers and their slots, a row for each."""
        return np.array([self._rows[name] for name in names], dtype=np.int64).reshape(-1, TABLE)

    def piece(self, first: int, last: int | None, inputs: Sequence[str], outputs: Sequence[str]) -> "Piece":
        """Return the calls from number `first` up to `last` (None: to the end) as something to play: it packs the
        buffers `inputs` before and fills the buffers `outputs` afterwards."""
        return Piece(self, first, last, inputs, outputs)

    def recording(
        self, steps: int, inputs: Sequence[str], outputs: Sequence[str], always: bool = False
    ) -> "Recording":
        """Return the whole tape as something to play so many times in a row, for the one state of this session: it
        packs the buffers `inputs` before and records `outputs` after each play. Occasional sweeps are made in the first
        play only, or `always`."""
        return Recording(self, steps, inputs, outputs, always)


class Piece:
    """A part of a tape, ready to be played in its session. Calling it returns the driver's status word."""

    def __init__(
        self, session: Session, first: int, last: int | None, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        tape, states = session.program.tape, session.states
        last = len(tape.calls) if last is None else last
        self._ins, self._outs = session.table(inputs), session.table(outputs)
        self._counter = np.full(1, states, dtype=np.int64)
        calls = tape.calls[first:last]
        self._words = np.array(
            [last - first, address(calls), address(session._workspace), address(tape.constants), len(self._ins),
             address(self._ins), len(self._outs), address(self._outs), states, address(self._counter), states, 0,
             states, 1, 1, -1, -1, 1, 0, session._stride, -1, 0],
            dtype=np.int64,
        )  # fmt: skip
        self._kept = (session, calls)
        self._address = address(self._words)
        self._run = entry(tape.lanes)
        is_one = states <= tape.lanes and tape.division is not None
        self._shared = (session.program, first, last, tape.lanes) if is_one and last > first else None
        self._plays = 1

    def __call__(self) -> int:
        if self._shared is not None:
            program, first, last, lanes = self._shared
            return run_words(self._words, lanes, program.team(self._plays, first, last))
        return int(self._run(self._address))


class Recording(Piece):
    """A tape that is played several times in a call. `results` maps names to arrays (steps, ...) that the next call
    overwrites. A state that has nothing left to do stays as it is, and is recorded so."""

    def __init__(
        self, session: Session, steps: int, inputs: Sequence[str], outputs: Sequence[str], always: bool
    ) -> None:
        assert session.states == 1
        super().__init__(session, 0, None, inputs, outputs)
        self.results = {name: np.zeros((steps, *session.buffers[name].shape[1:])) for name in outputs}
        for row, name in zip(self._outs, outputs, strict=True):
            result = self.results[name]
            row[0], row[1], row[4] = address(result), result.size, result.size // steps
        tape, self._plays = session.program.tape, steps
        rare = EVERY_TIME if always else ONLY_FIRST
        self._words[13], self._words[15:19], self._words[20] = steps, (*tape.rare, *rare), tape.rest
