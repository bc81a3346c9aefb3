"""Where a mechanism comes from: the text of a model file, so that it can be saved as it was written, and read again
with other values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Origin:
    """The text that a mechanism was read from, what messages call it, and how it was read.

    `parameters` are the values of its parameters, `given` those that the caller gave instead of what the text says.
    The rest is what the text could reach: its `folder`, the folders to `search`, and `kinds` of a user's own.
    """

    text: str
    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float | str] = field(default_factory=dict)
    folder: Path | None = None
    search: tuple[Path, ...] = ()
    kinds: Any = None
    fix: bool = False
    mimic: bool = True
