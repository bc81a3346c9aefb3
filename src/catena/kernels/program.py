"""An algorithm ready to run on one mechanism: a tape, its tables, and workspaces for the threads that play it."""

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.kernels.code import driver_address
from catena.kernels.cpu import target
from catena.kernels.driver import ARGUMENTS
from catena.kernels.tape import Tape
from catena.kernels.threads import pool, threads

# A thread is worth waking for about this many step calls.
_CALLS_WORTH_A_THREAD = 2000
_ALIGN = 64


@dataclass(frozen=True)
class Entry:
    """The compiled loop as Python calls it: once letting other threads run meanwhile, once holding the lock for the shortest call."""

    free: Any
    held: Any


_entry: list[Entry] = []


def entry() -> Entry:
    """The compiled loop."""
    if not _entry:
        address = driver_address()
        free = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
        held = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
        _entry.append(Entry(free, held))
    return _entry[0]


def aligned(count: int) -> np.ndarray:
    """`count` zeros that begin on a cache line."""
    raw = np.zeros(count + _ALIGN // 8)
    skip = (-raw.ctypes.data % _ALIGN) // 8
    return raw[skip : skip + count]


class Program:
    """A tape with its tables. `run` takes arrays of shape (states, columns); `single` takes one state and returns as fast as it can."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.input_names = tuple(tape.inputs)
        self.output_names = tuple(tape.outputs)
        self._tables = {n: np.ascontiguousarray(t) for n, (_, t) in (tape.inputs | tape.outputs).items()}
        self._lock = threading.Lock()
        self._workspaces: list[np.ndarray] = []
        self._single: tuple[list[np.ndarray], list[np.ndarray], Any, tuple[Any, ...]] | None = None

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
            workspace = self._workspaces.pop() if self._workspaces else aligned(self.tape.workspace_bytes // 8)
        words = self._words(workspace, ins, outs, first, last)
        try:
            return int(entry().free(words.ctypes.data))
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

    def single(self, rows: Sequence[np.ndarray]) -> tuple[int, np.ndarray]:
        """One state: a row of shape (columns,) for each input in the order of `input_names`; the status and a copy of the first output."""
        with self._lock:
            if self._single is None:
                self._single = self._prepare_single()
            buffers, results, call, arguments = self._single
            for buffer, row in zip(buffers, rows):  # noqa: B905 - the shortest call
                buffer[:] = row
            return call(arguments), results[0].copy()

    def _prepare_single(self) -> tuple[list[np.ndarray], list[np.ndarray], Any, Any]:
        buffers = [np.zeros(width) for width, _ in self.tape.inputs.values()]
        results = [np.zeros(shape) for shape, _ in self.tape.outputs.values()]
        tables = self._tables
        ins = np.array(
            [[b.ctypes.data, 0, len(tables[n]), tables[n].ctypes.data] for n, b in zip(self.input_names, buffers, strict=True)],
            dtype=np.int64,
        ).reshape(-1, 4)
        outs = np.array(
            [[r.ctypes.data, 0, len(tables[n]), tables[n].ctypes.data] for n, r in zip(self.output_names, results, strict=True)],
            dtype=np.int64,
        ).reshape(-1, 4)
        workspace = aligned(self.tape.workspace_bytes // 8)
        words = self._words(workspace, ins, outs, 0, 1)
        self._kept = (ins, outs, workspace, words)
        return buffers, results, entry().held, ctypes.c_void_p(words.ctypes.data)
