"""The delta robot, all of whose joints are revolute."""

from __future__ import annotations

from math import cos, hypot, radians, sin, sqrt

import numpy as np

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, cylinder, thin_rod
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

LEGS = (0.0, 120.0, 240.0)


@checks_arguments
def delta(
    base_radius: float = 0.2,
    arm: float = 0.25,
    forearm: float = 0.5,
    platform_radius: float = 0.06,
    width: float = 0.1,
    angle: float = 0.35,
) -> Mechanism:
    """A delta robot: 3 dof, 16 moving bodies, 21 revolute joints, 12 of the constraints of its loops redundant.

    Leg k = 1..3 is an upper arm "arm{k}" on the actuated joint "motor{k}", a bar "elbow{k}", two rods "left{k}" and
    "right{k}" that make a parallelogram with it and with the bar "wrist{k}", which turns on the body "platform". The
    platform keeps its orientation. All loops are closed at the neutral configuration, in which the arms point `angle`
    [rad] below the horizontal. Lengths are in metres.
    """
    outwards = platform_radius - base_radius - arm * cos(angle)
    if abs(outwards) >= forearm:
        raise ModelError(f"delta: forearms of {forearm} m do not reach the platform: make them longer")
    drop = sqrt(forearm**2 - outwards**2)
    height = -arm * sin(angle) - drop
    m = Mechanism("delta")
    m.add_body("platform", **cylinder(0.3, platform_radius, (0.0, 0.0, 0.02)))
    across = np.array([0.0, 1.0, 0.0])
    for k, degrees in enumerate(LEGS, 1):
        c, s = cos(radians(degrees)), sin(radians(degrees))
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        upper = np.array([cos(angle), 0.0, -sin(angle)])
        lower = np.array([outwards, 0.0, -drop]) / hypot(outwards, drop)
        normal = np.cross(across, lower)
        m.add_body(f"arm{k}", **thin_rod(0.4, tuple(arm * upper)))
        for name in (f"elbow{k}", f"wrist{k}"):
            m.add_body(name, **box(0.05, (0.01, width, 0.01)))
        for name in (f"left{k}", f"right{k}"):
            m.add_body(name, **thin_rod(0.08, tuple(forearm * lower)))
        at_base = Pose(p=turn @ [base_radius, 0.0, 0.0], R=turn)
        m.add_joint(f"motor{k}", "ground", f"arm{k}", Revolute("y"), in_parent=at_base)
        m.add_joint(
            f"bend{k}", f"arm{k}", f"elbow{k}", Revolute("y"), in_parent=Pose(p=arm * upper), actuated=False
        )
        for name, side in ((f"left{k}", 0.5), (f"right{k}", -0.5)):
            place = Pose(p=side * width * across)
            hinge = Revolute(tuple(normal))
            m.add_joint(f"{name} top", f"elbow{k}", name, hinge, in_parent=place, actuated=False)
            end = Pose(p=forearm * lower)
            m.add_joint(
                f"{name} end", name, f"wrist{k}", hinge, in_parent=end, in_child=place, actuated=False
            )
        on_platform = Pose(p=turn @ [platform_radius, 0.0, 0.0], R=turn)
        m.add_joint(f"tip{k}", f"wrist{k}", "platform", Revolute("y"), in_child=on_platform, actuated=False)
    m.add_frame("tool", "platform", Pose(p=(0.0, 0.0, -0.02)))
    m.add_frame("home", "ground", Pose(p=(0.0, 0.0, height)))
    return m
