"""References of single joints, bundled to one of all coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.references.as_polynomial import InputPath, as_polynomial, held
from catena.simulation.references.constant import Constant
from catena.simulation.references.inverse_kinematics import InverseKinematics
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.protocol import (
    ReferenceMotion,
    as_configuration,
    as_system,
    as_times,
    is_reference,
)
from catena.simulation.references.task_path import STEP
from catena.system import System
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
        self, system: System, references: Mapping[str, Any], rest: Any = None, step: float = STEP
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
        self._references: dict[str, Any] = {}
        self._parts: list[tuple[str, slice, slice, Callable[[Any], Any]]] = []
        for name, given in references.items():
            where_q, where_v = system.slice_q(name), system.slice_v(name)
            known = _reference(
                system, name, given, where_q.stop - where_q.start, where_v.stop - where_v.start
            )
            self._references[name] = known
            source = known.at if is_reference(known) else partial(_each, known, name)
            self.followed[where_v] = True
            self._parts.append((name, where_q, where_v, source))
        self._bundles: list[_Bundle] = []
        self.given(0.0)
        self._bundles = self._bundled()
        self._inverse: InverseKinematics | None = None

    def given(self, t: Any) -> ReferenceMotion:
        """Return q (..., nq), v and vdot (..., nv) in which only the joints named are right; the others rest."""
        if self._bundles and isinstance(t, float) and isfinite(t):
            return self._at_one(t)
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

    def _at_one(self, t: float) -> ReferenceMotion:
        """Return the same at one time, where all references are polynomials: controllers ask for that often."""
        q, v, a = self.rest.copy(), np.zeros(self.system.nv), np.zeros(self.system.nv)
        for bundle in self._bundles:
            rows = bundle.motion.at_one(t)
            q[bundle.q] = rows[0, : len(bundle.q)]
            v[bundle.v], a[bundle.v] = rows[1:, bundle.moving]
        return ReferenceMotion(q, v, a)

    def _bundled(self) -> list[_Bundle]:
        """Return the references with equal knots as one each; nothing where one is no polynomial."""
        found: dict[tuple[Any, ...], list[tuple[str, PiecewisePolynomial]]] = {}
        for name, reference in self._references.items():
            motion = held(reference.position) if isinstance(reference, Constant) else as_polynomial(reference)
            if motion is None:
                return []
            key = (motion.periodic, motion.coefficients.shape[1], *motion.times.tolist())
            found.setdefault(key, []).append((name, motion))
        return [_bundle(self.system, parts) for parts in found.values()]

    def polynomials(self) -> dict[str, tuple[InputPath, InputPath]] | None:
        """Return positions and velocities of the joints named as polynomials in time; None where one is not."""
        found: dict[str, tuple[InputPath, InputPath]] = {}
        for name, reference in self._references.items():
            polynomial = as_polynomial(reference)
            if polynomial is not None:
                found[name] = (polynomial, 0), (polynomial, 1)
            elif isinstance(reference, Constant):
                found[name] = (held(reference.position), 0), (held(np.zeros(reference.nv)), 0)
            else:
                return None
        return found

    def at(self, t: Any) -> ReferenceMotion:
        """Return q (..., nq), v (..., nv) and vdot (..., nv) of the whole system, its loops closed."""
        if not self.system.plan.total_constraints:
            return self.given(t)
        times = as_times(t, "joint path")
        if self._inverse is None:
            self._inverse = InverseKinematics(self.system, _Joints(self), self.rest, 0.0, self.step)
        found = self._inverse.at(times.ravel())
        return ReferenceMotion(*(x.reshape(*times.shape, x.shape[-1]) for x in found))


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Polynomials of several joints as one, the coordinates (k,) and velocity components (m,) that it is of, and which
    of its columns have velocities (those of a quaternion that stays have none)."""

    motion: PiecewisePolynomial
    q: np.ndarray
    v: np.ndarray
    moving: np.ndarray


def _bundle(system: System, parts: list[tuple[str, PiecewisePolynomial]]) -> _Bundle:
    first = parts[0][1]
    coefficients = np.concatenate([motion.coefficients for _, motion in parts], axis=-1)
    motion = PiecewisePolynomial(first.times, coefficients, first.periodic, "joint path")
    spans = [(system.slice_q(name), system.slice_v(name)) for name, _ in parts]
    coordinates = [np.arange(q.start, q.stop) for q, _ in spans]
    is_flat = [q.stop - q.start == v.stop - v.start for q, v in spans]
    components = [np.arange(v.start, v.stop) for (_, v), flat in zip(spans, is_flat, strict=True) if flat]
    moving = np.repeat(is_flat, [len(each) for each in coordinates])
    v = np.concatenate([np.zeros(0, np.int64), *components])
    return _Bundle(motion, np.concatenate(coordinates), v, np.flatnonzero(moving))


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


def _reference(system: System, name: str, given: Any, nq: int, nv: int) -> Any:
    """Return the reference of a joint, or the user's function for it."""
    if is_reference(given) or callable(given):
        return given
    stays = Constant(given, nv)
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
