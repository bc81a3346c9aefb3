"""All joints of a plan on an equal footing, tree or loop, for formulations that start from bodies.

A joint leads from node a to node b. At its frame C, fixed to b, accelerations obey

    X_b a_b = X_a a_a + S s + c

with s the joint's own accelerations and c what velocities contribute; Phi^T takes s away. Accelerations contain
that of the ground against gravity.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.tree.friction import tree_friction
from catena.dynamics.tree.rotors import rotor_inertias
from catena.kinematics import stacks
from catena.kinematics.kind_values import kind_values
from catena.kinematics.loops.coupling_states import CouplingState, term_motion
from catena.spatial import RigidInertia


@dataclass(frozen=True, eq=False)
class GraphJoint:
    """A joint from node a to node b: X_a, X_b (states, 6, 6) from the nodes to C, S (states, 6, nv_joint), Phi
    (states, 6, m), c (states, 6), and the wrench (states, 6) that actuator and friction pass to b at C. `loop`
    is the index among the loops of the plan, None for the tree joint of node b."""

    a: int
    b: int
    X_a: np.ndarray
    X_b: np.ndarray
    S: np.ndarray
    Phi: np.ndarray
    c: np.ndarray
    applied: np.ndarray
    loop: int | None = None


def graph_joints(problem: LoopProblem) -> list[GraphJoint]:
    """Tree joints in the order of their nodes, then loop joints."""
    return [*_tree_joints(problem), *_loop_joints(problem)]


def _tree_joints(problem: LoopProblem) -> list[GraphJoint]:
    plan, motions, states = problem.plan, problem.motions, problem.states
    force = -tree_friction(plan, problem.q, problem.v)
    if problem.tau is not None:
        force = force + problem.tau
    here = np.broadcast_to(np.eye(6), (states, 6, 6))
    result = []
    for i in range(1, plan.n):
        kind = plan.kind[i]
        assert kind is not None
        at = plan.v_of(i)
        q = problem.q[:, plan.q_start[i] : plan.q_start[i] + plan.q_size[i]]
        S = stacks.transposed(motions.S_rows[:, plan.rows(i), :])
        Phi = kind_values(kind, q, np.zeros(kind.nv)).Phi
        result.append(
            GraphJoint(
                int(plan.parent[i]),
                i,
                motions.X[:, i],
                here,
                S,
                Phi,
                motions.c[:, i],
                _wrench(S, force[:, at]),
            )
        )
    return result


def _loop_joints(problem: LoopProblem) -> list[GraphJoint]:
    nothing = np.zeros((problem.states, 6))
    result = []
    for k, (state, friction) in enumerate(zip(problem.loops, problem.friction_wrenches, strict=True)):
        loop = state.loop
        X_b = np.broadcast_to(stacks.to_frame(loop.child_pose), state.X.shape)
        # A joint between bodies of one node holds nothing; the difference must vanish exactly, not but for rounding.
        X_a = X_b if loop.parent_node == loop.child_node else state.X @ stacks.to_frame(loop.parent_pose)
        applied = nothing if friction is None else friction
        result.append(
            GraphJoint(
                loop.parent_node, loop.child_node, X_a, X_b, state.S, state.Phi, state.c, applied, loop=k
            )
        )
    return result


def rotor_rows(
    problem: LoopProblem, joints: list[GraphJoint]
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Of each rotor its inertia, and the row (states, 6 n) and the number (states,) with which accelerations a of all
    nodes make its own acceleration, row a + number."""
    plan, rotors = problem.plan, rotor_inertias(problem.plan)
    for joint in joints:
        if joint.loop is None:
            inertias = rotors[plan.v_of(joint.b)]
        else:
            inertias = plan.loop_joints[joint.loop].armature
        for k in np.flatnonzero(inertias):
            across = stacks.pseudo_inverse(joint.S)[:, k]
            row = np.zeros((problem.states, 6 * plan.n))
            row[:, 6 * joint.a : 6 * joint.a + 6] -= np.einsum("si,sij->sj", across, joint.X_a)
            row[:, 6 * joint.b : 6 * joint.b + 6] += np.einsum("si,sij->sj", across, joint.X_b)
            yield float(inertias[k]), row, -np.einsum("si,si->s", across, joint.c)


