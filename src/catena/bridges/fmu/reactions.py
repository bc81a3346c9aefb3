"""What a joint passes to its child, as expressions: the forces that hold the joint together where it has been let go.

The joint gets all six freedoms, and of these it keeps the accelerations that it has as it is. Accelerations are affine
in the forces of these freedoms, so that the wrench follows from six of them, loops or none.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.bridges.fmu.formulas import FmuEquations
from catena.equations.unrolling import new_symbols
from catena.errors import EquationsError
from catena.joints import JointKind
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform
from catena.spatial.linear import ldl_solve
from catena.spatial.scalars import array
from catena.system import System

DETERMINED = 1e-9
"""How much less a joint may answer to one wrench than to another, in its own units, if it is to be told which."""


@dataclass(frozen=True)
class Released(JointKind):
    """A joint that stands where `kind` has it and moves in all six directions of the child's side."""

    kind: JointKind

    @property
    def nq(self) -> int:
        return self.kind.nq

    @property
    def nv(self) -> int:
        return 6

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return (f"{type(self).__module__}.{type(self).__qualname__}", *self.kind.signature)

    def transform(self, q: np.ndarray) -> Transform:
        return self.kind.transform(q)

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace(np.eye(6))

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return ForceSpace(np.zeros((6, 0)))

    @property
    def has_constant_motion_space(self) -> bool:
        return True

    @property
    def has_constant_constraint_space(self) -> bool:
        return True

    def neutral(self) -> np.ndarray:
        return self.kind.neutral()

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # Its positions are those of the joint as it is, so it goes as far along these as it can.
        along = np.linalg.pinv(np.asarray(self.kind.motion_space(q).array, dtype=np.float64))
        return self.kind.integrate(q, along @ v)

    def params(self) -> tuple[float, ...]:
        return self.kind.params()

    def with_params(self, params: Any) -> Released:
        return Released(self.kind.with_params(params))


def reaction(formulas: FmuEquations, joint: str) -> np.ndarray:
    """Return the wrench [moment; force] (6,) that a joint of the tree passes to its child, at the child-side joint
    frame's origin in its axes, as expressions."""
    import casadi

    system, symbols = formulas.system, formulas.symbols
    loose = _let_go(system, joint)
    own, whole = system.slice_v(joint), loose.slice_v(joint)
    kind = system.mechanism.joints[joint].kind
    q, v = symbols["q"][system.slice_q(joint)], symbols["v"][own]
    S = kind.motion_space(q)
    held = (S * array(list(symbols["a"][own])) + kind.bias(q, v)).array
    drives = new_symbols("reaction", 6)
    twist = list((S * array(list(v))).array)
    speeds, forces = _spread(system, loose, joint, symbols["v"], twist), formulas.joint_forces
    tau = _spread(system, loose, joint, forces, list(drives))
    vdot = formulas.accelerations_of(loose, {"v": speeds, "tau": tau})[whole]
    column, efforts = (casadi.vertcat(*(casadi.SX(x) for x in row)) for row in (vdot, drives))
    none = casadi.SX.zeros(6)
    answer = casadi.densify(casadi.substitute(casadi.jacobian(column, efforts), efforts, none))
    without = casadi.densify(casadi.substitute(column, efforts, none))
    _require_determined(formulas, joint, answer)
    return ldl_solve(
        array([[answer[i, j] for j in range(6)] for i in range(6)]),
        array([held[i] - without[i] for i in range(6)]),
    )


def _let_go(system: System, joint: str) -> System:
    """Return the system in the same coordinates in which a joint has been let go."""
    m, plan = system.mechanism, system.plan
    released = m.with_joint(joint, kind=Released(m.joints[joint].kind))
    cut = [*(plan.cut or ()), *(name for name in system.loops if name not in (plan.cut or ()))]
    return released.system(root=plan.root, cut=cut, keep=[*(plan.keep or ()), joint])


def _spread(system: System, loose: System, joint: str, row: Any, own: list[Any]) -> np.ndarray:
    """Return a row of the velocity components of a system, as those of the one in which a joint has been let go."""
    found: list[Any] = [0.0] * loose.nv
    for name in system.joints:
        entries = own if name == joint else list(row[system.slice_v(name)])
        found[loose.slice_v(name)] = entries
    return array(found)


def _require_determined(formulas: FmuEquations, joint: str, answer: Any) -> None:
    """Refuse a joint whose wrench loops leave open, because they hold its bodies by themselves."""
    import casadi

    starts = np.array([signal.start for signal in formulas.inputs.signals])
    numbers = {**formulas.begin, "u": starts, "p": formulas.values}
    arguments = [casadi.vertcat(*formulas.symbols[name]) for name in numbers]
    values = [np.asarray(x, dtype=float) for x in numbers.values()]
    matrix = np.array(casadi.Function("answer", arguments, [answer])(*values))
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    if np.linalg.eigvalsh(scale[:, None] * matrix * scale)[0] < DETERMINED:
        raise EquationsError(
            f"FMU of {formulas.system.mechanism.name!r}: loops hold the bodies of joint {joint!r} in directions in "
            f"which the joint holds them too, so its reaction is not determined: let other joints of the loop be "
            f"freer, such as spherical ones."
        )
