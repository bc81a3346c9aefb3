"""A hand whose fingers hold a ball by their tips."""

from __future__ import annotations

from math import acos, atan2, hypot, pi

from catena.errors import ModelError
from catena.joints import Revolute, Spherical
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import cylinder, sphere
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

PALM_RADIUS = 0.06
PHALANX = (0.06, 0.05)
BALL_RADIUS, BALL_HEIGHT = 0.035, 0.09


@checks_arguments
def hand(fingers: int = 3) -> Mechanism:
    """A hand that holds a ball by point contacts that do not slip: 6 dof with 3 fingers or more, fingers - 1
    loops of 3 constraints each, none redundant.

    Finger k = 1..fingers has a knuckle "finger{k}/knuckle" that turns on the ground, which is the palm, about
    z by "finger{k}/spread"; two phalanges "finger{k}/proximal" and "finger{k}/distal", bent inward by positive
    "finger{k}/bend" and "finger{k}/curl"; and a frame "finger{k}/tip". The contact is the unactuated spherical
    joint "contact{k}" from the distal phalanx to the body "ball" (0.2 kg, 35 mm radius, frame at its centre).
    All loops are closed at the neutral configuration: fingers stand evenly around a circle, each in the vertical
    plane through the centre of the ball with its elbow outward, and touch the ball on its equator, 90 mm above
    the palm.
    """
    if fingers < 1:
        raise ModelError(f"hand: {fingers} fingers were asked for: give 1 or more")
    mechanism = Mechanism("hand")
    mechanism.add_body("ball", **sphere(0.2, BALL_RADIUS))
    inward, up = PALM_RADIUS - BALL_RADIUS, BALL_HEIGHT
    first, second = PHALANX
    # A phalanx at angle 0 points up, and a positive angle leans it inward, towards the finger's x axis.
    reach = hypot(inward, up)
    outward = acos((reach**2 + first**2 - second**2) / (2.0 * reach * first))
    bend = atan2(inward, up) - outward
    curl = acos((reach**2 - first**2 - second**2) / (2.0 * first * second))
    for k in range(1, fingers + 1):
        prefix = f"finger{k}/"
        # The finger's x axis points at the centre of the palm.
        around = Pose(rpy=(0.0, 0.0, 2.0 * pi * (k - 1) / fingers))
        base = around * Pose(p=(PALM_RADIUS, 0.0, 0.0), rpy=(0.0, 0.0, pi))
        mechanism.add_body(f"{prefix}knuckle", **sphere(0.03, 0.01))
        mechanism.add_body(f"{prefix}proximal", **cylinder(0.04, 0.008, (0.0, 0.0, first)))
        mechanism.add_body(f"{prefix}distal", **cylinder(0.03, 0.007, (0.0, 0.0, second)))
        mechanism.add_joint(f"{prefix}spread", "ground", f"{prefix}knuckle", Revolute("z"), in_parent=base)
        mechanism.add_joint(
            f"{prefix}bend",
            f"{prefix}knuckle",
            f"{prefix}proximal",
            Revolute("y"),
            Pose(rpy=(0.0, bend, 0.0)),
        )
        elbow = Pose(p=(0.0, 0.0, first), rpy=(0.0, curl, 0.0))
        mechanism.add_joint(f"{prefix}curl", f"{prefix}proximal", f"{prefix}distal", Revolute("y"), elbow)
        tip = Pose(p=(0.0, 0.0, second))
        mechanism.add_frame(f"{prefix}tip", f"{prefix}distal", tip)
        in_ball = Pose(p=(0.0, 0.0, -BALL_HEIGHT)) * base * Pose(rpy=(0.0, bend, 0.0)) * elbow * tip
        mechanism.add_joint(
            f"contact{k}", f"{prefix}distal", "ball", Spherical(), tip, in_ball, actuated=False
        )
    return mechanism
