"""Mechanisms from modified Denavit-Hartenberg tables (Craig's convention; van der Merwe, eq. 2.18 and
2.19)."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import ModelError
from catena.joints import JointKind, Prismatic, Revolute
from catena.mechanism import validation
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

KINDS: dict[str, type[Revolute] | type[Prismatic]] = {"revolute": Revolute, "prismatic": Prismatic}


class DenavitHartenberg(NamedTuple):
    """One row: from the frame of link i-1 to that of link i, whose z axis is the axis of joint i.

    `a` and `alpha` are the distance along and the angle about x of link i-1 between the two z axes, `d` and
    `theta` the distance along and the angle about z of link i between the two x axes. The coordinate of a
    revolute joint is added to `theta`, that of a prismatic one to `d`.
    """

    a: float
    alpha: float
    d: float
    theta: float
    joint: str = "revolute"


def from_denavit_hartenberg(
    rows: Sequence[DenavitHartenberg | Sequence[Any]],
    masses: Sequence[float] | None = None,
    coms: Sequence[ArrayLike] | None = None,
    inertias: Sequence[ArrayLike] | None = None,
    base: Pose | None = None,
    tool: Pose | None = None,
    name: str = "denavit-hartenberg chain",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    dampings: Sequence[float] | None = None,
    frictions: Sequence[float] | None = None,
) -> Mechanism:
    """Return a serial chain described by modified Denavit-Hartenberg rows (a, alpha, d, theta[, "revolute"
    | "prismatic"]).

    At q = 0 the links have the parameters of the table. The frame of link i is body frame i, at the near
    end of the link; masses, mass centres and inertias (about the mass centre) are given in these frames,
    one each per row as `dampings` and `frictions` of the joints, and are zero when left out. `base`
    places frame 0 in ground, `tool` the frame "tip" in
    the last link. Bodies are link1.., joints joint1...
    """
    mechanism = Mechanism(name, gravity)
    add_denavit_hartenberg_chain(
        mechanism, rows, masses, coms, inertias, base=base, tool=tool, dampings=dampings, frictions=frictions
    )
    return mechanism


def add_denavit_hartenberg_chain(
    mechanism: Mechanism,
    rows: Sequence[DenavitHartenberg | Sequence[Any]],
    masses: Sequence[float] | None = None,
    coms: Sequence[ArrayLike] | None = None,
    inertias: Sequence[ArrayLike] | None = None,
    on: str = "ground",
    base: Pose | None = None,
    tool: Pose | None = None,
    prefix: str = "",
    dampings: Sequence[float] | None = None,
    frictions: Sequence[float] | None = None,
) -> str:
    """Add a chain of modified Denavit-Hartenberg rows to a mechanism and return the name of its last link.

    Frame 0 sits at pose `base` of the body `on`; bodies are "{prefix}link{i}", joints "{prefix}joint{i}",
    the tip frame "{prefix}tip".
    """
    if len(rows) == 0:
        raise ModelError("Denavit-Hartenberg table: it has no rows: give one for each joint")
    who = "Denavit-Hartenberg table"
    links = by_column(who, len(rows), mass=masses, com=coms, inertia=inertias)
    joints = by_column(who, len(rows), damping=dampings, friction=frictions)
    parent = on
    for i, (row, link, resistance) in enumerate(zip(rows, links, joints, strict=True), 1):
        kind, pose = _joint(i, row)
        if i == 1 and base is not None:
            pose = base * pose
        mechanism.add_body(f"{prefix}link{i}", **link)
        mechanism.add_joint(
            f"{prefix}joint{i}", parent, f"{prefix}link{i}", kind, in_parent=pose, **resistance
        )
        parent = f"{prefix}link{i}"
    mechanism.add_frame(f"{prefix}tip", parent, Pose() if tool is None else tool)
    return parent


def by_column(who: str, count: int, **columns: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Return the named arguments of each link or joint, from columns of one entry each that may be left out."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, column in columns.items():
        if column is None:
            continue
        if len(column) != count:
            raise ModelError(
                f"{who}: {len(column)} values of {key} for {count} links: give one for each link"
            )
        for row, value in zip(rows, column, strict=True):
            row[key] = value
    return rows


def _joint(i: int, row: DenavitHartenberg | Sequence[Any]) -> tuple[JointKind, Pose]:
    """Return the joint kind and the pose of frame i in frame i-1 at q = 0 (eq. 2.18, 2.19)."""
    who = f"Denavit-Hartenberg row {i}"
    if not 4 <= len(row) <= 5:
        raise ModelError(
            f"{who}: {len(row)} entries: give a, alpha, d, theta and, if prismatic, the joint type"
        )
    a, alpha, d, theta = validation.vector(who, "(a, alpha, d, theta)", row[:4], 4).tolist()
    joint = row[4] if len(row) == 5 else "revolute"
    if joint not in KINDS:
        raise ModelError(f"{who}: joint type is {joint!r}: give 'revolute' or 'prismatic'")
    ca, sa, ct, st = cos(alpha), sin(alpha), cos(theta), sin(theta)
    # Columns of R are the axes of frame i, so R is the transpose of the coordinate transform of eq. 2.18.
    R = np.array([[ct, -st, 0.0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])
    return KINDS[joint]("z"), Pose(p=(a, -d * sa, d * ca), R=R)
