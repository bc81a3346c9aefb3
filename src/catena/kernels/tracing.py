"""Running a step on symbols, once for each joint kind, to learn what it reads, computes and writes.

The records handed to the step hand out symbols for what they hold and collect what is written to them. Which
slots a field takes is decided here. Flows lie in the order the `ground` function writes them. Of a private
field only those entries take a slot that are not known numbers (the motion space of a revolute joint takes
none) and not equal to another one; and a slot whose content no later step reads is used again, because the
workspace of a long chain must not outgrow the cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from catena.errors import KernelError
from catena.forces.contract import NO_INPUTS
from catena.forces.placed import LOOP, TREE, PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import (
    ADD,
    ADDED_TO,
    ASSIGN,
    CLEAR,
    POSITION,
    VELOCITY,
    Algorithm,
    Extent,
    JointRows,
    Sweep,
    TipToBase,
    WithGround,
    has_own_flows,
)
from catena.kernels.fields import Rebuild, as_number, flatten
from catena.kernels.lowering import CONSTANTS, Slot
from catena.mechanism.profiles import Profile
from catena.spatial import RigidInertia, Transform
from catena.spatial.scalars import array

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass
class Field:
    """Where the entries of a field are: slots, or numbers known while tracing."""

    entries: list[int | float]
    slots: list[bool]
    rebuild: Rebuild

    def offsets(self) -> list[int]:
        """Return the slots of a field that lies in slots altogether."""
        return [int(e) for e in self.entries]


@dataclass
class TracedStep:
    """What a step does: the slots it loads with their symbols, and the slots it stores with their
    expressions."""

    loads: dict[Slot, Any] = field(default_factory=dict)
    stores: dict[Slot, Any] = field(default_factory=dict)

    def load(self, slot: Slot) -> Any:
        """Return the symbol that stands for a slot."""
        if slot not in self.loads:
            import casadi

            self.loads[slot] = casadi.SX.sym(f"r{slot.record}_{slot.index}")
        return self.loads[slot]


class RecordLayout:
    """The fields of one sort of record and the slots they take, growing as steps write to it."""

    def __init__(self, dense: frozenset[str] = frozenset()) -> None:
        self.fields: dict[str, Field] = {}
        self.size = 0
        self.dense = dense

    def place(self, name: str, value: Any, *, dense: bool = False) -> Field:
        """Place a field in slots. Unless it must be dense, an entry that is a known number takes none, and equal
        entries share one."""
        entries, rebuild = flatten(value)
        dense = dense or name in self.dense
        where: list[int | float] = []
        slots: list[bool] = []
        seen: dict[int, int] = {}
        for entry in entries:
            number = None if dense else as_number(entry)
            if number is not None:
                where.append(number)
            elif not dense and entry.element_hash() in seen:
                where.append(seen[entry.element_hash()])
            else:
                if not dense:
                    seen[entry.element_hash()] = self.size
                where.append(self.size)
                self.size += 1
            slots.append(number is None)
        self.fields[name] = Field(where, slots, rebuild)
        return self.fields[name]


class TracedRecord:
    """A record as a step sees it while it is traced: attribute reads give symbols, attribute writes are
    collected.

    Private fields lie at the first position, flows at the second. `flow_reads` and `flow_writes` say what
    becomes of the owner's own flows.
    """

    def __init__(
        self, step: TracedStep, layout: RecordLayout, who: str, *, position: int = 0,
        constants: Mapping[str, Any] = _NONE, inputs: Mapping[str, Any] = _NONE,
        flows: RecordLayout | None = None, flow_position: int = 1,
        flow_reads: bool = True, flow_writes: bool = True, copies: Mapping[str, str] = _NONE, zero_reads: bool = False,
        open_to_new: bool = True,
    ) -> None:  # fmt: skip
        self.__dict__.update(
            _step=step, _layout=layout, _who=who, _position=position, _constants=constants,
            _inputs=inputs, _flows=flows, _flow_position=flow_position, _flow_reads=flow_reads,
            _flow_writes=flow_writes, _copies=copies,
            _zero_reads=zero_reads, _open_to_new=open_to_new, _values={}, flows_used=set(),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._constants:
            return self._constants[name]
        if self._flows is not None and name in self._flows.fields:
            where, position = self._flows.fields[name], self._flow_position
            self.flows_used.add(name)
            if not self._flow_reads:
                raise KernelError(
                    f"A step reads the flow {self._who}.{name} before it wrote it; flows do not outlive a sweep. "
                    f"Keep what is needed later in a field of another name."
                )
        elif name in self._layout.fields:
            where, position = self._layout.fields[name], self._position
        elif name in self._inputs:
            value = self._inputs[name]
            if isinstance(value, Absent):
                return value.zero
            where, position = self._layout.place(name, value, dense=True), self._position
        else:
            raise KernelError(
                f"A step reads {self._who}.{name}, which no earlier step wrote. Flows between neighbours are written "
                f"first by the ground function; inputs are declared by the algorithm."
            )
        if self._zero_reads:
            entries = [0.0] * len(where.entries)
        else:
            entries = [
                self._step.load(Slot(position, int(e))) if slot else e
                for e, slot in zip(where.entries, where.slots, strict=True)
            ]
        self._values[name] = where.rebuild(entries)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if self._flows is not None and name in self._flows.fields:
            if self._flow_writes:
                self.flows_used.add(name)
                self._store(name, self._flows.fields[name], self._flow_position, value)
        elif self._layout is _CLOSED:
            raise KernelError(
                f"A step writes {self._who}.{name}, but from outside a record only flows can be written: "
                f"fields that the ground function writes."
            )
        elif not self._open_to_new and name not in self._layout.fields:
            raise KernelError(
                f"A step writes {self._who}.{name}, but from outside a record only its shared fields can be written: "
                f"{', '.join(self._layout.fields)}."
            )
        else:
            where = self._layout.fields.get(name) or self._layout.place(name, value)
            self._store(name, where, self._position, value)
        if name in self._copies:
            copy = self._copies[name]
            where = self._layout.fields.get(copy) or self._layout.place(copy, value, dense=True)
            self._store(copy, where, self._position, value)
        self._values[name] = value

    def _store(self, name: str, where: Field, position: int, value: Any) -> None:
        entries, _ = flatten(value)
        if len(entries) != len(where.entries):
            raise KernelError(
                f"The field {self._who}.{name} changed its size from {len(where.entries)} to {len(entries)}."
            )
        for e, slot, entry in zip(where.entries, where.slots, entries, strict=True):
            if slot:
                place = Slot(position, int(e))
                if where.entries.count(e) > 1 and not _same(self._step.stores.get(place, entry), entry):
                    raise KernelError(
                        f"Equal entries of {self._who}.{name} are written with different values."
                    )
                self._step.stores[place] = entry
            elif as_number(entry) != e:
                raise KernelError(
                    f"The private field {self._who}.{name} was a known number and is written again."
                )


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "element_hash") and hasattr(b, "element_hash"):
        return bool(a.element_hash() == b.element_hash())
    return a is b


_CLOSED = RecordLayout()


@dataclass(frozen=True)
class Absent:
    """An optional input that was not given: its zero value."""

    zero: Any


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
    algorithm.ground(_Ground(step, flows, "ground", constants=_ground_constants(step), inputs=inputs))
    layout = RecordLayout(frozenset(algorithm.ground_outputs))
    layout.fields, layout.size = dict(flows.fields), flows.size
    flows.fields = {n: f for n, f in flows.fields.items() if n not in algorithm.ground_inputs}
    steps = {GROUND: step, CLEARING: TracedStep()}
    for flow in flows.fields.values():
        for slot in flow.offsets():
            steps[CLEARING].stores[Slot(1, slot)] = 0.0
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "ground" and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            below = [_shared(algorithm, step, role, k) for k, role in enumerate(sweep.roles[1:], start=1)]
            ground = _Ground(step, layout, "ground", constants=_ground_constants(step), inputs=inputs)
            sweep.step(ground, *below)
    return Traced(steps, layout, flows)


GROUND, CLEARING = (-1, ADD), (-1, CLEAR)


class _Ground(TracedRecord):
    """The ground while it is traced: every entry of what it writes takes a slot."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._layout.fields:
            self._layout.place(name, value, dense=True)
        super().__setattr__(name, value)


