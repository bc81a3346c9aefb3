"""Points that stick as joints: a mechanism in which each is a spherical joint to where it stands on its plane, a loop
like any other, exact and compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.joints import Spherical
from catena.simulation.contacts.contact import Contact
from catena.spatial import Pose
from catena.system import System


def with_joints(system: System, contacts: Sequence[Contact], at: np.ndarray) -> System:
    """Return the system in which contacts are joints at places `at` (contacts, 3) in the axes of their planes. They are
    left out of the tree, so its coordinates are those of the system."""
    if not contacts:
        return system
    m, plan = system.mechanism, system.plan
    for contact, place in zip(contacts, at, strict=True):
        m = m.attach(
            contact.joint, contact.on, contact.frame, Spherical(), Pose(p=place), Pose(), actuated=False
        )
    names = [contact.joint for contact in contacts]
    return m.system(root=plan.root, cut=(*plan.cut, *names), keep=plan.keep)
