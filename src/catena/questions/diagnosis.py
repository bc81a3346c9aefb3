"""What the loops of a mechanism do to it in one configuration: mobility, rank, redundancy, singularity.

The rank is decided on the constraints in scale-free square-root form, A = J L^-T with H = L L^T and rows divided
by what their loop could do in any direction. Its singular values show a misalignment of 1e-6 rad as about
1e-6; in J H^-1 J^T it would be 1e-12, next to rounding.

A left null vector of A is a set of forces in the loop joints that moves nothing: one of the constraints that take
part in it is redundant. A configuration is singular if constraints are independent in closed configurations
beside it that are not in it; those beside it are found by going a little way along each free motion and
closing the loops again.

Whether constraints count that are redundant but for the accuracy of the model is not decided here, but for the whole
mechanism (`kinematics.loops.near_redundancy`): a second evaluator, with loops that leave them out, says how many count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import divide_upper
from catena.kernels.evaluation import Evaluator
from catena.kinematics.coordinates import difference, integrate
from catena.kinematics.loops.assembly import close
from catena.kinematics.loops.scales import CLOSED
from catena.mechanism import Mechanism
from catena.structure.flattening import canonical
from catena.thresholds import RANK_EXACT

# Singular values below this part of the largest, but not zero, come from constraints that are redundant but for
# small errors of the dimensions.
NEARLY = 1e-4
# How far to look for configurations beside this one (rad or m), and in how many directions.
BESIDE = 0.03
DIRECTIONS = 3


@dataclass(frozen=True, eq=False)
class Redundancy:
    """One constraint of a loop joint that others impose already.

    `direction` (6,) is the force it could give, [moment; force] in the axes of the child-side joint frame, and
    `words` say which motion that prevents. `loops` are all loops whose forces can play against each other here,
    so that their reactions are not unique. `singular_value` is zero, or small where the constraint is
    redundant but for small errors of the dimensions, whether or not these are below the accuracy of the model. Where
    `is_coupling`, it is a coupling called `loop` that is redundant, and `direction` is zero.
    """

    loop: str
    direction: np.ndarray
    words: str
    loops: tuple[str, ...]
    singular_value: float
    is_coupling: bool = False


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The loops of a mechanism in one configuration.

    `mobility` is the number of independent velocities, `freedom` that of the tree (nv), `constraints` the number of
    conditions of all loops and `rank` how many of them are independent. `generic_rank` is the rank in closed
    configurations beside this one; the configuration is `singular` if that is higher, or if it has free
    velocities that lead nowhere (`shaky`), and `near_singular` if constraints that hardly count here do count
    beside it. `singular_values` belong to the scale-free square-root form, largest
    first; `gap` is the pair (smallest that counts, largest that does not). `closure_error` is the largest error
    of a loop, as an angle or a part of the mechanism's size.
    """

    name: str
    freedom: int
    constraints: int
    rank: int
    generic_rank: int
    singular: bool
    shaky: bool
    near_singular: bool
    redundant: tuple[Redundancy, ...]
    nearly_redundant: tuple[Redundancy, ...]
    singular_values: np.ndarray
    gap: tuple[float, float]
    closure_error: float

    @property
    def mobility(self) -> int:
        """The number of independent velocities in this configuration."""
        return self.freedom - self.rank

    @property
    def generic_mobility(self) -> int:
        """The number of independent velocities in closed configurations beside this one."""
        return self.freedom - self.generic_rank

    @property
    def redundancy(self) -> int:
        """The number of constraints that could be left out without changing the motion."""
        return self.constraints - self.rank

    def __str__(self) -> str:
        lines = [
            f"{self.name}: mobility {self.mobility} = {self.freedom} coordinates of the tree - {self.rank} independent "
            f"constraints (of {self.constraints})."
        ]
        if self.constraints == 0:
            return f"{lines[0]} There are no loops to close and no couplings."
        if self.redundant:
            lines.append(f"{_count(len(self.redundant), 'constraint')} redundant, reactions are not unique:")
            lines += [f"  {_line(r)}{_but_for(r)}" for r in self.redundant]
        else:
            lines.append("No constraint is redundant; all reactions are unique.")
        if self.nearly_redundant:
            weak = len(self.nearly_redundant)
            why = (
                "nearly redundant, because a singular configuration is near"
                if self.near_singular
                else "redundant but for small errors of the dimensions, without which the mobility would be "
                f"{self.mobility + weak}"
            )
            lines.append(f"{_count(weak, 'constraint')} {why}:")
            lines += [f"  {_line(r)}, singular value {r.singular_value:.2g}" for r in self.nearly_redundant]
        if self.shaky:
            lines.append(
                "The configuration is singular: it has free velocities, but they lead nowhere (shaky)."
            )
        elif self.singular:
            lines.append(
                f"The configuration is singular: beside it the rank is {self.generic_rank} and the mobility "
                f"{self.generic_mobility}."
            )
        else:
            lines.append("The configuration is not singular.")
        lines.append(
            f"Singular values of the scale-free constraints: {self.gap[0]:.3g} is the smallest that counts, "
            f"{self.gap[1]:.3g} the largest that does not."
        )
        if self.closure_error > CLOSED:
            lines.append(
                f"The loops are open by {self.closure_error:.3g} (rad, or part of the mechanism's size)."
            )
        return "\n".join(lines)


