"""Forces of all kinds as sweeps before any dynamics: bodies are placed, forces press on them, and the dynamics reads
what they did as `f_ext` and `tau`. Cost O(bodies between the ground and a force) + O(forces).

How an algorithm gets forces: put `force_sweeps()` right before the sweeps of the dynamics, once for every time that
accelerations are found; add `SHARED` as the algorithm's `shared` fields; take `tau` and `f_ext` out of its inputs and
`GIVEN` in. `with_forces` does this for an algorithm of dynamics by itself. Which forces there are is told when the
algorithm meets a plan (`build_tape`, `Evaluator.program`, `System.program`), as `PlacedForce`s: new parameters and new
places compile nothing, a new kind compiles one small unit.

What a step finds afterwards:
  body.tau    `given`, and what forces at the joint add
  body.f_ext  `f_given`, and what forces add, on the node in its axes at its origin
  ground      with `count`, the powers `power_friction` and `power_wrenches` of forces, that of `given` as
              `power_actuators`; what springs store is in none of them. The friction of joints, which the dynamics
              applies, is counted if `Elements.frictions` are among the forces.
`given` (nv) is the joint force from outside, `f_given` a wrench on every node; both are optional. The `inputs` of
forces (`AppliedWrench` has six) are the input `FORCE_INPUTS` of the program, force after force, or what a step on the
whole state writes as `whole.force_inputs`. A force at a loop joint reads the joint's position off where the two sides
are; where `NEAR` tells positions that joints are near, whole turns are counted on from there.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from catena.forces import AtJoint, Relative
from catena.forces.placed import FRAMES, TREE
from catena.forces.stretch import LineSection, OnPath
from catena.kernels import (
    POSITION,
    VELOCITY,
    Algorithm,
    OnCall,
    Sweep,
    at_ground,
    each_body,
    each_moving_force,
    to_forces,
    with_ground,
)
from catena.kinematics.along import along, gram_inverse
from catena.spatial import Force, Motion, Transform

SHARED: Mapping[str, Any] = MappingProxyType({
    "stance": Transform, "twist": Motion, "f_ext": Force, "q": POSITION, "qd": VELOCITY, "tau": VELOCITY,
})  # fmt: skip
"""What bodies keep where forces find it: the transform `stance` from ground and the twist, the wrench and the joint
force that they feel, and the joint's state."""

GIVEN: Mapping[str, Any] = MappingProxyType({"given": VELOCITY, "f_given": Force})
"""Joint forces and wrenches from outside."""

SOURCES = ("friction", "wrenches")


@at_ground
def found(ground: Any, below: Any) -> None:
    """The ground stands and rests, and nothing has been measured."""
    below.stance, below.twist, below.f_ext = Transform.identity(), Motion.zero(), Force.zero()
    ground.path_length = ground.path_rate = 0.0


@each_body
def begin(body: Any) -> None:
    """A body feels what comes from outside."""
    body.tau, body.f_ext = body.given, body.f_given


@to_forces
def place(body: Any, below: Any) -> None:
    """A body stands and moves as its joint has it on its parent."""
    X = body.joint.transform(body.q) * body.placement
    body.stance = X * below.stance
    body.twist = X * below.twist + body.joint.motion_space(body.q) * body.qd


@each_moving_force
def press(force: Any, a: Any, b: Any, ground: Any) -> None:
    """A force acts on its bodies."""
    ForceState(force, a, b, ground).press()


@at_ground
def forget_power(ground: Any) -> None:
    """Powers are counted anew."""
    ground.power_friction = ground.power_wrenches = ground.power_actuators = 0.0


@with_ground
def count_given(body: Any, ground: Any) -> None:
    """The power of joint forces from outside."""
    if not body.joint.follows:
        ground.power_actuators = ground.power_actuators + body.given @ body.qd


@each_moving_force
def press_and_count(force: Any, a: Any, b: Any, ground: Any) -> None:
    """A force acts on its bodies, and its power is added to that of its source."""
    state = ForceState(force, a, b, ground)
    state.press()
    name = f"power_{force.kind.source}"
    setattr(ground, name, getattr(ground, name) + state.spent_power())


