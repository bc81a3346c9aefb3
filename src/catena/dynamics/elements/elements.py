"""The springs, stops, wrenches and other forces of a mechanism on one plan of it: placed once, and asked for everything
through one algorithm.

At joints of the tree they are joint forces. At joints that close loops they are pairs of wrenches on the two bodies, as
forces between frames are. Locked and welded joints have no forces and no stops.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics.elements.element_force import element_force
from catena.dynamics.elements.force_report import force_report
from catena.dynamics.elements.force_sweeps import GIVEN
from catena.dynamics.elements.placed_forces import (
    Stops,
    applied_wrench,
    at_joint,
    joint_stops,
    place_forces,
    place_frictions,
    stretches,
)
from catena.dynamics.loops.closing import loop_closure
from catena.dynamics.loops.closing.counted_constraints import CountedConstraints
from catena.dynamics.loops.felt_inertia import felt_inertia
from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.loops.problem import LoopProblem
from catena.errors import CatenaError
from catena.forces import AppliedJointForce, AtJoint, PlacedForce, Relative, Watch
from catena.forces.placed import LOOP, TREE
from catena.kernels import NEAR
from catena.kinematics import body_twists, stacks
from catena.kinematics.loops.closure import loop_state
from catena.mechanism import GROUND, LIMITS
from catena.mechanism.validation import known
from catena.spatial import Motion, Transform

# What follows the name of a joint that is watched, and of one with a motor.
WATCHED, MOTOR = ".watched", ".motor"
# Positions (states, nq of the joint) that loop joints are near, by joint.
Near = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class ElementForces:
    """What springs, stops and wrenches do: joint forces `tau` (..., nv), and `f_ext`, wrenches [moment; force] (..., 6)
    on bodies, or on places of flexible ones, in their own axes at their origins. Both can be given to
    `forward_dynamics`. Forces at joints that close loops are pairs of wrenches in there; `at_loops` tells them as joint
    forces (..., nv of the joint), by joint, and `between` the wrenches without them."""

    tau: np.ndarray
    f_ext: Mapping[str, np.ndarray]
    at_loops: Mapping[str, np.ndarray] = field(default_factory=dict)
    between: Mapping[str, np.ndarray] = field(default_factory=dict)

    def reshaped(self, batch: tuple[int, ...]) -> "ElementForces":
        """Return the same for states (states, ...) in another shape of their batch."""

        def each(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: x.reshape(*batch, x.shape[-1]) for name, x in found.items()}

        tau = self.tau.reshape(*batch, self.tau.shape[-1])
        return ElementForces(tau, each(self.f_ext), each(self.at_loops), each(self.between))


@dataclass(frozen=True, eq=False)
class ForceReport:
    """What every force does at some states, by its name: `tau` (states, nv of its joint) at joints, wrenches `on_a` and
    `on_b` (states, 6) on nodes where it is at no joint of the tree, `energy`, `power` and `spent` power (states,), and
    the `outputs` of its kind."""

    tau: dict[str, np.ndarray]
    on_a: dict[str, np.ndarray]
    on_b: dict[str, np.ndarray]
    energy: dict[str, np.ndarray]
    power: dict[str, np.ndarray]
    spent: dict[str, np.ndarray]
    outputs: dict[str, dict[str, np.ndarray]]


class Elements:
    """The forces of a mechanism on one plan. Whatever is expensive is found when first asked for."""

    def __init__(self, counted: CountedConstraints) -> None:
        # Elements act at joints as described; how these move is for the plan that is computed with to say.
        self._evaluator, self._counted = counted.described, counted
        self._from_nodes: dict[str, np.ndarray] = {}
        self._applied: dict[tuple[str, str], PlacedForce] = {}
        self._names: dict[PlacedForce, list[str]] = {}
        self._watched: dict[str, tuple[PlacedForce, ...]] = {}
        self._motors: dict[str, tuple[PlacedForce, ...]] = {}

    def for_states(self, counted: CountedConstraints) -> "Elements":
        """Return the same forces on the same plan with numbers that differ from state to state, as what runs algorithms
        in `counted` has them."""
        places = {
            "stops": self.stops,
            "placed": self.placed,
            "frictions": self.frictions,
            "_bodies": self._bodies,
        }
        other = Elements(counted)
        other._applied, other._names = self._applied, self._names
        other._watched, other._motors = self._watched, self._motors
        vars(other).update(places)
        return other

    @cached_property
    def stops(self) -> dict[str, Stops]:
        """Return the stops of all joints that have them. Rigid ones take their stiffness from the inertia that the
        joint feels where the mechanism starts, or in the neutral configuration if that cannot be assembled; it does
        not depend on root and cut of the plan."""
        return joint_stops(self._evaluator.mechanism, self._felt_inertia)

    @cached_property
    def placed(self) -> tuple[PlacedForce, ...]:
        """Return all forces, as algorithms with force sweeps take them."""
        return place_forces(self._evaluator.mechanism, self._evaluator.plan, self.stops)

    @cached_property
    def by_site(self) -> tuple[tuple[PlacedForce, ...], tuple[PlacedForce, ...]]:
        """Return the forces at joints of the tree, and all others."""
        at_tree = tuple(force for force in self.placed if force.site == TREE)
        return at_tree, tuple(force for force in self.placed if force.site != TREE)

    @property
    def stored(self) -> tuple[PlacedForce, ...]:
        """Return the forces that store energy, which at rest are what they store by the way."""
        return tuple(force for force in self.placed if force.kind.stores)

    @cached_property
    def frictions(self) -> tuple[PlacedForce, ...]:
        """Return the friction of all joints, which the dynamics applies by itself, as forces that are only
        counted."""
        return place_frictions(self._evaluator.plan)

    def applied(self, frame: str, axes: str = GROUND) -> PlacedForce:
        """Return a wrench on a frame, in the axes of a frame, that is told from outside at every instant."""
        if (frame, axes) not in self._applied:
            plan, who = self._evaluator.plan, repr(self._evaluator.mechanism.name)
            for name in (frame, axes):
                known("body or frame", name, plan.body_pose, who)
            self._applied[frame, axes] = applied_wrench(self._evaluator.plan, frame, axes)
        return self._applied[frame, axes]

    @cached_property
    def is_compiled(self) -> bool:
        """Return whether there are formulas for all forces: joints that close loops must find their coordinates by
        one."""
        return all(force.is_compiled for force in self.placed)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing acts at all."""
        return not self.placed

    def watch(self, joint: str) -> tuple[PlacedForce, ...]:
        """Return what counts the turns of a joint that somebody looks at; nothing where the joint has none to count."""
        if joint not in self._watched:
            watch = at_joint(self._evaluator.plan, joint + WATCHED, Watch(), joint)
            counted = (replace(force, acts=False) for force in watch if force.counts and force.is_compiled)
            self._watched[joint] = tuple(counted)
        return self._watched[joint]

    def motor(self, joint: str) -> tuple[PlacedForce, ...]:
        """Return a force at a joint that closes a loop which is told from outside at every instant."""
        if joint not in self._motors:
            loop = next(loop for loop in self._evaluator.plan.loop_joints if loop.name == joint)
            kind = AppliedJointForce(loop.kind.nv)
            self._motors[joint] = tuple(at_joint(self._evaluator.plan, joint + MOTOR, kind, joint))
        return self._motors[joint]

    def near_rows(self, forces: Sequence[PlacedForce], q: np.ndarray, near: Near | None) -> np.ndarray | None:
        """Return the positions (states, n) that the joints of those forces are near which count turns, force after
        force, at q (states, nq): those that are given by joint, and within half a turn of zero where none are. None
        where nothing is counted."""
        counted = [force for force in forces if force.counts]
        if not near or not counted:
            return None
        columns = []
        for force in counted:
            if force.at in near:
                columns.append(np.asarray(near[force.at], dtype=np.float64))
            else:
                columns.append(loop_state(self._evaluator, force.at, q).q)
        return np.concatenate([np.broadcast_to(x, (len(q), x.shape[-1])) for x in columns], axis=-1)

    def report(
        self,
        q: np.ndarray,
        v: np.ndarray,
        forces: tuple[PlacedForce, ...] | None = None,
        near: Near | None = None,
    ) -> ForceReport:
        """Return what every force, or every one of these, does at q (states, nq) and v (states, nv). Angles of loop
        joints are those next to the positions `near` (states, nq of the joint), where some are given by joint."""
        forces = self.placed if forces is None else forces
        found: dict[str, np.ndarray] = {}
        if forces:
            inputs = {"q": q, "qd": v}
            rows = self.near_rows(forces, q, near)
            inputs |= {} if rows is None else {NEAR: rows}
            found = self._evaluator.evaluate(force_report, inputs, forces=forces)

        def by_force(name: str, sizes: list[int]) -> dict[str, np.ndarray]:
            ends = np.cumsum(sizes, dtype=np.int64)
            parts = zip(forces, sizes, ends, strict=True)
            return {f.name: found[name][:, end - n : end] for f, n, end in parts if n}

        def summed(name: str) -> dict[str, np.ndarray]:
            """Numbers by force, with the stretches of a line put together."""
            total: dict[str, np.ndarray] = {}
            for k, force in enumerate(forces):
                own = found[name][:, k]
                total[force.whole] = total[force.whole] + own if force.whole in total else own
            return total

        wrenches = [0 if f.site == TREE else 6 for f in forces]
        names = [self.output_names(f) for f in forces]
        outputs = by_force("outputs", [len(n) for n in names])
        return ForceReport(
            tau=by_force("tau", [0 if f.joint is None else f.joint.nv for f in forces]),
            on_a=by_force("on_a", wrenches), on_b=by_force("on_b", wrenches),
            **{name: summed(name) for name in ("energy", "power", "spent")},
            outputs={
                f.name: {n: outputs[f.name][:, k] for k, n in enumerate(own)}
                for f, own in zip(forces, names, strict=True)
            },
        )  # fmt: skip

    def at_joints(
        self, q: Any, v: Any, forces: tuple[PlacedForce, ...] | None = None, near: Near | None = None
    ) -> np.ndarray:
        """Return the forces (..., nv) of the tree's joints that move the mechanism at q (..., nq) and v (..., nv) as
        all its forces do, or as these do. For states (states, nq) and (states, nv) loop joints may be next to positions
        `near` (states, nq of the joint)."""
        forces = self.placed if forces is None else forces
        rows = self.near_rows(forces, q, near)
        inputs = {"q": q, "qd": v} if rows is None else {"q": q, "qd": v, NEAR: rows}
        return self._evaluator.evaluate(element_force, inputs, forces=forces)["load"]

    @cached_property
    def shortest(self) -> Callable[..., np.ndarray | None]:
        """Return a function of q (nq,) and v (nv,) that finds `at_joints` of one ordinary state the shortest way, and
        declines (None) all else."""
        if not self.is_compiled:
            return lambda *rows: None
        return self._evaluator.shortest(element_force, frozenset({*GIVEN, NEAR}), forces=self.placed)

    def forces(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return all forces at q (states, nq) and v (states, nv): of joints (states, nv), and by body, or by place of a
        flexible one, (states, 6), in its own axes at its origin, nothing for ground."""
        found = self.element_forces(q, v)
        return found.tau, dict(found.f_ext)

    def element_forces(self, q: np.ndarray, v: np.ndarray, near: Near | None = None) -> ElementForces:
        """Return all forces at q (states, nq) and v (states, nv), where loop joints are next to the positions `near`
        (states, nq of the joint) as far as these are given."""
        plan = self._evaluator.plan
        tau = np.zeros((len(q), plan.nv))
        between: dict[str, np.ndarray] = {}
        across: dict[str, np.ndarray] = {}
        at_loops: dict[str, np.ndarray] = {}
        report = self.report(q, v, near=near)
        for force in self.placed:
            if force.site == TREE:
                own = plan.v_of(force.b)
                tau[:, own] += report.tau[force.name]
                continue
            if force.site == LOOP:
                at_loops[force.at] = at_loops.get(force.at, 0.0) + report.tau[force.name]
            f_ext = across if force.site == LOOP else between
            ends = zip(self._bodies[force.name], (report.on_a, report.on_b), strict=True)
            for body, wrenches in ends:
                if body is not None and body != GROUND:
                    there = stacks.apply(stacks.transposed(self._from_node(body)), wrenches[force.name])
                    f_ext[body] = f_ext[body] + there if body in f_ext else there
        both = {**between, **across}
        for name in between.keys() & across.keys():
            both[name] = between[name] + across[name]
        return ElementForces(tau, both, at_loops, between)

    @cached_property
    def _bodies(self) -> dict[str, tuple[str | None, str]]:
        """Return the bodies that each force acts on at its two ends, the frames or places where these are flexible;
        None where nothing acts."""
        mechanism = self._evaluator.mechanism
        joints = (self._evaluator.plan.parts or mechanism).joints
        limits = {name + LIMITS: (joints[name].parent, joints[name].child) for name in mechanism.joints}
        found: dict[str, tuple[str | None, str]] = dict(limits)
        for name, element in mechanism.force_elements.items():
            if element.frames is None:
                joint = joints[str(element.at_joint)]
                found[name] = joint.parent, joint.child
                continue
            for force, _, (a, b) in stretches(self._evaluator.plan, name, element.kind, element.frames):
                reacts = getattr(element.kind, "reacts", True)
                found[force] = (self._carrier(a) if reacts else None), self._carrier(b)
        return found

    def _carrier(self, frame: str) -> str:
        """Return the body of a frame, or the frame itself on a flexible body, where it moves with its place."""
        mechanism = self._evaluator.mechanism
        body = mechanism.frames[frame].body if frame in mechanism.frames else frame
        return body if mechanism.bodies[body].flexible is None else frame

    def _from_node(self, body: str) -> np.ndarray:
        """Return the matrix (6, 6) that takes motions from a body to its node, and so forces, as rows, the other
        way; (states, 6, 6) where places differ from state to state."""
        if body not in self._from_nodes:
            by_state = self._evaluator.by_state
            if by_state is None:
                there = stacks.to_frame(self._evaluator.plan.body_pose[body][1])
            else:
                R, p = by_state.place(body)
                there = stacks.motion_matrices(np.broadcast_to(R.T, (*p.shape[:-1], 3, 3)), p)
            self._from_nodes[body] = stacks.inverse(there)
        return self._from_nodes[body]

    def energy(self, q: np.ndarray, near: Near | None = None) -> np.ndarray:
        """Return what forces store at q (states, nq), (states,)."""
        if self.is_empty:
            return np.zeros(len(q))
        rest = np.zeros((len(q), self._evaluator.plan.nv))
        return sum(self.report(q, rest, near=near).energy.values(), np.zeros(len(q)))

    def powers(self, q: np.ndarray, v: np.ndarray, near: Near | None = None) -> dict[str, np.ndarray]:
        """Return the power (states,) that no stored energy accounts for, by source; friction of joints included."""
        found: dict[str, np.ndarray] = {}
        spending = tuple(f for f in (*self.placed, *self.frictions) if f.kind.spends)
        spent = self.report(q, v, spending, near).spent
        for name, source in {force.whole: force.kind.source for force in spending}.items():
            found[source] = found.get(source, np.zeros(len(q))) + spent[name]
        return found

    def power_against(self, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the power (states,) along velocities w (states, nv) of all friction, of joints too, and of what else
        resists, at q (states, nq) and velocities v (states, nv)."""
        plan, total = self._evaluator.plan, np.zeros(len(q))
        spending = (f for f in (*self.placed, *self.frictions) if f.kind.spends)
        resisting = tuple(f for f in spending if f.kind.source == "friction")
        if not resisting:
            return total
        at, still = self.report(q, v, resisting), self.report(q, 0.0 * v, resisting)
        twist = self._evaluator.evaluate(body_twists, {"q": q, "qd": w})["v"]
        for force in resisting:
            if force.site == TREE:
                own = plan.v_of(force.b)
                total += np.sum((at.tau[force.name] - still.tau[force.name]) * w[:, own], axis=1)
                continue
            ends = ((force.a, at.on_a, still.on_a), (force.b, at.on_b, still.on_b))
            for node, wrench, resting in (end for end in ends if end[0]):
                total += np.sum((wrench[force.name] - resting[force.name]) * twist[:, node], axis=1)
        return total

    def output_names(self, force: PlacedForce) -> list[str]:
        """Return what the kind of a force records, asked once at some state."""
        if force not in self._names:
            inputs, joint = np.zeros(force.kind.inputs), force.joint
            kind: Any = force.kind
            at: Any = Relative(Transform.translation([1.0, 0.0, 0.0]), Motion.zero(), inputs)
            if joint is not None:
                at = AtJoint(joint, joint.neutral(), np.zeros(joint.nv), inputs)
            self._names[force] = list(kind.outputs(at))
        return self._names[force]

    def _felt_inertia(self, joint: str) -> np.ndarray:
        return felt_inertia(self._start, joint)

    @cached_property
    def _start(self) -> LoopProblem:
        """Return where the mechanism starts, at rest. What is not given closes the loops by the least change of a
        plan's coordinates, so it is always found in the mechanism's own plan, whatever was cut in this one."""
        counted = self._counted.in_own_plan()
        own, neutral = counted.effective, counted.neutral
        initial = own.mechanism.initial.q
        moved = {name: x for name, x in initial.items() if name in own.plan.joint}
        if len(moved) == len(own.plan.joints):
            # A state of all joints that leaves loops a little open, as keyframes do, is near enough for sizes.
            return motion_problem(own, loop_closure.put(own, neutral, moved))
        try:
            q = loop_closure.assemble(own, initial, neutral, 1e-5)
        except CatenaError:
            q = neutral
        return motion_problem(own, q)
