"""How the accelerations of a mechanism respond to everything: positions, velocities, forces, parameters; loops of any
rank respected, and with the mechanism's own forces where they act.

The equations of motion R1 = tau, R2 = 0 (`equations/residual.py`) are differentiated and solved for the change of vdot,

    H dvdot - J^T dlambda = dtau - dR1,      J dvdot = -dR2,

in square-root form: with H = L L^T and A = J L^-T, singular values of A decide about rank as they do in forward
dynamics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catena import dynamics, kinematics
from catena.dynamics.flexible.tree_accelerations import tree_accelerations
from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import divide_lower, divide_upper, effective, solve_lower
from catena.dynamics.mechanics import Mechanics
from catena.kernels import arrays
from catena.kinematics.stacks import apply, transposed
from catena.questions.actuator_limits import ActuatorLimits

if TYPE_CHECKING:
    from catena.equations.element_slopes import ElementSlopes
    from catena.equations.residual import Residual


@dataclass(frozen=True, eq=False)
class Response:
    """Accelerations vdot (states, nv), their derivatives by_q, by_v, by_tau (states, nv, nv), and by parameters
    (states, nv, entries). `opening` (states, m, nv) is the derivative of J v by steps, J (states, m, nv) the constraint
    Jacobian, `multipliers` (states, m) the smallest forces in the constraints, `H` the inertia of the tree, `pushed`
    (states, nv, nv) the derivative by steps of the joint forces that the motion takes."""

    vdot: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    by_tau: np.ndarray
    by_parameter: dict[str, np.ndarray]
    opening: np.ndarray
    J: np.ndarray
    multipliers: np.ndarray
    H: np.ndarray
    pushed: np.ndarray
    damped: np.ndarray


class Responder:
    """Makes responses of one model; what was unrolled is kept."""

    def __init__(self, model: Mechanics) -> None:
        self.model = model
        self._residuals: dict[tuple[Any, ...], Residual] = {}
        self._slopes: ElementSlopes | None = None

    def residual(self, names: Sequence[str], acting: bool, outside: Sequence[str]) -> "Residual":
        """Return the residual with these parameters, with or without the forces of the mechanism."""
        from catena.equations.residual import Residual

        placing = self.model.placing() if acting else None
        plan = self.model.evaluator.plan
        key = (tuple(names), placing is not None, tuple(outside), plan)
        if key not in self._residuals:
            self._residuals[key] = Residual(self.model.mechanism, plan, names, placing, outside)
        return self._residuals[key]

    def element_slopes(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives (..., nv, nv) by steps and by velocities of the joint forces of the tree that move the
        mechanism as its own forces do, at q (..., nq) and v (..., nv)."""
        from catena.equations.element_slopes import ElementSlopes

        s = self.model
        batch, rows_q, rows_v = s.states(q, v)
        if self._slopes is None:
            placing = s.placing()
            assert placing is not None
            self._slopes = ElementSlopes(s.mechanism, s.plan, placing)
        by_q, by_v = self._slopes.at(rows_q, rows_v)
        return by_q.reshape(*batch, s.nv, s.nv), by_v.reshape(*batch, s.nv, s.nv)

    def respond(
        self, q: Any, v: Any, tau: Any = None, names: Sequence[str] = (), acting: bool = True,
        f_ext: Any = None, a_base: Any = None, limited: bool = False,
    ) -> tuple[Response, tuple[int, ...]]:  # fmt: skip
        """Return the response at q (..., nq), v (..., nv), tau (..., nv), and the batch shape. `acting` says whether
        the forces of the mechanism act; f_ext (..., 6 n) are wrenches on nodes. Where it is `limited`, tau is what
        actuators are asked for, and the response is that to what they give."""
        s = self.model
        evaluator = s.evaluator
        evaluator.check_current()
        inputs = {
            "q": evaluator.checked(kinematics.rate, "q", q), "v": evaluator.checked(kinematics.rate, "qd", v),
            "tau": np.zeros(s.nv) if tau is None else evaluator.checked(dynamics.articulated_body, "tau", tau),
        }  # fmt: skip
        evaluator.check_positions("q", inputs["q"])
        outside = {
            n: np.asarray(x, dtype=float) for n, x in (("f_ext", f_ext), ("a_base", a_base)) if x is not None
        }
        batch = arrays.batch_shape(inputs | outside)
        rows = {n: arrays.rows(x, batch) for n, x in (inputs | outside).items()}
        s.settle(rows["q"])
        asked, limits = rows["tau"], ActuatorLimits.of(s.mechanism, s.plan)
        limited = limited and limits.are_there
        if limited:
            rows["tau"] = limits.limited(asked, rows["v"])
        residual = self.residual(names, acting, tuple(outside))
        problem, vdot = self._accelerated(rows, acting)
        rows["vdot"] = vdot
        values = residual.values(rows)
        solver = _ResponseSolver(problem)
        multipliers = solver.multipliers(values["free"] - rows["tau"])
        found = residual.derivatives(rows, multipliers)
        nothing = np.zeros((len(vdot), problem.plan.total_constraints, s.nv))
        by_parameter = {
            p.name: solver.change(-found[f"R1:{p.name}"], -found[f"R2:{p.name}"]) for p in residual.parameters
        }
        by_v = solver.change(-found["R1_v"], -found["R2_v"])
        by_tau = solver.change(np.broadcast_to(np.eye(s.nv), (len(vdot), s.nv, s.nv)), nothing)
        if limited:
            share, shrinking = limits.slopes(asked, rows["v"])
            by_v, by_tau = by_v + by_tau * shrinking[:, None, :], by_tau * share[:, None, :]
        by_q = solver.change(-found["R1_q"], -found["R2_q"])
        return Response(
            vdot, by_q, by_v, by_tau, by_parameter, found["opening_q"], values["J"], multipliers, problem.H,
            found["R1_q"], found["R1_v"],
        ), batch  # fmt: skip

    def forces_by_parameters(
        self, q: Any, v: Any, vdot: Any, names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
        """Return the derivatives {name: (states, nv, entries)} of the tree's joint forces by parameters, and the
        batch shape."""
        evaluator = self.model.evaluator
        evaluator.check_current()
        inputs = {
            "q": evaluator.checked(kinematics.rate, "q", q), "v": evaluator.checked(kinematics.rate, "qd", v),
            "vdot": evaluator.checked(dynamics.newton_euler, "qdd", vdot),
        }  # fmt: skip
        evaluator.check_positions("q", inputs["q"])
        batch = arrays.batch_shape(inputs)
        rows = {n: arrays.rows(x, batch) for n, x in inputs.items()}
        residual = self.residual(names, True, ())
        found = residual.derivatives(rows, np.zeros((len(rows["q"]), residual.plan.total_constraints)))
        return {p.name: found[f"R1:{p.name}"] for p in residual.parameters}, batch

    def _accelerated(self, rows: Mapping[str, np.ndarray], acting: bool) -> tuple[LoopProblem, np.ndarray]:
        """Return the loops at these states, and the accelerations."""
        s, plan = self.model, self.model.plan
        q, v, tau, f_ext = rows["q"], rows["v"], rows["tau"], rows.get("f_ext")
        if acting:
            tau = s.with_own(q, v, tau)
        problem = LoopProblem(s.evaluator, q, v, tau, f_ext, rows.get("a_base"))
        if closed_chains.is_closed(plan):
            return problem, closed_chains.solve(problem, "auto").vdot
        inputs = {"q": q, "qd": v, "tau": tau, "f_ext": f_ext, "a_base": rows.get("a_base")}
        s.require_inertia()
        return problem, tree_accelerations(s.evaluator, inputs)


class _ResponseSolver:
    """Solves for changes of vdot at the states of a problem."""

    def __init__(self, problem: LoopProblem) -> None:
        self._problem, self._L = problem, problem.equations[0]
        self._U, sigma, self._Vt = np.linalg.svd(problem.scaled, full_matrices=False)
        kept = effective(sigma, problem.tolerance)
        self._kept = kept
        self._inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """Return the smallest multipliers (states, m), in the scale of the constraints, with J^T lambda = force."""
        along = apply(self._Vt, solve_lower(self._L, force))
        return apply(self._U, self._inverse * along) / self._problem.scale

    def change(self, force: np.ndarray, opening: np.ndarray) -> np.ndarray:
        """Return dvdot (states, nv, k) for H dvdot - J^T dlambda = force (states, nv, k) and J dvdot = opening
        (states, m, k)."""
        free = divide_lower(self._L, force)
        blocked = self._Vt * self._kept[..., None]
        scaled = opening / self._problem.scale[..., None]
        along = self._inverse[..., None] * (transposed(self._U) @ scaled)
        y = free + transposed(blocked) @ (along - blocked @ free)
        return divide_upper(self._L, y)
