"""Explicit Runge-Kutta methods as tables of coefficients (Butcher tableaus)."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

Weights = tuple[float, ...]


@dataclass(frozen=True)
class Tableau:
    """Stage i is at y0 + h sum_j a[i][j] k_j, the result at y0 + h sum_i b[i] k_i. `errors` are weights whose sums
    h sum_i e[i] k_i estimate the error: none for a method of fixed steps, one, or two as in the 8(5,3) method, of
    orders 5 and 3. The error shrinks as h^error_order."""

    name: str
    order: int
    a: tuple[Weights, ...]
    b: Weights
    errors: tuple[Weights, ...] = ()
    error_order: int = 0

    @property
    def stages(self) -> int:
        """Return how often a step evaluates the accelerations."""
        return len(self.a)

    @cached_property
    def c(self) -> Weights:
        """Return the times of the stages, as parts of the step."""
        return tuple(float(np.sum(row)) for row in self.a)

    @property
    def is_adaptive(self) -> bool:
        """Return whether the method knows its error and chooses its steps."""
        return bool(self.errors)

    @property
    def ends_at_result(self) -> bool:
        """Return whether the last stage stands at the result (first same as last), as in both methods of Dormand and
        Prince."""
        return self.stages > 1 and self.a[-1] == self.b[:-1] and self.b[-1] == 0.0


EULER = Tableau("euler", 1, ((),), (1.0,))

MIDPOINT = Tableau("midpoint", 2, ((), (0.5,)), (0.0, 1.0))

RK4 = Tableau("rk4", 4, ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))

DOPRI5 = Tableau(
    "dopri5", 5,
    ((), (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
     (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
     (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
     (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    ((71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),), 5,
)  # fmt: skip

FIXED = ("euler", "midpoint", "rk4")
ADAPTIVE = ("dopri5", "dop853")


@cache
def tableau(name: str) -> Tableau:
    """Return the method of this name."""
    if name == "dop853":
        return _dop853()
    return {t.name: t for t in (EULER, MIDPOINT, RK4, DOPRI5)}[name]


def _dop853() -> Tableau:
    """Return the 8(5,3) method of Dormand and Prince, with the coefficients that SciPy keeps; its last stage stands
    at the result."""
    from scipy.integrate import DOP853

    n = DOP853.n_stages
    a = (*(tuple(row[:i]) for i, row in enumerate(DOP853.A[:n].tolist())), tuple(DOP853.B.tolist()))
    b = (*DOP853.B.tolist(), 0.0)
    return Tableau("dop853", 8, a, b, (tuple(DOP853.E5.tolist()), tuple(DOP853.E3.tolist())), 8)
