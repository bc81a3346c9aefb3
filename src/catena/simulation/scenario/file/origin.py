"""Where a scenario comes from: the text of a file and how it was read, so that it can be read again with other values
of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class Origin:
    """The text that a scenario was read from, and what messages call it. `parameters` are the values of its parameters,
    `given` those that the caller gave instead of what the text says. The rest is what the text could reach: its
    `folder`, folders to `search`, and `kinds` of a user's own. `settings` are the keys that its [run] has."""

    text: str
    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float | str] = field(default_factory=dict)
    folder: Path | None = None
    search: tuple[Path, ...] = ()
    kinds: Any = None
    settings: tuple[str, ...] = ()
