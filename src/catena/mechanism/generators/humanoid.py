"""A humanoid with a floating base."""

from __future__ import annotations

from typing import NamedTuple

from catena.joints import Free, Revolute
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

Vector = tuple[float, float, float]


class HumanoidSegment(NamedTuple):
    """A body, the joint that carries it, and the cylinder from the joint to `tip` that it is made of."""

    body: str
    joint: str
    parent: str
    axis: str
    offset: Vector
    mass: float
    radius: float
    tip: Vector


TRUNK = (
    HumanoidSegment("waist", "waist_yaw", "pelvis", "z", (0.0, 0.0, 0.08), 2.0, 0.08, (0.0, 0.0, 0.06)),
    HumanoidSegment("torso", "waist_pitch", "waist", "y", (0.0, 0.0, 0.06), 18.0, 0.14, (0.0, 0.0, 0.42)),
    HumanoidSegment("neck", "neck_yaw", "torso", "z", (0.0, 0.0, 0.45), 0.8, 0.04, (0.0, 0.0, 0.06)),
    HumanoidSegment("head", "neck_pitch", "neck", "y", (0.0, 0.0, 0.06), 3.5, 0.08, (0.0, 0.0, 0.20)),
)

# A left limb; the right one is its mirror image: y changes sign, and so do rotations about x and z.
LEG = (
    HumanoidSegment("hip1", "hip_yaw", "pelvis", "z", (0.0, 0.09, -0.04), 1.2, 0.05, (0.0, 0.0, -0.06)),
    HumanoidSegment("hip2", "hip_roll", "hip1", "x", (0.0, 0.0, -0.06), 1.2, 0.05, (0.0, 0.03, -0.02)),
    HumanoidSegment("thigh", "hip_pitch", "hip2", "y", (0.0, 0.03, -0.02), 5.0, 0.07, (0.0, 0.0, -0.38)),
    HumanoidSegment("shin", "knee", "thigh", "y", (0.0, 0.0, -0.38), 3.2, 0.05, (0.0, 0.0, -0.38)),
    HumanoidSegment("ankle", "ankle_pitch", "shin", "y", (0.0, 0.0, -0.38), 0.5, 0.03, (0.0, 0.0, -0.02)),
    HumanoidSegment("foot", "ankle_roll", "ankle", "x", (0.0, 0.0, -0.02), 1.1, 0.04, (0.12, 0.0, -0.05)),
)
ARM = (
    HumanoidSegment(
        "shoulder1", "shoulder_pitch", "torso", "y", (0.0, 0.18, 0.38), 1.0, 0.05, (0.0, 0.04, 0.0)
    ),
    HumanoidSegment(
        "shoulder2", "shoulder_roll", "shoulder1", "x", (0.0, 0.04, 0.0), 0.8, 0.05, (0.0, 0.0, -0.08)
    ),
    HumanoidSegment(
        "upper_arm", "shoulder_yaw", "shoulder2", "z", (0.0, 0.0, -0.08), 1.6, 0.045, (0.0, 0.0, -0.20)
    ),
    HumanoidSegment("forearm", "elbow", "upper_arm", "y", (0.0, 0.0, -0.20), 1.2, 0.04, (0.0, 0.0, -0.14)),
    HumanoidSegment("wrist1", "wrist_yaw", "forearm", "z", (0.0, 0.0, -0.14), 0.5, 0.03, (0.0, 0.0, -0.10)),
    HumanoidSegment("wrist2", "wrist_pitch", "wrist1", "y", (0.0, 0.0, -0.10), 0.2, 0.03, (0.0, 0.0, -0.02)),
    HumanoidSegment("hand", "wrist_roll", "wrist2", "x", (0.0, 0.0, -0.02), 0.5, 0.04, (0.0, 0.0, -0.16)),
)
MIRRORED_AXIS = {"x": "-x", "y": "y", "z": "-z"}
SHARED = ("pelvis", "torso")


def humanoid() -> Mechanism:
    """A humanoid of 68 kg and 1.7 m: 36 dof, a `Free` base and 30 revolute joints.

    Two legs of 6 joints, two arms of 7, a waist and a neck of 2 each; joint "base" floats the body "pelvis"
    and comes first, unactuated. x is forward, y left, z up; at the neutral configuration it stands with
    straight legs and hanging arms, the pelvis frame on the ground frame. Rotations about x and z are
    mirrored, so the same numbers on both sides give a symmetric posture. Frames: left_sole, right_sole,
    left_palm, right_palm.
    """
    mechanism = Mechanism("humanoid")
    mechanism.add_body("pelvis", **box(8.0, (0.16, 0.26, 0.18)))
    mechanism.add_joint("base", "ground", "pelvis", Free(), actuated=False)
    for segment in TRUNK:
        _add(mechanism, segment)
    for prefix, side in (("left_", 1.0), ("right_", -1.0)):
        for segment in LEG + ARM:
            _add(mechanism, _one_side(segment, prefix, side))
        mechanism.add_frame(prefix + "sole", prefix + "foot", Pose(p=(0.04, 0.0, -0.07)))
        mechanism.add_frame(prefix + "palm", prefix + "hand", Pose(p=(0.0, 0.0, -0.09)))
    return mechanism


def _one_side(segment: HumanoidSegment, prefix: str, side: float) -> HumanoidSegment:
    """A segment of the left (side = 1) or right (side = -1) half of the body."""
    parent = segment.parent if segment.parent in SHARED else prefix + segment.parent
    (x, y, z), (tx, ty, tz) = segment.offset, segment.tip
    return segment._replace(
        body=prefix + segment.body,
        joint=prefix + segment.joint,
        parent=parent,
        axis=segment.axis if side > 0 else MIRRORED_AXIS[segment.axis],
        offset=(x, side * y, z),
        tip=(tx, side * ty, tz),
    )


def _add(mechanism: Mechanism, segment: HumanoidSegment) -> None:
    mechanism.add_body(segment.body, **cylinder(segment.mass, segment.radius, segment.tip))
    mechanism.add_joint(
        segment.joint, segment.parent, segment.body, Revolute(segment.axis), in_parent=Pose(p=segment.offset)
    )
