"""Actuators that a plan has no place for."""

import warnings

from catena.errors import CatenaWarning
from catena.mechanism import Mechanism
from catena.structure import Plan


def warn_of_idle_actuators(mechanism: Mechanism, plan: Plan, stacklevel: int) -> None:
    """Warn of actuators whose joint closes a loop in this plan: it has no coordinates, so tau has no place for them."""
    loops = frozenset(plan.loops)
    for actuator in mechanism.actuators.values():
        if actuator.joint in loops:
            warnings.warn(
                f"Actuator {actuator.name!r} of {mechanism.name!r} does nothing in this plan: its joint "
                f"{actuator.joint!r} closes a loop and has no place in tau. Plan with another joint of the loop "
                f"cut, as in m.system(cut=[...]), or describe the mechanism without the actuator.",
                CatenaWarning,
                stacklevel=stacklevel + 1,
            )
