"""Kernels for matrices in lanes against NumPy: products of blocks, inverses, roots, copies; and the same work on plain
numbers."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from catena.kernels.driver import with_runs
from catena.kernels.machine_code.cpu import target
from catena.kernels.machine_code.matrix_kernels import LARGEST_INVERSE, kernels
from catena.kernels.matrices import LaneWork, MatrixPanel, PlainWork
from catena.kernels.program import aligned

LANES = target().lanes
SIZE = 4000


class Lanes(LaneWork):
    """Work in lanes that is done at once, on a workspace of its own; `numbers` are entries of matrices."""

    def __init__(self):
        self.slot, self._used, self._rows = 8 * LANES, 0, []
        self.memory = aligned(SIZE * LANES)
        self._kernels = kernels(LANES)
        self._nothing = self.reserve(16)

    def reserve(self, count):
        self._used += count
        return (self._used - count) * self.slot

    def play(self):
        """Do what was asked for."""
        base = self.memory.ctypes.data
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
        for _, kernel, places, numbers in self._rows:
            records = [base + place for place in (*places, 0, 0, 0, 0)[:4]]
            words = np.array([*numbers, 0], dtype=np.int64)
            call(kernel)(*records, words.ctypes.data)

    def write(self, panel, values):
        """Put matrices (lanes, rows, columns) in their places."""
        for r in range(panel.rows):
            for c in range(panel.columns):
                at = panel.at(r, c) // 8
                self.memory[at : at + LANES] = values[:, r, c]

    def read(self, panel):
        """Return matrices (lanes, rows, columns)."""
        found = np.empty((LANES, panel.rows, panel.columns))
        for r in range(panel.rows):
            for c in range(panel.columns):
                at = panel.at(r, c) // 8
                found[:, r, c] = self.memory[at : at + LANES]
        return found


class Plain(PlainWork):
    """Work on plain numbers without a mechanism."""

    def __init__(self):
        self._memory = []
        self._nothing = self.reserve(16)

    def write(self, panel, values):
        """Put a matrix (1, rows, columns) in its place."""
        for r in range(panel.rows):
            for c in range(panel.columns):
                self._memory[panel.at(r, c)] = float(values[0, r, c])

    def read(self, panel):
        """Return the matrix (1, rows, columns)."""
        rows = range(panel.rows)
        return np.array([[[self._memory[panel.at(r, c)] for c in range(panel.columns)] for r in rows]])

    def play(self):
        """All is done already."""


def later(work, orders):
    """Let orders be done after their inputs are written: at once on plain numbers, by playing in lanes."""
    orders()
    work.play()


@pytest.fixture(params=[Lanes, Plain], ids=["lanes", "plain"])
def work(request):
    """Work of either sort, with how many matrices it does at once."""
    made = request.param()
    return SimpleNamespace(work=made, count=LANES if request.param is Lanes else 1)


def in_pairs(work, rows, columns):
    """A matrix whose columns lie in pairs that are four slots apart."""
    row = 2 * columns * work.slot
    return MatrixPanel(work.reserve(2 * rows * columns), rows, columns, row, work.slot, 4 * work.slot)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("columns", [1, 2, 5, 8])
def test_products_of_blocks(work, rows, columns, agree):
    w, random = work.work, np.random.default_rng(rows * 10 + columns)
    inner = 3
    A, B = w.matrix(inner, rows), in_pairs(w, inner, columns + columns % 2)
    start, out, alone = (w.matrix(rows, columns) for _ in range(3))
    a, b, s = (random.normal(size=(work.count, p.rows, p.columns)) for p in (A, B, start))
    for panel, values in ((A, a), (B, b), (start, s)):
        w.write(panel, values)

    def orders():
        part = B.part(range(inner), range(columns))
        w.product(out, A.T, part, start=start, minus=True)
        w.product(alone, A.T, part)

    later(w, orders)
    product = np.swapaxes(a, 1, 2) @ b[..., :columns]
    agree(w.read(alone), product, 1e-15)
    agree(w.read(out), s - product, 1e-15)


@pytest.mark.parametrize("n", range(1, LARGEST_INVERSE + 1))
def test_inverses_and_roots(work, n, agree):
    w, random = work.work, np.random.default_rng(n)
    A, P, Q, K = (w.matrix(n, n) for _ in range(4))
    a = random.normal(size=(work.count, n, 2 * n))
    a = a @ np.swapaxes(a, 1, 2)
    # Only the lower half is read.
    w.write(A, np.tril(a))

    def orders():
        w.inverse(P, A)
        w.roots(Q, K, A)

    later(w, orders)
    tolerance = 1e-15 * np.linalg.cond(a).max()
    agree(w.read(P), np.linalg.inv(a), tolerance)
    agree(w.read(Q), np.linalg.inv(a), tolerance)
    K = w.read(K)
    agree(K @ np.swapaxes(K, 1, 2), np.linalg.inv(a), tolerance)
    assert np.all(np.tril(K, -1) == 0.0)


def test_copies_and_clearing(work):
    w = work.work
    A, out = w.matrix(3, 5), w.matrix(5, 3)
    values = np.arange(15.0 * work.count).reshape(work.count, 3, 5)
    w.write(A, values)
    w.write(out, np.swapaxes(values, 1, 2) + 1.0)

    def orders():
        w.copy(out, A.T)
        w.clear(out.part(range(1, 3), range(2)))

    later(w, orders)
    expected = np.swapaxes(values, 1, 2).copy()
    expected[:, 1:3, :2] = 0.0
    np.testing.assert_array_equal(w.read(out), expected)


def test_runs_of_results_are_as_long_as_they_can_be():
    random = np.random.default_rng(0)
    for _ in range(200):
        columns, slots = (
            np.cumsum(random.choice(steps, size=random.integers(30)))
            for steps in ([8, 8, 8, 16], [32, 32, 32, 64])
        )
        table = np.stack([x[: min(len(columns), len(slots))] for x in (columns, slots)], axis=1)
        for k, word in enumerate(with_runs(table)[:, 0]):
            like = 1
            steps = np.diff(table[k:], axis=0)
            while like <= len(steps) and steps[like - 1, 0] == 8 and steps[like - 1, 1] == steps[0, 1]:
                like += 1
            assert word >> 32 == like and word & 0xFFFFFFFF == table[k, 0]
