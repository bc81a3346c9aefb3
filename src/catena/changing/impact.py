"""The velocities just after joints have closed: bodies push on each other at the joints, and on nothing else.

Bodies b with twists t_b and inertias M_b form a mechanism whose joints allow B v, loops J v = 0. Impulses at joints do
no work on motions that the joints allow, so of all these motions theirs is the nearest in kinetic energy:

    sum over b of |F_b (B_b v - t_b)|^2 / 2 least,  J v = 0,      M_b = F_b^T F_b.

It is a least-squares problem in square-root form, solved like the dynamics with loops, for constraints of any rank.
Joints whose motion is prescribed are constraints too, E v = r: their drives push as hard as it takes, and may put in
energy. What the bodies' momenta change by is what the joints pass on. The bodies of a flexible body are the points that
have its mass, so its modes take their part of an impulse; elastic forces are finite and do nothing in an instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from catena.changing.carrying import nearest
from catena.changing.deformed import Bodies, parts_of, with_points
from catena.dynamics.loops.inertia_root import Rows, body_roots, rooted, tree_rows
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import constrained, divide_lower, solve_upper
from catena.dynamics.tree.rotors import rotor_inertias
from catena.kinematics import stacks
from catena.mechanism import Mechanism
from catena.questions.reactions import Reactions
from catena.structure.plan import Parts
from catena.system import System


@dataclass(frozen=True, eq=False)
class Impact:
    """Velocities v (states, nv) after an impact, the kinetic energy (states,) that is gone, and what the impulses of
    joints follow from: the equations, what each body needs (states, bodies, 6) in node frames, the multipliers (states,
    m) of the loops, and what rotors at loop joints are `sped_up` by (states, rotors)."""

    system: System
    v: np.ndarray
    loss: np.ndarray
    problem: LoopProblem
    need: np.ndarray
    multipliers: np.ndarray
    sped_up: np.ndarray

    def impulses(self) -> dict[str, np.ndarray]:
        """Return the impulse {joint: (states, 6)} of each joint on its child, told as `reactions` are."""
        reactions = Reactions(parts_of(self.system), self.system.plan)
        turned = self._turned() if self.problem.loop_rotors else None
        return reactions.distributed(self.problem, self.need, self.multipliers, friction=False, turned=turned)

    def _turned(self) -> list[np.ndarray]:
        """Return what the rotors of each loop joint keep for themselves, as wrenches (states, 6) at its frame C."""
        found, rates = [], iter(self.sped_up.T)
        for state in self.problem.loops:
            wrench = np.zeros((self.problem.states, 6))
            for k, inertia in enumerate(state.loop.armature):
                if inertia:
                    wrench -= inertia * next(rates)[:, None] * state.S_inv[:, k]
            found.append(wrench)
        return found


def impact(
    new: System, q: np.ndarray, v: np.ndarray, bodies: Bodies, driven: Mapping[str, np.ndarray]
) -> Impact:
    """Return what happens to a system at q (states, nq) whose bodies moved with twists of their own before, which are
    near those of v (states, nv), and where joints of the tree are `driven` at velocities (nv of the joint,)."""
    problem, bodies = LoopProblem(new.mechanics.evaluator, q, v), with_points(bodies, new)
    plan, count = problem.plan, bodies.twist.shape[1]
    node = plan.body_pose.node[:count]
    own = stacks.motion_matrices(stacks.transposed(plan.body_pose.R[:count]), plan.body_pose.p[:count])
    M = body_inertias(parts_of(new))
    # What the bodies of a node have more momentum than v gives them.
    more = bodies.twist - stacks.apply(own, problem.motions.v[:, node])
    by_node = np.zeros((plan.n, len(q), 6))
    np.add.at(by_node, node, np.swapaxes(stacks.apply(stacks.transposed(own), stacks.apply(M, more)), 0, 1))
    momentum = np.swapaxes(by_node, 0, 1)
    felt = stacks.apply(body_roots(plan).back, momentum)
    turning = _loop_rotors(problem, new, bodies)
    L, y = np.zeros((len(q), plan.nv, plan.nv)), np.zeros_like(v)
    for some, rows, held in _portions(problem):
        # Behind the rows of bodies are those of rotors: at joints of the tree they turn with v, at loops as they did.
        jump, nothing = np.zeros_like(rows.r), np.zeros_like(v[some])
        jump[:, : 6 * (plan.n - 1)] = -felt[some, 1:].reshape(len(jump), -1)
        if turning.shape[1]:
            jump[:, -turning.shape[1] :] = -turning[some]
        opening = Rows(held.W, stacks.apply(held.W, v[some]), held.f, held.summed)
        L[some], y[some] = rooted(Rows(rows.W, jump, nothing, rows.summed), opening, nothing, plan.name)
    # Rank and scale of the constraints are then those of this motion.
    problem.equations = (L, y)
    m, rates = plan.total_constraints, np.concatenate([np.zeros(0), *driven.values()])
    A, b, scale = np.zeros((len(q), 0, plan.nv)), np.zeros((len(q), 0)), np.zeros((len(q), 0))
    if m:
        A, b, scale = problem.scaled, -stacks.apply(problem.J, v) / problem.scale, problem.scale
    for name, rate in driven.items():
        row = problem.joint_rows(plan.joint.index(name), -1)
        in_root = stacks.transposed(divide_lower(L, stacks.transposed(row)))
        size = np.linalg.norm(in_root, axis=-1)
        A = np.concatenate([A, in_root / size[..., None]], axis=-2)
        b = np.concatenate([b, (rate - stacks.apply(row, v)) / size], axis=-1)
        scale = np.concatenate([scale, size], axis=-1)
    forces, change = np.zeros_like(b), y
    if A.shape[-2]:
        change, mu, _ = constrained(A, y, b, problem.tolerance)
        forces = mu / scale
    gained = solve_upper(L, change)
    twist = _twists(problem, gained)
    jump = stacks.apply(own, twist[:, node]) - more
    taken = stacks.apply(M, jump)
    need = stacks.apply(stacks.transposed(own), taken)
    loss = 0.5 * np.einsum("sbi,sbi->s", taken, jump) + 0.5 * (gained**2) @ rotor_inertias(plan)
    sped_up = np.zeros_like(turning)
    for k, (row, inertia, _) in enumerate(problem.loop_rotors):
        sped_up[:, k] = np.einsum("sk,sk->s", row, gained) - turning[:, k] / np.sqrt(inertia)
        loss += 0.5 * inertia * sped_up[:, k] ** 2
    # What drives push with goes on at their velocities.
    loss -= forces[:, m:] @ rates
    return Impact(new, v + gained, loss, problem, need, forces[:, :m], sped_up)


def _loop_rotors(problem: LoopProblem, new: System, bodies: Bodies) -> np.ndarray:
    """Return what rotors at loop joints have more speed than v gives them, times the root of their inertias, (states,
    rotors)."""
    found = [np.zeros((problem.states, 0))]
    if problem.loop_rotors:
        geared = [state for state in problem.loops if np.any(state.loop.armature)]
        parts = parts_of(new)
        before = nearest(parts, bodies, [parts.joints[state.name] for state in geared])[1]
        for state, was in zip(geared, before, strict=True):
            for k, inertia in enumerate(state.loop.armature):
                if inertia:
                    found.append(np.sqrt(float(inertia)) * (was[:, k] - state.v[:, k])[:, None])
    return np.concatenate(found, axis=1)


def _portions(problem: LoopProblem) -> Iterator[tuple[slice, Rows, Rows]]:
    """Return portions of the states with the rows of the tree and those of the constraints; loops that constrain
    nothing are not looked at."""
    if problem.plan.total_constraints or rotor_inertias(problem.plan).any() or problem.loop_rotors:
        yield from problem.portions()
        return
    states, nv = problem.states, problem.plan.nv
    none = np.zeros((states, 0, nv))
    empty = Rows(none, np.zeros((states, 0)), np.zeros((states, nv)), none)
    for some, rows in tree_rows(problem.plan, problem.motions, np.zeros((states, 6)), None):
        yield some, rows, empty.of(some)


def _twists(problem: LoopProblem, v: np.ndarray) -> np.ndarray:
    """Return the twists (states, n, 6) of all nodes for velocities v (states, nv)."""
    plan, motions = problem.plan, problem.motions
    by_node = np.zeros((plan.n, len(v), 6))
    moved = v[:, plan.row_columns, None] * motions.S_rows
    np.add.at(by_node, plan.row_nodes, np.swapaxes(moved, 0, 1))
    twist = np.swapaxes(by_node, 0, 1)
    for nodes in plan.levels:
        twist[:, nodes] += stacks.apply(motions.X[:, nodes], twist[:, plan.parent[nodes]])
    return twist


def body_inertias(mechanism: Mechanism | Parts) -> np.ndarray:
    """Return the inertias (bodies, 6, 6) of all bodies in their own axes at their own origin; ground has none."""
    bodies = mechanism.bodies.values()
    m = np.array([body.mass for body in bodies])
    c = stacks.skew(np.array([body.com for body in bodies]))
    M = np.zeros((len(m), 6, 6))
    weighed = m[:, None, None] * c
    M[:, :3, :3] = np.array([body.inertia for body in bodies]) - weighed @ c
    M[:, :3, 3:], M[:, 3:, :3] = weighed, -weighed
    M[:, 3:, 3:] = m[:, None, None] * np.eye(3)
    return M
