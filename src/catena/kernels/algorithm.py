"""An algorithm as data: steps (what one record does given its neighbours) and sweeps (in which order they are
called).

A step is a plain Python function over records. Its first parameter is the *owner*, the record whose constants
and joint the step may use; the others are neighbours. Parameters are recognised by name: `body` and `parent`
are bodies, `frame` is the frame asked for, `ground` the ground, `whole` all bodies at once, and an algorithm may name
views of its own.
Reading `body.x` gives the field x, writing `body.x = ...` keeps it; nobody declares a workspace. There are
two sorts of fields:

* *flows* pass between neighbours within one sweep. They are the fields that the algorithm's `ground` function
  writes, which gives them their type and their value on the ground. Base to tip, a body writes its flows and
  its children read them as `parent.x`; tip to base, children add to `parent.x` (from zero), and the body
  finds the sum in its own `body.x`. When the sweep is over they are gone.
* everything else is *private* to its body and stays until the end.

An algorithm with a `Schedule` calls steps in an order of its own, made for the mechanism. In it flows are
*lasting*: each body keeps its own until the end, whoever reads or writes them, and nothing is cleared. Loops
have records too: `loop` as an owner knows the joint that closes it; the fields that steps of other owners use
are those of the view `multiplier`, which such steps may also own. Couplings have multipliers too, and each of their
joints has the record of a `term`.

Forces have records as well. A step `(force, a, b)` is owned by a force and sees the `shared` fields of the two bodies
that it acts on (the ground may be one): fields that every body keeps at the same place, whatever its joint. The step of
a body that names `below` as its neighbour sees the shared fields of its parent.

What an owner offers besides its own fields:
  body:   joint (a joint kind), has_constant_motion_space, placement (Transform from the parent's frame to the joint),
          inertia (RigidInertia), damping, friction (nv,), and the algorithm's inputs
  ground: gravity (3,), and the algorithm's ground inputs
  frame:  placement (Transform from the body's frame to the frame)
  loop:   joint, on_parent and on_child (Transforms from the frames of the two bodies to the joint), damping,
          friction, scale (the usual angular and linear mobility of a body), has_constant_constraint_space,
          has_constant_motion_space, neutral
  term:   profile (of one joint in a coupling), its sign, offset (of the coupling, at its first joint), scale, columns
  force:  kind (a force kind), site (how it is placed: at frames, at a joint of the tree, at a loop), acts (or is only
          told), on_a and on_b (Transforms from the frames of the two bodies to its frames), joint (where it acts at
          one), inputs, near (where the joint's turns are counted on from; None where they are not)
  whole:  the algorithm's inputs and outputs over positions and velocities as whole arrays, and what the ground holds
A step of a body or force that names the `ground` as its neighbour sees all of its fields. A frame step may
read the flows of its body after a sweep to the tip, and must write them before a sweep to the base.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.spatial.scalars import array

if TYPE_CHECKING:
    from catena.forces import PlacedForce
    from catena.kernels.layout import Layout
    from catena.kernels.plain import PlainRun

Step = Callable[..., None]


class Extent(Enum):
    """How many numbers a field has where that depends on the joint, and how a user's array is cut into
    them."""

    POSITION = "the nq coordinates of the body's joint"
    VELOCITY = "the nv velocity components of the body's joint"
    COLUMNS = "six rows, and a column for each velocity component of the body's joint"
    ROWS = "a row for each velocity component of the body's joint, and six columns"
    MATRIX = "a matrix over all velocity components, kept in an area of its own"


POSITION, VELOCITY, COLUMNS, ROWS, MATRIX = Extent


@dataclass(frozen=True)
class JointRows:
    """A field of a view with a row for each velocity component of the owner's joint."""

    columns: int


@dataclass(frozen=True)
class Scalars:
    """A field of a view, or an input of the ground, with so many numbers, whatever the joint."""

    size: int

    def zero(self) -> np.ndarray:
        """Return as many zeros."""
        return np.zeros(self.size)

    def from_entries(self, entries: Sequence[Any]) -> np.ndarray:
        """Return the numbers, or symbols, as an array."""
        return array(entries)


