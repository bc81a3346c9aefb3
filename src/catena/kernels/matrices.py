"""Work on matrices: what an `OnMatrices` order may ask for, in lanes and on plain numbers.

A *place* is a whole number: where an entry lies, in bytes of the workspace in lanes, and as an index of a list on plain
numbers; `slot` is the distance from one number to the next. An order is a function of a work. It reserves areas, asks
where rows of bodies and forces lie, and calls

    step(sweep, *places)     a step whose records are views, on records that begin at these places
    combine(...)             sums of products, T entries at a time
    product(...)             products of dense blocks
    inverse(out, A)          the inverse of a small positive definite matrix, `roots` also its root
    copy(out, A)             a copy of a matrix
    invert(out, x, root)     1 / x and 1 / sqrt(x)
    judge(...)               whether a row is a constraint of its own
    solve(...)               a system of equations, some of whose rows are others in some states
    unless_done(place)       what is left out where a number is zero in all lanes
    output(name, places)     results

On the tape each of them is one call; on plain numbers it is done at once.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.kernels.algorithm import ADD, Algorithm, Calls, OnCall, Sweep
from catena.kernels.driver import LEAVE_OUT
from catena.kernels.fields import flatten
from catena.kernels.machine_code.matrix_kernels import (
    COMBINE,
    INVERSE,
    MOST,
    PAIRS,
    PRODUCT,
    ROOTS,
    ROW,
    kernels,
    offset,
)
from catena.kernels.tracing import sample
from catena.spatial.scalars import less, reciprocal, sqrt, where

if TYPE_CHECKING:
    from catena.kernels.layout import Layout
    from catena.kernels.plain import PlainRun

Term = tuple[int, int]
CACHE_LINE = 64
# Signs as words, as kernels read them.
_SIGN = {minus: int(np.array(-1.0 if minus else 1.0).view(np.int64)) for minus in (False, True)}


def view_size(algorithm: Algorithm, view: str) -> int:
    """Return how many numbers a record of a view has."""
    return sum(len(flatten(sample(extent, 0, 0))[0]) for extent in algorithm.view(view).values())


@dataclass(frozen=True)
class MatrixPanel:
    """Where the entries of a matrix lie: the place of the first, and the distances from a row to the next, from a
    column to the other one of its pair, and from a pair to the next."""

    place: int
    rows: int
    columns: int
    row: int
    second: int
    pair: int

    def at(self, r: int, c: int) -> int:
        """Return the place of an entry."""
        return self.place + r * self.row + c // 2 * self.pair + c % 2 * self.second

    def part(self, rows: range, columns: range) -> "MatrixPanel":
        """Return some rows and columns, the first column being the first of a pair unless all are equally far apart."""
        place = self.at(rows.start, columns.start)
        return MatrixPanel(place, len(rows), len(columns), self.row, self.second, self.pair)

    @property
    def T(self) -> "MatrixPanel":
        """The transpose of a matrix whose columns are all equally far apart."""
        return MatrixPanel(self.place, self.columns, self.rows, self.second, self.row, 2 * self.row)


def _nodes(plan: Any) -> list[int]:
    """Return the bodies in the order of their coordinates, so that results lie as they are told; or in that of the
    tree, where some coordinates come before those of a body nearer to the ground."""
    order = sorted(range(1, plan.n), key=lambda i: int(plan.v_start[i]))
    place = {0: -1, **{i: k for k, i in enumerate(order)}}
    in_order = all(place[int(plan.parent[i])] < place[i] for i in order)
    return order if in_order else list(range(1, plan.n))


class Work:
    """What is common to both ways of working."""

    slot: int
    algorithm: Algorithm

    def __init__(self, plan: Any, algorithm: Algorithm, forces: Sequence[Any]) -> None:
        self.plan, self.algorithm, self.forces = plan, algorithm, forces
        self.widths = {f: view_size(algorithm, v) for f, v in algorithm.component_fields.items()}
        self.components = [(i, k) for i in _nodes(plan) for k in range(plan.v_size[i])]
        """The velocity components, those nearer to the ground first: node and number within the joint."""
        self.index = {pair: number for number, pair in enumerate(self.components)}
        self.coordinate = [int(plan.v_start[i]) + k for i, k in self.components]
        """The place of each component among the coordinates."""
        # Zeros. A kernel needs at least one term, which may be nothing times nothing; entries may lie in pairs.
        self._nothing = self.reserve(2 * MOST)
        self.above = self._above()
        """The components on the way to the ground from each component, itself last."""

    def _above(self) -> list[list[int]]:
        chain: dict[int, list[int]] = {0: []}
        above = []
        for i, k in self.components:
            below = [self.index[i, r] for r in range(k + 1)]
            above.append([*self.reach(int(self.plan.parent[i]), chain), *below])
        return above

    def reach(self, node: int, known: dict[int, list[int]] | None = None) -> list[int]:
        """Return the components on the way from the ground to a node."""
        known = {0: []} if known is None else known
        if node not in known:
            own = [self.index[node, k] for k in range(self.plan.v_size[node])]
            known[node] = [*self.reach(int(self.plan.parent[node]), known), *own]
        return known[node]

    def reserve(self, count: int) -> int:
        """Return a place for so many numbers."""
        raise NotImplementedError

    def matrix(self, rows: int, columns: int) -> MatrixPanel:
        """Return a new matrix, row after row."""
        slot = self.slot
        return MatrixPanel(self.reserve(rows * columns), rows, columns, columns * slot, slot, 2 * slot)

    def two_matrices(self, rows: int, columns: int) -> MatrixPanel:
        """Return two new matrices, one after the other, whose columns are taken in turns."""
        slot, place = self.slot, self.reserve(2 * rows * columns)
        return MatrixPanel(place, rows, 2 * columns, columns * slot, rows * columns * slot, slot)

    def product(
        self,
        out: MatrixPanel,
        A: MatrixPanel,
        B: MatrixPanel,
        *,
        start: MatrixPanel | None = None,
        minus: bool = False,
    ) -> None:
        """out = start + or - A B. The columns of A are equally far apart, and `out` may be `start`, but neither A nor
        B."""
        r = 0
        for R, row_tiles in _in_threes(out.rows):
            c = 0
            for C, column_tiles in _in_fours(out.columns):
                rows, columns = range(r, r + R * row_tiles), range(c, c + C * column_tiles)
                self._product(
                    (R, C), out.part(rows, columns), A.part(rows, range(A.columns)), B.part(range(B.rows), columns),
                    None if start is None else start.part(rows, columns), minus,
                )  # fmt: skip
                c += len(columns)
            r += R * row_tiles

    def _product(
        self,
        tile: tuple[int, int],
        out: MatrixPanel,
        A: MatrixPanel,
        B: MatrixPanel,
        start: MatrixPanel | None,
        minus: bool,
    ) -> None:
        raise NotImplementedError

    def copy(self, out: MatrixPanel, A: MatrixPanel) -> None:
        """Copy a matrix; the columns of both are equally far apart."""
        raise NotImplementedError

    def clear(self, out: MatrixPanel) -> None:
        """Let a matrix, whose columns are equally far apart, be zero."""
        self.copy(out, MatrixPanel(self._nothing, out.rows, out.columns, 0, 0, 0))

    def combine(
        self, out: int, terms: Sequence[Term], count: int = 1, spread: int = ROW, *, start: int | None = None,
        out_spread: int = ROW, start_spread: int = ROW, minus: bool = False,
    ) -> None:  # fmt: skip
        """`count` entries: start + or - the sum of factor times entry over the terms, which are pairs of the places of
        a factor and of the first entry. Entries, start and results each lie in a ROW or in PAIRS; without terms and
        start, the results are zeros."""
        for done in range(0, count, MOST):
            at = [offset(done, s) * self.slot for s in (spread, out_spread, start_spread)]
            self._combine(
                min(MOST, count - done), [(f, b + at[0]) for f, b in terms], out + at[1],
                None if start is None else start + at[2], (spread, out_spread, start_spread), minus,
            )  # fmt: skip

    def _combine(
        self,
        T: int,
        terms: list[Term],
        out: int,
        start: int | None,
        spreads: tuple[int, int, int],
        minus: bool,
    ) -> None:
        raise NotImplementedError


def _in_threes(count: int) -> list[tuple[int, int]]:
    """Return how rows are taken: so many at a time, and how many times. Threes and twos, one only by itself."""
    twos = {0: 0, 1: 2, 2: 1}[count % 3] if count > 1 else 0
    taken = [(3, (count - 2 * twos) // 3), (2, twos)] if count > 1 else [(1, count)]
    return [(size, times) for size, times in taken if times]


def _in_fours(count: int) -> list[tuple[int, int]]:
    """Return how columns are taken: so many at a time, and how many times."""
    return [(size, times) for size, times in ((4, count // 4), (count % 4, 1)) if size * times]


class LaneWork(Work):
    """Work that is written to a tape."""

    def __init__(self, layout: "Layout") -> None:
        assert layout.algorithm is not None
        self._layout, self.slot = layout, layout.slot_bytes
        super().__init__(layout.plan, layout.algorithm, layout.forces)
        self._kernels = kernels(layout.lanes)
        self._rows: list[tuple[int, int, tuple[int, ...], Sequence[int]]] = []
        self._starts = {f: layout.slots(f) for f in self.widths}
        # Where equations of so many unknowns are eliminated.
        self._scratch: dict[int, int] = {}

    def reserve(self, count: int) -> int:
        # On a cache line, so that a pair takes one.
        if self._layout.bytes % CACHE_LINE:
            self._layout.reserve(1)
        return self._layout.reserve(count)

    def component(self, name: str, node: int, k: int) -> int:
        """Return the place of row k of a field of a body."""
        return int(self._starts[name][node]) + k * self.widths[name] * self.slot

    def ground(self, name: str) -> int:
        """Return the first number of a field of the ground."""
        return self._layout.ground_fields[name][0] * self.slot

    def force_row(self, name: str, force: int, k: int) -> int:
        """Return the place of row k of a field of a force."""
        first = self._layout.force_units[force].fields[name][0]
        place = int(self._layout.force_records[force]) + first * self.slot
        return place + k * self.widths[name] * self.slot

    def step(self, sweep: Sweep, *places: int) -> None:
        """Call a step on views."""
        self._rows.append((self._layout.sweep_index[id(sweep)], 0, places, ()))

    def _combine(
        self,
        T: int,
        terms: list[Term],
        out: int,
        start: int | None,
        spreads: tuple[int, int, int],
        minus: bool,
    ) -> None:
        if not terms:
            terms = [(self._nothing, self._nothing)]
        if start is None:
            start = self._nothing
        bits = (spreads[1] == PAIRS) + 2 * (spreads[2] == PAIRS)
        numbers = [
            len(terms),
            out,
            start,
            _SIGN[minus],
            bits,
            *((entry << 32) | factor for factor, entry in terms),
        ]
        self._rows.append((-1, self._kernels[COMBINE[T, spreads[0]]], (0,), numbers))

    def _product(
        self,
        tile: tuple[int, int],
        out: MatrixPanel,
        A: MatrixPanel,
        B: MatrixPanel,
        start: MatrixPanel | None,
        minus: bool,
    ) -> None:
        R, C = tile
        begin = MatrixPanel(self._nothing, 0, 0, 0, 0, 0) if start is None else start
        numbers = [
            A.columns, out.rows // R, out.columns // C, _SIGN[minus],
            out.place, out.row, out.second, out.pair,
            begin.place, begin.row, begin.second, begin.pair,
            A.place, A.row, A.second, B.place, B.row, B.second, B.pair,
        ]  # fmt: skip
        self._rows.append((-1, self._kernels[PRODUCT[tile]], (0,), numbers))

    def inverse(self, out: MatrixPanel, A: MatrixPanel) -> None:
        """Compute the inverse of a positive definite matrix from its lower half; `out` lies row after row."""
        kernel = self._kernels[INVERSE[A.rows]]
        self._rows.append((-1, kernel, (out.place, A.place), (A.row, A.second)))

    def roots(self, out: MatrixPanel, root: MatrixPanel, A: MatrixPanel) -> None:
        """Compute the inverse of a positive definite matrix as K K^T, K upper triangular, from its lower half; `out`
        and `root`, which is K, lie row after row."""
        kernel = self._kernels[ROOTS[A.rows]]
        self._rows.append((-1, kernel, (out.place, root.place, A.place), (A.row, A.second)))

    def copy(self, out: MatrixPanel, A: MatrixPanel) -> None:
        """Copy a matrix; the columns of both are equally far apart."""
        numbers = (A.rows, A.columns, out.row, out.second, A.row, A.second)
        self._rows.append((-1, self._kernels["copy"], (out.place, A.place), numbers))

    def invert(self, out: int, x: int, root: int) -> None:
        """Compute 1 / x, and 1 / sqrt(x) at `root`."""
        self._rows.append((-1, self._kernels["invert"], (out, x, root), ()))

    def judge(self, out: int, squares: int, tolerance: int, doubt: int) -> None:
        """Compute 1 / length of what is left of a row, zero if that is nothing; `matrix_kernels` says what is where."""
        self._rows.append((-1, self._kernels["judge"], (out, squares, tolerance, doubt), ()))

    def solve(
        self,
        x: MatrixPanel,
        W: MatrixPanel,
        rows: int,
        goes: int,
        normals: Sequence[int],
        others: Sequence[int],
    ) -> None:
        """Solve equations for x (n, 1) in the lanes where the number at `goes` is not zero; others keep theirs. At the
        place `rows` there are four numbers m, o, s, b for each of them: sum_j (m W_ij + o W_lj) x_j + (1 - m) x_i -
        o x_l - s x_k = b, where `normals` has the k and `others` the l of each. No row is exchanged with another."""
        n = W.rows
        if n not in self._scratch:
            self._scratch[n] = self.reserve(n * (n + 2))
        numbers = (n, W.row, x.row, self._scratch[n] - x.place, *normals, *others)
        self._rows.append((-1, self._kernels["solve"], (x.place, W.place, rows, goes), numbers))

    @contextmanager
    def unless_done(self, place: int) -> Iterator[None]:
        """Leave out what is called inside where the number at this place is zero in all lanes."""
        row = len(self._rows)
        self._rows.append((-1, LEAVE_OUT, (place,), (0,)))
        yield
        self._rows[row] = (-1, LEAVE_OUT, (place,), (len(self._rows) - row - 1,))

    def output(self, name: str, shape: tuple[int, ...], places: Sequence[tuple[int, int]]) -> None:
        """Name results: pairs of an index in the flattened array and a place."""
        table = np.array(places, dtype=np.int64).reshape(-1, 2)
        self._layout.matrix_places[name] = shape, table * [8, 1]

    def calls(self) -> Calls:
        """Return all calls in order."""
        count = len(self._rows)
        records = np.zeros((4, count), dtype=np.int64)
        for k, (_, _, places, _) in enumerate(self._rows):
            records[: len(places), k] = places
        sweeps, addresses = (np.array([row[c] for row in self._rows], dtype=np.int64) for c in (0, 1))
        return Calls(
            np.full(count, -1), np.full(count, ADD), tuple(records), sweeps, addresses,
            tuple(row[3] for row in self._rows),
        )  # fmt: skip


class PlainWork(Work):
    """Work that is done at once on a list of numbers or symbols."""

    slot = 1

    def __init__(self, run: "PlainRun") -> None:
        self._memory: list[Any] = []
        super().__init__(run.plan, run.algorithm, run.forces)
        self._run = run
        self._placed: dict[tuple[str, int, int], int] = {}

    def play(self, order: Callable[[Any], None]) -> None:
        """Do what an order asks for. Areas that it reserves last as long as the run."""
        self._placed.clear()
        order(self)
        for (name, which, number), place in self._placed.items():
            record = self._record(which, number)
            entries, rebuild = flatten(getattr(record, name))
            setattr(record, name, rebuild(self._memory[place : place + len(entries)]))

    def _record(self, which: int, number: int) -> Any:
        run = self._run
        return run.records[0] if which == 2 else (run.force_records if which else run.records)[number]

    def reserve(self, count: int) -> int:
        start = len(self._memory)
        self._memory += [0.0] * count
        return start

    def _keep(self, *key: Any) -> int:
        if key not in self._placed:
            entries = flatten(getattr(self._record(*key[1:]), key[0]))[0]
            self._placed[key] = self.reserve(len(entries))
            self._memory[self._placed[key] :] = entries
        return self._placed[key]

    def component(self, name: str, node: int, k: int) -> int:
        """Return the place of row k of a field of a body."""
        return self._keep(name, 0, node) + k * self.widths[name]

    def ground(self, name: str) -> int:
        """Return the first number of a field of the ground."""
        return self._keep(name, 2, 0)

    def force_row(self, name: str, force: int, k: int) -> int:
        """Return the place of row k of a field of a force."""
        return self._keep(name, 1, force) + k * self.widths[name]

    def step(self, sweep: OnCall, *places: int) -> None:
        """Call a step on views."""
        self.call(sweep.step, places, sweep.roles)

    def call(self, step: Any, records: Sequence[Any], roles: Sequence[str]) -> None:
        """Call a step on records, some of which are views at places."""
        views, found = [], list[Any]()
        for record, role in zip(records, roles, strict=True):
            if isinstance(record, int | np.integer):
                views.append((view := SimpleNamespace(), role, int(record)))
                at, record = int(record), view
                for name, extent in self.algorithm.view(role).items():
                    entries, rebuild = flatten(sample(extent, 0, 0))
                    setattr(view, name, rebuild(self._memory[at : at + len(entries)]))
                    at += len(entries)
            found.append(record)
        step(*found)
        for record, role, place in views:
            entries = [e for name in self.algorithm.view(role) for e in flatten(getattr(record, name))[0]]
            self._memory[place : place + len(entries)] = entries

    def _combine(
        self,
        T: int,
        terms: list[Term],
        out: int,
        start: int | None,
        spreads: tuple[int, int, int],
        minus: bool,
    ) -> None:
        memory, results = self._memory, []
        for t in range(T):
            total: Any = 0.0
            for factor, entry in terms:
                total = total + memory[factor] * memory[entry + offset(t, spreads[0])]
            begin = 0.0 if start is None else memory[start + offset(t, spreads[2])]
            results.append((out + offset(t, spreads[1]), begin - total if minus else begin + total))
        for place, value in results:
            memory[place] = value

    def _product(
        self,
        tile: tuple[int, int],
        out: MatrixPanel,
        A: MatrixPanel,
        B: MatrixPanel,
        start: MatrixPanel | None,
        minus: bool,
    ) -> None:
        memory = self._memory
        for r in range(out.rows):
            for c in range(out.columns):
                total: Any = 0.0
                for k in range(A.columns):
                    total = total + memory[A.at(r, k)] * memory[B.at(k, c)]
                begin = 0.0 if start is None else memory[start.at(r, c)]
                memory[out.at(r, c)] = begin - total if minus else begin + total

    def inverse(self, out: MatrixPanel, A: MatrixPanel) -> None:
        """Compute the inverse of a positive definite matrix from its lower half; `out` lies row after row."""
        n, memory = A.rows, self._memory
        swept = [[memory[A.at(max(i, j), min(i, j))] for j in range(n)] for i in range(n)]
        for k in range(n):
            d, met = reciprocal(swept[k][k]), list(swept[k])
            for i in range(n):
                for j in range(n):
                    if i != k and j != k:
                        swept[i][j] = swept[i][j] - met[i] * d * met[j]
            for i in range(n):
                swept[i][k] = swept[k][i] = met[i] * d
            swept[k][k] = -d
        for i in range(n):
            for j in range(n):
                memory[out.at(i, j)] = -swept[i][j]

    def roots(self, out: MatrixPanel, root: MatrixPanel, A: MatrixPanel) -> None:
        """Compute the inverse of a positive definite matrix as K K^T, K upper triangular, from its lower half; `out`
        and `root`, which is K, lie row after row."""
        n, memory = A.rows, self._memory
        left = [[memory[A.at(max(i, j), min(i, j))] for j in range(n)] for i in range(n)]
        W: list[list[Any]] = [[float(i == j) for j in range(n)] for i in range(n)]
        for k in range(n):
            D = reciprocal(left[k][k])
            for i in range(k + 1, n):
                factor = left[i][k] * D
                left[i] = [x - factor * y for x, y in zip(left[i], left[k], strict=True)]
                W[i] = [x - factor * y for x, y in zip(W[i], W[k], strict=True)]
        K = [[W[c][r] * reciprocal(sqrt(left[c][c])) if c >= r else 0.0 for c in range(n)] for r in range(n)]
        for i in range(n):
            for j in range(n):
                memory[root.at(i, j)] = K[i][j]
                memory[out.at(i, j)] = sum((K[i][c] * K[j][c] for c in range(max(i, j), n)), 0.0)

    def copy(self, out: MatrixPanel, A: MatrixPanel) -> None:
        """Copy a matrix; the columns of both are equally far apart."""
        for r in range(A.rows):
            for c in range(A.columns):
                self._memory[out.at(r, c)] = self._memory[A.at(r, c)]

    def invert(self, out: int, x: int, root: int) -> None:
        """Compute 1 / x, and 1 / sqrt(x) at `root`."""
        memory = self._memory
        memory[out], memory[root] = reciprocal(memory[x]), reciprocal(sqrt(memory[x]))

    def judge(self, out: int, squares: int, tolerance: int, doubt: int) -> None:
        """Compute 1 / length of what is left of a row, zero if that is nothing; `matrix_kernels` says what is where."""
        memory = self._memory
        left, before, usual = memory[squares : squares + 3]
        size = where(less(before, usual), usual, before)
        counts = less(memory[tolerance] * memory[tolerance] * size, left)
        safe = where(counts, left, 1.0)
        memory[out] = where(counts, reciprocal(sqrt(safe)), 0.0)
        near = where(counts, size / safe, 0.0)
        memory[doubt] = where(less(memory[doubt], near), near, memory[doubt])

    def solve(
        self,
        x: MatrixPanel,
        W: MatrixPanel,
        rows: int,
        goes: int,
        normals: Sequence[int],
        others: Sequence[int],
    ) -> None:
        """Solve equations for x (n, 1) where the number at `goes` is not zero; `LaneWork.solve` says which."""
        n, memory = W.rows, self._memory
        G: list[list[Any]] = []
        for i in range(n):
            m, o, s, b = memory[rows + 4 * i : rows + 4 * i + 4]
            other = others[i]
            row = [m * memory[W.at(i, j)] + o * memory[W.at(other, j)] for j in range(n)]
            row[i] = row[i] + (1.0 - m)
            row[other] = row[other] - o
            row[normals[i]] = row[normals[i]] - s
            G.append([*row, b])
        for k in range(n):
            over = reciprocal(G[k][k])
            for i in range(k + 1, n):
                factor = G[i][k] * over
                G[i] = [
                    y - factor * z if j > k else y for j, (y, z) in enumerate(zip(G[i], G[k], strict=True))
                ]
        found: list[Any] = [0.0] * n
        for k in reversed(range(n)):
            left = G[k][n]
            for j in range(k + 1, n):
                left = left - G[k][j] * found[j]
            found[k] = left * reciprocal(G[k][k])
        for i in range(n):
            memory[x.at(i, 0)] = where(less(memory[goes], 0.5), memory[x.at(i, 0)], found[i])

    @contextmanager
    def unless_done(self, place: int) -> Iterator[None]:
        """Do what is called inside: it changes nothing where nothing is left to do."""
        yield

    def output(self, name: str, shape: tuple[int, ...], places: Sequence[tuple[int, int]]) -> None:
        """Name results: pairs of an index in the flattened array and a place."""
        flat = np.zeros(math.prod(shape), dtype=object)
        for index, place in places:
            flat[index] = self._memory[place]
        self._run.matrices[name] = flat.reshape(shape)
