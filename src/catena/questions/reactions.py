"""The wrench that every joint passes to its child, tree, loop or weld, as users see it: on the child that
`add_joint` named, at the child-side joint frame that it described.

Loops pass what their multipliers and their friction say. Then every node, tips first, gets from its tree joint
what its bodies still need, and inside a node every weld passes what the bodies beyond it need. Where constraints
are redundant, many sets of wrenches do: the one of least size over all joints is taken, moments counting about
the middle between the two joint frames and divided by the size of the mechanism. So it does not depend on which
joints the plan cut. Couplings carry what belongs to these wrenches, of which it is a part at their joints; where
several couplings hold the same joints, what they do there is least in size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.dynamics.tree.rotors import has_rotors
from catena.kinematics import stacks
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose
from catena.structure import Plan
from catena.structure.plan import Parts
from catena.thresholds import RANK_EXACT


@dataclass(frozen=True)
class Weld:
    """A joint inside a node, walked from the leaf inward: it passes to `leaf` what that side needs."""

    joint: str
    leaf: str
    other: str


class Reactions:
    """How forces pass through one plan of one mechanism, or of many that differ in numbers (states, ...)."""

    def __init__(self, mechanism: Mechanism | Parts, plan: Plan) -> None:
        self.mechanism, self.plan = mechanism, plan
        self.joint_names = tuple(mechanism.joints) if plan.parts is None else plan.parts.described
        self.bodies = {name: k for k, name in enumerate(mechanism.bodies)}
        self.welds = [weld for names in plan.bodies for weld in _weld_order(mechanism, plan, names)]

    @cached_property
    def inertia(self) -> list[np.ndarray]:
        """Return the inertia (..., 6, 6) of each body in the frame of its node."""
        return [_inertia(self.mechanism, self.plan, name) for name in self.bodies]

    def wrenches(
        self, problem: LoopProblem, solution: LoopSolution, outside: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return {joint: wrench (*batch, 6)} for a solution; `outside` are wrenches (..., 6) by body or frame in node
        frames."""
        need = self._needs(problem, solution.vdot, outside)
        turned = self._rotor_wrenches(problem, solution.vdot)
        return self.distributed(problem, need, solution.multipliers, turned=turned)

    def coupling_forces(
        self, problem: LoopProblem, solution: LoopSolution, outside: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the force (*batch,) of each coupling that belongs to these wrenches."""
        need = self._needs(problem, solution.vdot, outside)
        turned = self._rotor_wrenches(problem, solution.vdot)
        _, multipliers = self._least(problem, need, solution.multipliers, True, turned)
        at, found = sum(loop.constraints for loop in problem.plan.loop_joints), {}
        for tied in problem.plan.couplings:
            if not tied.is_rotor:
                force = multipliers[:, at] if tied.constraints else np.zeros(problem.states)
                found[tied.name] = force.reshape(problem.batch)
            at += tied.constraints
        return found

    def distributed(
        self,
        problem: LoopProblem,
        need: np.ndarray,
        multipliers: np.ndarray,
        friction: bool = True,
        turned: Sequence[np.ndarray] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return {joint: wrench (*batch, 6)} that give each body what it needs (states, bodies, 6), in node frames in
        the order of the mechanism's bodies, with these multipliers (states, m) at the loops. `turned` is what rotors of
        each loop joint keep for themselves, wrenches (states, 6) at its frame C. Impulses are distributed the same way,
        without friction."""
        passed, _ = self._least(problem, need, multipliers, friction, turned)
        return {
            name: _in_joint_frame(self.mechanism, self.plan, name, wrench[:, 0]).reshape(*problem.batch, 6)
            for name, wrench in passed.items()
        }

    def _least(
        self,
        problem: LoopProblem,
        need: np.ndarray,
        multipliers: np.ndarray,
        friction: bool,
        turned: Sequence[np.ndarray] | None,
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the smallest wrenches {joint: (states, 1, 6)} in the frame of the child's node, and the multipliers
        (states, m) that belong to them; where these differ in couplings alone, those of the smallest forces."""
        X = problem.motions.X
        loops = self._loop_wrenches(problem, multipliers[..., None], friction)
        if turned is not None:
            loops = [wrench + rotor[:, None] for wrench, rotor in zip(loops, turned, strict=True)]
        passed = self._pass_on(problem, X, need[:, None], loops)
        multipliers = multipliers.copy()
        for states, stress in self_stresses(problem):
            # The wrenches of each self-stress alone, and the combination that leaves the least.
            some = problem.some(states)
            passing = self._of(some)
            nothing = np.zeros((len(states), stress.shape[-1], len(self.bodies), 6))
            alone = passing._pass_on(some, X[states], nothing, passing._loop_wrenches(some, stress, False))
            middle = {name: _middle(passing.mechanism, passing.plan, some, name) for name in alone}
            size = some.lengths[:, None]
            wrenches = np.concatenate(
                [_weighed(passed[name][states], middle[name], size) for name in alone], axis=-1
            )
            change = np.concatenate([_weighed(alone[name], middle[name], size) for name in alone], axis=-1)
            tied = stacks.transposed(_coupling_sizes(some, stress, size))
            held = stacks.transposed(_coupling_sizes(some, multipliers[states][..., None], size))
            z = -_least_squares(change, wrenches, tied, held)
            multipliers[states] += (stress @ z)[..., 0]
            for name in alone:
                passed[name][states] += stacks.transposed(z) @ alone[name]
        return passed, multipliers

    def _of(self, problem: LoopProblem) -> Reactions:
        """Return how forces pass through the mechanisms of a problem with some of the states."""
        by_state = problem.evaluator.by_state
        return self if by_state is None else Reactions(by_state.parts(), problem.numbers)

    def _needs(self, problem: LoopProblem, vdot: np.ndarray, outside: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return what the motion of each body takes beyond the wrenches from outside, (states, bodies, 6), in node
        frames."""
        plan, motions = self.plan, problem.motions
        a = np.zeros((problem.states, plan.n, 6))
        a[:, 0] = problem.ground_acceleration
        for i in range(1, plan.n):
            at = plan.v_of(i)
            joint = np.einsum("sk,ski->si", vdot[:, at], motions.S_rows[:, plan.rows(i)])
            a[:, i] = stacks.apply(motions.X[:, i], a[:, plan.parent[i]]) + joint + motions.c[:, i]
        need = np.zeros((problem.states, len(self.bodies), 6))
        for name, k in self.bodies.items():
            if name == GROUND:
                continue
            i, I = plan.body_node[name], self.inertia[k]  # noqa: E741
            v = motions.v[:, i]
            h = stacks.apply(I, v)
            gyroscopic = np.concatenate(
                [np.cross(v[:, :3], h[:, :3]) + np.cross(v[:, 3:], h[:, 3:]), np.cross(v[:, :3], h[:, 3:])],
                axis=-1,
            )
            need[:, k] = stacks.apply(I, a[:, i]) + gyroscopic
        for name, wrench in outside.items():
            body = self.mechanism.frames[name].body if name in self.mechanism.frames else name
            need[:, self.bodies[body]] -= np.broadcast_to(wrench, (*problem.batch, 6)).reshape(-1, 6)
        return need

    def _loop_wrenches(
        self, problem: LoopProblem, multipliers: np.ndarray, friction: bool
    ) -> list[np.ndarray]:
        """Return the wrench (states, k, 6) of each loop at its frame C for multipliers (states, m, k)."""
        result, at = [], 0
        tied = self._coupling_wrenches(problem, multipliers) if problem.couplings else {}
        for state, rubbed in zip(problem.loops, problem.friction_wrenches, strict=True):
            m = state.loop.constraints
            wrench = stacks.transposed(state.Phi @ multipliers[:, at : at + m])
            if state.name in tied:
                wrench = wrench + tied[state.name]
            result.append(wrench if rubbed is None or not friction else wrench + rubbed[:, None])
            at += m
        return result

    def _rotor_wrenches(self, problem: LoopProblem, vdot: np.ndarray) -> list[np.ndarray] | None:
        """Return what the rotors of each loop joint keep of the forces of its actuators, as wrenches (states, 6) at its
        frame C; None where there are no rotors."""
        if problem.evaluator.by_state is None and not has_rotors(problem.plan):
            return None
        result = []
        for state in problem.loops:
            across = stacks.pseudo_inverse(state.S)
            wrench = np.zeros((problem.states, 6))
            for k, inertia in enumerate(state.loop.armature):
                a = stacks.apply(state.J_rel, vdot) + state.drift
                wrench -= inertia * np.einsum("si,si->s", across[:, k], a)[:, None] * across[:, k]
            result.append(wrench)
        return result

    def _coupling_wrenches(self, problem: LoopProblem, multipliers: np.ndarray) -> dict[str, np.ndarray]:
        """Return what couplings pass through loop joints, {joint: (states, k, 6)} at its frame C, for multipliers
        (states, m, k): joint forces along its motion. Those at joints of the tree are among what these pass on
        anyway."""
        found: dict[str, np.ndarray] = {}
        at = sum(loop.constraints for loop in self.plan.loop_joints)
        for state in problem.couplings:
            if not state.loop.constraints:
                continue
            for term, slope in zip(state.loop.terms, np.moveaxis(state.slopes, -1, 0), strict=True):
                if term.loop >= 0:
                    S = problem.loops[term.loop].S
                    force = slope[:, None] * multipliers[:, at]
                    wrench = force[..., None] * stacks.pseudo_inverse(S)[:, :1]
                    found[term.joint] = found.get(term.joint, 0.0) + wrench
            at += 1
        return found

    def _pass_on(
        self, problem: LoopProblem, X: np.ndarray, need: np.ndarray, loops: Sequence[np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return {joint: wrench (states, k, 6) on its described child in the frame of the child's node}, in the order
        of the mechanism, given what bodies need (states, k, bodies, 6) and what loops pass at C."""
        plan, joints, need = self.plan, self.mechanism.joints, need.copy()
        passed: dict[str, np.ndarray] = {}
        for state, wrench in zip(problem.loops, loops, strict=True):
            joint, loop = joints.get(state.name), state.loop
            on_child = wrench @ stacks.to_frame(loop.child_pose)
            on_parent = wrench @ (state.X @ stacks.to_frame(loop.parent_pose))
            if joint is None:
                continue
            passed[state.name] = on_child
            need[:, :, self.bodies[joint.child]] -= on_child
            need[:, :, self.bodies[joint.parent]] += on_parent
        members = [[self.bodies[name] for name in names] for names in plan.bodies]
        for i in range(plan.n - 1, 0, -1):
            wrench = need[:, :, members[i]].sum(axis=2)
            joint = joints.get(plan.joint[i])
            back = wrench @ X[:, i]
            if joint is None:
                # The joint that pins a root exists only in the plan.
                near, far = str(plan.root), GROUND
            else:
                near, far = (joint.parent, joint.child) if plan.flipped[i] else (joint.child, joint.parent)
                passed[joint.name] = -back if plan.flipped[i] else wrench
            need[:, :, self.bodies[near]] -= wrench
            need[:, :, self.bodies[far]] += back
        for weld in self.welds:
            wrench = need[:, :, self.bodies[weld.leaf]].copy()
            need[:, :, self.bodies[weld.other]] += wrench
            passed[weld.joint] = wrench if joints[weld.joint].child == weld.leaf else -wrench
        return {name: passed[name] for name in self.joint_names}


def from_lanes(
    mechanism: Mechanism | Parts,
    plan: Plan,
    wrench: np.ndarray,
    X: np.ndarray,
    loops: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return {joint: wrench (..., 6)} in the order of the mechanism, from the wrenches (..., n, 6) on nodes through
    their tree joints, the transforms (..., n, 12) from the nodes' parents, and those of loops on their children, in
    node frames."""
    found = dict(loops)
    for i in range(1, plan.n):
        name = plan.joint[i]
        if name not in mechanism.joints:
            continue
        on_node = wrench[..., i, :]
        if plan.flipped[i]:
            # The described child is in the parent node and gets the opposite wrench.
            R, p = X[..., i, :9].reshape(*X.shape[:-2], 3, 3), X[..., i, 9:]
            force = -np.einsum("...ji,...j->...i", R, on_node[..., 3:])
            moment = -np.einsum("...ji,...j->...i", R, on_node[..., :3]) + np.cross(p, force)
            on_node = np.concatenate([moment, force], axis=-1)
        found[name] = on_node
    return {
        name: _in_joint_frame(mechanism, plan, name, found[name])
        for name in mechanism.joints
        if name in found
    }


def _inertia(mechanism: Mechanism | Parts, plan: Plan, name: str) -> np.ndarray:
    """Return the inertia of a body in the frame of its node, (..., 6, 6)."""
    if name == GROUND:
        return np.zeros((6, 6))
    body, (_, pose) = mechanism.bodies[name], plan.body_pose[name]
    mass, c = np.asarray(body.mass, dtype=np.float64)[..., None, None], stacks.skew(np.asarray(body.com))
    below = -mass * c
    at_centre = mass * np.eye(3)
    upper = np.asarray(body.inertia, dtype=np.float64) - mass * (c @ c)
    rows = np.broadcast_arrays(upper, -below, below, at_centre)
    I = np.concatenate(  # noqa: E741
        [np.concatenate(rows[:2], axis=-1), np.concatenate(rows[2:], axis=-1)], axis=-2
    )
    X = stacks.to_frame(pose)
    return np.asarray(stacks.transposed(X) @ I @ X)


def _weld_order(mechanism: Mechanism | Parts, plan: Plan, names: Sequence[str]) -> list[Weld]:
    """Return the welds that hold the bodies of a node together, leaves first."""
    if len(names) == 1:
        return []
    moving = {*plan.joints, *plan.loops}
    inside = set(names)
    touching: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    for joint in mechanism.joints.values():
        if joint.name not in moving and joint.parent in inside:
            touching[joint.parent].append((joint.name, joint.child))
            touching[joint.child].append((joint.name, joint.parent))
    root = GROUND if GROUND in inside else names[0]
    order, seen, stack = [], {root}, [root]
    while stack:
        body = stack.pop()
        for joint_name, other in touching[body]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
                order.append(Weld(joint_name, other, body))
    return order[::-1]


def _side(plan: Plan, body: str, at: Pose) -> tuple[int, Pose]:
    node, pose = plan.body_pose[body]
    return node, pose * at


def _in_joint_frame(mechanism: Mechanism | Parts, plan: Plan, name: str, wrench: np.ndarray) -> np.ndarray:
    """Return a wrench (..., 6) in the frame of the child's node, moved to the child-side joint frame."""
    joint = mechanism.joints[name]
    _, pose = _side(plan, joint.child, joint.in_child)
    moment = wrench[..., :3] - np.cross(pose.p, wrench[..., 3:])
    return np.concatenate([moment @ pose.R, wrench[..., 3:] @ pose.R], axis=-1)


def _middle(mechanism: Mechanism | Parts, plan: Plan, problem: LoopProblem, name: str) -> np.ndarray:
    """Return the point between the two frames of a joint, (states, 3), in the frame of the child's node."""
    joint = mechanism.joints[name]
    (child, at_child), (parent, at_parent) = (
        _side(plan, joint.child, joint.in_child),
        _side(plan, joint.parent, joint.in_parent),
    )
    if child == parent:
        return np.broadcast_to(0.5 * (at_child.p + at_parent.p), (problem.states, 3))
    for state in problem.loops:
        if state.name == name:
            R, p = stacks.parts(state.X)
            loop = state.loop
            other = loop.child_p - np.einsum("ij,sjk,sk->si", loop.child_R, R, p)
            return 0.5 * (loop.child_p + other)
    i = plan.joint.index(name)
    R, p = stacks.parts(problem.motions.X[:, i])
    if plan.flipped[i]:
        # The child is in the parent node, where p is the origin of the node on the described parent's side.
        return 0.5 * (plan.placement_p[..., i, :] + p)
    return 0.5 * np.einsum("sij,sj->si", R, plan.placement_p[..., i, :] - p)


def _weighed(wrench: np.ndarray, middle: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return wrenches (states, k, 6) as they count for size: moment about the middle by length (states, 1), and
    force."""
    moment = wrench[..., :3] - np.cross(middle[:, None], wrench[..., 3:])
    return np.concatenate([moment / length[..., None], wrench[..., 3:]], axis=-1)


def _coupling_sizes(problem: LoopProblem, multipliers: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return what couplings do at each of their joints as it counts for size, (states, terms, k), for multipliers
    (states, m, k): forces along sliding joints, and moments about turning ones divided by the mechanisms' sizes
    (states, 1)."""
    found = [np.zeros((problem.states, 0, multipliers.shape[-1]))]
    at = sum(loop.constraints for loop in problem.plan.loop_joints)
    for state in problem.couplings:
        if not state.loop.constraints:
            continue
        lever = np.where([term.turns for term in state.loop.terms], size, 1.0)
        found.append((state.slopes / lever)[..., None] * multipliers[:, at, None])
        at += 1
    return np.concatenate(found, axis=1)


def _least_squares(
    change: np.ndarray, wrenches: np.ndarray, tied: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """Return the z (states, d, 1) for which z^T change (states, d, n) is nearest to given (states, 1, n); where it does
    not matter for that, z^T tied (states, d, k) nearest to held (states, 1, k). Each row of change and tied together is
    measured by its own size."""
    size = np.linalg.norm(np.concatenate([change, tied], axis=-1), axis=-1, keepdims=True)
    size = np.where(size > 0.0, size, 1.0)
    change, tied = change / size, tied / size
    U, sigma, Vt = np.linalg.svd(change, full_matrices=False)
    acts = sigma > RANK_EXACT * np.maximum(sigma[..., :1], 1.0)
    inverse = np.where(acts, 1.0 / np.where(acts, sigma, 1.0), 0.0)
    z = U @ (inverse[..., None] * (Vt @ stacks.transposed(wrenches)))
    # Couplings that hold the same joints share what no joint notices.
    left = held - stacks.transposed(z) @ tied
    unnoticed = U * ~acts[..., None, :]
    share = stacks.transposed(unnoticed) @ tied
    z = z + unnoticed @ stacks.transposed(left @ np.linalg.pinv(share, rcond=RANK_EXACT))
    return z / size


def self_stresses(problem: LoopProblem) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each rank deficiency d > 0 that occurs, the indices of its states (k,), and multipliers (k, m, d) with
    J^T times which is zero, orthonormal in the scaled sense."""
    if not problem.plan.total_constraints:
        return
    A = problem.scaled
    U = np.linalg.svd(A, full_matrices=True)[0]
    rank = problem.rank
    for r in np.unique(rank):
        if r < A.shape[-2]:
            at = np.flatnonzero(rank == r)
            yield at, U[at][:, :, r:] / problem.scale[at][:, :, None]