@dataclass(frozen=True)
class Calls:
    """The calls of one sweep in order: the node that owns each step (-1: none), which variant of the step it
    is, and where its records lie in the workspace. `CLEAR` zeroes the flows at its second record instead.
    `sweep` is the index of the sweep whose step is called, where that is another one (-1 for a kernel for matrices,
    of which `kernel` has the address); `numbers` are whole numbers that each call finds among its constants."""

    owner: np.ndarray
    variant: np.ndarray
    records: tuple[np.ndarray, ...]
    sweep: np.ndarray | None = None
    kernel: np.ndarray | None = None
    numbers: tuple[Sequence[int], ...] = ()

    @staticmethod
    def plain(owner: np.ndarray, *records: np.ndarray) -> "Calls":
        """Return calls that are all of the first variant."""
        return Calls(owner, np.zeros(len(owner), dtype=np.int64), records)


ADD, ASSIGN, CLEAR = 0, 1, 2
FORCE_INPUTS = "force_inputs"
"""The name of the input that holds what forces are given from outside, force after force."""
NEAR = "near"
"""The name of the input with positions that joints of forces are near, force after force that counts turns."""
CONSTANTS = "constants"
"""The name of the input that holds the constants of a mechanism where they vary from state to state."""
ADDED_TO = frozenset({"above", "sum"})
"""Names of neighbours that steps on call add to."""


