"""What acts on a mechanism and where it starts, as plain frozen data: actuators, forces, a state.

These are descriptions. `system.forces` turns springs, stops, wrenches and other forces into numbers; they act
in every call and in every simulation. Every force, whatever it is called, has a kind of `catena.forces` and a place: a
joint, or two frames.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from catena import forces
from catena.mechanism.parts import Joint

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Actuator:
    """A motor that drives some velocity components of a joint.

    With the motor's efforts u (k,), one for each of its `components`, the joint force is tau[component] =
    gear u: `gear` (k,) is how often the motor turns for one turn of the joint. `limits` (k, 2) are the lowest
    and highest efforts of the motor, infinite where there is none. Both shrink in proportion to the motor's speed in
    their direction and vanish at its `no_load_speed` (k,) [rad/s or m/s], infinite where there is none; against the
    motion the motor gives all it can.
    """

    name: str
    joint: str
    components: tuple[int, ...]
    gear: Floats
    limits: Floats
    no_load_speed: Floats

    @property
    def joint_speed(self) -> Floats:
        """The speed of the joint (k,) at which the motor has its no-load speed."""
        return self.no_load_speed / np.abs(self.gear)

    @property
    def joint_limits(self) -> Floats:
        """The lowest and highest joint force (k, 2) that the motor can give through its gear."""
        return np.sort(self.gear[:, None] * self.limits, axis=1)


def driven(joint: Joint, actuators: Mapping[str, Actuator]) -> NDArray[np.bool_]:
    """Return which velocity components (nv,) of a joint something drives: those of its actuators, or all that are
    powered where it has none."""
    own = [actuator.components for actuator in actuators.values() if actuator.joint == joint.name]
    if not own:
        return joint.powered
    found = np.zeros(joint.kind.nv, dtype=bool)
    found[[k for components in own for k in components]] = True
    return found


@dataclass(frozen=True, eq=False)
class ForceElement(ABC):
    """A force of a mechanism: its name, its `kind`, and where it acts, at a joint or between two frames."""

    name: str

    @property
    @abstractmethod
    def kind(self) -> forces.ForceKind:
        """The kind of force, with its parameters."""

    @abstractmethod
    def with_kind(self, kind: Any) -> ForceElement:
        """Return the same force at the same place with the numbers of a kind that differs in these only."""

    @property
    def whole_kind(self) -> forces.ForceKind:
        """The kind with all its numbers, also those that are zero and leave a part of it out."""
        return self.kind

    @property
    def frames(self) -> tuple[str, ...] | None:
        """The frames a and b that it acts between, more where it pulls along a line over several, None for a force at a
        joint."""
        return None

    @property
    def at_joint(self) -> str | None:
        """The joint that it acts at, None for a force between frames."""
        return None


@dataclass(frozen=True, eq=False)
class KindElement(ForceElement):
    """A force of any kind, at a joint or between frames."""

    given_kind: forces.ForceKind
    place: str | tuple[str, ...]

    @property
    def kind(self) -> forces.ForceKind:
        return self.given_kind

    def with_kind(self, kind: forces.ForceKind) -> KindElement:
        return replace(self, given_kind=kind)

    @property
    def frames(self) -> tuple[str, ...] | None:
        return None if isinstance(self.place, str) else self.place

    @property
    def at_joint(self) -> str | None:
        return self.place if isinstance(self.place, str) else None


@dataclass(frozen=True, eq=False)
class JointSpringElement(ForceElement):
    """A spring with a damper at a joint: the energy it stores is sum(stiffness d^2) / 2, its damping force
    -damping v.

    d = difference(rest, q) of the joint's kind is the deflection (nv,) from the position `rest` (nq,), which
    is q - rest for all kinds but those with quaternions. `stiffness` and `damping` are (nv,). Several springs at a
    joint add up.
    """

    joint: str
    stiffness: Floats
    rest: Floats
    damping: Floats

    numbers = ("stiffness", "rest", "damping")

    @property
    def kind(self) -> forces.JointSpring:
        stiff, damped = self.stiffness.any(), self.damping.any()
        return forces.JointSpring(
            tuple(self.stiffness) if stiff else (), tuple(self.damping) if damped else (), tuple(self.rest)
        )

    @property
    def whole_kind(self) -> forces.JointSpring:
        return self.kind.with_rows(tuple(self.stiffness), tuple(self.damping), tuple(self.rest))

    def added_to(
        self, mechanism: Mechanism, prefix: str = "", of: Callable[[str], str] = str, **numbers: Any
    ) -> Spring:
        """Add a spring with these numbers, but those that are given, to a mechanism that has the same joint under a
        name with this prefix."""
        there = {name: getattr(self, name) for name in self.numbers}
        return mechanism.add_spring(prefix + self.name, prefix + self.joint, **{**there, **numbers})

    def with_kind(self, kind: forces.JointSpring) -> JointSpringElement:
        def row(name: str) -> Floats:
            return np.array(getattr(kind, name) or np.zeros(len(getattr(self, name))), dtype=np.float64)

        return replace(self, stiffness=row("stiffness"), rest=row("rest"), damping=row("damping"))

    @property
    def at_joint(self) -> str | None:
        return self.joint


@dataclass(frozen=True, eq=False)
class PointSpringElement(ForceElement):
    """A spring with a damper along the line between the origins of two frames.

    At length l it pulls them together with the force stiffness (l - rest_length) + damping dl/dt, and where they
    coincide it does nothing.
    """

    frame_a: str
    frame_b: str
    stiffness: float
    rest_length: float
    damping: float

    numbers = ("stiffness", "rest_length", "damping")

    def added_to(
        self, mechanism: Mechanism, prefix: str = "", of: Callable[[str], str] = str, **numbers: Any
    ) -> Spring:
        """Add a spring with these numbers, but those that are given, between frames whose names `of` tells."""
        there = {name: getattr(self, name) for name in self.numbers}
        ends = of(self.frame_a), of(self.frame_b)
        return mechanism.add_spring_between(prefix + self.name, *ends, **{**there, **numbers})

    @property
    def kind(self) -> forces.PointSpring:
        return forces.PointSpring(self.stiffness, self.rest_length, self.damping)

    def with_kind(self, kind: forces.PointSpring) -> PointSpringElement:
        return replace(self, stiffness=kind.stiffness, rest_length=kind.rest_length, damping=kind.damping)

    @property
    def frames(self) -> tuple[str, str]:
        return (self.frame_a, self.frame_b)


Spring = JointSpringElement | PointSpringElement


@dataclass(frozen=True, eq=False)
class WrenchElement(ForceElement):
    """A constant `moment` (3,) [N m] and `force` (3,) [N] that act on the body of a frame, at its origin.

    Their coordinates are those of the frame named `axes`: "ground" for a load of constant direction, the frame
    itself for one that turns with it.
    """

    frame: str
    moment: Floats
    force: Floats
    axes: str

    @property
    def kind(self) -> forces.ConstantWrench:
        return forces.ConstantWrench(tuple(self.moment), tuple(self.force))

    def with_kind(self, kind: forces.ConstantWrench) -> WrenchElement:
        return replace(self, moment=np.array(kind.moment), force=np.array(kind.force))

    @property
    def frames(self) -> tuple[str, str]:
        return (self.axes, self.frame)


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False)
class InitialState:
    """Where a motion starts: positions `q` (nq,) and velocities `v` (nv,) of some joints, by name, and the `signals` of
    some servos.

    What is not named follows: `q = system.assemble(initial.q)` closes the loops from the neutral configuration, and in
    `system.velocity(q, initial.v)` joints on no loop stand still and the others move as the loops have it. The signals
    say what the servos of the mechanism are told in this state; `m.with_signals(state.signals)` tells them.
    """

    q: Mapping[str, Floats] = field(default_factory=_nothing)
    v: Mapping[str, Floats] = field(default_factory=_nothing)
    signals: Mapping[str, float] = field(default_factory=_nothing)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self.q), dict(self.v), dict(self.signals))

    def without(self, joints: Container[str], forces: Container[str] = ()) -> InitialState:
        """Return this state with nothing said about some joints and forces."""
        if not any(name in joints for name in (*self.q, *self.v)) and not any(
            f in forces for f in self.signals
        ):
            return self
        return InitialState(
            MappingProxyType({name: q for name, q in self.q.items() if name not in joints}),
            MappingProxyType({name: v for name, v in self.v.items() if name not in joints}),
            MappingProxyType({name: x for name, x in self.signals.items() if name not in forces}),
        )

    def renamed(self, prefix: str) -> InitialState:
        """Return the same state of joints and forces that have a prefix before their names."""
        parts: tuple[Mapping[str, Any], ...] = (self.q, self.v, self.signals)
        return InitialState(
            *(MappingProxyType({prefix + name: x for name, x in own.items()}) for own in parts)
        )

    def joined(self, other: InitialState) -> InitialState:
        """Return the state that says what both say, the other where they differ."""
        pairs: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = (
            (self.q, other.q), (self.v, other.v), (self.signals, other.signals),
        )  # fmt: skip
        return InitialState(*(MappingProxyType({**one, **more}) for one, more in pairs))


def _restored(
    q: dict[str, Floats], v: dict[str, Floats], signals: dict[str, float] | None = None
) -> InitialState:
    """Return an initial state from a pickle."""
    for value in (*q.values(), *v.values()):
        value.setflags(write=False)
    return InitialState(MappingProxyType(q), MappingProxyType(v), MappingProxyType(signals or {}))
