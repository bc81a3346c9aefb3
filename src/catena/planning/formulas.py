"""Formulas of a system that motions are planned with: what joint forces they take, how positions and velocities
follow, how far loops are open, where frames are and how they move. Each is derived once for a system, on symbols, from
the code that runs.

At a node a motion has the variables q, v, a, one multiplier for each constraint of loops and couplings, and the forces
of motors at loop joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from catena.dynamics.elements.placed_forces import place_forces
from catena.equations.derivation import Derivation
from catena.equations.element_slopes import step_rates
from catena.equations.loop_opening import counted_positions, loop_opening
from catena.equations.parameters import symbolic_plan
from catena.equations.quick_symbols import quick_symbols
from catena.equations.residual import Residual
from catena.errors import StateError
from catena.planning.closed_plan import closed_plan
from catena.planning.nonlinear_program import ProgramRows
from catena.spatial.scalars import array
from catena.structure import Plan
from catena.system import System

# Formulas of a system take longer to make than many plans to find. Which constraints count may be found out later.
_formulas: WeakKeyDictionary[System, tuple[Plan, dict[Any, Any]]] = WeakKeyDictionary()


def formula(system: System, name: str, of: Any = None) -> ProgramRows:
    """Return a formula of a system, of a frame, a joint or some components if it belongs to these, made once."""
    found: ProgramRows = _made(system, (name, of), lambda: _MAKERS[name](system, of))
    return found


def _made(system: System, key: Any, make: Callable[[], Any]) -> Any:
    system.mechanics.evaluator.check_current()
    plan = closed_plan(system)
    if system not in _formulas or _formulas[system][0] is not plan:
        _formulas[system] = (plan, {})
    own = _formulas[system][1]
    if key not in own:
        own[key] = make()
    return own[key]


def drives(system: System) -> dict[str, slice]:
    """Return the places of the forces of loop joints that are driven, behind those of the tree's components."""
    found, at = {}, system.nv
    for loop in closed_plan(system).loop_joints:
        if loop.actuated and loop.kind.nv:
            found[loop.name] = slice(at, at + loop.kind.nv)
            at += loop.kind.nv
    return found


def loop_places(system: System) -> dict[str, slice]:
    """Return the places of loop joints' positions, those that are plain numbers, among all such."""
    found, at = {}, 0
    for loop in counted_positions(closed_plan(system)):
        found[loop.name] = slice(at, at + loop.kind.nq)
        at += loop.kind.nq
    return found


def node_size(system: System) -> tuple[int, int]:
    """Return how many multipliers a node has, and how many forces of loop joints."""
    return closed_plan(system).total_constraints, sum(x.stop - x.start for x in drives(system).values())


def _symbols(**sizes: int) -> list[Any]:
    import casadi

    return [casadi.SX.sym(name, size) for name, size in sizes.items()]


def _joint_forces(system: System, components: tuple[int, ...] | None) -> ProgramRows:
    """Return components of the joint forces, all unless told which, that a motion (q, v, a) takes, besides springs and
    the like."""
    rows, variables, _ = _taken(system)
    return ProgramRows.of(
        rows if components is None else rows[list(components)], variables, _symbols(none=0)[0]
    )


def _force_and_speed(system: System, components: tuple[int, ...]) -> ProgramRows:
    """Return components of the joint forces plus that much of the velocity as the data tell."""
    rows, variables, v = _taken(system)
    (share,) = _symbols(share=1)
    return ProgramRows.of(rows[list(components)] + share * v[list(components)], variables, share)


def _taken(system: System) -> tuple[Any, Any, Any]:
    """Return the joint forces of the tree and of driven loop joints, the variables of a node, and the velocities of
    all these joints."""

    def make() -> tuple[Any, Any, Any]:
        import casadi

        (q, v, a), forces = _residual(system).joint_forces()
        J, _ = _residual(system).constraints()
        held, pushed = (casadi.SX.sym(n, k) for n, k in zip(("lambda", "u"), node_size(system), strict=True))
        rows, rates = _column(forces), _column(v)
        if J.size:
            rows -= casadi.mtimes(_matrix(J).T, held)
        if drives(system):
            # What a motor at a loop joint does at the joints of the tree, up to what the loops' own forces do.
            slopes = _loop_positions(system)(_column(q), _near(system))[2]
            at = [k for name in drives(system) for k in _numbers(_place(system, name))]
            rows = casadi.vertcat(rows - casadi.mtimes(slopes[at, :].T, pushed), pushed)
            rates = casadi.vertcat(rates, casadi.mtimes(slopes[at, :], rates))
        return rows, casadi.vertcat(_column(q), _column(v), _column(a), held, pushed), rates

    found: tuple[Any, Any, Any] = _made(system, "taken", make)
    return found


