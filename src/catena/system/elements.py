"""The springs, stops and wrenches of a mechanism as forces on one plan of it.

At joints of the tree they are joint forces, in compiled lanes. At joints that close loops they are pairs of wrenches on
the two bodies, as springs between points are; everything that acts on bodies is computed in NumPy for all states at
once. Locked and welded joints have no springs and no stops.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from catena.dynamics.closed.felt_inertia import felt_inertia
from catena.dynamics.closed.motion_problem import motion_problem
from catena.dynamics.closed.problem import LoopProblem
from catena.dynamics.joint_elements import (
    joint_element_inputs,
    joint_elements,
    merged_springs,
    springs_at,
)
from catena.dynamics.point_forces import ConstantWrenches, PointSprings, standing
from catena.dynamics.stacked_elements import StackedElements
from catena.dynamics.stops import Stops, joint_stops
from catena.errors import CatenaError
from catena.kinematics import stacks
from catena.kinematics.closure import LoopState, loop_kinematics
from catena.mechanism import GROUND
from catena.structure import Plan
from catena.system import closing
from catena.system.evaluation import Evaluator


@dataclass(frozen=True, eq=False)
class ElementForces:
    """What springs, stops and wrenches do: joint forces `tau` (..., nv), and `f_ext`, wrenches [moment; force] (..., 6)
    on bodies in their own axes at their origins. Both can be given to `forward_dynamics`."""

    tau: np.ndarray
    f_ext: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class OnBodies:
    """Wrenches (states, m, 6) on bodies by name, one or more each, on the nodes that carry them."""

    bodies: list[str] = field(default_factory=list)
    wrenches: list[np.ndarray] = field(default_factory=list)


class Elements:
    """Springs, stops and wrenches of a mechanism on one plan. Whatever is expensive is found when first asked for."""

    def __init__(self, evaluator: Evaluator, neutral: np.ndarray) -> None:
        self._evaluator, self._neutral = evaluator, neutral
        mechanism, plan = evaluator.mechanism, evaluator.plan
        self._to_node: dict[str, np.ndarray] = {}
        self._points, self._wrenches = PointSprings(mechanism, plan), ConstantWrenches(mechanism, plan)

    @cached_property
    def stops(self) -> dict[str, Stops]:
        """The stops of all joints that have them. Rigid ones take their stiffness from the inertia that the joint feels
        where the mechanism starts, or in the neutral configuration if that cannot be assembled."""
        return joint_stops(self._evaluator.mechanism, self._felt_inertia)

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """What the joints of the tree have, as inputs of `joint_elements` and of whatever algorithm uses
        `element_force`; empty if there is nothing."""
        return joint_element_inputs(self._evaluator.mechanism, self._evaluator.plan, self.stops)

    @property
    def is_compiled(self) -> bool:
        """Whether `inputs` say everything: nothing acts but at joints of the tree."""
        return not (self._loops or self._unmerged or self._points.bodies or self._wrenches.bodies)

    @property
    def is_empty(self) -> bool:
        """Whether nothing acts at all."""
        return self.is_compiled and not self.inputs

    def forces(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, OnBodies]:
        """All forces at q (states, nq) and v (states, nv): of joints (states, nv), and on bodies."""
        tau, on_bodies = self.forces_besides(q, v)
        if self.inputs:
            rows = self._evaluator.evaluate(joint_elements, {"q": q, "qd": v, **self.inputs})
            tau = tau + rows["tau_elements"]
        return tau, on_bodies

    def forces_besides(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, OnBodies]:
        """The forces that `inputs` say nothing of."""
        plan = self._evaluator.plan
        tau = np.zeros((len(q), plan.nv))
        for i, elements in self._unmerged.items():
            tau[:, _v(plan, i)] += elements.force(q[:, _q(plan, i)], v[:, _v(plan, i)])
        result = OnBodies()
        if self._points.bodies or self._wrenches.bodies:
            at = standing(self._evaluator, q, v)
            for source in (self._points, self._wrenches):
                result.bodies.extend(source.bodies)
                result.wrenches.extend(np.moveaxis(source.wrenches(at), 1, 0))
        joints = self._evaluator.mechanism.joints
        for state, elements in self._loop_states(q, v):
            force = elements.force(state.q, state.v)
            # The wrench with S^T f = force and nothing along the constraints, which would take it up anyway.
            wrench = stacks.apply(stacks.transposed(np.linalg.pinv(state.S, rcond=1e-10)), force)
            loop = state.loop
            on_child, on_parent = (
                stacks.to_frame(loop.child_pose),
                state.X @ stacks.to_frame(loop.parent_pose),
            )
            result.bodies.extend([joints[loop.name].child, joints[loop.name].parent])
            result.wrenches.append(wrench @ on_child)
            result.wrenches.append(-stacks.apply(stacks.transposed(on_parent), wrench))
        return tau, result

    def on_nodes(self, on_bodies: OnBodies) -> np.ndarray | None:
        """Wrenches (states, 6 n) on all nodes, as algorithms take them; None if there are none."""
        plan = self._evaluator.plan
        if not on_bodies.bodies:
            return None
        total = np.zeros((len(on_bodies.wrenches[0]), plan.n, 6))
        for body, wrench in zip(on_bodies.bodies, on_bodies.wrenches, strict=True):
            total[:, plan.body_node[body]] += wrench
        return total.reshape(len(total), -1)

    def by_body(self, on_bodies: OnBodies) -> dict[str, np.ndarray]:
        """Wrenches (states, 6) by body, in its own axes at its origin; nothing for ground."""
        result: dict[str, np.ndarray] = {}
        for body, wrench in zip(on_bodies.bodies, on_bodies.wrenches, strict=True):
            if body != GROUND:
                if body not in self._to_node:
                    self._to_node[body] = stacks.inverse(
                        stacks.to_frame(self._evaluator.plan.body_pose[body][1])
                    )
                # Transposed, what takes motions to the node takes forces to the body.
                own = wrench @ self._to_node[body]
                result[body] = result[body] + own if body in result else own
        return result

    def energy(self, q: np.ndarray) -> np.ndarray:
        """What springs and stops store at q (states, nq), (states,)."""
        plan = self._evaluator.plan
        total = np.zeros(len(q))
        for i, elements in self._tree.items():
            total += elements.energy(q[:, _q(plan, i)])
        for state, elements in self._loop_states(q, None):
            total += elements.energy(state.q)
        if self._points.bodies:
            total += self._points.energy(standing(self._evaluator, q, None))
        return total

    @cached_property
    def _tree(self) -> dict[int, StackedElements]:
        """Everything at joints of the tree, by node."""
        mechanism, plan = self._evaluator.mechanism, self._evaluator.plan
        nodes = ((i, plan.kind[i], plan.joint[i]) for i in range(1, plan.n))
        found = {
            i: StackedElements(kind, springs_at(mechanism, name), self.stops.get(name))
            for i, kind, name in nodes
            if kind is not None
        }
        return {i: elements for i, elements in found.items() if elements}

    @cached_property
    def _unmerged(self) -> dict[int, StackedElements]:
        """The springs at joints of the tree that `inputs` say nothing of, by node; dampers always merge."""
        mechanism, plan = self._evaluator.mechanism, self._evaluator.plan
        found = {}
        for i in range(1, plan.n):
            kind = plan.kind[i]
            assert kind is not None
            others = merged_springs(mechanism, plan.joint[i], kind).others
            if others:
                found[i] = StackedElements(kind, others, None, damped=False)
        return found

    @cached_property
    def _loops(self) -> dict[str, StackedElements]:
        """Everything at joints that close loops, by name."""
        mechanism = self._evaluator.mechanism
        found = {
            loop.name: StackedElements(loop.kind, springs_at(mechanism, loop.name), self.stops.get(loop.name))
            for loop in self._evaluator.plan.loop_joints
            if loop.kind.nv
        }
        return {name: elements for name, elements in found.items() if elements}

    def _loop_states(
        self, q: np.ndarray, v: np.ndarray | None
    ) -> Iterator[tuple[LoopState, StackedElements]]:
        if self._loops:
            for state in loop_kinematics(self._evaluator, q, v):
                if state.name in self._loops:
                    yield state, self._loops[state.name]

    def _felt_inertia(self, joint: str) -> np.ndarray:
        return felt_inertia(self._start, joint)

    @cached_property
    def _start(self) -> LoopProblem:
        try:
            q = closing.assemble(self._evaluator, self._evaluator.mechanism.initial.q, self._neutral, 1e-5)
        except CatenaError:
            q = self._neutral
        return motion_problem(self._evaluator, q)


def _q(plan: Plan, i: int) -> slice:
    return slice(int(plan.q_start[i]), int(plan.q_start[i] + plan.q_size[i]))


def _v(plan: Plan, i: int) -> slice:
    return slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
