"""Planar bar linkages in the x-z plane, with gravity along -z."""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, atan2, cos, hypot, pi, sin

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import thin_rod
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


@checks_arguments
def four_bar(
    crank: float = 0.4,
    coupler: float = 1.2,
    rocker: float = 0.9,
    ground: float = 1.0,
    angle: float = pi / 3,
    masses: Sequence[float] = (1.0, 2.0, 1.5),
) -> Mechanism:
    """A planar four-bar of uniform thin rods: 4 revolute joints, 1 dof, one loop with 3 redundant
    constraints.

    Joint A: ground-crank at the origin; B: crank-coupler; C: coupler-rocker; D: ground-rocker at (ground,
    0, 0). All turn about -y, so a positive angle is counter-clockwise with x to the right and z up. Every
    body's x axis runs along its rod, from A to B, B to C and D to C. The loop is closed at q = 0, which is
    the configuration with the crank `angle` above the x axis and C on the upper side of B-D; the default
    lengths make a crank-rocker.
    """
    bx, bz = crank * cos(angle), crank * sin(angle)
    dx, dz = ground - bx, -bz
    diagonal = hypot(dx, dz)
    if not abs(coupler - rocker) < diagonal < coupler + rocker:
        raise ModelError(
            f"four_bar: coupler {coupler} and rocker {rocker} cannot span the {diagonal:.6g} m from B to D "
            f"at crank angle {angle:.6g}: change a length or the angle"
        )
    corner = acos((diagonal**2 + coupler**2 - rocker**2) / (2.0 * diagonal * coupler))
    coupler_angle = atan2(dz, dx) + corner
    rocker_angle = atan2(bz + coupler * sin(coupler_angle), bx + coupler * cos(coupler_angle) - ground)

    mechanism = Mechanism("four-bar")
    lengths = {"crank": crank, "coupler": coupler, "rocker": rocker}
    for (name, length), mass in zip(lengths.items(), masses, strict=True):
        mechanism.add_body(name, **thin_rod(mass, (length, 0.0, 0.0)))
    axis = Revolute("-y")
    mechanism.add_joint("A", "ground", "crank", axis, in_parent=_planar(0.0, angle))
    mechanism.add_joint("B", "crank", "coupler", axis, in_parent=_planar(crank, coupler_angle - angle))
    mechanism.add_joint(
        "C",
        "coupler",
        "rocker",
        axis,
        _planar(coupler, rocker_angle - coupler_angle),
        Pose(p=(rocker, 0.0, 0.0)),
    )
    mechanism.add_joint("D", "ground", "rocker", axis, in_parent=_planar(ground, rocker_angle))
    return mechanism


@checks_arguments
def n_four_bars(n: int) -> Mechanism:
    """The n-four-bar benchmark of the multibody community (IFToMM): 1 dof in all, n loops, singular when it
    lies flat.

    n + 1 vertical rods rod0..rodn of 1 kg and 1 m stand on ground pins pin0..pinn 1 m apart along x; n
    horizontal rods bar1..barn of the same kind join neighbouring tops by left1..leftn (rod i-1 to bar i)
    and right1..rightn (rod i to bar i). All 3 n + 1 joints turn about y; every loop is closed at q = 0, the
    upright configuration. Rod frames sit at the pins with the rod along z, bar frames at the left end with
    the bar along x. The benchmark starts upright with the tops moving at 1 m/s: every pin at 1 rad/s.
    """
    if n < 1:
        raise ModelError(f"n_four_bars: {n} four-bars were asked for: give 1 or more")
    mechanism = Mechanism(f"{n}-four-bars")
    rod, bar = thin_rod(1.0, (0.0, 0.0, 1.0)), thin_rod(1.0, (1.0, 0.0, 0.0))
    axis, top, end = Revolute("y"), Pose(p=(0.0, 0.0, 1.0)), Pose(p=(1.0, 0.0, 0.0))
    for i in range(n + 1):
        mechanism.add_body(f"rod{i}", **rod)
        mechanism.add_joint(f"pin{i}", "ground", f"rod{i}", axis, in_parent=Pose(p=(float(i), 0.0, 0.0)))
    for i in range(1, n + 1):
        mechanism.add_body(f"bar{i}", **bar)
        mechanism.add_joint(f"left{i}", f"rod{i - 1}", f"bar{i}", axis, in_parent=top)
        mechanism.add_joint(f"right{i}", f"rod{i}", f"bar{i}", axis, in_parent=top, in_child=end)
    return mechanism


def _planar(distance: float, angle: float) -> Pose:
    """A frame `distance` along x, turned counter-clockwise in the x-z plane."""
    return Pose(p=(distance, 0.0, 0.0), rpy=(0.0, -angle, 0.0))
