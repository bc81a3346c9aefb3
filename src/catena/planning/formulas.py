"""Formulas of a system that motions are planned with: what joint forces they take, how positions and velocities follow,
where frames are and how they move. Each is derived once for a system, on symbols, from the code that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from catena.dynamics.elements.placed_forces import place_forces
from catena.equations.residual import Residual
from catena.planning.nonlinear_program import ProgramFormula
from catena.spatial.scalars import array
from catena.system import System

# Formulas of a system take longer to make than many plans to find.
_formulas: WeakKeyDictionary[System, dict[tuple[str, Any], ProgramFormula]] = WeakKeyDictionary()


def formula(system: System, name: str, of: str | tuple[int, ...] | None = None) -> ProgramFormula:
    """Return a formula of a system, of a frame, a joint or some components if it belongs to these, made once."""
    system.evaluator.check_current()
    own = _formulas.setdefault(system, {})
    if (name, of) not in own:
        own[name, of] = _MAKERS[name](system, of)
    return own[name, of]


def _symbols(**sizes: int) -> list[Any]:
    import casadi

    return [casadi.SX.sym(name, size) for name, size in sizes.items()]


def _joint_forces(system: System, components: tuple[int, ...] | None) -> ProgramFormula:
    """Return components of the joint forces, all unless told which, that a motion (q, v, a) takes, besides springs and
    the like."""
    rows, variables, _ = _taken(system)
    return ProgramFormula.of(
        rows if components is None else rows[list(components)], variables, _symbols(none=0)[0]
    )


def _force_and_speed(system: System, components: tuple[int, ...]) -> ProgramFormula:
    """Return components of the joint forces plus that much of the velocity as the data tell."""
    rows, variables, v = _taken(system)
    (share,) = _symbols(share=1)
    return ProgramFormula.of(rows[list(components)] + share * v[list(components)], variables, share)


def _taken(system: System) -> tuple[Any, Any, Any]:
    import casadi

    mechanism = system.mechanism
    # Stops are for motions that go astray; this one keeps within limits.
    residual = Residual(mechanism, system.plan, (), lambda plan: place_forces(mechanism, plan, {}))
    (q, v, a), forces = residual.joint_forces()
    return _column(forces), casadi.vertcat(_column(q), _column(v), _column(a)), _column(v)


def _positions(system: System, of: None) -> ProgramFormula:
    """Return by how much q of a node differs from where an earlier one, v and a lead to, of (q, q', v, a, a') and h."""
    import casadi

    n, plan = system.nv, system.plan
    q, later, v, a, b, h = _symbols(q=system.nq, later=system.nq, v=n, a=n, b=n, h=1)
    step = h * v + h * h / 6.0 * (2.0 * a + b)
    rows: list[Any] = [None] * system.nq
    for i in range(1, plan.n):
        kind = plan.kind[i]
        if kind is None or kind.follows:
            continue
        first, own = int(plan.q_start[i]), int(plan.v_start[i])
        here = array([q[first + k] for k in range(kind.nq)])
        moved = kind.integrate(here, array([step[own + k] for k in range(kind.nv)]))
        for k, x in enumerate(moved):
            rows[first + k] = later[first + k] - x
    return ProgramFormula.of(casadi.vertcat(*rows), casadi.vertcat(q, later, v, a, b), h)


def _velocities(system: System, of: None) -> ProgramFormula:
    """Return by how much v of a node differs from where an earlier one and a lead to, of (v, v', a, a') and h."""
    import casadi

    n = system.nv
    v, later, a, b, h = _symbols(v=n, later=n, a=n, b=n, h=1)
    return ProgramFormula.of(later - v - h / 2.0 * (a + b), casadi.vertcat(v, later, a, b), h)


def _between(system: System, of: None) -> ProgramFormula:
    """Return by how much the second of three numbers differs from what is between the others, at the part that the data
    tell."""
    x, share = _symbols(x=3, share=1)
    return ProgramFormula.of(x[1] - (1.0 - share) * x[0] - share * x[2], x, share)


def _along(system: System, of: None) -> ProgramFormula:
    """Return the product of two quaternions as vectors: of one that moves, and one that the data tell."""
    import casadi

    x, fixed = _symbols(x=4, fixed=4)
    return ProgramFormula.of(casadi.dot(fixed, x), x, fixed)


def _point(system: System, frame: str) -> ProgramFormula:
    """Return the origin of a frame in ground, of q."""
    (q,) = _symbols(q=system.nq)
    return ProgramFormula.of(_equation(system, "pose", frame)(q)[:3, 3], q, _symbols(none=0)[0])


def _axes(system: System, frame: str) -> ProgramFormula:
    """Return what the axes of a frame are turned by from those that the data tell by rows, of q."""
    q, wanted = _symbols(q=system.nq, wanted=9)
    return ProgramFormula.of(_turned(wanted, _equation(system, "pose", frame)(q)[:3, :3]), q, wanted)


def _twist(system: System, frame: str) -> ProgramFormula:
    """Return the twist of a frame in ground axes, of (q, v)."""
    import casadi

    q, v, none = _symbols(q=system.nq, v=system.nv, none=0)
    R = _equation(system, "pose", frame)(q)[:3, :3]
    own = _equation(system, "twist", frame)(q, v)
    rows = casadi.vertcat(casadi.mtimes(R, own[:3]), casadi.mtimes(R, own[3:]))
    return ProgramFormula.of(rows, casadi.vertcat(q, v), none)


def _joint(system: System, joint: str) -> ProgramFormula:
    """Return what a joint is moved and turned by from the transform that the data tell, of its q."""
    import casadi

    kind = system.plan.kind[system.plan.joint.index(joint)]
    assert kind is not None
    q, wanted = _symbols(q=kind.nq, wanted=12)
    X = kind.transform(array([q[k] for k in range(kind.nq)]))
    R = casadi.vertcat(*(casadi.horzcat(*row) for row in X.R))
    return ProgramFormula.of(casadi.vertcat(_column(X.p) - wanted[9:], _turned(wanted[:9], R)), q, wanted)


def _turned(wanted: Any, R: Any) -> Any:
    """Return the axial vector of the rotation from wanted axes, told by rows, which is zero where the axes agree, and
    its trace, which is more than one if they do so the right way round."""
    import casadi

    left = casadi.mtimes(casadi.reshape(wanted, 3, 3), R)
    return casadi.vertcat(
        left[2, 1] - left[1, 2], left[0, 2] - left[2, 0], left[1, 0] - left[0, 1], casadi.trace(left)
    )


def _equation(system: System, name: str, frame: str) -> Any:
    return system.equations(name, frame=frame).casadi()


def _column(entries: Any) -> Any:
    import casadi

    return casadi.vertcat(*(casadi.SX(x) for x in entries))


_MAKERS: dict[str, Callable[[System, Any], ProgramFormula]] = {
    "joint forces": _joint_forces, "force and speed": _force_and_speed, "positions": _positions,
    "velocities": _velocities, "between": _between, "along": _along, "point": _point, "axes": _axes,
    "twist": _twist, "joint": _joint,
}  # fmt: skip
