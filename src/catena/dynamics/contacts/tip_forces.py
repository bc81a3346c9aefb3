"""What passes through the contacts of tips with supports of known motion (van der Merwe, section 5.2.4 and 5.4.1).

The force that a tip exerts on its support is f = phi h + phi^c h^c (5.23), and the acceleration along phi^c is
prescribed to be g^c. In class I contacts h is known; in class II contacts it is a linear function of h^c, as in sliding
friction. Then (5.28) with class II included, for any number of contacts together with the loops of the mechanism:

    phi^c^T J H^-1 J^T (phi^c + phi F) h^c = phi^c^T (x''_open - J H^-1 J^T phi h) - g^c,    h = h_known + F h^c

It is solved in square-root form, A = phi^c^T J L^-T with H = L L^T: directions that the chain cannot move in drop
out by their singular values, wherever the mechanism happens to stand, and the forces are the smallest that do it.
Contacts here hold in both directions; whether one should let go is for the caller to decide by the sign of its
force. Joints that are driven are constraints of the same sort, along one component each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from catena.dynamics.contacts.tip_contact import TipInstant
from catena.dynamics.loops.inertia_root import Rows, rooted
from catena.dynamics.loops.problem import LoopProblem, row_scale, row_weight
from catena.dynamics.loops.square_root import divide_lower, solve_upper
from catena.errors import LoopError, SingularDynamicsError
from catena.kinematics import stacks
from catena.kinematics.body_jacobians import summed_up
from catena.kinematics.loops.closure import path_motion
from catena.kinematics.loops.scales import row_sizes, scales_of
from catena.thresholds import CONTRADICTION, LEFT_OF_SUMS, RANK_EXACT


@dataclass(frozen=True, eq=False)
class ContactForces:
    """What passes through one contact: the wrench `f` (..., 6) [moment; force] that the tip exerts on the support
    at the tip, its parts `h_c` (..., n_c) and `h` (..., 6 - n_c), and the relative acceleration `g` (..., 6 - n_c)
    in the free directions; in the axes of the contact. `on_tip` (..., 6) is the wrench that the tip feels, -f, in the
    axes of the tip."""

    frame: str
    f: np.ndarray
    h_c: np.ndarray
    h: np.ndarray
    g: np.ndarray
    on_tip: np.ndarray


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """Accelerations `vdot` (..., nv), what passes through each contact, and the `rank` (...) of all constraints,
    of contacts and loops, of which there are `constraints`; forces are unique where the two are equal."""

    vdot: np.ndarray
    contacts: tuple[ContactForces, ...]
    rank: np.ndarray
    constraints: int


@dataclass(frozen=True, eq=False)
class _Tip:
    """A contact at a batch of states: Jacobian (states, 6, nv), the relative acceleration (states, 6) for vdot = 0 and
    the velocity (states, 6) of the support's point under the tip, in the axes of the contact, the turn (states, 3, 3)
    from axes of the tip to these, what is prescribed and known (states, n), and the size (states,) of the products of
    velocities and prescribed accelerations that the drift was computed from, in radians and sizes of the mechanism."""

    at: TipInstant
    J: np.ndarray
    drift: np.ndarray
    carried: np.ndarray
    turn: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    force: np.ndarray
    friction: np.ndarray
    terms: np.ndarray

    @property
    def frame(self) -> str:
        return self.at.contact.frame

    @property
    def phi_c(self) -> np.ndarray:
        return self.at.contact.phi_c

    @property
    def phi(self) -> np.ndarray:
        return self.at.contact.free


@dataclass(frozen=True, eq=False)
class _Side:
    """Constraints of a loop, a contact or a driven joint: phi^T J x = b (states, m) for accelerations or velocities x,
    met by forces along `push` (..., 6, m); `terms` (states, m) is the size of what b was computed from."""

    J: np.ndarray
    phi: np.ndarray
    push: np.ndarray
    b: np.ndarray
    terms: np.ndarray


def tip_contacts(
    problem: LoopProblem,
    contacts: Sequence[TipInstant],
    driven: Mapping[int, np.ndarray] | None = None,
    feedback: float = 0.0,
) -> ContactSolution:
    """The accelerations of a mechanism, with or without loops, whose tips are in contact, and the contact forces.

    Components of v accelerate as `driven`, {component: (states,) or a number}, has it. Relative velocities that are not
    those that are prescribed fade as fast as exp(-t `feedback`)."""
    tips = _tips(problem, contacts)
    sides = [
        _Side(
            s.J_rel,
            s.Phi,
            s.Phi,
            -s.gamma,
            row_sizes(s.Phi, problem.length) * problem.velocity_products[:, None],
        )
        for s in problem.rows
    ]
    sides += [_side(problem, t, feedback) for t in tips]
    sides += [_driven_side(problem, k, x) for k, x in (driven or {}).items()]
    known = problem.joint_force - sum(stacks.apply(stacks.transposed(t.J), t.force @ t.phi.T) for t in tips)
    held = _held(problem, sides)
    L, y = np.zeros((problem.states, problem.plan.nv, problem.plan.nv)), np.zeros_like(problem.v)
    for some, inertial, _ in problem.portions():
        L[some], y[some] = rooted(inertial, held.of(some), known[some], problem.plan.name)
    rows, push, scale = _rooted_rows(problem, sides, L)
    b, terms = (_stacked([getattr(s, what) for s in sides], -1) / scale for what in ("b", "terms"))
    eta, rank = _solve(problem, tips, rows, push, y, b, terms)
    vdot = solve_upper(L, y - stacks.apply(stacks.transposed(push), eta))
    multipliers, start = eta / scale, problem.plan.total_constraints
    passing = []
    for t in tips:
        n_c = t.phi_c.shape[1]
        h_c = multipliers[:, start : start + n_c]
        start += n_c
        h = t.force + stacks.apply(t.friction, h_c)
        g = (stacks.apply(t.J, vdot) + t.drift) @ t.phi
        f = h @ t.phi.T + h_c @ t.phi_c.T
        back = stacks.transposed(t.turn)
        on_tip = -np.concatenate([stacks.apply(back, f[:, :3]), stacks.apply(back, f[:, 3:])], axis=-1)
        parts = (f, h_c, h, g, on_tip)
        passing.append(ContactForces(t.frame, *(x.reshape(*problem.batch, x.shape[-1]) for x in parts)))
    return ContactSolution(
        vdot.reshape(*problem.batch, problem.plan.nv),
        tuple(passing),
        rank.reshape(problem.batch),
        rows.shape[-2],
    )


def tip_velocities(
    problem: LoopProblem, contacts: Sequence[TipInstant], driven: Sequence[int] = ()
) -> np.ndarray:
    """The velocities (..., nv) nearest to those of the problem, in the sense of kinetic energy, at which tips move
    against their supports as is prescribed and loops stay closed; components `driven` stay as they are."""
    tips = _tips(problem, contacts)
    sides = [
        _Side(s.J_rel, s.Phi, s.Phi, 0.0 * s.gamma, row_sizes(s.Phi, problem.length) + 0.0 * s.gamma)
        for s in problem.rows
    ]
    sides += [
        _Side(t.J, t.phi_c, t.phi_c, t.velocity + t.carried @ t.phi_c, 1.0 + 0.0 * t.velocity) for t in tips
    ]
    sides += [_driven_side(problem, k, problem.v[:, k]) for k in driven]
    held = _held(problem, sides)
    L = np.zeros((problem.states, problem.plan.nv, problem.plan.nv))
    for some, inertial, _ in problem.portions():
        L[some], _ = rooted(inertial, held.of(some), problem.v[some], problem.plan.name)
    y = stacks.apply(stacks.transposed(L), problem.v)
    rows, _, scale = _rooted_rows(problem, sides, L)
    b, terms = (_stacked([getattr(s, what) for s in sides], -1) / scale for what in ("b", "terms"))
    eta, _ = _solve(problem, tips, rows, rows, y, b, terms)
    found = solve_upper(L, y - stacks.apply(stacks.transposed(rows), eta))
    return found.reshape(*problem.batch, problem.plan.nv)


def _tips(problem: LoopProblem, contacts: Sequence[TipInstant]) -> list[_Tip]:
    if not contacts:
        raise LoopError(
            "no contact was given: give at least one TipContact, or ask for the forward dynamics."
        )
    return [_tip(problem, contact) for contact in contacts]


def _rooted_rows(
    problem: LoopProblem, sides: Sequence[_Side], L: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows phi^T J L^-T and push^T J L^-T (states, m, nv) of all constraints, and the sizes (states, m) that both
    were divided by."""
    mobility = [divide_lower(L, stacks.transposed(s.J)) for s in sides]
    scale = _stacked([row_scale(s.phi, x, problem.length) for s, x in zip(sides, mobility)], -1)
    rows = _stacked([stacks.transposed(x @ s.phi) for s, x in zip(sides, mobility)], -2) / scale[..., None]
    push = _stacked([stacks.transposed(x @ s.push) for s, x in zip(sides, mobility)], -2) / scale[..., None]
    return rows, push, scale


