"""What bodies with modes do in the elimination, whose points share their amplitudes eta.

Points of a flexible body are nodes that follow the node of its floating frame. A follower is eliminated without
losing a degree of freedom: besides inertia, force and what loops hold of it, its parent feels what eta'' does to it. So
the node of the floating frame has 6 + k accelerations: A, p and K get rows for the modes (E and `Mm`, `pm`, `Km`), and
eta goes like the coordinates of any joint, one after the other. All other bodies have six, and do what they do among
rigid ones; multipliers do more only while their loop holds a floating frame (`AT_FRAMES`).

Particles, which have the mass of a flexible body, are weighed once, when its floating frame begins to move. From then
on the frame is a body whose own equations have 6 + k rows, and particles take no part in elimination and refinement.

Rows of flows and links are as many as the body with most modes has. The ground says how many, and where all bodies are
rigid there are none.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.flexible.particles import bias, load, place, weight
from catena.dynamics.loops.elimination.blocks import Symmetric, Triangle
from catena.dynamics.loops.elimination.magnitudes import (
    Magnitudes,
    hand_down,
    inertial_load,
    magnitude,
    moved_pace,
    pace_of,
    part,
)
from catena.kernels import Entry, OnCall, on_call
from catena.spatial import ArticulatedInertia, Force, ForceSpace, Motion, RigidInertia, spd_inverse
from catena.spatial.scalars import absolute, array, less, sqrt, where
from catena.structure import Plan

REWRITTEN = frozenset({"I_own", "E_own", "M_own", "p_own", "pm_own", "qdd_driven", "c", "effort", "Ux"})
"""What bodies keep of themselves that more than one step writes, where some have modes."""


def among_rigid(of_flexible: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator of what a rigid body does: nodes of flexible ones do `of_flexible` instead, and particles
    nothing."""

    def decorate(step: Callable[..., None]) -> Callable[..., None]:
        @wraps(step)
        def act(body: Any, *others: Any) -> None:
            if not body.joint.is_particle:
                (of_flexible if is_flexible(body.joint) else step)(body, *others)

        return act

    return decorate


def begin_rows(ground: Any, modes: int) -> None:
    """What the ground has of bodies with so many modes, which is where flows get their sizes."""
    ground.pm = np.zeros(modes)
    if modes:
        ground.E, ground.Mm = np.zeros((6, modes)), Triangle(modes).zero()
        ground.weight = RigidInertia.zero()
        ground.eta, ground.etad = np.zeros(modes), np.zeros(modes)
        ground.fm, ground.am = np.zeros(modes), np.zeros(modes)
        ground.dam, ground.loadm = np.zeros(modes), np.zeros(modes)


# Bodies begin.


def begin(body: Any, parent: Any) -> None:
    """Nodes of flexible bodies begin to move: followers bear no force of a joint, and floating frames have no inertia
    of modes yet. Where no rows are kept for modes, nobody eliminates them."""
    m = len(parent.pm)
    body.pm = np.zeros(m)
    if not m or not is_flexible(body.joint):
        return
    if body.joint.follows:
        body.effort = np.zeros(body.joint.nv)
        return
    body.E, body.Mm, body.weight = np.zeros((6, m)), Triangle(m).zero(), body.inertia
    body.loadm, body.qdd_driven = np.zeros(m), np.zeros(body.joint.nv)
    body.eta, body.etad = _row(body.q, m), _row(body.qd, m)


def begin_driven(body: Any) -> None:
    """A floating frame keeps how its modes are driven."""
    if is_flexible(body.joint) and not body.joint.follows:
        body.qdd_driven = body.driven * body.qdd_given


@on_call
def lend_inertia(body: Any, parent: Any) -> None:
    """A step that is implicit in the modes lends them inertia."""
    if is_flexible(body.joint) and not body.joint.follows:
        body.Mm = _square(array(np.diag(body.lent_inertia)), len(body.pm))


@on_call
def lend_force(body: Any, parent: Any) -> None:
    """And a force, where forces act."""
    if is_flexible(body.joint) and not body.joint.follows:
        body.effort = body.effort + body.lent_force


@on_call
def weigh(body: Any, parent: Any) -> None:
    """What a particle adds to the equations of the floating frame and of the modes."""
    if body.joint.is_particle:
        k = body.joint.nv
        x, L = place(body, parent.eta[:k])
        p, f = load(body, x, bias(body, x, L, parent.v, parent.eta[:k], parent.etad[:k]))
        _add_weight(body, parent, x, L)
        parent.p += p
        parent.pm = parent.pm + _row(L.T @ f, len(parent.pm))


