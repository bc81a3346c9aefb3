"""Writing a mechanism as TOML that people like to read and that reads back to the last digit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catena.bodies import FiniteElements
from catena.errors import FormatError, ModelError
from catena.formats.shape_files import path_from
from catena.formats.toml.bodies import describe_shape
from catena.formats.toml.flexible import Words, describe_flexible, matrices_beside
from catena.formats.toml.forces import describe_force
from catena.formats.toml.kinds import ARGUMENTS, describe_kind
from catena.formats.toml.orientation import describe_orientation
from catena.formats.toml.schema import FORMAT
from catena.mechanism import (
    GROUND,
    Actuator,
    Body,
    CamCoupling,
    Coupling,
    Frame,
    GeneralForce,
    InitialState,
    Joint,
    JointSpring,
    LinearCoupling,
    Mechanism,
    PolynomialCoupling,
    Shape,
    Spring,
    Wrench,
    validation,
)
from catena.mechanism.profiles import Polynomial, Spline
from catena.mechanism.shapes import Mesh
from catena.spatial import Pose

Pairs = Iterator[tuple[str, str]]

WIDTH = 110
"""How long a line may be before a matrix is broken into its rows."""


def write_file(mechanism: Mechanism, path: Path) -> dict[str, str]:
    """Return the text of a model file, whose meshes are told as seen from its folder, and by their endings the texts of
    files with matrices that lie beside it."""
    return {"": write(mechanism, str(path), path.absolute().parent), **matrices_beside(mechanism)}


def write(mechanism: Mechanism, file: str, folder: Path | None = None) -> str:
    """Return the mechanism as TOML text; `file` is what messages call it.

    Parts stand in the order they were added, which is also that of the coordinates. What has its default value
    is left out. Meshes below the `folder` that the file will lie in are told by their path from there, others by
    their whole path or as they were.
    """
    blocks = [f"# A Catena model, in SI units and radians.\nformat = {FORMAT}\n"]
    head = [("name", _string(mechanism.name)), ("gravity", _value(mechanism.gravity))]
    blocks.append(_table("[mechanism]", iter(head)))
    ground = mechanism.bodies[GROUND]
    if ground.visuals or ground.collisions:
        blocks.append(_table("[ground]", _shapes(ground, folder)))
    bodies = (body for body in mechanism.bodies.values() if body.name != GROUND)
    stem = None if folder is None else Path(file).stem
    numbers = iter(range(1, len(mechanism.bodies)))
    blocks += [_table("[[body]]", _body(body, folder, stem, numbers)) for body in bodies]
    blocks += [_table("[[joint]]", _joint(joint, file)) for joint in mechanism.joints.values()]
    blocks += [_table("[[frame]]", _frame(frame)) for frame in mechanism.frames.values()]
    blocks += [_table("[[actuator]]", _actuator(a, mechanism)) for a in mechanism.actuators.values()]
    blocks += [_table("[[spring]]", _spring(spring, mechanism)) for spring in mechanism.springs.values()]
    blocks += [_table("[[wrench]]", _wrench(wrench)) for wrench in mechanism.wrenches.values()]
    blocks += [_table("[[force]]", _force(force, file)) for force in mechanism.forces.values()]
    blocks += [_table("[[coupling]]", _coupling(coupling)) for coupling in mechanism.couplings.values()]
    blocks += _states(mechanism)
    return "\n".join(blocks)


def write_rest(
    mechanism: Mechanism,
    joints: Sequence[Joint],
    actuators: Sequence[Actuator],
    couplings: Sequence[Coupling],
    gravity: bool,
    file: str = "the side file",
) -> str:
    """Return what another format cannot say, as text of a side file without a [mechanism] of its own; empty if that is
    nothing. Joints, actuators and couplings are those given, of everything else there is all."""
    blocks = []
    if gravity:
        blocks.append(_table("[mechanism]", iter([("gravity", _value(mechanism.gravity))])))
    blocks += [_table("[[joint]]", _joint(joint, file)) for joint in joints]
    blocks += [_table("[[frame]]", _frame(frame)) for frame in mechanism.frames.values()]
    blocks += [_table("[[actuator]]", _actuator(a, mechanism)) for a in actuators]
    blocks += [_table("[[spring]]", _spring(spring, mechanism)) for spring in mechanism.springs.values()]
    blocks += [_table("[[wrench]]", _wrench(wrench)) for wrench in mechanism.wrenches.values()]
    blocks += [_table("[[force]]", _force(force, file)) for force in mechanism.forces.values()]
    blocks += [_table("[[coupling]]", _coupling(coupling)) for coupling in couplings]
    blocks += _states(mechanism)
    about = "# What the model file beside this one cannot say; `load` reads both."
    return "\n".join([f"{about}\nformat = {FORMAT}\n", *blocks]) if blocks else ""


def _table(header: str, pairs: Pairs) -> str:
    return "\n".join([header, *(f"{key} = {value}" for key, value in pairs), ""])


def _body(body: Body, folder: Path | None, stem: str | None, numbers: Iterator[int]) -> Pairs:
    """A body; `numbers` counts those whose matrices lie beside the file with this stem."""
    yield "name", _string(body.name)
    if body.flexible is not None:
        number = next(numbers) if isinstance(body.flexible, FiniteElements) else 0
        yield describe_flexible(body, stem, number, Words(_key, _value))
        if body.locked_at is not None:
            yield "locked_modes", _value(body.locked_at)
        yield from _shapes(body, folder)
        return
    if body.mass:
        yield "mass", _value(body.mass)
    if body.com.any():
        yield "com", _value(body.com)
    if body.inertia.any():
        moments = np.diag(body.inertia)
        diagonal = np.array_equal(body.inertia, np.diag(moments))
        yield "inertia", _value(moments) if diagonal else _rows(body.inertia)
        if not _is_physical(body):
            yield "physical", "false"
    yield from _shapes(body, folder)


def _is_physical(body: Body) -> bool:
    """Whether the reader would accept the inertia of a body without being told so."""
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
    pairs = {key: _value(value) for key, value in describe_shape(shape).items()}
    if isinstance(shape, Mesh):
        pairs["path"] = _string(path_from(shape, folder))
    if shape.pose != Pose():
        pairs["pose"] = _pose("", shape.pose, WIDTH * 10)
    return _inline(pairs)


def _joint(joint: Joint, file: str) -> Pairs:
    try:
        word, arguments = describe_kind(joint.kind)
    except FormatError as error:
        raise FormatError(f"{file}: joint {joint.name!r}: {error}") from error
    yield "name", _string(joint.name)
    yield "kind", _string(word)
    if ":" not in word:
        yield from ((key, _value(value)) for key, value in arguments.items())
    elif arguments:
        yield ARGUMENTS, _inline({key: _value(value) for key, value in arguments.items()})
    yield "parent", _string(joint.parent)
    yield "child", _string(joint.child)
    for side, pose in (("in_parent", joint.in_parent), ("in_child", joint.in_child)):
        if pose != Pose():
            yield side, _pose(side, pose)
    if joint.damping.any():
        yield "damping", _spread(joint.damping)
    if joint.friction.any():
        yield "friction", _spread(joint.friction)
    if joint.limits is not None:
        yield "limits", _value(joint.limits[0] if joint.kind.nv == 1 else joint.limits)
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
    if joint.locked_at is not None:
        yield "locked_at", _single(joint.locked_at)


def _frame(frame: Frame) -> Pairs:
    yield "name", _string(frame.name)
    yield "body", _string(frame.body)
    if frame.pose != Pose():
        yield "pose", _pose("pose", frame.pose)


def _actuator(actuator: Actuator, mechanism: Mechanism) -> Pairs:
    yield "name", _string(actuator.name)
    yield "joint", _string(actuator.joint)
    if actuator.components != tuple(range(mechanism.joints[actuator.joint].kind.nv)):
        yield "components", _value(actuator.components)
    if (actuator.gear != 1.0).any():
        yield "gear", _spread(actuator.gear)
    low, high = actuator.limits[0]
    if (actuator.limits != actuator.limits[0]).any():
        yield "limits", _value(actuator.limits)
    elif low != -high:
        yield "limits", _value(actuator.limits[0])
    elif np.isfinite(high):
        yield "limits", _value(high)
    if np.isfinite(actuator.no_load_speed).any():
        yield "no_load_speed", _spread(actuator.no_load_speed)


def _spring(spring: Spring, mechanism: Mechanism) -> Pairs:
    yield "name", _string(spring.name)
    if isinstance(spring, JointSpring):
        yield "joint", _string(spring.joint)
        if spring.stiffness.any():
            yield "stiffness", _spread(spring.stiffness)
        if not np.array_equal(spring.rest, mechanism.joints[spring.joint].kind.neutral()):
            yield "rest", _single(spring.rest)
        if spring.damping.any():
            yield "damping", _spread(spring.damping)
        return
    yield "between", f"[{_string(spring.frame_a)}, {_string(spring.frame_b)}]"
    for key, value in (
        ("stiffness", spring.stiffness),
        ("rest_length", spring.rest_length),
        ("damping", spring.damping),
    ):
        if value:
            yield key, _value(value)


def _wrench(wrench: Wrench) -> Pairs:
    yield "name", _string(wrench.name)
    yield "frame", _string(wrench.frame)
    if wrench.moment.any():
        yield "moment", _value(wrench.moment)
    if wrench.force.any():
        yield "force", _value(wrench.force)
    if wrench.axes != GROUND:
        yield "axes", _string(wrench.axes)


def _force(force: GeneralForce, file: str) -> Pairs:
    try:
        word, arguments = describe_force(force.kind)
    except FormatError as error:
        raise FormatError(f"{file}: force {force.name!r}: {error}") from error
    yield "name", _string(force.name)
    yield "kind", _string(word)
    if force.frames is not None:
        yield "between", _value(force.frames)
    else:
        yield "joint", _string(str(force.at_joint))
    if ":" in word:
        if arguments:
            yield ARGUMENTS, _inline({key: _value(value) for key, value in arguments.items()})
        return
    for key, value in arguments.items():
        is_table = isinstance(value, dict)
        yield key, _inline({k: _value(v) for k, v in value.items()}) if is_table else _value(value)


def _coupling(coupling: Coupling) -> Pairs:
    yield "name", _string(coupling.name)
    if isinstance(coupling, PolynomialCoupling):
        yield "joint", _string(coupling.joint)
        yield "of", _string(coupling.of)
        yield "polynomial", _value(coupling.polynomial)
    elif isinstance(coupling, LinearCoupling):
        yield "coefficients", _inline({joint: _value(c) for joint, c in coupling.coefficients.items()})
        if coupling.offset:
            yield "offset", _value(coupling.offset)
    elif isinstance(coupling, CamCoupling):
        yield "joint", _string(coupling.joint)
        yield "of", _string(coupling.of)
        profile = coupling.profile
        if isinstance(profile, Polynomial):
            yield "polynomial", _value(profile.coefficients)
        elif isinstance(profile, Spline):
            yield "x", _value(profile.x)
            yield "y", _value(profile.y)
            if profile.beyond:
                yield "beyond", _string(profile.beyond)
        else:
            raise FormatError(
                f"coupling {coupling.name!r}: its profile is code ({type(profile).__name__}), which no model file can "
                "hold: give points, such as catena.profiles.Spline(x, y)"
            )


def _states(mechanism: Mechanism) -> Iterator[str]:
    """The state that motions start in, unless it is one of those with a name, and these."""
    initial, named = mechanism.initial, mechanism.states
    if not any(initial is state for state in named.values()):
        told = list(_state("initial", initial))
        # Where there are others, that nothing is said has to be said.
        yield from told or (["[initial]\n"] if named else [])
    for name, state in named.items():
        header = f"states.{_key(name)}"
        yield from list(_state(header, state)) or [f"[{header}]\n"]


def _state(header: str, state: InitialState) -> Iterator[str]:
    for what, values in (("q", state.q), ("v", state.v)):
        if values:
            yield _table(
                f"[{header}.{what}]", ((_key(name), _single(value)) for name, value in values.items())
            )
    if state.signals:
        yield _table(f"[{header}.signals]", ((_key(name), _value(x)) for name, x in state.signals.items()))


def _pose(key: str, pose: Pose, width: int = WIDTH) -> str:
    """A pose as an inline table; only a rotation matrix is broken into lines, which TOML allows in arrays."""
    pairs = {"p": _value(pose.p)} if pose.p.any() else {}
    orientation = describe_orientation(pose)
    pairs |= {name: _value(value) for name, value in orientation.items()}
    if "R" in orientation and len(key) + len(_inline(pairs)) > width:
        pairs["R"] = _rows(pose.R)
    return _inline(pairs)


def _inline(pairs: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{_key(key)} = {value}" for key, value in pairs.items()) + " }"


def _rows(matrix: np.ndarray) -> str:
    """A matrix with a line for each row."""
    return "[\n" + "".join(f"    {_value(row)},\n" for row in matrix) + "]"


def _spread(values: np.ndarray) -> str:
    """One number where all are equal, which the reader spreads again."""
    return _value(values[0] if (values == values[0]).all() else values)


def _single(values: np.ndarray) -> str:
    """One number for one coordinate, else an array."""
    return _value(values[0] if len(values) == 1 else values)


def _value(value: Any) -> str:
    """A number, boolean, string, or array of them, nested or not; numbers to the last digit."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        # Adding zero turns -0.0, which says nothing more than 0.0, into it.
        return repr(float(value) + 0.0)
    return "[" + ", ".join(_value(entry) for entry in value) + "]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'
