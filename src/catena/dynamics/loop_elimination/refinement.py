"""The steps of a refinement: elimination with only the right-hand sides, which are what is left of the true
equations."""

from typing import Any

from catena.dynamics.loop_elimination.steps import demand, respond
from catena.kernels import on_call
from catena.spatial.scalars import array


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
def balance(body: Any, parent: Any) -> None:
    """The joint force that is missing, and what the parent feels of it."""
    missing = body.effort - body.S.T * body.f
    p, u = body.p, []
    for k, (S, U) in enumerate(zip(body.S.columns(), body.U.columns(), strict=True)):
        u.append(missing[k] - S.dot(p))
        p = p + U * (body.d_inv[k] * u[k])
    parent.f += body.X.pull(body.f)
    parent.p += body.X.pull(p)
    body.u = array(u)


@on_call
def balance_only(body: Any, parent: Any) -> None:
    """The joint force that is still missing in the end."""
    body.u = body.effort - body.S.T * body.f
    parent.f += body.X.pull(body.f)


@on_call
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
    other.l = other.l + pair.K.array.T @ multiplier.w


@on_call
def feel_again(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the correction that depends on the body that the loop held last."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (link.K.T * body.da)


@on_call
def accelerate_again(body: Any, parent: Any) -> None:
    """The corrections of all accelerations."""
    dq, body.da = respond(body, body.X * parent.da)
    body.a += body.da
    body.qdd = body.qdd + dq
    demand(body)