def _ground_constants(step: TracedStep) -> dict[str, Any]:
    return _Lazy({"gravity": lambda: array([step.load(Slot(CONSTANTS, k)) for k in range(3)])})


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
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] != "body" or algorithm.first(index) != index:
            continue
        to_base = isinstance(sweep, TipToBase)
        for variant in sweep.variants:
            step = steps[index, variant] = TracedStep()
            owner = TracedRecord(
                step, layout, "body", constants=_body_constants(kind, step), inputs=inputs, flows=flows,
                flow_reads=to_base or algorithm.is_scheduled, flow_writes=not to_base or algorithm.is_scheduled,
                copies=copies,
            )  # fmt: skip
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, kind, variant))
            (read_to_base if to_base else written_to_tip).update(owner.flows_used)
    _refuse_two_ways(algorithm, written_to_tip & read_to_base)
    if not (algorithm.is_scheduled or algorithm.is_repeated or algorithm.replayed):
        together = frozenset(algorithm.component_fields)
        _reuse_slots(steps, layout, final, frozenset(algorithm.inputs), shared, together)
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
    layout = _view(algorithm, "multiplier", None)
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "loop" and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            owner = TracedRecord(
                step, layout, "loop", constants=_loop_constants(kind, step, algorithm.columns)
            )
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, kind, ADD))
    return Traced(steps, layout, ground.flows)


