"""The hook through which a mechanism reaches the planner.

Planning lives in a folder that this one must not import, so the package registers the function that turns a
mechanism into a system when it is imported, and `Mechanism.system` calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.errors import CatenaError

_planner: Callable[..., Any] | None = None


def register_planner(planner: Callable[..., Any]) -> None:
    """Register `planner(mechanism, root=..., cut=..., accuracy=...)`, the function behind `Mechanism.system`; without
    an accuracy the planner has its own."""
    global _planner
    _planner = planner


def make_system(mechanism: Any, root: str | None, cut: Any, accuracy: float | None) -> Any:
    """Call the registered planner."""
    if _planner is None:
        raise CatenaError(
            "Mechanism.system has no planner: `import catena` registers one, "
            "or call catena.mechanism.register_planner(planner) yourself"
        )
    options = {} if accuracy is None else {"accuracy": accuracy}
    return _planner(mechanism, root=root, cut=cut, **options)
