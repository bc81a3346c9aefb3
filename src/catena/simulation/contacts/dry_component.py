"""Dry friction of joints beside contacts: a velocity component that rubs is a contact that is always closed and whose
pressure is known.

It has one direction, that of the component, and sticks or slides as every contact does, with a coefficient of one and
the pressure P in place of a normal force. So that one law finds the forces of all, its normal is a motion that nothing
else takes part in: with a mobility w and the acceleration -w P that motion is held by the force P and by no other one.
The dynamics have friction that goes smoothly through rest; what is found here acts besides.

A joint that closes a loop has no coordinate, and its component is seen as a contact of two bodies: its direction is the
wrench that does work along this component and along no other one, which is fixed to the child where the motions of the
joint are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination.dry_loops import dry_loops, has_dry_friction
from catena.forces.dry import pressure
from catena.system import System
from catena.system.sticking import DryFriction, dry_friction


@dataclass(frozen=True)
class DryComponent:
    """A velocity component with dry friction, number `index` of the joint `of`: the friction of a slip, by how much
    more holds at rest (`excess`), how much of that fades with the slip and how fast (`fall`)."""

    of: str
    index: int
    friction: float
    excess: float
    fading: float
    fall: float
    label: str
    restitution: float = 0.0
    load_excess: float = 0.0
    load_fading: float = 0.0

    def pressure(self, v: Any, slips: Any, sense: Any, whole: Any, load: Any = 0.0) -> Any:
        """Return the most force of it at a velocity v: of a component that sticks what it can hold, of one that `slips`
        (0 or 1) in a `sense` (-1 or 1) what friction takes, less what the smooth friction takes already unless it is
        the `whole`. Its `load` makes so much friction of a slip, and at rest `load_excess` times that besides, of which
        `load_fading` fades with the slip."""
        own = pressure(self.friction, self.excess, self.fading, self.fall, v, slips, sense, whole)
        fades = self.load_fading / (1.0 + self.fall * v * v)
        return own + load * (1.0 + slips * fades + (1.0 - slips) * self.load_excess)


def dry_components(system: System, q: np.ndarray, driven: Collection[str]) -> tuple[DryComponent, ...]:
    """Return the components with dry friction of the joints of a system whose motion begins at q (nq,), but those of
    joints that are `driven` along given motions, in an order that does not depend on which joints close loops. Where
    one of these does not keep its motions (`has_constant_motion_space`), its friction stays smooth."""
    plan = system.mechanics.evaluator.plan
    if not has_dry_friction(plan):
        return ()
    of_tree, of_loops = dry_friction(system, q)
    found = list[DryComponent]()
    for joint in system.joints:
        own = system.slice_v(joint)
        if joint not in driven:
            found += _rubbing(of_tree, joint, [(k,) for k in range(system.nv)[own]])
    for k in dry_loops(plan):
        loop = plan.loop_joints[k]
        if loop.kind.has_constant_motion_space:
            found += _rubbing(of_loops, loop.name, [(k, i) for i in range(loop.kind.nv)])
    if of_loops.limit.any():
        order = list(system.mechanism.joints)
        found.sort(key=lambda dry: order.index(dry.of))
    return tuple(found)


def _rubbing(dry: DryFriction, joint: str, places: Sequence[tuple[int, ...]]) -> Iterator[DryComponent]:
    """Return the components of a joint that rub, whose numbers are at these places."""
    for index, at in enumerate(places):
        if dry.limit[at] > 0.0:
            label = f"friction of {joint}" if len(places) == 1 else f"friction of {joint} [{index}]"
            friction, excess, fading, fall = (
                float(x[at]) for x in (dry.friction, dry.excess, dry.fading, dry.fall)
            )
            more = () if dry.bearing is None else tuple(float(x[at]) for x in dry.bearing[5:])
            yield DryComponent(joint, index, friction, excess, fading, fall, label, 0.0, *more)
