"""The steps of the elimination: what one body, or the multiplier of one loop, does when it goes and on the
way back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination import flexible
from catena.dynamics.loops.elimination.blocks import Symmetric, Triangle
from catena.dynamics.loops.elimination.flexible import among_rigid
from catena.dynamics.loops.elimination.magnitudes import Magnitudes, pace_of
from catena.dynamics.tree.friction import friction_at, passive_force
from catena.kernels import on_call
from catena.kinematics.along import along, gram_inverse
from catena.spatial import (
    ArticulatedInertia,
    Force,
    ForceSpace,
    Motion,
    MotionSpace,
    Transform,
    cross,
    is_symbolic,
    spd_inverse,
)
from catena.spatial.scalars import array, sqrt

REGULARISATION = 1e-11
# Loops that act on each other pass on the rounding errors of what each other blocks, which are of the order of
# the machine precision over M; M must be larger than those.
COUPLED = 1e4
# Accelerations [rad/s^2 and m/s^2] that nobody asks to be exact. Where nothing is at work and nothing moves, a part of
# a mechanism that loops hold still would otherwise be judged by comparing rounding with rounding.
LEAST_PACE = (1e-9, 1e-12)


def rest(ground: Any) -> None:
    """The ground rests."""
    ground.pose = Transform.identity()
    ground.v = Motion.zero()
    ground.a = Motion.zero()
    ground.da = Motion.zero()
    ground.A = ArticulatedInertia.zero()
    ground.p = Force.zero()
    ground.f = Force.zero()
    ground.defect = ground.change = ground.before = ground.size = 0.0
    ground.lost = 0.0
    ground.load = ground.pace = Magnitudes.zero()


def resting_ground(ground: Any) -> None:
    """The ground rests, and nobody eliminates modes."""
    rest(ground)
    flexible.begin_rows(ground, 0)


def accelerating_ground(modes: int) -> Callable[[Any], None]:
    """Return what the ground writes for bodies with at most so many modes: it accelerates against gravity, besides
    whatever it is made to do; corrections leave it alone."""

    def ground(ground: Any) -> None:
        rest(ground)
        flexible.begin_rows(ground, modes)
        ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
        ground.pace = Magnitudes.of(ground.a) + Magnitudes(*LEAST_PACE)

    return ground


# The mechanism as it stands and moves.


@on_call
@but_particles
def velocities(body: Any, parent: Any) -> None:
    """Poses and twists, and each body as if nothing hung on it."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)
    v_joint = body.S * body.qd
    body.pose = body.X * parent.pose
    body.v = body.X * parent.v + v_joint
    body.c = cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.p0 = body.inertia.velocity_product(body.v) - body.f_ext
    body.effort = body.tau - passive_force(body)
    body.A = ArticulatedInertia.from_rigid(body.inertia)
    body.p = body.p0
    body.e = np.zeros(body.joint.nv)
    body.defect = body.change = body.before = body.size = 0.0
    body.load = Magnitudes.zero()
    flexible.begin(body, parent)


@on_call
def start(loop: Any, child: Any, parent: Any) -> None:
    """How the loop holds its two bodies, and the acceleration gamma that its joint has by itself."""
    X = relative(loop, child, parent)
    v_child = loop.on_child * child.v
    v_joint = v_child - X * (loop.on_parent * parent.v)
    c = cross(v_child, v_joint)
    if loop.has_constant_constraint_space:
        Phi = padded(loop.joint.constraint_space(loop.neutral), loop.columns)
    else:
        q = loop.joint.coordinates(X)
        Phi = padded(loop.joint.constraint_space(q), loop.columns)
        c = c + loop.joint.bias(q, along(loop.joint.motion_space(q), v_joint))
    hold_by(loop, X, Phi, -(Phi.T * c))


def hold_by(loop: Any, X: Transform, Phi: ForceSpace, gamma: np.ndarray) -> None:
    """Begin with a loop that resists along the columns of Phi, which move by gamma without its forces."""
    loop.K_child = loop.on_child.pull(Phi)
    loop.K_parent = -loop.on_parent.pull(X.pull(Phi))
    loop.gamma = loop.l = gamma
    loop.L = Triangle(loop.columns).zero()
    loop.M = array([REGULARISATION * mobility(loop.scale, column) for column in Phi.array.T])
    loop.total = np.zeros(loop.columns)
    # One over the radius of gyration of a usual body.
    loop.per_length = array([sqrt(loop.scale[0] / loop.scale[1])])


@on_call
def soften(multiplier: Any) -> None:
    """A loop that acts on another one needs a larger M."""
    multiplier.M = COUPLED * multiplier.M


