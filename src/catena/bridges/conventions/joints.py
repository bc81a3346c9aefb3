"""Joints of a system by the names that another program has for them."""

from __future__ import annotations

from collections.abc import Mapping

from catena.errors import StateError
from catena.joints import Free, JointKind
from catena.mechanism import MODES
from catena.system import System


def own_name(system: System, there: str, names: Mapping[str, str] | None) -> str:
    """Return the name of the tree joint that is called `there` in another program's model."""
    name = (names or {}).get(there, there)
    if name not in system.joints or name.endswith(MODES):
        raise StateError(
            f"the other model has the joint {there!r}, which carries no coordinates here: load both from the same "
            "file, cut the loops so that they have the same tree, m.system(cut=[...]), or say what it is called here, "
            f"names={{{there!r}: ...}}"
        )
    return name


def kind_of(system: System, name: str) -> JointKind:
    """Return the kind of a tree joint; the root of a pinned plan hangs on a free joint that nobody described."""
    joint = system.mechanism.joints.get(name)
    return joint.kind if joint is not None else Free()