def trace_term(algorithm: Algorithm, profile: Profile, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that a joint of a coupling with a profile of this kind does. Its record is the
    view `term`."""
    layout = _view(algorithm, "term", None)
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "term" and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            owner = TracedRecord(
                step, layout, "term", constants=_term_constants(profile, step, algorithm.columns)
            )
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, None, ADD))
    return Traced(steps, layout, ground.flows)


def _term_constants(profile: Profile, step: TracedStep, columns: int) -> dict[str, Any]:
    """Return the constants of a joint of a coupling: its sign, the offset, the usual angular and linear mobility (2),
    the numbers of the profile."""

    def load(start: int, count: int) -> list[Any]:
        return [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]

    count = len(profile.params())
    return _Lazy({
        "sign": lambda: load(0, 1)[0],
        "offset": lambda: load(1, 1)[0],
        "scale": lambda: array(load(2, 2)),
        "columns": columns,
        "profile": lambda: profile.with_params(load(4, count)) if count else profile,
    })  # fmt: skip


def trace_multiplier(algorithm: Algorithm, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that the multiplier of any loop does."""
    layout = _view(algorithm, "multiplier", None)
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "multiplier" and algorithm.first(index) == index:
            for variant in sweep.variants:
                step = steps[index, variant] = TracedStep()
                owner = TracedRecord(step, layout, "multiplier")
                sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, None, variant))
    return Traced(steps, layout, ground.flows)