def _held(problem: LoopProblem, sides: Sequence[_Side]) -> Rows:
    """The constraints as rows of typical inertias that must not move."""
    weight = [np.sqrt(row_weight(s.phi, problem.mass, problem.length)) + 0.0 * s.b for s in sides]
    root = _stacked(weight, -1)[..., None]
    C = root * _stacked([stacks.transposed(s.phi) @ s.J for s in sides], -2)
    sizes = [np.abs(stacks.transposed(s.phi)) @ summed_up(problem.plan, s.J) for s in sides]
    summed = root * _stacked(sizes, -2)
    return Rows(C, -root[..., 0] * _stacked([s.b for s in sides], -1), np.zeros_like(problem.v), summed)


def _side(problem: LoopProblem, tip: _Tip, feedback: float) -> _Side:
    terms = np.abs(tip.acceleration) + row_sizes(tip.phi_c, problem.length) * tip.terms[:, None]
    push = tip.phi_c + tip.phi @ tip.friction
    wanted = tip.acceleration
    if feedback:
        slip = (stacks.apply(tip.J, problem.v) - tip.carried) @ tip.phi_c - tip.velocity
        wanted = wanted - feedback * slip
    return _Side(tip.J, tip.phi_c, push, wanted - tip.drift @ tip.phi_c, terms)


