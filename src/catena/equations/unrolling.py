"""Unrolling: an algorithm's own steps run on symbols over a whole mechanism.

`unroll` plays the steps that are compiled elsewhere on plain records that hold CasADi symbols, and so turns any
algorithm on any plan into expressions of its inputs and of the parameters asked for. With `calls` it also notes which
call of a step made which expression, so that costs can be told for each body and step.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from catena.equations.parameters import SymbolicPlan
from catena.equations.quick_symbols import quick_symbols
from catena.forces import PlacedForce
from catena.kernels import POSITION, VELOCITY, Algorithm, Entry, OnCall, Schedule, Sweep
from catena.kernels.constants import mobility_scale
from catena.kernels.fields import flatten
from catena.kernels.plain import PlainRun, outputs_of, run_steps
from catena.kernels.sharing import shared_outputs, spread_inputs
from catena.spatial import Pose
from catena.spatial.scalars import array, is_symbolic
from catena.structure.plan import Loop


@dataclass(frozen=True)
class UnrolledCall:
    """One call of a step: its name, the name of the algorithm's sweep it belongs to, the owner's node (-1 for none)
    and the owner as a reader knows it."""

    step: str
    owner: int
    who: str


@dataclass(frozen=True)
class Played:
    """An algorithm that was played: which inputs were absent, and at which frame."""

    algorithm: Algorithm
    absent: frozenset[str]
    frame: str | None


@dataclass(frozen=True, eq=False)
class Unrolled:
    """An algorithm over a whole mechanism as expressions.

    `inputs` and `parameters` map names to arrays of CasADi symbols, `outputs` names to arrays of expressions (or of
    numbers where nothing depends on a symbol) in the shapes that the running code has for one state. `calls` are the
    calls of steps in order, and `made` the expressions that each of them made first. `played` are the algorithms.
    """

    name: str
    inputs: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    calls: tuple[UnrolledCall, ...] = ()
    made: tuple[list[Any], ...] = ()
    played: tuple[Played, ...] = ()

    def only(self, outputs: Collection[str]) -> "Unrolled":
        """Return the same with these outputs only, so that what others need is not counted."""
        return replace(self, outputs={name: self.outputs[name] for name in outputs})


def unroll(
    algorithm: Algorithm,
    plan: SymbolicPlan,
    known: Collection[str] | Mapping[str, np.ndarray],
    frame: str | None = None,
    calls: bool = False,
    forces: Sequence[PlacedForce] = (),
) -> Unrolled:
    """Return the outputs of an algorithm on a plan as expressions of the inputs in `known`; the others are absent
    (zero).

    `known` are names of inputs as the algorithm has them ("q", "qd", "tau", "qdd", "f_ext", "a_base"), or a mapping of
    them to symbols that exist already. `frame` is the frame asked for. With `calls` the calls of steps are noted.
    `forces` are what steps of forces are done for.
    """
    inputs = dict(known) if isinstance(known, Mapping) else symbols_for(algorithm, plan, known)
    run = _Recording if calls else _SymbolicRun
    place = plan.plan.body_pose[frame] if frame is not None else None
    shared = plan.plan.owner is not None
    with quick_symbols():
        wide = replace(plan, plan=plan.plan.spread) if shared else plan
        given_inputs = spread_inputs(algorithm, plan.plan, inputs) if shared else inputs
        played = run(algorithm, wide, given_inputs, place, forces)
        run_steps(played)
        played.algorithm = algorithm
        outputs = outputs_of(played)
        if shared:
            outputs = shared_outputs(algorithm, plan.plan, outputs)
    noted = (tuple(played.calls), tuple(played.made)) if isinstance(played, _Recording) else ((), ())
    absent = frozenset({*algorithm.inputs, *algorithm.ground_inputs} - inputs.keys())
    played_once = (Played(algorithm, absent, frame),)
    return Unrolled(algorithm.name, inputs, plan.symbols, outputs, *noted, played_once)


def symbols_for(algorithm: Algorithm, plan: SymbolicPlan, names: Collection[str]) -> dict[str, np.ndarray]:
    """New symbols for inputs of an algorithm, {name: (n,)}."""
    return {name: new_symbols(name, input_size(algorithm, plan, name)) for name in names}


def new_symbols(name: str, size: int) -> np.ndarray:
    """Return an array (size,) of new symbols."""
    import casadi

    return array([casadi.SX.sym(f"{name}_{k}") for k in range(size)])


def input_size(algorithm: Algorithm, plan: SymbolicPlan, name: str) -> int:
    """Return how many numbers an input of an algorithm has for one state."""
    if name in algorithm.ground_inputs:
        return int(algorithm.ground_inputs[name].size)
    extent = algorithm.inputs[name]
    if extent is POSITION:
        return plan.plan.nq
    return plan.plan.nv if extent is VELOCITY else plan.plan.n * int(extent.size)


class _SymbolicRun(PlainRun):
    """Plain records that hold symbols."""

    def __init__(
        self,
        algorithm: Algorithm,
        plan: SymbolicPlan,
        inputs: Mapping[str, Any],
        frame: tuple[int, Pose] | None,
        forces: Sequence[PlacedForce] = (),
    ) -> None:
        self._values = plan.values
        super().__init__(algorithm, plan.plan, plan.plan.gravity, inputs, frame, forces)

    def mobility(self, loop: Loop | None = None) -> np.ndarray:
        """Return what a usual body yields, or one that a loop holds; a scale, so numbers serve where masses are
        symbols."""
        return np.array(mobility_scale(self._values, loop))


@dataclass
class _UnrolledStep:
    """A step that tells a run about its calls."""

    run: "_Recording"
    step: Any
    __wrapped__: Any = field(init=False)

    def __post_init__(self) -> None:
        self.__wrapped__ = self.step

    def __call__(self, *records: Any) -> None:
        self.step(*records)
        self.run.note(self.step.__name__, records)


class _Recording(_SymbolicRun):
    """A run that notes what each call of a step makes."""

    def __init__(self, algorithm: Algorithm, *arguments: Any) -> None:
        self.calls: list[UnrolledCall] = []
        self.made: list[list[Any]] = []
        self._seen: dict[int, Any] = {}
        noted = replace(algorithm, sweeps=tuple(self._noted(s) for s in algorithm.sweeps))
        super().__init__(noted, *arguments)
        self._nodes = {id(record): i for i, record in enumerate(self.records)}

    def _noted(self, sweep: Sweep) -> Sweep:
        # Steps on call are noted when a schedule calls them.
        return (
            sweep
            if isinstance(sweep, (Schedule, OnCall))
            else replace(sweep, step=_UnrolledStep(self, sweep.step))
        )

    def call(self, entry: Entry) -> None:
        super().call(entry)
        self.note(entry.sweep.step.__name__, entry.places)

    def note(self, step: str, records: Any) -> None:
        """Keep the expressions in these records that were in none before."""
        new: list[Any] = []
        for record in records:
            for value in vars(getattr(record, "_record", record)).values():
                if isinstance(value, np.ndarray) or hasattr(value, "entries") or is_symbolic(value):
                    self._collect(flatten(value)[0], new)
        owner = self._nodes.get(id(records[0]), -1)
        who = (
            "/".join(self.plan.bodies[owner])
            if owner > 0
            else "ground"
            if owner == 0
            else self._loop_of(records[0])
        )
        self.calls.append(UnrolledCall(step, owner, who))
        self.made.append(new)

    def _collect(self, entries: list[Any], new: list[Any]) -> None:
        for entry in entries:
            if is_symbolic(entry) and not entry.is_constant() and entry.element_hash() not in self._seen:
                # The expression is kept, so that its address is not given to another one.
                self._seen[entry.element_hash()] = entry
                new.append(entry)

    def _loop_of(self, record: Any) -> str:
        for k, loop in enumerate(self.plan.loop_joints):
            if self.places.multiplier(k) is record:
                return f"loop {loop.name}"
        for force, own in zip(self.forces, self.force_records, strict=True):
            if own is record:
                return f"force {force.name}"
        return "frame"
