"""References of single joints, bundled to one of all coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.references.as_polynomial import as_polynomial
from catena.simulation.references.constant import Constant
from catena.simulation.references.function import Formula, as_formula, one_formula
from catena.simulation.references.in_step import ReferenceInStep, formula_rows, in_step
from catena.simulation.references.inverse_kinematics import InverseKinematics
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.protocol import (
    Prescribed,
    ReferenceMotion,
    as_configuration,
    as_times,
    is_reference,
)
from catena.simulation.references.task_path import STEP
from catena.spatial.scalars import is_symbolic
from catena.system import System
from catena.system.of_system import as_system
from catena.validation import is_positive, real_array, shown


class JointPath:
    """What the joints named in `references` should follow, as a reference of the whole system.

    A reference of a joint is an object with `at(t)`, a function t -> (q, v, vdot), or a position to hold. In a tree,
    joints that are not named stay at `rest` (nq,), the neutral configuration unless given. With loops the others
    follow from the loops, on the branch of `rest`, in steps of `step` seconds from the time 0.
    """

    lasting = False
    """A user's functions may give something else in the next run."""

    def __init__(
        self,
        system: System,
        references: Mapping[str, Prescribed | ArrayLike],
        rest: ArrayLike | None = None,
        step: float = STEP,
    ) -> None:
        if not isinstance(references, Mapping) or not references:
            raise StateError(
                f"joint path: {shown(references)}; give a mapping such as {{'A': cubic([0, 1], [0, 2])}}."
            )
        if not is_positive(step):
            raise StateError(f"joint path: step is {shown(step)}; give a positive number of seconds.")
        self.system, self.step = as_system(system, "joint path"), step
        self.rest = system.neutral() if rest is None else as_configuration(system, rest, "joint path", "rest")
        self.followed = np.zeros(system.nv, dtype=bool)
        self._formulas = any(as_formula(reference) is not None for reference in references.values())
        self._references: dict[str, Any] = {}
        self._parts: list[tuple[str, slice, slice, Callable[[Any], Any]]] = []
        for name, followed in references.items():
            where_q, where_v = system.slice_q(name), system.slice_v(name)
            known = _reference(
                system, name, followed, where_q.stop - where_q.start, where_v.stop - where_v.start
            )
            self._references[name] = known
            source = known.at if is_reference(known) else partial(_each, known, name)
            self.followed[where_v] = True
            self._parts.append((name, where_q, where_v, source))
        self.given(np.zeros(()))
        self._inverse: InverseKinematics | None = None

    def given(self, t: ArrayLike) -> ReferenceMotion:
        """Return q (..., nq), v and vdot (..., nv) in which only the joints named are right; the others rest."""
        if isinstance(t, float) and isfinite(t) and self.in_step is not None:
            found = ReferenceMotion(*self.in_step.at(t))
            # Polynomials are finite; of formulas that are not, the way for many times has words.
            if not self._formulas or all(isfinite(x.sum()) for x in found):
                return found
        times = as_times(t, "joint path")
        nq, nv = self.system.nq, self.system.nv
        q = np.broadcast_to(self.rest, (*times.shape, nq)).copy()
        v, a = np.zeros((*times.shape, nv)), np.zeros((*times.shape, nv))
        for name, where_q, where_v, source in self._parts:
            for target, where, what, x in zip(
                (q, v, a),
                (where_q, where_v, where_v),
                ("position", "velocity", "acceleration"),
                source(times),
            ):
                target[..., where] = _fitting(name, what, x, (*times.shape, where.stop - where.start))
        return ReferenceMotion(q, v, a)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: what was made for the compiled step is made again."""
        return {name: x for name, x in self.__dict__.items() if name != "in_step"}

    @cached_property
    def in_step(self) -> ReferenceInStep | None:
        """Return the same as `given` for the compiled step; None where one reference is known to Python only."""
        system, rest = self.system, self.rest
        flat: list[PiecewisePolynomial] = []
        at: list[np.ndarray] = [np.zeros(0, dtype=int)]
        formulas: list[Formula] = []
        theirs: list[np.ndarray] = []
        curved: list[tuple[ReferenceInStep, Any, Any]] = []
        for (name, where_q, where_v, _), reference in zip(
            self._parts, self._references.values(), strict=True
        ):
            polynomial, formula, known = as_polynomial(reference), as_formula(reference), in_step(reference)
            places = [np.arange(where_q.start, where_q.stop), np.arange(where_v.start, where_v.stop)]
            if polynomial is not None and len(places[0]) == len(places[1]):
                flat.append(polynomial)
                at += places
            elif known is None or not self._is_right(name, known):
                return None
            elif formula is not None:
                formulas.append(formula)
                theirs += places
            else:
                curved.append((known, where_q, where_v))
        if formulas:
            move = partial(_along_formula, one_formula(formulas))
            curved.append(
                (ReferenceInStep((), move), np.concatenate(theirs[::2]), np.concatenate(theirs[1::2]))
            )
        at_q, at_v = np.concatenate([at[0], *at[1::2]]), np.concatenate([at[0], *at[2::2]])
        k = len(at_q)
        paths = [(path, order) for order in range(3) for path in flat]
        parts, first = [], 3 * k
        for known, where_q, where_v in curved:
            parts.append((known.motion, where_q, where_v, slice(first, first + known.table.width)))
            paths += known.paths
            first += known.table.width
        in_order = not curved and np.array_equal(at_q, np.arange(system.nq)) and system.nq == system.nv

        def motion(t: Any, x: Any) -> tuple[Any, Any, Any]:
            """Return q, v and vdot of all coordinates; those of polynomials come first, curved ones behind them."""
            if in_order:
                return x[..., :k], x[..., k : 2 * k], x[..., 2 * k :]
            kind = object if is_symbolic(x) or is_symbolic(t) else np.float64
            many = np.shape(x)[:-1]
            q = np.broadcast_to(rest, (*many, system.nq)).astype(kind) if many else rest.astype(kind)
            v, a = np.zeros((*many, system.nv), kind), np.zeros((*many, system.nv), kind)
            q[..., at_q], v[..., at_v], a[..., at_v] = (x[..., j * k : (j + 1) * k] for j in range(3))
            for move, where_q, where_v, span in parts:
                q[..., where_q], v[..., where_v], a[..., where_v] = move(t, x[..., span])
            return q, v, a

        return ReferenceInStep(tuple(paths), motion, self)

    @cached_property
    def knots(self) -> np.ndarray | None:
        """Return the times (n,), two or more, between which the whole system moves smoothly if the joints named are all
        that moves freely, and before and after which it rests; None where only Python knows, or a motion has no
        end."""
        paths = [as_polynomial(reference) for reference in self._references.values()]
        moving = [path for path in paths if path is None or path.coefficients.shape[:2] != (1, 1)]
        if any(path is None or path.periodic for path in moving):
            return None
        # Motions of loops begin at the time 0, before which the system stands.
        times = [np.array([0.0, self.step]), *(path.times for path in moving if path is not None)]
        found = np.unique(np.concatenate(times))
        return found[found >= 0.0]

    def _is_right(self, name: str, known: ReferenceInStep) -> bool:
        """Return whether a reference has as many numbers as its joint; `given` has words for one that has not."""
        where = self.system.slice_q(name), *2 * (self.system.slice_v(name),)
        return all(len(x) == w.stop - w.start for x, w in zip(known.at(0.0), where, strict=True))

    def at(self, t: ArrayLike) -> ReferenceMotion:
        """Return q (..., nq), v (..., nv) and vdot (..., nv) of the whole system, its loops closed."""
        if not self.system.plan.total_constraints:
            return self.given(t)
        times = as_times(t, "joint path")
        if self._inverse is None:
            self._inverse = InverseKinematics(self.system, _Joints(self), self.rest, 0.0, self.step)
        found = self._inverse.at(times.ravel())
        return ReferenceMotion(*(x.reshape(*times.shape, x.shape[-1]) for x in found))


def _along_formula(formula: Formula, t: Any, x: Any) -> tuple[Any, Any, Any]:
    return formula_rows(formula, t)


class _Joints:
    """The task of the joints named."""

    def __init__(self, path: JointPath) -> None:
        self.path = path
        self.units = np.ones(int(path.followed.sum()))
        self._J = np.eye(path.system.nv)[path.followed]

    def goal(self, t: np.ndarray) -> ReferenceMotion:
        return self.path.given(t)

    def rows(self, q: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self._J, (len(q), *self._J.shape))

    def error(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        return self.path.system.difference(q, goal.q)[..., self.path.followed]

    def rate(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        return goal.v[..., self.path.followed]

    def acceleration(self, goal: ReferenceMotion, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return goal.vdot[..., self.path.followed]

    def complaint(self, t: float, error: np.ndarray) -> str:
        """Say that the joints do not get where they should."""
        names = ", ".join(repr(part[0]) for part in self.path._parts)
        who = f"The joints {names} of {self.path.system.mechanism.name!r} cannot follow their references"
        left = f": {np.abs(error).max():.3g} is left" if error.any() else ""
        return f"{who} at t = {t:.6g} s with the loops closed{left}"


def _reference(system: System, name: str, source: Any, nq: int, nv: int) -> Any:
    """Return the reference of a joint, or the user's function for it."""
    if is_reference(source) or callable(source):
        return source
    stays = Constant(source, nv)
    if stays.position.shape != (nq,):
        raise StateError(
            f"joint {name!r}: the position to hold has {len(stays.position)} numbers; give {nq}, or a reference."
        )
    kind = system.plan.kind[system.plan.joint.index(name)]
    assert kind is not None
    kind.check(stays.position, name)
    return stays


def _each(function: Callable[[float], Any], name: str, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return a user's function of one time, for many."""
    rows = []
    for one in t.ravel():
        found = function(float(one))
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise StateError(
                f"joint {name!r}: the function gave {shown(found)} at t = {one:.6g} s; give (q, v, vdot)."
            )
        try:
            rows.append([np.atleast_1d(real_array(x)) for x in found])
        except ValueError as error:
            raise StateError(
                f"joint {name!r}: the function gave {shown(found)} at t = {one:.6g} s: {error}."
            ) from error
    return tuple(np.stack(x).reshape(*t.shape, -1) for x in zip(*rows))


def _fitting(name: str, what: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a reference gave, if it has the shape it must have and is finite."""
    if np.shape(x) != shape:
        raise StateError(
            f"joint {name!r}: its reference gives a {what} of shape {np.shape(x)}; it must be {shape}."
        )
    if not np.isfinite(x).all():
        raise StateError(f"joint {name!r}: its reference gives a {what} that is not finite.")
    return x
