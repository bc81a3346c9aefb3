"""Names and units of coordinates, for tables, files and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from catena.joints import Free, JointKind
from catena.mechanism import MODES
from catena.system import System

Quantity = Literal["position", "velocity", "force"]


@dataclass(frozen=True)
class Label:
    """One coordinate of a joint: the joint's name, the name of the coordinate ("" where the joint has one only) and its
    unit ("" for the entries of a quaternion)."""

    joint: str
    coordinate: str
    unit: str

    @property
    def text(self) -> str:
        """Return the name as people read it: "elbow", or "base x"."""
        return f"{self.joint} {self.coordinate}".strip()

    @property
    def key(self) -> str:
        """Return the name as a column of a table has it: "elbow", or "base.x"."""
        return f"{self.joint}.{self.coordinate}" if self.coordinate else self.joint


def labels(system: System, quantity: Quantity) -> tuple[Label, ...]:
    """Return the labels of all entries of q (nq), or of v or tau (nv), in their order."""
    return tuple(label for joint in system.joints for label in joint_labels(system, joint, quantity))


def joint_labels(system: System, joint: str, quantity: Quantity) -> tuple[Label, ...]:
    """Return the labels of the coordinates of one joint, of the tree or of a loop."""
    if joint.endswith(MODES):
        unit = {"position": "m", "velocity": "m/s", "force": "N"}[quantity]
        count = system.slice_v(joint).stop - system.slice_v(joint).start
        return tuple(Label(joint.removesuffix(MODES), f"mode{k + 1}", unit) for k in range(count))
    described = system.mechanism.joints.get(joint)
    # A pinned root hangs on a free joint that nobody described.
    kind = described.kind if described else Free()
    turning = _turning(kind)
    if quantity == "position":
        names = kind.position_names
        if kind.nq == kind.nv:
            units = ["rad" if turns else "m" for turns in turning]
        else:
            units = ["m" if name in ("x", "y", "z") else "" for name in names]
    else:
        names = kind.velocity_names
        angular, linear = ("rad/s", "m/s") if quantity == "velocity" else ("N m", "N")
        units = [angular if turns else linear for turns in turning]
    return tuple(Label(joint, name, unit) for name, unit in zip(names, units, strict=True))


def _turning(kind: JointKind) -> list[bool]:
    """Return which velocity components of a kind turn the child."""
    S = kind.motion_space(kind.neutral()).array
    return [bool(np.any(S[:3, k])) for k in range(kind.nv)]
