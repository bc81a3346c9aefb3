"""The equations of a mechanism on one set of symbols: those that `System.equations` writes, with what goes into the FMU
in the place of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catena.bridges.fmu.inputs import Inputs
from catena.equations.named import EQUATIONS
from catena.equations.parameters import Parameter, find_parameters, plan_in_numbers, symbolic_plan
from catena.equations.unrolling import new_symbols, unroll
from catena.errors import UnknownNameError
from catena.kinematics import rate
from catena.spatial.linear import ldl_solve
from catena.spatial.scalars import array
from catena.system import System


class FmuEquations:
    """Symbols for time `t`, state `q` and `v`, accelerations `a`, inputs `u` and parameters `p`, and the equations of a
    system in them. `seeds` are changes of all but time. Joints that are driven follow their motion, and where they are
    off it that fades at the rate `pull` [1/s]. The motion begins at `begin`, the values of "q" and "v"."""

    def __init__(
        self, system: System, inputs: Inputs, parameters: Sequence[Parameter], pull: float,
        begin: Mapping[str, np.ndarray],
    ) -> None:  # fmt: skip
        self.system, self.inputs, self.pull, self.begin = system, inputs, pull, begin
        self.values = np.concatenate([np.zeros(0), *(p.value for p in parameters)])
        sizes = {
            "t": 1, "q": system.nq, "v": system.nv, "a": system.nv, "u": len(inputs.signals),
            "p": sum(len(p.entries) for p in parameters),
        }  # fmt: skip
        self.symbols = {name: new_symbols(name, size) for name, size in sizes.items()}
        self.seeds = {
            f"d{name}": new_symbols(f"d{name}", size) for name, size in sizes.items() if name != "t"
        }
        self._numbers = dict(inputs.numbers(self.symbols["u"]))
        at = 0
        for parameter in parameters:
            self._numbers[parameter.name] = self.symbols["p"][at : at + len(parameter.entries)]
            at += len(parameter.entries)
        self._drives = {k: new_symbols(f"drive{k}", 1)[0] for k in inputs.motions}
        self._known: dict[tuple[str, str | None], Mapping[str, np.ndarray]] = {}
        plan = system.plan
        self._of_forces = {
            name for name in self._numbers if symbolic_plan(system.mechanism, plan, [name]).kinds
        }

    def of(self, name: str, frame: str | None = None) -> Mapping[str, np.ndarray]:
        """Return the results of named equations, as expressions by name."""
        if (name, frame) not in self._known:
            self._known[name, frame] = self._derived(name, frame)
        return self._known[name, frame]

    @property
    def joint_forces(self) -> np.ndarray:
        """Return the forces (nv,) that joints of the tree are given, those of the drives among them."""
        tau, taken = self.inputs.joint_forces(self.symbols["u"], self.system.nv), self.driven_dynamics[1]
        return array([taken.get(k, x) for k, x in enumerate(tau)])

    def accelerations_of(self, other: System, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the accelerations of another system with the same q, at the velocities "v" and joint forces "tau" that
        are given, under the same wrenches and with the same numbers as far as it has them."""
        wanted = [name for name in self._numbers if _has(other, name)]
        pushed = self.inputs.wrenches(self.symbols["u"])
        equations = other.equations("forward_dynamics", symbols=wanted, f_ext=list(pushed))
        known = {
            "q": self.symbols["q"],
            **state,
            **{f"f_ext.{n}": x for n, x in pushed.items()},
            **self._numbers,
        }
        graph = equations.graph
        found = graph.expressions({n: [_symbol(x) for x in known[n]] for n in graph.inputs})
        return found["vdot"]

    def _derived(self, name: str, frame: str | None) -> Mapping[str, np.ndarray]:
        has_forces = EQUATIONS[name].has_forces
        wanted = [n for n in self._numbers if has_forces or n not in self._of_forces]
        pushed = self.inputs.wrenches(self.symbols["u"]) if name == "forward_dynamics" else {}
        equations = self.system.equations(name, symbols=wanted, frame=frame, f_ext=list(pushed))
        values: dict[str, Any] = {"q": self.symbols["q"], "v": self.symbols["v"], "vdot": self.symbols["a"]}
        tau = self.inputs.joint_forces(self.symbols["u"], self.system.nv)
        values["tau"] = [self._drives.get(k, x) for k, x in enumerate(tau)]
        values |= {f"f_ext.{n}": x for n, x in pushed.items()} | self._numbers
        graph = equations.graph
        return graph.expressions({n: [_symbol(x) for x in values[n]] for n in graph.inputs})

    @cached_property
    def driven_dynamics(self) -> tuple[np.ndarray, dict[int, Any]]:
        """Return the accelerations (nv,) with the driven components on their motions, and by component the forces that
        this takes. Accelerations are affine in joint forces, so that those of the drives follow from a few of them."""
        import casadi

        vdot = self.of("forward_dynamics")["vdot"]
        driven = list(self.inputs.motions)
        if not driven:
            return vdot, {}
        column = casadi.vertcat(*(casadi.SX(x) for x in vdot))
        efforts = casadi.vertcat(*(self._drives[k] for k in driven))
        none = casadi.SX.zeros(len(driven))
        answer = casadi.densify(casadi.substitute(casadi.jacobian(column[driven], efforts), efforts, none))
        without = casadi.densify(casadi.substitute(column[driven], efforts, none))
        wanted = [self._wanted(k) for k in driven]
        n = range(len(driven))
        # How joints answer to forces at them is a symmetric positive matrix.
        taken = ldl_solve(
            array([[answer[i, j] for j in n] for i in n]), array([wanted[i] - without[i] for i in n])
        )
        found = casadi.densify(casadi.substitute(column, efforts, casadi.vertcat(*taken)))
        accelerations = [wanted[driven.index(k)] if k in driven else found[k] for k in range(len(vdot))]
        return array(accelerations), dict(zip(driven, taken, strict=True))

    def _wanted(self, k: int) -> Any:
        """Return the acceleration that brings a driven component to its motion and keeps it there."""
        position, velocity, acceleration = (self.symbols["u"][place] for place in self.inputs.motions[k])
        plan, v = self.system.plan, self.symbols["v"][k]
        node = next(i for i in range(1, plan.n) if plan.v_start[i] <= k < plan.v_start[i] + plan.v_size[i])
        q = self.symbols["q"][int(plan.q_start[node]) + k - int(plan.v_start[node])]
        return acceleration + 2.0 * self.pull * (velocity - v) + self.pull**2 * (position - q)

    def rate(self) -> np.ndarray:
        """Return dq/dt (nq,)."""
        state = {"q": self.symbols["q"], "qd": self.symbols["v"]}
        return unroll(rate, plan_in_numbers(self.system.plan), state).outputs["rate"]

    def along(self, expressions: np.ndarray) -> np.ndarray:
        """Return the derivatives by time of expressions (n,) of q and v, with the accelerations `a`."""
        import casadi

        column = casadi.vertcat(*(casadi.SX(x) for x in expressions))
        at = casadi.vertcat(*self.symbols["q"], *self.symbols["v"])
        towards = casadi.vertcat(*(casadi.SX(x) for x in (*self.rate(), *self.symbols["a"])))
        found = casadi.densify(casadi.jtimes(column, at, towards))
        return array([found[k] for k in range(len(expressions))])


def _has(system: System, name: str) -> bool:
    """Return whether a mechanism has a number of this name."""
    try:
        find_parameters(system.mechanism, [name])
    except UnknownNameError:
        return False
    return True


def _symbol(x: Any) -> Any:
    import casadi

    return casadi.SX(x)
