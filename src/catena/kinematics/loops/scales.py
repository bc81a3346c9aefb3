"""What errors of loops and velocities are measured with, so that rank and closeness do not depend on units: radians and
characteristic lengths."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from catena.kinematics.extent import characteristic_length, extent
from catena.kinematics.loops.loop_movers import moving_loops
from catena.structure import Plan

# Errors up to this [rad or characteristic lengths] are rounding.
CLOSED = 1e-11


def row_sizes(Phi: np.ndarray, length: float) -> np.ndarray:
    """Return what a radian or a length of motion is along the columns of Phi (..., 6, m), the forces of constraints:
    (..., m); 1 for a column of zeros. For motions in place of forces give 1 / length."""
    size = np.linalg.norm(Phi[..., :3, :], axis=-2) + length * np.linalg.norm(Phi[..., 3:, :], axis=-2)
    return np.where(size > 0.0, size, 1.0)


def scaled_rows(D: np.ndarray, length: float) -> np.ndarray:
    """Rows (m, 6) that take error twists to radians, or to parts of a length [m]."""
    return D / row_sizes(D.T, length)[:, None]


def rounding_left(plan: Plan, q: np.ndarray) -> float:
    """Return what rounding may leave of the errors of loops at q (nq,), in radians or lengths."""
    out = 0.0
    for i in np.flatnonzero(moving_loops(plan)).tolist():
        kind = plan.kind[i]
        assert kind is not None
        at = kind.transform(q[plan.q_of(i)]).p
        out = max(out, float(np.linalg.norm(np.asarray(at, dtype=np.float64))))
    # Slides far out are rounded like what they are, not like what is left between them.
    return CLOSED * max(1.0, out / characteristic_length(plan))


class Scales:
    """The measures of one plan: `rows` (m,) for the constraints of its loops and couplings, in their order, and `units`
    (nv,), how much of each velocity component is a radian or a length."""

    def __init__(self, plan: Plan) -> None:
        length = characteristic_length(plan)
        Phi = [loop.kind.constraint_space(loop.kind.neutral()).array for loop in plan.loop_joints]
        rows = [row_sizes(np.asarray(x, dtype=np.float64), length) for x in Phi]
        rows += [np.full(tied.constraints, tied.size(extent(plan))) for tied in plan.couplings]
        self.rows = np.concatenate([np.zeros(0), *rows])
        self.units = np.ones(plan.nv)
        for i in range(1, plan.n):
            kind = plan.kind[i]
            assert kind is not None
            S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
            own = plan.v_of(i)
            units = 1.0 / row_sizes(S, 1.0 / length)
            shared = plan.owner is not None and plan.owner[i] != i
            self.units[own] = np.minimum(self.units[own], units) if shared else units

    def errors(self, e: np.ndarray) -> np.ndarray:
        """Errors (..., m) of the constraints in radians and lengths."""
        return e / self.rows

    def largest(self, e: np.ndarray) -> np.ndarray:
        """Return the largest (...) of the errors e (..., m) of the constraints, in radians and lengths."""
        return np.abs(e / self.rows).max(axis=-1, initial=0.0)

    def jacobian(self, J: np.ndarray) -> np.ndarray:
        """Return a Jacobian (..., m, nv) of the constraints whose rows and columns are in radians and lengths."""
        return J / self.rows[:, None] * self.units


@lru_cache(maxsize=64)
def scales_of(plan: Plan) -> Scales:
    """Return the measures of a plan, found once."""
    return Scales(plan)
