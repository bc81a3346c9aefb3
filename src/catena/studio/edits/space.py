"""Building in space: bodies from shapes with a density, joints between features that were pointed at, gears and belts,
pushes, contacts and controllers.

A feature is {"body", "p", "z"}: a body or ground, a point of it and a direction, both told in its frame [m]. What is
pointed at keeps micrometres; what is typed stays as it is typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tomlkit
from numpy.typing import NDArray
from tomlkit.items import InlineTable, Table

from catena.errors import StateError
from catena.formats.toml.kinds import BUILT_IN, keys_of
from catena.mechanism import GROUND
from catena.spatial import Pose
from catena.studio.edits.document import DIGITS, Document, append, inner, new_name, parameters_of
from catena.studio.edits.registry import edit
from catena.studio.quantities import quantity, value_of
from catena.validation import shown

Floats = NDArray[np.float64]

ALONG = {"x": (0.0, np.pi / 2.0, 0.0), "y": (-np.pi / 2.0, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}
"""Roll, pitch and yaw that turn the long axis of a shape, its z, along an axis of the body."""
SHAPES = ("box", "cylinder", "sphere", "mesh")


@edit
def add_solid(
    document: Document, shape: str, at: Mapping[str, Any], name: str = "", kind: str = "revolute", along: str = "x",
    length: Any = 0.5, width: Any = 0.05, height: Any = 0.05, density: Any = 7850.0, path: str = "", scale: Any = 1.0,
    centred: bool = False, pitch: Any = 0.01,
) -> None:  # fmt: skip
    """Add a body of one shape and the joint that carries it at a feature of another body or of ground: the axis of the
    joint is that of the feature, and the body reaches from there along one of its own axes, or lies about it.

    A box has a length along that axis, a width and a height; a cylinder a length and the width as its diameter; a ball
    the length as its diameter; a mesh a file and a scale.
    """
    if shape not in SHAPES:
        raise StateError(f"a shape is {shown(shape)}; give one of {', '.join(SHAPES)}.")
    if along not in ALONG:
        raise StateError(f"a shape lies along {shown(along)}; give x, y or z.")
    parent, p, z = feature(document, at)
    names = parameters_of(document)

    def typed(value: Any, sort: str, what: str) -> float | str:
        return quantity(value, sort, f"the {what} of the {shape}", 0.0, names)

    body = tomlkit.table()
    body["name"] = _own_name(document, "body", name, shape)
    body["density"] = typed(density, "mass_density", "density")
    drawn = tomlkit.inline_table()
    drawn["shape"] = shape
    long = typed(length, "length", "length")
    if shape == "box":
        sizes = {along: long}
        for axis, value, what in zip(
            [a for a in "xyz" if a != along], (width, height), ("width", "height"), strict=True
        ):
            sizes[axis] = typed(value, "length", what)
        drawn["size"] = [sizes[axis] for axis in "xyz"]
    elif shape == "cylinder":
        drawn["radius"] = _half(typed(width, "length", "width"))
        drawn["length"] = long
    elif shape == "sphere":
        drawn["radius"] = _half(long)
    else:
        if not isinstance(path, str) or not path:
            raise StateError("a mesh needs a file: drop an .stl or .obj file onto the page.")
        drawn["path"] = path
        factor = value_of(typed(scale, "number", "scale"), names)
        drawn["scale"] = [factor, factor, factor]
    pose = _shape_pose(shape, along, value_of(long, names), centred)
    if pose is not None:
        drawn["pose"] = pose
    shapes = tomlkit.array()
    shapes.append(drawn)
    body["visual"] = shapes
    append(document, "body", body)
    joint = _joint(document, "", kind, parent, str(body["name"]), pitch)
    joint["in_parent"] = _pose(p, _towards(z))
    append(document, "joint", joint)


@edit
def remove_body(document: Document, body: str) -> None:
    """Take a body away with its joints and the frames on it."""
    for sort, keys in (("body", ("name",)), ("joint", ("parent", "child")), ("frame", ("body",))):
        kept = [table for table in document.get(sort, []) if all(table.get(key) != body for key in keys)]
        if sort == "body" and len(kept) == len(document.get(sort, [])):
            raise StateError(
                f"no body is called {shown(body)} in the text; bodies of chains go with their chain."
            )
        for k, table in reversed(list(enumerate(document.get(sort, [])))):
            if not any(table is one for one in kept):
                del document[sort][k]
        if sort in document and not document[sort]:
            del document[sort]


@edit
def join_features(
    document: Document, one: Mapping[str, Any], two: Mapping[str, Any], kind: str = "revolute", name: str = "",
    turned: Sequence[float] | None = None, pitch: Any = 0.01,
) -> None:  # fmt: skip
    """Put a joint between features of two bodies that are there: the points come together, and so do the axes. `turned`
    is the rotation (9 numbers, row by row) of the second body seen from the first as they stand, so that what the joint
    leaves free stays as it is drawn."""
    parent, p, z = feature(document, one)
    child, r, y = feature(document, two)
    if parent == child:
        raise StateError(f"both features are of {parent}; a joint lies between two bodies.")
    R = np.eye(3) if turned is None else _rotation(turned)
    W = _towards(z)
    # The axis of the second body comes onto that of the first by the shorter way round.
    seen = R @ y
    W_child = _least_turn(z, seen if seen @ z >= 0.0 else -seen) @ W
    joint = _joint(document, name, kind, parent, child, pitch)
    joint["in_parent"] = _pose(p, W)
    joint["in_child"] = _pose(r, R.T @ W_child)
    append(document, "joint", joint)


@edit
def add_frame_at(document: Document, at: Mapping[str, Any], name: str = "") -> None:
    """Give a feature a name, so that springs, contacts, pushes and traces can speak of it."""
    _frame(document, at, name or "frame")


@edit
def add_gear(
    document: Document,
    one: str,
    two: str,
    first: Any = 20,
    second: Any = 40,
    sort: str = "gears",
    name: str = "",
) -> None:
    """Let two joints turn together: gears by their teeth, outside each other or one inside the other, or a belt by the
    diameters of its pulleys."""
    signs = {"gears": 1.0, "internal gears": -1.0, "belt": -1.0}
    if sort not in signs:
        raise StateError(f"a transmission is {shown(sort)}; give one of {', '.join(signs)}.")
    if one == two:
        raise StateError("a transmission ties two different joints.")
    what = "the diameter" if sort == "belt" else "the number of teeth"
    kind = "length" if sort == "belt" else "number"
    names = parameters_of(document)
    table = tomlkit.table()
    table["name"] = _own_name(document, "coupling", name, "belt" if sort == "belt" else "gear")
    numbers = [value_of(quantity(x, kind, what, 0.0, names), names) for x in (first, second)]
    coefficients = tomlkit.inline_table()
    coefficients[one] = numbers[0]
    coefficients[two] = signs[sort] * numbers[1]
    table["coefficients"] = coefficients
    append(document, "coupling", table)


@edit
def add_push(document: Document, at: Mapping[str, Any], force: Sequence[Any], name: str = "") -> None:
    """Let a force [N], told in the axes of ground, act at a feature for the whole run."""
    names = parameters_of(document)
    if not isinstance(force, list) or len(force) != 3:
        raise StateError(f"a force is {shown(force)}; give three numbers.")
    vector = [
        quantity(x, "force", f"the force along {axis}", names=names)
        for x, axis in zip(force, "xyz", strict=True)
    ]
    if not any(value_of(x, names) for x in vector):
        raise StateError("the force is zero; give one of its three numbers.")
    table = tomlkit.table()
    table["name"] = _own_name(document, "wrench", name, "push")
    table["frame"] = _frame(document, at, f"{table['name']} point", "a push")
    table["force"] = vector
    table["axes"] = GROUND
    append(document, "wrench", table)


@edit
def add_spring_at(
    document: Document, one: Mapping[str, Any], two: Mapping[str, Any], stiffness: Any = 200.0, damping: Any = 0.0,
    rest: Any = None, apart: float = 0.0, name: str = "",
) -> None:  # fmt: skip
    """Stretch a spring with a damper between two features, relaxed at the length `rest`, or as far as they are `apart`
    now [m]."""
    names = parameters_of(document)
    if feature(document, one)[0] == feature(document, two)[0]:
        raise StateError("both ends of the spring are on the same body: click places of two.")
    table = tomlkit.table()
    table["name"] = _own_name(document, "spring", name, "spring")
    table["between"] = [
        _frame(document, each, f"{table['name']} {end}") for each, end in ((one, "start"), (two, "end"))
    ]
    table["stiffness"] = quantity(stiffness, "stiffness", "the stiffness", -1e-300, names)
    length = round(float(apart), DIGITS) if rest in (None, "") else rest
    table["rest_length"] = quantity(length, "length", "the length at rest", -1e-300, names)
    if value_of(quantity(damping, "damping", "the damping", -1e-300, names), names) > 0.0:
        table["damping"] = quantity(damping, "damping", "the damping", -1e-300, names)
    append(document, "spring", table)


@edit
def add_contact_at(
    document: Document, at: Mapping[str, Any], friction: Any = 0.5, restitution: Any = 0.0, radius: Any = 0.0,
    name: str = "",
) -> None:  # fmt: skip
    """Let a feature touch the floor, the plane z = 0 of ground, as a point or as a ball with a radius."""
    names = parameters_of(document)
    table = tomlkit.table()
    table["name"] = _own_name(document, "contact", name, "contact")
    table["frame"] = _frame(document, at, f"{table['name']} point", "a contact with the floor")
    table["friction"] = quantity(friction, "number", "the friction", -1e-300, names)
    table["restitution"] = quantity(restitution, "number", "the restitution", -1e-300, names)
    if value_of(quantity(radius, "length", "the radius", -1e-300, names), names) > 0.0:
        table["radius"] = quantity(radius, "length", "the radius", -1e-300, names)
    append(document, "contact", table)


@edit
def set_controller(
    document: Document, joint: str, target: Any = 0.0, kp: Any = 100.0, ki: Any = 0.0, kd: Any = 10.0
) -> None:
    """Let a joint be held at a place, or led along a formula of t, by a controller with three gains, which replaces one
    that is there."""
    remove_controller(document, joint, must=False)
    names = parameters_of(document)
    table = tomlkit.table()
    table["kind"] = "pid"
    text = str(target).strip()
    moves = any(word == "t" for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    reference: dict[str, Any] = {
        "reference": text
        if moves
        else quantity(target, "angle or length", f"the target of {joint}", names=names)
    }
    gains = {
        key: quantity(x, "number", f"the gain {key}", -1e-300, names)
        for key, x in (("kp", kp), ("ki", ki), ("kd", kd))
    }
    for key, value in (reference | gains).items():
        own = tomlkit.inline_table()
        own[joint] = value
        table[key] = own
    append(document, "controller", table)


@edit
def remove_controller(document: Document, joint: str, must: bool = True) -> None:
    """Take the controller of a joint away."""
    found = False
    for k, table in reversed(list(enumerate(document.get("controller", [])))):
        if table.get("kind") == "pid" and list(table.get("reference", {})) == [joint]:
            del document["controller"][k]
            found = True
    if "controller" in document and not document["controller"]:
        del document["controller"]
    if must and not found:
        raise StateError(f"{joint} has no controller of its own.")


@edit
def set_start(document: Document, joint: str, position: Any = None, velocity: Any = None) -> None:
    """Let a joint begin at a position or with a velocity."""
    names = parameters_of(document)
    for key, value in (("q", position), ("v", velocity)):
        if value is not None:
            sort = "angle or length" if key == "q" else "rate"
            inner(inner(document, "initial"), key)[joint] = quantity(
                value, sort, f"{key} of {joint}", names=names
            )
    if position is None and velocity is None:
        raise StateError(f"{joint} begins with a position or a velocity: give one of them.")


def feature(document: Document, sent: Any) -> tuple[str, Floats, Floats]:
    """Return the body of a feature, its point and its direction of length 1, in the frame of the body."""
    if not isinstance(sent, Mapping):
        raise StateError(f"a feature is {shown(sent)}; point at a body or at the floor.")
    body = sent.get("body")
    known = {GROUND, *(str(table.get("name")) for table in document.get("body", []))}
    # Bodies of chains, linkages and included files are not tables of this text.
    if not isinstance(body, str) or (
        body not in known and not any(document.get(w) for w in ("chain", "linkage", "include", "repeat"))
    ):
        raise StateError(f"no body is called {shown(body)}.")
    p, z = _numbers(sent.get("p"), 3, "a point"), _numbers(sent.get("z", [0.0, 0.0, 1.0]), 3, "a direction")
    size = float(np.linalg.norm(z))
    if size < 1e-9:
        raise StateError("a direction has a length; give one that is not zero.")
    return body, np.round(p, DIGITS) + 0.0, z / size


def _joint(document: Document, name: str, kind: Any, parent: str, child: str, pitch: Any) -> Table:
    if kind not in BUILT_IN or kind == "sdof":
        raise StateError(
            f"a joint is {shown(kind)}; give one of {', '.join(k for k in BUILT_IN if k != 'sdof')}."
        )
    table = tomlkit.table()
    table["name"] = _own_name(document, "joint", name, "joint")
    table["kind"] = kind
    own = {"axis": "z", "normal": "z", "axis1": "x", "axis2": "y"}
    for key in keys_of(str(kind)):
        table[key] = own.get(key) or quantity(pitch, "length", "the pitch", 0.0, parameters_of(document))
    table["parent"], table["child"] = parent, child
    return table


def _frame(document: Document, at: Mapping[str, Any], name: str, moves: str = "") -> str:
    """Return the name of a new frame at a feature; one of ground is refused where `moves` says what acts on bodies
    only."""
    body, p, z = feature(document, at)
    if moves and body == GROUND:
        raise StateError(f"{moves} acts on a body, and this is the ground: click a body.")
    table = tomlkit.table()
    table["name"] = _own_name(document, "frame", "", name)
    table["body"] = body
    table["pose"] = _pose(p, _towards(z))
    append(document, "frame", table)
    return str(table["name"])


def _own_name(document: Document, sort: str, name: Any, word: str) -> str:
    taken = [str(table.get("name")) for table in document.get(sort, [])]
    if not name:
        return word if word not in taken and " " in word else new_name(word, taken)
    if not isinstance(name, str) or len(name) > 80:
        raise StateError(f"a name is {shown(name)}; give a word.")
    if name in taken:
        raise StateError(f"there is a {sort} called {name} already.")
    return name


def _shape_pose(shape: str, along: str, length: float, centred: bool) -> InlineTable | None:
    shift = np.zeros(3)
    if not centred and shape != "mesh":
        shift["xyz".index(along)] = 0.5 * length
    rpy = ALONG[along] if shape == "cylinder" else (0.0, 0.0, 0.0)
    if not np.any(shift) and not any(rpy):
        return None
    pose = tomlkit.inline_table()
    pose["p"] = [round(float(x), 12) for x in shift]
    if any(rpy):
        pose["rpy"] = [f"{np.rad2deg(x):g} deg" if x else 0.0 for x in rpy]
    return pose


def _pose(p: Floats, R: Floats) -> InlineTable:
    pose = tomlkit.inline_table()
    pose["p"] = [float(x) for x in p]
    if not np.allclose(R, np.eye(3), atol=1e-15):
        pose["quat"] = [float(x) + 0.0 for x in Pose(p=p, R=R).quat]
    return pose


def _towards(z: Floats) -> Floats:
    """Return a rotation (3, 3) whose third axis is z: none for the vertical, else with the first axis level where there
    is one, so that what is attached lies as people expect."""
    if z[2] > 1.0 - 1e-12:
        return np.eye(3)
    y = np.cross(z, [0.0, 0.0, 1.0]) if abs(z[2]) < 1.0 - 1e-9 else np.array([0.0, -1.0, 0.0])
    y = y / np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def _least_turn(a: Floats, b: Floats) -> Floats:
    """Return the rotation (3, 3) that takes one direction of length 1 to another, not opposite one by the shortest
    way."""
    v, c = np.cross(a, b), float(a @ b)
    K = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.eye(3) + K + K @ K / (1.0 + c)


def _rotation(sent: Any) -> Floats:
    R = _numbers(sent, 9, "a rotation").reshape(3, 3)
    if not np.allclose(R @ R.T, np.eye(3), atol=1e-5) or np.linalg.det(R) < 0.0:
        raise StateError("a rotation is no rotation; send nine numbers, row by row.")
    # What a page sends has the digits of a graphics card.
    U, _, V = np.linalg.svd(R)
    return np.asarray(U @ V)


def _numbers(sent: Any, count: int, what: str) -> Floats:
    try:
        values = np.asarray(sent, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"{what} is {shown(sent)}; send {count} numbers.") from None
    if values.shape != (count,) or not np.all(np.isfinite(values)) or np.max(np.abs(values)) > 1e6:
        raise StateError(f"{what} is {shown(sent)}; send {count} numbers.")
    return values


def _half(length: float | str) -> float | str:
    """Return half of a length that was typed: a number stays a number, a formula a formula."""
    return 0.5 * length if isinstance(length, float) else f"({length}) / 2"