def taken(system: System) -> tuple[Any, Any, Any]:
    """Return columns of symbols: the joint forces of the tree's components and of driven loop joints, the variables of
    a node that they depend on, and the velocities of the same components."""
    return _taken(system)


def _residual(system: System) -> Residual:
    mechanism = system.mechanism
    # Stops are for motions that go astray; this one keeps within limits.
    found: Residual = _made(system, "residual", lambda: Residual(
        mechanism, closed_plan(system), (), lambda plan: place_forces(mechanism, plan, {})
    ))  # fmt: skip
    return found


def _place(system: System, joint: str) -> slice:
    """Return the places of a loop joint's positions, or the complaint that formulas do not know them."""
    places = loop_places(system)
    if joint not in places:
        raise StateError(
            f"plan_motion: joint {joint!r} closes a loop, and its position is not numbers that a formula finds; keep "
            f"it in the tree, m.system(keep=[{joint!r}])."
        )
    return places[joint]


def _near(system: System) -> Any:
    """Return zeros to count angles of loop joints from, where whole turns do not matter."""
    import casadi

    return casadi.DM.zeros(sum(x.stop - x.start for x in loop_places(system).values()), 1)


def _loop_positions(system: System) -> Any:
    """Return a function of (q, near): errors of loops (constraints,), positions of loop joints, counted on from
    `near`, and their rates by v, (positions, nv)."""

    def make() -> Any:
        import casadi

        symbolic = symbolic_plan(system.mechanism, closed_plan(system), ())
        derivation = Derivation("opening", symbolic, ("q",))
        places = loop_places(system)
        (near,) = _symbols(near=max((x.stop for x in places.values()), default=0))
        with quick_symbols():
            nearby = {name: array([near[k] for k in _numbers(at)]) for name, at in places.items()}
            found = loop_opening(derivation, nearby)
            along = step_rates(symbolic, derivation.arguments["q"])
        q = _column(derivation.arguments["q"])
        at = _column([x for name in places for x in found.positions[name]])
        slopes = casadi.mtimes(casadi.jacobian(at, q), along)
        return casadi.Function("opening", [q, near], [_column(found.errors), at, slopes])

    return _made(system, "loop positions", make)


def _opening(system: System, of: None) -> ProgramRows:
    """Return how far loops and couplings are open, of q, with the positions that loop joints are near as data."""
    q, near = _symbols(q=system.nq, near=_near(system).shape[0])
    return ProgramRows.of(_loop_positions(system)(q, near)[0], q, near)


def _opening_rate(system: System, of: None) -> ProgramRows:
    """Return how fast loops open, of (q, v)."""
    import casadi

    (q, v, _), _ = _residual(system).joint_forces()
    rows = casadi.mtimes(_matrix(_residual(system).constraints()[0]), _column(v))
    return ProgramRows.of(rows, casadi.vertcat(_column(q), _column(v)), _symbols(none=0)[0])


def _opening_acceleration(system: System, of: None) -> ProgramRows:
    """Return how fast that changes, of (q, v, a)."""
    import casadi

    symbols, _ = _residual(system).joint_forces()
    J, gamma = _residual(system).constraints()
    rows = casadi.mtimes(_matrix(J), _column(symbols[2])) + _column(gamma)
    return ProgramRows.of(rows, casadi.vertcat(*(_column(x) for x in symbols)), _symbols(none=0)[0])


def _loop_joint(system: System, joint: str) -> ProgramRows:
    """Return the position of a loop joint, of q, with the positions that loop joints are near as data."""
    at = _numbers(_place(system, joint))
    q, near = _symbols(q=system.nq, near=_near(system).shape[0])
    return ProgramRows.of(_loop_positions(system)(q, near)[1][at], q, near)


