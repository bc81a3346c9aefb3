"""The same steps on plain numbers (or on symbols), one record after another, for a debugger, a derivation or
a doubt.

`play` runs an algorithm's Python functions as they are written, with nothing traced or compiled. Given CasADi
symbols as inputs it unrolls the algorithm over the whole mechanism into one expression.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.forces import PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import (
    ADDED_TO,
    ASSIGN,
    COLUMNS,
    FORCE_INPUTS,
    MATRIX,
    NEAR,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
    Entry,
    has_own_flows,
)
from catena.kernels.constants import mobility_scale
from catena.kernels.fields import flatten
from catena.kernels.layout import output_shape, reached
from catena.kernels.sharing import shared_outputs, spread_inputs
from catena.kernels.tracing import sample
from catena.spatial import Force, Pose, RigidInertia, Transform
from catena.spatial.scalars import array
from catena.structure import Plan
from catena.structure.plan import Loop

if TYPE_CHECKING:
    from catena.kernels.matrices import PlainWork

_always = os.environ.get("CATENA_PLAIN", "") not in ("", "0")
_here: ContextVar[bool] = ContextVar("catena plain numbers", default=_always)
blocks: list[object] = [_always] if _always else []
"""Not empty while some thread may run on plain numbers, which is quicker to see than whether this one does."""


def is_plain() -> bool:
    """Return whether this thread runs on plain numbers: inside `plain_numbers()`, or with CATENA_PLAIN=1 in the
    environment."""
    return _here.get()


@contextlib.contextmanager
def plain_numbers(on: bool = True) -> Iterator[None]:
    """Run the steps as plain Python inside this block, so that a debugger can follow them. Slow, and the same
    numbers. Other threads go on as they did."""
    before, block = _here.get(), object()
    blocks.append(block)
    _here.set(on)
    try:
        yield
    finally:
        _here.set(before)
        blocks.remove(block)


class PlainRun:
    """The records of one state, as simple objects."""

    def __init__(
        self,
        algorithm: Algorithm,
        plan: Plan,
        gravity: Any,
        inputs: Mapping[str, Any],
        frame: tuple[int, Pose] | None,
        forces: Sequence[PlacedForce] = (),
    ) -> None:
        self.algorithm = algorithm
        self.plan, self.parent = plan, plan.parent
        self.v_start, self.v_size = plan.v_start, plan.v_size
        self.target = frame[0] if frame else 0
        ground = SimpleNamespace(gravity=np.asarray(gravity))
        for name, extent in algorithm.ground_inputs.items():
            value = inputs.get(name)
            setattr(ground, name, sample(extent, 0, 0) if value is None else extent.from_entries(list(value)))
        self.records = [ground, *(self._body(algorithm, i, inputs) for i in range(1, len(plan.parent)))]
        self.bodies = (
            self.path(self.target)[::-1] if algorithm.path_only else list(range(1, len(plan.parent)))
        )
        self.frame = SimpleNamespace(placement=Transform.from_pose(frame[1])) if frame else None
        self.forces, self.reached = forces, reached(plan, forces).tolist()
        self.force_records = _force_records(forces, inputs.get(FORCE_INPUTS))
        _tell_near(forces, self.force_records, inputs.get(NEAR))
        self.rows: dict[tuple[int, int], Any] = {}
        self.matrices: dict[str, np.ndarray] = {}
        self.flow_names: list[str] = []
        self._work: PlainWork | None = None
        self.places = PlainPlaces(self, inputs)

    def _body(self, algorithm: Algorithm, i: int, inputs: Mapping[str, Any]) -> SimpleNamespace:
        plan = self.plan
        v = slice(plan.v_start[i], plan.v_start[i] + plan.v_size[i])
        q = slice(plan.q_start[i], plan.q_start[i] + plan.q_size[i])
        record = SimpleNamespace(
            joint=plan.kind[i], placement=Transform(plan.placement_R[i], plan.placement_p[i]),
            inertia=RigidInertia.from_entries(list(plan.inertia[i])),
            damping=plan.damping[v], friction=plan.friction[v],
            has_constant_motion_space=_has_constant_motion_space(plan.kind[i]),
        )  # fmt: skip
        for name, extent in algorithm.inputs.items():
            numbers = inputs.get(name)
            if numbers is None:
                value = sample(extent, plan.q_size[i], plan.v_size[i])
            elif extent in (POSITION, VELOCITY):
                value = numbers[q if extent is POSITION else v]
            else:
                value = extent.from_entries(list(numbers[extent.size * i : extent.size * (i + 1)]))
            setattr(record, name, value)
        return record

    @property
    def force_inputs(self) -> np.ndarray:
        """Return what all forces are given from outside."""
        return array([x for record in self.force_records for x in record.inputs])

    def mobility(self, loop: Loop | None = None) -> np.ndarray:
        """Return the usual angular and linear mobility (2,) of a body, or of those that a loop holds."""
        return np.array(mobility_scale(self.plan, loop))

    def call(self, entry: Entry) -> None:
        """Call one step of a schedule on plain records."""
        records = list(entry.places)
        if has_own_flows(entry.sweep.roles):
            del records[1]
        for role, record in zip(entry.sweep.roles, records, strict=True):
            if role in ADDED_TO and entry.variant == ASSIGN:
                for name, extent in self.algorithm.view(role).items():
                    setattr(record, name, sample(extent, 0, 0))
        self.work().call(entry.sweep.step, records, entry.sweep.roles)

    def clear_flows(self) -> None:
        """Set flows to zero before a sweep to the base, except where a frame step has written them."""
        for i in self.bodies:
            if i != self.target:
                for name in self.flow_names:
                    entries, rebuild = flatten(getattr(self.records[0], name))
                    setattr(self.records[i], name, rebuild([0.0] * len(entries)))

    def path(self, i: int) -> list[int]:
        """Return the nodes from i down to the base, without the ground."""
        nodes = []
        while i > 0:
            nodes.append(i)
            i = int(self.parent[i])
        return nodes

    def work(self) -> "PlainWork":
        """Return what does work on matrices, whose areas last as long as this run."""
        from catena.kernels.matrices import PlainWork

        if self._work is None:
            self._work = PlainWork(self)
        return self._work

    def whole(self) -> "PlainWhole":
        """Return the record of all bodies at once."""
        return PlainWhole(self)

    def cursor(self, columns: Any, k: int) -> SimpleNamespace:
        """Return a cursor that starts as column k."""
        return SimpleNamespace(F=Force(columns.array[:, k]))

    def row(self) -> SimpleNamespace:
        """Return an empty row."""
        return SimpleNamespace()

    def keep_row(self, component: int, node: int, row: SimpleNamespace) -> None:
        """Keep the row that belongs to a velocity component and a node."""
        for k, value in enumerate(row.h):
            c = int(self.v_start[node]) + k
            self.rows[component, c] = self.rows[c, component] = value


class PlainWhole:
    """The fields of all bodies as whole arrays, and those of the ground."""

    def __init__(self, run: PlainRun) -> None:
        self.__dict__["_run"] = run

    def __getattr__(self, name: str) -> Any:
        run = self._run
        if name == FORCE_INPUTS:
            return run.force_inputs
        extent = run.algorithm.extent(name)
        return getattr(run.records[0], name) if extent is None else _collect(run, name, extent)

    def __setattr__(self, name: str, value: Any) -> None:
        run, plan = self._run, self._run.plan
        if name == FORCE_INPUTS:
            run.force_records = _force_records(run.forces, value, run.force_records)
            return
        extent = run.algorithm.extent(name)
        if extent is None:
            setattr(run.records[0], name, value)
            return
        start, size = (plan.q_start, plan.q_size) if extent is POSITION else (plan.v_start, plan.v_size)
        for i in run.bodies:
            setattr(run.records[i], name, value[start[i] : start[i] + size[i]])


def _force_records(
    forces: Sequence[PlacedForce], inputs: Any, records: Sequence[SimpleNamespace] = ()
) -> list[SimpleNamespace]:
    """Return the records of forces with these inputs, force after force (zero if None); those that are there are
    kept."""
    records = list(records) or [
        SimpleNamespace(
            kind=f.kind, site=f.site, acts=f.acts, on_a=f.on_a, on_b=f.on_b, joint=f.joint,
            has_constant_motion_space=f.joint is not None and f.joint.has_constant_motion_space,
            neutral=None if f.joint is None else f.joint.neutral(),
        )
        for f in forces
    ]  # fmt: skip
    start = 0
    for force, record in zip(forces, records, strict=True):
        stop = start + force.kind.inputs
        record.inputs = np.zeros(force.kind.inputs) if inputs is None else inputs[start:stop]
        start = stop
    return records


def _tell_near(forces: Sequence[PlacedForce], records: Sequence[SimpleNamespace], near: Any) -> None:
    """Tell forces that count turns the positions that their joints are near, force after force; None tells nothing."""
    start = 0
    for force, record in zip(forces, records, strict=True):
        record.near = None
        if near is not None and force.counts:
            assert force.joint is not None
            record.near = near[start : start + force.joint.nq]
            start += force.joint.nq


class PlainEnd:
    """The fields of a loop's record that link it to one of the two bodies it joins, under the names of a
    link."""

    def __init__(self, record: SimpleNamespace, end: str) -> None:
        self.__dict__.update(_record=record, _end=end)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._record, f"{name}_{self._end}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._record, f"{name}_{self._end}", value)


class PlainPlaces:
    """Where a schedule finds plain records; they come into being when first asked for. Nothing is computed at the same
    time, so there are no wings."""

    wings: tuple[int, ...] = ()

    def __init__(self, run: PlainRun, inputs: Mapping[str, Any]) -> None:
        self._run, self.plan, self._inputs = run, run.plan, inputs
        self._loops: dict[int, SimpleNamespace] = {}
        self._terms: dict[tuple[int, int], SimpleNamespace] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a new schedule, in which loops hold the two bodies that they join."""
        self._links: dict[tuple[int, int], Any] = {}
        self._pairs: dict[tuple[int, int], SimpleNamespace] = {}

    def body(self, i: int) -> SimpleNamespace:
        """Return the record of a body."""
        return self._run.records[i]

    flows = body

    def multiplier(self, loop: int) -> SimpleNamespace:
        """Return the record of a loop."""
        if loop in self._loops:
            return self._loops[loop]
        if loop >= len(self.plan.loop_joints):
            record = SimpleNamespace()
        else:
            joint = self.plan.loop_joints[loop]
            record = SimpleNamespace(
                joint=joint.kind, on_parent=Transform.from_pose(joint.parent_pose), damping=joint.damping,
                on_child=Transform.from_pose(joint.child_pose), friction=joint.friction,
                scale=self._run.mobility(joint), has_constant_constraint_space=joint.kind.has_constant_constraint_space,
                has_constant_motion_space=joint.kind.has_constant_motion_space, columns=self._run.algorithm.columns,
                neutral=joint.kind.neutral(),
            )  # fmt: skip
        count = len(self.plan.loop_joints) + len(self.plan.couplings)
        for name in self._run.algorithm.multiplier_inputs:
            values = self._inputs[name]
            setattr(record, name, values.reshape(count, -1)[loop])
        self._loops[loop] = record
        return record

    def link(self, loop: int, i: int) -> Any:
        """Return the record that links a loop to a body."""
        if (loop, i) not in self._links:
            own = self.ends(loop).get(i, [])
            self._links[loop, i] = own[0] if len(own) == 1 else SimpleNamespace()
        return self._links[loop, i]

    def ends(self, loop: int) -> dict[int, list[PlainEnd]]:
        """Return the links of a loop or a coupling to the bodies of its joints, by body."""
        records = [(self.multiplier(loop), loop, -1)]
        if loop >= len(self.plan.loop_joints):
            terms = self.plan.couplings[loop - len(self.plan.loop_joints)].terms
            records = [(self.term(loop, t), loop, t) for t in range(len(terms))]
        found: dict[int, list[PlainEnd]] = {}
        for record, k, t in records:
            child, parent = self._nodes(k, t)
            if child != parent:
                found.setdefault(child, []).append(PlainEnd(record, "child"))
                found.setdefault(parent, []).append(PlainEnd(record, "parent"))
        return found

    def _nodes(self, loop: int, t: int) -> tuple[int, int]:
        if t < 0:
            joint = self.plan.loop_joints[loop]
            return joint.child_node, joint.parent_node
        ends: tuple[int, int] = (
            self.plan.couplings[loop - len(self.plan.loop_joints)].terms[t].ends(self.plan)
        )
        return ends

    def owner(self, loop: int, t: int) -> tuple[int, int]:
        """Return what the joint of a coupling is known by."""
        return loop, t

    def term(self, loop: int, t: int) -> SimpleNamespace:
        """Return the record of a joint of a coupling."""
        if (loop, t) not in self._terms:
            coupling = self.plan.couplings[loop - len(self.plan.loop_joints)]
            term = coupling.terms[t]
            self._terms[loop, t] = SimpleNamespace(
                sign=term.sign, offset=0.0 if t else coupling.number, scale=self._run.mobility(),
                columns=self._run.algorithm.columns, profile=term.profile,
            )  # fmt: skip
        return self._terms[loop, t]

    def end(self, loop: int, i: int) -> Any:
        """Return the link of a loop to a body that it joins, which gives way to a new one; None if that has
        happened."""
        link = self.link(loop, i)
        if not isinstance(link, PlainEnd):
            return None
        self._links[loop, i] = SimpleNamespace()
        return link

    def pair(self, loop: int, other: int) -> SimpleNamespace:
        """Return the record of how two loops act on each other."""
        return self._pairs.setdefault((loop, other), SimpleNamespace())


