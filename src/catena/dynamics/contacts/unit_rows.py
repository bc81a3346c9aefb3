"""Rows that forces act along in a tree: three for a contact, one for a component of a joint; and what forces along them
do to each other. Cost O(rows depth) + O(rows^2).

As in `contact_forces`, each row is a unit force that goes to the base as F <- F - z U, with e = F S^T and z = e D^-1 at
each joint on the way. A row at a joint begins there with e = 1 and without a wrench. Joints that the same units move
are taken together: with E their e and Z their z, (components, rows) each, the mobility is the sum of Z^T E.
"""

from dataclasses import dataclass
from typing import Any

from catena.dynamics.contacts.contact_forces import (
    FIELD_SIZE,
    SIZE,
    VIEWS,
    carry_one,
    stand_still,
    touch,
    touch_field,
    touch_floor,
    touch_rim,
)
from catena.kernels import OnCall
from catena.kernels.matrices import MatrixPanel


@dataclass(frozen=True)
class TouchingUnit:
    """A contact: the node that touches, the one that it is on, whether that is round there, whether a rim touches,
    and whether the floor is a height field."""

    a: int
    b: int
    is_round: bool
    is_rim: bool = False
    is_bent: bool = False

    width = 3


@dataclass(frozen=True)
class JointUnit:
    """A component of a joint, which a stop (`is_stop`) or dry friction acts on."""

    node: int
    component: int
    is_stop: bool

    width = 1


@dataclass(frozen=True)
class CutUnit:
    """A component of a joint that closes a loop between the nodes a, its child, and b, which dry friction acts on."""

    a: int
    b: int

    width = 1
    is_stop = False


Unit = TouchingUnit | JointUnit | CutUnit
PUSHED = sum(extent.size for extent in VIEWS["pushed"].values())
AT = {name: sum(e.size for e in list(VIEWS["pushed"].values())[:k]) for k, name in enumerate(VIEWS["pushed"])}


def called(bent: int) -> tuple[OnCall, ...]:
    """Return the steps by which rows are found, of contacts of which so many are on height fields."""
    return (stand_still, touch, touch_floor, touch_rim, carry_one, *([touch_field] if bent else []))


