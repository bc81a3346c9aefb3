"""Joints whose motion is prescribed: where they are, how fast they move, and with which accelerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from catena.errors import SimulationError
from catena.simulation.references import PiecewisePolynomial, as_polynomial
from catena.simulation.references.function import Formula, Function, as_formula
from catena.simulation.references.protocol import Prescribed
from catena.spatial.scalars import array
from catena.system import System
from catena.validation import real_array, shown

Guide = Callable[[Any, Any, Any, Any], Any]
"""Gives q, v and the accelerations of driven joints at a time, where formulas know them."""
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Position, velocity and acceleration of a joint."""


class PrescribedJoints:
    """The joints of a system that follow a `motion` each, whatever it takes."""

    def __init__(self, system: System, motion: Mapping[str, Prescribed]) -> None:
        self.system, self.motion = system, motion
        columns = [k for joint in motion for k in range(system.nv)[system.slice_v(joint)]]
        self.columns = np.array(columns, dtype=int)
        """The components of velocities that are prescribed."""
        self._last: tuple[float, dict[str, Parts]] | None = None
        """The motion at the time that was asked for last."""

    def compiled(self) -> tuple[dict[str, PiecewisePolynomial], Guide | None] | None:
        """Return what steps follow by themselves: polynomials by joint, and what formulas give; None where Python must
        be asked, which has words for what does not fit its joint."""
        system = self.system
        paths = {j: path for j, m in self.motion.items() if (path := as_polynomial(m)) is not None}
        formulas = {j: f for j, m in self.motion.items() if (f := as_formula(m)) is not None}
        if len(paths) + len(formulas) < len(self.motion) or not all(map(self._is_plain, self.motion)):
            return None
        places = tuple((system.slice_q(j), system.slice_v(j), f) for j, f in formulas.items())
        if any(len(formula(0.0)[0]) != own.stop - own.start for own, _, formula in places):
            return None
        return paths, partial(_guided, places) if places else None

    def at(self, t: float) -> dict[str, Parts]:
        """Return position, velocity and acceleration of the joints at a time, by joint."""
        if self._last is not None and self._last[0] == t:
            return self._last[1]
        found = {joint: self._checked(joint, t, motion) for joint, motion in self.motion.items()}
        self._last = t, found
        return found

    def _checked(self, joint: str, t: float, motion: Any) -> Parts:
        """Return what one joint is given at a time."""
        parts = motion.at(t) if hasattr(motion, "at") else motion(t)
        try:
            q, v, vdot = (np.atleast_1d(real_array(x)) for x in parts)
        except (TypeError, ValueError) as error:
            raise SimulationError(
                f"The motion of joint {joint!r} at t = {t:.9g} s is {shown(parts)}; give position, velocity and "
                f"acceleration."
            ) from error
        if any(x.ndim > 1 for x in (q, v, vdot)):
            raise SimulationError(
                f"The motion of joint {joint!r} at t = {t:.9g} s has the shapes {q.shape}, {v.shape} and "
                f"{vdot.shape}; it is the same for all states, so give the components alone, and run states with "
                f"motions of their own one by one."
            )
        system = self.system
        nq, nv = (
            len(range(size)[own])
            for size, own in ((system.nq, system.slice_q(joint)), (system.nv, system.slice_v(joint)))
        )
        if (len(q), len(v), len(vdot)) != (nq, nv, nv):
            raise SimulationError(
                f"The motion of joint {joint!r} has {len(q)}, {len(v)} and {len(vdot)} components; it needs {nq}, {nv} "
                f"and {nv}."
            )
        if not all(np.isfinite(x).all() for x in (q, v, vdot)):
            raise SimulationError(f"The motion of joint {joint!r} is not finite at t = {t:.9g} s.")
        return q, v, vdot

    def imposed(self, t: float, q: np.ndarray, v: np.ndarray) -> Parts:
        """Return the states q (states, nq), v (states, nv) with these joints where they must be, and their
        accelerations (states, nv), zero elsewhere."""
        q, v, vdot = q.copy(), v.copy(), np.zeros_like(v)
        for joint, (q_joint, v_joint, a_joint) in self.at(t).items():
            q[:, self.system.slice_q(joint)] = q_joint
            v[:, self.system.slice_v(joint)] = v_joint
            vdot[:, self.system.slice_v(joint)] = a_joint
        return q, v, vdot

    def accelerations(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Return the accelerations (samples, components) of the joints at the times (samples,)."""
        found = {}
        for joint, motion in self.motion.items():
            path = motion if isinstance(motion, Function) else as_polynomial(motion)
            if path is not None and self._is_plain(joint):
                found[joint] = path.at(times).vdot
        if len(found) < len(self.motion):
            rows = [self.at(float(t)) for t in times]
            asked = {joint: np.stack([row[joint][2] for row in rows]) for joint in self.motion}
            found = asked | found
        return found

    def _is_plain(self, joint: str) -> bool:
        """Return whether positions of a joint are plain numbers whose rates are its velocities."""
        kind = self.system.plan.kind[self.system.plan.joint.index(joint)]
        return kind is not None and not kind.turning and kind.nq == kind.nv


def _guided(motions: tuple[tuple[slice, slice, Formula], ...], t: Any, q: Any, v: Any, vdot: Any) -> Any:
    """Return q (nq,), v (nv,) and the accelerations (nv,) of driven joints with what formulas give for some of them."""
    q, v, vdot = (array(list(x)) for x in (q, v, vdot))
    for places, components, formula in motions:
        q[places], v[components], vdot[components] = (array(row) for row in formula(t))
    return q, v, vdot
