"""The force contract: everything the rest of Catena knows about a kind of force.

There are two families. A `FrameForce` acts between two frames a and b, on any two bodies or on a body and the ground:
from how b stands and moves relative to a it tells the wrench on b, and the opposite wrench acts on a. A `JointForce`
acts at a joint, of the tree or of a loop: from the joint's position and velocity it tells the joint force. Arguments
are numbers or CasADi symbols alike.

To add a kind, subclass one of the two in a file of your own as a frozen dataclass, define `load`, with the functions
of `catena.spatial.scalars` in place of NumPy's and of `if`, and run `catena.forces.check_force_kind` on an instance. A
kind that stores energy defines `energy` too. Fields annotated `float` or `tuple[float, ...]` are parameters, data of
the compiled code: a new value compiles nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from catena.forces.deflection import deflection
from catena.forces.parameters import Parametric
from catena.joints import JointKind
from catena.spatial import Force, Motion, Transform
from catena.spatial.scalars import Scalar, Scalars

if TYPE_CHECKING:
    from catena.forces.servo import Servo

NO_INPUTS = np.zeros(0)
NO_INPUTS.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Relative:
    """How frame b stands and moves relative to frame a: the transform `X` from a to b, the twist `v` of b relative to
    a in b's axes at b's origin, and the `inputs` (n,) of a kind that is given numbers from outside."""

    X: Transform
    v: Motion
    inputs: Any = None

    @property
    def span(self) -> np.ndarray:
        """The way from a's origin to b's, (3,), in a's axes."""
        return self.X.p

    def in_b(self, x: Any) -> np.ndarray:
        """Return a vector (3,) in a's axes, in b's."""
        return self.X.R @ x

    def at_rest(self) -> Relative:
        """Return the same place, without motion."""
        return replace(self, v=Motion.zero())


@dataclass(frozen=True, eq=False)
class AtJoint:
    """Where a joint stands and how it moves: its kind, its position `q` (nq,) and velocity `v` (nv,), and the `inputs`
    (n,) of a force that is given numbers from outside."""

    joint: JointKind
    q: Any
    v: Any
    inputs: Any = None

    def deflection(self, origin: Any = None) -> tuple[Any, np.ndarray | None]:
        """Return how far the joint is from a position (nq,), its neutral one by default: d (nv,), and the matrix A (nv,
        nv) of d' = A v, None where it is 1. A force y against the deflection is the joint force A^T y."""
        return deflection(self.joint, self.joint.neutral() if origin is None else origin, self.q)

    def at_rest(self) -> AtJoint:
        """Return the same position, without motion."""
        return replace(self, v=np.zeros(self.joint.nv))


class ForceKind(Parametric, ABC):
    """A kind of force: its load from a state, the energy it stores, and what is worth recording of it.

    Subclass `FrameForce` or `JointForce`, never this class."""

    inputs: ClassVar[int] = 0
    """How many numbers the kind is given from outside at every instant, such as the wrench of a function of time."""
    stores: ClassVar[bool] = False
    """Whether the load at rest is what `energy` loses on the way, so that its power is no work from outside."""
    source: ClassVar[str] = "friction"
    """What the work is counted as that `energy` does not account for: "friction", "wrenches" or "actuators"."""
    weighs: ClassVar[bool] = False
    """Whether gravity matters, which `under` then tells, in the axes of ground: frame a must be that."""
    drawn_as: ClassVar[str] = "spring"
    """A hint for pictures: "spring", "damper", "cable", "bushing", "arrow" or "none"."""

    @property
    def spends(self) -> bool:
        """Whether there is power that `energy` does not account for, as of a damper. Numbers."""
        return True

    @property
    def described(self) -> ForceKind:
        """The kind that a user described, of which this one may be a part that acts in one place."""
        return self

    @property
    def as_servo(self) -> Servo | None:
        """This kind, if it is a servo, which follows a signal that users change."""
        return None

    def under(self, gravity: Scalars) -> Self:
        """Return this kind where the acceleration of gravity (3,) is so much; itself unless it `weighs`."""
        return self


class FrameForce(ForceKind):
    """A force between two frames: `load(at: Relative)` is the wrench [moment; force] on b, in b's axes at b's
    origin."""

    reacts: ClassVar[bool] = True
    """Whether the opposite wrench acts on a. Where it does not, the force comes from outside, and frame a only lends
    the axes or the place that it is counted from."""

    @abstractmethod
    def load(self, at: Relative) -> Force:
        """Return the wrench [moment; force] on b, at b's origin in b's axes."""

    def energy(self, at: Relative) -> Scalar:
        """Return the energy that is stored in this state, zero unless the kind `stores` some."""
        return 0.0

    def outputs(self, at: Relative) -> Mapping[str, Scalar]:
        """Return {name: number} of what is worth recording in this state, besides energy and power."""
        return {}


class JointForce(ForceKind):
    """A force at a joint. `load(at: AtJoint)` is the joint force (nv,)."""

    looks: ClassVar[bool] = True
    """Whether the position of the joint matters, so that its whole turns are counted."""

    @property
    def dampers(self) -> tuple[Scalar, ...]:
        """How much it resists each velocity component (nv,) in proportion, whatever the position, which a step may take
        over its whole length; none where that is left to `load` alone."""
        return ()

    @abstractmethod
    def load(self, at: AtJoint) -> np.ndarray:
        """Return the joint force (nv,)."""

    def energy(self, at: AtJoint) -> Scalar:
        """Return the energy that is stored in this state, zero unless the kind `stores` some."""
        return 0.0

    def outputs(self, at: AtJoint) -> Mapping[str, Scalar]:
        """Return {name: number} of what is worth recording in this state, besides energy and power."""
        return {}

    def check(self, joint: JointKind, who: str) -> None:
        """Raise a ModelError that begins with `who` unless the kind fits a joint of this kind. Numbers."""
