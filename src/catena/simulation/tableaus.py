"""Explicit Runge-Kutta methods as tables of coefficients (Butcher tableaus)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tableau:
    """Stage i is at y0 + h sum_j a[i][j] k_j, the result at y0 + h sum_i b[i] k_i. `b_low` belongs to a result of lower
    order, whose difference estimates the error; () for a method without one."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    b_low: tuple[float, ...] = ()

    @property
    def stages(self) -> int:
        """How often a step evaluates the accelerations."""
        return len(self.b)

    @property
    def c(self) -> tuple[float, ...]:
        """The times of the stages, as parts of the step."""
        return tuple(float(np.sum(row)) for row in self.a)


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
    (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40),
)  # fmt: skip

TABLEAUS = {t.name: t for t in (EULER, MIDPOINT, RK4, DOPRI5)}
