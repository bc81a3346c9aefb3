"""The JSON Schema of the native model file, with which editors check and complete it.

It is made from the words that the reader knows, so that the two cannot differ in their tables and keys. The reader
checks more than a schema can: names that refer to each other, and numbers that no mechanism can have.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from catena.formats.toml.forces import BUILT_IN as FORCES
from catena.formats.toml.kinds import ARGUMENTS, BUILT_IN
from catena.formats.toml.schema import (
    BEAM,
    BEAM_FRAME,
    FINITE_ELEMENTS,
    FORMAT,
    KEYS,
    MEMBER,
    PARTS,
    POSE,
    SHAPES,
    SLIDE,
)
from catena.joints.sdof import MOTIONS
from catena.mechanism.mounted_sensors import SENSOR_KINDS

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
SWITCH: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {
    "type": ["number", "string"],
    "description": 'a number, or a formula of numbers, units and parameters: "30 deg", "2 * length", "sqrt(2) * 40 mm"',
}
NUMBERS: Schema = {"anyOf": [NUMBER, {"type": "array", "items": {"$ref": "#/$defs/numbers"}}]}
AXIS: Schema = {"anyOf": [{"enum": ["x", "y", "z", "-x", "-y", "-z"]}, {"$ref": "#/$defs/three"}]}
USERS: Schema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*$"}

SORTS: dict[str, Schema] = {
    **dict.fromkeys(("name", "parent", "child", "joint", "body", "frame", "axes", "of", "on", "file"), NAME),
    **dict.fromkeys(("prefix", "index"), TEXT),
    **dict.fromkeys(("in_parent", "in_child", "pose", "at", "base", "tool"), {"$ref": "#/$defs/pose"}),
    **dict.fromkeys(("axis", "axis1", "axis2", "normal"), AXIS),
    "actuated": {"anyOf": [SWITCH, {"type": "array", "items": SWITCH}]},
    "load_friction": {
        "anyOf": [
            {"$ref": "#/$defs/load_friction"},
            {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/load_friction"}, {"const": {}}]}},
        ]
    },
    **dict.fromkeys(("physical", "rotary", "interface"), SWITCH),
    **{word: {"$ref": f"#/$defs/{word}"} for word in ("beam", "beam_frame", "finite_elements")},
    "ends": TEXT,
    "modes": {
        "anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {"type": "integer"}}]
    },
    **dict.fromkeys(("visual", "collision"), {"type": "array", "items": {"$ref": "#/$defs/shape"}}),
    **dict.fromkeys(("com", "moment", "force", "gravity"), {"$ref": "#/$defs/three"}),
    "between": {"type": "array", "items": NAME, "minItems": 2},
    "motions": {
        "type": "array",
        "items": {
            "anyOf": [
                {"enum": list(MOTIONS)},
                {
                    "type": "array",
                    "prefixItems": [{"enum": list(MOTIONS)}, NUMBER],
                    "minItems": 2,
                    "maxItems": 2,
                },
            ]
        },
        "minItems": 1,
    },
    "notation": {"enum": ["denavit_hartenberg", "sdof"]},
    "rows": {"type": "array", "items": {"type": "array", "minItems": 4, "maxItems": 5}, "minItems": 1},
    "phis": {
        "type": "array",
        "items": {"type": "array", "items": {"enum": ["rx", "ry", "rz", "dx", "dy", "dz"]}},
    },
    "components": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
    "beyond": {"enum": ["periodic", "line"]},
    "coefficients": {"type": "object", "additionalProperties": NUMBER, "minProperties": 1},
    "count": {"type": "integer", "minimum": 0, "maximum": 1000},
    "values": {"type": "array", "items": {"type": ["string", "number"]}, "maxItems": 1000},
    "let": {"type": "object", "additionalProperties": {"type": "array"}},
    "initial": {"$ref": "#/$defs/initial"},
    **dict.fromkeys(("mass", "density", "offset", "rest_length", "pitch"), NUMBER),
}
"""What stands under a key; under all others there are numbers."""


def json_schema() -> Schema:
    """Return the schema of a model file as a JSON value, of draft 2020-12."""
    tables = {
        word: {"type": "array", "items": {"$ref": f"#/$defs/{word}"}}
        for word in ("include", "repeat", *PARTS)
    }
    once: Schema = {
        "format": {"type": "integer", "minimum": 1, "maximum": FORMAT},
        "mechanism": {"$ref": "#/$defs/mechanism"},
        "parameters": {"type": "object", "additionalProperties": NUMBER},
        "ground": {"$ref": "#/$defs/ground"},
        "linkage": {"$ref": "#/$defs/linkage"},
        "initial": {"$ref": "#/$defs/initial"},
        "states": {"type": "object", "additionalProperties": {"$ref": "#/$defs/state"}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Catena model",
        "description": "A mechanism: bodies, joints between any two of them, and what acts on them.",
        "type": "object",
        "properties": {**once, **tables},
        "required": ["mechanism"],
        "additionalProperties": False,
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    found: Schema = {
        "numbers": NUMBERS,
        "three": {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3},
        "pose": _pose(),
        "shape": {"oneOf": [_shape(word) for word in SHAPES]},
        "joint": {"oneOf": [*(_joint(word, keys) for word, (_, keys) in BUILT_IN.items()), _users("joint")]},
        "force": {"oneOf": [*(_force(word, made) for word, made in FORCES.items()), _users("force")]},
        "spring": {"oneOf": [_table("spring at a joint"), _table("spring between frames")]},
        "initial": _state("initial"),
        "state": _state("state"),
    }
    for word in (
        "mechanism",
        "ground",
        "body",
        "chain",
        "frame",
        "actuator",
        "wrench",
        "coupling",
        "include",
    ):
        found[word] = _table(word)
    found["sensor"] = _table("sensor", kind={"enum": list(SENSOR_KINDS)}, at=NAME, component=WHOLE)
    inner = {word: {"type": "array", "items": {"type": "object"}} for word in (*PARTS, "include")}
    repeat = _table("repeat")
    repeat["properties"] |= {**inner, "initial": {"type": "object"}}
    found["repeat"] = repeat | {"oneOf": [{"required": ["count"]}, {"required": ["values"]}]}
    found["beam"] = _keyed(*BEAM)
    found["load_friction"] = {"anyOf": [_keyed(*KEYS[f"{sort} friction"]) for sort in ("bearing", "slide")]}
    named: Schema = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/numbers"},
        "minProperties": 1,
    }
    member = _keyed(*MEMBER, a=NAME, b=NAME, elements={"type": "integer", "minimum": 1})
    found["beam_frame"] = _keyed(
        *BEAM_FRAME, nodes=named, masses=named, modes=WHOLE,
        interfaces={"type": "array", "items": NAME, "minItems": 1},
        members={"type": "array", "items": member, "minItems": 1},
    )  # fmt: skip
    indices: Schema = {"type": "array", "items": WHOLE, "minItems": 1}
    found["finite_elements"] = _keyed(
        *FINITE_ELEMENTS, mass=NAME, stiffness=NAME, modes=WHOLE,
        nodes={"anyOf": [NAME, {"$ref": "#/$defs/numbers"}]},
        interfaces={"type": "object", "additionalProperties": indices, "minProperties": 1},
        stiffening={"type": "object", "additionalProperties": NAME},
    )  # fmt: skip
    two: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
    points: Schema = {"type": "object", "additionalProperties": two}
    lengths: Schema = {"type": "object", "additionalProperties": NUMBER}
    slide = _keyed((), SLIDE, along=two, through=two)
    found["linkage"] = _table(
        "linkage", fixed=points, sketch=points, at=lengths, bars=lengths | {"minProperties": 1},
        slides={"type": "object", "additionalProperties": slide},
    )  # fmt: skip
    found["body"] |= {"not": {"required": ["density", "mass"]}}
    return found


def _table(word: str, **more: Schema) -> Schema:
    required, optional = KEYS[word]
    return _keyed(required, optional, **more)


def _keyed(required: tuple[str, ...], optional: tuple[str, ...], **more: Schema) -> Schema:
    properties = {key: SORTS.get(key, {"$ref": "#/$defs/numbers"}) for key in (*required, *optional)}
    return _object({**properties, **more}, required)


def _object(properties: Schema, required: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _joint(word: str, keys: tuple[str, ...]) -> Schema:
    arguments = {key: SORTS.get(key, {"$ref": "#/$defs/numbers"}) for key in keys}
    table = _table("joint", kind={"const": word}, **arguments)
    if word == "sdof":
        table["required"].append("motions")
    return table


def _force(word: str, made: Any) -> Schema:
    arguments = {one.name: _argument(one) for one in fields(made) if one.init}
    table = _table("force", kind={"const": word}, **arguments)
    table["required"] += [
        one.name
        for one in fields(made)
        if one.init and one.default is MISSING and one.default_factory is MISSING
    ]
    return table


def _argument(one: Field[Any]) -> Schema:
    annotation = str(one.type)
    if annotation.startswith("Table"):
        pairs: Schema = {key: {"type": "array", "items": NUMBER, "minItems": 2} for key in ("x", "y")}
        return _object({**pairs, "smooth": SWITCH, "beyond": TEXT}, ("x", "y"))
    return {"type": "integer"} if annotation == "int" else {"$ref": "#/$defs/numbers"}


def _users(word: str) -> Schema:
    return _table(word, kind=USERS, **{ARGUMENTS: {"type": "object"}})


def _pose() -> Schema:
    three = {"$ref": "#/$defs/three"}
    row = {"type": "array", "items": three, "minItems": 3, "maxItems": 3}
    four = {"type": "array", "items": NUMBER, "minItems": 4, "maxItems": 4}
    sorts = {"p": three, "quat": four, "rpy": three, "R": row}
    pose = _object({key: sorts[key] for key in POSE}, ())
    pairs = (("quat", "rpy"), ("quat", "R"), ("rpy", "R"))
    return pose | {"not": {"anyOf": [{"required": list(pair)} for pair in pairs]}}


def _shape(word: str) -> Schema:
    required, optional = SHAPES[word]
    three: Schema = {"$ref": "#/$defs/three"}
    sorts: Schema = {"path": NAME, "size": three, "radii": three, "scale": {"anyOf": [NUMBER, three]}}
    properties: Schema = {"shape": {"const": word}}
    properties |= {key: sorts.get(key, NUMBER) for key in (*required, *optional)}
    colour = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 4}
    properties |= {"pose": {"$ref": "#/$defs/pose"}, "colour": colour, "name": TEXT}
    return _object(properties, ("shape", *required))


def _state(word: str) -> Schema:
    values = {"type": "object", "additionalProperties": {"$ref": "#/$defs/numbers"}}
    signals = {"type": "object", "additionalProperties": NUMBER}
    _, keys = KEYS[word]
    return _object({key: signals if key == "signals" else values for key in keys}, ())
