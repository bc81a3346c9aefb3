"""The JSON Schema of the native file with the tables of a run: that of the mechanism, made from the words that the
readers know, so that they cannot differ in their tables and keys."""

from __future__ import annotations

from typing import Any

from catena.formats.toml.json_schema import NAME, NUMBER, SWITCH, TEXT, Schema, json_schema
from catena.formats.toml.schema import RUN_MANY, RUN_ONCE, STUDY
from catena.simulation.contacts.contact import RESTITUTION_LAWS
from catena.simulation.scenario.file.words import (
    CONTROLLERS,
    DIRECTIONS,
    KEYS,
    NEEDED,
    PATHS,
    REMEDIES,
)
from catena.simulation.stepping.charts.chart import COORDINATES
from catena.simulation.stepping.integrators import INTEGRATORS

NUMBERS: Schema = {"$ref": "#/$defs/numbers"}
NAMES: Schema = {"anyOf": [NAME, {"type": "array", "items": NAME}]}
BY_JOINT: Schema = {"type": "object", "additionalProperties": NUMBERS}
FOLLOWED: Schema = {"anyOf": [NUMBERS, {"$ref": "#/$defs/path"}]}

SORTS: dict[str, Schema] = {
    **dict.fromkeys(("joint", "frame", "on", "event", "name", "root", "file", "axes"), NAME),
    **dict.fromkeys(("when",), TEXT),
    "restitution_law": {"enum": list(RESTITUTION_LAWS)},
    **dict.fromkeys(("lock", "unlock", "detach", "show"), NAMES),
    **dict.fromkeys(("cut", "traces"), {"type": "array", "items": NAME}),
    "keep": {"anyOf": [{"type": "array", "items": NAME}, {"type": "object", "additionalProperties": NAME}]},
    **dict.fromkeys(("terminal", "free", "fix", "forces", "periodic"), SWITCH),
    **dict.fromkeys(("near", "vary"), BY_JOINT),
    "path": {"$ref": "#/$defs/path"},
    "support": {"$ref": "#/$defs/pose"},
    "floor": {"$ref": "#/$defs/floor"},
    "constrained": {"anyOf": [NAMES, NUMBERS]},
    "index": {"type": "integer", "minimum": 0},
    "direction": {"enum": list(DIRECTIONS)},
    "integrator": {"enum": list(INTEGRATORS)},
    "coordinates": {"enum": list(COORDINATES)},
    "independent": {"type": "array", "items": NAME},
    "samples": {"anyOf": [{"type": "integer", "minimum": 2}, {"type": "array", "items": NUMBER}]},
    "drift": {"anyOf": [{"enum": list(REMEDIES)}, {"$ref": "#/$defs/remedy"}]},
    "plan": {"$ref": "#/$defs/plan"},
    "attach": {
        "anyOf": [{"$ref": "#/$defs/attached"}, {"type": "array", "items": {"$ref": "#/$defs/attached"}}]
    },
}
"""What stands under a key of the tables of a run; under all others there are numbers."""

OF_CONTROLLERS: dict[str, Schema] = {
    "followed": {"type": "object", "additionalProperties": FOLLOWED},
    "formulas": BY_JOINT,
    "path": FOLLOWED,
    "gains": {"anyOf": [NUMBERS, BY_JOINT]},
    "limits": {"anyOf": [NUMBERS, BY_JOINT]},
    "texts": {"type": "array", "items": NAME},
    "text": TEXT,
    "switch": SWITCH,
}
"""What the arguments of controllers are, by sort; those of all other sorts are numbers, or a word."""


def scenario_schema() -> Schema:
    """Return the schema of a file with a mechanism and its run as a JSON value, of draft 2020-12."""
    found = json_schema()
    definitions = found["$defs"]
    for word in (*RUN_ONCE, *RUN_MANY):
        definitions[word] = _controllers() if word == "controller" else _table(*KEYS[word])
        one = {"$ref": f"#/$defs/{word}"}
        found["properties"][word] = one if word in RUN_ONCE else {"type": "array", "items": one}
    found["properties"][STUDY] = {"$ref": f"#/$defs/{STUDY}"}
    definitions[STUDY] = _study()
    definitions |= {word: _table(*KEYS[word]) for word in ("plan", "floor")}
    remedies = [_table(("kind",), keys, kind={"const": word}) for word, keys in REMEDIES.items()]
    definitions["remedy"] = {"oneOf": remedies}
    definitions["path"] = {"oneOf": [*(_path(word) for word in PATHS), _pose_path()]}
    definitions["attached"] = _attached(definitions["joint"])
    definitions["wrench"]["properties"]["path"] = {"$ref": "#/$defs/path"}
    definitions["initial"]["properties"]["assemble"] = SWITCH
    return found


def _study() -> Schema:
    """The table that says how a run is varied."""
    row = {"type": "array", "items": NUMBER}
    way = {
        "type": "object",
        "properties": dict.fromkeys(("grid", "uniform", "latin", "sobol", "halton", "normal"), row),
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
    whole = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "properties": {
            "vary": {"type": "object", "additionalProperties": {"anyOf": [row, way]}},
            "outcomes": {"type": "object", "additionalProperties": TEXT},
            "keep": SORTS["keep"],
            "samples": {"type": "integer", "minimum": 1},
            "chunk": {"type": "integer", "minimum": 1},
            "seed": whole,
        },
        "required": ["vary"],
        "additionalProperties": False,
    }


def _table(required: Any, optional: Any, **more: Schema) -> Schema:
    properties = {key: SORTS.get(key, NUMBERS) for key in (*required, *optional)}
    return {
        "type": "object",
        "properties": {**properties, **more},
        "required": list(required),
        "additionalProperties": False,
    }


def _controllers() -> Schema:
    found = []
    for word, (_, sorts) in CONTROLLERS.items():
        arguments = {key: OF_CONTROLLERS.get(sort, NUMBERS) for key, sort in sorts.items()}
        found.append(_table(("kind", *NEEDED.get(word, ())), (), kind={"const": word}, **arguments))
    return {"oneOf": found}


def _path(word: str) -> Schema:
    needed, other = PATHS[word][1]
    texts: dict[str, Schema] = {key: TEXT for key in other if key in ("ends", "law")}
    return _table(("kind", *needed), other, kind={"const": word}, **texts)


def _pose_path() -> Schema:
    return _table(("position",), (), position=FOLLOWED, rotation=FOLLOWED)


def _attached(joint: Schema) -> Schema:
    """A joint that is attached: one of those of a mechanism, but none that is locked already."""
    found = []
    for one in joint["oneOf"]:
        properties = {key: x for key, x in one["properties"].items() if key != "locked_at"}
        found.append({**one, "properties": properties})
    return {"oneOf": found}