def diagnose(
    evaluator: Evaluator,
    mechanism: Mechanism,
    q: np.ndarray,
    tolerance: float = RANK_EXACT,
    effective: Evaluator | None = None,
) -> Diagnosis:
    """Diagnose the loops at q (nq,). `tolerance` is the part of the largest singular value that counts as zero.

    If the loops are a little open at q and can be closed beside it, the rank is that of the closed configuration. The
    loops of `effective`, unless they are the same, say how many constraints count.
    """
    other = effective if effective is not None and effective.plan is not evaluator.plan else None
    error = float(motion_problem(evaluator, q).closure_error[0])
    counts = motion_problem(other or evaluator, q)
    if float(counts.closure_error[0]) > CLOSED:
        closed, fits = close(other or evaluator, q)
        if fits and _distance(evaluator, q, closed) <= 1e3 * error:
            q, counts = closed, motion_problem(other or evaluator, closed)
    problem = counts if other is None else motion_problem(evaluator, q)
    U, s, Vt = np.linalg.svd(problem.scaled[0])
    own = np.linalg.svd(counts.scaled[0], compute_uv=False)
    rank, weak = _rank(own, tolerance), _rank(own, NEARLY)
    generic, lost, near = rank, False, False
    if rank < problem.plan.nv and rank < len(problem.scaled[0]):
        free = divide_upper(problem.equations[0][0], Vt[rank:].T)
        beside = [_values_beside(other or evaluator, q, free @ z) for z in _directions(free.shape[1])]
        found = [values for values in beside if values is not None]
        generic, lost = max([rank, *(_rank(values, tolerance) for values in found)]), not found
        near = max([weak, *(_rank(values, NEARLY) for values in found)]) > weak
    names = _Names(mechanism, problem)
    dropped = s[rank:] if len(s) > rank else np.zeros(1)
    return Diagnosis(
        name=problem.plan.name,
        freedom=problem.plan.nv,
        constraints=problem.plan.total_constraints,
        rank=rank,
        generic_rank=generic,
        singular=generic > rank or lost,
        shaky=lost,
        near_singular=near,
        redundant=names.of(U[:, rank:], lambda k: _beyond_rounding(s, rank + k, tolerance)),
        nearly_redundant=names.of(U[:, weak:rank], lambda k: float(s[weak + k])),
        singular_values=s,
        gap=(float(s[rank - 1]) if rank else 0.0, float(dropped.max(initial=0.0))),
        closure_error=error,
    )


class _Names:
    """What the rows of the constraints are called."""

    def __init__(self, mechanism: Mechanism, problem: LoopProblem) -> None:
        self.owner: list[str] = []
        self.direction: list[np.ndarray] = []
        self.couplings = {state.name: state for state in problem.couplings}
        for state in problem.loops:
            joint = mechanism.joints[state.name]
            turn = np.eye(3) if joint.locked_at is not None else canonical(joint.kind, False)[0]
            for phi in state.Phi[0].T:
                force = np.concatenate([turn @ phi[:3], turn @ phi[3:]])
                self.owner.append(state.name)
                self.direction.append(force / np.linalg.norm(force))
        for tied in problem.couplings:
            self.owner += [_COUPLING + tied.name] * tied.loop.constraints
            self.direction += [np.zeros(6)] * tied.loop.constraints

    def of(self, U: np.ndarray, singular_value: Callable[[int], float]) -> tuple[Redundancy, ...]:
        """One redundancy for each column of U (m, k), each with a constraint of its own."""
        result = []
        rows, columns = _pivots(U)
        # The same space of forces, with each redundant constraint in one vector only.
        apart = np.abs(U[:, columns] @ np.linalg.inv(U[np.ix_(rows, columns)]))
        for i in np.argsort(rows):
            row, k, part = rows[i], columns[i], apart[:, i]
            taking = [name for name, x in zip(self.owner, part) if x > 1e-6]
            result.append(
                Redundancy(
                    _plain(self.owner[row]),
                    self.direction[row],
                    self._words(row),
                    tuple(dict.fromkeys(map(_plain, taking))),
                    singular_value(k),
                    self.owner[row].startswith(_COUPLING),
                )
            )
        return tuple(result)

    def _words(self, row: int) -> str:
        """Return what the constraint of a row prevents."""
        owner = self.owner[row]
        if not owner.startswith(_COUPLING):
            return _motion(self.direction[row])
        joints = [term.joint for term in self.couplings[_plain(owner)].loop.terms]
        return f"independent motion of the joints {', '.join(joints)}"