@on_call
def weigh_at_rest(body: Any, parent: Any) -> None:
    """The same without forces and velocities."""
    if body.joint.is_particle:
        _add_weight(body, parent, *place(body, parent.eta[: body.joint.nv]))


def _add_weight(body: Any, parent: Any, x: np.ndarray, L: np.ndarray) -> None:
    felt, m = weight(body.inertia.mass, x, L), len(parent.pm)
    parent.weight += felt.rigid
    parent.E = parent.E + _wide(felt.E, m)
    parent.Mm += _square(Symmetric(felt.M).matrix(), m)


@on_call
def gather(body: Any, parent: Any) -> None:
    """Keep the equations that the floating frame has by itself, before others act on it."""
    if is_flexible(body.joint) and not body.joint.follows:
        k = body.joint.nv
        body.A = ArticulatedInertia.from_rigid(body.weight)
        body.I_own, body.E_own, body.M_own = body.weight, body.E[:, :k], body.Mm
        body.p_own, body.pm_own = body.p, body.pm[:k]


# Bodies go.


def articulate(body: Any, parent: Any, stays: Any = None) -> None:
    """What the parent feels of a point of a flexible body, or of a floating frame, whose modes go one after the other
    from its 6 + k equations; those do not yield for which `stays` (k,) is 1, which accelerate as driven."""
    k, m = body.joint.nv, len(parent.pm)
    if body.joint.follows:
        S = body.S
        U, pa = body.A * S, body.p + body.A * body.c
        parent.A += body.X.pull(body.A)
        parent.p += body.X.pull(pa)
        parent.E = parent.E + _wide(body.X.pull(U).array, m)
        parent.Mm += _square(S.T * U, m)
        parent.pm = parent.pm + _row(S.T * pa, m)
        body.U, body.d_inv, body.u = U, np.zeros(k), np.zeros(k)
        return
    E, p = body.E[:, :k], np.concatenate([body.p.array, body.pm[:k]])
    A = np.vstack([np.hstack([body.A.matrix(), E]), np.hstack([E.T, body.Mm.matrix()[:k, :k]])])
    if stays is not None:
        p = p + A[:, 6:] @ body.qdd_driven
    columns, d_inv, u = [], [], []
    for j, s in enumerate(_motions(body)):
        U = A @ s
        yields = _yielding(s @ U, None if stays is None else stays[j])
        u.append(body.effort[j] - s @ p)
        A = A - array([[x * y * yields for y in U] for x in U])
        p = p + array([x * (yields * u[j]) for x in U])
        columns.append(U)
        d_inv.append(yields)
    felt = ArticulatedInertia.from_matrix(A[:6, :6])
    parent.A += body.X.pull(felt)
    parent.p += body.X.pull(Force(p[:6]) + felt * body.c)
    body.Ux = np.stack(columns)
    body.U = ForceSpace(np.stack(columns, axis=1)[:6])
    body.d_inv, body.u = array(d_inv), array(u)


def _yielding(inertia: Any, stays: Any) -> Any:
    """Return how much a mode yields to a force."""
    if stays is None:
        return spd_inverse(array([[inertia]]))[0, 0]
    is_driven = less(0.5, stays)
    return where(is_driven, 0.0, spd_inverse(array([[where(is_driven, 1.0, inertia)]]))[0, 0])


def carry(body: Any, link: Any, above: Any, multiplier: Any) -> None:
    """How a loop holds the parent when the body is gone."""
    if body.joint.follows:
        K = link.K
        link.E = np.zeros((body.joint.nv, K.n))
        above.Km = above.Km + _wide((body.S.T * K).T, len(above.Km)).T
    else:
        K = _held(body, link, multiplier)
    above.K += body.X.pull(K)
    multiplier.l = multiplier.l + K.T * body.c


def carry_to_ground(body: Any, link: Any, ground: Any, multiplier: Any) -> None:
    """The same where the parent is the ground, whose acceleration is known; points do not hang on it."""
    if not body.joint.follows:
        K = _held(body, link, multiplier)
        multiplier.l = multiplier.l + K.T * (body.c + body.X * ground.a)


