"""The high stiffness low mass mechanism."""

from __future__ import annotations

from math import atan2, cos, hypot, pi, sin, sqrt

from catena.errors import ModelError
from catena.joints import Fixed, Prismatic, Universal
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

# Where the chains hold the member, and how far each chain is turned about the vertical.
HOLDS = ((-0.05, 0.0, -0.025), (0.05, 0.0, -0.025), (0.0, 0.0, 0.05))
TURNS = (-pi / 6, pi + pi / 6, pi / 2)
HAND = 0.1
# The bases are the corners of a triangle with sides of 1 m, 1 m above the member.
ACROSS, DROP = 1.0 / sqrt(3.0) - 0.05 - HAND, 1.0


@checks_arguments
def hslm(
    driven_tips: bool = False, legs: int = 3, drop: float = DROP, across: float = ACROSS, hand: float = HAND
) -> Mechanism:  # fmt: skip
    """The high stiffness low mass mechanism of van der Merwe (chapter 8), a machine tool on three sliding legs: 3 dof,
    10 moving bodies, 12 joints, 2 loops, none of their constraints redundant. The y axis points up and g = 10 m/s^2.

    Chain k = 1..3 hangs from a universal joint "base{k}" on ground, which turns about the vertical y and then about a
    level z, with a massless gimbal "gimbal{k}". Through the gimbal a leg "leg{k}" slides along its x axis by the
    prismatic joint "slide{k}"; a universal joint "tip{k}" (y, then z, of the leg) leads to a level "hand{k}", which the
    fixed joint "hold{k}" welds to the reference member, the 5 kg body "member". The base and its gimbal with the slide
    are joint 1 of the text, "tip{k}" is its joint 2, leg and hand are its links 1 and 2. Slides are actuated, which is
    enough to move it; with `driven_tips` the tips are too, as the first controller of the text has it.

    With other numbers of `legs`, three or more, these stand evenly around the member and hold it 0.05 m from its
    centre; `drop` is the height of the bases above it, `across` the level distance from a base to its hand, and `hand`
    the length of the hands [m].

    All loops are closed at the neutral configuration, the default position of the text, where joint coordinates are
    zero; its joint parameters are q plus (turn, -1.1669367, 1.0874871) and (0, 1.1669367). The least plan leaves out
    tip2 and tip3 and has all slides in its tree. Plan with cut=("hold2", "hold3") to have all 15 coordinates.
    """
    if legs < 3 or min(drop, across, hand) <= 0.0:
        raise ModelError(
            f"hslm: legs is {legs}, drop {drop}, across {across} and hand {hand}: give three legs or more, and lengths "
            f"above zero"
        )
    around = [pi / 2 + 2.0 * pi * k / legs for k in range(legs)]
    stands = (
        list(zip(HOLDS, TURNS, strict=True))
        if legs == 3
        else [((-0.05 * cos(a), 0.0, 0.05 * sin(a)), a) for a in around]
    )
    mechanism = Mechanism("HSLM", gravity=(0.0, -10.0, 0.0))
    # The text leaves this inertia out; a member that only translates does not feel it.
    mechanism.add_body("member", 5.0, inertia=0.01)
    length, tilt = hypot(across, drop), atan2(drop, across)
    level = Pose(rpy=(0.0, 0.0, tilt))
    for k, (hold, turn) in enumerate(stands, 1):
        turned = Pose(p=hold, rpy=(0.0, turn, 0.0))
        base = turned * Pose(p=(-hand - across, drop, 0.0))
        mechanism.add_body(f"gimbal{k}", 0.0)
        mechanism.add_body(f"leg{k}", 2.0, (0.5, 0.0, 0.0), (0.05, 0.5, 0.5))
        mechanism.add_body(f"hand{k}", 0.5, (hand / 2, 0.0, 0.0), (0.00006, 0.0006, 0.0006))
        universal = Universal("y", "z")
        mechanism.add_joint(f"base{k}", "ground", f"gimbal{k}", universal, base, level, actuated=False)
        mechanism.add_joint(f"slide{k}", f"gimbal{k}", f"leg{k}", Prismatic("x"))
        end = Pose(p=(length, 0.0, 0.0))
        mechanism.add_joint(
            f"tip{k}", f"leg{k}", f"hand{k}", universal, end, level.inverse(), actuated=driven_tips
        )
        mechanism.add_joint(f"hold{k}", f"hand{k}", "member", Fixed(), Pose(p=(hand, 0.0, 0.0)), turned)
    return mechanism