# What owners of rows begin with that are couplings, which may have the names of joints.
_COUPLING = "coupling:"


def _plain(owner: str) -> str:
    return owner.removeprefix(_COUPLING)


def _rank(s: np.ndarray, tolerance: float) -> int:
    # A row that constrains something has size 1 or so, hence the floor: all rows may be zero but for rounding.
    return int((s > tolerance * s.max(initial=1.0)).sum())


def _beyond_rounding(s: np.ndarray, k: int, tolerance: float) -> float:
    """Return the k-th singular value where there is one that is more than rounding."""
    return float(s[k]) if k < len(s) and s[k] > tolerance * s.max(initial=1.0) else 0.0


def _values_beside(evaluator: Evaluator, q: np.ndarray, way: np.ndarray) -> np.ndarray | None:
    """Return the singular values in a closed configuration in the direction of `way` (nv,), None if there is none."""
    step = BESIDE * way / np.abs(way).max()
    start = evaluator.evaluate(integrate, {"q": q, "qd": step})["q_next"]
    beside, closed = close(evaluator, start)
    if not closed or _distance(evaluator, q, beside) < 0.3 * BESIDE:
        return None
    return np.linalg.svd(motion_problem(evaluator, beside).scaled[0], compute_uv=False)


def _distance(evaluator: Evaluator, q0: np.ndarray, q1: np.ndarray) -> float:
    return float(np.abs(evaluator.evaluate(difference, {"q": q0, "q_next": q1})["step"]).max(initial=0.0))


def _directions(k: int) -> np.ndarray:
    """Directions in a space of dimension k, always the same; both ways where there is only one."""
    if k == 1:
        return np.array([[1.0], [-1.0]])
    return np.random.default_rng(0).normal(size=(DIRECTIONS, k))


def _pivots(U: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows of U (m, k) that make a well-conditioned square, each with the column it stands for."""
    rest = U.copy()
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(U.shape[1]):
        size = np.abs(rest)
        # Rounding must not choose between constraints that take part alike.
        row, column = np.argwhere(size >= (1.0 - 1e-6) * size.max())[0]
        rows.append(int(row))
        columns.append(int(column))
        rest = rest - np.outer(rest[:, column], rest[row]) / rest[row, column]
        rest[row], rest[:, column] = 0.0, 0.0
    return rows, columns


def _motion(direction: np.ndarray) -> str:
    """Return the motion that a force in this direction (6,) resists."""
    moment, force = direction[:3], direction[3:]
    about, along = f"rotation about {_axis(moment)}", f"translation along {_axis(force)}"
    if np.linalg.norm(force) < 1e-9:
        return about
    return along if np.linalg.norm(moment) < 1e-9 else f"{about} coupled with {along}"


def _axis(x: np.ndarray) -> str:
    length = float(np.linalg.norm(x))
    if length < 1e-9:
        return "no axis"
    x = x / length
    if np.abs(x).max() > 1.0 - 1e-12:
        return "xyz"[int(np.argmax(np.abs(x)))]
    return "({:.4g}, {:.4g}, {:.4g})".format(*(x + 0.0))


def _line(r: Redundancy) -> str:
    others = [name for name in r.loops if name != r.loop]
    shared = f", shared with {', '.join(others)}" if others else ""
    whose = f"by coupling {r.loop}" if r.is_coupling else f"of joint {r.loop}'s frame"
    return f"{r.words} {whose}{shared}"


def _but_for(r: Redundancy) -> str:
    return f", but for a singular value of {r.singular_value:.2g}" if r.singular_value else ""


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s are' if n > 1 else ' is'}"
