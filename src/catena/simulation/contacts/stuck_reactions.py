"""What joints carry while points stick.

A run has points that stick as joints, whose forces are open where they hold more than can move. Those of contacts are
told, because they must not pull and must stay in their cones. So what the other joints carry is found with these forces
on the bodies, and without the joints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.simulation.acting import loads
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.results.segment import Segment
from catena.system import System


def reactions_beside_contacts(run: Segment) -> dict[str, np.ndarray]:
    """Return the wrench (samples, 6) that each joint of a segment passes to its child, beside its contacts; those of
    contacts which stick as joints are among them."""
    stuck = [each for each in run.contact_force_histories if each.contact.joint in run.system.loops]
    names = [each.contact.joint for each in stuck]
    system = without_contacts(run.system, names)
    places = ContactPlaces(system, [each.contact for each in stuck])
    touches = places.at(run.q, run.v)
    in_ground = np.stack([each.f for each in stuck], axis=1)[..., None, :] @ touches.axes
    forces = (in_ground @ np.swapaxes(touches.E, -1, -2))[..., 0, :]
    wrenches = dict(run.wrenches)
    for body, wrench in places.wrenches(touches, forces).items():
        wrenches[body] = wrenches[body] + wrench if body in wrenches else wrench
    known = run.acceleration if run.driven else None
    found = loads.reactions(system, run.q, run.v, run.tau, wrenches, known, run.besides)
    for k, name in enumerate(names):
        joint = run.system.mechanism.joints[name]
        turned = run.pose(joint.child)[..., :3, :3] @ joint.in_child.R
        force = (in_ground[:, k] @ turned)[:, 0]
        found[name] = np.concatenate([np.zeros_like(force), force], axis=-1)
    return found


def without_contacts(system: System, joints: Sequence[str]) -> System:
    """Return a system without the joints as which contacts stick. They are no part of the tree, so that its coordinates
    are the same."""
    mechanism, plan = system.mechanism, system.plan
    for name in joints:
        mechanism = mechanism.detach(name)
    return mechanism.system(root=plan.root, cut=[x for x in plan.cut if x not in joints], keep=plan.keep)