def trace_views(algorithm: Algorithm, ground: Traced) -> Traced:
    """Trace the steps of an algorithm whose records are views, one of which is the owner."""
    steps: dict[tuple[int, int], TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if is_on_views(algorithm, sweep) and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            sweep.step(*(
                TracedRecord(step, _view(algorithm, SECOND_NAMES.get(role, role), None), role, position=position)
                for position, role in enumerate(sweep.roles)
            ))  # fmt: skip
    return Traced(steps, RecordLayout(), ground.flows)


def is_on_views(algorithm: Algorithm, sweep: Sweep) -> bool:
    """Return whether a step works on views alone."""
    return sweep.roles[0] != "multiplier" and all(
        SECOND_NAMES.get(r, r) in algorithm.views for r in sweep.roles
    )


def _loop_constants(kind: JointKind, step: TracedStep, columns: int) -> dict[str, Any]:
    """Return the constants of a loop: placements on the parent's and on the child's side (12 each), damping and
    friction (nv each), the usual angular and linear mobility (2), joint parameters."""

    def load(start: int, count: int) -> list[Any]:
        return [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]

    nv = kind.nv
    return _Lazy({
        "on_parent": lambda: Transform.from_entries(load(0, 12)),
        "on_child": lambda: Transform.from_entries(load(12, 12)),
        "damping": lambda: array(load(24, nv)),
        "friction": lambda: array(load(24 + nv, nv)),
        "scale": lambda: array(load(24 + 2 * nv, 2)),
        "columns": columns,
        "resists_alike": kind.resists_alike,
        "moves_alike": kind.moves_alike,
        "neutral": kind.neutral(),
        "joint": lambda: kind.with_params(load(26 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


def trace_force(algorithm: Algorithm, force: PlacedForce, ground: Traced) -> Traced:
    """Trace the steps of an algorithm that a force of this kind does, placed as this one is."""
    kept = frozenset({*algorithm.force_outputs, *algorithm.component_fields})
    layout = RecordLayout(kept | algorithm.rewritten)
    steps: dict[tuple[int, int], TracedStep] = {}
    inputs = {"inputs": np.zeros(force.kind.inputs)} if force.kind.inputs else {}
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "force" and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            owner = TracedRecord(
                step, layout, "force", constants=_force_constants(force, step), inputs=inputs
            )
            a = _shared(algorithm, step, "a", 1)
            b = _shared(algorithm, step, "b", 2, force.joint if force.site == TREE else None)
            rest = [TracedRecord(step, ground.layout, "ground", position=3)] if len(sweep.roles) > 3 else []
            sweep.step(owner, a, b, *rest)
    return Traced(steps, layout, ground.flows)


def _force_constants(force: PlacedForce, step: TracedStep) -> dict[str, Any]:
    """Return the constants of `PlacedForce.constants`, and what the code depends on."""

    def load(start: int, count: int) -> list[Any]:
        return [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]

    kind, joint = force.kind, force.joint
    count = len(kind.params())
    given: dict[str, Any] = {
        "site": force.site,
        "acts": force.acts,
        "on_a": lambda: Transform.from_entries(load(0, 12)),
        "on_b": lambda: Transform.from_entries(load(12, 12)),
        "kind": lambda: kind.with_params(load(24, count)) if count else kind,
    }
    if not kind.inputs:
        given["inputs"] = NO_INPUTS
    if joint is not None:
        given["joint"] = lambda: (
            joint.with_params(load(24 + count, len(joint.params()))) if joint.params() else joint
        )
        given["moves_alike"] = joint.moves_alike if force.site == LOOP else False
        given["neutral"] = joint.neutral()
    return _Lazy(given)


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
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "frame" and algorithm.first(index) == index:
            step = steps[index, ADD] = TracedStep()
            placement = Transform.from_entries([step.load(Slot(CONSTANTS, k)) for k in range(12)])
            owner = TracedRecord(step, layout, "frame", constants={"placement": placement})
            sweep.step(owner, *_neighbours(algorithm, sweep, step, ground, None, ADD))
    return Traced(steps, layout, ground.flows)


_FOR_EVER = 1_000_000


def _reuse_slots(
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


def _body_constants(kind: JointKind, step: TracedStep) -> dict[str, Any]:
    """Return the constants of a body: placement (12), inertia (10), damping and friction (nv each), joint parameters,
    as symbols that are loaded where they are used."""

    def lazily(start: int, count: int) -> list[Any]:
        return [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]

    nv = kind.nv
    return _Lazy({
        "placement": lambda: Transform.from_entries(lazily(0, 12)),
        "inertia": lambda: RigidInertia.from_entries(lazily(12, 10)),
        "damping": lambda: array(lazily(22, nv)),
        "friction": lambda: array(lazily(22 + nv, nv)),
        "moves_alike": lambda: kind.moves_alike,
        "joint": lambda: kind.with_params(lazily(22 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


class _Lazy(dict[str, Any]):
    """A mapping whose values are made when first asked for, so that constants nobody reads are not loaded."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if callable(value) and not isinstance(value, JointKind | Profile):
            value = value()
            self[name] = value
        return value


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
        elif role in algorithm.views or role in SECOND_NAMES:
            layout = _view(algorithm, SECOND_NAMES.get(role, role), kind)
            # The variant that assigns begins from zero what the step would add to.
            zero = variant == ASSIGN and role in ADDED_TO
            records.append(TracedRecord(step, layout, role, position=position, zero_reads=zero))
        elif isinstance(sweep, WithGround):
            records.append(TracedRecord(step, ground.layout, role, position=position))
        else:
            zero = variant == ASSIGN and not algorithm.is_scheduled
            records.append(
                TracedRecord(step, _CLOSED, role, flows=flows, flow_position=position, zero_reads=zero)
            )
    return records


# Where a step needs two records of one sort, the second has another name.
SECOND_NAMES = {
    "above": "link",
    "other_link": "link",
    "other": "multiplier",
    "other_pair": "pair",
    "sum": "pair",
    "transposed": "element",
    "beyond": "component",
    "other_node": "node",
    "other_block": "block",
    "other_three": "three",
}


def _view(algorithm: Algorithm, role: str, kind: JointKind | None) -> RecordLayout:
    layout = RecordLayout()
    for name, extent in algorithm.views[role].items():
        layout.place(name, sample(extent, kind.nq if kind else 0, kind.nv if kind else 0), dense=True)
    return layout
