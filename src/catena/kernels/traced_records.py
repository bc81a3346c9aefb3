"""Records for a step that is run on symbols: they hand out symbols for what they hold, and collect what is written;
and the constants of a mechanism as symbols, loaded where the step uses them (`constants.py` writes the numbers in the
same order).

Which slots a field takes is decided here. Flows lie in the order the `ground` function writes them. Of a private field
only those entries take a slot that are not known numbers (the motion space of a revolute joint takes none) and not
equal to another one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from catena.errors import KernelError
from catena.forces.contract import NO_INPUTS
from catena.forces.placed import LOOP, PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import NEAR
from catena.kernels.fields import Rebuild, as_number, flatten
from catena.kernels.machine_code.lowering import CONSTANTS, Slot
from catena.mechanism.profiles import Profile
from catena.spatial import RigidInertia, Transform
from catena.spatial.scalars import array

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Absent:
    """An optional input that was not given: its zero value."""

    zero: Any


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
        elif self._layout is CLOSED:
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


CLOSED = RecordLayout()
"""The layout of a record of which only flows are seen."""


# Loads so many constants from a place on.
Load = Callable[[int, int], list[Any]]


def loading(step: TracedStep) -> Load:
    """Return what loads the constants of the record that a step is done for."""
    return lambda start, count: [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]


def ground_constants(load: Load) -> dict[str, Any]:
    """Return the constants of the ground: gravity (3)."""
    return Lazy({"gravity": lambda: array(load(0, 3))})


def body_constants(kind: JointKind, load: Load) -> dict[str, Any]:
    """Return the constants of a body: placement (12), inertia (10), damping and friction (nv each), joint parameters,
    as symbols that are loaded where they are used."""

    nv = kind.nv
    return Lazy({
        "placement": lambda: Transform.from_entries(load(0, 12)),
        "inertia": lambda: RigidInertia.from_entries(load(12, 10)),
        "damping": lambda: array(load(22, nv)),
        "friction": lambda: array(load(22 + nv, nv)),
        "has_constant_motion_space": lambda: kind.has_constant_motion_space,
        "joint": lambda: kind.with_params(load(22 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


def loop_constants(kind: JointKind, load: Load, columns: int) -> dict[str, Any]:
    """Return the constants of a loop: placements on the parent's and on the child's side (12 each), damping and
    friction (nv each), the usual angular and linear mobility (2), joint parameters."""

    nv = kind.nv
    return Lazy({
        "on_parent": lambda: Transform.from_entries(load(0, 12)),
        "on_child": lambda: Transform.from_entries(load(12, 12)),
        "damping": lambda: array(load(24, nv)),
        "friction": lambda: array(load(24 + nv, nv)),
        "scale": lambda: array(load(24 + 2 * nv, 2)),
        "columns": columns,
        "has_constant_constraint_space": kind.has_constant_constraint_space,
        "has_constant_motion_space": kind.has_constant_motion_space,
        "neutral": kind.neutral(),
        "joint": lambda: kind.with_params(load(26 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


def term_constants(profile: Profile, load: Load, columns: int) -> dict[str, Any]:
    """Return the constants of a joint of a coupling: its sign, the offset, the usual angular and linear mobility (2),
    the numbers of the profile."""

    count = len(profile.params())
    return Lazy({
        "sign": lambda: load(0, 1)[0],
        "offset": lambda: load(1, 1)[0],
        "scale": lambda: array(load(2, 2)),
        "columns": columns,
        "profile": lambda: profile.with_params(load(4, count)) if count else profile,
    })  # fmt: skip


def force_constants(force: PlacedForce, load: Load, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants of `PlacedForce.constants`, and what the code depends on; what is among the `inputs` of the
    force is none of them."""

    kind, joint = force.kind, force.joint
    count = len(kind.params())
    fields: dict[str, Any] = {
        "site": force.site,
        "acts": force.acts,
        "on_a": lambda: Transform.from_entries(load(0, 12)),
        "on_b": lambda: Transform.from_entries(load(12, 12)),
        "kind": lambda: kind.with_params(load(24, count)) if count else kind,
    }
    if not kind.inputs:
        fields["inputs"] = NO_INPUTS
    if NEAR not in inputs:
        fields[NEAR] = None
    if joint is not None:
        fields["joint"] = lambda: (
            joint.with_params(load(24 + count, len(joint.params()))) if joint.params() else joint
        )
        fields["has_constant_motion_space"] = joint.has_constant_motion_space if force.site == LOOP else False
        fields["neutral"] = joint.neutral()
    return Lazy(fields)


def frame_constants(load: Load) -> dict[str, Any]:
    """Return the constants of the frame: its placement (12)."""
    return {"placement": Transform.from_entries(load(0, 12))}


class Lazy(dict[str, Any]):
    """A mapping whose values are made when first asked for, so that constants nobody reads are not loaded."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if callable(value) and not isinstance(value, JointKind | Profile):
            value = value()
            self[name] = value
        return value
