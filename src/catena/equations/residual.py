"""The equations of motion as a residual that vanishes, and its derivatives.

    R1 = H vdot + bias - forces of springs and the like - J^T lambda = tau,      R2 = J vdot + gamma = 0

with J lambda absent in a tree. Everything is unrolled from the code that runs and differentiated by CasADi: by steps
along the velocity components, by velocities, and by parameters of the mechanism that are asked for by name. It holds
for every kind of joint and force that has formulas; `dynamics/tree/forward_derivatives.py` is the quick way for trees.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics import newton_euler
from catena.dynamics.elements.element_force import element_force
from catena.equations.derivation import Derivation
from catena.equations.element_slopes import Placing, placed_symbols, step_rates
from catena.equations.loop_rows import loop_rows, require_formulas
from catena.equations.parameters import Parameter, symbolic_plan
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import new_symbols, unroll
from catena.mechanism import Mechanism
from catena.spatial.scalars import array
from catena.structure import Plan

SHARED_UP_TO = 16
"""With more velocity components common expressions are not searched for: that takes ten times the rest and saves a
third of the operations (half of those of small loops)."""


class Residual:
    """The residual of one plan, with parameters as symbols, and forces of the mechanism that `placing` finds on a plan.

    `outside` names what comes from outside: "f_ext" (6 n, on nodes) and "a_base" (6).
    """

    def __init__(
        self,
        mechanism: Mechanism,
        plan: Plan,
        names: Iterable[str] = (),
        placing: Placing | None = None,
        outside: Sequence[str] = (),
    ) -> None:
        if any(loop.constraints or loop.rubs for loop in plan.loop_joints):
            require_formulas(plan)
        self.plan = plan
        symbolic = symbolic_plan(mechanism, plan, names)
        self.parameters: tuple[Parameter, ...] = symbolic.parameters
        self._p = symbolic.symbols
        self._derivation = Derivation("residual", symbolic, ("q", "v"))
        self._q, self._v = (self._derivation.arguments[n] for n in ("q", "v"))
        self._vdot = new_symbols("vdot", plan.nv)
        self._multipliers = new_symbols("lambda", plan.total_constraints)
        sizes = {"f_ext": 6 * plan.n, "a_base": 6}
        self._outside = {n: new_symbols(n, sizes[n]) for n in outside}
        forces = placed_symbols(symbolic, placing)
        with quick_symbols():
            inputs = {"q": self._q, "qd": self._v, "qdd": self._vdot, **self._outside}
            self._free = unroll(newton_euler, symbolic, inputs).outputs["tau"]
            if forces:
                state = {"q": self._q, "qd": self._v}
                own = unroll(element_force, symbolic, state, forces=forces).outputs["load"]
                self._free = array([a - b for a, b in zip(self._free, own, strict=True)])
            self._J = np.zeros((0, plan.nv))
            self._gamma = np.zeros(0)
            if plan.constraints or plan.couplings:
                rows = loop_rows(self._derivation)
                self._J, self._gamma = rows.J, rows.gamma
                self._free = array([a - b for a, b in zip(self._free, rows.friction, strict=True)])
                for rotor in rows.rotors:
                    turned = sum((r * a for r, a in zip(rotor.row, self._vdot, strict=True)), rotor.drift)
                    torque = rotor.inertia * turned
                    self._free = array([a + r * torque for a, r in zip(self._free, rotor.row, strict=True)])
            self._directions = step_rates(symbolic, self._q)

    def joint_forces(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Symbols of q, v and vdot, and the expressions (nv,) of the joint forces that this motion of the tree takes
        besides those of springs and the like."""
        return [self._q, self._v, self._vdot], self._free

    def constraints(self) -> tuple[np.ndarray, np.ndarray]:
        """Expressions J (constraints, nv) and gamma (constraints,) of the same symbols: closed loops accelerate so that
        J vdot + gamma = 0, and hold with joint forces J^T lambda."""
        return self._J, self._gamma

    @cached_property
    def _first(self) -> Any:
        """Values that do not depend on multipliers: R1 without them, J, and J v."""
        return self._function("values", {"free": self._free, "J": self._J.ravel(), "gamma": self._gamma})

    @cached_property
    def _second(self) -> Any:
        """All derivatives."""
        import casadi

        q, v = _column(self._q), _column(self._v)
        if self._J.size:
            held = [
                sum(self._J[r, i] * x for r, x in enumerate(self._multipliers)) for i in range(self.plan.nv)
            ]
            R1 = [a - b for a, b in zip(self._free, held, strict=True)]
            R2 = [
                sum(self._J[r, i] * x for i, x in enumerate(self._vdot)) + self._gamma[r]
                for r in range(len(self._gamma))
            ]
            opening = [sum(self._J[r, i] * x for i, x in enumerate(self._v)) for r in range(len(self._gamma))]
        else:
            R1, R2, opening = list(self._free), [], []
        along = self._directions
        outputs = {}
        for name, R in (("R1", R1), ("R2", R2), ("opening", opening)):
            column = _column(R)
            outputs[f"{name}_q"] = casadi.jacobian(column, q) @ along
            if name != "opening":
                outputs[f"{name}_v"] = casadi.jacobian(column, v)
                for parameter, symbols in self._p.items():
                    outputs[f"{name}:{parameter}"] = casadi.jacobian(column, _column(symbols))
        return self._function("derivatives", outputs)

    def _function(self, name: str, outputs: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[int, int]]]:
        import casadi

        arguments = [
            self._q,
            self._v,
            self._vdot,
            self._multipliers,
            *self._outside.values(),
            *self._p.values(),
        ]
        columns, shapes = [], {}
        for key, x in outputs.items():
            matrix = casadi.densify(x if isinstance(x, casadi.SX) else _column(x))
            shapes[key] = matrix.shape
            columns.append(casadi.vec(matrix.T))
        whole = casadi.vertcat(*columns)
        if self.plan.nv <= SHARED_UP_TO:
            whole = casadi.cse(whole)
        return casadi.Function(name, [_column(x) for x in arguments], [whole]), shapes

    def _evaluate(
        self, function: tuple[Any, dict[str, tuple[int, int]]], rows: list[np.ndarray]
    ) -> dict[str, np.ndarray]:
        made, shapes = function
        states = len(rows[0])
        if states == 0:
            return {n: np.zeros((0, *shape)) for n, shape in shapes.items()}
        found = np.asarray(made(*(np.ascontiguousarray(x.T) for x in rows))).T
        results, at = {}, 0
        for name, (m, n) in shapes.items():
            results[name] = found[:, at : at + m * n].reshape(states, m, n)
            at += m * n
        return results

    def _rows(
        self, inputs: Mapping[str, np.ndarray], parameters: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        states = len(inputs["q"])
        outside = [np.broadcast_to(inputs[n], (states, inputs[n].shape[-1])) for n in self._outside]
        values = [
            np.broadcast_to(
                np.reshape(parameters.get(p.name, p.value), (-1, len(p.value))), (states, len(p.value))
            )
            for p in self.parameters
        ]
        return outside, values

    def values(
        self, inputs: Mapping[str, np.ndarray], parameters: Mapping[str, Any] | None = None
    ) -> dict[str, np.ndarray]:
        """`free` = R1 without multipliers (states, nv), J (states, m, nv) and gamma (states, m), at q, v, vdot."""
        outside, values = self._rows(inputs, parameters or {})
        states, m = len(inputs["q"]), self.plan.total_constraints
        rows = [inputs["q"], inputs["v"], inputs["vdot"], np.zeros((states, m)), *outside, *values]
        found = self._evaluate(self._first, rows)
        J = found["J"].reshape(states, m, self.plan.nv)
        return {"free": found["free"][..., 0], "J": J, "gamma": found["gamma"].reshape(states, m)}

    def derivatives(
        self,
        inputs: Mapping[str, np.ndarray],
        multipliers: np.ndarray,
        parameters: Mapping[str, Any] | None = None,
    ) -> dict[str, np.ndarray]:
        """Derivatives of R1 and R2 by steps (`R1_q`), velocities (`R1_v`) and parameters (`R1:name`), and of J v by
        steps (`opening_q`), each (states, rows, columns)."""
        outside, values = self._rows(inputs, parameters or {})
        return self._evaluate(
            self._second, [inputs["q"], inputs["v"], inputs["vdot"], multipliers, *outside, *values]
        )


def _column(entries: Any) -> Any:
    import casadi

    listed = list(entries)
    return casadi.vertcat(*(casadi.SX(e) for e in listed)) if listed else casadi.SX(0, 1)