@on_call
def drag(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The friction of the loop's own joint, as the force it takes from both bodies; the ground counts its power."""
    _drag(loop, child, parent, ground, lambda v: friction_at(loop.damping, loop.friction, v))


@on_call
def damp(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The same where dry friction acts besides, unless the motions of the joint turn while it moves."""
    if loop.has_constant_motion_space:
        _drag(loop, child, parent, ground, lambda v: loop.damping * v)
    else:
        drag.step(loop, child, parent, ground)


def _drag(loop: Any, child: Any, parent: Any, ground: Any, friction: Callable[[Any], Any]) -> None:
    X = relative(loop, child, parent)
    v_joint = loop.on_child * child.v - X * (loop.on_parent * parent.v)
    S = loop.joint.motion_space(loop.neutral if loop.has_constant_motion_space else loop.joint.coordinates(X))
    v = along(S, v_joint)
    drag_by(loop, child, parent, ground, X, S.array @ gram_inverse(S), friction(v), v)


def drag_by(
    loop: Any,
    child: Any,
    parent: Any,
    ground: Any,
    X: Transform,
    T: np.ndarray,
    effort: np.ndarray,
    v: np.ndarray,
) -> None:
    """Take the joint force `effort` (nv,) from both bodies of a loop whose joint moves at v (nv,), as a wrench T effort
    in the span of its motions that does this work; any other differs by what the constraints take up."""
    f = Force(T @ effort)
    loop.drag_child = loop.on_child.pull(f)
    loop.drag_parent = -loop.on_parent.pull(X.pull(f))
    child.p += loop.drag_child
    parent.p += loop.drag_parent
    ground.lost += effort @ v
    child.load += Magnitudes.of(loop.drag_child)
    parent.load += Magnitudes.of(loop.drag_parent)


def relative(loop: Any, child: Any, parent: Any) -> Transform:
    """Return the transform from the parent's side of the loop joint to the child's."""
    return (loop.on_child * child.pose) * (loop.on_parent * parent.pose).inverse()


def mobility(scale: np.ndarray, column: np.ndarray) -> Any:
    """Return how much a usual body yields to a force along this column; columns that are not there count as
    forces."""
    if not is_symbolic(column) and not np.any(column):
        return scale[1]
    return scale[0] * (column[:3] @ column[:3]) + scale[1] * (column[3:] @ column[3:])


def padded(Phi: ForceSpace, columns: int) -> ForceSpace:
    """As many columns as every loop gets, of which those that the joint does not need are zero."""
    return ForceSpace(np.hstack([Phi.array, np.zeros((6, columns - Phi.n))]))


# Elimination of a body, and of a multiplier.


@on_call
@among_rigid(flexible.articulate)
def articulate(body: Any, parent: Any) -> None:
    """What the parent feels of a body through a joint that yields.

    One degree of freedom after the other, because A may be stiff by eleven orders of magnitude where a loop blocks
    a direction: a difference of large terms is then as exact as it can be, which that with an inverse of
    S^T A S is not.
    """
    rotor = body.joint.rotor
    if rotor is None:
        pass_on(body, parent, lambda k, A, S, U: _yield(A, S, U, spd_inverse(S.T * U)))
    else:
        pass_on(body, parent, lambda k, A, S, U: _yield_with(rotor[k], A, S, U))


def pass_on(body: Any, parent: Any, through: Callable[..., tuple[ArticulatedInertia, Any]]) -> None:
    """Go through the velocity components of a joint one by one: `through(k, A, S, U)` is the inertia felt through the
    k-th, whose motion is S, and how much it yields."""
    A, p = body.A, body.p
    columns, d_inv, u = [], [], []
    for k, S in enumerate(_single_columns(body.S)):
        U = A * S
        r = body.effort[k] - (S.T * p)[0]
        A, yields = through(k, A, S, U)
        p = p + U * array([yields * r])
        columns.append(U)
        d_inv.append(yields)
        u.append(r)
    parent.A += body.X.pull(A)
    parent.p += body.X.pull(p + A * body.c)
    body.U = ForceSpace(np.hstack([U.array for U in columns]))
    body.d_inv, body.u = array(d_inv), array(u)


def _yield(
    A: ArticulatedInertia, S: MotionSpace, U: ForceSpace, D_inv: Any
) -> tuple[ArticulatedInertia, Any]:
    return A.felt_through(S, U, D_inv), D_inv[0, 0]


def _yield_with(
    rotor: Any, A: ArticulatedInertia, S: MotionSpace, U: ForceSpace
) -> tuple[ArticulatedInertia, Any]:
    D_inv = spd_inverse(S.T * U + array([[rotor]]))
    return A - ArticulatedInertia.from_outer(U, D_inv), D_inv[0, 0]


def _single_columns(S: MotionSpace) -> list[MotionSpace]:
    """Return the motions of a joint one by one."""
    return [MotionSpace(S.array[:, k : k + 1]) for k in range(S.n)]


@on_call
@among_rigid(flexible.carry)
def carry(body: Any, link: Any, above: Any, multiplier: Any) -> None:
    """How a loop holds the parent when the body is gone, and how much the joint yields to it."""
    K = _held_beyond(body, link, multiplier)
    above.K += body.X.pull(K)
    multiplier.l = multiplier.l + K.T * body.c


@on_call
@among_rigid(flexible.carry_to_ground)
def carry_to_ground(body: Any, link: Any, ground: Any, multiplier: Any) -> None:
    """The same where the parent is the ground, whose acceleration is known."""
    K = _held_beyond(body, link, multiplier)
    multiplier.l = multiplier.l + K.T * (body.c + body.X * ground.a)


def _held_beyond(body: Any, link: Any, multiplier: Any) -> ForceSpace:
    """Return what the loop holds through the joint."""
    K, rows = link.K, []
    for k, (S, U) in enumerate(zip(_single_columns(body.S), body.U.columns(), strict=True)):
        E = S.T * K
        K = K - ForceSpace(U.array[:, None] @ (body.d_inv[k : k + 1, None] * E))
        rows.append(E)
    link.E = np.vstack(rows)
    multiplier.L -= Symmetric.from_matrix(link.E.T @ (body.d_inv[:, None] * link.E))
    multiplier.l = multiplier.l + link.E.T @ (body.d_inv * body.u)
    return K


@on_call
def join(multiplier: Any, link: Any, above: Any) -> None:
    """A loop that comes down to a body that it held from the start."""
    above.K += link.K


@on_call
@but_particles
def cross_couple(body: Any, link: Any, other_link: Any, sum: Any) -> None:
    """How two loops act on each other through a joint that yields to both."""
    sum.K = sum.K - link.E.T @ (body.d_inv[:, None] * other_link.E)


@on_call
def absorb_ground(multiplier: Any, link: Any, ground: Any) -> None:
    """The ground's acceleration is known."""
    multiplier.l = multiplier.l + link.K.T * ground.a


@on_call
def invert(multiplier: Any) -> None:
    """lambda = W (K^T a + ...) + w."""
    W = spd_inverse(np.diag(multiplier.M) - multiplier.L.matrix())
    multiplier.W = Symmetric.from_matrix(W)
    multiplier.w = W @ multiplier.l


@on_call
def press(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop's chain adds to the inertia of the body that it still holds (Lilly and Orin, eq. 46)."""
    body.A += ArticulatedInertia.from_product(link.K * multiplier.W.matrix(), link.K)
    body.p += link.K * multiplier.w


@on_call
def mix_link(multiplier: Any, link: Any, pair: Any, above: Any) -> None:
    """What another loop, coupled to this one, holds of the body."""
    above.K += link.K * (multiplier.W.matrix() @ pair.K)


@on_call
def mix_own(multiplier: Any, pair: Any, other: Any) -> None:
    """How much more a coupled loop yields."""
    WL = multiplier.W.matrix() @ pair.K
    other.L += Symmetric.from_matrix(pair.K.T @ WL)
    other.l = other.l + pair.K.T @ multiplier.w


@on_call
def mix_pair(multiplier: Any, pair: Any, other_pair: Any, sum: Any) -> None:
    """How two coupled loops act on each other."""
    sum.K = sum.K + pair.K.T @ (multiplier.W.matrix() @ other_pair.K)


# The way back.


@on_call
def begin(multiplier: Any) -> None:
    """The part of the multiplier that depends on nothing later."""
    multiplier.lam = multiplier.w


@on_call
def feel(multiplier: Any, link: Any, body: Any) -> None:
    """The part that depends on the body that the loop held last."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (link.K.T * body.a)


@on_call
def feel_pair(multiplier: Any, pair: Any, other: Any) -> None:
    """The part that depends on another loop."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (pair.K @ other.lam)


@on_call
def settle(multiplier: Any) -> None:
    """The multiplier found so far."""
    multiplier.total = multiplier.total + multiplier.lam


@on_call
@but_particles
def release(body: Any, link: Any, multiplier: Any) -> None:
    """The joint force that the loop takes up."""
    body.e = body.e + link.E @ multiplier.lam


@on_call
@among_rigid(flexible.accelerate)
def accelerate(body: Any, parent: Any) -> None:
    """Each joint accelerates as its force, its parent and the loops have it."""
    body.pace = pace_of(body, parent)
    body.qdd, body.a = respond(body, body.X * parent.a + body.c)
    body.last_change = 0.0
    demand(body)


def respond(body: Any, a: Motion) -> tuple[np.ndarray, Motion]:
    """Return the accelerations of the joint and of the body, given that of the body if the joint did not move."""
    qdd = [0.0] * body.S.n
    for k in reversed(range(body.S.n)):
        qdd[k] = body.d_inv[k] * (body.u[k] - body.U.columns()[k].dot(a) - body.e[k])
        a = a + body.S.columns()[k] * qdd[k]
    return array(qdd), a


def demand(body: Any) -> None:
    """The force that the body's motion takes; what it lacks is found on the next way to the base."""
    body.f = body.inertia * body.a + body.p0
    body.p = Force.zero()
    body.e = np.zeros(body.joint.nv)
