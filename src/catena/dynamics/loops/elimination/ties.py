"""Couplings in the elimination: multipliers that hold the two bodies of each of their joints.

A joint's own acceleration is w^T (a_child - X a_parent - c) with the wrench w along its motion, S^T w = 1. So the row
sum_t f_t' q_t'' + gamma of a coupling reads like that of a loop, with K = f_t' w on the child and its opposite on the
parent of every joint, and its multiplier acts as a force at these joints. A `term` is the record of one joint in one
coupling: what the joint tells of its motion, and the links to its two bodies.
"""

from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.loops.elimination.blocks import Symmetric, Triangle
from catena.dynamics.loops.elimination.magnitudes import Magnitudes, part
from catena.dynamics.loops.elimination.steps import REGULARISATION, join, mobility, padded, relative
from catena.kernels import ASSIGN, Entry, OnCall, on_call
from catena.mechanism.profiles import Line
from catena.spatial import Force, ForceSpace, cross
from catena.spatial.scalars import absolute, array, floor
from catena.structure import PlannedCoupling

TURN = 2.0 * np.pi


# What joints tell.


@on_call
def tell_joint(body: Any, parent: Any, term: Any) -> None:
    """The position, the velocity and the drift of a joint of the tree with one degree of freedom, and the wrenches
    along its motion."""
    if is_flexible(body.joint):
        # Modes are not coupled; this is compiled for all joints with one degree of freedom.
        term.w_child, term.w_parent, term.motion = Force.zero(), Force.zero(), np.zeros(3)
        return
    S = body.S.array[:, 0]
    w = Force(S) * (1.0 / (S @ S))
    v_joint = body.S * body.qd
    c = cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    term.w_child, term.w_parent = w, -body.X.pull(w)
    term.motion = array([body.q[0], body.qd[0], -c.dot(w)])


@on_call
def tell_loop(loop: Any, child: Any, parent: Any, term: Any) -> None:
    """The same of a joint that closes a loop, from where its two sides are."""
    if loop.joint.nv != 1:
        # Such joints are not coupled; this is compiled for all that close loops.
        term.w_child, term.w_parent, term.motion = Force.zero(), Force.zero(), np.zeros(3)
        return
    X = relative(loop, child, parent)
    v_child = loop.on_child * child.v
    v_joint = v_child - X * (loop.on_parent * parent.v)
    q = loop.joint.coordinates(X)
    S = loop.joint.motion_space(q).array[:, 0]
    w = Force(S) * (1.0 / (S @ S))
    v = v_joint.dot(w)
    c = cross(v_child, v_joint) + loop.joint.bias(q, array([v]))
    term.w_child, term.w_parent = loop.on_child.pull(w), -loop.on_parent.pull(X.pull(w))
    term.motion = array([q[0], v, -c.dot(w)])


# What the coupling makes of it.


@on_call
def begin_with(term: Any, multiplier: Any) -> None:
    """Begin a coupling with its first joint."""
    n = term.columns
    multiplier.gamma = multiplier.position = multiplier.velocity = multiplier.M = np.zeros(n)
    multiplier.L, multiplier.total = Triangle(n).zero(), np.zeros(n)
    add.step(term, multiplier)


@on_call
def add(term: Any, multiplier: Any) -> None:
    """What one joint contributes to the residual of its coupling, and how the coupling holds the joint's bodies."""
    x, rate, drift = term.motion
    f, n = term.profile, term.columns
    slope = term.sign * f.slope(x)
    K_child, K_parent = term.w_child * slope, term.w_parent * slope
    term.K_child, term.K_parent = (padded(ForceSpace(K.array[:, None]), n) for K in (K_child, K_parent))
    bent = term.sign * f.curvature(x)
    multiplier.gamma = _first(multiplier.gamma, slope * drift + bent * rate * rate)
    multiplier.position = _first(multiplier.position, term.sign * f.value(x) - term.offset)
    multiplier.velocity = _first(multiplier.velocity, slope * rate)
    softness = [mobility(term.scale, K_child.array), *[term.scale[1]] * (n - 1)]
    multiplier.M = array([m + REGULARISATION * s for m, s in zip(multiplier.M, softness, strict=True)])


def _first(x: Any, more: Any) -> np.ndarray:
    """Return an array with more of its first entry."""
    return array([x[0] + more, *x[1:]])


@on_call
def unwind(term: Any, multiplier: Any) -> None:
    """Take whole turns of a loop joint, which its angle does not show, off the residual."""
    step = TURN * absolute(term.profile.slope(term.motion[0]))
    multiplier.position = _first(multiplier.position, -step * floor(multiplier.position[0] / step + 0.5))


@on_call
def leave(multiplier: Any) -> None:
    """A coupling that keeps its velocity: the acceleration of its residual without those of bodies."""
    multiplier.l = multiplier.gamma


