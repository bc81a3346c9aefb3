"""Tips of chains in contact with supports of known motion (van der Merwe, section 5.2.4 and 5.4.1).

A contact divides the relative motion of tip and support into free directions phi and constrained directions
phi^c. The force that the tip exerts on the support is f = phi h + phi^c h^c (5.23), and the acceleration along
phi^c is prescribed to be g^c. In class I contacts h is known; in class II contacts it is a linear function of
h^c, as in sliding friction. Then (5.28) with class II included, for any number of contacts together with the
loops of the mechanism:

    phi^c^T J H^-1 J^T (phi^c + phi F) h^c = phi^c^T (x''_open - J H^-1 J^T phi h) - g^c,    h = h_known + F h^c

It is solved in square-root form, A = phi^c^T J L^-T with H = L L^T: directions that the chain cannot move in drop
out by their singular values, wherever the mechanism happens to stand, and the forces are the smallest that do it.
Contacts here hold in both directions; whether one should let go is for the caller to decide by the sign of its
force.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.loops.inertia_root import Rows, rooted
from catena.dynamics.loops.problem import LoopProblem, row_scale, row_weight
from catena.dynamics.loops.square_root import divide_lower, solve_upper
from catena.errors import LoopError, ModelError, SingularDynamicsError
from catena.kinematics import stacks
from catena.kinematics.body_jacobians import summed_up
from catena.kinematics.loops.closure import path_motion
from catena.kinematics.loops.scales import row_sizes
from catena.spatial import Pose, is_one_pose, orthogonal_complement
from catena.validation import is_not_negative, is_one_of, real_array, shown

DIRECTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")
# Prescribed accelerations that differ by more than this part of their size contradict each other, unless it is rounding
# of what they were computed from.
CONTRADICTION, ROUNDING = 1e-6, 1e-10


@dataclass(frozen=True, eq=False)
class Support:
    """A surface or body in the environment whose motion is prescribed; at rest in ground unless told otherwise.

    `pose` places its frame in ground, `twist` (6,) or (..., 6) is [angular velocity; velocity of its origin] and
    `acceleration` the same of accelerations, both in ground axes.
    """

    pose: Pose = field(default_factory=Pose)
    twist: Any = (0.0,) * 6
    acceleration: Any = (0.0,) * 6

    def __post_init__(self) -> None:
        if not is_one_pose(self.pose):
            raise ModelError(f"a support's pose is {shown(self.pose)}; give Pose(p=..., quat=...).")
        for what in ("twist", "acceleration"):
            object.__setattr__(self, what, _finite(f"a support's {what}", getattr(self, what), 6))


@dataclass(frozen=True, eq=False)
class TipContact:
    """A contact between the origin of a frame of the mechanism, the tip, and a support.

    `constrained` names the directions in which the support resists the tip, of "rx", "ry", "rz", "dx", "dy", "dz" in
    the axes of the support, or in those of the tip with axes="tip"; or it is a matrix phi^c (6, n_c). The other
    directions, in that order, are free (for a matrix, an orthonormal complement: `free`).

    `acceleration` (n_c,) is the prescribed relative acceleration g^c, `force` (6 - n_c,) the known force h that
    the tip exerts in the free directions (class I), `friction` (6 - n_c, n_c) the part of h that grows with the
    constraint forces h^c (class II): h = force + friction h^c. All are zero unless given.
    """

    frame: str
    constrained: Any
    acceleration: Any = None
    force: Any = None
    friction: Any = None
    support: Support = field(default_factory=Support)
    axes: str = "support"
    free: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        who = f"contact at {shown(self.frame)}"
        if not isinstance(self.frame, str):
            raise ModelError(f"{who}: give the name of a frame or body.")
        if not isinstance(self.support, Support):
            raise ModelError(f"{who}: support is {shown(self.support)}: give a Support(pose=...).")
        phi_c, phi = _spaces(who, self.constrained)
        n_c = phi_c.shape[1]
        if not is_one_of(self.axes, ("support", "tip")):
            raise ModelError(f"{who}: axes is {shown(self.axes)}: choose 'support' or 'tip'.")
        put = {"constrained": phi_c, "free": phi}
        for what, size in (("acceleration", n_c), ("force", 6 - n_c)):
            value = getattr(self, what)
            put[what] = np.zeros(size) if value is None else _finite(f"{who}: {what}", value, size)
        F = np.zeros((6 - n_c, n_c)) if self.friction is None else _numbers(f"{who}: friction", self.friction)
        if F.shape != (6 - n_c, n_c) or not np.isfinite(F).all():
            raise ModelError(
                f"{who}: friction has shape {F.shape}; give a finite matrix with a row for each of the {6 - n_c} free "
                f"and a column for each of the {n_c} constrained directions."
            )
        for name, value in {**put, "friction": F}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def sliding(cls, frame: str, coefficient: float, slip: ArrayLike, **options: Any) -> Self:
        """A point that slides on the support's x-y plane, which it touches from above, with Coulomb friction.

        `slip` is the direction (x, y) in which the tip slides over the support; the support feels `coefficient`
        times the pressure in that direction.
        """
        along = _numbers(f"contact at {frame!r}: slip", slip)
        length = np.linalg.norm(along)
        if along.shape != (2,) or not np.isfinite(length) or length == 0.0:
            raise ModelError(
                f"contact at {frame!r}: slip is {slip!r}; give its direction (x, y) on the support."
            )
        if not is_not_negative(coefficient):
            raise ModelError(
                f"contact at {frame!r}: the coefficient of friction is {coefficient}; it must be >= 0."
            )
        friction = np.zeros((5, 1))
        friction[3:, 0] = -coefficient * along / length  # h^c is negative under pressure
        return cls(frame, ("dz",), friction=friction, **options)

    @property
    def contact_class(self) -> int:
        """1 if the forces in the free directions are known, 2 if they depend on the constraint forces."""
        return 2 if np.any(self.friction) else 1


@dataclass(frozen=True, eq=False)
class ContactForces:
    """What passes through one contact: the wrench `f` (..., 6) [moment; force] that the tip exerts on the support
    at the tip, its parts `h_c` (..., n_c) and `h` (..., 6 - n_c), and the relative acceleration `g` (..., 6 - n_c)
    in the free directions; in the axes of the contact."""

    frame: str
    f: np.ndarray
    h_c: np.ndarray
    h: np.ndarray
    g: np.ndarray


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
    """A contact at a batch of states: Jacobian (states, 6, nv), the relative acceleration (states, 6) for vdot = 0, in
    the axes of the contact, and the size (states,) of the products of velocities and prescribed accelerations that it
    was computed from, in radians and sizes of the mechanism."""

    contact: TipContact
    J: np.ndarray
    drift: np.ndarray
    terms: np.ndarray


@dataclass(frozen=True, eq=False)
class _Side:
    """Constraints of a loop or a contact: phi^T J vdot = b (states, m), met by forces along `push` (6, m); `terms`
    (states, m) is the size of what b was computed from."""

    J: np.ndarray
    phi: np.ndarray
    push: np.ndarray
    b: np.ndarray
    terms: np.ndarray


def tip_contacts(problem: LoopProblem, contacts: Sequence[TipContact]) -> ContactSolution:
    """The accelerations of a mechanism, with or without loops, whose tips are in contact, and the contact forces."""
    if not contacts:
        raise LoopError(
            "no contact was given: give at least one TipContact, or ask for the forward dynamics."
        )
    tips = [_tip(problem, contact) for contact in contacts]
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
    sides += [_side(problem, t) for t in tips]
    known = problem.joint_force - sum(_joint_forces(t.J, t.contact.free @ t.contact.force) for t in tips)
    b = _stacked([s.b for s in sides], -1)
    held = _held(problem, sides)
    L, y = np.zeros((problem.states, problem.plan.nv, problem.plan.nv)), np.zeros_like(problem.v)
    for some, inertial, _ in problem.portions():
        L[some], y[some] = rooted(inertial, held.of(some), known[some], problem.plan.name)
    mobility = [divide_lower(L, stacks.transposed(s.J)) for s in sides]
    scale = _stacked([row_scale(s.phi, x, problem.length) for s, x in zip(sides, mobility)], -1)
    rows = _stacked([stacks.transposed(x @ s.phi) for s, x in zip(sides, mobility)], -2) / scale[..., None]
    push = _stacked([stacks.transposed(x @ s.push) for s, x in zip(sides, mobility)], -2) / scale[..., None]
    terms = _stacked([s.terms for s in sides], -1) / scale
    eta, rank = _solve(problem, tips, rows, push, y, b / scale, terms)
    vdot = solve_upper(L, y - stacks.apply(stacks.transposed(push), eta))
    multipliers, start = eta / scale, problem.plan.total_constraints
    passing = []
    for t in tips:
        c = t.contact
        n_c = c.constrained.shape[1]
        h_c = multipliers[:, start : start + n_c]
        start += n_c
        h = c.force + h_c @ c.friction.T
        g = (stacks.apply(t.J, vdot) + t.drift) @ c.free
        parts = (h @ c.free.T + h_c @ c.constrained.T, h_c, h, g)
        passing.append(ContactForces(c.frame, *(x.reshape(*problem.batch, x.shape[-1]) for x in parts)))
    return ContactSolution(
        vdot.reshape(*problem.batch, problem.plan.nv),
        tuple(passing),
        rank.reshape(problem.batch),
        rows.shape[-2],
    )


def _held(problem: LoopProblem, sides: Sequence[_Side]) -> Rows:
    """The constraints as rows of typical inertias that must not move."""
    weight = [np.sqrt(row_weight(s.phi, problem.mass, problem.length)) + 0.0 * s.b for s in sides]
    root = _stacked(weight, -1)[..., None]
    C = root * _stacked([stacks.transposed(s.phi) @ s.J for s in sides], -2)
    sizes = [np.abs(stacks.transposed(s.phi)) @ summed_up(problem.plan, s.J) for s in sides]
    summed = root * _stacked(sizes, -2)
    return Rows(C, -root[..., 0] * _stacked([s.b for s in sides], -1), np.zeros_like(problem.v), summed)


def _side(problem: LoopProblem, tip: _Tip) -> _Side:
    c = tip.contact
    terms = np.abs(c.acceleration) + row_sizes(c.constrained, problem.length) * tip.terms[:, None]
    push = c.constrained + c.free @ c.friction
    return _Side(tip.J, c.constrained, push, c.acceleration - tip.drift @ c.constrained, terms)


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
    if (np.abs(left).max(axis=-1, initial=0.0) > CONTRADICTION * size + ROUNDING * summed).any():
        raise LoopError(_contradiction(problem, tips, left))
    wanted = kept * stacks.apply(Vt, y) - inverse * met
    if all(t.contact.contact_class == 1 for t in tips):
        return stacks.apply(U, inverse * wanted), kept.sum(axis=-1)
    through = kept[..., None] * (Vt @ stacks.transposed(K))
    # Friction may turn a push into its opposite; where it just cancels it the contact jams.
    values = np.linalg.svd(through, compute_uv=False)
    effective = values > 1e-10 * values.max(axis=-1, initial=1.0, keepdims=True)
    if (effective.sum(axis=-1) < kept.sum(axis=-1)).any():
        names = ", ".join(repr(t.contact.frame) for t in tips if t.contact.contact_class == 2)
        raise SingularDynamicsError(
            f"The contacts at {names} jam: friction cancels what the constraint forces do to the mechanism, so that no "
            f"forces give the prescribed accelerations. Lower the friction, or make the contact stick (constrain it)."
        )
    return stacks.apply(np.linalg.pinv(through, rcond=1e-10), wanted), kept.sum(axis=-1)


def _contradiction(problem: LoopProblem, tips: Sequence[_Tip], left: np.ndarray) -> str:
    state = int(np.abs(left).max(axis=-1).argmax())
    start, told = problem.plan.total_constraints, []
    for t in tips:
        n_c = t.contact.constrained.shape[1]
        worst = float(np.abs(left[state, start : start + n_c]).max(initial=0.0))
        if worst > CONTRADICTION * float(np.abs(left[state]).max()):
            told.append(f"{t.contact.frame!r} (g^c = {t.contact.acceleration.tolist()})")
        start += n_c
    where = f" in state {state}" if problem.states > 1 else ""
    who = ", ".join(told) or ", ".join(repr(t.contact.frame) for t in tips)
    return (
        f"The accelerations prescribed for the contacts at {who} contradict each other, or directions in which the "
        f"mechanism cannot move{where}: leave those directions free, or prescribe there what it does."
    )


def _tip(problem: LoopProblem, contact: TipContact) -> _Tip:
    """The motion of the tip relative to its support, as derivatives of components in the axes of the contact."""
    plan, support = problem.plan, contact.support
    node, pose = plan.body_pose[contact.frame]
    if node == 0:
        raise LoopError(
            f"contact at {contact.frame!r}: the frame belongs to ground and cannot move: name a frame of a moving body."
        )
    J, a, Y = path_motion(plan, problem.motions, node, stacks.to_frame(pose))
    R, p = stacks.parts(Y)
    v = stacks.apply(J, problem.v)
    to_ground = stacks.transposed(R)
    w, u = stacks.apply(to_ground, v[:, :3]), stacks.apply(to_ground, v[:, 3:])
    w_rate = stacks.apply(to_ground, a[:, :3])
    u_rate = stacks.apply(to_ground, a[:, 3:]) + np.cross(w, u)
    twist, acceleration = _rows(problem, support.twist), _rows(problem, support.acceleration)
    w_s, r = twist[:, :3], p - support.pose.p
    rel_w, rel_u = w - w_s, u - twist[:, 3:] - np.cross(w_s, r)
    # The support's point under the tip, followed with the tip.
    s_rate = acceleration[:, 3:] + np.cross(acceleration[:, :3], r) + np.cross(w_s, u - twist[:, 3:])
    turning = w if contact.axes == "tip" else w_s
    drift_w = w_rate - acceleration[:, :3] - np.cross(turning, rel_w)
    drift_u = u_rate - s_rate - np.cross(turning, rel_u)
    if contact.axes == "tip":
        turn = R
    else:
        turn = np.broadcast_to(support.pose.R.T, R.shape)
        E = turn @ to_ground
        J = np.concatenate([E @ J[:, :3], E @ J[:, 3:]], axis=1)
    drift = np.concatenate([stacks.apply(turn, drift_w), stacks.apply(turn, drift_u)], axis=-1)
    # The support moves the point under the tip, as far from its origin as that is.
    reach = 1.0 + np.linalg.norm(r, axis=-1) / problem.length
    size = [np.linalg.norm(x, axis=-1) for x in (w_s, twist[:, 3:] / problem.length, acceleration[:, :3])]
    prescribed = reach * (size[0] * (size[0] + size[1]) + size[2])
    prescribed = prescribed + np.linalg.norm(acceleration[:, 3:], axis=-1) / problem.length
    return _Tip(contact, J, drift, problem.velocity_products + prescribed)


def _rows(problem: LoopProblem, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, (*problem.batch, 6)).reshape(problem.states, 6)


def _joint_forces(J: np.ndarray, f: np.ndarray) -> np.ndarray:
    return stacks.apply(stacks.transposed(J), np.broadcast_to(f, (len(J), 6)))


def _spaces(who: str, constrained: Any) -> tuple[np.ndarray, np.ndarray]:
    """phi^c (6, n_c) and phi (6, 6 - n_c) from names or a matrix."""
    if isinstance(constrained, str):
        constrained = (constrained,)
    if isinstance(constrained, Collection) and all(isinstance(name, str) for name in constrained):
        unknown = [name for name in constrained if name not in DIRECTIONS]
        if unknown or len(set(constrained)) < len(constrained):
            raise ModelError(
                f"{who}: constrained is {constrained!r}: name directions of {DIRECTIONS}, each once."
            )
        order = [DIRECTIONS.index(name) for name in constrained]
        return np.eye(6)[:, order], np.delete(np.eye(6), order, axis=1)
    phi_c = _numbers(f"{who}: constrained", constrained)
    if phi_c.ndim != 2 or phi_c.shape[0] != 6 or not np.isfinite(phi_c).all():
        raise ModelError(
            f"{who}: constrained has shape {phi_c.shape}; give a finite matrix (6, n_c) or names."
        )
    if np.linalg.matrix_rank(phi_c) < phi_c.shape[1]:
        raise ModelError(f"{who}: the columns of constrained depend on each other; leave some out.")
    return phi_c, np.asarray(orthogonal_complement(phi_c), dtype=np.float64)


def _finite(what: str, value: Any, size: int) -> np.ndarray:
    x = _numbers(what, value)
    if x.ndim == 0 and size == 1:
        x = x[None]
    if x.shape[-1:] != (size,) or not np.isfinite(x).all():
        raise ModelError(f"{what} is {shown(value)}; give {size} finite numbers.")
    return x


def _numbers(what: str, value: Any) -> np.ndarray:
    try:
        return real_array(value)
    except ValueError as error:
        raise ModelError(f"{what} is {shown(value)} ({error}); give numbers.") from error