def _parameters(step: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameter names of a step, the short way for plain functions: tapes ask for them many times, and to
    remember them would keep a user's law alive."""
    step = getattr(step, "__wrapped__", step)
    if not inspect.isfunction(step) or hasattr(step, "__wrapped__"):
        return tuple(inspect.signature(step).parameters)
    return step.__code__.co_varnames[: step.__code__.co_argcount]


@dataclass(frozen=True)
class Sweep(ABC):
    """A step and the order of its calls."""

    step: Step

    @property
    def variants(self) -> tuple[int, ...]:
        """Return the variants of the step that there is a use for: one that adds to a sum, and one that begins
        it."""
        return (ADD, ASSIGN) if ADDED_TO & set(self.roles) else (ADD,)

    @property
    def roles(self) -> tuple[str, ...]:
        """Return the parameter names of the step; the first one is the owner."""
        return _parameters(self.step)

    @abstractmethod
    def calls(self, layout: "Layout") -> Calls:
        """Return the calls on one mechanism, as offsets into the workspace."""

    @abstractmethod
    def play(self, run: "PlainRun") -> None:
        """Call the step on plain records, in the same order."""


class BaseToTip(Sweep):
    """Every body after its parent, with a view of everything the ground holds where its step names it."""

    def calls(self, layout: "Layout") -> Calls:
        i, flows = layout.bodies, layout.flows_to_tip
        ground = [np.zeros_like(i)] * (len(self.roles) - 2)
        return Calls.plain(i, layout.records[i], flows[i], flows[layout.parent[i]], *ground)

    def play(self, run: "PlainRun") -> None:
        ground = [run.records[0]] * (len(self.roles) - 2)
        for i in run.bodies:
            self.step(run.records[i], run.records[run.parent[i]], *ground)


class TipToBase(Sweep):
    """Every body before its parent. The first child of a parent assigns what the others add to."""

    @property
    def variants(self) -> tuple[int, ...]:
        return (ADD, ASSIGN)

    def calls(self, layout: "Layout") -> Calls:
        owner, variant, own, parent = layout.flows_to_base
        return Calls(owner, variant, (layout.records[owner], own, parent))

    def play(self, run: "PlainRun") -> None:
        run.clear_flows()
        for i in run.bodies[::-1]:
            self.step(run.records[i], run.records[run.parent[i]])


@dataclass(frozen=True)
class Entry:
    """A call in a schedule: the step, the index of its owner, the variant, and the places of its records in
    the order of the step's parameters; a body's own flows come right after the body where the step has no
    other neighbour than its parent."""

    sweep: "OnCall"
    owner: int
    places: tuple[Any, ...]
    variant: int = ADD


class OnCall(Sweep):
    """A step that schedules call."""

    def calls(self, layout: "Layout") -> Calls:
        return Calls.plain(np.zeros(0, np.int64))

    def play(self, run: "PlainRun") -> None:
        """Do nothing: the schedule calls the step."""


def _nothing(*records: Any) -> None:
    """Do nothing: a schedule calls other steps."""


@dataclass(frozen=True)
class Schedule(Sweep):
    """Calls of other steps in an order made for the mechanism. `order(places)` returns the entries; `places`
    says where records are: body(i), flows(i), multiplier(l), link(l, i), end(l, i), pair(l, k), and the
    plan."""

    step: Step = field(default=_nothing, init=False)
    order: Callable[[Any], list[Entry]]

    @property
    def roles(self) -> tuple[str, ...]:
        return ("schedule",)

    def calls(self, layout: "Layout") -> Calls:
        layout.places.begin()
        entries = self.order(layout.places)
        table = np.zeros((len(entries), 4), dtype=np.int64)
        for row, entry in zip(table, entries, strict=True):
            row[: len(entry.places)] = entry.places
        return Calls(
            np.array([e.owner for e in entries], dtype=np.int64),
            np.array([e.variant for e in entries], dtype=np.int64),
            tuple(table.T),
            np.array([layout.sweep_index[id(e.sweep)] for e in entries], dtype=np.int64),
        )

    def play(self, run: "PlainRun") -> None:
        run.places.begin()
        for entry in self.order(run.places):
            run.call(entry)


@dataclass(frozen=True)
class OnMatrices(Sweep):
    """Work on matrices over velocity components and constraints, in an order made for the mechanism. `order(work)` asks
    for areas and calls kernels and steps of components; `matrices.py` says what a `work` offers."""

    step: Step = field(default=_nothing, init=False)
    order: Callable[[Any], None]

    @property
    def roles(self) -> tuple[str, ...]:
        return ("schedule",)

    def calls(self, layout: "Layout") -> Calls:
        from catena.kernels.matrices import LaneWork

        work = LaneWork(layout)
        self.order(work)
        return work.calls()

    def play(self, run: "PlainRun") -> None:
        run.work().play(self.order)


@dataclass(frozen=True)
class Pause(Sweep):
    """A place between two sweeps at which a `Session` may stop, known by its name. Nothing is called there."""

    step: Step = field(default=_nothing, init=False)
    name: str

    @property
    def roles(self) -> tuple[str, ...]:
        return ("pause",)

    def calls(self, layout: "Layout") -> Calls:
        return Calls.plain(np.zeros(0, np.int64))

    def play(self, run: "PlainRun") -> None:
        """Do nothing: a pause calls no step."""


@dataclass(frozen=True)
class LeaveOut(Sweep):
    """Leaves out so many sweeps behind it, `count`, where the field of the ground is zero in all lanes. Sweeps that are
    left out must change nothing in lanes where it is zero: plain runs call them."""

    step: Step = field(default=_nothing, init=False)
    name: str
    count: int

    @property
    def roles(self) -> tuple[str, ...]:
        return ("pause",)

    def calls(self, layout: "Layout") -> Calls:
        from catena.kernels.driver import LEAVE_OUT

        place = np.array([layout.ground_fields[self.name][0] * layout.slot_bytes])
        nothing = np.array([-1])
        # How many calls are left out is known when all are there.
        return Calls(nothing, np.array([ADD]), (place,), nothing, np.array([LEAVE_OUT]), ((0,),))

    def play(self, run: "PlainRun") -> None:
        """Do nothing: all sweeps behind it are played."""


def has_own_flows(roles: tuple[str, ...]) -> bool:
    """Return whether a step gets the flows of its owner, a body, at the second place."""
    return roles[0] == "body" and (len(roles) == 1 or roles[1] == "parent")


class EachBody(Sweep):
    """Every body by itself."""

    def calls(self, layout: "Layout") -> Calls:
        i = layout.bodies_by_part
        return Calls.plain(i, layout.records[i], layout.flows_to_tip[i])

    def play(self, run: "PlainRun") -> None:
        for i in run.bodies:
            self.step(run.records[i])


class AtGround(Sweep):
    """Once, at the ground. A step that names `below` sees the fields that the ground shares as bodies do."""

    def calls(self, layout: "Layout") -> Calls:
        return Calls.plain(np.array([0]), layout.records[[0]], layout.shared[[0]])

    def play(self, run: "PlainRun") -> None:
        self.step(*[run.records[0]] * len(self.roles))


class ToForces(Sweep):
    """Every body that lies between the ground and a force, after its parent, which is its neighbour `below`."""

    def calls(self, layout: "Layout") -> Calls:
        i = layout.reached
        return Calls.plain(i, layout.records[i], layout.shared[layout.parent[i]])

    def play(self, run: "PlainRun") -> None:
        for i in run.reached:
            self.step(run.records[i], run.records[run.parent[i]])


@dataclass(frozen=True)
class EachForce(Sweep):
    """Every force, with the bodies that it acts on and, if the step names it, the ground. With `moving`, forces that
    act within one rigid piece are left out, because they move nothing and their two records are one."""

    moving: bool = False

    def calls(self, layout: "Layout") -> Calls:
        k = self._chosen(layout.forces)
        a, b = (np.array([getattr(layout.forces[i], end) for i in k], dtype=np.int64) for end in "ab")
        return Calls.plain(k, layout.force_records[k], layout.shared[a], layout.shared[b], np.zeros_like(k))

    def play(self, run: "PlainRun") -> None:
        ground = [run.records[0]] * (len(self.roles) - 3)
        for k in self._chosen(run.forces):
            force = run.forces[k]
            self.step(run.force_records[k], run.records[force.a], run.records[force.b], *ground)

    def _chosen(self, forces: "Sequence[PlacedForce]") -> np.ndarray:
        chosen = [k for k, force in enumerate(forces) if not (self.moving and force.moves_nothing)]
        return np.array(chosen, dtype=np.int64)


class WithGround(Sweep):
    """Every body by itself, with a view of everything the ground holds."""

    def calls(self, layout: "Layout") -> Calls:
        i = layout.bodies_by_part
        return Calls.plain(i, layout.records[i], np.zeros_like(i))

    def play(self, run: "PlainRun") -> None:
        for i in run.bodies:
            self.step(run.records[i], run.records[0])


class WholeState(Sweep):
    """Once, with the fields of all bodies in the order of the coordinates and the fields of the ground. The step is
    compiled for the one mechanism whose fields it uses."""

    def calls(self, layout: "Layout") -> Calls:
        return Calls.plain(np.array([0]), np.array([0]))

    def play(self, run: "PlainRun") -> None:
        self.step(run.whole())


class AtFrame(Sweep):
    """Once, at the frame asked for and the body that carries it."""

    def calls(self, layout: "Layout") -> Calls:
        return Calls.plain(np.array([-1]), np.array([layout.frame]), np.array([layout.target_flows]))

    def play(self, run: "PlainRun") -> None:
        self.step(run.frame, run.records[run.target])


class ColumnsToBase(Sweep):
    """For every velocity component c of every body: from that body down to the base, with a `cursor` that
    starts as column c of the body's field `F` and a `row` that keeps what belongs to component c and each
    body on the way."""

    def calls(self, layout: "Layout") -> Calls:
        starts = layout.slots("F")
        owners: list[np.ndarray] = []
        cursors: list[np.ndarray] = []
        rows: list[np.ndarray] = []
        step = layout.slot_bytes
        for i in layout.bodies:
            path = layout.path(i)
            for k in range(layout.v_size[i]):
                owners.append(path)
                cursors.append(np.full(len(path), starts[i] + 6 * k * step))
                rows.append(layout.area + step * ((layout.v_start[i] + k) * layout.nv + layout.v_start[path]))
        if not owners:
            return Calls.plain(np.zeros(0, np.int64))
        owner = np.concatenate(owners)
        return Calls.plain(owner, layout.records[owner], np.concatenate(cursors), np.concatenate(rows))

    def play(self, run: "PlainRun") -> None:
        for i in run.bodies:
            for k in range(run.v_size[i]):
                cursor = run.cursor(run.records[i].F, k)
                for j in run.path(i):
                    row = run.row()
                    self.step(run.records[j], cursor, row)
                    run.keep_row(run.v_start[i] + k, j, row)


# Decorators that make a sweep of a step, by the words that algorithms have for them.
base_to_tip, tip_to_base, each_body, on_call = BaseToTip, TipToBase, EachBody, OnCall
at_ground, to_forces, each_force, each_moving_force = (
    AtGround,
    ToForces,
    EachForce,
    partial(EachForce, moving=True),
)
with_ground, whole_state, at_frame, columns_to_base = WithGround, WholeState, AtFrame, ColumnsToBase


@dataclass(frozen=True, eq=False)
class Algorithm:
    """Steps in order, with the names and extents of what goes in and comes out.

    `inputs` and `outputs` map names of body fields to an `Extent` or to a spatial type (one value for each
    body); `ground_inputs` does so for the ground. `ground_outputs`, `frame_outputs` and `multiplier_outputs`
    name fields of the ground, of the frame and of the loops; `multiplier_inputs` name fields of the view of loops that
    are told, loop after loop and then coupling after coupling. An optional input that is not given is zero and
    costs nothing. `rewritten` names private fields that more than one step writes, `views` the fields of
    neighbours that are no bodies, or the name of the view whose fields they have too, where a step needs two of one
    sort. A loop has at most `columns` constraints, and a link to a body `link_rows` rows of
    them. `path_only` restricts the sweeps
    to the bodies between the frame and the ground. One that is `replayed` finds in its next play what this one left:
    inputs keep their places; its `occasional` sweeps, from the first of these indices to before the second, are left
    out of most plays. `shared` are fields that bodies and the ground keep where forces find them; those of a spatial
    type come first. `force_outputs` name fields of forces. `component_fields` maps private fields with a row for each
    velocity component, and fields of forces with rows of their own, to the view that such a row is; work on matrices
    gives names to its `matrix_outputs`. `rests` names a field of the ground that is zero, in a replayed algorithm,
    where a state has nothing left to do. Algorithms that differ in their work on matrices only may share their
    `code`, which is called after one of them. One that does not `use_constants`, such as a step on the manifold of q,
    knows no length and no mass. Of what comes out, nodes that share a coordinate agree about most. What each of them
    has a part in is summed up: columns, rows and matrices, but for those that are `per_node`, and the joint forces that
    are `contributed`.
    """

    name: str
    ground: Step
    sweeps: tuple[Sweep, ...]
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ground_inputs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ground_outputs: tuple[str, ...] = ()
    frame_outputs: tuple[str, ...] = ()
    views: Mapping[str, Mapping[str, Any] | str] = field(default_factory=lambda: MappingProxyType({}))
    optional: frozenset[str] = frozenset()
    rewritten: frozenset[str] = frozenset()
    multiplier_outputs: tuple[str, ...] = ()
    multiplier_inputs: tuple[str, ...] = ()
    columns: int = 6
    link_rows: int = 12
    path_only: bool = False
    replayed: bool = False
    occasional: tuple[int, int] = (0, 0)
    shared: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    force_outputs: tuple[str, ...] = ()
    matrix_outputs: tuple[str, ...] = ()
    component_fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    rests: str = ""
    code: str = ""
    use_constants: bool = True
    contributed: frozenset[str] = frozenset()
    per_node: frozenset[str] = frozenset()

    def view(self, role: str) -> Mapping[str, Any]:
        """Return the fields of a view, with their extents."""
        found = self.views[role]
        return self.view(found) if isinstance(found, str) else found

    def first(self, index: int) -> int:
        """Return the index of the first sweep that is the same as this one; a sweep that is repeated is compiled
        once."""
        return self._firsts[index]

    @cached_property
    def _firsts(self) -> tuple[int, ...]:
        return tuple(self.sweeps.index(sweep) for sweep in self.sweeps)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """Return what owns the steps of each sweep: the name of its first parameter."""
        return tuple(sweep.roles[0] for sweep in self.sweeps)

    def extent(self, name: str) -> Any:
        """Return the extent of a field of bodies that goes in or comes out; None for other names."""
        return self.inputs.get(name) or self.outputs.get(name)

    @property
    def is_repeated(self) -> bool:
        """Return whether a sweep comes more than once."""
        return any(self.first(k) != k for k in range(len(self.sweeps)))

    @property
    def is_scheduled(self) -> bool:
        """Return whether steps are called in an order of the algorithm's own, so that flows last."""
        return any(isinstance(s, Schedule) for s in self.sweeps)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Return the files the steps are written in."""
        steps = (self.ground, *(sweep.step for sweep in self.sweeps))
        return tuple(sorted({inspect.getfile(step) for step in steps}))
