"""Points that stick as joints: a mechanism in which each is a spherical joint to where it stands, a loop like any
other, exact and compiled.

A run has points that stick as joints, whose forces are open where they hold more than can move. Those of contacts are
told, because they must not pull and must stay in their cones. So what the other joints carry is found with these forces
on the bodies, and without the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from catena.joints import Spherical
from catena.mechanism import Mechanism
from catena.simulation.acting import loads
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.geometry import ContactPlaces
from catena.spatial import Pose
from catena.system import System, with_loops_at

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What each system is where some contacts stick, wherever they did so first.
_first: WeakKeyDictionary[System, dict[tuple[Contact, ...], System]] = WeakKeyDictionary()


def with_joints(system: System, contacts: Sequence[Contact], places: Sequence[tuple[Pose, Pose]]) -> System:
    """Return the system in which contacts are joints at `places`, poses in the frame `on` and in the frame that
    touches. They are left out of the tree, so its coordinates are those of the system. Contacts that stuck together
    before, in whichever run, are planned already, and only constants change."""
    if not contacts:
        return system
    m, plan = system.mechanism, system.plan
    known = _first.setdefault(system, {})
    before = known.get(tuple(contacts))
    if before is not None:
        at = {
            contact.joint: (_base(m, contact.on) * on, _base(m, contact.frame) * own)
            for contact, (on, own) in zip(contacts, places, strict=True)
        }
        return with_loops_at(before, at)
    for contact, (on, own) in zip(contacts, places, strict=True):
        m = m.attach(contact.joint, contact.on, contact.frame, Spherical(), on, own, actuated=False)
    names = [contact.joint for contact in contacts]
    found = m.system(root=plan.root, cut=(*plan.cut, *names), keep=plan.keep)
    known[tuple(contacts)] = found
    return found


def _base(mechanism: Mechanism, name: str) -> Pose:
    """Return where a frame is on its body; the frame of a body is the body's own."""
    frame = mechanism.frames.get(name)
    return Pose() if frame is None else frame.pose


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
