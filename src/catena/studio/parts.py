"""Parts of any sort as fields that are typed: the tables of a scenario with their keys, and an example of each."""

from __future__ import annotations

import re
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from catena.errors import StateError
from catena.formats.toml.kinds import BUILT_IN, keys_of
from catena.formats.toml.schema import KEYS
from catena.simulation.scenario.file.words import KEYS as RUN_KEYS
from catena.validation import shown

SORTS = (
    "body",
    "joint",
    "frame",
    "chain",
    "actuator",
    "wrench",
    "coupling",
    "force",
    "contact",
    "stop",
    "controller",
)
"""What can be added as a table of its own, in the order in which people need it."""
BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that stands without quotes."""
EXAMPLES = {
    "mass": "1.0", "com": "[0.0, 0.0, 0.5]", "inertia": "[0.1, 0.1, 0.01]", "density": "7850.0",
    "visual": '[{ shape = "box", size = [0.1, 0.1, 1.0], pose = { p = [0.0, 0.0, 0.5] } }]',
    "kind": "revolute", "axis": "z",
    "axis1": "x", "axis2": "y", "parent": "ground", "child": "a body", "in_parent": "{ p = [0.0, 0.0, 0.0] }",
    "in_child": "{ p = [0.0, 0.0, 0.0] }", "damping": "0.1", "friction": "0.5", "limits": "[-1.5, 1.5]",
    "body": "ground",
    "pose": "{ p = [0.0, 0.0, 0.0] }", "notation": "denavit_hartenberg", "rows": "[[0.0, 0.0, 0.4, 0.0]]",
    "gammas": "[[0.0, 0.0, 0.0, 0.0, 0.0, 0.5]]", "phis": '[["ry"]]', "masses": "[1.0]", "inertias": "[0.1]",
    "force": "[0.0, 0.0, -10.0]", "moment": "[0.0, 0.0, 0.0]", "frame": "a frame",
    "coefficients": "{ A = 1.0, B = 2.0 }",
    "joint": "a joint", "restitution": "0.5", "on": "ground", "base": "{ p = [0.0, 0.0, 0.0] }", "prefix": '"arm "',
}  # fmt: skip
"""What a field looks like."""


def sorts() -> list[dict[str, Any]]:
    """Return the sorts of parts with the fields that they need and those that they may have, each with an example."""
    found = []
    for word in SORTS:
        needed, may = (KEYS | RUN_KEYS)[word] if word in KEYS or word in RUN_KEYS else (("kind",), ())
        kinds = {kind: list(keys_of(kind)) for kind in BUILT_IN} if word == "joint" else {}
        keys = [*needed, *may, *(key for own in kinds.values() for key in own)]
        found.append(
            {
                "sort": word, "needed": list(needed), "may": list(may), "kinds": kinds,
                "examples": {key: EXAMPLES.get(key, "") for key in keys},
            }
        )  # fmt: skip
    return found


def value_from(text: Any, who: str) -> Any:
    """Return the value that somebody typed into a field: as the text would have it, or a word without its quotes."""
    if not isinstance(text, str) or not text.strip():
        raise StateError(f"{who} is {shown(text)}; type a value.")
    try:
        return tomlkit.value(text.strip())
    except (TOMLKitError, ValueError):
        if any(sign in text for sign in "[]{}=") or "\n" in text:
            raise StateError(
                f"{who} is {shown(text)}, which is no value of TOML; see the example in the field."
            ) from None
        return text.strip()


def field_text(value: Any) -> str:
    """Return a value as it is typed into a field."""
    plain = value.unwrap() if hasattr(value, "unwrap") else value
    return plain if isinstance(plain, str) else _inline(plain)


def _inline(plain: Any) -> str:
    """Return a value of TOML on one line, tables in it too."""
    if isinstance(plain, dict):
        return "{" + ", ".join(f"{_key(name)} = {_inline(x)}" for name, x in plain.items()) + "}"
    if isinstance(plain, list):
        return f"[{', '.join(map(_inline, plain))}]"
    return repr(plain) if type(plain) in (int, float) else str(tomlkit.item(plain).as_string())


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else str(tomlkit.item(name).as_string())
