"""Values between the nodes of a motion: quintic Hermite interpolation on the manifold of q, in compiled lanes.

Between two nodes the motion is q0 (+) xi(t), and the local coordinates xi live in a plain vector space. Position, rate
and second derivative of xi at both nodes follow from q, v and vdot there and determine a polynomial of degree 5. Its
error falls with the sixth power of the distance h of the nodes, that of the velocity with the fifth. Where vdot is not
known at the end, the polynomial is of degree 4. Quaternions stay of unit length, because xi is added by the joint's own
`integrate`.

With L(xi) for the joint's `local_rate`, xi' = L(xi) v and xi'' = L(xi) vdot + (dL/dxi . xi') v. The velocity at a time
between solves xi' = L(xi) v for v.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.joints import JointKind
from catena.kernels import POSITION, VELOCITY, Algorithm, base_to_tip
from catena.simulation.stepping.methods.variant import SCALAR
from catena.spatial import array, is_symbolic
from catena.spatial.linear import ldl_solve
from catena.spatial.scalars import less, where
from catena.system import System

# Times outside of the nodes by no more than this part of their span are meant to be the nodes.
SLACK = 1e-12


def ground(ground: Any) -> None:
    """Give the distance h of the two nodes, the part s of it that has passed, and whether vdot is known at its end."""
    ground.h = ground.distance
    ground.s = ground.part
    ground.knows_vdot = ground.known


@base_to_tip
def between(body: Any, parent: Any) -> None:
    """Interpolate q and v at the part s of the way from (q, v, vdot) at one node to those at the next."""
    body.h, body.s, body.knows_vdot = parent.h, parent.s, parent.knows_vdot
    body.q_between, body.qd_between = state_between(
        body.joint,
        body.h,
        body.s,
        (body.q, body.qd, body.qdd),
        (body.q_next, body.qd_next),
        body.qdd_next,
        body.knows_vdot,
    )


def state_between(
    joint: JointKind, h: Any, s: Any, begin: tuple[Any, Any, Any], after: tuple[Any, Any], vdot: Any = None,
    knows_vdot: Any = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return q and v of a joint at the part s of a time h that begins with q, v and vdot and ends with q and v; `vdot`
    at its end counts where it is `knows_vdot`."""
    q, v, acceleration = begin
    start, end = np.zeros(joint.nv), joint.difference(q, after[0])
    d0, d1 = joint.local_rate(start, v), joint.local_rate(end, after[1])
    e0 = local_acceleration(joint, start, d0, v, acceleration)
    # A polynomial of degree 4 has this second derivative at its end.
    quartic = [c - (12.0 * x / h - 6.0 * (a + b)) / h for x, a, b, c in zip(end, d0, d1, e0)]
    e1 = array(quartic)
    if vdot is not None:
        exact = local_acceleration(joint, end, d1, after[1], vdot)
        e1 = array([where(less(0.5, knows_vdot), x, y) for x, y in zip(exact, quartic)])
    (p, p0, p00, p1, p11), (r, r0, r00, r1, r11) = hermite(s)
    xi = array(
        [
            p * x + h * (p0 * a + p1 * b + h * (p00 * c + p11 * d))
            for x, a, b, c, d in zip(end, d0, d1, e0, e1)
        ]
    )
    rate = array(
        [r * x / h + r0 * a + r1 * b + h * (r00 * c + r11 * d) for x, a, b, c, d in zip(end, d0, d1, e0, e1)]
    )
    return joint.integrate(q, xi), velocity_of(joint, xi, rate)


