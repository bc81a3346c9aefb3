"""Single spatial loops that move although counting their constraints says they should not."""

from __future__ import annotations

from math import asin, atan2, cos, pi, sin

import numpy as np

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

BRICARD_POINTS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
BRICARD_AXES = "yzxyzx"


def bricard() -> Mechanism:
    """Bricard's linkage, the overconstrained benchmark of the multibody community (IFToMM A04): 6 revolute
    joints in one loop, 1 dof where counting gives 0, so one redundant constraint.

    Five rods rod1..rod5 of 1 kg, 1 m long with a square section of 0.1 m, lie along edges of a cube from the
    ground's origin; joint1..joint6 at their ends turn about y, z, x, y, z, x; gravity is along -y. joint k
    leads from the body before to the one after, so joint6 leads from rod5 to ground. Body frames have the ground's
    axes and sit at the joint with the body before. The loop is closed at q = 0, where the benchmark starts at
    rest. The frame "P3" is the end of rod2.
    """
    mechanism = Mechanism("bricard", gravity=(0.0, -9.81, 0.0))
    points = np.array(BRICARD_POINTS, dtype=float)
    for k in range(1, 6):
        along = points[k] - points[k - 1]
        mechanism.add_body(f"rod{k}", **box(1.0, np.where(along != 0.0, 1.0, 0.1), along / 2.0))
    for k, axis in enumerate(BRICARD_AXES, 1):
        before, after = f"rod{k - 1}" if k > 1 else "ground", f"rod{k}" if k < 6 else "ground"
        near = points[k - 1] - points[k - 2] if k > 1 else points[0]
        far = points[5] if k == 6 else np.zeros(3)
        mechanism.add_joint(f"joint{k}", before, after, Revolute(axis), Pose(p=near), Pose(p=far))
    mechanism.add_frame("P3", "rod2", Pose(p=points[2] - points[1]))
    return mechanism


@checks_arguments
def spatial_four_bar(
    crank: float = 0.6,
    coupler: float = 1.0,
    twist: float = 0.9,
    angle: float = 1.0,
    misalignment: float = 0.0,
) -> Mechanism:
    """Bennett's linkage: 4 revolute joints with skew axes in one loop, 1 dof where counting gives -2, so 3
    redundant constraints; with a `misalignment` [rad] of one axis, beyond the accuracy that dimensions are trusted
    with, it cannot move at all.

    Opposite links are equal: ground and "coupler" are `coupler` long, "crank" and "rocker" are `crank` long.
    Neighbouring axes of the long links are twisted against each other by `twist`, those of the short ones by the
    angle whose sine is to theirs as the lengths are. Joints A (ground-crank), B (crank-coupler), C
    (coupler-rocker) and D (rocker-ground) turn about the z axes of their frames; every body's x axis runs along
    it. The loop is closed at q = 0, where the crank is turned by `angle`, for every misalignment: that tilts the
    axis of C, in both its bodies, about the coupler.
    """
    if not (0.0 < crank < coupler and 0.0 < twist <= pi / 2):
        raise ModelError(
            f"spatial_four_bar: crank {crank}, coupler {coupler} and twist {twist}: give a crank shorter than the "
            f"coupler and a twist up to pi/2, so that the other twist exists"
        )
    long, short = twist, asin(sin(twist) * crank / coupler)
    # Bennett: tan(theta1/2) tan(theta2/2) = sin((long + short)/2) / sin((long - short)/2).
    product = sin((long + short) / 2.0) / sin((long - short) / 2.0)
    other = 2.0 * atan2(product * cos(angle / 2.0), sin(angle / 2.0))
    mechanism = Mechanism("spatial four-bar")
    links = {"crank": (crank, short), "coupler": (coupler, long), "rocker": (crank, short)}
    for name, (length, _) in links.items():
        mechanism.add_body(name, **cylinder(2.0 * length, 0.03, (length, 0.0, 0.0)))
    axis = Revolute("z")
    turns = (angle, other, -angle, -other)
    mechanism.add_joint("A", "ground", "crank", axis, _turned(0.0, 0.0, turns[0]))
    mechanism.add_joint("B", "crank", "coupler", axis, _turned(*links["crank"], turns[1]))
    tilt = Pose(rpy=(misalignment, 0.0, 0.0))
    on_coupler, on_rocker = (
        _turned(*links["coupler"], 0.0) * tilt,
        _turned(0.0, 0.0, turns[2]).inverse() * tilt,
    )
    mechanism.add_joint("C", "coupler", "rocker", axis, on_coupler, on_rocker)
    base = _turned(coupler, long, 0.0).inverse()
    mechanism.add_joint("D", "rocker", "ground", axis, _turned(*links["rocker"], turns[3]), base)
    return mechanism


def _turned(length: float, twist: float, angle: float) -> Pose:
    """The next joint frame: along x, twisted about x, then turned about its own z (Denavit and Hartenberg)."""
    return Pose(p=(length, 0.0, 0.0), rpy=(twist, 0.0, 0.0)) * Pose(rpy=(0.0, 0.0, angle))