def _loop_joint_rate(system: System, joint: str) -> ProgramRows:
    """Return the velocity of a loop joint, of (q, v)."""
    import casadi

    at = _numbers(_place(system, joint))
    q, v, none = _symbols(q=system.nq, v=system.nv, none=0)
    slopes = _loop_positions(system)(q, _near(system))[2]
    return ProgramRows.of(casadi.mtimes(slopes[at, :], v), casadi.vertcat(q, v), none)


def _positions(system: System, of: tuple[tuple[int, ...], bool]) -> ProgramRows:
    """Return by how much q of a node differs from where an earlier one, v and a lead to, along independent components,
    of (q, q', v, a, a') and h; h is data, or a variable behind them, as many parts of which as the data tell are a
    step. Quaternions that are not wholly independent have length 1."""
    import casadi

    (independent, timed), n, plan = of, system.nv, system.plan
    q, later, v, a, b, h, part = _symbols(q=system.nq, later=system.nq, v=n, a=n, b=n, h=1, part=1)
    long = h * part if timed else h
    step = long * v + long * long / 6.0 * (2.0 * a + b)
    rows: dict[int, list[Any]] = {}
    for i in range(1, plan.n):
        kind = plan.kind[i]
        if kind is None or kind.follows:
            continue
        first, own = int(plan.q_start[i]), int(plan.v_start[i])
        here = array([q[first + k] for k in range(kind.nq)])
        moved = kind.integrate(here, array([step[own + k] for k in range(kind.nv)]))
        gaps = [later[first + k] - x for k, x in enumerate(moved)]
        free = [k for k in range(kind.nv) if own + k in independent]
        if len(free) == kind.nv:
            rows[first] = gaps
        elif kind.nq == kind.nv:
            rows[first] = [gaps[k] for k in free]
        else:
            # Along the tangents of the position where velocities lead, and normal to them by its length.
            unit = np.eye(kind.nv)
            tangents = [kind.rate(moved, unit[k]) for k in free]
            rows[first] = [sum(x * gap for x, gap in zip(t, gaps, strict=True)) for t in tangents]
            turned = [later[first + k] for k in range(kind.nq - 4, kind.nq)]
            rows[first].append(sum(x * x for x in turned) - 1.0)
    stacked = casadi.vertcat(*(x for first in sorted(rows) for x in rows[first]))
    variables = casadi.vertcat(q, later, v, a, b)
    return ProgramRows.of(stacked, casadi.vertcat(variables, h) if timed else variables, part if timed else h)


def _velocities(system: System, of: tuple[tuple[int, ...], bool]) -> ProgramRows:
    """Return by how much independent components of v of a node differ from where an earlier one and a lead to, of (v,
    v', a, a') and h, which is told as for positions."""
    import casadi

    (independent, timed), n = of, system.nv
    v, later, a, b, h, part = _symbols(v=n, later=n, a=n, b=n, h=1, part=1)
    rows = later - v - (h * part if timed else h) / 2.0 * (a + b)
    variables = casadi.vertcat(v, later, a, b)
    variables = casadi.vertcat(variables, h) if timed else variables
    return ProgramRows.of(rows[list(independent)], variables, part if timed else h)


def _momentum(system: System, of: None) -> ProgramRows:
    """Return the momentum [angular; linear] of all bodies about their common mass centre, in ground axes, of (q,
    v)."""
    import casadi

    q, v, none = _symbols(q=system.nq, v=system.nv, none=0)
    h = system.equations("momentum", elements=False).casadi()(q, v)
    # The potential in a field tells the first moment of all mass.
    field = casadi.SX.sym("field", 3)
    weighed = system.equations("potential_energy", symbols=["gravity"], elements=False).casadi()
    moment = -casadi.jacobian(weighed(q, field), field).T
    mass = float(np.sum(system.plan.inertia[1:, 0]))
    spin = h[:3] - casadi.cross(moment / mass, h[3:])
    return ProgramRows.of(casadi.vertcat(spin, h[3:]), casadi.vertcat(q, v), none)


def _between(system: System, of: None) -> ProgramRows:
    """Return by how much the second of three numbers differs from what is between the others, at the part that the
    data tell."""
    x, share = _symbols(x=3, share=1)
    return ProgramRows.of(x[1] - (1.0 - share) * x[0] - share * x[2], x, share)


