"""The motion near a state as a linear system in as many coordinates as the closed mechanism has degrees of freedom, and
its small vibrations: eigenvalues and shapes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops.formulations.minimal import partition
from catena.dynamics.loops.motion_problem import motion_problem
from catena.errors import StateError
from catena.joints.derivatives import tangents
from catena.kernels.evaluation import Evaluator
from catena.questions.response import Responder, Response
from catena.structure import Plan


@dataclass(frozen=True, eq=False)
class Linearisation:
    """x' = A x + B u near a state, x = [steps; velocities] (2 d,) of the d independent velocity components.

    `A` (2 d, 2 d), `B` (2 d, k). `independent` (d,) are the indices of the components in v, `actuated` (k,) those of
    the inputs; `states` and `inputs` are their names. `E` (nv, d) takes independent steps to all, dq = E x[:d], and
    velocities change by dv = E x[d:] + drift x[:d], with `drift` (nv, d). `vdot` (nv,) is the acceleration at the state
    itself.
    """

    A: np.ndarray
    B: np.ndarray
    E: np.ndarray
    drift: np.ndarray
    independent: np.ndarray
    actuated: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    vdot: np.ndarray


def linearise(responder: Responder, q: np.ndarray, v: np.ndarray, tau: Any) -> Linearisation:
    """Return the linear system at one state. The mechanism's own forces act, and actuators give what they can of
    tau."""
    found, batch = responder.respond(q, v, tau, limited=True)
    if batch:
        raise StateError(
            f"tau has batch dimensions {batch}; linearise is for one state, tau of shape ({len(v)},)."
        )
    return reduced(responder.model.evaluator, q, v, found)


def reduced(evaluator: Evaluator, q: np.ndarray, v: np.ndarray, found: Response) -> Linearisation:
    """Return the linear system from the response at one state."""
    plan = evaluator.plan
    problem = motion_problem(evaluator, q[None])
    unit = 1.0 / np.linalg.norm(problem.equations[0][0], axis=-1)
    scale = problem.scale[0][:, None]
    part = partition(problem.J[0] / scale, np.zeros(len(scale)), unit, int(problem.rank[0]))
    E, own = part.E, part.independent
    dependent = np.setdiff1d(np.arange(plan.nv), own)
    drift = np.zeros_like(E)
    if len(dependent):
        opening = (found.opening[0] @ E) / scale
        across = np.linalg.lstsq((problem.J[0] / scale * unit)[:, dependent], -opening, rcond=1e-10)[0]
        drift[dependent] = across * unit[dependent][:, None]
    d = len(own)
    by_q, by_v = found.by_q[0] @ E + found.by_v[0] @ drift, found.by_v[0] @ E
    carried = step_rates(plan, q, v) @ E + drift
    A = np.block([[carried[own], np.eye(d)], [by_q[own], by_v[own]]])
    actuated = np.flatnonzero(plan.actuated)
    B = np.concatenate([np.zeros((d, len(actuated))), found.by_tau[0][np.ix_(own, actuated)]])
    names = component_names(plan)
    states = tuple(names[k] for k in own) + tuple(f"{names[k]}'" for k in own)
    return Linearisation(
        A, B, E, drift, own, actuated, states, tuple(names[k] for k in actuated), found.vdot[0]
    )


def step_rates(plan: Plan, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return T (nv, nv): a step x beside a motion with velocity v changes as x' = dv + T x.

    T is zero where v is dq/dt. With child-side twists S v and S x it follows from d(S v) = (S x)' + S v x S x.
    """
    T = np.zeros((plan.nv, plan.nv))
    for i in range(1, plan.n):
        kind = plan.kind[i]
        if kind is None or kind.nq == kind.nv:
            continue
        own = plan.v_of(i)
        q_i, v_i = q[plan.q_of(i)], v[own]
        S = kind.motion_space(q_i).array
        columns = []
        for c in range(kind.nv):
            unit = np.eye(kind.nv)[c]
            along = tangents(kind, q_i, v_i, unit)
            turned = sum(x * m.array for x, m in zip(v_i, along.push_by_q, strict=True))
            columns.append(along.motion_by_q[c].array - turned - _cross(S @ v_i, S[:, c]))
        T[own, own] = np.linalg.lstsq(S, np.array(columns, dtype=float).T, rcond=1e-12)[0]
    return T


def _cross(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cross(v[:3], x[:3]), np.cross(v[:3], x[3:]) + np.cross(v[3:], x[:3])])


def component_names(plan: Plan) -> list[str]:
    """Return a name for each velocity component: that of its joint, with a number where the joint has several."""
    names = [""] * plan.nv
    for i in range(1, plan.n):
        for k in range(plan.v_size[i]):
            several = f"[{k}]" if plan.v_size[i] > 1 else ""
            names[int(plan.v_start[i]) + k] = f"{plan.joint[i]}{several}"
    return names


def eigenmodes(linear: Linearisation) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (k,) of a linear motion at rest, slowest first, and its shapes (nv, k) in all velocity
    components, the largest entry 1. A pair of conjugate eigenvalues is one mode, and so is a real eigenvalue."""
    d = linear.A.shape[0] // 2
    K, C = -linear.A[d:, :d], -linear.A[d:, d:]
    if not np.any(C):
        squares, vectors = np.linalg.eig(K)
        values = np.where(
            squares.real >= 0.0, 1j * np.sqrt(np.abs(squares.real)), np.sqrt(np.abs(squares.real))
        )
    else:
        values, whole = np.linalg.eig(linear.A)
        chosen = values.imag >= 0.0
        values, vectors = values[chosen], whole[:d, chosen]
    order = np.argsort(np.abs(values), kind="stable")
    shapes = linear.E @ vectors[:, order]
    if shapes.size:
        largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
        shapes = shapes / largest
    return np.asarray(values[order], dtype=complex), shapes.astype(complex)


def rests(linear: Linearisation, gravity: np.ndarray, H: np.ndarray) -> bool:
    """Return whether a state stays as it is: accelerations are little beside what gravity would do to the inertia H
    (nv, nv) of the tree."""
    size = np.linalg.norm(gravity) * np.sqrt(np.trace(H)) if H.size else 0.0
    return bool(np.linalg.norm(linear.vdot) <= 1e-3 * max(size, 1.0))