@on_call
def leave_open(multiplier: Any) -> None:
    """A coupling that is off by its position residual."""
    multiplier.gamma = multiplier.l = multiplier.position


@on_call
def leave_opening(multiplier: Any) -> None:
    """A coupling that is off by its velocity residual."""
    multiplier.gamma = multiplier.l = multiplier.velocity


# Rotors of loop joints are couplings that yield: what they take is inertia times the acceleration of the joint, so
# their row is the acceleration less force / inertia. `position` keeps that number, of which a rotor has no other use.


@on_call
def leave_rotor(term: Any, multiplier: Any) -> None:
    """A rotor that a joint accelerates."""
    n = term.columns
    multiplier.position = array([-1.0 / term.offset, *[0.0] * (n - 1)])
    multiplier.L = Symmetric([-1.0 / term.offset, *[0.0] * (n * (n + 1) // 2 - 1)])
    multiplier.l = multiplier.gamma


@on_call
def rest_rotor(term: Any, multiplier: Any) -> None:
    """A rotor that nothing moves yet."""
    leave_rotor.step(term, multiplier)
    multiplier.gamma = multiplier.l = np.zeros(term.columns)


@on_call
def leave_turning(multiplier: Any) -> None:
    """The acceleration of a rotor without those of bodies."""
    multiplier.l = multiplier.gamma + multiplier.position * multiplier.total


@on_call
def weigh_rotor(multiplier: Any) -> None:
    """Begin to judge a rotor."""
    turned = multiplier.position * multiplier.total
    multiplier.l = multiplier.gamma + turned
    multiplier.w = array([absolute(g) + absolute(x) for g, x in zip(multiplier.gamma, turned, strict=True)])


# On the way back, in refinements and in the end.


@on_call
def hold_joint(multiplier: Any, term: Any, child: Any, parent: Any) -> None:
    """The coupling's forces on the two bodies of a joint, and what their accelerations add to that of the residual."""
    child.f += term.K_child * multiplier.total
    parent.f += term.K_parent * multiplier.total
    multiplier.l = multiplier.l + term.K_child.T * child.a + term.K_parent.T * parent.a


@on_call
def weigh(multiplier: Any) -> None:
    """Begin to judge: what is left of the equation, and what it is summed up from."""
    multiplier.l = multiplier.gamma
    multiplier.w = array([absolute(g) for g in multiplier.gamma])


@on_call
def weigh_joint(multiplier: Any, term: Any, child: Any, parent: Any) -> None:
    """What the two bodies of a joint contribute to both, and what the coupling's forces add to those summed up."""
    multiplier.l = multiplier.l + term.K_child.T * child.a + term.K_parent.T * parent.a
    sides = ((child, term.K_child), (parent, term.K_parent))
    whole = list(multiplier.w)
    for body, K in sides:
        for k, (force, column) in enumerate(zip(multiplier.total, K.columns(), strict=True)):
            whole[k] = whole[k] + Magnitudes.of(column).dot(body.pace)
            body.load += Magnitudes.of(column) * absolute(force)
    multiplier.w = array(whole)


@on_call
def judge_coupling(multiplier: Any, child: Any) -> None:
    """The acceleration by which the coupling does not hold in the end, as a part of all that were summed up."""
    for gap, whole in zip(multiplier.l, multiplier.w, strict=True):
        child.defect += part(gap, whole)


@on_call
def pass_nothing_on(multiplier: Any, ground: Any) -> None:
    """How near the coupling is to one whose force is not unique, as loops tell; it has no child of its own."""
    multiplier.on_child = Force.zero()
    ground.stiffness += sum(list(np.diag(multiplier.W.matrix()) * multiplier.M), 0.0)


@on_call
def pass_through(multiplier: Any, term: Any, other: Any) -> None:
    """What the coupling passes to the child of a loop joint."""
    other.on_child -= term.K_child * multiplier.total


@on_call
def pass_through_tree(body: Any, term: Any, multiplier: Any) -> None:
    """What the coupling passes through a joint of the tree."""
    body.wrench = body.wrench - term.K_child * multiplier.total


@on_call
def pull_joint(multiplier: Any, term: Any, child: Any, parent: Any) -> None:
    """Forces at the joints of a coupling that pull it to where it holds, as loops are pulled together."""
    stiffness, damping, _, _ = child.pull
    force = array(
        [stiffness * e + damping * r for e, r in zip(multiplier.position, multiplier.velocity, strict=True)]
    )
    child.p += term.K_child * force
    parent.p += term.K_parent * force


TELLING: tuple[OnCall, ...] = (tell_joint, tell_loop, add, begin_with, unwind, leave)
TIES: tuple[OnCall, ...] = (
    *TELLING, leave_rotor, rest_rotor, leave_turning, weigh_rotor, hold_joint, weigh, weigh_joint, judge_coupling,
)  # fmt: skip
KEEPING_TIES: tuple[OnCall, ...] = (pass_nothing_on, pass_through, pass_through_tree)


# The calls for one coupling, the k-th among all multipliers.


def begin_coupling(at: Any, k: int, finish: OnCall) -> list[Entry]:
    """Let its joints tell, and sum up."""
    me, coupling, entries = at.multiplier(k), _coupling(at, k), []
    for t, term in enumerate(coupling.terms):
        record = at.term(k, t)
        child, parent = _ends(at, k, t)
        if term.node >= 0:
            places = at.body(term.node), at.flows(child), at.flows(parent), record
            entries.append(Entry(tell_joint, term.node, places))
        else:
            places = at.multiplier(term.loop), at.flows(child), at.flows(parent), record
            entries.append(Entry(tell_loop, term.loop, places))
        entries.append(Entry(add if t else begin_with, at.owner(k, t), (record, me)))
    if coupling.is_rotor:
        rests = finish in (leave_open, leave_opening)
        last = Entry(rest_rotor if rests else leave_rotor, at.owner(k, 0), (at.term(k, 0), me))
        return [*entries, last]
    entries += [Entry(unwind, at.owner(k, t), (at.term(k, t), me)) for t in _turning(coupling)]
    if finish.roles[-1] == "child":
        entries.append(Entry(finish, k, (me, at.flows(_some_child(at, k)))))
    else:
        entries.append(Entry(finish, k, (me,)))
    return entries


def link_coupling(at: Any, k: int) -> list[Entry]:
    """Sum up the links to bodies that several joints of the coupling have."""
    me, entries = at.multiplier(k), []
    for node, ends in at.ends(k).items():
        if len(ends) > 1:
            sum_of_all = at.link(k, node)
            for number, end in enumerate(ends):
                # The first one begins the sum.
                entries.append(Entry(join, k, (me, end, sum_of_all), 0 if number else ASSIGN))
    return entries


def hold_coupling(at: Any, k: int) -> list[Entry]:
    """Forces on all bodies, and the acceleration by which the coupling does not hold."""
    first = leave_turning if _coupling(at, k).is_rotor else leave
    return [Entry(first, k, (at.multiplier(k),)), *_each_joint(at, k, hold_joint)]


def end_coupling(at: Any, k: int) -> list[Entry]:
    """Return what is missing in the end."""
    me = at.multiplier(k)
    last = Entry(judge_coupling, k, (me, at.flows(_some_child(at, k))))
    first = weigh_rotor if _coupling(at, k).is_rotor else weigh
    return [Entry(first, k, (me,)), *_each_joint(at, k, weigh_joint), last]


def keep_coupling(at: Any, k: int) -> list[Entry]:
    """Its part of the wrenches of joints, after loops and bodies have found theirs."""
    me, entries = at.multiplier(k), []
    entries.append(Entry(pass_nothing_on, k, (me, at.flows(0))))
    for t, term in enumerate(_coupling(at, k).terms):
        if term.loop >= 0:
            entries.append(Entry(pass_through, k, (me, at.term(k, t), at.multiplier(term.loop))))
        else:
            entries.append(Entry(pass_through_tree, term.node, (at.body(term.node), at.term(k, t), me)))
    return entries


def pull_coupling(at: Any, k: int) -> list[Entry]:
    """Forces that pull it to where it holds."""
    return _each_joint(at, k, pull_joint)


def _each_joint(at: Any, k: int, step: OnCall) -> list[Entry]:
    entries = []
    for t in range(len(_coupling(at, k).terms)):
        child, parent = _ends(at, k, t)
        # Joints within one rigid piece do not move.
        if child != parent:
            entries.append(
                Entry(step, k, (at.multiplier(k), at.term(k, t), at.flows(child), at.flows(parent)))
            )
    return entries


def _coupling(at: Any, k: int) -> PlannedCoupling:
    coupling: PlannedCoupling = at.plan.couplings[k - len(at.plan.loop_joints)]
    return coupling


def _ends(at: Any, k: int, t: int) -> tuple[int, int]:
    ends: tuple[int, int] = _coupling(at, k).terms[t].ends(at.plan)
    return ends


def _some_child(at: Any, k: int) -> int:
    """Return a body that the coupling holds."""
    return max(child for child, _ in (_ends(at, k, t) for t in range(len(_coupling(at, k).terms))))


def _turning(coupling: PlannedCoupling) -> list[int]:
    """Return the loop joints whose whole turns are taken off, those that count most first."""
    found = [
        (-abs(term.profile.coefficient), t)
        for t, term in enumerate(coupling.terms)
        if term.loop >= 0 and term.turns and isinstance(term.profile, Line)
    ]
    return [t for _, t in sorted(found)]
