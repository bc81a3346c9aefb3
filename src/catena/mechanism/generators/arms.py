"""Robot arms: a six-axis industrial arm, a seven-axis lightweight arm, and a way to put one on any body."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import NamedTuple

import numpy as np

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


class ArmLink(NamedTuple):
    """One row of an arm table: the joint axis, where the joint sits on the link before, and the link as a
    cylinder."""

    axis: str
    offset: tuple[float, float, float]
    mass: float
    radius: float


ARM6 = (
    ArmLink("z", (0.0, 0.0, 0.18), 8.0, 0.09),
    ArmLink("y", (0.05, 0.0, 0.22), 10.0, 0.07),
    ArmLink("y", (0.0, 0.0, 0.45), 5.0, 0.06),
    ArmLink("z", (0.0, 0.0, 0.20), 3.0, 0.05),
    ArmLink("y", (0.0, 0.0, 0.22), 1.5, 0.04),
    ArmLink("z", (0.0, 0.0, 0.08), 0.5, 0.035),
)
ARM6_TOOL = (0.0, 0.0, 0.10)

ARM7 = (
    ArmLink("z", (0.0, 0.0, 0.1575), 5.8, 0.075),
    ArmLink("y", (0.0, 0.0, 0.2025), 6.4, 0.075),
    ArmLink("z", (0.0, 0.0, 0.2045), 3.5, 0.07),
    ArmLink("-y", (0.0, 0.0, 0.2155), 3.5, 0.07),
    ArmLink("z", (0.0, 0.0, 0.1845), 3.5, 0.06),
    ArmLink("y", (0.0, 0.0, 0.2155), 1.8, 0.06),
    ArmLink("z", (0.0, 0.0, 0.081), 1.2, 0.05),
)
ARM7_TOOL = (0.0, 0.0, 0.045)

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0), "-y": (0.0, -1.0, 0.0)}


@checks_arguments
def arm6(posture: Sequence[float] | None = None) -> Mechanism:
    """A six-axis industrial arm with a spherical wrist: 6 dof, 28 kg, 1.2 m reach.

    Bodies link1..link6, joints joint1..joint6 about z, y, y, z, y, z, frame "tool" at the flange. At q = 0
    the arm stands upright; with a `posture` (6,) q = 0 is the configuration that has these joint angles,
    each counted from upright.
    """
    mechanism = Mechanism("arm6")
    add_arm(mechanism, 6, posture=posture)
    return mechanism


@checks_arguments
def arm7(posture: Sequence[float] | None = None) -> Mechanism:
    """A seven-axis lightweight arm: 7 dof, 26 kg, 1.3 m tall when upright.

    Bodies link1..link7, joints joint1..joint7 about z, y, z, -y, z, y, z, frame "tool" at the flange. At q
    = 0 the arm stands upright; with a `posture` (7,) q = 0 is the configuration that has these joint
    angles, each counted from upright.
    """
    mechanism = Mechanism("arm7")
    add_arm(mechanism, 7, posture=posture)
    return mechanism


def arm_table(dof: int) -> tuple[Sequence[ArmLink], tuple[float, float, float]]:
    """The links and the tool offset of an arm: ARM6 and ARM7, else links of 0.2 m that turn about z and y
    in turns."""
    if dof < 1:
        raise ModelError(f"arm: {dof} degrees of freedom were asked for: give 1 or more")
    if dof == 6:
        return ARM6, ARM6_TOOL
    if dof == 7:
        return ARM7, ARM7_TOOL
    links = [ArmLink("zy"[i % 2], (0.0, 0.0, 0.2), 20.0 / (dof + 3 * i), 0.05) for i in range(dof)]
    return links, (0.0, 0.0, 0.1)


def bent_posture(dof: int) -> tuple[float, ...]:
    """Joint angles of an elbow-up posture far from singularities, with the tool of ARM6 and ARM7 pointing
    down."""
    if dof == 6:
        return (0.0, 0.4, 1.5, 0.0, pi - 1.9, 0.0)
    if dof == 7:
        return (0.0, 0.5, 0.0, -1.5, 0.0, pi - 2.0, 0.0)
    return tuple(0.0 if i % 2 == 0 else 0.6 for i in range(dof))


@checks_arguments
def add_arm(
    mechanism: Mechanism,
    dof: int,
    prefix: str = "",
    on: str = "ground",
    at: Pose | None = None,
    posture: Sequence[float] | None = None,
) -> tuple[str, Pose, Pose]:
    """Add an arm to a mechanism; return the last link, its pose at q = 0 and the pose of the tool in it.

    The base sits at pose `at` of the body `on`, and the pose returned is seen from that body. Bodies and
    joints are called "{prefix}link{i}" and "{prefix}joint{i}", the frame at the flange "{prefix}tool".
    """
    links, tool = arm_table(dof)
    angles = (0.0,) * dof if posture is None else tuple(posture)
    if len(angles) != dof:
        raise ModelError(f"arm {prefix!r}: posture has {len(angles)} angles: give {dof}, one for each joint")
    tips = [link.offset for link in links[1:]] + [tool]
    parent, placed = on, Pose() if at is None else at
    for i, (link, tip, angle) in enumerate(zip(links, tips, angles, strict=True), 1):
        name = f"{prefix}link{i}"
        turn = Pose(
            p=link.offset, quat=(np.cos(angle / 2), *(np.sin(angle / 2) * np.array(_AXES[link.axis])))
        )
        placed = placed * turn
        mechanism.add_body(name, **cylinder(link.mass, link.radius, tip))
        mechanism.add_joint(
            f"{prefix}joint{i}", parent, name, Revolute(link.axis), in_parent=placed if i == 1 else turn
        )
        parent = name
    tool_pose = Pose(p=tool)
    mechanism.add_frame(f"{prefix}tool", parent, tool_pose)
    return parent, placed, tool_pose