def _held(body: Any, link: Any, multiplier: Any) -> ForceSpace:
    """Return what a loop holds of a floating frame when its modes are gone."""
    k = body.joint.nv
    K, rows = np.vstack([link.K.array, link.Km[:k]]), []
    for s, U, yields in zip(_motions(body), body.Ux, body.d_inv, strict=True):
        E = s @ K
        K = K - array([[x * (yields * e) for e in E] for x in U])
        rows.append(E)
    link.E = np.stack(rows)
    multiplier.L -= Symmetric.from_matrix(link.E.T @ (body.d_inv[:, None] * link.E))
    multiplier.l = multiplier.l + link.E.T @ (body.d_inv * body.u)
    return ForceSpace(K[:6])


# The way back.


def accelerate(body: Any, parent: Any, is_driven: bool = False) -> None:
    """Accelerations, those of modes told to the points that follow."""
    if body.joint.follows:
        body.qdd = parent.am[: body.joint.nv]
        body.a = body.X * parent.a + body.c + body.S * body.qdd
        body.pace = moved_pace(body, parent)
    else:
        body.pace = pace_of(body, parent)
        qdd, body.a = _respond(body, body.X * parent.a + body.c)
        body.qdd = qdd + body.qdd_driven if is_driven else qdd
        body.am = _row(body.qdd, len(parent.pm))
    body.last_change = 0.0
    _demand(body)


def _respond(body: Any, a: Motion) -> tuple[np.ndarray, Motion]:
    """Return the accelerations of the modes and of the floating frame, given that of the frame if no mode moved."""
    k = body.joint.nv
    wide: Any = np.concatenate([a.array, np.zeros(k)])
    motions, qdd = _motions(body), [0.0] * k
    for j in reversed(range(k)):
        qdd[j] = body.d_inv[j] * (body.u[j] - body.Ux[j] @ wide - body.e[j])
        wide = wide + array([x * qdd[j] for x in motions[j]])
    return array(qdd), Motion(wide[:6])


def _demand(body: Any) -> None:
    """The forces that the motion of a body and of its modes takes; what lacks is found on the next way to the base."""
    k, a = body.joint.nv, body.a
    body.p, body.e = Force.zero(), np.zeros(k)
    if body.joint.follows:
        body.f = body.inertia * a + body.p0
        return
    E, rate = body.E_own, body.am[:k]
    body.f = body.I_own * a + Force(E @ rate) + body.p_own
    modal = E.T @ a.array + body.M_own.matrix()[:k, :k] @ rate + body.pm_own
    body.fm, body.pm = _row(modal, len(body.pm)), np.zeros(len(body.pm))


def load_parent(body: Any, parent: Any) -> None:
    """What passes through the joint, which the parent and modes that followers go along with bear."""
    if body.joint.follows:
        parent.fm = parent.fm + _row(body.S.T * body.f, len(parent.pm))
    parent.f += body.X.pull(body.f)


def lack(body: Any, parent: Any) -> None:
    """The joint force that is missing, and what the parent feels of it."""
    k, p, m = body.joint.nv, body.p, len(parent.pm)
    if body.joint.follows:
        parent.pm = parent.pm + _row(body.S.T * p, m)
        body.u = np.zeros(k)
    else:
        missing = body.effort - body.S.T * body.f - body.fm[:k]
        wide, u = np.concatenate([p.array, body.pm[:k]]), []
        for j, s in enumerate(_motions(body)):
            u.append(missing[j] - s @ wide)
            wide = wide + array([x * (body.d_inv[j] * u[j]) for x in body.Ux[j]])
        p, body.u = Force(wide[:6]), array(u)
    parent.p += body.X.pull(p)


def accelerate_again(body: Any, parent: Any) -> None:
    """The corrections of all accelerations."""
    if body.joint.follows:
        dq = parent.dam[: body.joint.nv]
        body.da = body.X * parent.da + body.S * dq
    else:
        dq, body.da = _respond(body, body.X * parent.da)
        body.dam = _row(dq, len(parent.pm))
        body.am = body.am + body.dam
    body.a += body.da
    body.qdd = body.qdd + dq
    body.change_before, body.last_change = body.last_change, magnitude(body.da.array)
    _demand(body)


