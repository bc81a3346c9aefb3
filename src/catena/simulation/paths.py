"""Prescribed motions and wrenches that are polynomials in time, as data of the compiled step.

No step passes a knot, so that within a call every path is one polynomial. Its coefficients about a common origin are
inputs of the step: new paths compile nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catena.simulation.external import DEGREE
from catena.simulation.references import PiecewisePolynomial
from catena.system import System


class Paths:
    """The polynomials of driven joints, and of wrenches, in the order in which the step is told them."""

    def __init__(
        self, system: System, motion: Mapping[str, PiecewisePolynomial], wrenches: list[PiecewisePolynomial]
    ) -> None:
        self.system, self.motion, self.wrenches = system, dict(motion), wrenches

    def knots(self, end: float) -> np.ndarray:
        """The times before `end` at which a path goes over to another polynomial."""
        found = [np.zeros(0)]
        for path in (*self.motion.values(), *self.wrenches):
            first, last = path.span
            if path.periodic:
                turns = int(np.ceil((end - first) / (last - first))) + 1
                found += [path.times + k * (last - first) for k in range(-1, turns)]
            else:
                found.append(path.times)
        times = np.unique(np.concatenate(found))
        return times[(times > 0.0) & (times < end)]

    def inputs(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """What the step is given for states at the times t (states,), which lie within or at the start of a piece."""
        origins, which = np.unique(t, return_inverse=True)
        found: dict[str, np.ndarray] = {"path_origin": t[:, None].copy()}
        if self.motion:
            table = np.zeros((len(origins), DEGREE + 1, self.system.nv))
            for k, origin in enumerate(origins):
                for joint, path in self.motion.items():
                    table[k, :, self.system.slice_v(joint)] = path.taylor(float(origin), DEGREE)
            found |= {f"path_{j}": table[which, j] for j in range(DEGREE + 1)}
        if self.wrenches:
            rows = [
                np.concatenate([path.taylor(float(x), DEGREE) for path in self.wrenches], axis=1)
                for x in origins
            ]
            stacked = np.stack(rows)
            found |= {f"wrench_{j}": stacked[which, j] for j in range(DEGREE + 1)}
        return found
