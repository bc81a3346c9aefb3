"""The equations of a mechanism on one set of symbols: those that `System.equations` writes, with what goes into the FMU
in the place of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.bridges.fmu.inputs import Inputs
from catena.equations.named import EQUATIONS
from catena.equations.parameters import Parameter, plan_in_numbers, symbolic_plan
from catena.equations.unrolling import new_symbols, unroll
from catena.kinematics import rate
from catena.spatial.scalars import array
from catena.system import System


class Formulas:
    """Symbols for time `t`, state `q` and `v`, accelerations `a`, inputs `u` and parameters `p`, and the equations of a
    system in them. `seeds` are changes of all but time."""

    def __init__(self, system: System, inputs: Inputs, parameters: Sequence[Parameter]) -> None:
        self.system, self.inputs = system, inputs
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

    def _derived(self, name: str, frame: str | None) -> Mapping[str, np.ndarray]:
        has_forces = EQUATIONS[name].has_forces
        wanted = [n for n in self._numbers if has_forces or n not in self._of_forces]
        pushed = self.inputs.wrenches(self.symbols["u"]) if name == "forward_dynamics" else {}
        equations = self.system.equations(name, symbols=wanted, frame=frame, f_ext=list(pushed))
        given: dict[str, Any] = {"q": self.symbols["q"], "v": self.symbols["v"], "vdot": self.symbols["a"]}
        given["tau"] = self.inputs.joint_forces(self.symbols["u"], self.system.nv)
        given |= {f"f_ext.{n}": x for n, x in pushed.items()} | self._numbers
        graph = equations.graph
        return graph.expressions({n: [_symbol(x) for x in given[n]] for n in graph.inputs})

    def rate(self) -> np.ndarray:
        """Return dq/dt (nq,)."""
        given = {"q": self.symbols["q"], "qd": self.symbols["v"]}
        return unroll(rate, plan_in_numbers(self.system.plan), given).outputs["rate"]

    def along(self, expressions: np.ndarray) -> np.ndarray:
        """Return the derivatives by time of expressions (n,) of q and v, with the accelerations `a`."""
        import casadi

        column = casadi.vertcat(*(casadi.SX(x) for x in expressions))
        at = casadi.vertcat(*self.symbols["q"], *self.symbols["v"])
        towards = casadi.vertcat(*(casadi.SX(x) for x in (*self.rate(), *self.symbols["a"])))
        found = casadi.densify(casadi.jtimes(column, at, towards))
        return array([found[k] for k in range(len(expressions))])


def _symbol(x: Any) -> Any:
    import casadi

    return casadi.SX(x)