def judge(body: Any, parent: Any, is_driven: bool = False) -> None:
    """The force that is missing in the end, as a part of all forces that were summed up."""
    load = body.load + (inertial_load(body) if body.joint.follows else _own_load(body))
    at_work = array([Magnitudes.of(S).dot(load) for S in body.S.columns()])
    parts: list[Any] = []
    if body.joint.follows:
        m = len(parent.pm)
        parent.fm = parent.fm + _row(body.S.T * body.f, m)
        parent.loadm = parent.loadm + _row(at_work, m)
        if is_driven:
            body.drive = np.zeros(body.joint.nv)
    else:
        missing = body.effort - body.S.T * body.f - body.fm[: body.joint.nv]
        if is_driven:
            # What a drive lacks is what it gives.
            body.drive = body.tau - body.driven * missing
            missing = missing - body.driven * missing
        terms = zip(missing, body.effort, at_work, body.loadm, _own_modal_load(body), strict=False)
        parts = [part(m, absolute(e) + w + beyond + own) for m, e, w, beyond, own in terms]
    hand_down(body, parent, load, parts)


def _own_load(body: Any) -> Magnitudes:
    """Return what the force that the motion of the particles takes is summed up from, at the floating frame."""
    inertia, a = body.I_own, body.pace
    J, h = np.trace(inertia.I), magnitude(inertia.h)
    whole = Magnitudes(J * a.angular + h * a.linear, h * a.angular + inertia.mass * a.linear)
    for E, x in zip(body.E_own.T, body.am, strict=False):
        whole = whole + Magnitudes.of(Force(E)) * absolute(x)
    return whole + Magnitudes.of(body.p_own)


def _own_modal_load(body: Any) -> list[Any]:
    """Return the same for the modes. The sum over particles of m |L| |a| is bounded by sqrt(M) times the root of the
    sum of m a^2, which does not vanish where mode and motion have nothing to do with each other."""
    k, inertia, pace = body.joint.nv, body.I_own, body.pace
    M, rates = body.M_own.matrix()[:k, :k], body.am[:k]
    moving = sqrt(inertia.mass) * pace.linear + sqrt(np.trace(inertia.I)) * pace.angular
    return [
        sqrt(M[j, j]) * moving + sum([absolute(M[j, i] * x) for i, x in enumerate(rates)], 0.0) + absolute(p)
        for j, p in enumerate(body.pm_own)
    ]


# Rows for modes, as many as the body with most has.


def _motions(body: Any) -> list[np.ndarray]:
    """Return what each mode moves: the floating frame (6), and itself."""
    unit = np.eye(body.joint.nv)
    return [np.concatenate([S, unit[j]]) for j, S in enumerate(body.S.array.T)]


def _row(x: Any, modes: int) -> np.ndarray:
    return array([*x, *[0.0] * (modes - len(x))])


def _wide(x: np.ndarray, modes: int) -> np.ndarray:
    found = np.zeros((len(x), modes), dtype=object)
    found[:, : x.shape[1]] = x
    return array(found.tolist()).reshape(len(x), modes)


def _square(x: np.ndarray, modes: int) -> Symmetric:
    found = np.zeros((modes, modes), dtype=object)
    found[: len(x), : len(x)] = x
    return Symmetric.from_matrix(found)


# The calls on one mechanism.

LENDING: tuple[OnCall, ...] = (lend_inertia, lend_force)
WEIGHING: tuple[OnCall, ...] = (weigh, weigh_at_rest, gather)
"""The steps by which floating frames get their inertia."""


@lru_cache(maxsize=64)
def floating_frames(plan: Plan) -> frozenset[int]:
    """Return the nodes of a plan that are floating frames of flexible bodies."""
    return frozenset(
        i for i, kind in enumerate(plan.kind) if kind is not None and kind.is_modal and not kind.follows
    )


def with_weights(at: Any, entries: list[Entry], moves: OnCall, rests: bool, implicit: bool) -> list[Entry]:
    """Return the calls without those at particles, which are weighed once the frame of their body `moves`; where it
    `rests` nothing acts on them. Modes are lent what a step `implicit` in them lends."""
    plan, found = at.plan, []
    frames, particles = floating_frames(plan), [k is not None and k.is_particle for k in plan.kind]
    for entry in entries:
        i = entry.owner
        if entry.sweep.roles[0] != "body" or not particles[i]:
            found.append(entry)
        if i in frames and entry.sweep is moves:
            frame, body = at.flows(i), (at.body(i), at.flows(i), at.flows(int(plan.parent[i])))
            if implicit:
                found += [Entry(lend_inertia, i, body), *([] if rests else [Entry(lend_force, i, body)])]
            found += [
                Entry(weigh_at_rest if rests else weigh, j, (at.body(j), at.flows(j), frame))
                for j in range(1, plan.n) if particles[j] and plan.parent[j] == i
            ]  # fmt: skip
            found.append(Entry(gather, i, body))
    return found
