"""Running a step on symbols, once for each joint kind, to learn what it reads, computes and writes.

The records handed to the step hand out symbols for what they hold and collect what is written to them
(`traced_records.py`); a slot whose content no later step reads is used again, because the
workspace of a long chain must not outgrow the cache.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from catena.errors import KernelError
from catena.forces.placed import TREE, PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import (
    ADD,
    ADDED_TO,
    ASSIGN,
    CLEAR,
    NEAR,
    POSITION,
    VELOCITY,
    Algorithm,
    Extent,
    JointRows,
    Sweep,
    TipToBase,
    has_own_flows,
)
from catena.kernels.machine_code.lowering import Slot
from catena.kernels.traced_records import (
    CLOSED,
    Absent,
    Load,
    RecordLayout,
    TracedRecord,
    TracedStep,
    body_constants,
    force_constants,
    frame_constants,
    ground_constants,
    loading,
    loop_constants,
    term_constants,
)
from catena.mechanism.profiles import Profile


@dataclass
class Traced:
    """All steps of an algorithm that one sort of owner does, by sweep and variant, and the layout of that
    owner's record."""

    steps: dict[tuple[int, int], TracedStep]
    layout: RecordLayout
    flows: RecordLayout


def sample(extent: Any, nq: int, nv: int) -> Any:
    """Return a zero value with the extent of an input or a view."""
    if extent is POSITION:
        return np.zeros(nq)
    if extent is VELOCITY:
        return np.zeros(nv)
    if isinstance(extent, JointRows):
        return np.zeros((nv, extent.columns))
    if isinstance(extent, Extent):
        raise KernelError(f"{extent} cannot be an input or a view.")
    return extent.zero() if hasattr(extent, "zero") else extent.identity()


def trace_ground(algorithm: Algorithm, absent: frozenset[str]) -> Traced:
    """Trace the ground function, which also fixes the layout of the flows, the other steps of the ground, and the
    clearing of flows.

    The record of the ground begins with its flows.
    """
    step, flows = TracedStep(), RecordLayout()
    inputs = _inputs(algorithm.ground_inputs, absent, 0, 0)
    constants = ground_constants(loading(step))
    algorithm.ground(
        _Ground(step, flows, "ground", constants=constants, inputs=inputs, flows_are_known=False)
    )
    layout = RecordLayout(frozenset(algorithm.ground_outputs))
    layout.fields, layout.size = dict(flows.fields), flows.size
    flows.fields = {n: f for n, f in flows.fields.items() if n not in algorithm.ground_inputs}
    steps = {GROUND: step, CLEARING: TracedStep()}
    for flow in flows.fields.values():
        for slot in flow.offsets():
            steps[CLEARING].stores[Slot(1, slot)] = 0.0
    for index, sweep in _sweeps_of(algorithm, "ground"):
        step = steps[index, ADD] = TracedStep()
        below = [_shared(algorithm, step, role, k) for k, role in enumerate(sweep.roles[1:], start=1)]
        ground = _Ground(step, layout, "ground", constants=ground_constants(loading(step)), inputs=inputs)
        sweep.step(ground, *below)
    return Traced(steps, layout, flows)


GROUND, CLEARING = (-1, ADD), (-1, CLEAR)
# Slots in a cache line, where one state is computed in two lanes.
APART = 4


