"""An algorithm ready to run on one mechanism: a tape, its tables, and workspaces for the threads that play it."""

import ctypes
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.kernels import shortcut
from catena.kernels.code import loops
from catena.kernels.cpu import target
from catena.kernels.driver import ARGUMENTS
from catena.kernels.tape import WORD, Tape
from catena.kernels.threads import pool, threads

# A thread is worth waking for about this many step calls.
_CALLS_WORTH_A_THREAD = 2000
_ALIGN = 64


_entry: list[Any] = []


def entry() -> Any:
    """The compiled loop as Python calls it; other threads run meanwhile."""
    if not _entry:
        _entry.append(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(loops()["run"]))
    return _entry[0]


def aligned(count: int) -> np.ndarray:
    """`count` zeros that begin on a cache line."""
    raw = np.zeros(count + _ALIGN // 8)
    skip = (-raw.ctypes.data % _ALIGN) // 8
    return raw[skip : skip + count]


class Program:
    """A tape with its tables. `run` takes arrays of shape (states, columns); `single` makes a function for one state."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.input_names = tuple(tape.inputs)
        self.output_names = tuple(tape.outputs)
        self._tables = {n: np.ascontiguousarray(t) for n, (_, t) in (tape.inputs | tape.outputs).items()}
        self._lock = threading.Lock()
        self._workspaces: list[np.ndarray] = []

    def run(self, inputs: Mapping[str, np.ndarray], states: int, count: int | None = None) -> tuple[int, dict[str, np.ndarray]]:
        """Play the tape for `states` states. Each input is C-contiguous float64 of shape (states, columns), or (columns,) for one row that all
        states share. Returns the status word of the driver and the outputs, each of shape (states, *shape)."""
        outputs = {n: np.zeros((states, *shape)) for n, (shape, _) in self.tape.outputs.items()}
        if states == 0:
            return 0, outputs
        ins = np.array(
            [[x.ctypes.data, x.shape[1] if x.ndim == 2 else 0, len(self._tables[n]), self._tables[n].ctypes.data]
             for n in self.input_names for x in (inputs[n],)], dtype=np.int64,
        ).reshape(-1, 4)  # fmt: skip
        outs = np.array(
            [[y.ctypes.data, y[0].size, len(self._tables[n]), self._tables[n].ctypes.data] for n, y in outputs.items()],
            dtype=np.int64,
        ).reshape(-1, 4)
        lanes = target().lanes
        blocks = -(-states // lanes)
        worth = blocks * len(self.tape.calls) // _CALLS_WORTH_A_THREAD
        parts = max(1, min(count or threads(), blocks, worth))
        edges = [min(states, lanes * (blocks * k // parts)) for k in range(parts + 1)]
        if parts == 1:
            return self._part(ins, outs, 0, states), outputs
        waiting = [pool(parts - 1).submit(self._part, ins, outs, a, b) for a, b in zip(edges[1:-1], edges[2:], strict=True)]
        status = self._part(ins, outs, edges[0], edges[1])
        for future in waiting:
            status |= future.result()
        return status, outputs

    def _part(self, ins: np.ndarray, outs: np.ndarray, first: int, last: int) -> int:
        with self._lock:
            workspace = self._workspaces.pop() if self._workspaces else aligned(self.tape.workspace_bytes // WORD)
        words = self._words(workspace, ins, outs, first, last)
        try:
            return int(entry()(words.ctypes.data))
        finally:
            with self._lock:
                self._workspaces.append(workspace)

    def _words(self, workspace: np.ndarray, ins: np.ndarray, outs: np.ndarray, first: int, last: int) -> np.ndarray:
        words = np.empty(ARGUMENTS, dtype=np.int64)
        tape = self.tape
        words[:] = (
            len(tape.calls), tape.calls.ctypes.data, workspace.ctypes.data, tape.constants.ctypes.data,
            len(ins), ins.ctypes.data, len(outs), outs.ctypes.data, first, last,
        )  # fmt: skip
        return words

    def single(self, quaternions: Sequence[int] = ()) -> Any:
        """A function of one array for each input, in the order of `input_names`, that computes one state the shortest way.

        It returns the first output, or None when anything is out of the ordinary: an argument that is no plain float64 array of the
        right length, a quaternion (they begin at these columns of the first input) not of unit length, a number that is not finite.
        """
        tape, tables = self.tape, self._tables
        if not shortcut.is_trustworthy():
            return lambda *rows: None
        results = [np.zeros(shape) for shape, _ in tape.outputs.values()]
        ins = np.array([[0, 0, len(tables[n]), tables[n].ctypes.data] for n in self.input_names], dtype=np.int64).reshape(-1, 4)
        outs = np.array(
            [[r.ctypes.data, 0, len(tables[n]), tables[n].ctypes.data] for n, r in zip(self.output_names, results, strict=True)],
            dtype=np.int64,
        ).reshape(-1, 4)
        workspace = aligned(tape.workspace_bytes // WORD)
        words = self._words(workspace, ins, outs, 0, 1)
        lengths = np.array([width for width, _ in tape.inputs.values()], dtype=np.int64)
        offsets = np.array(quaternions, dtype=np.int64) * WORD
        addresses = loops()
        function = shortcut.make(addresses["shortcut"], addresses["run_one"], words, ins, results[0], lengths, offsets)
        self._kept = (ins, outs, workspace, words, results, lengths, offsets)
        return function