def coupling_row(
    problem: LoopProblem, joints: list[GraphJoint], state: CouplingState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows D (states, 6, 6 n) and d (states, 6) of a coupling, of which Phi^T takes the one that counts: D a
    + d is the acceleration of its residual for the accelerations a of all nodes, each joint's own being S^+ (X_b a_b -
    X_a a_a - c)."""
    D, d = np.zeros((problem.states, 6, 6 * problem.plan.n)), np.zeros((problem.states, 6))
    size = state.loop.size(problem.length)
    by_place = {(j.b, -1) if j.loop is None else (-1, j.loop): j for j in joints}
    for term, slope in zip(state.loop.terms, np.moveaxis(state.slopes, -1, 0), strict=True):
        joint = by_place[term.node, term.loop]
        across = slope[:, None] * stacks.pseudo_inverse(joint.S)[:, 0] / size
        D[:, 0, 6 * joint.a : 6 * joint.a + 6] -= np.einsum("si,sij->sj", across, joint.X_a)
        D[:, 0, 6 * joint.b : 6 * joint.b + 6] += np.einsum("si,sij->sj", across, joint.X_b)
        x, xd, _, _ = term_motion(problem.plan, term, problem.q, problem.v, problem.loops)
        bent = term.sign * term.profile.curvature(np.array(x)) * xd**2
        d[:, 0] += bent / size - np.einsum("si,si->s", across, joint.c)
    return D, d


def _wrench(S: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the wrench with S^T f = force and nothing along the constraints."""
    return stacks.apply(stacks.transposed(stacks.pseudo_inverse(S)), force)


def node_inertias(problem: LoopProblem) -> np.ndarray:
    """Return the inertia matrices of all nodes, (n, 6, 6); ground's is zero."""
    plan = problem.plan
    result = np.zeros((plan.n, 6, 6))
    for i in range(1, plan.n):
        result[i] = RigidInertia.from_entries(list(plan.inertia[i])).matrix()
    return result


def node_forces(problem: LoopProblem, inertias: np.ndarray, joints: list[GraphJoint]) -> np.ndarray:
    """Return what acts on each node besides constraints, (states, n, 6): gyroscopic terms, wrenches from outside, and
    what actuators and friction pass on."""
    plan, v = problem.plan, problem.motions.v
    momentum = np.einsum("nij,snj->sni", inertias, v)
    moment = np.cross(v[..., :3], momentum[..., :3]) + np.cross(v[..., 3:], momentum[..., 3:])
    g = -np.concatenate([moment, np.cross(v[..., :3], momentum[..., 3:])], axis=-1)
    if problem.f_ext is not None:
        g = g + problem.f_ext.reshape(problem.states, plan.n, 6)
    for joint in joints:
        g[:, joint.b] += stacks.apply(stacks.transposed(joint.X_b), joint.applied)
        g[:, joint.a] -= stacks.apply(stacks.transposed(joint.X_a), joint.applied)
    return g


def tree_accelerations(problem: LoopProblem, joints: list[GraphJoint], a: np.ndarray) -> np.ndarray:
    """vdot (states, nv) from the accelerations a (states, n, 6) of all nodes."""
    plan = problem.plan
    vdot = np.zeros((problem.states, plan.nv))
    for joint in joints:
        if joint.loop is None:
            at = plan.v_of(joint.b)
            relative = a[:, joint.b] - stacks.apply(joint.X_a, a[:, joint.a]) - joint.c
            vdot[:, at] = stacks.apply(stacks.pseudo_inverse(joint.S), relative)
    return vdot
