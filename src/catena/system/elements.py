"""The springs, stops and wrenches of a mechanism as forces on one plan of it.

At joints of the tree they are joint forces, in compiled lanes. At joints that close loops they are pairs of wrenches on
the two bodies, as springs between points are; everything that acts on bodies is computed in NumPy for all states at
once. Locked and welded joints have no springs and no stops.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
from catena.dynamics.loop_elements import LoopElements
from catena.dynamics.point_forces import ConstantWrenches, PointSprings, standing
from catena.dynamics.stacked_elements import StackedElements
from catena.dynamics.stops import Stops, joint_stops
from catena.errors import CatenaError
from catena.kinematics import stacks
from catena.mechanism import GROUND
from catena.structure import Plan, plan
from catena.system import closing
from catena.system.evaluation import Evaluator


@dataclass(frozen=True, eq=False)
class ElementForces:
    """What springs, stops and wrenches do: joint forces `tau` (..., nv), and `f_ext`, wrenches [moment; force] (..., 6)
    on bodies in their own axes at their origins. Both can be given to `forward_dynamics`."""

    tau: np.ndarray
    f_ext: Mapping[str, np.ndarray]


class Elements:
    """Springs, stops and wrenches of a mechanism on one plan. Whatever is expensive is found when first asked for."""

    def __init__(self, evaluator: Evaluator, neutral: np.ndarray) -> None:
        self._evaluator, self._neutral = evaluator, neutral
        self._from_nodes: dict[str, np.ndarray] = {}

    @cached_property
    def stops(self) -> dict[str, Stops]:
        """The stops of all joints that have them. Rigid ones take their stiffness from the inertia that the joint feels
        where the mechanism starts, or in the neutral configuration if that cannot be assembled; it does not depend on
        root and cut of the plan."""
        return joint_stops(self._evaluator.mechanism, self._felt_inertia)

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """What the joints of the tree have, as inputs of `joint_elements` and of whatever algorithm uses
        `element_force`; empty if there is nothing."""
        return joint_element_inputs(self._evaluator.mechanism, self._evaluator.plan, self.stops)

    @property
    def is_compiled(self) -> bool:
        """Whether `inputs` say everything: nothing acts but at joints of the tree."""
        return not (self._on_bodies or self._unmerged)

    @property
    def is_empty(self) -> bool:
        """Whether nothing acts at all."""
        return self.is_compiled and not self.inputs

    def forces(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """All forces at q (states, nq) and v (states, nv): of joints (states, nv), and by body (states, 6), in its own
        axes at its origin, nothing for ground."""
        plan = self._evaluator.plan
        tau = np.zeros((len(q), plan.nv))
        if self.inputs:
            rows = self._evaluator.evaluate(joint_elements, {"q": q, "qd": v, **self.inputs})
            tau += rows["tau_elements"]
        for i, elements in self._unmerged.items():
            tau[:, _v(plan, i)] += elements.force(q[:, _q(plan, i)], v[:, _v(plan, i)])
        f_ext: dict[str, np.ndarray] = {}
        if not self._on_bodies:
            return tau, f_ext
        at = standing(self._evaluator, q, v)
        for source in self._on_bodies:
            for body, wrench in zip(source.bodies, np.moveaxis(source.wrenches(at), 1, 0), strict=True):
                if body != GROUND:
                    own = wrench @ self._from_node(body)
                    f_ext[body] = f_ext[body] + own if body in f_ext else own
        return tau, f_ext

    def _from_node(self, body: str) -> np.ndarray:
        """The matrix (6, 6) that takes motions from a body to its node, and so forces, as rows, the other way."""
        if body not in self._from_nodes:
            pose = self._evaluator.plan.body_pose[body][1]
            self._from_nodes[body] = stacks.inverse(stacks.to_frame(pose))
        return self._from_nodes[body]

    def energy(self, q: np.ndarray) -> np.ndarray:
        """What springs and stops store at q (states, nq), (states,)."""
        plan = self._evaluator.plan
        total = np.zeros(len(q))
        for i, elements in self._tree.items():
            total += elements.energy(q[:, _q(plan, i)])
        storing = [source for source in self._on_bodies if not isinstance(source, ConstantWrenches)]
        if storing:
            at = standing(self._evaluator, q, None)
            total += sum(source.energy(at) for source in storing)
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
    def _on_bodies(self) -> list[PointSprings | ConstantWrenches | LoopElements]:
        """Whatever acts on bodies."""
        mechanism, plan = self._evaluator.mechanism, self._evaluator.plan
        found: list[PointSprings | ConstantWrenches | LoopElements] = [
            source
            for source in (PointSprings(mechanism, plan), ConstantWrenches(mechanism, plan))
            if source.bodies
        ]
        for loop in plan.loop_joints:
            if not loop.kind.nv:
                continue
            elements = StackedElements(loop.kind, springs_at(mechanism, loop.name), self.stops.get(loop.name))
            if elements:
                found.append(LoopElements(mechanism.joints[loop.name], loop, elements))
        return found

    def _felt_inertia(self, joint: str) -> np.ndarray:
        return felt_inertia(self._start, joint)

    @cached_property
    def _start(self) -> LoopProblem:
        """Where the mechanism starts, at rest. What is not given closes the loops by the least change of a plan's
        coordinates, so it is always found in the mechanism's own plan, whatever was cut in this one."""
        own, neutral = self._evaluator, self._neutral
        if own.plan.root is not None or own.plan.cut:
            own = Evaluator(own.mechanism, plan(own.mechanism))
            kinds = [kind for kind in own.plan.kind if kind is not None]
            neutral = np.zeros(own.plan.nq)
            for start, kind in zip(own.plan.q_start[1:], kinds, strict=True):
                neutral[start : start + kind.nq] = kind.neutral()
        try:
            q = closing.assemble(own, own.mechanism.initial.q, neutral, 1e-5)
        except CatenaError:
            q = neutral
        return motion_problem(own, q)


def _q(plan: Plan, i: int) -> slice:
    return slice(int(plan.q_start[i]), int(plan.q_start[i] + plan.q_size[i]))


def _v(plan: Plan, i: int) -> slice:
    return slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
