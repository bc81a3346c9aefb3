"""Putting one mechanism into another: its parts under longer names, its ground somewhere on a body of the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catena.errors import ModelError
from catena.mechanism import validation
from catena.mechanism.elements import KindElement
from catena.mechanism.mounted_sensors import IMU
from catena.mechanism.parts import GROUND, Joint
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism


def include(
    mechanism: Mechanism, other: Mechanism, prefix: str = "", on: str = GROUND, at: Pose | None = None
) -> None:
    """Add all parts of another mechanism, with `prefix` before their names.

    The ground of the other is the pose `at` of the body `on`. Gravity stays that of the mechanism; the initial state
    of the other's joints is added to its own.
    """
    validation.known("body", on, mechanism.bodies, f"included mechanism {other.name!r}")
    place = Pose() if at is None else at
    moved = on != GROUND or place != Pose()
    base = GROUND
    if moved and _needs_ground_frame(other):
        base = f"{prefix}{other.name} base"
        mechanism.add_frame(base, on, place)

    def of(name: str) -> str:
        return base if name == GROUND else prefix + name

    _add_bodies(mechanism, other, prefix, on, place)
    for joint in other.joints.values():
        _add_joint(mechanism, joint, prefix, on, place)
    for frame in other.frames.values():
        on_ground = frame.body == GROUND
        body, pose = (on, place * frame.pose) if on_ground else (prefix + frame.body, frame.pose)
        mechanism.add_frame(prefix + frame.name, body, pose)
    for actuator in other.actuators.values():
        mechanism.add_actuator(
            prefix + actuator.name,
            prefix + actuator.joint,
            actuator.components,
            actuator.gear,
            actuator.limits,
            actuator.no_load_speed,
        )
    for spring in other.springs.values():
        spring.added_to(mechanism, prefix, of)
    for wrench in other.wrenches.values():
        mechanism.add_wrench(
            prefix + wrench.name, of(wrench.frame), wrench.moment, wrench.force, of(wrench.axes)
        )
    for force in other.forces.values():
        _add_force(mechanism, force, prefix, base)
    for coupling in other.couplings.values():
        mechanism._couple(coupling.renamed(_new_coupling_name(mechanism, prefix + coupling.name), prefix))
    for sensor in other.sensors.values():
        moved_sensor = sensor.renamed(prefix)
        mechanism.add_sensor(
            moved_sensor.name,
            sensor.kind,
            of(sensor.at) if sensor.kind == IMU else moved_sensor.at,
            moved_sensor.frame,
            sensor.component,
        )
    for name, state in other.states.items():
        own = mechanism.states.get(name)
        mechanism._states[name] = state.renamed(prefix) if own is None else own.joined(state.renamed(prefix))
    if other._initial is not None:
        more = other._initial.renamed(prefix)
        mechanism._initial = more if mechanism._initial is None else mechanism._initial.joined(more)
        mechanism._revision += 1


def _needs_ground_frame(other: Mechanism) -> bool:
    """Return whether some force of a mechanism refers to its ground, which then has to be a frame elsewhere."""
    named = {name for force in other.force_elements.values() for name in force.frames or ()}
    named |= {sensor.at for sensor in other.sensors.values() if sensor.kind == IMU}
    return GROUND in named or any(wrench.axes == GROUND for wrench in other.wrenches.values())


def _add_bodies(mechanism: Mechanism, other: Mechanism, prefix: str, on: str, place: Pose) -> None:
    for body in other.bodies.values():
        if body.name == GROUND:
            mechanism.add_visual(on, *(replace(shape, pose=place * shape.pose) for shape in body.visuals))
            mechanism.add_collision(
                on, *(replace(shape, pose=place * shape.pose) for shape in body.collisions)
            )
            continue
        if body.flexible is not None:
            mechanism.add_body(
                prefix + body.name, flexible=body.flexible, visuals=body.visuals, collisions=body.collisions
            )
            if body.locked_at is not None:
                mechanism.replace_body(
                    replace(mechanism.bodies[prefix + body.name], locked_at=body.locked_at)
                )
            continue
        # What the other mechanism accepted as it is, this one accepts as well.
        mechanism.add_body(
            prefix + body.name, body.mass, body.com, body.inertia,
            visuals=body.visuals, collisions=body.collisions, physical=False,
        )  # fmt: skip


def _add_joint(mechanism: Mechanism, joint: Joint, prefix: str, on: str, place: Pose) -> None:
    name = prefix + joint.name
    if name in mechanism.joints:
        raise ModelError(
            f"joint {name!r}: the name is taken by another joint: include it with another prefix"
        )
    ends: dict[str, Any] = {}
    for side, body, pose in (
        ("parent", joint.parent, joint.in_parent),
        ("child", joint.child, joint.in_child),
    ):
        is_ground = body == GROUND
        ends[side] = on if is_ground else prefix + body
        ends[f"in_{side}"] = place * pose if is_ground else pose
    mechanism._joints[name] = replace(joint, name=name, **ends)
    mechanism._revision += 1


def _add_force(mechanism: Mechanism, force: KindElement, prefix: str, base: str) -> None:
    if force.frames is None:
        mechanism.add_force(prefix + force.name, force.kind, joint=prefix + str(force.at_joint))
        return
    ground = GROUND if force.kind.weighs else base
    ends = [ground if frame == GROUND else prefix + frame for frame in force.frames]
    mechanism.add_force(prefix + force.name, force.kind, between=ends)


def _new_coupling_name(mechanism: Mechanism, name: str) -> str:
    if name in mechanism.couplings:
        raise ModelError(
            f"coupling {name!r}: the name is taken by another coupling: include it with another prefix"
        )
    return name
