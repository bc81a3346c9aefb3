"""A mechanism's plan as tables for the driver: the tape of calls, the constants, and where inputs and results
lie.

Everything here is arithmetic on flat arrays; nothing is traced or compiled unless a joint kind is new to this
computer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from catena.forces import PlacedForce
from catena.forces.placed import TREE
from catena.joints.contract import JointKind
from catena.kernels.algorithm import (
    ADD,
    ASSIGN,
    CLEAR,
    COLUMNS,
    CONSTANTS,
    FORCE_INPUTS,
    MATRIX,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
    OnMatrices,
    Pause,
)
from catena.kernels.code import (
    Unit,
    body_unit,
    force_unit,
    frame_unit,
    ground_unit,
    loop_unit,
    multiplier_unit,
    term_unit,
    views_unit,
)
from catena.kernels.cpu import target
from catena.kernels.sharing import fold
from catena.kernels.tracing import CLEARING, GROUND, shared_size
from catena.kernels.whole import whole_step
from catena.spatial import Pose, Transform
from catena.structure import Plan
from catena.structure.plan import Loop

WORD = 8
# A body is very light if the usual one is so many times heavier, and counts as no lighter than this part of it.
VERY_HEAVY, HEAVIEST = 1e2, 1e4


@dataclass(frozen=True)
class Constants:
    """The constants of every node of a plan in one array, and where each node's begin (in bytes). Numbers of the plan
    may be symbols."""

    values: np.ndarray
    start: np.ndarray

    @staticmethod
    def of(plan: Plan, gravity: np.ndarray) -> "Constants":
        """Return the constants of a node. Ground: gravity. Body: placement (12), inertia (10), damping, friction,
        joint parameters."""
        plan = plan.spread
        n = len(plan.parent)
        params = np.array([len(p) for p in plan.params], dtype=np.int64)
        sizes = 22 + 2 * plan.v_size + params
        sizes[0] = 3
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        numbers = (gravity, plan.placement_p, plan.inertia, plan.damping, plan.friction)
        symbolic = any(np.asarray(x).dtype == object for x in (*numbers, *plan.params))
        values = np.zeros(int(sizes.sum()), dtype=object if symbolic else np.float64)
        values[:3] = gravity
        if n > 1:
            s = start[1:, None]
            values[s + np.arange(9)] = plan.placement_R[1:].reshape(-1, 9)
            values[s + np.arange(9, 12)] = plan.placement_p[1:]
            values[s + np.arange(12, 22)] = plan.inertia[1:]
            counts = plan.v_size[1:]
            into = np.repeat(start[1:] + 22 - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
            source = np.repeat(plan.v_start[1:] - (np.cumsum(counts) - counts), counts) + np.arange(
                counts.sum()
            )
            values[into] = plan.damping[source]
            values[into + np.repeat(counts, counts)] = plan.friction[source]
            for i in np.flatnonzero(params):
                at = start[i] + 22 + 2 * plan.v_size[i]
                values[at : at + params[i]] = plan.params[i]
        return Constants(values, start * WORD)


@dataclass
class Layout:
    """The workspace of one algorithm on one plan: byte offsets of the records of all nodes, of the flows, of
    the frame, and of the area for a matrix."""

    plan: Plan
    units: list[Unit]
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
    force_units: Sequence[Unit] = ()
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
        flow_count = len(self.parent) if self.lasting else max(self._to_tip[1], self._to_base[1])
        self.area = self.flows + flow_count * self.flow_size * self.slot_bytes
        self.bytes = self.area + (self.nv**2 * self.slot_bytes if self.matrix else 0)
        self.loops = [self.reserve(size) for size in self.loop_sizes]
        self.terms = [self.reserve(size) for size in self.term_sizes]
        # The record of the ground begins with its flows, so what it shares has a place of its own.
        self.shared = self.records.copy()
        self.shared[0] = self.reserve(self.shared_size)
        self.force_records = np.array([self.reserve(u.size) for u in self.force_units], dtype=np.int64)
        self.places = Places(self)

    @property
    def link_size(self) -> int:
        """Return the slots of a link: what a loop holds of a body (6 x columns) and of its joint (nv x columns)."""
        return (self.algorithm.link_rows if self.algorithm else 12) * self.columns

    def reserve(self, slots: int) -> int:
        """Return a new place at the end of the workspace."""
        start, self.bytes = self.bytes, self.bytes + slots * self.slot_bytes
        return start

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
        free: list[int] = []
        count = 0
        for i in self.bodies.tolist():
            if i != self.target:
                if not free:
                    free.append(count)
                    count += 1
                places[i] = free.pop()
                where[i] = self._flow(places[i])
                if children[i] == 0:
                    free.append(places[i])
            p = parent[i]
            children[p] -= 1
            if children[p] == 0 and p in places:
                free.append(places[p])
        return where, count

    @cached_property
    def _to_base(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], int]:
        """Place the flows of a sweep to the base. A body's flows begin with its first child, or are cleared for a
        body without children, and end when the body has read them."""
        parent = self.parent.tolist()
        places: dict[int, int] = {}
        free: list[int] = []
        count = 0
        calls: list[tuple[int, int, int, int]] = []
        pinned = {0: 0, self.target: self.target_flows}
        for i in self.bodies.tolist()[::-1]:
            p = parent[i]
            variants = []
            for node in (i, p):
                new = node not in places and node not in pinned
                if new:
                    if not free:
                        free.append(count)
                        count += 1
                    places[node] = free.pop()
                variants.append(new)
            own = pinned[i] if i in pinned else self._flow(places[i])
            above = pinned[p] if p in pinned else self._flow(places[p])
            if variants[0]:
                calls.append((i, CLEAR, own, own))
            calls.append((i, ASSIGN if variants[1] else ADD, own, above))
            if i in places:
                free.append(places[i])
        table = np.array(calls, dtype=np.int64).reshape(-1, 4)
        return (table[:, 0], table[:, 1], table[:, 2], table[:, 3]), count

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


class Places:
    """Where a schedule finds the records of bodies and loops. Links and pairs come into being when first
    asked for; the links of a loop to the two bodies it joins lie in its own record."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.plan = layout.plan
        self._pairs: dict[tuple[int, int], int] = {}
        self._reserved: dict[tuple[int, int], int] = {}
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


