"""The scissor lift."""

from __future__ import annotations

from math import cos

from catena.errors import ModelError
from catena.joints import Revolute, Sdof
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

BAR = 1.0


@checks_arguments
def scissor_lift(n: int, angle: float = 0.5) -> Mechanism:
    """A lift of n pairs of crossed bars under a platform: 1 dof, n + 1 loops, each with 3 redundant constraints.

    Stage i = 1..n has bars "rise{i}" and "fall{i}" of 1 m that rise and fall with x by `angle` [rad] in the x-z
    plane; their frames sit in the middle, where "cross{i}" pins them, x along the bar. "left{i}" and
    "right{i}" pin stage i to stage i + 1 at the ends: rise{i} to fall{i+1} on the right, fall{i} to rise{i+1} on
    the left. On ground "foot" pins rise1, and "slide" lets the end of fall1 slide along x and turn (`Sdof`); on
    top "hinge" pins fall{n} to the body "platform" and "roller" lets the end of rise{n} slide. All pins turn
    about -y. Only the slide is actuated. All loops are closed at q = 0.
    """
    if n < 1:
        raise ModelError(f"scissor_lift: {n} stages were asked for: give 1 or more")
    mechanism = Mechanism(f"scissor lift of {n}")
    half = BAR / 2.0
    x = half * cos(angle)
    pin, slide = Revolute("-y"), Sdof("dx", "ry")
    rise, fall = Pose(rpy=(0.0, -angle, 0.0)), Pose(rpy=(0.0, angle, 0.0))
    left, right = Pose(p=(-half, 0.0, 0.0)), Pose(p=(half, 0.0, 0.0))
    for i in range(1, n + 1):
        for name in (f"rise{i}", f"fall{i}"):
            bar = cylinder(2.0, 0.02, (BAR, 0.0, 0.0))
            mechanism.add_body(name, **{**bar, "com": (0.0, 0.0, 0.0)})
    mechanism.add_body("platform", **box(15.0, (2.0 * x, 0.6, 0.05), (x, 0.0, 0.025)))
    mechanism.add_joint("foot", "ground", "rise1", pin, rise, left, actuated=False)
    at_slide = Pose(p=(2.0 * x, 0.0, 0.0))
    mechanism.add_joint("slide", "ground", "fall1", slide, at_slide, right * fall.inverse())
    crossing = rise.inverse() * fall
    for i in range(1, n + 1):
        mechanism.add_joint(f"cross{i}", f"rise{i}", f"fall{i}", pin, crossing, actuated=False)
        if i < n:
            up, down = f"rise{i + 1}", f"fall{i + 1}"
            mechanism.add_joint(
                f"left{i}", f"fall{i}", up, pin, left * crossing.inverse(), left, actuated=False
            )
            mechanism.add_joint(f"right{i}", f"rise{i}", down, pin, right * crossing, right, actuated=False)
    mechanism.add_joint("hinge", f"fall{n}", "platform", pin, left * fall.inverse(), actuated=False)
    at_roller = Pose(p=(2.0 * x, 0.0, 0.0))
    mechanism.add_joint(
        "roller", "platform", f"rise{n}", slide, at_roller, right * rise.inverse(), actuated=False
    )
    mechanism.add_frame("top", "platform", Pose(p=(x, 0.0, 0.05)))
    return mechanism
