"""Motion with loops in joint coordinates with multipliers, and in minimal coordinates, as expressions. Nikravesh, Gim,
Arabyan and Rein, eq. 11 to 25.

    joint coordinates      H vdot = force + J^T lambda,     J vdot + gamma = 0
    minimal coordinates    v = E v_i,   (E^T H E) vdot_i = E^T (force - H drift),   vdot = E vdot_i + drift

Which constraints are independent, and which coordinates, the running code decides in every state. One expression
cannot, so it is decided once in a reference configuration, and the equations hold as long as that choice does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from catena.dynamics import composite_body, newton_euler
from catena.dynamics.loops.formulations.joint_multipliers import independent_rows
from catena.dynamics.loops.formulations.minimal import partition_of
from catena.dynamics.loops.independent import independent_components
from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.tree.rotors import with_rotors
from catena.equations.derivation import Derivation
from catena.equations.loop_rows import LoopRows, loop_rows
from catena.kernels.evaluation import Evaluator
from catena.spatial.linear import ldl_solve
from catena.spatial.scalars import array, reciprocal


@dataclass(frozen=True, eq=False)
class ConstraintChoice:
    """What a reference configuration decides: independent rows (r,), dependent coordinates (r,) in the order in which
    elimination takes them with those rows, and independent coordinates (nv - r,)."""

    rows: np.ndarray
    dependent: np.ndarray
    independent: np.ndarray


def choose(evaluator: Evaluator, q: np.ndarray, names: str | Iterable[str] | None = None) -> ConstraintChoice:
    """Return the choice of the running code at a closed configuration q (nq,); coordinates of the joints `names` are
    the independent ones, if these are given."""
    problem = motion_problem(evaluator, q)
    rank, nv = int(problem.rank[0]), evaluator.plan.nv
    unit = 1.0 / np.linalg.norm(problem.equations[0][0], axis=-1)
    J = problem.J[0] / problem.scale[0][:, None]
    chosen = None if names is None else independent_components(evaluator.plan, names)
    independent = partition_of(problem, chosen).independent
    if chosen is None:
        rows = independent_rows(problem.scaled[0], rank)
    else:
        rows = independent_rows((J * unit)[:, np.setdiff1d(np.arange(nv), chosen)], rank)
    dependent = np.array([k for k in range(nv) if k not in set(independent.tolist())], dtype=np.int64)
    order = _pivots((J * unit)[np.ix_(rows, dependent)])
    return ConstraintChoice(rows[[i for i, _ in order]], dependent[[j for _, j in order]], independent)


def _pivots(A: np.ndarray) -> list[tuple[int, int]]:
    """Rows and columns of a square matrix in the order of complete pivoting."""
    rest, order = A.copy(), []
    for _ in range(len(A)):
        i, j = (int(x) for x in np.unravel_index(np.argmax(np.abs(rest)), rest.shape))
        order.append((i, j))
        rest = rest - np.outer(rest[:, j], rest[i]) / rest[i, j]
        rest[i], rest[:, j] = 0.0, 0.0
    return order


@dataclass(frozen=True, eq=False)
class JointForm:
    """The equations of motion in joint coordinates: `H` (nv, nv), the `force` (nv,), which is tau - bias with the
    friction of loop joints, and the constraints."""

    H: np.ndarray
    force: np.ndarray
    rows: LoopRows


def joint_form(derivation: Derivation) -> JointForm:
    """Return the equations of motion of the tree and the constraints of its loops."""
    H = with_rotors(derivation.plan, derivation.play(composite_body, ("q",))["H"])
    bias = derivation.play(newton_euler, ("q", "v", "base_acceleration"))["tau"]
    rows = loop_rows(derivation)
    force = array([t - b + f for t, b, f in zip(derivation.joint_forces, bias, rows.friction, strict=True)])
    for rotor in rows.rotors:
        taken = [rotor.inertia * x for x in rotor.row]
        H = array(
            [
                [h + a * b for h, b in zip(line, rotor.row, strict=True)]
                for line, a in zip(H, taken, strict=True)
            ]
        )
        force = array([f - x * rotor.drift for f, x in zip(force, taken, strict=True)])
    return JointForm(H, force, rows)


def with_multipliers(derivation: Derivation, choice: ConstraintChoice) -> dict[str, np.ndarray]:
    """vdot (nv,) and the multipliers (m,) of all constraints, zero for those that were left out."""
    form = joint_form(derivation)
    J, gamma = form.rows.J[choice.rows], form.rows.gamma[choice.rows]
    nv = derivation.plan.nv
    together = ldl_solve(form.H, np.column_stack([J.T, form.force]))
    yields, free = together[:, :-1], together[:, -1]
    lam = ldl_solve(J @ yields, -(gamma + J @ free)) if len(J) else np.zeros(0)
    vdot = array([free[i] + sum(yields[i] * lam) for i in range(nv)])
    multipliers = np.zeros(len(form.rows.J), dtype=object)
    multipliers[choice.rows] = lam
    derivation.note("solve", "joint coordinates", vdot)
    return {"vdot": vdot, "multipliers": array(list(multipliers))}


def _transformation(form: JointForm, choice: ConstraintChoice) -> tuple[np.ndarray, np.ndarray]:
    """E (nv, d) and the drift (nv,) of vdot = E vdot_i + drift."""
    J, gamma = form.rows.J[choice.rows], form.rows.gamma[choice.rows]
    nv, d = len(form.force), len(choice.independent)
    known = np.column_stack([J[:, choice.independent], gamma])
    solved = _eliminate(J[:, choice.dependent], known)
    E, drift = np.zeros((nv, d), dtype=object), np.zeros(nv, dtype=object)
    E[choice.independent, np.arange(d)] = 1.0
    for row, k in zip(solved, choice.dependent, strict=True):
        E[k], drift[k] = -row[:d], -row[d]
    return E, drift


def least_forces(
    derivation: Derivation, choice: ConstraintChoice, actuated: np.ndarray, lever: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the least forces tau (nv,) of the `actuated` components (nv,) that produce a vdot which opens no loop,
    moments being divided by their `lever` (nv,)."""
    form = joint_form(derivation)
    E, _ = _transformation(form, choice)
    vdot = derivation.arguments["vdot"]
    wanted = E.T @ (form.H @ vdot - form.force)
    act = np.flatnonzero(actuated)
    A = E[act].T * lever[act]
    tau = np.zeros(len(vdot), dtype=object)
    tau[act] = lever[act] * (A.T @ ldl_solve(_plain(A @ A.T), _plain(wanted)))
    derivation.note("solve", "actuators", tau)
    return {"tau": _plain(tau)}