@dataclass(frozen=True)
class Tape:
    """What the driver needs, except the user's arrays. `code` is what the calls go to, which stays as long as the tape
    does."""

    calls: np.ndarray
    constants: np.ndarray
    workspace_bytes: int
    inputs: dict[str, tuple[int, np.ndarray]]
    outputs: dict[str, tuple[tuple[int, ...], np.ndarray]]
    lanes: int
    rare: tuple[int, int] = (-1, -1)
    code: tuple[Any, ...] = ()
    pauses: tuple[tuple[str, int], ...] = ()
    """The names of the pauses in order, and the calls that come before each."""
    weight: int = 0
    rest: int = -1
    """The byte offset of the slot that is zero where a state has nothing left to do; -1 where there is none."""

    @property
    def work(self) -> int:
        """Return what one play of the tape costs, counted in calls of usual steps: `weight`, or the calls it has."""
        return self.weight or len(self.calls)


def build_tape(
    algorithm: Algorithm, plan: Plan, constants: Constants, absent: frozenset[str] = frozenset(),
    frame: tuple[int, Pose] | None = None, lanes: int | None = None, forces: Sequence[PlacedForce] = (),
    varying: bool = False,
) -> Tape:  # fmt: skip
    """Lay out the workspace of an algorithm on a plan and write the tape of calls. `frame` is the node and
    pose of the frame asked for; `lanes` is how many states are computed at once, those of the processor unless
    given; `forces` are what steps of forces are done for. With `varying` the constants are an input, CONSTANTS, with
    the numbers of `tape.constants` for each state."""
    lanes = lanes or target().lanes
    described, plan = plan, plan.spread
    signatures: dict[Any, int] = {}
    unit_of = np.zeros(len(plan.parent), dtype=np.int64)
    kinds: list[JointKind] = []
    for i, kind in enumerate(plan.kind[1:], start=1):
        assert kind is not None
        key = (type(kind), kind.signature)
        if key not in signatures:
            signatures[key] = len(kinds)
            kinds.append(kind)
        unit_of[i] = signatures[key]
    ground = ground_unit(algorithm, absent, lanes, varying)
    units = [body_unit(algorithm, k, absent, lanes, varying) for k in kinds] or [ground]
    asked = frame_unit(algorithm, absent, lanes, varying) if frame else None
    node = frame[0] if frame else 0
    bodies = np.arange(1, len(plan.parent))
    if algorithm.path_only:
        bodies = _path_to(plan, node)
    loop_units: list[Unit] = []
    multipliers = None
    if algorithm.is_scheduled:
        loop_units = [loop_unit(algorithm, loop.kind, absent, lanes, varying) for loop in plan.loop_joints]
        multipliers = multiplier_unit(algorithm, absent, lanes, varying)
    terms = [term for coupling in plan.couplings for term in coupling.terms] if multipliers else []
    term_units = [term_unit(algorithm, term.profile, absent, lanes, varying) for term in terms]
    force_units = [force_unit(algorithm, force, absent, lanes, varying) for force in forces]
    layout = Layout(
        plan, units, unit_of, bodies, node, asked.size if asked else 0, ground.size, ground.flow_size,
        any(e is MATRIX for e in algorithm.outputs.values()), algorithm.is_scheduled,
        tuple([u.size for u in loop_units] + [multipliers.size for _ in plan.couplings if multipliers]),
        tuple(u.size for u in term_units), {id(s): algorithm.first(k) for k, s in enumerate(algorithm.sweeps)},
        algorithm.columns, lanes, shared_size(algorithm) if algorithm.shared else 0, tuple(forces), force_units,
        algorithm, ground.fields, described=described,
    )  # fmt: skip
    views = None
    if any(isinstance(sweep, OnMatrices) for sweep in algorithm.sweeps):
        views = views_unit(algorithm, absent, lanes)
    used: list[Any] = [ground, *units, asked, *loop_units, multipliers, *term_units, views, *force_units]
    tape = [np.array([[ground.steps[GROUND], 0, 0, 0, 0, 0]], dtype=np.int64)]
    parts = constant_parts(plan, constants.values, algorithm.is_scheduled, forces, frame)
    start, (loop_start, term_start, force_start, frame_constants) = constants.start, parts.starts
    values = np.concatenate(parts.rows).astype(np.float64)
    varied = len(values)
    place = layout.reserve(varied) if varying else 0
    blocks: dict[int, np.ndarray] = {}
    for position, sweep in enumerate(algorithm.sweeps):
        index = algorithm.first(position)
        if index != position:
            tape.append(blocks[index])
            continue
        calls = sweep.calls(layout)
        block = np.zeros((len(calls.owner), 6), dtype=np.int64)
        if calls.kernel is not None:
            assert calls.sweep is not None
            block[:, 0] = calls.kernel
            for row_index in np.flatnonzero(calls.sweep >= 0):
                assert views is not None
                block[row_index, 0] = views.steps[int(calls.sweep[row_index]), ADD]
            sizes = [len(numbers) for numbers in calls.numbers]
            block[:, 5] = (len(values) + np.cumsum([0, *sizes])[:-1]) * WORD
            told = np.array([x for numbers in calls.numbers for x in numbers], dtype=np.int64)
            values = np.concatenate([values, told.view(np.float64)])
        elif calls.sweep is not None:
            for row, owner, variant, which in zip(
                block, calls.owner.tolist(), calls.variant.tolist(), calls.sweep.tolist(), strict=True
            ):
                role = algorithm.owners[which]
                if role == "body":
                    row[0], row[5] = units[unit_of[owner]].steps.get((which, variant), 0), start[owner]
                elif role == "loop":
                    row[0], row[5] = loop_units[owner].steps[which, variant], loop_start[owner]
                elif role == "term":
                    row[0], row[5] = term_units[owner].steps[which, variant], term_start[owner]
                else:
                    assert multipliers is not None
                    row[0] = multipliers.steps[which, variant]
        elif algorithm.owners[position] == "frame":
            assert asked is not None
            block[:, 0], block[:, 5] = asked.steps[index, ADD], frame_constants
        elif algorithm.owners[position] == "ground":
            block[:, 0] = ground.steps[index, ADD]
        elif algorithm.owners[position] == "force":
            addresses = np.array([unit.steps[index, ADD] for unit in force_units], dtype=np.int64)
            block[:, 0], block[:, 5] = addresses[calls.owner], force_start[calls.owner]
        elif algorithm.owners[position] == "whole":
            used.append(whole_step(algorithm, sweep.step, layout, ground))
            block[:, 0] = used[-1]["whole"]
        elif len(calls.owner):
            clear = ground.steps[CLEARING]
            addresses = np.array(
                [[u.steps.get((index, ADD), 0), u.steps.get((index, ASSIGN), 0), clear] for u in units],
                dtype=np.int64,
            )
            block[:, 0], block[:, 5] = addresses[unit_of[calls.owner], calls.variant], start[calls.owner]
        for number, offsets in enumerate(calls.records):
            block[:, 1 + number] = offsets
        block = block[block[:, 0] != 0]
        if varying and calls.kernel is None:
            block[:, 5] = -(place + block[:, 5] * lanes)
        blocks[index] = block
        tape.append(block)
    n = len(plan.parent)
    widths = {POSITION: plan.nq, VELOCITY: plan.nv}
    inputs: dict[str, tuple[int, np.ndarray]] = {}
    for name, extent in algorithm.inputs.items():
        if name not in absent:
            width = widths.get(extent) if extent in widths else n * extent.size
            inputs[name] = (int(width or 0), layout.body_table(name, extent))
    for name, extent in algorithm.ground_inputs.items():
        if name not in absent:
            inputs[name] = (extent.size, _record_table(ground.fields.get(name, []), 0, layout.slot_bytes))
    table = layout.force_table("inputs")
    if len(table) and FORCE_INPUTS not in absent:
        inputs[FORCE_INPUTS] = (len(table), table)
    if varying:
        tape[0][:, 5] = -place
        inputs[CONSTANTS] = (varied, _record_table(range(varied), place, layout.slot_bytes))
    outputs: dict[str, tuple[tuple[int, ...], np.ndarray]] = {}
    for name, extent in algorithm.outputs.items():
        if extent is MATRIX:
            outputs[name] = (output_shape(extent, plan), layout.matrix_table())
        else:
            outputs[name] = (output_shape(extent, plan), layout.body_table(name, extent))
    for name in algorithm.frame_outputs:
        assert asked is not None
        slots = asked.fields[name]
        outputs[name] = ((len(slots),), _record_table(slots, layout.frame, layout.slot_bytes))
    for name in algorithm.multiplier_outputs:
        assert multipliers is not None
        slots = multipliers.fields[name]
        tables = [_record_table(slots, record, layout.slot_bytes) for record in layout.loops]
        for number, table in enumerate(tables):
            table[:, 0] += number * len(slots) * WORD
        outputs[name] = ((len(tables), len(slots)), np.concatenate([np.zeros((0, 2), np.int64), *tables]))
    for name in algorithm.force_outputs:
        table = layout.force_table(name)
        outputs[name] = ((len(table),), table)
    outputs.update({name: layout.matrix_places[name] for name in algorithm.matrix_outputs})
    for name in algorithm.ground_outputs:
        slots = ground.fields[name]
        outputs[name] = ((len(slots),), _record_table(slots, 0, layout.slot_bytes))
    ends = np.cumsum([len(block) for block in tape])
    first, last = algorithm.occasional
    rare = (int(ends[first]), int(ends[last])) if last > first else (-1, -1)
    pauses = tuple(
        (sweep.name, int(before))
        for sweep, before in zip(algorithm.sweeps, ends, strict=False)
        if isinstance(sweep, Pause)
    )
    made = Tape(
        np.ascontiguousarray(np.concatenate(tape)),
        values,
        layout.bytes,
        inputs,
        outputs,
        lanes,
        rare,
        tuple(used),
        pauses,
        rest=ground.fields[algorithm.rests][0] * layout.slot_bytes if algorithm.rests else -1,
    )
    return made if described.owner is None else fold(made, algorithm, described)