class _Ground(TracedRecord):
    """The ground while it is traced: every entry of what it writes takes a slot. The flows, which the ground function
    writes, lie close together, as those of bodies do."""

    def __init__(self, *arguments: Any, flows_are_known: bool = True, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.__dict__["_flows_are_known"] = flows_are_known

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._layout.fields:
            # A sum that one thread adds to does not share a cache line with what others read.
            apart = APART if self._flows_are_known else 1
            self._layout.size = -(-self._layout.size // apart) * apart
            self._layout.place(name, value, dense=True)
            self._layout.size = -(-self._layout.size // apart) * apart
        super().__setattr__(name, value)


def trace_kind(algorithm: Algorithm, kind: JointKind, absent: frozenset[str], ground: Traced) -> Traced:
    """Trace the steps of an algorithm that a body on a joint of this kind does."""
    flows = ground.flows
    # A flow that is asked for as a result is copied to a private field as it passes.
    copies = {n: f"{n} as result" for n in algorithm.outputs if n in flows.fields}
    final = frozenset(
        {*algorithm.outputs, *copies.values(), *algorithm.component_fields}
        | {*(("F",) if "cursor" in algorithm.views else ())}
    )
    layout = RecordLayout(final | algorithm.rewritten)
    _share(algorithm, layout, kind)
    shared = layout.size
    steps: dict[tuple[int, int], TracedStep] = {}
    written_to_tip: set[str] = set()
    read_to_base: set[str] = set()
    inputs = _inputs(algorithm.inputs, absent, kind.nq, kind.nv)
    for index, sweep in _sweeps_of(algorithm, "body"):
        to_base = isinstance(sweep, TipToBase)
        for variant in sweep.variants:
            step = steps[index, variant] = TracedStep()
            owner = TracedRecord(
                step, layout, "body", constants=body_constants(kind, loading(step)), inputs=inputs, flows=flows,
                flow_reads=to_base or algorithm.is_scheduled, flow_writes=not to_base or algorithm.is_scheduled,
                copies=copies,
            )  # fmt: skip
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, kind, variant))
            (read_to_base if to_base else written_to_tip).update(owner.flows_used)
    _refuse_two_ways(algorithm, written_to_tip & read_to_base)
    if not (algorithm.is_scheduled or algorithm.is_repeated or algorithm.replayed):
        together = frozenset(algorithm.component_fields)
        reuse_slots(steps, layout, final, frozenset(algorithm.inputs), shared, together)
    return Traced(steps, layout, flows)


def _refuse_two_ways(algorithm: Algorithm, flows: set[str]) -> None:
    """Refuse an algorithm that writes a flow to the tip and reads it after a sweep to the base has begun its sum."""
    if flows and not algorithm.is_scheduled:
        name = sorted(flows)[0]
        raise KernelError(
            f"{algorithm.name} writes the flow body.{name} going to the tip and reads it going to the base, where it "
            f"is the sum over the children. Keep what the body itself contributes in a field of another name."
        )


def trace_loop(algorithm: Algorithm, kind: JointKind, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that a loop closed by a joint of this kind does. Its record begins with the
    view `multiplier`."""
    constants = partial(loop_constants, kind, columns=algorithm.columns)
    return _trace_view(algorithm, "loop", "multiplier", ground, kind, constants)


def trace_term(algorithm: Algorithm, profile: Profile, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that a joint of a coupling with a profile of this kind does. Its record is the
    view `term`."""
    constants = partial(term_constants, profile, columns=algorithm.columns)
    return _trace_view(algorithm, "term", "term", ground, None, constants)


def trace_multiplier(algorithm: Algorithm, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that the multiplier of any loop does."""
    return _trace_view(algorithm, "multiplier", "multiplier", ground)


def _trace_view(
    algorithm: Algorithm, role: str, view: str, ground: Traced, kind: JointKind | None = None,
    constants: Callable[[Load], dict[str, Any]] = lambda load: {},
) -> Traced:  # fmt: skip
    """Trace the steps of owners in a role, whose record begins with a view."""
    layout = _view(algorithm, view, None)
    layout.dense = algorithm.rewritten
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in _sweeps_of(algorithm, role):
        for variant in sweep.variants if role == "multiplier" else (ADD,):
            step = steps[index, variant] = TracedStep()
            owner = TracedRecord(step, layout, role, constants=constants(loading(step)))
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, kind, variant))
    return Traced(steps, layout, ground.flows)


def trace_views(algorithm: Algorithm, ground: Traced) -> Traced:
    """Trace the steps of an algorithm whose records are views, one of which is the owner."""
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if is_on_views(algorithm, sweep) and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            sweep.step(*(
                TracedRecord(step, _view(algorithm, role, None), role, position=position)
                for position, role in enumerate(sweep.roles)
            ))  # fmt: skip
    return Traced(steps, RecordLayout(), ground.flows)


def is_on_views(algorithm: Algorithm, sweep: Sweep) -> bool:
    """Return whether a step works on views alone."""
    return sweep.roles[0] not in ("multiplier", "term") and all(
        role in algorithm.views for role in sweep.roles
    )


def trace_force(
    algorithm: Algorithm, force: PlacedForce, ground: Traced, absent: frozenset[str] = frozenset()
) -> Traced:
    """Trace the steps of an algorithm that a force of this kind does, placed as this one is."""
    kept = frozenset({*algorithm.force_outputs, *algorithm.component_fields})
    layout = RecordLayout(kept | algorithm.rewritten)
    steps: dict[tuple[int, int], TracedStep] = {}
    inputs = {"inputs": np.zeros(force.kind.inputs)} if force.kind.inputs else {}
    if force.counts and NEAR not in absent:
        assert force.joint is not None
        inputs[NEAR] = np.zeros(force.joint.nq)
    for index, sweep in _sweeps_of(algorithm, "force"):
        step = steps[index, ADD] = TracedStep()
        owner = TracedRecord(
            step, layout, "force", constants=force_constants(force, loading(step), inputs), inputs=inputs
        )
        a = _shared(algorithm, step, "a", 1)
        b = _shared(algorithm, step, "b", 2, force.joint if force.site == TREE else None)
        rest = [TracedRecord(step, ground.layout, "ground", position=3)] if len(sweep.roles) > 3 else []
        sweep.step(owner, a, b, *rest)
    return Traced(steps, layout, ground.flows)


def _share(algorithm: Algorithm, layout: RecordLayout, kind: JointKind | None) -> None:
    """Place the shared fields at the start of a record. Those whose size depends on the joint come last, and where it
    is not known (None) they are left out."""
    for name, extent in algorithm.shared.items():
        if kind is not None or not isinstance(extent, Extent):
            layout.place(name, sample(extent, kind.nq if kind else 0, kind.nv if kind else 0), dense=True)


def _shared(
    algorithm: Algorithm, step: TracedStep, role: str, position: int, kind: JointKind | None = None
) -> TracedRecord:
    """Return the shared fields of another body, or of the ground."""
    layout = RecordLayout()
    _share(algorithm, layout, kind)
    return TracedRecord(step, layout, role, position=position, open_to_new=False)


def shared_size(algorithm: Algorithm) -> int:
    """Return how many slots the shared fields of the ground take."""
    layout = RecordLayout()
    _share(algorithm, layout, None)
    return layout.size


def trace_frame(algorithm: Algorithm, absent: frozenset[str], ground: Traced) -> Traced:
    """Trace the steps of an algorithm that the frame does."""
    layout = RecordLayout(frozenset(algorithm.frame_outputs))
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in _sweeps_of(algorithm, "frame"):
        step = steps[index, ADD] = TracedStep()
        owner = TracedRecord(step, layout, "frame", constants=frame_constants(loading(step)))
        sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, None, ADD))
    return Traced(steps, layout, ground.flows)


def _sweeps_of(algorithm: Algorithm, owner: str) -> Iterator[tuple[int, Sweep]]:
    """Return the sweeps whose steps an owner does, with their numbers; those that do again what another does are left
    out."""
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == owner and algorithm.first(index) == index:
            yield index, sweep


def _inputs(declared: Mapping[str, Any], absent: frozenset[str], nq: int, nv: int) -> dict[str, Any]:
    return {n: Absent(sample(e, nq, nv)) if n in absent else sample(e, nq, nv) for n, e in declared.items()}


def _neighbours(
    algorithm: Algorithm, sweep: Sweep, step: TracedStep, ground: Traced, kind: JointKind | None, variant: int
) -> Sequence[TracedRecord]:  # fmt: skip
    records = []
    flows = ground.flows
    for position, role in enumerate(sweep.roles[1:], start=2 if has_own_flows(sweep.roles) else 1):
        if role == "below":
            records.append(_shared(algorithm, step, role, position))
        elif role in algorithm.views:
            layout = _view(algorithm, role, kind)
            # The variant that assigns begins from zero what the step would add to.
            zero = variant == ASSIGN and role in ADDED_TO
            records.append(TracedRecord(step, layout, role, position=position, zero_reads=zero))
        elif role == "ground":
            # The record of the ground begins with its flows.
            records.append(TracedRecord(step, ground.layout, role, position=position))
        else:
            zero = variant == ASSIGN and not algorithm.is_scheduled
            records.append(
                TracedRecord(step, CLOSED, role, flows=flows, flow_position=position, zero_reads=zero)
            )
    return records


def _view(algorithm: Algorithm, role: str, kind: JointKind | None) -> RecordLayout:
    layout = RecordLayout()
    for name, extent in algorithm.view(role).items():
        layout.place(name, sample(extent, kind.nq if kind else 0, kind.nv if kind else 0), dense=True)
    return layout


_FOR_EVER = 1_000_000


def reuse_slots(
    steps: dict[tuple[int, int], TracedStep],
    layout: RecordLayout,
    final: frozenset[str],
    inputs: frozenset[str],
    shared: int,
    together: frozenset[str],
) -> None:
    """Give private slots whose lives do not overlap the same place. Inputs live from the start, results until
    the end, and the first slots, which are shared, always and where they are. The slots of fields `together` stay one
    behind the other, as views read them."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for (index, _), step in steps.items():
        for slot in [*step.loads, *step.stores]:
            if slot.record == 0:
                first[slot.index] = min(first.get(slot.index, index), index)
                last[slot.index] = max(last.get(slot.index, index), index)
    for name, where in layout.fields.items():
        for e, in_slot in zip(where.entries, where.slots, strict=True):
            if in_slot and name in inputs:
                first[int(e)] = -1
            if in_slot and name in final:
                last[int(e)] = _FOR_EVER
    for k in range(shared):
        first[k], last[k] = -2, _FOR_EVER
    place: dict[int, int] = {}
    free: list[tuple[int, int]] = []  # (last use, place)
    size = shared
    for k in range(shared):
        place[k] = k
        free.append((_FOR_EVER, k))
    for name in sorted(together & layout.fields.keys()):
        for e in layout.fields[name].entries:
            place[int(e)] = size
            free.append((_FOR_EVER, size))
            size += 1
    for slot_index in sorted(first.keys() - place.keys(), key=lambda k: (first[k], k)):
        for k, (end, where_free) in enumerate(free):
            # A step reads a slot before it writes it, so the same step may end one life and begin another.
            if end <= first[slot_index] and end < last[slot_index]:
                place[slot_index] = where_free
                free[k] = (last[slot_index], where_free)
                break
        else:
            place[slot_index] = size
            free.append((last[slot_index], size))
            size += 1
    layout.size = size
    for where in layout.fields.values():
        where.entries = [
            place.get(int(e), 0) if s else e for e, s in zip(where.entries, where.slots, strict=True)
        ]
    for step in steps.values():
        step.loads = {_moved(s, place): x for s, x in step.loads.items()}
        step.stores = {_moved(s, place): x for s, x in step.stores.items()}


def _moved(slot: Slot, place: Mapping[int, int]) -> Slot:
    return Slot(0, place[slot.index]) if slot.record == 0 else slot
