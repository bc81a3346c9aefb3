"""The hook through which a mechanism reaches the file formats.

Formats live in a folder that this one must not import, so the package registers the function that writes a
mechanism to a file when it is imported, and `Mechanism.save` calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.errors import CatenaError

_writer: Callable[[Any, Any], None] | None = None


def register_writer(writer: Callable[[Any, Any], None]) -> None:
    """Register `writer(mechanism, path)`, the function behind `Mechanism.save`."""
    global _writer
    _writer = writer


def write(mechanism: Any, path: Any) -> None:
    """Call the registered writer."""
    if _writer is None:
        raise CatenaError(
            "Mechanism.save has no writer: `import catena` registers one, "
            "or call catena.mechanism.register_writer(writer) yourself"
        )
    _writer(mechanism, path)