@dataclass(frozen=True)
class ConstantParts:
    """The constants of a tape as `rows` to be put one behind the other, of nodes, loops, joints of couplings, forces
    and the frame; and where those of each loop, of each joint of a coupling, of each force and of the frame begin (in
    bytes)."""

    rows: Sequence[Any]
    starts: tuple[np.ndarray, np.ndarray, np.ndarray, int]


def constant_parts(
    plan: Plan, of_nodes: Any, has_loops: bool, forces: Sequence[PlacedForce], frame: tuple[int, Pose] | None
) -> ConstantParts:
    """Return the constants of a tape: those of nodes that are given, of loops and couplings where the algorithm has
    any, of forces, and of the frame. Numbers of the plan may be symbols."""
    loops = loop_constants(plan) if has_loops else []
    of_terms = term_constants(plan) if has_loops else []
    of_forces = [force.constants() for force in forces]
    of_frame = [Transform.from_pose(frame[1]).entries()] if frame else []
    rows = [of_nodes, *loops, *of_terms, *of_forces, *of_frame]
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64) * WORD
    a, b, c = np.cumsum([len(loops), len(of_terms), len(of_forces)]).tolist()
    return ConstantParts(rows, (ends[:a], ends[a:b], ends[b:c], int(ends[c])))


def loop_constants(plan: Plan) -> list[list[Any]]:
    """Return the constants of every loop."""
    return [
        [*Transform.from_pose(loop.parent_pose).entries(), *Transform.from_pose(loop.child_pose).entries(),
         *loop.damping, *loop.friction, *mobility_scale(plan, loop), *loop.params]
        for loop in plan.loop_joints
    ]  # fmt: skip


