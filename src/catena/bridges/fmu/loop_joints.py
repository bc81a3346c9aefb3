"""Joints that close loops have no coordinates of their own: motors push them, and gauges look at them, as forces do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import EquationsError
from catena.forces import AtJoint, JointForce
from catena.spatial.scalars import array
from catena.system import System

MOTOR, GAUGE = ".fmu motor", ".fmu gauge"


@dataclass(frozen=True)
class Motor(JointForce):
    """A joint force of these components, which are inputs of the FMU."""

    value: tuple[float, ...] = (0.0,)

    looks = False
    source = "actuators"
    drawn_as = "none"

    def load(self, at: AtJoint) -> np.ndarray:
        return array(list(self.value))


@dataclass(frozen=True)
class JointGauge(JointForce):
    """No force at all; it tells the position and the velocity of its joint."""

    drawn_as = "none"

    @property
    def spends(self) -> bool:
        return False

    def load(self, at: AtJoint) -> np.ndarray:
        return np.zeros(at.joint.nv)

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        positions = {f"q.{k}": x for k, x in enumerate(at.q)}
        return positions | {f"v.{k}": x for k, x in enumerate(at.v)}


def with_loop_joints(system: System, motors: Iterable[str], gauges: Iterable[str]) -> System:
    """Return a system in the same coordinates whose loop joints have motors and gauges; itself where none are asked
    for."""
    motors, gauges = list(motors), list(gauges)
    if not motors and not gauges:
        return system
    for loop in system.plan.loop_joints:
        if loop.name in (*motors, *gauges) and not loop.kind.finds_coordinates_of_symbols:
            raise EquationsError(
                f"Joint {loop.name!r} of {system.mechanism.name!r} closes a loop and finds its position by an "
                f"iteration, so there is no formula for what an FMU pushes or tells there: keep it in the tree, "
                f"m.system(keep=[{loop.name!r}])."
            )
    m = system.mechanism.copy()
    for joint in motors:
        m.add_force(joint + MOTOR, Motor((0.0,) * m.joints[joint].kind.nv), joint=joint)
    for joint in gauges:
        m.add_force(joint + GAUGE, JointGauge(), joint=joint)
    plan = system.plan
    return m.system(root=plan.root, cut=plan.cut, keep=plan.keep, accuracy=system.mechanics.accuracy)
