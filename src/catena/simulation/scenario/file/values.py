"""Values as the text of a file: words, numbers to the last digit, arrays and tables of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np


def value_text(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(key)} = {value_text(x)}" for key, x in value.items()) + " }"
    return "[" + ", ".join(value_text(entry) for entry in value) + "]"


def table_text(header: str, pairs: Mapping[str, Any]) -> str:
    """Return a table under its header."""
    return "\n".join(
        [header, *(f"{key_text(key)} = {value_text(value)}" for key, value in pairs.items()), ""]
    )


def key_text(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else string_text(name)


def string_text(text: str) -> str:
    """Return a string in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'
