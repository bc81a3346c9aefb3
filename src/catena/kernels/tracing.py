"""Running a step on symbols, once for each joint kind, to learn what it reads, computes and writes.

The records handed to the step hand out symbols for what they hold and collect what is written to them. Which slots a field takes is
decided here: fields shared with neighbours lie at the start of every record in the order the `ground` function writes them;
private fields follow, and only their entries that are not known numbers take a slot (the motion space of a revolute joint takes none).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.errors import KernelError
from catena.joints.contract import JointKind
from catena.kernels.algorithm import POSITION, VELOCITY, Algorithm, Extent, Sweep
from catena.kernels.fields import Rebuild, as_number, flatten
from catena.kernels.lowering import CONSTANTS, Slot
from catena.spatial import RigidInertia, Transform
from catena.spatial.scalars import array


@dataclass
class Field:
    """Where the entries of a field are: slots, or numbers known while tracing."""

    entries: list[int | float]
    slots: list[bool]
    rebuild: Rebuild

    def offsets(self) -> list[int]:
        """The slots of a field that lies in slots altogether."""
        return [int(e) for e in self.entries]


@dataclass
class TracedStep:
    """What a step does: the slots it loads with their symbols, and the slots it stores with their expressions."""

    loads: list[tuple[Slot, Any]] = field(default_factory=list)
    stores: dict[Slot, Any] = field(default_factory=dict)
    symbols: dict[Slot, Any] = field(default_factory=dict)

    def load(self, slot: Slot) -> Any:
        """The symbol that stands for a slot."""
        if slot not in self.symbols:
            import casadi

            self.symbols[slot] = casadi.SX.sym(f"r{slot.record}_{slot.index}")
            self.loads.append((slot, self.symbols[slot]))
        return self.symbols[slot]


class RecordLayout:
    """The fields of one sort of record and the slots they take, growing as steps write to it."""

    def __init__(self, shared: "RecordLayout | None" = None, dense: frozenset[str] = frozenset()) -> None:
        self.fields: dict[str, Field] = dict(shared.fields) if shared else {}
        self.shared = tuple(self.fields)
        self.size = shared.size if shared else 0
        self.dense = dense

    def place(self, name: str, value: Any, *, dense: bool = False) -> Field:
        """Slots for a field. An entry that is a known number takes none unless the field must be dense."""
        entries, rebuild = flatten(value)
        dense = dense or name in self.dense
        where: list[int | float] = []
        slots: list[bool] = []
        for entry in entries:
            number = None if dense else as_number(entry)
            slots.append(number is None)
            where.append(self.size if number is None else number)
            self.size += number is None
        self.fields[name] = Field(where, slots, rebuild)
        return self.fields[name]


class TracedRecord:
    """A record as a step sees it while it is traced: attribute reads give symbols, attribute writes are collected."""

    def __init__(
        self, step: TracedStep, position: int, layout: RecordLayout, constants: Mapping[str, Any], who: str,
        inputs: Mapping[str, Any] | None = None, closed: bool = False,
    ) -> None:  # fmt: skip
        self.__dict__.update(
            _step=step, _position=position, _layout=layout, _constants=constants, _who=who,
            _inputs=inputs or {}, _closed=closed, _values={},
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._constants:
            return self._constants[name]
        layout: RecordLayout = self._layout
        if name not in layout.fields:
            if name not in self._inputs:
                raise KernelError(
                    f"A step reads {self._who}.{name}, which no earlier step wrote. Fields that neighbours use are "
                    f"written first by the ground function; inputs are declared by the algorithm."
                )
            value = self._inputs[name]
            if value is None:
                raise KernelError(f"The input {name} has no value.")
            if isinstance(value, Absent):
                return value.zero
            layout.place(name, value, dense=True)
        where = layout.fields[name]
        entries = [
            self._step.load(Slot(self._position, int(e))) if slot else e
            for e, slot in zip(where.entries, where.slots, strict=True)
        ]
        self._values[name] = where.rebuild(entries)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        layout: RecordLayout = self._layout
        if name in layout.fields:
            where = layout.fields[name]
        elif self._closed:
            raise KernelError(
                f"A step writes {self._who}.{name}, but only fields that the ground function writes can be "
                f"written from outside the record."
            )
        else:
            where = layout.place(name, value)
        entries, _ = flatten(value)
        if len(entries) != len(where.entries):
            raise KernelError(f"The field {self._who}.{name} changed its size from {len(where.entries)} to {len(entries)}.")
        for e, slot, entry in zip(where.entries, where.slots, entries, strict=True):
            if slot:
                self._step.stores[Slot(self._position, int(e))] = entry
            elif as_number(entry) != e:
                raise KernelError(f"The private field {self._who}.{name} was a known number and is written again.")
        self._values[name] = value


@dataclass(frozen=True)
class Absent:
    """An optional input that was not given: its zero value."""

    zero: Any


@dataclass
class Traced:
    """All steps of an algorithm that one sort of owner does, and the layout of that owner's record."""

    steps: dict[int, TracedStep]
    layout: RecordLayout


def sample(extent: Any, nq: int, nv: int) -> Any:
    """A zero value with the extent of an input or a view."""
    if extent is POSITION:
        return np.zeros(nq)
    if extent is VELOCITY:
        return np.zeros(nv)
    if isinstance(extent, Extent):
        raise KernelError(f"{extent} cannot be an input or a view.")
    return extent.zero() if hasattr(extent, "zero") else extent.identity()


