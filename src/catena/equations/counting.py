"""Operations of an algorithm for a mechanism: as the general code does them, and after folding.

The general code is the tape that is played: every call of a step costs what the step costs for the joint kind, whatever
the numbers of the mechanism are. Folding leaves out what they make superfluous, and shares what calls have in common.
Sign changes are free, a square is a multiplication, doubling is an addition, and a reciprocal is a division.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from catena.equations.building import graph_of
from catena.equations.graph import CONSTANT, INPUT, ExpressionGraph
from catena.equations.unrolling import Played
from catena.joints import JointKind
from catena.kernels import Constants, build_tape, target
from catena.kernels.code import CompiledUnit, unit_for
from catena.kernels.constants import constant_parts
from catena.kernels.traced_records import TracedStep
from catena.kernels.tracing import (
    Traced,
    trace_frame,
    trace_ground,
    trace_kind,
    trace_loop,
    trace_multiplier,
)
from catena.structure import Plan


@dataclass(frozen=True)
class OperationCount:
    """Numbers of operations. `sines` are sines and cosines, `others` comparisons, magnitudes and all other
    functions."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    roots: int = 0
    sines: int = 0
    others: int = 0

    def __add__(self, other: "OperationCount") -> "OperationCount":
        return OperationCount(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: int) -> "OperationCount":
        return OperationCount(*(getattr(self, f.name) * times for f in fields(self)))

    @property
    def M(self) -> int:
        """Multiplications as the papers count them, divisions and roots included."""
        return self.multiplications + self.divisions + self.roots

    @property
    def A(self) -> int:
        """Additions and subtractions."""
        return self.additions

    @property
    def total(self) -> int:
        """All operations."""
        return sum(getattr(self, f.name) for f in fields(self))


_SORT = {
    "mul": "multiplications", "add": "additions", "sub": "additions", "div": "divisions", "inv": "divisions",
    "sqrt": "roots", "sin": "sines", "cos": "sines",
}  # fmt: skip
FREE = frozenset({CONSTANT, INPUT, "neg"})


def count_operations(operations: Iterable[str]) -> OperationCount:
    """Return how many operations of each sort there are among operations by name."""
    found = {f.name: 0 for f in fields(OperationCount)}
    for op in operations:
        if op not in FREE:
            found[_SORT.get(op, "others")] += 1
    return OperationCount(**found)


@dataclass(frozen=True, eq=False)
class Counts:
    """The operations of equations: in the general code and after folding, in all, by body (or loop), and by step."""

    name: str
    general: OperationCount
    folded: OperationCount
    general_by_body: Mapping[str, OperationCount]
    folded_by_body: Mapping[str, OperationCount]
    folded_by_step: Mapping[str, OperationCount] = field(default_factory=dict)

    def __str__(self) -> str:
        heads = [f.name for f in fields(OperationCount)] + ["total"]
        width = max(
            len(w) for w in (*self.general_by_body, *self.folded_by_body, "after folding", "general code")
        )
        lines = [f"{self.name}: operations", " " * width + "".join(f"{h:>16}" for h in heads)]

        def row(who: str, count: OperationCount) -> str:
            return f"{who:<{width}}" + "".join(f"{getattr(count, h):>16}" for h in heads)

        lines += [
            row("general code", self.general),
            row("after folding", self.folded),
            "after folding, by body:",
        ]
        lines += [row(who, count) for who, count in self.folded_by_body.items()]
        return "\n".join(lines)


def count_graph(
    graph: ExpressionGraph,
) -> tuple[OperationCount, dict[str, OperationCount], dict[str, OperationCount]]:
    """Return the operations of a graph in all, by body, and by step."""
    bodies: dict[str, list[str]] = {}
    steps: dict[str, list[str]] = {}
    for k, op in enumerate(graph.op):
        if op not in FREE:
            call = graph.calls[graph.owner[k]] if graph.owner[k] >= 0 else None
            bodies.setdefault(call.who if call else "results", []).append(op)
            steps.setdefault(call.step if call else "results", []).append(op)
    return (
        count_operations(graph.op),
        {who: count_operations(ops) for who, ops in bodies.items()},
        {step: count_operations(ops) for step, ops in steps.items()},
    )


def count_equations(
    name: str, plan: Plan, graph: ExpressionGraph, played: Iterable[Played], outside: OperationCount
) -> Counts:
    """Return the counts of equations that come from these algorithms, and from operations `outside` their steps."""
    general, by_body = outside, {"between algorithms": outside} if outside.total else {}
    for one in played:
        for who, count in count_general(plan, one).items():
            by_body[who] = by_body.get(who, OperationCount()) + count
            general = general + count
    folded, folded_by_body, by_step = count_graph(graph)
    return Counts(name, general, folded, by_body, folded_by_body, by_step)


def count_general(plan: Plan, played: Played) -> dict[str, OperationCount]:
    """Return the operations of an algorithm's tape on a plan, by body, by loop, and for "ground", "multipliers" and
    "frame"."""
    algorithm, absent, lanes = played.algorithm, played.absent, target().lanes
    place = plan.body_pose[played.frame] if played.frame is not None else None
    constants = Constants.of(plan, plan.gravity)
    tape = build_tape(algorithm, plan, constants, absent, place)
    ground = trace_ground(algorithm, absent)
    costs: dict[int, OperationCount] = {}

    def learn(unit: CompiledUnit, traced: Traced) -> None:
        for key, address in unit.steps.items():
            if address not in costs:
                costs[address] = count_step(traced.steps[key])

    learn(unit_for(algorithm, "ground", None, absent, lanes), ground)
    for kind in _distinct(plan.kind):
        learn(unit_for(algorithm, "body", kind, absent, lanes), trace_kind(algorithm, kind, absent, ground))
    if algorithm.is_scheduled:
        for kind in _distinct([loop.kind for loop in plan.loop_joints]):
            learn(unit_for(algorithm, "loop", kind, absent, lanes), trace_loop(algorithm, kind, ground))
        learn(unit_for(algorithm, "multiplier", None, absent, lanes), trace_multiplier(algorithm, ground))
    frame_steps: set[int] = set()
    if played.frame is not None:
        asked = unit_for(algorithm, "frame", None, absent, lanes)
        learn(asked, trace_frame(algorithm, absent, ground))
        frame_steps = set(asked.steps.values())
    owners = {int(start): "/".join(plan.bodies[i]) or "ground" for i, start in enumerate(constants.start)}
    loop_start = constant_parts(plan, constants.values, True, (), None).starts[0]
    owners |= {int(start): f"loop {loop.name}" for start, loop in zip(loop_start, plan.loop_joints)}
    result: dict[str, OperationCount] = {}
    multiplier_steps = (
        set(unit_for(algorithm, "multiplier", None, absent, lanes).steps.values())
        if algorithm.is_scheduled
        else set()
    )
    for address, *_, at in tape.calls.tolist():
        who = "frame" if address in frame_steps else owners[at]
        who = "multipliers" if address in multiplier_steps else who
        result[who] = result.get(who, OperationCount()) + costs[address]
    return result


def count_step(step: TracedStep) -> OperationCount:
    """Return the operations of one traced step, each done once."""
    inputs = {"slots": np.array(list(step.loads.values()), dtype=object)}
    outputs = {"results": np.array(list(step.stores.values()), dtype=object)}
    return count_operations(graph_of("step", inputs, outputs).op)


def _distinct(kinds: Iterable[JointKind | None]) -> list[JointKind]:
    found: dict[Any, JointKind] = {}
    for kind in kinds:
        if kind is not None:
            found.setdefault((type(kind), kind.signature), kind)
    return list(found.values())