def play(
    algorithm: Algorithm,
    plan: Plan,
    gravity: Any,
    inputs: Mapping[str, Any],
    frame: tuple[int, Pose] | None = None,
    forces: Sequence[PlacedForce] = (),
) -> dict[str, np.ndarray]:
    """Run an algorithm on one state: inputs and outputs by name, each a flat array of numbers or symbols
    (outputs in the shapes of the compiled path)."""
    run = PlainRun(algorithm, plan, gravity, inputs, frame, forces)
    run_steps(run)
    return outputs_of(run)


def play_shared(
    algorithm: Algorithm,
    plan: Plan,
    gravity: Any,
    inputs: Mapping[str, Any],
    frame: tuple[int, Pose] | None = None,
    forces: Sequence[PlacedForce] = (),
) -> dict[str, np.ndarray]:
    """Run an algorithm on one state of a plan whose nodes may share coordinates."""
    if plan.owner is None:
        return play(algorithm, plan, gravity, inputs, frame, forces)
    found = play(algorithm, plan.spread, gravity, spread_inputs(algorithm, plan, inputs), frame, forces)
    return shared_outputs(algorithm, plan, found)


def run_steps(run: PlainRun) -> None:
    """Call all steps of an algorithm on the records of a run."""
    before = set(vars(run.records[0]))
    run.algorithm.ground(run.records[0])
    run.flow_names = sorted(set(vars(run.records[0])) - before)
    for sweep in run.algorithm.sweeps:
        sweep.play(run)


