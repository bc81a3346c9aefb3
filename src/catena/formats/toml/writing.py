"""Writing a mechanism as TOML that people like to read and that reads back to the last digit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from catena.bodies import FiniteElements
from catena.errors import FormatError, ModelError
from catena.forces.load_friction import LoadFriction
from catena.formats.shape_files import path_from
from catena.formats.toml.blocks import Block, inline, key_text, rows_text, string_text, value_text
from catena.formats.toml.bodies import describe_shape
from catena.formats.toml.flexible import Words, describe_flexible
from catena.formats.toml.forces import describe_force
from catena.formats.toml.kinds import ARGUMENTS, describe_kind
from catena.formats.toml.linkages import with_drawing
from catena.formats.toml.orientation import describe_orientation
from catena.formats.toml.schema import FORMAT
from catena.mechanism import (
    GROUND,
    Actuator,
    Body,
    CamCoupling,
    Coupling,
    Frame,
    InitialState,
    Joint,
    JointSpringElement,
    KindElement,
    LinearCoupling,
    Mechanism,
    MountedSensor,
    PolynomialCoupling,
    Shape,
    Spring,
    WrenchElement,
    validation,
)
from catena.mechanism.profiles import Polynomial, Spline, Written
from catena.mechanism.shapes import Mesh
from catena.spatial import Pose

Pairs = Iterator[tuple[str, str]]

WIDTH = 110
"""How long a line may be before a matrix is broken into its rows."""


def write(mechanism: Mechanism, file: str, folder: Path | None = None) -> str:
    """Return the mechanism as TOML text; `file` is what messages call it.

    Parts stand in the order they were added, which is also that of the coordinates. What has its default value
    is left out. Meshes below the `folder` that the file will lie in are told by their path from there, others by
    their whole path or as they were.
    """
    return written(blocks(mechanism, file, folder))


def write_drawn(mechanism: Mechanism, file: str, folder: Path | None = None) -> str:
    """Return what `write` does, with the drawing of a linkage in the place of the parts that were made from it, where
    these are as they were."""
    found = blocks(mechanism, file, folder)
    if mechanism.drawing is None:
        return written(found)
    drawn = blocks(mechanism.drawing.mechanism(mechanism.name), file, folder)
    return written(with_drawing(found, mechanism.drawing, drawn) or found)


def written(found: Sequence[Block]) -> str:
    """Return the text of a file of these tables."""
    return "\n".join(
        [f"# A Catena model, in SI units and radians.\nformat = {FORMAT}\n", *(b.text for b in found)]
    )


def blocks(mechanism: Mechanism, file: str, folder: Path | None = None) -> list[Block]:
    """Return the tables of a mechanism in the order they are written; the arguments are those of `write`."""
    head = [("name", string_text(mechanism.name)), ("gravity", value_text(mechanism.gravity))]
    found = [_once("mechanism", iter(head))]
    ground = mechanism.bodies[GROUND]
    if ground.visuals or ground.collisions:
        found.append(_once("ground", _shapes(ground, folder)))
    bodies = (body for body in mechanism.bodies.values() if body.name != GROUND)
    stem = None if folder is None else Path(file).stem
    numbers = iter(range(1, len(mechanism.bodies)))
    found += [_part("body", _body(body, folder, stem, numbers)) for body in bodies]
    return [*found, *_rest(mechanism, mechanism.joints.values(), mechanism.actuators.values(),
                           mechanism.couplings.values(), file)]  # fmt: skip


def _rest(
    mechanism: Mechanism,
    joints: Iterable[Joint],
    actuators: Iterable[Actuator],
    couplings: Iterable[Coupling],
    file: str,
    frames: Iterable[Frame] | None = None,
) -> Iterator[Block]:
    """The tables of all that is no body, with those joints, actuators and couplings that are given, and all frames
    unless they are given too."""
    yield from (_part("joint", _joint(joint, file)) for joint in joints)
    yield from (
        _part("frame", _frame(frame)) for frame in (mechanism.frames.values() if frames is None else frames)
    )
    yield from (_part("actuator", _actuator(actuator, mechanism)) for actuator in actuators)
    yield from (_part("spring", _spring(spring, mechanism)) for spring in mechanism.springs.values())
    yield from (_part("wrench", _wrench(wrench)) for wrench in mechanism.wrenches.values())
    yield from (_part("force", _force(force, file)) for force in mechanism.forces.values())
    yield from (_part("coupling", _coupling(coupling)) for coupling in couplings)
    yield from (_part("sensor", _sensor(sensor)) for sensor in mechanism.sensors.values())
    yield from _states(mechanism)


def write_rest(
    mechanism: Mechanism,
    joints: Sequence[Joint],
    actuators: Sequence[Actuator],
    couplings: Sequence[Coupling],
    gravity: bool,
    file: str = "the side file",
    frames: Iterable[Frame] | None = None,
) -> str:
    """Return what another format cannot say, as text of a side file without a [mechanism] of its own; empty if that is
    nothing. Joints, actuators, couplings and frames are those given, of everything else there is all."""
    found = [_once("mechanism", iter([("gravity", value_text(mechanism.gravity))]))] if gravity else []
    found += _rest(mechanism, joints, actuators, couplings, file, frames)
    about = "# What the model file beside this one cannot say; `load` reads both."
    return "\n".join([f"{about}\nformat = {FORMAT}\n", *(b.text for b in found)]) if found else ""


def _once(word: str, pairs: Pairs) -> Block:
    return Block((word,), False, dict(pairs))


def _part(word: str, pairs: Pairs) -> Block:
    return Block((word,), True, dict(pairs))


def _body(body: Body, folder: Path | None, stem: str | None, numbers: Iterator[int]) -> Pairs:
    """A body; `numbers` counts those whose matrices lie beside the file with this stem."""
    yield "name", string_text(body.name)
    if body.flexible is not None:
        number = next(numbers) if isinstance(body.flexible, FiniteElements) else 0
        yield describe_flexible(body, stem, number, Words(key_text, value_text))
        if body.locked_at is not None:
            yield "locked_modes", value_text(body.locked_at)
        yield from _shapes(body, folder)
        return
    if body.mass:
        yield "mass", value_text(body.mass)
    if body.com.any():
        yield "com", value_text(body.com)
    if body.inertia.any():
        moments = np.diag(body.inertia)
        diagonal = np.array_equal(body.inertia, np.diag(moments))
        yield "inertia", value_text(moments) if diagonal else rows_text(body.inertia)
        if not _is_physical(body):
            yield "physical", "false"
    yield from _shapes(body, folder)


def _is_physical(body: Body) -> bool:
    """Return whether the reader would accept the inertia of a body without being told so."""
    try:
        validation.inertia("body", body.inertia, body.mass)
    except ModelError:
        return False
    return True


def _shapes(body: Body, folder: Path | None) -> Pairs:
    for key, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        if shapes:
            yield key, "[\n" + "".join(f"    {_shape(shape, folder)},\n" for shape in shapes) + "]"


def _shape(shape: Shape, folder: Path | None) -> str:
    pairs = {key: value_text(value) for key, value in describe_shape(shape).items()}
    if isinstance(shape, Mesh):
        pairs["path"] = string_text(path_from(shape, folder))
    if shape.pose != Pose():
        pairs["pose"] = _pose("", shape.pose, WIDTH * 10)
    return inline(pairs)


def _joint(joint: Joint, file: str) -> Pairs:
    try:
        word, arguments = describe_kind(joint.kind)
    except FormatError as error:
        raise FormatError(f"{file}: joint {joint.name!r}: {error}") from error
    yield "name", string_text(joint.name)
    yield "kind", string_text(word)
    if ":" not in word:
        yield from ((key, value_text(value)) for key, value in arguments.items())
    elif arguments:
        yield ARGUMENTS, inline({key: value_text(value) for key, value in arguments.items()})
    yield "parent", string_text(joint.parent)
    yield "child", string_text(joint.child)
    for side, pose in (("in_parent", joint.in_parent), ("in_child", joint.in_child)):
        if pose != Pose():
            yield side, _pose(side, pose)
    if joint.damping.any():
        yield "damping", _spread(joint.damping)
    if joint.friction.any():
        yield "friction", _spread(joint.friction)
    if joint.limits is not None:
        yield "limits", value_text(joint.limits[0] if joint.kind.nv == 1 else joint.limits)
    if joint.limit_stiffness is not None:
        yield "limit_stiffness", _spread(joint.limit_stiffness)
    if joint.limit_damping is not None and joint.limit_damping.any():
        yield "limit_damping", _spread(joint.limit_damping)
    if not joint.powered.all():
        words = [str(one).lower() for one in joint.powered.tolist()]
        yield "actuated", f"[{', '.join(words)}]" if joint.actuated else "false"
    if joint.armature is not None:
        yield "armature", _spread(joint.armature)
    if joint.velocity_limit is not None:
        yield "velocity_limit", _spread(joint.velocity_limit)
    if joint.static_friction is not None:
        yield "static_friction", _spread(joint.static_friction)
    if joint.stribeck_velocity is not None:
        yield "stribeck_velocity", _spread(joint.stribeck_velocity)
    if joint.load_friction is not None:
        yield "load_friction", _load_friction(joint.load_friction)
    if joint.locked_at is not None:
        yield "locked_at", _single(joint.locked_at)


def _load_friction(frictions: tuple[LoadFriction | None, ...]) -> str:
    """One table where all coordinates have the same, else one for each, {} where there is none."""
    words = [
        inline({f.name: value_text(x) for f in fields(one) if (x := getattr(one, f.name)) != f.default})
        if one
        else "{}"
        for one in frictions
    ]
    return words[0] if len(set(words)) == 1 else f"[{', '.join(words)}]"


def _frame(frame: Frame) -> Pairs:
    yield "name", string_text(frame.name)
    yield "body", string_text(frame.body)
    if frame.pose != Pose():
        yield "pose", _pose("pose", frame.pose)


def _actuator(actuator: Actuator, mechanism: Mechanism) -> Pairs:
    yield "name", string_text(actuator.name)
    yield "joint", string_text(actuator.joint)
    if actuator.components != tuple(range(mechanism.joints[actuator.joint].kind.nv)):
        yield "components", value_text(actuator.components)
    if (actuator.gear != 1.0).any():
        yield "gear", _spread(actuator.gear)
    low, high = actuator.limits[0]
    if (actuator.limits != actuator.limits[0]).any():
        yield "limits", value_text(actuator.limits)
    elif low != -high:
        yield "limits", value_text(actuator.limits[0])
    elif np.isfinite(high):
        yield "limits", value_text(high)
    if np.isfinite(actuator.no_load_speed).any():
        yield "no_load_speed", _spread(actuator.no_load_speed)


def _spring(spring: Spring, mechanism: Mechanism) -> Pairs:
    yield "name", string_text(spring.name)
    if isinstance(spring, JointSpringElement):
        yield "joint", string_text(spring.joint)
        if spring.stiffness.any():
            yield "stiffness", _spread(spring.stiffness)
        if not np.array_equal(spring.rest, mechanism.joints[spring.joint].kind.neutral()):
            yield "rest", _single(spring.rest)
        if spring.damping.any():
            yield "damping", _spread(spring.damping)
        return
    yield "between", f"[{string_text(spring.frame_a)}, {string_text(spring.frame_b)}]"
    for key, value in (
        ("stiffness", spring.stiffness),
        ("rest_length", spring.rest_length),
        ("damping", spring.damping),
    ):
        if value:
            yield key, value_text(value)


def _wrench(wrench: WrenchElement) -> Pairs:
    yield "name", string_text(wrench.name)
    yield "frame", string_text(wrench.frame)
    if wrench.moment.any():
        yield "moment", value_text(wrench.moment)
    if wrench.force.any():
        yield "force", value_text(wrench.force)
    if wrench.axes != GROUND:
        yield "axes", string_text(wrench.axes)


def _force(force: KindElement, file: str) -> Pairs:
    try:
        word, arguments = describe_force(force.kind)
    except FormatError as error:
        raise FormatError(f"{file}: force {force.name!r}: {error}") from error
    yield "name", string_text(force.name)
    yield "kind", string_text(word)
    if force.frames is not None:
        yield "between", value_text(force.frames)
    else:
        yield "joint", string_text(str(force.at_joint))
    if ":" in word:
        if arguments:
            yield ARGUMENTS, inline({key: value_text(value) for key, value in arguments.items()})
        return
    for key, value in arguments.items():
        is_table = isinstance(value, dict)
        yield key, inline({k: value_text(v) for k, v in value.items()}) if is_table else value_text(value)


def _coupling(coupling: Coupling) -> Pairs:
    yield "name", string_text(coupling.name)
    if isinstance(coupling, PolynomialCoupling):
        yield "joint", string_text(coupling.joint)
        yield "of", string_text(coupling.of)
        yield "polynomial", value_text(coupling.polynomial)
    elif isinstance(coupling, LinearCoupling):
        yield "coefficients", inline({joint: value_text(c) for joint, c in coupling.coefficients.items()})
        if coupling.offset:
            yield "offset", value_text(coupling.offset)
    elif isinstance(coupling, CamCoupling):
        yield "joint", string_text(coupling.joint)
        yield "of", string_text(coupling.of)
        profile = coupling.profile
        if isinstance(profile, Polynomial):
            yield "polynomial", value_text(profile.coefficients)
        elif isinstance(profile, Written):
            yield "formula", string_text(profile.text)
        elif isinstance(profile, Spline):
            yield "x", value_text(profile.x)
            yield "y", value_text(profile.y)
            if profile.beyond:
                yield "beyond", string_text(profile.beyond)
        else:
            raise FormatError(
                f"coupling {coupling.name!r}: its profile is code ({type(profile).__name__}), which no model file can "
                "hold: give a formula as text, or points, such as catena.profiles.Spline(x, y)"
            )


def _sensor(sensor: MountedSensor) -> Pairs:
    yield "name", string_text(sensor.name)
    yield "kind", string_text(sensor.kind)
    yield "at", string_text(sensor.at)
    if sensor.frame:
        yield "frame", string_text(sensor.frame)
    if sensor.component is not None:
        yield "component", str(sensor.component)


def _states(mechanism: Mechanism) -> Iterator[Block]:
    """The state that motions start in, unless it is one of those with a name, and these."""
    initial, named = mechanism.initial, mechanism.states
    if not any(initial is state for state in named.values()):
        tables = list(_state(("initial",), initial))
        # Where there are others, that nothing is said has to be said.
        yield from tables or ([Block(("initial",), False, {})] if named else [])
    for name, state in named.items():
        yield from list(_state(("states", name), state)) or [Block(("states", name), False, {})]


def _state(path: tuple[str, ...], state: InitialState) -> Iterator[Block]:
    for what, values in (("q", state.q), ("v", state.v)):
        if values:
            yield Block((*path, what), False, {name: _single(value) for name, value in values.items()})
    if state.signals:
        yield Block((*path, "signals"), False, {name: value_text(x) for name, x in state.signals.items()})


def _pose(key: str, pose: Pose, width: int = WIDTH) -> str:
    """Return a pose as an inline table; only a rotation matrix is broken into lines, which TOML allows in arrays."""
    pairs = {"p": value_text(pose.p)} if pose.p.any() else {}
    orientation = describe_orientation(pose)
    pairs |= {name: value_text(value) for name, value in orientation.items()}
    if "R" in orientation and len(key) + len(inline(pairs)) > width:
        pairs["R"] = rows_text(pose.R)
    return inline(pairs)


def _spread(values: np.ndarray) -> str:
    """One number where all are equal, which the reader spreads again."""
    return value_text(values[0] if (values == values[0]).all() else values)


def _single(values: np.ndarray) -> str:
    """One number for one coordinate, else an array."""
    return value_text(values[0] if len(values) == 1 else values)
