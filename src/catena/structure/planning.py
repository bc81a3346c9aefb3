"""Planning: from the graph of a mechanism to the flat arrays of a tree and its loops. A pure function;
compiles nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from catena.errors import PlanError
from catena.given import entries, shown
from catena.joints import Free
from catena.mechanism import GROUND, VIRTUAL_ROOT, Body, Joint, Mechanism
from catena.mechanism.validation import known
from catena.spatial import Pose
from catena.structure.expansion import expand, welds_across
from catena.structure.flattening import Choice, flatten
from catena.structure.plan import Plan
from catena.structure.spanning_tree import VIRTUAL, Tree, least_dof_tree, preorder
from catena.structure.welding import weld


def plan(mechanism: Mechanism, root: str | None = None, cut: Iterable[str] = ()) -> Plan:
    """Plan a mechanism: weld what cannot move, take the tree of least total dof, leave the other joints as
    loops.

    `root` pins a body: a virtual `Free` joint named "root:<body>" then leads from ground to it, first in
    coordinate order, and the joints that connect its part of the mechanism to ground become loops (a `Free`
    one with 0 constraints). A root that is welded to ground changes nothing. `cut` names joints that must
    stay out of the tree; a joint of 0 dof may be cut too.
    """
    cut = _names(cut)
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

    welds = weld(len(bodies), joints, ends, [k for k in kept if dof[k] == 0])
    group = welds.group
    edge_joint = [k for k in kept if dof[k] > 0 and group[ends[k][0]] != group[ends[k][1]]]
    # The arms of flexible bodies share coordinates, so they cost nothing and are always in the tree.
    edges = [(group[ends[k][0]], group[ends[k][1]], 0 if k in parts.star else dof[k]) for k in edge_joint]
    pinned = None
    hold = root
    if root is not None:
        known("body", root, mechanism.bodies, "root")
        if mechanism.bodies[root].flexible is not None:
            hold = parts.place_of_root
        pinned = group[body_index[str(hold)]] or None
    tree = least_dof_tree(welds.count, edges, pinned)
    _check_connected(tree, bodies, group, joints, cut)

    via = [edge_joint[e] if e != VIRTUAL else len(joints) for e in tree.via]
    if pinned is not None:
        joints.append(_virtual_root(str(root)))
        ends.append((0, body_index[str(hold)]))
    choice = Choice(bodies, joints, ends, welds, tree, preorder(tree), via, parts)
    found = flatten(mechanism, root, cut, choice)
    _check_finite(found)
    return found


def _check_finite(found: Plan) -> None:
    """Raise for bodies so heavy, or joints so far away, that float64 does not hold what follows from them."""
    if found.inertia.dtype == object:
        # Symbols stand for numbers that will be given later.
        return
    sound = np.isfinite(found.inertia).all(axis=1) & np.isfinite(found.placement_p).all(axis=1)
    if not sound.all():
        names = ", ".join(repr(name) for name in found.bodies[int(np.argmin(sound))])
        raise PlanError(
            f"body {names}: mass, mass centre or poses are too large for float64: check the units"
        )
    for loop in found.loop_joints:
        if not (np.isfinite(loop.parent_p).all() and np.isfinite(loop.child_p).all()):
            raise PlanError(
                f"joint {loop.name!r}: it is too far away for float64: check the units of its poses"
            )


def _names(cut: Iterable[str]) -> tuple[str, ...]:
    try:
        return entries(cut)
    except ValueError as error:
        raise PlanError(f"cut is {shown(cut)} ({error}): give a list of joints, such as ['D']") from None


def _virtual_root(body: str) -> Joint:
    none = np.zeros(6)
    return Joint(VIRTUAL_ROOT + body, GROUND, body, Free(), Pose(), Pose(), none, none, None, actuated=False)


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
