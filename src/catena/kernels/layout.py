"""Where the records of a mechanism lie in the workspace of an algorithm: bodies, flows that take rolling slots in turn,
loops, forces, the frame; and the tables by which a user's arrays find them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from catena.forces import PlacedForce
from catena.forces.placed import TREE
from catena.kernels.algorithm import (
    ADD,
    ASSIGN,
    CLEAR,
    COLUMNS,
    MATRIX,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
)
from catena.kernels.code import CompiledUnit
from catena.kernels.constants import WORD
from catena.kernels.machine_code.cpu import target
from catena.structure import Branches, Plan, branches


@dataclass
class Layout:
    """The workspace of one algorithm on one plan: byte offsets of the records of all nodes, of the flows, of
    the frame, and of the area for a matrix."""

    plan: Plan
    units: list[CompiledUnit]
    unit_of: np.ndarray
    bodies: np.ndarray
    target: int
    frame_size: int
    ground_size: int
    flow_size: int
    matrix: bool
    lasting: bool = False
    loop_sizes: tuple[int, ...] = ()
    term_sizes: tuple[int, ...] = ()
    sweep_index: dict[int, int] = field(default_factory=dict)
    columns: int = 6
    lanes: int = field(default_factory=lambda: target().lanes)
    shared_size: int = 0
    forces: Sequence[PlacedForce] = ()
    force_units: Sequence[CompiledUnit] = ()
    algorithm: Algorithm | None = None
    ground_fields: dict[str, list[int]] = field(default_factory=dict)
    matrix_places: dict[str, tuple[tuple[int, ...], np.ndarray]] = field(default_factory=dict)
    described: Plan | None = None
    """The plan in which nodes may share coordinates; `plan` gives each its own."""

    def __post_init__(self) -> None:
        self.slot_bytes = WORD * self.lanes
        self.parent, self.nv = self.plan.parent, self.plan.nv
        self.v_start, self.v_size = self.plan.v_start, self.plan.v_size
        sizes = np.array([u.size for u in self.units], dtype=np.int64)[self.unit_of]
        sizes[0] = self.ground_size
        ends = np.cumsum(sizes) * self.slot_bytes
        self.records = np.concatenate([[0], ends[:-1]])
        self.frame = int(ends[-1])
        self.target_flows = self.frame + self.frame_size * self.slot_bytes if self.target else 0
        self.flows = self.frame + (self.frame_size + self.flow_size) * self.slot_bytes
        self.branches = branches(self.plan)
        self._reserved: list[int] = []
        self._owned: dict[int, int] = {}
        self._flow_places = FreePlaces(self.branches, self.parent)
        flow_count = len(self.parent) if self.lasting else max(self._to_tip[1], self._to_base[1])
        self.area = self.flows + flow_count * self.flow_size * self.slot_bytes
        self.bytes = self.area + (self.nv**2 * self.slot_bytes if self.matrix else 0)
        self.loops = [self.reserve(size) for size in self.loop_sizes]
        self.terms = [self.reserve(size) for size in self.term_sizes]
        # The record of the ground begins with its flows, so what it shares has a place of its own.
        self.shared = self.records.copy()
        self.shared[0] = self.reserve(self.shared_size)
        self.force_records = np.array([self.reserve(u.size) for u in self.force_units], dtype=np.int64)
        self.places = SlotPlaces(self)

    @property
    def link_size(self) -> int:
        """Return the slots of a link: what a loop holds of a body (6 x columns) and of its joint (nv x columns)."""
        return (self.algorithm.link_rows if self.algorithm else 12) * self.columns

    def reserve(self, slots: int) -> int:
        """Return a new place at the end of the workspace."""
        start, self.bytes = self.bytes, self.bytes + slots * self.slot_bytes
        self._reserved.append(start)
        return start

    def reserve_for(self, part: int, slots: int) -> int:
        """Return a new place at the end of the workspace that belongs to a part of the mechanism."""
        start = self.reserve(slots)
        self._owned[start] = part
        return start

    def regions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the records in the workspace begin, in order, and the part of the mechanism (`branches`) that
        each belongs to: 0 for the trunk, -1 for those of nobody in particular, such as loops."""
        part, bodies = self.branches.part, np.arange(1, len(self.parent))
        nodes, flows = [bodies], [self.flows_to_tip[1:]]
        if not self.lasting:
            owner, _, own, above = self.flows_to_base
            nodes, flows = [*nodes, owner, self.parent[owner]], [*flows, own, above]
        # Without a matrix the first record that is reserved begins where its area would.
        of_trunk = [self.frame, self.shared[0], *([self.area] if self.matrix else [])]
        others = np.array([self.frame, self.area, *self._reserved], dtype=np.int64)
        trunk = np.isin(others, of_trunk)
        starts = np.concatenate([self.records, *flows, others])
        owners = np.array(
            [0 if is_trunk else self._owned.get(start, -1) for start, is_trunk in zip(others, trunk)]
        )
        owned = np.concatenate([part, *(part[some] for some in nodes), owners])
        # The flows of the ground begin its record, and those of the frame's body follow the frame's.
        of_nobody = np.concatenate(
            [np.zeros(len(part), bool), np.concatenate(flows) < self.flows, np.zeros(len(others), bool)]
        )
        starts, first = np.unique(starts[~of_nobody], return_index=True)
        return starts, owned[~of_nobody][first]

    @property
    def flows_to_tip(self) -> np.ndarray:
        """Return where the flows of each node lie in a sweep to the tip."""
        return self._to_tip[0]

    @property
    def flows_to_base(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the calls of a sweep to the base: owners, variants, and where the flows of the owner and of its
        parent lie."""
        return self._to_base[0]

    def _flow(self, k: int) -> int:
        return self.flows + k * self.flow_size * self.slot_bytes

    @cached_property
    def _to_tip(self) -> tuple[np.ndarray, int]:
        """Place the flows of a sweep to the tip. A body's flows are needed until its last child has read them; then
        their place is free for another body."""
        where = np.zeros(len(self.parent), dtype=np.int64)
        if self.lasting:
            where[1:] = [self._flow(i) for i in range(1, len(where))]
            return where, len(where)
        where[self.target] = self.target_flows
        parent = self.parent.tolist()
        children = np.bincount(self.parent[self.bodies], minlength=len(parent)).tolist()
        places: dict[int, int] = {}
        free = self._flow_places
        free.begin()
        for i in self.bodies.tolist():
            if i != self.target:
                places[i] = free.take(i)
                where[i] = self._flow(places[i])
                if children[i] == 0:
                    free.give(i, places[i])
            p = parent[i]
            children[p] -= 1
            if children[p] == 0 and p in places:
                free.give(p, places[p])
        return where, free.count

    @cached_property
    def _to_base(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], int]:
        """Place the flows of a sweep to the base. A body's flows begin with its first child, or are cleared for a
        body without children, and end when the body has read them."""
        parent = self.parent.tolist()
        places: dict[int, int] = {}
        free = self._flow_places
        free.begin()
        calls: list[tuple[int, int, int, int]] = []
        pinned = {0: 0, self.target: self.target_flows}
        for i in self.bodies.tolist()[::-1]:
            p = parent[i]
            variants = []
            for node in (i, p):
                new = node not in places and node not in pinned
                if new:
                    places[node] = free.take(node)
                variants.append(new)
            own = pinned[i] if i in pinned else self._flow(places[i])
            above = pinned[p] if p in pinned else self._flow(places[p])
            if variants[0]:
                calls.append((i, CLEAR, own, own))
            calls.append((i, ASSIGN if variants[1] else ADD, own, above))
            if i in places:
                free.give(i, places[i])
        table = np.array(calls, dtype=np.int64).reshape(-1, 4)
        return (table[:, 0], table[:, 1], table[:, 2], table[:, 3]), free.count

    @cached_property
    def bodies_by_part(self) -> np.ndarray:
        """Return the bodies in the order in which those are visited that do not depend on each other: part after part
        of the mechanism (`branches`), so that a sum over all of them goes from hand to hand once."""
        return self.bodies[np.argsort(self.branches.part[self.bodies], kind="stable")]

    def path(self, i: int) -> np.ndarray:
        """Return the nodes from i down to the base, without the ground."""
        return self.paths[i]

    @cached_property
    def paths(self) -> list[np.ndarray]:
        paths: list[np.ndarray] = [np.zeros(0, np.int64)]
        for i in range(1, len(self.parent)):
            paths.append(np.concatenate([[i], paths[self.parent[i]]]))
        return paths

    def slots(self, name: str) -> np.ndarray:
        """Return where the first slot of a private field lies in each node's record."""
        first = np.array([u.fields[name][0] if u.fields.get(name) else 0 for u in self.units], dtype=np.int64)
        return self.records + first[self.unit_of] * self.slot_bytes

    def body_table(self, name: str, extent: Any) -> np.ndarray:
        """Return columns of a user's array and slots for a field of every body: pairs of byte offsets, shape (n,
        2)."""
        parts = [np.zeros((0, 2), np.int64)]
        for k, unit in enumerate(self.units):
            slots = np.array(
                unit.fields.get(f"{name} as result") or unit.fields.get(name, []), dtype=np.int64
            )
            nodes = self._nodes_of_units[k]
            if len(slots) == 0 or len(nodes) == 0:
                continue
            width = np.arange(len(slots))
            if extent is POSITION:
                columns = self.plan.q_start[nodes][:, None] + width
            elif extent is VELOCITY:
                columns = self.v_start[nodes][:, None] + width
            elif extent is COLUMNS:
                columns = (width % 6) * self.nv + self.v_start[nodes][:, None] + width // 6
            elif extent is ROWS:
                columns = (self.v_start[nodes][:, None] + width // 6) * 6 + width % 6
            else:
                columns = nodes[:, None] * len(slots) + width
            offsets = self.records[nodes][:, None] + slots * self.slot_bytes
            pairs = np.empty((*columns.shape, 2), np.int64)
            pairs[..., 0], pairs[..., 1] = columns * WORD, offsets
            parts.append(pairs.reshape(-1, 2))
        return np.concatenate(parts)

    @cached_property
    def _nodes_of_units(self) -> list[np.ndarray]:
        """Return the bodies of each unit."""
        units = self.unit_of[self.bodies]
        return [self.bodies[units == k] for k in range(len(self.units))]

    @cached_property
    def reached(self) -> np.ndarray:
        """Return the nodes on the ways from the ground to forces that need to know where bodies stand."""
        return reached(self.plan, self.forces)

    def force_table(self, name: str) -> np.ndarray:
        """Return columns of a user's array, force after force, and slots for a field of those forces that have it:
        pairs of byte offsets, shape (n, 2)."""
        offsets = [
            record + np.array(unit.fields.get(name, []), dtype=np.int64) * self.slot_bytes
            for record, unit in zip(self.force_records, self.force_units, strict=True)
        ]
        slots = np.concatenate([np.zeros(0, np.int64), *offsets])
        return np.stack([np.arange(len(slots)) * WORD, slots], axis=1)

    def matrix_table(self) -> np.ndarray:
        """Return both triangles of a matrix over the velocity components from the rows that were computed."""
        pairs = []
        for i in self.bodies:
            for k in range(self.v_size[i]):
                row = self.v_start[i] + k
                for j in self.path(i):
                    for c in range(self.v_start[j], self.v_start[j] + self.v_size[j]):
                        slot = self.area + self.slot_bytes * (row * self.nv + c)
                        pairs.append((WORD * (row * self.nv + c), slot))
                        if j != i:
                            pairs.append((WORD * (c * self.nv + row), slot))
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)


class FreePlaces:
    """Places for flows that are taken in turn. Each part of the mechanism has its own, so that none waits for another;
    where there are several, those that another part reads, of the trunk and of what hangs on it, are taken once."""

    def __init__(self, divided: Branches, parent: np.ndarray) -> None:
        self._part = divided.part
        self._keeps = ((divided.part == 0) | (divided.part[parent] != divided.part)) & (divided.count > 0)
        self._free: dict[int, list[int]] = {}
        self._taken: dict[int, list[int]] = {}
        self.count = 0

    def begin(self) -> None:
        """Let all places be free for another sweep, each for the part that had it."""
        self._free = {part: places[::-1] for part, places in self._taken.items()}

    def take(self, node: int) -> int:
        """Return the number of a place for the flows of a node."""
        part = int(self._part[node])
        free = self._free.setdefault(part, [])
        if free:
            return free.pop()
        self._taken.setdefault(part, []).append(self.count)
        self.count += 1
        return self.count - 1

    def give(self, node: int, place: int) -> None:
        """Let others of its part have the place of a node."""
        if not self._keeps[node]:
            self._free.setdefault(int(self._part[node]), []).append(place)


class SlotPlaces:
    """Where a schedule finds the records of bodies and loops. Links and pairs come into being when first
    asked for; the links of a loop to the two bodies it joins lie in its own record."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.plan = layout.plan
        self._pairs: dict[tuple[int, int], int] = {}
        self._reserved: dict[tuple[int, int], int] = {}
        self._stand_ins: dict[tuple[int, int], int] = {}
        self.wings = layout.branches.wings
        self.begin()

    def begin(self) -> None:
        """A new schedule begins: loops hold the two bodies that they join. What earlier schedules took for links and
        pairs serves again."""
        layout = self._layout
        self._links: dict[tuple[int, int], int] = {}
        self._own: set[int] = set()
        if not layout.loops:
            return
        for k, joint in enumerate(self.plan.loop_joints):
            self._join(k, {joint.child_node: [layout.loops[k]]})
            self._join(k, {joint.parent_node: [layout.loops[k] + layout.link_size * layout.slot_bytes]})
        for k in range(len(self.plan.loop_joints), len(layout.loops)):
            self._join(k, self.ends(k))

    def _join(self, k: int, ends: dict[int, list[int]]) -> None:
        """Let a loop hold a body by the end that it has there; several of them are summed up elsewhere."""
        for node, places in ends.items():
            if len(places) == 1:
                self._links[k, node] = places[0]
                self._own.add(places[0])

    def ends(self, k: int) -> dict[int, list[int]]:
        """Return the links of a coupling to the bodies of its joints, by body."""
        found: dict[int, list[int]] = {}
        beyond = self._layout.link_size * self._layout.slot_bytes
        for t, term in enumerate(self.plan.couplings[k - len(self.plan.loop_joints)].terms):
            child, parent = term.ends(self.plan)
            if child != parent:
                found.setdefault(child, []).append(self.term(k, t))
                found.setdefault(parent, []).append(self.term(k, t) + beyond)
        return found

    def owner(self, k: int, t: int) -> int:
        """Return the number of a joint of a coupling among all of them."""
        before = self.plan.couplings[: k - len(self.plan.loop_joints)]
        return sum(len(coupling.terms) for coupling in before) + t

    def term(self, k: int, t: int) -> int:
        """Return the record of a joint of a coupling."""
        return self._layout.terms[self.owner(k, t)]

    def body(self, i: int) -> int:
        """Return the record of a body."""
        return int(self._layout.records[i])

    def flows(self, i: int) -> int:
        """Return the flows of a body, or of the ground."""
        return int(self._layout.flows_to_tip[i]) if i else 0

    def stand_in(self, i: int, wing: int) -> int:
        """Return the place of flows that stand for those of a body, or of the ground, in a wing."""
        if (i, wing) not in self._stand_ins:
            part = int(self._layout.branches.part[self.wings.index(wing)])
            self._stand_ins[i, wing] = self._layout.reserve_for(part, self._layout.flow_size)
        return self._stand_ins[i, wing]

    def multiplier(self, loop: int) -> int:
        """Return the record of a loop, or after all loops of a coupling."""
        return self._layout.loops[loop]

    def link(self, loop: int, i: int) -> int:
        """Return the place of the link between a loop and a body."""
        if (loop, i) not in self._links:
            if (loop, i) not in self._reserved:
                self._reserved[loop, i] = self._layout.reserve(self._layout.link_size)
            self._links[loop, i] = self._reserved[loop, i]
        return self._links[loop, i]

    def end(self, loop: int, i: int) -> int | None:
        """Return the link of a loop to a body that it joins, which gives way to a new one; None if that has
        happened."""
        if self._links[loop, i] not in self._own:
            return None
        return self._links.pop((loop, i))

    def pair(self, loop: int, other: int) -> int:
        """Return the place of how two loops act on each other: a block of columns x columns."""
        if (loop, other) not in self._pairs:
            self._pairs[loop, other] = self._layout.reserve(self._layout.columns**2)
        return self._pairs[loop, other]


def reached(plan: Plan, forces: Sequence[PlacedForce]) -> np.ndarray:
    """Return the nodes on the ways from the ground to the ends of forces, in order. A force at a joint of the tree
    needs no more than the joint's own coordinates."""
    found: set[int] = set()
    for i in {end for force in forces if force.site != TREE for end in (force.a, force.b)}:
        while i > 0 and i not in found:
            found.add(i)
            i = int(plan.parent[i])
    return np.array(sorted(found), dtype=np.int64)


def output_shape(extent: Any, plan: Plan) -> tuple[int, ...]:
    """Return the shape of a result of one state."""
    shapes: dict[Any, tuple[int, ...]] = {
        POSITION: (plan.nq,),
        VELOCITY: (plan.nv,),
        COLUMNS: (6, plan.nv),
        ROWS: (plan.nv, 6),
        MATRIX: (plan.nv, plan.nv),
    }
    return shapes[extent] if extent in shapes else (len(plan.parent), extent.size)


def path_to(plan: Plan, node: int) -> np.ndarray:
    path = []
    while node > 0:
        path.append(node)
        node = int(plan.parent[node])
    return np.array(path[::-1], dtype=np.int64)


def record_table(slots: Sequence[int], record: int, slot_bytes: int) -> np.ndarray:
    """Return columns 0, 1, ... of a user's array and consecutive slots of one record."""
    offsets = record + np.array(slots, dtype=np.int64) * slot_bytes
    return np.stack([np.arange(len(offsets)) * WORD, offsets], axis=1)
