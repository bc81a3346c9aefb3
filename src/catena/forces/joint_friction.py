"""Friction at a joint: viscous damping and Coulomb friction, both against the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.forces.parameters import numbers
from catena.forces.smooth import smooth_sign
from catena.joints import JointKind
from catena.spatial.scalars import array


@dataclass(frozen=True)
class JointFriction(JointForce):
    """Friction at a joint, tau = -damping v - friction sign(v), with nv numbers each or none where there is nothing.

    The sign goes smoothly through a short range of velocities around rest. This is the friction that joints have by
    `add_joint`, where it belongs to the dynamics; as a force it is for friction that comes and goes, and for counting
    the work of the other.
    """

    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()

    looks = False
    drawn_as = "none"

    def __post_init__(self) -> None:
        for name in ("damping", "friction"):
            numbers(self, name, least=0.0)
        if not self.damping and not self.friction:
            raise ModelError(
                "JointFriction: it has neither damping nor friction, so it does nothing: give one"
            )

    def check(self, joint: JointKind, who: str) -> None:
        for name in ("damping", "friction"):
            numbers = getattr(self, name)
            if numbers and len(numbers) != joint.nv:
                raise ModelError(f"{who}: {name} has {len(numbers)} numbers: give {joint.nv} for this joint")

    def load(self, at: AtJoint) -> np.ndarray:
        force = [0.0] * at.joint.nv
        if self.damping:
            force = [f - c * x for f, c, x in zip(force, self.damping, at.v, strict=True)]
        if self.friction:
            force = [f - c * smooth_sign(x) for f, c, x in zip(force, self.friction, at.v, strict=True)]
        return array(force)

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        force = self.load(at)
        return {"force": force[0]} if len(force) == 1 else {f"force_{k}": x for k, x in enumerate(force)}