def term_constants(plan: Plan) -> list[list[float]]:
    """Return the constants of every joint of every coupling: its sign, the offset of the coupling or the inertia of the
    rotor for the first of its joints, the usual angular and linear mobility (2), and the numbers of the profile."""
    scale = mobility_scale(plan)
    return [
        [term.sign, 0.0 if t else coupling.number, *scale, *term.profile.params()]
        for coupling in plan.couplings
        for t, term in enumerate(coupling.terms)
    ]


def mobility_scale(plan: Plan, loop: Loop | None = None) -> tuple[float, float]:
    """Return how much a usual body of this mechanism yields to a unit moment and to a unit force: 1 / (kg m^2) and 1
    / kg. A loop that holds a body beside which the usual one is very heavy gets the mobility of that body; instead of a
    massless body it holds what carries it. Where inertias are symbols, some of them are taken not to vanish."""
    mass = plan.inertia[1:, 0].mean() if plan.n > 1 else 1.0
    inertia = plan.inertia[1:, [4, 7, 9]].mean() if plan.n > 1 else 1.0
    if plan.inertia.dtype == object:
        return 1.0 / inertia, 1.0 / mass
    for node in () if loop is None else {_with_mass(plan, i) for i in (loop.parent_node, loop.child_node)}:
        own_mass, own_inertia = plan.inertia[node, 0], plan.inertia[node, [4, 7, 9]].mean()
        if own_mass > 0.0 and own_inertia > 0.0 and max(mass / own_mass, inertia / own_inertia) > VERY_HEAVY:
            mass = max(min(mass, own_mass), mass / HEAVIEST)
            inertia = max(min(inertia, own_inertia), inertia / HEAVIEST)
    return (1.0 / float(inertia) if inertia > 0 else 1.0), (1.0 / float(mass) if mass > 0 else 1.0)


def _with_mass(plan: Plan, node: int) -> int:
    """Return the node itself or the nearest one on its way to the ground that has mass; 0 if there is none."""
    while node and not plan.inertia[node, 0] > 0.0:
        node = int(plan.parent[node])
    return node


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


def _path_to(plan: Plan, node: int) -> np.ndarray:
    path = []
    while node > 0:
        path.append(node)
        node = int(plan.parent[node])
    return np.array(path[::-1], dtype=np.int64)


def _record_table(slots: Sequence[int], record: int, slot_bytes: int) -> np.ndarray:
    """Return columns 0, 1, ... of a user's array and consecutive slots of one record."""
    offsets = record + np.array(slots, dtype=np.int64) * slot_bytes
    return np.stack([np.arange(len(offsets)) * WORD, offsets], axis=1)
