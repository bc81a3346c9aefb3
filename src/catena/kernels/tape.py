"""A mechanism's plan as tables for the driver: the tape of calls, with the constants and where inputs and results lie.

Everything here is arithmetic on flat arrays; nothing is traced or compiled unless a joint kind is new to this
computer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from catena.errors import KernelError
from catena.forces import PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import (
    ADD,
    ASSIGN,
    CONSTANTS,
    FORCE_INPUTS,
    MATRIX,
    NEAR,
    POSITION,
    VELOCITY,
    Algorithm,
    LeaveOut,
    OnMatrices,
    Pause,
    Step,
)
from catena.kernels.code import CompiledUnit, Touched, unit_for
from catena.kernels.constants import WORD, Constants, constant_parts
from catena.kernels.layout import Layout, output_shape, path_to, record_table
from catena.kernels.machine_code import engine
from catena.kernels.machine_code.cpu import target
from catena.kernels.machine_code.long_steps import lower_in_pieces
from catena.kernels.machine_code.lowering import Slot, prelude
from catena.kernels.machine_code.objects import compiled_object, object_name
from catena.kernels.sharing import fold, owned_columns
from catena.kernels.teams.dividing import Division, divide
from catena.kernels.traced_records import TracedStep
from catena.kernels.tracing import CLEARING, GROUND, shared_size
from catena.spatial import Pose
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.kernels.layout import Layout


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
    division: "Division | None" = None
    """How its calls can be shared by several threads; None where they cannot."""

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
    units = _units_of(algorithm, plan, absent, frame is not None, lanes, forces, varying)
    layout = _laid_out(algorithm, plan, described, units, frame[0] if frame else 0, lanes, forces)
    parts = constant_parts(plan, constants.values, algorithm.is_scheduled, forces, frame)
    values = np.concatenate(parts.rows).astype(np.float64)
    varied = len(values)
    place = layout.reserve(varied) if varying else 0
    tape = [np.array([[units.ground.steps[GROUND], 0, 0, 0, 0, 0]], dtype=np.int64)]
    used: list[Any] = units.used
    is_known = True
    blocks: dict[int, np.ndarray] = {}
    leaving: dict[int, int] = {}
    for position, sweep in enumerate(algorithm.sweeps):
        index = algorithm.first(position)
        if index != position:
            tape.append(blocks[index])
            continue
        calls = sweep.calls(layout)
        block = np.zeros((len(calls.owner), 6), dtype=np.int64)
        if calls.kernel is not None:
            is_known = False
            if isinstance(sweep, LeaveOut):
                leaving[position] = len(values)
            _call_kernels(block, calls, units, len(values))
            integers = np.array([x for numbers in calls.numbers for x in numbers], dtype=np.int64)
            values = np.concatenate([values, integers.view(np.float64)])
        elif calls.sweep is not None:
            _call_scheduled(block, calls, algorithm, units, constants.start, parts.starts)
        elif algorithm.owners[position] == "whole":
            used.append(whole_step(algorithm, sweep.step, layout, units.ground))
            block[:, 0] = used[-1]["whole"]
        elif len(calls.owner):
            _call_steps(block, calls, algorithm.owners[position], index, units, constants.start, parts.starts)
        for number, offsets in enumerate(calls.records):
            block[:, 1 + number] = offsets
        block = block[block[:, 0] != 0]
        if varying and calls.kernel is None:
            block[:, 5] = -(place + block[:, 5] * lanes)
        blocks[index] = block
        tape.append(block)
    for position, place_of_count in leaving.items():
        sweep = algorithm.sweeps[position]
        assert isinstance(sweep, LeaveOut)
        # The first block is the ground's.
        behind = tape[position + 2 : position + 2 + sweep.count]
        values.view(np.int64)[place_of_count] = sum(len(block) for block in behind)
    inputs = _inputs(algorithm, plan, layout, units, absent)
    if varying:
        tape[0][:, 5] = -place
        inputs[CONSTANTS] = (varied, record_table(range(varied), place, layout.slot_bytes))
    ends = np.cumsum([len(block) for block in tape])
    first, last = algorithm.occasional
    pauses = tuple(
        (sweep.name, int(before))
        for sweep, before in zip(algorithm.sweeps, ends, strict=False)
        if isinstance(sweep, Pause)
    )
    calls_made = np.ascontiguousarray(np.concatenate(tape))
    outputs = _outputs(algorithm, plan, layout, units)
    division = None
    if is_known and not varying and layout.branches.count:
        kept = {int(slot) for _, table in outputs.values() for slot in table[:, 1]}
        kept |= {slot * layout.slot_bytes for slot in units.ground.fields.get(algorithm.rests, [])}
        division = divide(calls_made, units.touches, layout, kept)
    made = Tape(
        calls_made,
        values,
        layout.bytes,
        inputs,
        outputs,
        lanes,
        (int(ends[first]), int(ends[last])) if last > first else (-1, -1),
        tuple(used),
        pauses,
        rest=units.ground.fields[algorithm.rests][0] * layout.slot_bytes if algorithm.rests else -1,
        division=division,
    )
    return made if described.owner is None else fold(made, algorithm, described)


@dataclass(frozen=True)
class _Units:
    """The compiled steps of an algorithm by their owners: of the ground, of each kind of joint (`of_node` says which
    one a node has), of the frame asked for, of loops, multipliers, joints of couplings, forces, and of views."""

    ground: CompiledUnit
    bodies: list[CompiledUnit]
    of_node: np.ndarray
    asked: CompiledUnit | None
    loops: list[CompiledUnit]
    multipliers: CompiledUnit | None
    terms: list[CompiledUnit]
    forces: list[CompiledUnit]
    views: CompiledUnit | None

    @property
    def used(self) -> list[Any]:
        """Return all of them."""
        own = (self.ground, *self.bodies, self.asked, *self.loops, self.multipliers, *self.terms, self.views)
        return [*own, *self.forces]

    @property
    def touches(self) -> dict[int, Touched]:
        """Return what all steps read and write."""
        return {step: touched for unit in self.used if unit for step, touched in unit.touches.items()}


def _units_of(
    algorithm: Algorithm, plan: Plan, absent: frozenset[str], has_frame: bool, lanes: int,
    forces: Sequence[PlacedForce], varying: bool,
) -> _Units:  # fmt: skip
    """Return the compiled steps that an algorithm has on a plan."""

    def unit(role: str, owner: Any = None) -> CompiledUnit:
        return unit_for(algorithm, role, owner, absent, lanes, varying)

    signatures: dict[Any, int] = {}
    of_node = np.zeros(len(plan.parent), dtype=np.int64)
    kinds: list[JointKind] = []
    for i, kind in enumerate(plan.kind[1:], start=1):
        assert kind is not None
        key = (type(kind), kind.signature)
        if key not in signatures:
            signatures[key] = len(kinds)
            kinds.append(kind)
        of_node[i] = signatures[key]
    ground = unit("ground")
    bodies = [unit("body", kind) for kind in kinds] or [ground]
    asked = unit("frame") if has_frame else None
    scheduled = algorithm.is_scheduled
    loops = [unit("loop", loop.kind) for loop in plan.loop_joints] if scheduled else []
    multipliers = unit("multiplier") if scheduled else None
    terms = [term for coupling in plan.couplings for term in coupling.terms] if scheduled else []
    has_views = any(isinstance(sweep, OnMatrices) for sweep in algorithm.sweeps)
    return _Units(
        ground, bodies, of_node, asked, loops, multipliers, [unit("term", term.profile) for term in terms],
        [unit("force", force) for force in forces],
        unit_for(algorithm, "views", None, absent, lanes) if has_views else None,
    )  # fmt: skip


def _laid_out(
    algorithm: Algorithm, plan: Plan, described: Plan, units: _Units, node: int, lanes: int,
    forces: Sequence[PlacedForce],
) -> Layout:  # fmt: skip
    """Return the workspace of an algorithm on a plan; `node` carries the frame asked for."""
    bodies = path_to(plan, node) if algorithm.path_only else np.arange(1, len(plan.parent))
    of_couplings = [units.multipliers.size] * len(plan.couplings) if units.multipliers else []
    return Layout(
        plan, units.bodies, units.of_node, bodies, node, units.asked.size if units.asked else 0, units.ground.size,
        units.ground.flow_size, any(e is MATRIX for e in algorithm.outputs.values()), algorithm.is_scheduled,
        tuple([u.size for u in units.loops] + of_couplings), tuple(u.size for u in units.terms),
        {id(s): algorithm.first(k) for k, s in enumerate(algorithm.sweeps)}, algorithm.columns, lanes,
        shared_size(algorithm) if algorithm.shared else 0, tuple(forces), units.forces, algorithm,
        units.ground.fields, described=described,
    )  # fmt: skip


def _call_kernels(block: np.ndarray, calls: Any, units: _Units, values: int) -> None:
    """Write calls of kernels on matrices, and of views between them; their numbers come after so many values."""
    assert calls.sweep is not None
    block[:, 0] = calls.kernel
    for row in np.flatnonzero(calls.sweep >= 0):
        assert units.views is not None
        block[row, 0] = units.views.steps[int(calls.sweep[row]), ADD]
    sizes = [len(numbers) for numbers in calls.numbers]
    block[:, 5] = (values + np.cumsum([0, *sizes])[:-1]) * WORD


def _call_scheduled(
    block: np.ndarray, calls: Any, algorithm: Algorithm, units: _Units, start: Any, starts: Any
) -> None:
    """Write the calls of a schedule, whose owners differ from row to row."""
    loop_start, term_start = starts[:2]
    columns = (calls.owner.tolist(), calls.variant.tolist(), calls.sweep.tolist())
    for row, owner, variant, which in zip(block, *columns, strict=True):
        role = algorithm.owners[which]
        if role == "body":
            row[0], row[5] = units.bodies[units.of_node[owner]].steps.get((which, variant), 0), start[owner]
        elif role == "loop":
            row[0], row[5] = units.loops[owner].steps[which, variant], loop_start[owner]
        elif role == "term":
            row[0], row[5] = units.terms[owner].steps[which, variant], term_start[owner]
        else:
            assert units.multipliers is not None
            row[0] = units.multipliers.steps[which, variant]


def _call_steps(
    block: np.ndarray, calls: Any, role: str, index: int, units: _Units, start: Any, starts: Any
) -> None:
    """Write the calls of one sweep, whose owners are of one role."""
    if role == "frame":
        assert units.asked is not None
        block[:, 0], block[:, 5] = units.asked.steps[index, ADD], starts[3]
    elif role == "ground":
        block[:, 0] = units.ground.steps[index, ADD]
    elif role == "force":
        addresses = np.array([unit.steps[index, ADD] for unit in units.forces], dtype=np.int64)
        block[:, 0], block[:, 5] = addresses[calls.owner], starts[2][calls.owner]
    else:
        clear = units.ground.steps[CLEARING]
        addresses = np.array(
            [[u.steps.get((index, ADD), 0), u.steps.get((index, ASSIGN), 0), clear] for u in units.bodies],
            dtype=np.int64,
        )
        block[:, 0], block[:, 5] = addresses[units.of_node[calls.owner], calls.variant], start[calls.owner]


def _inputs(
    algorithm: Algorithm, plan: Plan, layout: Layout, units: _Units, absent: frozenset[str]
) -> dict[str, tuple[int, np.ndarray]]:
    """Return how many numbers each input that is there has, and where they go."""
    widths = {POSITION: plan.nq, VELOCITY: plan.nv}
    inputs: dict[str, tuple[int, np.ndarray]] = {}
    for name, extent in algorithm.inputs.items():
        if name not in absent:
            width = widths.get(extent) if extent in widths else len(plan.parent) * extent.size
            inputs[name] = (int(width or 0), layout.body_table(name, extent))
    for name, extent in algorithm.ground_inputs.items():
        if name not in absent:
            fields = units.ground.fields.get(name, [])
            inputs[name] = (extent.size, record_table(fields, 0, layout.slot_bytes))
    for name in algorithm.multiplier_inputs:
        table = _multiplier_table(layout, units, name)[1]
        inputs[name] = (len(table), table)
    for name, field in ((FORCE_INPUTS, "inputs"), (NEAR, NEAR)):
        table = layout.force_table(field)
        if len(table) and name not in absent:
            inputs[name] = (len(table), table)
    return inputs


def _outputs(
    algorithm: Algorithm, plan: Plan, layout: Layout, units: _Units
) -> dict[str, tuple[tuple[int, ...], np.ndarray]]:
    """Return the shape of each output, and where its numbers come from."""
    outputs: dict[str, tuple[tuple[int, ...], np.ndarray]] = {}
    for name, extent in algorithm.outputs.items():
        table = layout.matrix_table() if extent is MATRIX else layout.body_table(name, extent)
        outputs[name] = (output_shape(extent, plan), table)
    for name in algorithm.frame_outputs:
        assert units.asked is not None
        slots = units.asked.fields[name]
        outputs[name] = ((len(slots),), record_table(slots, layout.frame, layout.slot_bytes))
    for name in algorithm.multiplier_outputs:
        shape, table = _multiplier_table(layout, units, name)
        # What is told and found is told and found in the same shape.
        outputs[name] = ((len(table),) if name in algorithm.multiplier_inputs else shape, table)
    for name in algorithm.force_outputs:
        table = layout.force_table(name)
        outputs[name] = ((len(table),), table)
    outputs.update({name: layout.matrix_places[name] for name in algorithm.matrix_outputs})
    for name in algorithm.ground_outputs:
        slots = units.ground.fields[name]
        outputs[name] = ((len(slots),), record_table(slots, 0, layout.slot_bytes))
    return outputs


def _multiplier_table(layout: Layout, units: _Units, name: str) -> tuple[tuple[int, int], np.ndarray]:
    """Return how many loops and couplings there are and how many numbers a field of each has, and where these lie."""
    assert units.multipliers is not None
    slots = units.multipliers.fields[name]
    tables = [record_table(slots, record, layout.slot_bytes) for record in layout.loops]
    for number, table in enumerate(tables):
        table[:, 0] += number * len(slots) * WORD
    return (len(tables), len(slots)), np.concatenate([np.zeros((0, 2), np.int64), *tables])


_loaded: WeakValueDictionary[str, engine.Code] = WeakValueDictionary()


class TracedWhole:
    """The whole state as a step sees it while it is traced: whole arrays of symbols are read and written."""

    def __init__(self, step: TracedStep, slots: dict[str, np.ndarray], scalars: frozenset[str]) -> None:
        self.__dict__.update(_step=step, _slots=slots, _scalars=scalars, _values={})

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            value = array([self._step.load(Slot(0, int(k))) for k in self._where(name)])
            self._values[name] = value[0] if name in self._scalars else value
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        slots, entries = self._where(name), np.ravel(np.asarray(value, dtype=object))
        if len(entries) != len(slots):
            raise KernelError(
                f"A step on the whole state gives {len(entries)} numbers for {name}, which has {len(slots)}."
            )
        for slot, entry in zip(slots, entries, strict=True):
            self._step.stores[Slot(0, int(slot))] = entry
        self._values[name] = value

    def _where(self, name: str) -> np.ndarray:
        if name not in self._slots:
            raise KernelError(
                f"A step on the whole state uses {name}, which is neither a field of bodies that goes in or comes out "
                f"of the algorithm, nor a field of the ground, nor the inputs of forces."
            )
        return self._slots[name]


def whole_step(algorithm: Algorithm, step: Step, layout: "Layout", ground: CompiledUnit) -> engine.Code:
    """Return the code, `whole`, of a step on the whole state of the mechanism with this layout."""
    with engine.timed():
        engine.prepare_tracing()
        slots, scalars = _slots(algorithm, layout, ground)
        traced = TracedStep()
        with on_symbols("a control law, or another function of the whole state,"):
            step(TracedWhole(traced, slots, scalars))
        lanes = layout.lanes
        loads, stores = list(traced.loads.items()), list(traced.stores.items())
        text = prelude(lanes) + lower_in_pieces("whole", loads, stores, lanes)
        name = object_name(text)
        loaded = _loaded.get(name)
        if loaded is None:
            _, code = compiled_object(text)
            loaded = _loaded[name] = engine.load_object("whole", code, ["whole"])
    return loaded


def _slots(
    algorithm: Algorithm, layout: "Layout", ground: CompiledUnit
) -> tuple[dict[str, np.ndarray], frozenset[str]]:
    """Return where every field lies, counted in slots from the start of the workspace, and the ground's single
    numbers."""
    slots: dict[str, np.ndarray] = {n: np.array(where) for n, where in ground.fields.items()}
    single = frozenset(
        n for n in ground.fields if n not in algorithm.ground_inputs or algorithm.ground_inputs[n].size == 1
    )
    plan = layout.described or layout.plan
    for name, extent in {**algorithm.outputs, **algorithm.inputs}.items():
        if extent in (POSITION, VELOCITY):
            where = np.zeros(plan.nq if extent is POSITION else plan.nv, dtype=np.int64)
            table = layout.body_table(name, extent)
            if plan.owner is not None:
                table = owned_columns(table, plan, extent)
            for column, offset in table // np.array([8, layout.slot_bytes]):
                where[column] = offset
            slots[name] = where
    slots[FORCE_INPUTS] = layout.force_table("inputs")[:, 1] // layout.slot_bytes
    return slots, single
