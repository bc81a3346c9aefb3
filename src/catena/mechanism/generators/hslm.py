"""The high stiffness low mass mechanism."""

from __future__ import annotations

from math import atan2, hypot, pi, sqrt

from catena.joints import Fixed, Prismatic, Universal
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

# Where the chains hold the member, and how far each chain is turned about the vertical.
HOLDS = ((-0.05, 0.0, -0.025), (0.05, 0.0, -0.025), (0.0, 0.0, 0.05))
TURNS = (-pi / 6, pi + pi / 6, pi / 2)
HAND = 0.1
# The bases are the corners of a triangle with sides of 1 m, 1 m above the member.
ACROSS, DROP = 1.0 / sqrt(3.0) - 0.05 - HAND, 1.0


def hslm(driven_tips: bool = False) -> Mechanism:
    """The high stiffness low mass mechanism of van der Merwe (chapter 8), a machine tool on three sliding legs: 3 dof,
    10 moving bodies, 12 joints, 2 loops, none of their constraints redundant. The y axis points up and g = 10 m/s^2.

    Chain k = 1..3 hangs from a universal joint "base{k}" on ground, which turns about the vertical y and then about a
    level z, with a massless gimbal "gimbal{k}". Through the gimbal a leg "leg{k}" slides along its x axis by the
    prismatic joint "slide{k}"; a universal joint "tip{k}" (y, then z, of the leg) leads to a level "hand{k}", which the
    fixed joint "hold{k}" welds to the reference member, the 5 kg body "member". The base and its gimbal with the slide
    are joint 1 of the text, "tip{k}" is its joint 2, leg and hand are its links 1 and 2. Slides are actuated, which is
    enough to move it; with `driven_tips` the tips are too, as the first controller of the text has it.

    All loops are closed at the neutral configuration, the default position of the text, where joint coordinates are
    zero; its joint parameters are q plus (turn, -1.1669367, 1.0874871) and (0, 1.1669367). The least plan leaves out
    tip2 and tip3 and has all slides in its tree. Plan with cut=("hold2", "hold3") to have all 15 coordinates.
    """
    mechanism = Mechanism("HSLM", gravity=(0.0, -10.0, 0.0))
    # The text leaves this inertia out; a member that only translates does not feel it.
    mechanism.add_body("member", 5.0, inertia=0.01)
    length, tilt = hypot(ACROSS, DROP), atan2(DROP, ACROSS)
    level = Pose(rpy=(0.0, 0.0, tilt))
    for k, (hold, turn) in enumerate(zip(HOLDS, TURNS, strict=True), 1):
        turned = Pose(p=hold, rpy=(0.0, turn, 0.0))
        base = turned * Pose(p=(-HAND - ACROSS, DROP, 0.0))
        mechanism.add_body(f"gimbal{k}", 0.0)
        mechanism.add_body(f"leg{k}", 2.0, (0.5, 0.0, 0.0), (0.05, 0.5, 0.5))
        mechanism.add_body(f"hand{k}", 0.5, (HAND / 2, 0.0, 0.0), (0.00006, 0.0006, 0.0006))
        universal = Universal("y", "z")
        mechanism.add_joint(f"base{k}", "ground", f"gimbal{k}", universal, base, level, actuated=False)
        mechanism.add_joint(f"slide{k}", f"gimbal{k}", f"leg{k}", Prismatic("x"))
        end = Pose(p=(length, 0.0, 0.0))
        mechanism.add_joint(
            f"tip{k}", f"leg{k}", f"hand{k}", universal, end, level.inverse(), actuated=driven_tips
        )
        mechanism.add_joint(f"hold{k}", f"hand{k}", "member", Fixed(), Pose(p=(HAND, 0.0, 0.0)), turned)
    return mechanism