def hermite(s: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the basis polynomials at s for the value at the end (that at the start is zero), the first and second
    derivatives at the start, and those at the end; and the derivatives of these polynomials."""
    s2 = s * s
    s3 = s2 * s
    values = (
        s3 * (10.0 + s * (-15.0 + 6.0 * s)),
        s * (1.0 + s2 * (-6.0 + s * (8.0 - 3.0 * s))),
        0.5 * s2 * (1.0 + s * (-3.0 + s * (3.0 - s))),
        s3 * (-4.0 + s * (7.0 - 3.0 * s)),
        0.5 * s3 * (1.0 + s * (-2.0 + s)),
    )
    rates = (
        s2 * (30.0 + s * (-60.0 + 30.0 * s)),
        1.0 + s2 * (-18.0 + s * (32.0 - 15.0 * s)),
        s * (1.0 + s * (-4.5 + s * (6.0 - 2.5 * s))),
        s2 * (-12.0 + s * (28.0 - 15.0 * s)),
        s2 * (1.5 + s * (-4.0 + 2.5 * s)),
    )
    return values, rates


def local_acceleration(joint: JointKind, xi: Any, rate: Any, v: Any, vdot: Any) -> np.ndarray:
    """Return xi'' = L(xi) vdot + (dL/dxi . xi') v; the exact derivative of the kind's own code, for numbers or
    symbols."""
    plain = joint.local_rate(xi, vdot)
    if plain is vdot:
        return vdot
    import casadi

    columns = [casadi.SX.sym(name, joint.nv) for name in ("xi", "rate", "v")]
    x, _, y = (array([column[k] for k in range(joint.nv)]) for column in columns)
    L_v = casadi.vertcat(*[casadi.SX(entry) for entry in joint.local_rate(x, y)])
    turning = casadi.densify(casadi.jtimes(L_v, columns[0], columns[1]))
    values = [casadi.vertcat(*[casadi.SX(entry) for entry in part]) for part in (xi, rate, v)]
    (turning,) = casadi.substitute([turning], columns, values)
    if is_symbolic(xi) or is_symbolic(rate) or is_symbolic(v):
        return array([plain[k] + turning[k] for k in range(joint.nv)])
    return plain + np.array(casadi.DM(turning)).ravel()


def velocity_of(joint: JointKind, xi: Any, rate: Any) -> np.ndarray:
    """Return the v with L(xi) v = xi'. L is regular short of a full turn, but its diagonal may vanish, so that the
    normal equations are solved, which need no pivoting."""
    if joint.local_rate(xi, rate) is rate:
        return rate
    L = array([list(joint.local_rate(xi, unit)) for unit in np.eye(joint.nv)]).T
    return ldl_solve(L.T @ L, L.T @ rate)


hermite_step = Algorithm(
    "hermite",
    ground,
    (between,),
    inputs={
        "q": POSITION, "qd": VELOCITY, "qdd": VELOCITY, "q_next": POSITION, "qd_next": VELOCITY, "qdd_next": VELOCITY,
    },
    outputs={"q_between": POSITION, "qd_between": VELOCITY},
    ground_inputs={"distance": SCALAR, "part": SCALAR, "known": SCALAR},
    use_constants=False,
)  # fmt: skip


def interpolate(
    system: System,
    t: Any,
    q: Any,
    v: Any,
    a0: Any,
    a1: Any,
    times: Any,
    project: bool = True,
    known: Any = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Return q (..., times, nq) and v (..., times, nv) at `times` (times,), or (..., times) for each state its own.

    The nodes are t (nodes,), or (..., nodes) for each state its own, never decreasing; q (..., nodes, nq) and v (...,
    nodes, nv). `a0` (..., nodes - 1, nv) are the accelerations at the start of each interval and `a1` those at its end,
    which differ from the next a0 where a force jumps; `known` (..., nodes - 1) says which of these count. At a node the
    result is the node itself. Orientations must turn
    by less than half a turn between nodes. With `project` the states between nodes are moved onto the loops, which the
    polynomials miss by their error.
    """
    t, q, v, a0, a1, times = (np.asarray(x, dtype=np.float64) for x in (t, q, v, a0, a1, times))
    batch, nodes = q.shape[:-2], q.shape[-2]
    counts = np.broadcast_to(np.asarray(known, dtype=np.float64), (*batch, nodes - 1))[..., None]
    states, count = prod(batch), times.shape[-1]
    check_times(t, times)
    check_turns(system, t, q, v)
    grid = np.broadcast_to(t, (*batch, nodes)).reshape(states, nodes)
    wanted = np.broadcast_to(times, (*batch, count)).reshape(states, count)
    first = _interval(t, times, grid, wanted)
    rows = np.arange(states)[:, None]
    begin, end = grid[rows, first], grid[rows, first + 1]
    h = end - begin
    # Two nodes at one time happen where a state has stopped: there is nothing between them.
    h = np.where(h > 0.0, h, 1.0)
    s = np.clip((wanted - begin) / h, 0.0, 1.0)

    def pick(x: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.reshape(states, *x.shape[-2:])[rows, at].reshape(-1, x.shape[-1]))

    inputs = {
        "q": pick(q, first), "qd": pick(v, first), "qdd": pick(a0, first),
        "q_next": pick(q, first + 1), "qd_next": pick(v, first + 1), "qdd_next": pick(a1, first),
        "distance": h.reshape(-1, 1), "part": s.reshape(-1, 1), "known": pick(counts, first),
    }  # fmt: skip
    _, found = system.mechanics.program(hermite_step).run(inputs, states * count)
    q_new, v_new = found["q_between"], found["qd_between"]
    at_start, at_end = (s == 0.0).ravel(), (s == 1.0).ravel()
    inside = ~(at_start | at_end)
    if project and np.any(inside) and system.mechanics.constrained:
        _close(system, q_new, v_new, inside, (*batch, count))
    for here, suffix in ((at_start, ""), (at_end, "_next")):
        q_new[here], v_new[here] = inputs["q" + suffix][here], inputs["qd" + suffix][here]
    return q_new.reshape(*batch, count, system.nq), v_new.reshape(*batch, count, system.nv)


def behind_nodes(
    system: System, ends: tuple[np.ndarray, ...], accelerations: tuple[np.ndarray, ...], times: np.ndarray,
    known: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return q (n, nq) and v (n, nv) at `times` (n,), each between two nodes of its own: `ends` are their times t (n,
    2), q (n, 2, nq) and v (n, 2, nv), with the `accelerations` (n, nv) at the first and at the second of them, of which
    `known` (n,) count. States between nodes are not moved onto the loops."""
    t, q, v = ends
    check_turns(system, t, q, v)
    h = t[:, 1] - t[:, 0]
    # Two nodes at one time happen where a state has stopped: there is nothing between them.
    h = np.where(h > 0.0, h, 1.0)
    s = np.clip((times - t[:, 0]) / h, 0.0, 1.0)
    inputs = {
        "q": q[:, 0], "qd": v[:, 0], "qdd": accelerations[0], "q_next": q[:, 1], "qd_next": v[:, 1],
        "qdd_next": accelerations[1], "distance": h[:, None], "part": s[:, None],
        "known": known[:, None].astype(np.float64),
    }  # fmt: skip
    inputs = {name: np.ascontiguousarray(x) for name, x in inputs.items()}
    _, found = system.mechanics.program(hermite_step).run(inputs, len(times))
    q_new, v_new = found["q_between"], found["qd_between"]
    for here, suffix in ((s == 0.0, ""), (s == 1.0, "_next")):
        q_new[here], v_new[here] = inputs["q" + suffix][here], inputs["qd" + suffix][here]
    return q_new, v_new


def _close(system: System, q: np.ndarray, v: np.ndarray, inside: np.ndarray, shape: tuple[int, ...]) -> None:
    """Move the states q (n, nq), v (n, nv) that are `inside` (n,) onto the loops, in place. They are those of a batch
    of this shape, whose parameters may differ from state to state: all of it is moved then, each state with its own."""
    if system.variants.shape == ():
        q[inside], v[inside] = system.project(q[inside], v[inside])
        return
    near, rates = system.project(q.reshape(*shape, -1), v.reshape(*shape, -1))
    q[inside], v[inside] = near.reshape(q.shape)[inside], rates.reshape(v.shape)[inside]


def check_times(t: np.ndarray, times: np.ndarray) -> None:
    """Refuse times that no two nodes enclose."""
    if not np.isfinite(times).all():
        raise StateError(f"A time is {times[~np.isfinite(times)][0]}; give finite numbers of seconds.")
    begin, end = t[..., :1], t[..., -1:]
    slack = SLACK * np.maximum(np.abs(begin), np.abs(end))
    outside = (times < begin - slack) | (times > end + slack)
    if np.any(outside):
        worst = np.broadcast_to(times, outside.shape)[outside][0]
        raise StateError(
            f"The time {worst:.9g} s lies outside of the run, which goes from {np.max(begin):.9g} s to "
            f"{np.min(end):.9g} s; ask for times between."
        )


def check_turns(system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse nodes so far apart that an orientation may have turned either way between them: the shortest way is then
    not the one that the velocities point along."""
    plan = system.plan
    turning = [i for i in range(1, plan.n) if plan.q_size[i] != plan.v_size[i]]
    if not turning:
        return
    shortest = system.difference(q[..., :-1, :], q[..., 1:, :])
    likely = 0.5 * np.diff(t)[..., None] * (v[..., :-1, :] + v[..., 1:, :])
    for i in turning:
        columns = slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
        apart = np.linalg.norm((shortest - likely)[..., columns], axis=-1) > np.pi
        if np.any(apart):
            *state, k = np.argwhere(apart)[0].tolist()
            own = np.broadcast_to(t, q.shape[:-1])[tuple(state)]
            raise StateError(
                f"Joint {plan.joint[i]!r} turns too far between t = {own[k]:.6g} s and "
                f"{own[k + 1]:.6g} s to tell what lies between: take smaller steps or more samples."
            )


def _interval(t: np.ndarray, times: np.ndarray, grid: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the interval, counted from 0, that holds each time, (states, times)."""
    last = grid.shape[1] - 2
    search: Callable[..., np.ndarray] = np.searchsorted
    if t.ndim == 1 and times.ndim == 1:
        found = np.broadcast_to(search(t, times, side="right") - 1, wanted.shape)
    else:
        found = np.array(
            [search(own, asked, side="right") - 1 for own, asked in zip(grid, wanted, strict=True)]
        )
    return np.clip(found.reshape(wanted.shape), 0, last)
