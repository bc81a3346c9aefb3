"""Work on matrices: what an `OnMatrices` order may ask for, in lanes and on plain numbers.

A *place* is a whole number: where an entry lies, in bytes of the workspace in lanes, and as an index of a list on plain
numbers; `slot` is the distance from one number to the next. An order is a function of a work. It reserves areas, asks
where rows of bodies and forces lie, and calls

    step(sweep, *places)     a step whose records are views, on records that begin at these places
    combine(...)             sums of products, T entries at a time
    invert(out, x, root)     1 / x and 1 / sqrt(x)
    judge(...)               whether a row is a constraint of its own
    output(name, places)     results

On the tape each of them is one call; on plain numbers it is done at once.
"""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.kernels.algorithm import ADD, Algorithm, Calls, OnCall, Sweep
from catena.kernels.fields import flatten
from catena.kernels.matrix_kernels import COMBINE, MOST, PAIRS, ROW, kernels, offset
from catena.kernels.tracing import sample
from catena.spatial.scalars import less, reciprocal, sqrt, where

if TYPE_CHECKING:
    from catena.kernels.plain import PlainRun
    from catena.kernels.tape import Layout

Term = tuple[int, int]
CACHE_LINE = 64
# Signs as words, as kernels read them.
_SIGN = {minus: int(np.array(-1.0 if minus else 1.0).view(np.int64)) for minus in (False, True)}


def view_size(algorithm: Algorithm, view: str) -> int:
    """Return how many numbers a record of a view has."""
    return sum(len(flatten(sample(extent, 0, 0))[0]) for extent in algorithm.views[view].values())


class Work:
    """What is common to both ways of working."""

    slot: int
    algorithm: Algorithm

    def __init__(self, plan: Any, algorithm: Algorithm, forces: Sequence[Any]) -> None:
        self.plan, self.algorithm, self.forces = plan, algorithm, forces
        self.widths = {f: view_size(algorithm, v) for f, v in algorithm.component_fields.items()}
        nodes = range(1, plan.n)
        self.components = [(i, k) for i in nodes for k in range(plan.v_size[i])]
        """The velocity components in the order of the tree: node and number within the joint."""
        self.index = {pair: number for number, pair in enumerate(self.components)}
        self.coordinate = [int(plan.v_start[i]) + k for i, k in self.components]
        """The place of each component among the coordinates."""
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


class LaneWork(Work):
    """Work that is written to a tape."""

    def __init__(self, layout: "Layout") -> None:
        assert layout.algorithm is not None
        super().__init__(layout.plan, layout.algorithm, layout.forces)
        self._layout, self.slot = layout, layout.slot_bytes
        self._kernels = kernels(layout.lanes)
        self._rows: list[tuple[int, int, tuple[int, ...], Sequence[int]]] = []
        self._starts = {f: layout.slots(f) for f in self.widths}
        # A kernel needs at least one term, which may be nothing times nothing; entries may lie in pairs.
        self._nothing = layout.reserve(2 * MOST)

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

    def invert(self, out: int, x: int, root: int) -> None:
        """Compute 1 / x, and 1 / sqrt(x) at `root`."""
        self._rows.append((-1, self._kernels["invert"], (out, x, root), ()))

    def judge(self, out: int, squares: int, tolerance: int, doubt: int) -> None:
        """Compute 1 / length of what is left of a row, zero if that is nothing; `matrix_kernels` says what is where."""
        self._rows.append((-1, self._kernels["judge"], (out, squares, tolerance, doubt), ()))

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
        super().__init__(run.plan, run.algorithm, run.forces)
        self._run = run
        self._memory: list[Any] = []
        self._placed: dict[tuple[str, int, int], int] = {}

    def reserve(self, count: int) -> int:
        start = len(self._memory)
        self._memory += [0.0] * count
        return start

    def _keep(self, key: tuple[str, int, int], record: Any) -> int:
        if key not in self._placed:
            entries = flatten(getattr(record, key[0]))[0]
            self._placed[key] = self.reserve(len(entries))
            self._memory[self._placed[key] :] = entries
        return self._placed[key]

    def component(self, name: str, node: int, k: int) -> int:
        """Return the place of row k of a field of a body."""
        return self._keep((name, 0, node), self._run.records[node]) + k * self.widths[name]

    def ground(self, name: str) -> int:
        """Return the first number of a field of the ground."""
        return self._keep((name, 2, 0), self._run.records[0])

    def force_row(self, name: str, force: int, k: int) -> int:
        """Return the place of row k of a field of a force."""
        return self._keep((name, 1, force), self._run.force_records[force]) + k * self.widths[name]

    def step(self, sweep: OnCall, *places: int) -> None:
        """Call a step on views."""
        from catena.kernels.tracing import SECOND_NAMES

        views = []
        for role, place in zip(sweep.roles, places, strict=True):
            record, at = SimpleNamespace(), place
            for name, extent in self.algorithm.views[SECOND_NAMES.get(role, role)].items():
                size = len(flatten(sample(extent, 0, 0))[0])
                setattr(record, name, flatten(sample(extent, 0, 0))[1](self._memory[at : at + size]))
                at += size
            views.append((record, role, place))
        sweep.step(*(record for record, _, _ in views))
        for record, role, place in views:
            entries = [
                e
                for name in self.algorithm.views[SECOND_NAMES.get(role, role)]
                for e in flatten(getattr(record, name))[0]
            ]
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

    def output(self, name: str, shape: tuple[int, ...], places: Sequence[tuple[int, int]]) -> None:
        """Name results: pairs of an index in the flattened array and a place."""
        flat = np.zeros(math.prod(shape), dtype=object)
        for index, place in places:
            flat[index] = self._memory[place]
        self._run.matrices[name] = flat.reshape(shape)
