"""The same system with loop joints elsewhere on their bodies: the tree, its coordinates and the order of all work stay.

Points that stick to a plane are such joints. Where they stick changes with every landing, and only constants of the
tapes tell it, so nothing is planned and laid out anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from catena.dynamics.loops.closing.counted_constraints import CountedConstraints
from catena.errors import StateError
from catena.kernels.evaluation import Evaluator
from catena.mechanism import Mechanism
from catena.mechanism.edits import joints_at
from catena.mechanism.validation import known
from catena.spatial import Pose, is_one_pose
from catena.structure import Plan
from catena.structure.plan import Loop
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System


def with_loops_at(system: System, places: Mapping[str, tuple[Pose, Pose]]) -> System:
    """Return a system with joints that close loops elsewhere on their bodies, {joint: (in_parent, in_child)}."""
    system.mechanics.evaluator.check_current()
    if not isinstance(places, Mapping) or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(map(is_one_pose, pair)) for pair in places.values()
    ):
        raise StateError(
            f"places is {shown(places)}; give a mapping from joints that close loops to pairs of poses."
        )
    for name in places:
        known("joint that closes a loop", name, system.loops, repr(system.mechanism.name))
    mechanism, plan, accuracy = joints_at(system.mechanism, places), system.plan, system.mechanics.accuracy
    first = system.variants.laid_out
    settled = any(x.mechanics.evaluator is not x._counted.described for x in (system, first))
    if settled or plan.owner is not None:
        # What was left out as redundant was so at these places.
        return mechanism.system(plan.root, plan.cut, accuracy, plan.keep)
    made = _moved_plan(system, mechanism, places)
    evaluator = Evaluator(mechanism, made, laid_out=first.mechanics.evaluator)
    moved = system._planned(
        mechanism, made, accuracy, CountedConstraints(evaluator, made.neutral(), accuracy)
    )
    # One look: where joints are elsewhere, others may say the same.
    moved._counted.looks, moved._counted.tries = min(1, moved._counted.looks), 0
    moved._laid_out, moved.mechanics.elements = first, first.mechanics.elements
    return moved


def _moved_plan(system: System, mechanism: Mechanism, places: Mapping[str, tuple[Pose, Pose]]) -> Plan:
    """Return the plan of a system with loop joints at other places {joint: (in parent, in child)}; `mechanism` is the
    one that has them there."""
    plan, joints = system.plan, system.mechanism.joints

    def moved(loop: Loop) -> Loop:
        if loop.name not in places:
            return loop
        joint = joints[loop.name]
        sides = []
        for body, old, new, at in (
            (joint.parent, joint.in_parent, places[loop.name][0], loop.parent_pose),
            (joint.child, joint.in_child, places[loop.name][1], loop.child_pose),
        ):
            own = plan.body_pose[body][1]
            # The canonical frame of the joint stays where it is in the frame of the joint.
            sides.append(own * new * (own * old).inverse() * at)
        parent, child = sides
        return replace(loop, parent_R=parent.R, parent_p=parent.p, child_R=child.R, child_p=child.p)

    return replace(plan, revision=mechanism.revision, loop_joints=[moved(loop) for loop in plan.loop_joints])