def outputs_of(run: PlainRun) -> dict[str, np.ndarray]:
    """Return the outputs of an algorithm by name, from the records that its steps have been called on."""
    algorithm, plan = run.algorithm, run.plan
    outputs = {}
    for name, extent in algorithm.outputs.items():
        outputs[name] = _collect(run, name, extent)
    for name in algorithm.frame_outputs:
        outputs[name] = array(flatten(getattr(run.frame, name))[0])
    for name in algorithm.multiplier_outputs:
        loops = [run.places.multiplier(k) for k in range(len(plan.loop_joints) + len(plan.couplings))]
        # A loop that does nothing has no fields.
        nothing = sample(algorithm.view("multiplier")[name], 0, 0)
        outputs[name] = array([flatten(getattr(r, name, nothing))[0] for r in loops])
        if name in algorithm.multiplier_inputs:
            outputs[name] = outputs[name].ravel()
    for name in algorithm.force_outputs:
        # A record begins with where its force is placed, which a result of the same name takes the place of.
        pairs = zip(run.forces, run.force_records, strict=True)
        written = [r for f, r in pairs if getattr(r, name, None) is not getattr(f, name, None)]
        values = [flatten(getattr(r, name))[0] for r in written]
        outputs[name] = array([x for entries in values for x in entries])
    for name in algorithm.matrix_outputs:
        found = run.matrices[name]
        outputs[name] = array(list(found.ravel())).reshape(found.shape)
    for name in algorithm.ground_outputs:
        outputs[name] = array(flatten(getattr(run.records[0], name))[0])
    return outputs


@lru_cache(maxsize=256)
def _has_constant_motion_space(kind: JointKind) -> bool:
    return kind.has_constant_motion_space


def _collect(run: PlainRun, name: str, extent: Any) -> np.ndarray:
    plan = run.plan
    if extent is MATRIX:
        return array([run.rows.get((i, j), 0.0) for i in range(plan.nv) for j in range(plan.nv)]).reshape(
            plan.nv, plan.nv
        )
    shape = output_shape(extent, plan)
    result = np.zeros(shape, dtype=object)
    for i in run.bodies:
        kind = plan.kind[i]
        if kind is not None and kind.is_particle and not hasattr(run.records[i], name):
            continue
        value = getattr(run.records[i], name)
        v = slice(plan.v_start[i], plan.v_start[i] + plan.v_size[i])
        if extent is POSITION:
            result[plan.q_start[i] : plan.q_start[i] + plan.q_size[i]] = value
        elif extent is VELOCITY:
            result[v] = value
        elif extent is ROWS:
            result[v, :] = value
        elif extent is COLUMNS:
            result[:, v] = value.array
        else:
            result[i] = flatten(value)[0]
    return array(list(result.ravel())).reshape(shape)
