"""Points that stick as joints: a mechanism in which each is a spherical joint to where it stands, a loop like any
other, exact and compiled."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from catena.joints import Spherical
from catena.mechanism import Mechanism
from catena.simulation.contacts.contact import Contact
from catena.spatial import Pose
from catena.system import System, with_loops_at

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