class UnitRows:
    """The rows of some units, as work on matrices."""

    def __init__(self, units: tuple[Unit, ...]) -> None:
        self.units = units
        self.first: list[int] = []
        self.count = 0
        for unit in units:
            self.first.append(self.count)
            self.count += unit.width

    def rows(self, i: int) -> range:
        """Return the rows of a unit."""
        return range(self.first[i], self.first[i] + self.units[i].width)

    def begin(self, work: Any) -> None:
        """Find the unit forces and carry them to the base."""
        self.work = work
        self._touch()
        feels: dict[int, list[int]] = {}
        for i in range(len(self.units)):
            for node in self._felt_by(i):
                feels.setdefault(node, []).append(i)
        self.groups: dict[tuple[int, ...], list[int]] = {}
        for node in sorted(feels):
            self.groups.setdefault(tuple(feels[node]), []).append(node)
        self.felt: dict[tuple[int, ...], tuple[MatrixPanel, MatrixPanel]] = {}
        self.e: list[dict[int, MatrixPanel]] = [{} for _ in self.units]
        self.z: list[dict[int, MatrixPanel]] = [{} for _ in self.units]
        for members in self.groups:
            height = max(1, sum(self._size(node) for node in self.groups[members]))
            both = work.matrix(height, self._width(members)), work.matrix(height, self._width(members))
            self.felt[members] = both
            for i, columns in self._columns(members):
                for node, rows in self._places(members):
                    self.e[i][node], self.z[i][node] = (x.part(rows, columns) for x in both)
        for i in range(len(self.units)):
            self._carry(i)
        for members, (E, Z) in self.felt.items():
            for node, rows in self._places(members):
                if len(rows) > 1 and not work.plan.parent[node]:
                    every = range(E.columns)
                    work.product(Z.part(rows, every), self._yields(node), E.part(rows, every))

    def mobility(self) -> MatrixPanel:
        """Return what forces along rows do to each other, (rows, rows)."""
        work = self.work
        W = work.matrix(self.count, self.count)
        groups = sorted(self.groups, key=len, reverse=True)
        adds = not groups or len(groups[0]) < len(self.units)
        if adds:
            work.clear(W)
        for group in groups:
            E, Z = self.felt[group]
            height = range(E.rows)
            runs = self._runs(group)
            for own_columns, own in runs:
                for columns, other in runs:
                    block = W.part(own, other)
                    left, right = Z.part(height, own_columns), E.part(height, columns)
                    work.product(block, left.T, right, start=block if adds else None)
            adds = True
        return W

    def press(self, p: MatrixPanel) -> None:
        """Let joints feel the forces p (rows, 1)."""
        work, slot = self.work, self.work.slot
        for group, (E, _) in self.felt.items():
            for node, rows in self._places(group):
                felt = MatrixPanel(work.component("pulls", node, 0), len(rows), 1, slot, slot, slot)
                start = None
                for columns, own in self._runs(group):
                    work.product(felt, E.part(rows, columns), p.part(own, range(1)), start=start)
                    start = felt

    def of(self, i: int, name: str, rows: int, columns: int) -> MatrixPanel:
        """Return a matrix that a contact told."""
        slot = self.work.slot
        return MatrixPanel(self.pushed[i] + AT[name] * slot, rows, columns, columns * slot, slot, 2 * slot)

    def _touch(self) -> None:
        """Find how contacts stand and move, and their unit forces."""
        work, slot = self.work, self.work.slot
        ground = self.still = work.reserve(30)
        work.step(stand_still, ground)
        self.unit = MatrixPanel(ground, 3, 3, 3 * slot, slot, 2 * slot)
        self.pushed: dict[int, int] = {}
        number = bent = 0
        for i, unit in enumerate(self.units):
            if not isinstance(unit, TouchingUnit):
                continue
            self.pushed[i] = work.reserve(PUSHED)
            contact = work.ground("contacts") + number * SIZE * slot
            number += 1
            sides = [work.component("seen", n, 0) if n else ground for n in (unit.a, unit.b)]
            if unit.is_bent:
                field = work.ground("fields") + bent * FIELD_SIZE * slot
                bent += 1
                row = MatrixPanel(field, 1, FIELD_SIZE, FIELD_SIZE * slot, slot, slot)
                work.copy(self.of(i, "back", 1, FIELD_SIZE), row)
                work.step(touch_field, contact, *sides, self.pushed[i])
            elif unit.is_rim:
                work.step(touch_rim, contact, *sides, self.pushed[i])
            elif not unit.b and not unit.is_round:
                work.step(touch_floor, contact, sides[0], self.pushed[i])
            else:
                work.step(touch, contact, *sides, self.pushed[i])

    def _felt_by(self, i: int) -> list[int]:
        """Return the nodes whose joints feel a unit."""
        unit = self.units[i]
        ends = (unit.node,) if isinstance(unit, JointUnit) else (unit.a, unit.b)
        found: set[int] = set()
        for node in ends:
            while node:
                found.add(node)
                node = int(self.work.plan.parent[node])
        return sorted(found)

    def _size(self, node: int) -> int:
        return int(self.work.plan.v_size[node])

    def _width(self, members: tuple[int, ...]) -> int:
        return sum(self.units[i].width for i in members)

    def _columns(self, members: tuple[int, ...]) -> list[tuple[int, range]]:
        """Return the units of a group, and their columns in what its joints feel."""
        found, first = [], 0
        for i in members:
            found.append((i, range(first, first + self.units[i].width)))
            first += self.units[i].width
        return found

    def _runs(self, members: tuple[int, ...]) -> list[tuple[range, range]]:
        """Return the columns of units of a group that follow each other, and their rows among all."""
        found: list[tuple[range, range]] = []
        for i, columns in self._columns(members):
            own = self.rows(i)
            if found and found[-1][1].stop == own.start:
                found[-1] = range(found[-1][0].start, columns.stop), range(found[-1][1].start, own.stop)
            else:
                found.append((columns, own))
        return found

    def _places(self, members: tuple[int, ...]) -> list[tuple[int, range]]:
        """Return the joints of a group that have components, and the rows of these."""
        found, first = [], 0
        for node in self.groups[members]:
            if self._size(node):
                found.append((node, range(first, first + self._size(node))))
            first += self._size(node)
        return found

    def _ways(self, node: int, at: int) -> MatrixPanel:
        """Return the motions, or from `at` = 6 on the forces, of the components of a joint as rows."""
        slot, n = self.work.slot, self._size(node)
        return MatrixPanel(
            self.work.component("ways", node, 0) + at * slot, n, 6, (12 + n) * slot, slot, 2 * slot
        )

    def _yields(self, node: int) -> MatrixPanel:
        """Return how the components of a joint yield to its forces."""
        slot, n = self.work.slot, self._size(node)
        return MatrixPanel(
            self.work.component("ways", node, 0) + 12 * slot, n, n, (12 + n) * slot, slot, 2 * slot
        )

    def _carry(self, i: int) -> None:
        """Carry the unit forces of a unit to the base."""
        work, unit = self.work, self.units[i]
        if isinstance(unit, JointUnit):
            here = self._begun_at_joint(i, unit)
        else:
            here = {node: self.of(i, name, 3, 6) for node, name in ((unit.a, "T"), (unit.b, "back")) if node}
        while here:
            node = max(here)
            F = here.pop(node)
            n, parent = self._size(node), int(work.plan.parent[node])
            e, z = (x[i].get(node, F) for x in (self.e, self.z))
            if n == 1 and F.rows == 3:
                work.step(carry_one, F.place, work.component("ways", node, 0), e.place, z.place)
            elif n:
                work.product(e, self._ways(node, 0), F.T)
                if parent:
                    # Joints to ground yield to all units at once.
                    work.product(z, self._yields(node), e)
                    work.product(F, z.T, self._ways(node, 6), start=F, minus=True)
            if parent and parent in here:
                work.product(F, self.unit, here[parent], start=F)
            if parent:
                here[parent] = F

    def _begun_at_joint(self, i: int, unit: JointUnit) -> dict[int, MatrixPanel]:
        """Let a unit force begin at its joint. Returns what its parent feels, nothing where that is ground."""
        work, node, parent = self.work, unit.node, int(self.work.plan.parent[unit.node])
        e, z = self.e[i][node], self.z[i][node]
        work.clear(e)
        work.copy(
            e.part(range(unit.component, unit.component + 1), range(1)), self.unit.part(range(1), range(1))
        )
        work.product(z, self._yields(node), e)
        if not parent:
            return {}
        F = work.matrix(1, 6)
        work.product(F, z.T, self._ways(node, 6), minus=True)
        return {parent: F}