def _driven_side(problem: LoopProblem, component: int, x: np.ndarray) -> _Side:
    """A component of v as a turn or a shift that is prescribed."""
    shifts = scales_of(problem.plan).units[component] != 1.0
    phi = np.zeros((6, 1))
    phi[3 if shifts else 0] = 1.0
    J = np.zeros((problem.states, 6, problem.plan.nv))
    J[:, 3 if shifts else 0, component] = 1.0
    b = np.broadcast_to(x, (problem.states,))[:, None]
    return _Side(J, phi, phi, b, np.abs(b))


def _stacked(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    return np.concatenate(list(parts), axis=axis)


def _solve(
    problem: LoopProblem, tips: Sequence[_Tip], A: np.ndarray, K: np.ndarray, y: np.ndarray, b: np.ndarray,
    terms: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The smallest eta (states, m) with A (y - K^T eta) = b, and the rank (states,) of A (states, m, nv). `terms`
    (states, m) is the size of what b was computed from."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    # A row that constrains something has size 1 or so, hence the floor: all rows may be zero but for rounding.
    kept = s > problem.tolerance[:, None] * s.max(axis=-1, initial=1.0, keepdims=True)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
    met = stacks.apply(stacks.transposed(U), b)
    left = b - stacks.apply(U * kept[:, None, :], met)
    size = np.abs(b).max(axis=-1, initial=0.0) + np.abs(stacks.apply(A, y)).max(axis=-1, initial=0.0)
    summed = terms.max(axis=-1, initial=0.0) + stacks.apply(np.abs(A), np.abs(y)).max(axis=-1, initial=0.0)
    if (np.abs(left).max(axis=-1, initial=0.0) > CONTRADICTION * size + LEFT_OF_SUMS * summed).any():
        raise LoopError(_contradiction(problem, tips, left))
    wanted = kept * stacks.apply(Vt, y) - inverse * met
    if all(t.at.contact.contact_class == 1 for t in tips):
        return stacks.apply(U, inverse * wanted), kept.sum(axis=-1)
    through = kept[..., None] * (Vt @ stacks.transposed(K))
    # Friction may turn a push into its opposite; where it just cancels it the contact jams.
    values = np.linalg.svd(through, compute_uv=False)
    effective = values > RANK_EXACT * values.max(axis=-1, initial=1.0, keepdims=True)
    if (effective.sum(axis=-1) < kept.sum(axis=-1)).any():
        names = ", ".join(repr(t.frame) for t in tips if t.at.contact.contact_class == 2)
        raise SingularDynamicsError(
            f"The contacts at {names} jam: friction cancels what the constraint forces do to the mechanism, so that no "
            f"forces give the prescribed accelerations. Lower the friction, or make the contact stick (constrain it)."
        )
    return stacks.apply(np.linalg.pinv(through, rcond=RANK_EXACT), wanted), kept.sum(axis=-1)


def _contradiction(problem: LoopProblem, tips: Sequence[_Tip], left: np.ndarray) -> str:
    state = int(np.abs(left).max(axis=-1).argmax())
    start, told = problem.plan.total_constraints, []
    for t in tips:
        n_c = t.phi_c.shape[1]
        worst = float(np.abs(left[state, start : start + n_c]).max(initial=0.0))
        if worst > CONTRADICTION * float(np.abs(left[state]).max()):
            told.append(f"{t.frame!r} (g^c = {t.acceleration[state].tolist()})")
        start += n_c
    where = f" in state {state}" if problem.states > 1 else ""
    who = ", ".join(told) or ", ".join(repr(t.frame) for t in tips)
    return (
        f"The accelerations prescribed for the contacts at {who} contradict each other, or directions in which the "
        f"mechanism cannot move{where}: leave those directions free, or prescribe there what it does."
    )


def _tip(problem: LoopProblem, at: TipInstant) -> _Tip:
    plan, contact = problem.plan, at.contact
    node, pose = plan.body_pose[contact.frame]
    if node == 0:
        raise LoopError(
            f"contact at {contact.frame!r}: the frame belongs to ground and cannot move: name a frame of a moving body."
        )
    J, a, Y = path_motion(plan, problem.motions, node, stacks.to_frame(pose))
    R, p = stacks.parts(Y)
    moves = relative_motion(at, J, a, stacks.transposed(R), p, problem.v)
    # The support moves the point under the tip, as far from its origin as that is.
    twist, acceleration = moves.twist, moves.acceleration
    reach = 1.0 + np.linalg.norm(p - at.support.pose.p, axis=-1) / problem.length
    size = [
        np.linalg.norm(x, axis=-1) for x in (twist[:, :3], twist[:, 3:] / problem.length, acceleration[:, :3])
    ]
    prescribed = reach * (size[0] * (size[0] + size[1]) + size[2])
    prescribed = prescribed + np.linalg.norm(acceleration[:, 3:], axis=-1) / problem.length
    velocity, prescribed_rate, force = (_rows(problem, x) for x in (at.velocity, at.acceleration, at.force))
    F = at.friction
    friction = np.broadcast_to(F, (*problem.batch, *F.shape[-2:])).reshape(problem.states, *F.shape[-2:])
    terms = problem.velocity_products + prescribed
    return _Tip(
        at, moves.J, moves.drift, moves.carried, moves.turn, velocity, prescribed_rate, force, friction, terms
    )


@dataclass(frozen=True, eq=False)
class RelativeMotion:
    """How a tip moves against its support, as derivatives of components in the axes of the contact: the Jacobian J
    (states, 6, nv), the relative acceleration `drift` (states, 6) for vdot = 0, the velocity `carried` (states, 6) of
    the support's point under the tip, and the `turn` (states, 3, 3) from axes of the tip to these; `twist` and
    `acceleration` (states, 6) are those of the support."""

    J: np.ndarray
    drift: np.ndarray
    carried: np.ndarray
    turn: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray


def relative_motion(
    at: TipInstant, J: np.ndarray, a: np.ndarray, to_ground: np.ndarray, p: np.ndarray, v: np.ndarray
) -> RelativeMotion:
    """The motion of a tip relative to its support, from the Jacobian J (states, 6, nv) of the tip and its acceleration
    a (states, 6) for vdot = 0 in its own axes, the turn (states, 3, 3) of these to ground axes, its place p (states, 3)
    and the velocities v (states, nv)."""
    support, contact = at.support, at.contact
    R = stacks.transposed(to_ground)
    own = stacks.apply(J, v)
    w, u = stacks.apply(to_ground, own[:, :3]), stacks.apply(to_ground, own[:, 3:])
    w_rate = stacks.apply(to_ground, a[:, :3])
    u_rate = stacks.apply(to_ground, a[:, 3:]) + stacks.crossed(w, u)
    twist, acceleration = (
        np.reshape(x, (-1, 6)) + np.zeros((len(v), 6)) for x in (support.twist, support.acceleration)
    )
    w_s, r = twist[:, :3], p - support.pose.p
    under = twist[:, 3:] + stacks.crossed(w_s, r)
    rel_w, rel_u = w - w_s, u - under
    # The support's point under the tip, followed with the tip.
    s_rate = (
        acceleration[:, 3:] + stacks.crossed(acceleration[:, :3], r) + stacks.crossed(w_s, u - twist[:, 3:])
    )
    turning = w if contact.axes == "tip" else w_s
    drift_w = w_rate - acceleration[:, :3] - stacks.crossed(turning, rel_w)
    drift_u = u_rate - s_rate - stacks.crossed(turning, rel_u)
    turn, E = R, np.broadcast_to(np.eye(3), R.shape)
    if contact.axes == "support":
        turn = np.broadcast_to(support.pose.R.T, R.shape)
        E = turn @ to_ground
        J = np.concatenate([E @ J[:, :3], E @ J[:, 3:]], axis=1)
    drift = np.concatenate([stacks.apply(turn, drift_w), stacks.apply(turn, drift_u)], axis=-1)
    carried = np.concatenate([stacks.apply(turn, w_s), stacks.apply(turn, under)], axis=-1)
    return RelativeMotion(J, drift, carried, E, twist, acceleration)


def _rows(problem: LoopProblem, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, (*problem.batch, x.shape[-1])).reshape(problem.states, x.shape[-1])
