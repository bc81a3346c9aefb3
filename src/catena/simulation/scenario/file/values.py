"""Tables as the text of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena.formats.toml.blocks import key_text, value_text


def table_text(header: str, pairs: Mapping[str, Any]) -> str:
    """Return a table under its header; numbers are told to the last digit."""
    return "\n".join(
        [header, *(f"{key_text(key)} = {value_text(value)}" for key, value in pairs.items()), ""]
    )