def _along(system: System, of: None) -> ProgramRows:
    """Return the product of two quaternions as vectors: of one that moves, and one that the data tell."""
    import casadi

    x, fixed = _symbols(x=4, fixed=4)
    return ProgramRows.of(casadi.dot(fixed, x), x, fixed)


def _point(system: System, frame: str) -> ProgramRows:
    """Return the origin of a frame in ground, of q."""
    (q,) = _symbols(q=system.nq)
    return ProgramRows.of(pose_rows(system, frame, q)[:3, 3], q, _symbols(none=0)[0])


def _axes(system: System, frame: str) -> ProgramRows:
    """Return what the axes of a frame are turned by from those that the data tell by rows, of q."""
    q, wanted = _symbols(q=system.nq, wanted=9)
    return ProgramRows.of(turned(wanted, pose_rows(system, frame, q)[:3, :3]), q, wanted)


def _twist(system: System, frame: str) -> ProgramRows:
    """Return the twist of a frame in ground axes, of (q, v)."""
    import casadi

    q, v, none = _symbols(q=system.nq, v=system.nv, none=0)
    R = pose_rows(system, frame, q)[:3, :3]
    own = twist_rows(system, frame, q, v)
    rows = casadi.vertcat(casadi.mtimes(R, own[:3]), casadi.mtimes(R, own[3:]))
    return ProgramRows.of(rows, casadi.vertcat(q, v), none)


def _joint(system: System, joint: str) -> ProgramRows:
    """Return what a joint is moved and turned by from the transform that the data tell, of its q."""
    import casadi

    kind = system.plan.kind[system.plan.joint.index(joint)]
    assert kind is not None
    q, wanted = _symbols(q=kind.nq, wanted=12)
    X = kind.transform(array([q[k] for k in range(kind.nq)]))
    R = casadi.vertcat(*(casadi.horzcat(*row) for row in X.R))
    return ProgramRows.of(casadi.vertcat(_column(X.p) - wanted[9:], turned(wanted[:9], R)), q, wanted)


def turned(wanted: Any, R: Any) -> Any:
    """Return the axial vector of the rotation from wanted axes, told by rows, which is zero where the axes agree, and
    its trace, which is more than one if they do so the right way round."""
    import casadi

    left = casadi.mtimes(casadi.reshape(wanted, 3, 3), R)
    return casadi.vertcat(
        left[2, 1] - left[1, 2], left[0, 2] - left[2, 0], left[1, 0] - left[0, 1], casadi.trace(left)
    )


def _equation(system: System, name: str, frame: str) -> Any:
    return _made(system, ("equation", name, frame), lambda: system.equations(name, frame=frame).casadi())


def pose_rows(system: System, frame: str, q: Any) -> Any:
    """Return the pose (4, 4) of a frame in ground, of a column q."""
    return _equation(system, "pose", frame)(q)


def twist_rows(system: System, frame: str, q: Any, v: Any) -> Any:
    """Return the twist (6, 1) of a frame in its own axes, of columns q and v."""
    return _equation(system, "twist", frame)(q, v)


def constraint_rows(system: System, q: Any) -> Any:
    """Return J (constraints, nv) of loops and couplings, of a column q."""
    import casadi

    (own, _, _), _ = _residual(system).joint_forces()
    J, _ = _residual(system).constraints()
    rows = _matrix(J) if J.size else casadi.SX(0, system.nv)
    return casadi.Function("J", [_column(own)], [rows])(q)


def _column(entries: Any) -> Any:
    import casadi

    return casadi.vertcat(*(casadi.SX(x) for x in entries)) if len(entries) else casadi.SX(0, 1)


def _matrix(entries: np.ndarray) -> Any:
    import casadi

    return casadi.vertcat(*(casadi.horzcat(*(casadi.SX(x) for x in row)) for row in entries))


def _numbers(at: slice) -> list[int]:
    return list(range(at.start, at.stop))


_MAKERS: dict[str, Callable[[System, Any], ProgramRows]] = {
    "joint forces": _joint_forces, "force and speed": _force_and_speed, "positions": _positions,
    "velocities": _velocities, "between": _between, "along": _along, "point": _point, "axes": _axes,
    "twist": _twist, "joint": _joint, "opening": _opening, "opening rate": _opening_rate,
    "opening acceleration": _opening_acceleration, "loop joint": _loop_joint, "loop joint rate": _loop_joint_rate,
    "momentum": _momentum,
}  # fmt: skip