def trace_ground(algorithm: Algorithm, absent: frozenset[str]) -> Traced:
    """The ground function, which also fixes the layout of the shared fields, and the other steps of the ground."""
    step, layout = TracedStep(), RecordLayout()
    gravity = array([step.load(Slot(CONSTANTS, k)) for k in range(3)])
    inputs = _inputs(algorithm.ground_inputs, absent, 0, 0)
    shared = _SharedRecord(step, 0, layout, {"gravity": gravity}, "ground", inputs)
    algorithm.ground(shared)
    steps = {-1: step}
    layout.dense = frozenset(algorithm.ground_outputs)
    own = RecordLayout(layout, dense=layout.dense)
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] == "ground":
            step = steps[index] = TracedStep()
            gravity = array([step.load(Slot(CONSTANTS, k)) for k in range(3)])
            sweep.step(TracedRecord(step, 0, own, {"gravity": gravity}, "ground", inputs))
    return Traced(steps, own)


class _SharedRecord(TracedRecord):
    """The ground while it is traced: what it writes becomes a shared field, every entry of it in a slot."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._layout.fields:
            self._layout.place(name, value, dense=True)
        super().__setattr__(name, value)


def trace_kind(algorithm: Algorithm, kind: JointKind, absent: frozenset[str], ground: Traced) -> Traced:
    """The steps of an algorithm that a body on a joint of this kind does."""
    shared = shared_layout(algorithm, ground)
    outputs = frozenset(n for n, e in algorithm.outputs.items() if n not in shared.fields)
    layout = RecordLayout(shared, dense=outputs | ({"F"} if "cursor" in algorithm.views else set()))
    steps: dict[int, TracedStep] = {}
    inputs = _inputs(algorithm.inputs, absent, kind.nq, kind.nv)
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] != "body":
            continue
        step = steps[index] = TracedStep()
        constants = _body_constants(kind, step)
        owner = TracedRecord(step, 0, layout, constants, "body", inputs)
        sweep.step(owner, *_neighbours(algorithm, sweep, step, shared, kind))
    return Traced(steps, layout)


def trace_frame(algorithm: Algorithm, absent: frozenset[str], ground: Traced) -> Traced:
    """The steps of an algorithm that the frame does."""
    shared = shared_layout(algorithm, ground)
    layout = RecordLayout(dense=frozenset(algorithm.frame_outputs))
    steps: dict[int, TracedStep] = {}
    for index, sweep in enumerate(algorithm.sweeps):
        if sweep.roles[0] != "frame":
            continue
        step = steps[index] = TracedStep()
        placement = Transform.from_entries([step.load(Slot(CONSTANTS, k)) for k in range(12)])
        owner = TracedRecord(step, 0, layout, {"placement": placement}, "frame")
        sweep.step(owner, *_neighbours(algorithm, sweep, step, shared, None))
    return Traced(steps, layout)


def shared_layout(algorithm: Algorithm, ground: Traced) -> RecordLayout:
    """The fields every body shares with its neighbours: those the ground wrote, without the ground's inputs."""
    layout = RecordLayout()
    layout.fields = {n: ground.layout.fields[n] for n in ground.layout.shared if n not in algorithm.ground_inputs}
    layout.size = 1 + max((max(f.offsets(), default=-1) for f in layout.fields.values()), default=-1)
    return layout


def constant_count(kind: JointKind) -> int:
    """How many constants a body on a joint of this kind has."""
    return 22 + 2 * kind.nv + len(kind.params())


def _body_constants(kind: JointKind, step: TracedStep) -> dict[str, Any]:
    """Placement (12), inertia (10), damping and friction (nv each), joint parameters: symbols loaded where used."""

    def lazily(start: int, count: int) -> list[Any]:
        return [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]

    nv = kind.nv
    return _Lazy({
        "placement": lambda: Transform.from_entries(lazily(0, 12)),
        "inertia": lambda: RigidInertia.from_entries(lazily(12, 10)),
        "damping": lambda: array(lazily(22, nv)),
        "friction": lambda: array(lazily(22 + nv, nv)),
        "joint": lambda: kind.with_params(lazily(22 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


class _Lazy(dict[str, Any]):
    """A mapping whose values are made when first asked for, so that constants nobody reads are not loaded."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if callable(value) and not isinstance(value, JointKind):
            value = value()
            self[name] = value
        return value


def _inputs(declared: Mapping[str, Any], absent: frozenset[str], nq: int, nv: int) -> dict[str, Any]:
    return {n: Absent(sample(e, nq, nv)) if n in absent else sample(e, nq, nv) for n, e in declared.items()}


def _neighbours(
    algorithm: Algorithm, sweep: Sweep, step: TracedStep, shared: RecordLayout, kind: JointKind | None
) -> Sequence[TracedRecord]:
    records = []
    for position, role in enumerate(sweep.roles[1:], start=1):
        if role in algorithm.views:
            layout = RecordLayout()
            for name, extent in algorithm.views[role].items():
                layout.place(name, sample(extent, kind.nq if kind else 0, kind.nv if kind else 0), dense=True)
        else:
            layout = shared
        records.append(TracedRecord(step, position, layout, {}, role, closed=True))
    return records
