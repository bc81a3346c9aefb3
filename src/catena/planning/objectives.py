"""What a planned motion is to spend least of: squares of joint forces, work of motors, time, or an expression of the
user.

All but time are integrals over time of a number that belongs to a node. Squares of forces that are straight between
nodes are integrated exactly, everything else by the trapezoidal rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.planning.formulas import taken
from catena.planning.nonlinear_program import ProgramRows
from catena.system import System
from catena.validation import can_take, is_one_of, shown

OBJECTIVES = ("force", "energy", "time")
# Work counts by its size, whose kink at no power the search rounds off by this part of the power scale.
ROUNDED = 0.2
Expression = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Objective:
    """`name` is one of `OBJECTIVES` or "expression"; `rate` what is integrated, of the variables of a node, None for
    time; `scale` is the size of one unit of it in the search. `exact_rate` is what a plan tells instead where the
    search smooths."""

    name: str
    rate: Any
    variables: Any
    scale: float
    exact_rate: Any = None

    def formula(self, timed: bool) -> ProgramRows:
        """Return the rate, times the duration behind the variables if it is `timed`."""
        import casadi

        none = casadi.SX.sym("none", 0)
        if not timed:
            return ProgramRows.of(self.rate / self.scale, self.variables, none)
        span = casadi.SX.sym("span")
        return ProgramRows.of(self.rate * span / self.scale, casadi.vertcat(self.variables, span), none)

    def cost(self, t: np.ndarray, nodes: np.ndarray, tau: np.ndarray) -> float:
        """Return what a motion spends: nodes (variables, times), and the forces tau (times, k) of what is driven."""
        import casadi

        if self.name == "time":
            return float(t[-1])
        if self.name == "force":
            h = np.diff(t)[:, None]
            squares = tau[:-1] ** 2 + tau[:-1] * tau[1:] + tau[1:] ** 2
            return float(np.sum(h * squares) / 3.0)
        rate = self.rate if self.exact_rate is None else self.exact_rate
        rates = np.asarray(casadi.Function("rate", [self.variables], [rate])(nodes)).ravel()
        return float(np.sum(np.diff(t) * (rates[1:] + rates[:-1])) / 2.0)


def objective_of(system: System, objective: Any, acting: np.ndarray, scale: float) -> Objective:
    """Return the objective that is given by name or as a function of (q, v, vdot, tau), which gets arrays of symbols.
    `acting` (k,) tells which joint forces are driven, `scale` their size."""
    import casadi

    forces, variables, rates = taken(system)
    if is_one_of(objective, OBJECTIVES):
        at = np.flatnonzero(acting).tolist()
        tau, v = forces[at], rates[at]
        if objective == "time":
            return Objective("time", None, variables, 1.0)
        if objective == "force":
            return Objective("force", casadi.sumsqr(tau), variables, scale**2)
        rounded = ROUNDED * scale
        smooth = casadi.sum1(casadi.sqrt((tau * v) ** 2 + rounded**2) - rounded)
        return Objective("energy", smooth, variables, scale, casadi.sum1(casadi.fabs(tau * v)))
    if not can_take(objective, "q", "v", "vdot", "tau"):
        raise StateError(
            f"plan_motion: objective is {shown(objective)}; give one of {', '.join(OBJECTIVES)}, or a function of q, "
            "v, vdot and tau that gives a number to integrate over time."
        )
    nq, n = system.nq, system.nv
    parts = (variables[:nq], variables[nq : nq + n], variables[nq + n : nq + 2 * n], forces)
    cost = objective(
        *(np.array(casadi.vertsplit(x), dtype=object) if x.shape[0] else np.zeros(0) for x in parts)
    )
    try:
        rate = casadi.SX(cost)
    except (NotImplementedError, TypeError) as error:
        raise StateError(
            f"plan_motion: the objective gives {shown(cost)}; let it give one expression of its arguments."
        ) from error
    if rate.shape != (1, 1):
        raise StateError(
            f"plan_motion: the objective gives an expression of shape {rate.shape}; let it give one number."
        )
    return Objective("expression", rate, variables, 1.0)
