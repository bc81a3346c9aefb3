"""A mechanism's plan as tables for the driver: the tape of calls, with the constants and where inputs and results lie.

Everything here is arithmetic on flat arrays; nothing is traced or compiled unless a joint kind is new to this
computer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    OnMatrices,
    Pause,
)
from catena.kernels.code import Unit, unit_for
from catena.kernels.constants import WORD, Constants, constant_parts
from catena.kernels.cpu import target
from catena.kernels.layout import Layout, output_shape, path_to, record_table
from catena.kernels.sharing import fold
from catena.kernels.tracing import CLEARING, GROUND, shared_size
from catena.kernels.whole import whole_step
from catena.spatial import Pose
from catena.structure import Plan


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
    ground = unit_for(algorithm, "ground", None, absent, lanes, varying)
    units = [unit_for(algorithm, "body", k, absent, lanes, varying) for k in kinds] or [ground]
    asked = unit_for(algorithm, "frame", None, absent, lanes, varying) if frame else None
    node = frame[0] if frame else 0
    bodies = np.arange(1, len(plan.parent))
    if algorithm.path_only:
        bodies = path_to(plan, node)
    loop_units: list[Unit] = []
    multipliers = None
    if algorithm.is_scheduled:
        loop_units = [
            unit_for(algorithm, "loop", loop.kind, absent, lanes, varying) for loop in plan.loop_joints
        ]
        multipliers = unit_for(algorithm, "multiplier", None, absent, lanes, varying)
    terms = [term for coupling in plan.couplings for term in coupling.terms] if multipliers else []
    term_units = [unit_for(algorithm, "term", term.profile, absent, lanes, varying) for term in terms]
    force_units = [unit_for(algorithm, "force", force, absent, lanes, varying) for force in forces]
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
        views = unit_for(algorithm, "views", None, absent, lanes)
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
            inputs[name] = (extent.size, record_table(ground.fields.get(name, []), 0, layout.slot_bytes))
    table = layout.force_table("inputs")
    if len(table) and FORCE_INPUTS not in absent:
        inputs[FORCE_INPUTS] = (len(table), table)
    table = layout.force_table(NEAR)
    if len(table) and NEAR not in absent:
        inputs[NEAR] = (len(table), table)
    if varying:
        tape[0][:, 5] = -place
        inputs[CONSTANTS] = (varied, record_table(range(varied), place, layout.slot_bytes))
    outputs: dict[str, tuple[tuple[int, ...], np.ndarray]] = {}
    for name, extent in algorithm.outputs.items():
        if extent is MATRIX:
            outputs[name] = (output_shape(extent, plan), layout.matrix_table())
        else:
            outputs[name] = (output_shape(extent, plan), layout.body_table(name, extent))
    for name in algorithm.frame_outputs:
        assert asked is not None
        slots = asked.fields[name]
        outputs[name] = ((len(slots),), record_table(slots, layout.frame, layout.slot_bytes))
    for name in algorithm.multiplier_outputs:
        assert multipliers is not None
        slots = multipliers.fields[name]
        tables = [record_table(slots, record, layout.slot_bytes) for record in layout.loops]
        for number, table in enumerate(tables):
            table[:, 0] += number * len(slots) * WORD
        outputs[name] = ((len(tables), len(slots)), np.concatenate([np.zeros((0, 2), np.int64), *tables]))
    for name in algorithm.force_outputs:
        table = layout.force_table(name)
        outputs[name] = ((len(table),), table)
    outputs.update({name: layout.matrix_places[name] for name in algorithm.matrix_outputs})
    for name in algorithm.ground_outputs:
        slots = ground.fields[name]
        outputs[name] = ((len(slots),), record_table(slots, 0, layout.slot_bytes))
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
