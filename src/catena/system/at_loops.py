"""What acts at loops: forces of their joints as forces of the tree, and what closes them again; and the same system
with loop joints elsewhere on their bodies, where the tree, its coordinates and the order of all work stay.

Points that stick to a plane are such joints. Where they stick changes with every landing, and only constants of the
tapes tell it, so nothing is planned and laid out anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.dynamics.loops.closing import projection, restoring
from catena.dynamics.loops.closing.counted_constraints import CountedConstraints
from catena.errors import StateError
from catena.kernels import arrays
from catena.kernels.evaluation import Evaluator
from catena.mechanism import Mechanism
from catena.mechanism.edits import joints_at
from catena.mechanism.validation import known
from catena.spatial import Pose, is_one_pose
from catena.structure import Plan
from catena.structure.plan import Loop
from catena.system.by_name import Given, as_tree_forces
from catena.system.by_state import by_state
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System


@by_state
def tree_forces(system: System, q: ArrayLike, forces: Given) -> np.ndarray:
    """Return the forces tau (..., nv) of joints of the tree that move the mechanism at q (..., nq) as forces given
    by joint do, of the tree or of loops: {joint: (..., nv of the joint)}, or a number where there is one."""
    if not isinstance(forces, Mapping):
        raise StateError(f"forces is {shown(forces)}; give a mapping from joints to forces.")
    evaluator = system.mechanics.evaluator
    return as_tree_forces(evaluator, evaluator.checked(kinematics.rate, "q", q), forces)


@by_state
def correction(system: System, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes (..., nv) of position and velocity, in the sense of kinetic energy, that close the
    loops to first order: J dq = -(position error), J dv = -(velocity error)."""
    system.mechanics.settle()
    return projection.correction(system.mechanics.evaluator, q, v)


@by_state
def restoring_acceleration(
    system: System, q: ArrayLike, v: ArrayLike, stiffness: float, damping: float,
    angular_stiffness: float | None = None, angular_damping: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the part of the accelerations (states, nv) that forces at the loops have, which pull them together:
    -stiffness times the position errors and -damping times the velocity errors of `closure`, along the
    constraints; angles have a stiffness and a damping of their own where these are given. q is (states, nq) and v
    (states, nv)."""
    _, q, v = system.mechanics.states(q, v)
    stiffness = arrays.as_number("stiffness", stiffness, "a stiffness")
    damping = arrays.as_number("damping", damping, "a damping")
    k = (
        stiffness
        if angular_stiffness is None
        else arrays.as_number("stiffness", angular_stiffness, "a stiffness")
    )
    d = damping if angular_damping is None else arrays.as_number("damping", angular_damping, "a damping")
    system.mechanics.settle()
    return restoring.restoring_acceleration(system.mechanics.evaluator, q, v, (stiffness, damping, k, d))


def suitable_strength(system: System, q: np.ndarray) -> tuple[float, float, float, float]:
    """Return stiffness and damping, for distances and for angles, of forces that pull loops together and suit the
    inertia that constraints feel at q (nq,)."""
    system.mechanics.settle()
    return restoring.suitable_strength(system.mechanics.evaluator, q)


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
