"""New parts of a mechanism from what users give, checked: bodies, joints, frames, actuators, an initial state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.bodies.contract import FlexibleBody
from catena.errors import CatenaError, ModelError
from catena.forces.load_friction import LoadFriction
from catena.joints import JointKind
from catena.mechanism import validation
from catena.mechanism.elements import Actuator
from catena.mechanism.flexible_bodies import flexible_body
from catena.mechanism.naming import end_of_joint, moving_joint
from catena.mechanism.parts import Body, Frame, Joint
from catena.mechanism.shapes import Shape, as_shapes, filled
from catena.spatial import Pose
from catena.spatial.euler_tensor import inertia_tensor
from catena.validation import is_not_negative, real_array, shown

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism


def inertia_of_euler_tensor(name: str, inertia: ArrayLike | None, euler: ArrayLike) -> ArrayLike:
    """Return the inertia of a body whose Euler tensor (3, 3) is given, and whose inertia is not."""
    if inertia is not None:
        raise ModelError(f"body {name!r}: it has an inertia and an euler_tensor: give the one or the other")
    try:
        J = real_array(euler)
    except ValueError as error:
        raise ModelError(
            f"body {name!r}: euler_tensor is {shown(euler)} ({error}): give a 3x3 matrix"
        ) from None
    if J.shape != (3, 3):
        raise ModelError(f"body {name!r}: euler_tensor has shape {J.shape}: give a 3x3 matrix")
    return inertia_tensor(J)


def make_body(
    name: str, mass: float | None, com: ArrayLike | None, inertia: ArrayLike | None, density: float | None,
    visuals: Shape | Iterable[Shape], collisions: Shape | Iterable[Shape], physical: bool,
    flexible: FlexibleBody | None,
) -> Body:  # fmt: skip
    """Return a body as `add_body` describes it."""
    who = f"body {name!r}"
    seen = as_shapes(who, "visuals", visuals)
    touched = as_shapes(who, "collisions", collisions)
    if flexible is not None:
        if any(x is not None for x in (mass, com, inertia, density)):
            raise ModelError(f"{who}: a flexible body has its own mass and inertia: leave them out")
        return flexible_body(who, name, flexible, seen, touched)
    if density is not None:
        if mass is not None or com is not None or inertia is not None:
            raise ModelError(
                f"{who}: it has a density, and mass, com or inertia besides: give the one or the other"
            )
        mass, com, inertia = _filled(who, density, seen or touched)
    body_mass = validation.mass(who, 0.0 if mass is None else mass)
    centre = validation.vector(who, "com", (0.0, 0.0, 0.0) if com is None else com)
    is_physical = validation.switch(who, "physical", physical)
    moments = validation.inertia(who, 0.0 if inertia is None else inertia, body_mass, is_physical)
    return Body(name, body_mass, centre, moments, seen, touched)


def _filled(who: str, density: Any, shapes: tuple[Shape, ...]) -> tuple[float, ArrayLike, ArrayLike]:
    """Return the mass, mass centre and inertia of shapes that a density fills."""
    if not is_not_negative(density):
        raise ModelError(f"{who}: density is {shown(density)}: give kilograms for each cubic metre")
    if not shapes:
        raise ModelError(f"{who}: it has a density but no shape to fill: give visuals, or mass and inertia")
    try:
        found = filled(shapes, float(density))
    except CatenaError as error:
        raise ModelError(f"{who}: {error}") from None
    return found.mass, found.com, found.inertia


def make_joint(
    mechanism: Mechanism, name: str, parent: str, child: str, kind: JointKind, in_parent: Pose, in_child: Pose,
    damping: ArrayLike, friction: ArrayLike, limits: ArrayLike | None, actuated: bool | Iterable[bool],
    limit_stiffness: ArrayLike | None, limit_damping: ArrayLike, armature: ArrayLike | None,
    velocity_limit: ArrayLike | None, static_friction: ArrayLike | None, stribeck_velocity: ArrayLike | None,
    load_friction: LoadFriction | Iterable[LoadFriction | None] | None = None,
) -> Joint:  # fmt: skip
    """Return a joint between bodies or frames of a mechanism as `add_joint` describes it."""
    who = f"joint {name!r}"
    (body, base), (other, other_base) = (end_of_joint(mechanism, who, end) for end in (parent, child))
    if body == other:
        frames = f"both {body!r}" if parent == child else f"{parent!r} and {child!r}, both on body {body!r}"
        raise ModelError(f"{who}: parent and child are {frames}: a joint connects two different bodies")
    if not isinstance(kind, JointKind):
        called = f"{kind.__name__}(...)" if isinstance(kind, type) else "Revolute('z')"
        raise ModelError(
            f"{who}: kind is {shown(kind)}, which is not a joint kind: give an instance such as {called}"
        )
    validation.pose(who, "in_parent", in_parent)
    validation.pose(who, "in_child", in_child)
    # The poses of bodies stay as they were given, to the last digit.
    outer = in_parent if body == parent else base * in_parent
    inner = in_child if other == child else other_base * in_child
    rubs = validation.coefficients(who, "friction", friction, kind.nv)
    loaded = validation.load_friction(who, load_friction, kind)
    holds, falls = validation.static_friction(who, static_friction, stribeck_velocity, rubs, loaded)
    stops = validation.stops(who, limits, limit_stiffness, limit_damping, kind.nv)
    return Joint(
        name, body, other, kind, outer, inner,
        validation.coefficients(who, "damping", damping, kind.nv),
        rubs,
        validation.limits(who, limits, kind.nv),
        validation.powered(who, actuated, kind.nv),
        None,
        *stops,
        validation.armature(who, armature, kind),
        validation.velocity_limit(who, velocity_limit, kind.nv),
        holds,
        falls,
        loaded,
    )  # fmt: skip


def make_frame(mechanism: Mechanism, name: str, body: str, pose: Pose) -> Frame:
    """Return a frame on a body of a mechanism."""
    who = f"frame {name!r}"
    validation.known("body", body, mechanism.bodies, who)
    return Frame(name, body, validation.pose(who, "pose", pose))


def make_actuator(
    mechanism: Mechanism, name: str, joint: str, components: int | Iterable[int] | None, gear: ArrayLike,
    limits: ArrayLike | None, no_load_speed: ArrayLike | None,
) -> Actuator:  # fmt: skip
    """Return a motor of a joint of a mechanism as `add_actuator` describes it."""
    who = f"actuator {name!r}"
    driven = moving_joint(mechanism, who, joint)
    if not driven.actuated:
        raise ModelError(
            f"{who}: joint {joint!r} is not actuated: add the joint with actuated=True to drive it"
        )
    powered = tuple(int(k) for k in np.flatnonzero(driven.powered))
    chosen = powered if components is None else validation.components(who, joint, components, driven.kind.nv)
    idle = sorted(set(chosen) - set(powered))
    if idle:
        raise ModelError(
            f"{who}: component {idle[0]} of joint {joint!r} is not actuated, its actuated= is "
            f"{tuple(driven.powered.tolist())}: give the components {powered}, or add the joint with others"
        )
    for other in mechanism.actuators.values():
        shared = sorted(set(chosen) & set(other.components)) if other.joint == joint else []
        if shared:
            raise ModelError(
                f"{who}: actuator {other.name!r} drives component {shared[0]} of joint {joint!r} already: "
                "give each component one actuator"
            )
    ratio = validation.gears(who, gear, len(chosen))
    efforts = validation.effort_limits(who, limits, len(chosen))
    fastest = validation.no_load_speed(who, no_load_speed, efforts)
    return Actuator(name, joint, chosen, ratio, efforts, fastest)


def initial_values(mechanism: Mechanism, what: str, by_joint: Any) -> Mapping[str, NDArray[np.float64]]:
    """Return the checked positions ("q") or velocities ("v") of joints by name, in the order of the joints."""
    joints = mechanism.joints
    if by_joint is not None and not isinstance(by_joint, Mapping):
        raise ModelError(
            f"mechanism {mechanism.name!r}: the initial {what} is {shown(by_joint)}: give a mapping from joints "
            "to numbers"
        )
    values = {}
    for name, value in (by_joint or {}).items():
        kind = joints[validation.known("joint", name, joints, f"initial {what}")].kind
        joint = f"joint {name!r}"
        if joints[name].locked:
            raise ModelError(f"{joint}: it has an initial {what} but is locked: unlock it, or leave that out")
        if kind.nv == 0:
            raise ModelError(f"{joint}: it has an initial {what} but no degree of freedom: leave that out")
        size = kind.nq if what == "q" else kind.nv
        values[name] = validation.coordinates(joint, f"the initial {what}", value, size)
        if what == "q":
            kind.check(values[name], name)
    return MappingProxyType({name: values[name] for name in joints if name in values})


def signal_values(mechanism: Mechanism, by_servo: Any) -> Mapping[str, float]:
    """Return the checked signals of servos by name, in the order of the forces."""
    if by_servo is not None and not isinstance(by_servo, Mapping):
        raise ModelError(
            f"mechanism {mechanism.name!r}: signals is {shown(by_servo)}: give a mapping from servos to numbers"
        )
    servos = mechanism.servos
    values = {
        validation.known("servo", name, servos, "signals"): float(
            validation.coordinates(f"servo {name!r}", "the signal", value, 1)[0]
        )
        for name, value in (by_servo or {}).items()
    }
    return MappingProxyType({name: values[name] for name in mechanism.forces if name in values})