class ForceState:
    """What a force does in one state, from the records of the force, of its bodies a and b, and of the ground, where
    the stretches of a line over several frames leave what they have measured."""

    def __init__(self, force: Any, a: Any, b: Any, ground: Any) -> None:
        self.force, self.kind, self.a, self.b = force, force.kind, a, b
        if force.site == TREE:
            self.at: Any = AtJoint(force.joint, b.q, b.qd, force.inputs)
            self.velocity = b.qd
        else:
            # How b's frame, or the child's side of a loop joint, stands and moves relative to a's.
            self.X = (force.on_b * b.stance) * (force.on_a * a.stance).inverse()
            self.v_b = force.on_b * b.twist
            v = self.v_b - self.X * (force.on_a * a.twist)
            self.velocity = v.array
            if force.site == FRAMES:
                self.at = Relative(self.X, v, force.inputs)
                if self.kind.described is not self.kind:
                    self._go_along(self.kind, ground)
                if not self.kind.reacts:
                    self.velocity = self.v_b.array
            else:
                q = self._coordinates()
                self.S = force.joint.motion_space(force.neutral if force.has_constant_motion_space else q)
                self.velocity = along(self.S, v)
                self.at = AtJoint(force.joint, q, self.velocity, force.inputs)
        self.load = self.kind.load(self.at)

    def _go_along(self, kind: LineSection, ground: Any) -> None:
        """Add a stretch to what has been measured of its line, or tell it how long that is."""
        length, rate = ground.path_length, ground.path_rate
        if kind.measures:
            ground.path_length, ground.path_rate = kind.measured(self.at, length, rate)
        else:
            self.at = OnPath(self.X, self.at.v, self.at.inputs, length, rate)

    def _coordinates(self) -> Any:
        """Return the position of a loop joint from where its two sides are, its turns counted on from where it is
        near."""
        force = self.force
        if force.near is None:
            return force.joint.coordinates(self.X)
        return force.joint.coordinates_near(self.X, force.near)

    def press(self) -> None:
        """Add the load to what the bodies feel, unless the force does not act."""
        if self.force.near is not None:
            # What turns are counted on from in the next stages of a step.
            self.force.seen, self.force.seen_rate = self.at.q, self.force.joint.rate(self.at.q, self.velocity)
        if not self.force.acts:
            return
        if self.force.site == TREE:
            self.b.tau = self.b.tau + self.load
            return
        on_a, on_b = self.wrenches()
        self.b.f_ext += on_b
        if on_a is not None:
            self.a.f_ext += on_a

    def wrenches(self) -> tuple[Force | None, Force]:
        """Return the wrenches on the nodes of a and b, each in its own axes at its origin; None where nothing acts on
        a."""
        load = self.load
        if self.force.site != FRAMES:
            # The wrench in the span of S that does this work; any other differs by what the constraints take up.
            load = Force((self.S * (gram_inverse(self.S) @ load)).array)
        on_b = self.force.on_b.pull(load)
        reacts = self.force.site != FRAMES or self.kind.reacts
        return (-self.force.on_a.pull(self.X.pull(load)) if reacts else None), on_b

    def power(self) -> Any:
        """Return the power of the load."""
        return _dot(self.load, self.velocity)

    def spent_power(self) -> Any:
        """Return the power of that part of the load which does not come out of the energy that is stored."""
        if not self.kind.stores:
            return self.power()
        resting = self.kind.load(self.at.at_rest())
        return self.power() - _dot(resting, self.velocity)


def _dot(load: Any, velocity: Any) -> Any:
    return (load.array if isinstance(load, Force) else load) @ velocity


def force_sweeps(count: bool = False) -> list[Sweep]:
    """Return the sweeps that come right before those of the dynamics; with `count`, powers are summed up at the
    ground."""
    if count:
        return [found, forget_power, begin, count_given, place, press_and_count]
    return [found, begin, place, press]


@lru_cache(maxsize=32)
def with_forces(dynamics: Algorithm, count: bool = False) -> Algorithm:
    """Return the same dynamics with forces: `given` and `f_given` take the places of `tau` and `f_ext`."""
    inputs = {n: e for n, e in dynamics.inputs.items() if n not in ("tau", "f_ext")} | dict(GIVEN)
    called = [sweep for sweep in dynamics.sweeps if isinstance(sweep, OnCall)]
    others = [sweep for sweep in dynamics.sweeps if not isinstance(sweep, OnCall)]
    powers = tuple(f"power_{source}" for source in (*SOURCES, "actuators")) if count else ()
    return replace(
        dynamics, name=f"{dynamics.name}_with_forces{'_counted' if count else ''}",
        sweeps=(*called, *force_sweeps(count), *others), inputs=inputs, shared=SHARED,
        optional=(dynamics.optional - {"tau", "f_ext"}) | frozenset(GIVEN),
        ground_outputs=(*dynamics.ground_outputs, *powers),
    )  # fmt: skip