@dataclass(frozen=True, eq=False)
class MinimalForm:
    """Minimal coordinates: `E` (nv, d) and `drift` (nv,) with vdot = E vdot_i + drift, the reduced `mass_matrix` (d, d)
    and `force` (d,)."""

    E: np.ndarray
    drift: np.ndarray
    mass_matrix: np.ndarray
    force: np.ndarray


def minimal_form(derivation: Derivation, choice: ConstraintChoice) -> MinimalForm:
    """Return the equations of motion of the independent coordinates."""
    form = joint_form(derivation)
    E, drift = _transformation(form, choice)
    d = E.shape[1]
    HE = form.H @ E
    M = np.zeros((d, d), dtype=object)
    for i in range(d):
        for j in range(i, d):
            M[i, j] = M[j, i] = sum(E[:, i] * HE[:, j])
    force = E.T @ (form.force - form.H @ drift)
    derivation.note("reduce", "minimal coordinates", [*M.ravel(), *force])
    return MinimalForm(_plain(E), _plain(drift), _plain(M), _plain(force))


def minimal(derivation: Derivation, choice: ConstraintChoice) -> dict[str, np.ndarray]:
    """vdot (nv,) by way of the independent coordinates."""
    form = minimal_form(derivation, choice)
    accelerations = ldl_solve(form.mass_matrix, form.force)
    vdot = _plain(form.E @ accelerations + form.drift)
    derivation.note("solve", "minimal coordinates", vdot)
    return {"vdot": vdot}


def _eliminate(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A^-1 B by elimination without pivoting."""
    a, b = A.tolist(), B.tolist()
    n = len(a)
    inverse = []
    for k in range(n):
        inverse.append(reciprocal(a[k][k]))
        for i in range(k + 1, n):
            factor = a[i][k] * inverse[k]
            a[i] = [x - factor * y for x, y in zip(a[i], a[k], strict=True)]
            b[i] = [x - factor * y for x, y in zip(b[i], b[k], strict=True)]
    for k in reversed(range(n)):
        b[k] = [x * inverse[k] for x in b[k]]
        for i in range(k):
            b[i] = [x - a[i][k] * y for x, y in zip(b[i], b[k], strict=True)]
    return array(b) if n else np.zeros((0, B.shape[1]))


def _plain(x: np.ndarray) -> np.ndarray:
    return array(list(x.ravel())).reshape(x.shape)
