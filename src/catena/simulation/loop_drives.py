"""Prescribed motion of joints that close loops: the run takes a plan in which they carry coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena.changing.transfer import transfer
from catena.errors import StateError
from catena.simulation.arguments import initial_state
from catena.system import System
from catena.validation import is_one_of


def with_drives_in_tree(
    system: System, q: Any, v: Any, motion: Any, is_alone: bool
) -> tuple[System, Any, Any]:
    """Return a system, and the same state q, v of it, in which all joints whose `motion` is prescribed belong to the
    tree: the given one unless some of them close loops.

    Another plan has other coordinates, so nobody else may speak of them: with a controller or events, or in a list of
    systems, a run that is not alone, it is an error.
    """
    names = (
        [joint for joint in motion if is_one_of(joint, system.loops)] if isinstance(motion, Mapping) else []
    )
    if not names:
        return system, q, v
    listed = ", ".join(repr(name) for name in names)
    if not is_alone:
        raise StateError(
            f"motion: {listed} closes a loop in this plan, and controllers and events know its coordinates only: plan "
            f"it with m.system(keep=[{listed}])."
        )
    plan = system.plan
    cut = [name for name in plan.cut if name not in names]
    new = system.mechanism.system(
        root=plan.root, cut=cut, accuracy=system.mechanics.accuracy, keep=[*plan.keep, *names]
    )
    if q is None or isinstance(q, Mapping):
        return new, q, v
    found = transfer(system, *initial_state(system, q, v), new)
    return new, found.q, found.v
