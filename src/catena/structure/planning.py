"""Planning: from the graph of a mechanism to the flat arrays of a tree and its loops. A pure function;
compiles nothing. Planar bases that close a loop resist nothing where everything beyond stays in the plane anyway."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from catena.errors import PlanError
from catena.joints import Free, Reduced
from catena.mechanism import GROUND, VIRTUAL_ROOT, Body, Joint, Mechanism
from catena.mechanism.bases import stays_in_plane
from catena.mechanism.validation import known
from catena.spatial import Pose, is_symbolic
from catena.structure.expansion import expand, welds_across
from catena.structure.flattening import FlatteningChoice, flatten
from catena.structure.plan import Loop, Plan
from catena.structure.spanning_tree import VIRTUAL, Tree, least_dof_tree, preorder
from catena.structure.welding import weld as weld_bodies
from catena.validation import listed, shown


def plan(
    mechanism: Mechanism, root: str | None = None, cut: Iterable[str] = (), keep: Iterable[str] = ()
) -> Plan:
    """Plan a mechanism: weld what cannot move, take the tree of least total dof, leave the other joints as
    loops.

    `root` pins a body: a virtual `Free` joint named "root:<body>" then leads from ground to it, first in
    coordinate order, and the joints that connect its part of the mechanism to ground become loops (a `Free`
    one with 0 constraints). A root that is welded to ground changes nothing. `cut` names joints that must
    stay out of the tree; a joint of 0 dof may be cut too. `keep` names joints that must be in it.

    Among joints of equal freedom those that nobody drives, couples or gears are left out first. A joint with an
    actuator is left out only if its loop has no weld that could be, because a weld has no coordinate to lose.
    """
    cut, keep = _names("cut", cut), _names("keep", keep)
    for name in keep:
        joint = mechanism.joints[known("joint", name, mechanism.joints, "keep")]
        if name in cut or joint.dof == 0:
            why = "it is in `cut` too" if name in cut else "it has no degree of freedom, or is locked"
            raise PlanError(f"keep: joint {name!r} cannot carry coordinates, because {why}: leave it out")
    opened: tuple[str, ...] = ()
    found = _planned(mechanism, root, cut, keep, opened)
    while (idle := _motors_left_out(mechanism, found)) and (weld := _weld_before(mechanism, found, idle)):
        opened = (*opened, weld)
        other = _planned(mechanism, root, cut, keep, opened)
        if len(_motors_left_out(mechanism, other)) >= len(idle):
            break
        found = other
    return without_planes(found)


def _planned(
    mechanism: Mechanism,
    root: str | None,
    cut: tuple[str, ...],
    keep: tuple[str, ...],
    opened: tuple[str, ...],
) -> Plan:
    """Return the plan with `opened` welds left out besides what a user wants."""
    user_cut, cut = cut, (*cut, *opened)
    parts = expand(mechanism, root)
    bodies, joints = parts.bodies, parts.joints
    for name in cut:
        known("joint", name, mechanism.joints, "cut")
    body_index = {body.name: i for i, body in enumerate(bodies)}
    ends = [(body_index[j.parent], body_index[j.child]) for j in joints]
    kept = [k for k, j in enumerate(joints) if j.name not in cut] if cut else range(len(joints))
    if parts.star:
        across = welds_across(joints, ends, parts.star)
        kept = [k for k in kept if k not in across]
    dof = [j.dof for j in joints]

    welds = weld_bodies(len(bodies), joints, ends, [k for k in kept if dof[k] == 0])
    group = welds.group
    edge_joint = [k for k in kept if dof[k] > 0 and group[ends[k][0]] != group[ends[k][1]]]
    wanted = _preferred(mechanism)
    # The arms of flexible bodies share coordinates, so they cost nothing and are always in the tree.
    cost = [-2 if k in parts.star else _cost(joints[k], wanted, keep) for k in edge_joint]
    edges = [(group[ends[k][0]], group[ends[k][1]], c) for k, c in zip(edge_joint, cost, strict=True)]
    pinned = None
    hold = root
    if root is not None:
        known("body", root, mechanism.bodies, "root")
        if mechanism.bodies[root].flexible is not None:
            hold = parts.place_of_root
        pinned = group[body_index[str(hold)]] or None
    tree = least_dof_tree(welds.count, edges, pinned)
    _check_connected(tree, bodies, group, joints, cut)
    _check_kept(keep, {joints[edge_joint[e]].name for e in tree.via if e != VIRTUAL})

    via = [edge_joint[e] if e != VIRTUAL else len(joints) for e in tree.via]
    if pinned is not None:
        joints.append(_virtual_root(str(root)))
        ends.append((0, body_index[str(hold)]))
    choice = FlatteningChoice(bodies, joints, ends, welds, tree, preorder(tree), via, parts)
    found = flatten(mechanism, root, user_cut, keep, choice)
    _check_finite(found)
    return found


def _check_finite(found: Plan) -> None:
    """Raise for bodies so heavy, or joints so far away, that float64 does not hold what follows from them."""
    sound = _are_finite(found.inertia) & _are_finite(found.placement_p)
    if not sound.all():
        names = ", ".join(repr(name) for name in found.bodies[int(np.argmin(sound))])
        raise PlanError(
            f"body {names}: mass, mass centre or poses are too large for float64: check the units"
        )
    for loop in found.loop_joints:
        if not (_are_finite(loop.parent_p[None]).all() and _are_finite(loop.child_p[None]).all()):
            raise PlanError(
                f"joint {loop.name!r}: it is too far away for float64: check the units of its poses"
            )


def _are_finite(rows: np.ndarray) -> np.ndarray:
    """Return whether each of these rows (n, ...) is finite: (n,) booleans. Symbols stand for numbers that will be given
    later, and only some of the arrays of a plan have any: a length is in the places of joints, not in inertias."""
    if rows.dtype == object:
        known = [all(is_symbolic(x) or np.isfinite(x) for x in row) for row in rows]
        return np.array(known, dtype=bool)
    return np.asarray(np.isfinite(rows).all(axis=1))


def _preferred(mechanism: Mechanism) -> frozenset[str]:
    """Return the joints that should carry coordinates if possible: those with actuators, couplings or rotors."""
    driven = {actuator.joint for actuator in mechanism.actuators.values()}
    coupled = {joint for coupling in mechanism.couplings.values() for joint in coupling.joints}
    geared = {joint.name for joint in mechanism.joints.values() if joint.armature is not None}
    return frozenset(driven | coupled | geared)


def _cost(joint: Joint, wanted: frozenset[str], keep: Sequence[str]) -> int:
    """Return what it costs to have a joint in the tree: its freedom, and of joints of equal freedom less for those that
    are wanted there, and then for those that are actuated; nothing for those that must be there. Only the order of
    costs matters to the tree."""
    if joint.name in keep:
        return -1
    return 4 * joint.dof + 2 * (joint.name not in wanted) + (not np.any(joint.actuated))


def _motors_left_out(mechanism: Mechanism, found: Plan) -> list[str]:
    """Return the joints with actuators that close loops although nobody cut them."""
    motors = {actuator.joint for actuator in mechanism.actuators.values()} - set(found.cut)
    return [name for name in found.loops if name in motors and mechanism.joints[name].dof]


def _weld_before(mechanism: Mechanism, found: Plan, left_out: Sequence[str]) -> str | None:
    """Return a weld to leave out of the tree so that one of these joints need not be; None if there is none."""
    used = {*found.joint, *(n for n, j in mechanism.joints.items() if not j.dof and n not in found.loops)}
    around: dict[str, list[tuple[str, str]]] = {}
    for name in (n for n in mechanism.joints if n in used):
        joint = mechanism.joints[name]
        around.setdefault(joint.parent, []).append((name, joint.child))
        around.setdefault(joint.child, []).append((name, joint.parent))
    for name in left_out:
        joint = mechanism.joints[name]
        way = set(_path(around, joint.parent, joint.child))
        welds = [n for n, j in mechanism.joints.items() if n in way and not j.kind.nv]
        if welds:
            return welds[-1]
    return None


def _path(around: Mapping[str, Sequence[tuple[str, str]]], start: str, end: str) -> list[str]:
    """Return the joints on the way from one body to another."""
    came: dict[str, tuple[str, str]] = {start: ("", "")}
    queue = [start]
    for body in queue:
        for name, other in around.get(body, ()):
            if other not in came:
                came[other] = name, body
                queue.append(other)
    way, body = [], end
    while body != start and body in came:
        name, body = came[body]
        way.append(name)
    return way


def _check_kept(keep: Sequence[str], in_tree: Collection[str]) -> None:
    """Raise for joints that must be in the tree but close a loop of such joints."""
    for name in keep:
        if name not in in_tree:
            raise PlanError(
                f"keep: joint {name!r} closes a loop with the other joints to be kept, {', '.join(map(repr, keep))}, "
                "or lies within one rigid piece: keep fewer joints"
            )


def _names(what: str, joints: Iterable[str]) -> tuple[str, ...]:
    try:
        return listed(joints)
    except ValueError as error:
        raise PlanError(
            f"{what} is {shown(joints)} ({error}): give a list of joints, such as ['D']"
        ) from None


def _virtual_root(body: str) -> Joint:
    none, idle = np.zeros(6), np.zeros(6, dtype=bool)
    return Joint(VIRTUAL_ROOT + body, GROUND, body, Free(), Pose(), Pose(), none, none, None, idle)


def _check_connected(
    tree: Tree, bodies: Sequence[Body], group: Sequence[int], joints: Sequence[Joint], cut: Sequence[str]
) -> None:
    """Raise with the names of bodies that no chain of joints connects to ground."""
    if all(d >= 0 for d in tree.depth):
        return
    loose = [body.name for body, g in zip(bodies, group, strict=True) if not tree.reached(g)]
    some = ", ".join(repr(name) for name in loose[:6]) + (
        f" and {len(loose) - 6} more" if len(loose) > 6 else ""
    )
    verb = "is" if len(loose) == 1 else "are"
    who = f"body {some} {verb}" if len(loose) == 1 else f"bodies {some} {verb}"
    lost = set(loose)
    through = [j.name for j in joints if j.name in cut and (j.parent in lost) != (j.child in lost)]
    if through:
        names = ", ".join(repr(name) for name in through)
        raise PlanError(
            f"{who} connected to ground only through cut joints ({names}): take one of them out of `cut`"
        )
    raise PlanError(
        f"{who} not connected to ground by any joint: add the joint that is missing, "
        "or a Free joint from ground for what floats"
    )


# A body that a base would move out of its plane by no more than this, in radians or parts of the lengths added up, is
# in it but for rounding.
IN_PLANE = 1e-12


def without_planes(plan: Plan) -> Plan:
    """Return the plan in which planar bases that close a loop have no rows, if the joints between them and ground keep
    the body in the plane, as a `Free` base has none (Lampariello, example 1 in the plane).

    A base is a Planar joint to ground without a motor; where gravity leans on the plane, or friction goes by load, it
    is a support, whose reaction matters, and stays as it is.
    """
    loops = [_resisting_nothing(loop) if _is_idle(plan, loop) else loop for loop in plan.loop_joints]
    if all(a is b for a, b in zip(loops, plan.loop_joints, strict=True)):
        return plan
    return replace(plan, loop_joints=loops)


def _resisting_nothing(loop: Loop) -> Loop:
    kind = Reduced(loop.kind, ((),) * loop.constraints, 0)
    return replace(loop, kind=kind, params=kind.params(), constraints=0)


def _is_idle(plan: Plan, loop: Loop) -> bool:
    """Return whether a loop joint is a planar base that holds nothing which joints of the tree do not hold."""
    if loop.kind.plane_normal is None or loop.actuated or loop.bearing is not None:
        return False
    sides = [
        (loop.parent_node, loop.parent_R, loop.parent_p),
        (loop.child_node, loop.child_R, loop.child_p),
    ]
    (near, near_R, near_p), (node, R, p) = sides if sides[0][0] == 0 else sides[::-1]
    numbers = (near_R, near_p, R, p, plan.placement_R, plan.placement_p, plan.gravity)
    if near != 0 or any(is_symbolic(x) for x in numbers):
        return False
    normal = near_R @ np.asarray(loop.kind.plane_normal)
    if abs(normal @ plan.gravity) > IN_PLANE * np.linalg.norm(plan.gravity):
        return False
    height, length = -float(normal @ near_p), float(np.linalg.norm(near_p))
    way = []
    while node:
        way.append(node)
        node = int(plan.parent[node])
    for i in reversed(way):
        height, length = (
            height + float(normal @ plan.placement_p[i]),
            length + float(np.linalg.norm(plan.placement_p[i])),
        )
        normal = plan.placement_R[i] @ normal
        if not stays_in_plane(plan.joint_kind(i), normal):
            return False
    height, length = height + float(normal @ p), length + float(np.linalg.norm(p))
    tilt = np.linalg.norm(R @ np.asarray(loop.kind.plane_normal) - normal)
    return bool(tilt <= IN_PLANE and abs(height) <= IN_PLANE * length)
