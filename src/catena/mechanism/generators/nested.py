"""Loops within loops."""

from __future__ import annotations

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, thin_rod
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

LENGTH, WIDTH = 1.0, 0.8
# Each level is this much narrower than the one around it.
NARROWER = 0.3


@checks_arguments
def nested_loops(depth: int) -> Mechanism:
    """A four-bar whose legs are four-bars whose legs are four-bars: 2^depth - 1 loops and as many dof, 3
    redundant constraints in each loop.

    The body "table" stands on two legs 1 m tall and 0.8 m apart in the x-z plane, "a" and "b". A leg of the
    innermost level is a rod, called like the leg. Any other leg is a foot "{leg}/foot" and a head "{leg}/head",
    cross-pieces joined by two narrower legs "{leg}a" and "{leg}b". Joints "{leg}/lower" and "{leg}/upper" pin a leg
    to what is below and above it; all turn about y. Frames sit at the lower pin (rods, feet), the upper pin
    (heads) and the middle (table). All loops are closed at q = 0, the upright configuration.
    """
    if depth < 1:
        raise ModelError(f"nested_loops: a depth of {depth} was asked for: give 1 or more")
    mechanism = Mechanism(f"{depth} nested loops")
    mechanism.add_body("table", **box(5.0, (1.0, 0.4, 0.05)))
    for leg, x in (("a", -WIDTH / 2.0), ("b", WIDTH / 2.0)):
        _add_leg(mechanism, leg, "ground", "table", x, WIDTH * NARROWER, depth - 1)
    return mechanism


def _add_leg(
    mechanism: Mechanism, leg: str, below: str, above: str, x: float, width: float, depth: int
) -> None:
    """A leg from (x, 0, 0) of the body below to the same place of the body above."""
    at, pin = Pose(p=(x, 0.0, 0.0)), Revolute("y")
    top = Pose(p=(0.0, 0.0, LENGTH))
    if depth == 0:
        mechanism.add_body(leg, **thin_rod(1.0, top.p))
        mechanism.add_joint(f"{leg}/lower", below, leg, pin, at)
        mechanism.add_joint(f"{leg}/upper", leg, above, pin, top, at)
        return
    for end in ("foot", "head"):
        mechanism.add_body(f"{leg}/{end}", **box(0.3, (width, 0.04, 0.04)))
    mechanism.add_joint(f"{leg}/lower", below, f"{leg}/foot", pin, at)
    for side, offset in (("a", -width / 2.0), ("b", width / 2.0)):
        _add_leg(mechanism, leg + side, f"{leg}/foot", f"{leg}/head", offset, width * NARROWER, depth - 1)
    mechanism.add_joint(f"{leg}/upper", f"{leg}/head", above, pin, Pose(), at)
