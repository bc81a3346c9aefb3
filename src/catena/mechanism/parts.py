"""The parts a mechanism is made of, as plain frozen data: bodies, joints and frames.

A part never changes: editing a mechanism replaces parts, so two mechanisms may share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.bodies.contract import FlexibleBody
from catena.forces.load_friction import LoadFriction
from catena.joints import JointKind
from catena.mechanism.shapes import Shape
from catena.spatial import Pose

GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Body:
    """A body: its mass [kg], mass centre `com` (3,) [m] and rotational `inertia` (3, 3) [kg m^2].

    The mass centre is given in the body frame; the inertia is about the mass centre, in the axes of the
    body frame. `visuals` are the shapes it is drawn with, `collisions` those it may touch others with; dynamics
    knows neither. A `flexible` body has modes; mass, mass centre and inertia are then those of its undeformed shape.
    `locked_at` (k,) are the amplitudes its modes are held at, None for modes that move.
    """

    name: str
    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    flexible: FlexibleBody | None = None
    locked_at: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of a given kind between two bodies.

    The pose of the child in the parent is `in_parent * motion(q) * inverse(in_child)`. `damping` (nv,) and
    `friction` (nv,) are the viscous and Coulomb coefficients per velocity coordinate, `limits` (nv, 2) the
    lowest and highest position (infinite where there is none) or None. `locked_at` (nq,) is the position a
    locked joint is held at, None for a joint that moves. `limit_stiffness` (nv,) and `limit_damping` (nv,)
    describe stops that give way elastically; without a stiffness they are rigid. Positions between limits are
    counted by difference(neutral, q), which is q for all kinds but those with quaternions. `powered` (nv,) tells which
    velocity components something can drive.

    `armature` (nv,) is the inertia [kg m^2 or kg] of rotors as the joint feels it and `velocity_limit` (nv,) the
    speed that must not be exceeded, infinite where there is none, or None. The latter is kept for files and plans of
    motions; dynamics does not know it. In runs friction that sticks holds with up to `static_friction` (nv,), and falls
    with the slip v as friction + (static_friction - friction) / (1 + (v / stribeck_velocity)^2), or at once; None where
    it holds with no more than `friction`. `load_friction` says for each velocity coordinate which friction comes from
    the load of the joint, None where none does; None as a whole where there is none at all.
    """

    name: str
    parent: str
    child: str
    kind: JointKind
    in_parent: Pose
    in_child: Pose
    damping: NDArray[np.float64]
    friction: NDArray[np.float64]
    limits: NDArray[np.float64] | None
    powered: NDArray[np.bool_]
    locked_at: NDArray[np.float64] | None = None
    limit_stiffness: NDArray[np.float64] | None = None
    limit_damping: NDArray[np.float64] | None = None
    armature: NDArray[np.float64] | None = None
    velocity_limit: NDArray[np.float64] | None = None
    static_friction: NDArray[np.float64] | None = None
    stribeck_velocity: NDArray[np.float64] | None = None
    load_friction: tuple[LoadFriction | None, ...] | None = None

    @property
    def actuated(self) -> bool:
        """Whether something can drive the joint, or some of its components."""
        return bool(self.powered.any())

    @property
    def locked(self) -> bool:
        """Whether the joint is held at a position."""
        return self.locked_at is not None

    @property
    def dof(self) -> int:
        """The number of velocity coordinates the joint has now: none when it is locked."""
        return 0 if self.locked_at is not None else self.kind.nv


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame that moves with a body, placed by its `pose` in the body frame."""

    name: str
    body: str
    pose: Pose


@dataclass(frozen=True)
class Origin:
    """The text that a mechanism was read from, what messages call it, and how it was read.

    `parameters` are the values of its parameters, `given` those that the caller gave instead of what the text says.
    The rest is what the text could reach: its `folder`, the folders to `search`, and `kinds` of a user's own.
    """

    text: str
    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float | str] = field(default_factory=dict)
    folder: Path | None = None
    search: tuple[Path, ...] = ()
    kinds: Any = None
    fix: bool = False
    mimic: bool = True
