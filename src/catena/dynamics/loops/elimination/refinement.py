"""The steps of a refinement: elimination with only the right-hand sides, which are what is left of the true
equations."""

from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination import flexible
from catena.dynamics.loops.elimination.flexible import among_rigid
from catena.dynamics.loops.elimination.magnitudes import Magnitudes, hand_down, inertial_load, magnitude, part
from catena.dynamics.loops.elimination.steps import demand, respond
from catena.dynamics.tree.rotors import rotor_force
from catena.kernels import on_call
from catena.spatial.scalars import absolute, array


@on_call
def hold(multiplier: Any, child: Any, parent: Any) -> None:
    """The loop's forces on its two bodies, and the acceleration by which it is not closed."""
    child.f += multiplier.K_child * multiplier.total
    parent.f += multiplier.K_parent * multiplier.total
    multiplier.l = multiplier.gamma + multiplier.K_child.T * child.a + multiplier.K_parent.T * parent.a


@on_call
def drag_again(multiplier: Any, child: Any, parent: Any) -> None:
    """The friction of the loop's own joint."""
    child.f += multiplier.drag_child
    parent.f += multiplier.drag_parent


@on_call
@among_rigid(flexible.load_parent)
def load_parent(body: Any, parent: Any) -> None:
    """What passes through the joint, which the parent bears."""
    parent.f += body.X.pull(body.f)


@on_call
@among_rigid(flexible.lack)
def lack(body: Any, parent: Any) -> None:
    """The joint force that is missing, and what the parent feels of it."""
    missing = body.effort - body.S.T * body.f - rotor_force(body.joint, body.qdd)
    p, u = body.p, []
    for k, (S, U) in enumerate(zip(body.S.columns(), body.U.columns(), strict=True)):
        u.append(missing[k] - S.dot(p))
        p = p + U * (body.d_inv[k] * u[k])
    parent.p += body.X.pull(p)
    body.u = array(u)


@on_call
def balance(body: Any, parent: Any) -> None:
    """Both."""
    lack.step(body, parent)
    load_parent.step(body, parent)


@on_call
@among_rigid(flexible.judge)
def judge(body: Any, parent: Any) -> None:
    """The joint force that is missing in the end, as a part of all forces that were summed up, squared and summed.

    The sum itself may vanish, as the wrench through a `Free` joint does, so the magnitudes of its terms are added up
    beside it: those of the body, of the loops that hold it and of everything that hangs on it.
    """
    load = body.load + inertial_load(body)
    geared = rotor_force(body.joint, body.qdd) + np.zeros(body.joint.nv)
    missing = body.effort - body.S.T * body.f - geared
    parts = [
        part(m, absolute(e) + absolute(g) + Magnitudes.of(S).dot(load))
        for m, e, g, S in zip(missing, body.effort, geared, body.S.columns(), strict=True)
    ]
    hand_down(body, parent, load, parts)


@on_call
@but_particles
def judge_and_keep(body: Any, parent: Any) -> None:
    """The same, and the wrench that passes through the joint."""
    body.wrench = body.f
    judge.step(body, parent)


@on_call
def pass_on(multiplier: Any, ground: Any) -> None:
    """The wrench on the child, and how near the loop is to one whose multipliers are not unique: a direction in which
    it does not yield counts 1."""
    multiplier.on_child = -(multiplier.K_child * multiplier.total)
    yields = np.diag(multiplier.W.matrix()) * multiplier.M
    ground.stiffness += sum(list(yields), 0.0)


@on_call
def pass_drag_on(multiplier: Any) -> None:
    """The friction of the loop's own joint."""
    multiplier.on_child -= multiplier.drag_child


@on_call
def judge_loop(multiplier: Any, child: Any, parent: Any) -> None:
    """The acceleration by which the loop is not closed in the end, as a part of all that were summed up; and what its
    forces add to those that are summed up for its two bodies.

    Bodies that loops keep from turning have no angular accelerations but rounding, that of all the forces which hold
    them. A turn is compared with the shift as well, as a part of how large bodies are."""
    gap = multiplier.gamma + multiplier.K_child.T * child.a + multiplier.K_parent.T * parent.a
    sides = ((child, multiplier.K_child), (parent, multiplier.K_parent))
    paces = [body.pace + Magnitudes(body.pace.linear * multiplier.per_length[0], 0.0) for body, _ in sides]
    for k, g in enumerate(gap):
        terms = [Magnitudes.of(K.columns()[k]).dot(pace) for pace, (_, K) in zip(paces, sides, strict=True)]
        child.defect += part(g, sum(terms, 0.0))
    for body, K in sides:
        for force, column in zip(multiplier.total, K.columns(), strict=True):
            body.load += Magnitudes.of(column) * absolute(force)


@on_call
@but_particles
def carry_again(body: Any, link: Any, multiplier: Any) -> None:
    """What the loop feels of them."""
    multiplier.l = multiplier.l + link.E.T @ (body.d_inv * body.u)


@on_call
def invert_again(multiplier: Any) -> None:
    """The correction of the multiplier that depends on nothing later."""
    multiplier.w = multiplier.W.matrix() @ multiplier.l


@on_call
def press_again(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop passes on to the body that it still holds."""
    body.p += link.K * multiplier.w


@on_call
def mix_again(multiplier: Any, pair: Any, other: Any) -> None:
    """What the loop passes on to a coupled one."""
    other.l = other.l + pair.K.T @ multiplier.w


@on_call
def feel_again(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the correction that depends on the body that the loop held last."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (link.K.T * body.da)


@on_call
@among_rigid(flexible.accelerate_again)
def accelerate_again(body: Any, parent: Any) -> None:
    """The corrections of all accelerations."""
    dq, body.da = respond(body, body.X * parent.da)
    body.a += body.da
    body.qdd = body.qdd + dq
    body.change_before, body.last_change = body.last_change, magnitude(body.da.array)
    demand(body)
