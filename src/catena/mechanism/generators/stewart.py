"""The Stewart platform."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np

from catena.joints import Prismatic, Spherical, Universal
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

BASE_ANGLES = (-10.0, 10.0, 110.0, 130.0, 230.0, 250.0)
PLATFORM_ANGLES = (-50.0, 50.0, 70.0, 170.0, 190.0, 290.0)


@checks_arguments
def stewart(base_radius: float = 1.0, platform_radius: float = 0.6, height: float = 1.0) -> Mechanism:
    """A Stewart platform: 6 dof, 13 moving bodies, 18 joints, 5 loops of 3 constraints each, none redundant.

    Leg k = 1..6 is a universal joint "base{k}" on ground, a cylinder "lower{k}", a prismatic joint "leg{k}"
    along the leg, a rod "upper{k}" and a spherical joint "ball{k}" on the body "platform". Only the
    prismatic joints are actuated. All loops are closed at the neutral configuration: the platform is level
    at the given height [m] above the base, and leg positions are counted from there.
    """
    mechanism = Mechanism("stewart")
    mechanism.add_body("platform", **box(20.0, (1.0, 1.0, 0.08)))
    universal, slide, ball = Universal("x", "y"), Prismatic("z"), Spherical()
    for k, (base_angle, platform_angle) in enumerate(zip(BASE_ANGLES, PLATFORM_ANGLES, strict=True), 1):
        foot = _on_circle(base_radius, base_angle, 0.0)
        head = _on_circle(platform_radius, platform_angle, height)
        length = float(np.linalg.norm(head - foot))
        along = _frame_along((head - foot) / length)
        at_foot = Pose(p=foot, R=along)
        mechanism.add_body(f"lower{k}", **cylinder(3.0, 0.04, (0.0, 0.0, 0.6 * length)))
        mechanism.add_body(f"upper{k}", **cylinder(1.5, 0.02, (0.0, 0.0, -0.6 * length)))
        mechanism.add_joint(f"base{k}", "ground", f"lower{k}", universal, in_parent=at_foot, actuated=False)
        mechanism.add_joint(f"leg{k}", f"lower{k}", f"upper{k}", slide, in_parent=Pose(p=(0.0, 0.0, length)))
        on_platform = Pose(p=head - np.array([0.0, 0.0, height]), R=along)
        mechanism.add_joint(f"ball{k}", f"upper{k}", "platform", ball, in_child=on_platform, actuated=False)
    return mechanism


def _on_circle(radius: float, degrees: float, height: float) -> np.ndarray:
    return np.array([radius * cos(radians(degrees)), radius * sin(radians(degrees)), height])


def _frame_along(z: np.ndarray) -> np.ndarray:
    """A rotation whose third column is the unit vector z, with the x axis as level as it can be."""
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
