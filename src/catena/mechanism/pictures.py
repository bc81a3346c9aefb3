"""The hook through which mechanisms, systems and trajectories reach their pictures.

Pictures live in a folder that those must not import, so the package registers the functions that draw when it is
imported, and methods such as `Mechanism.view` and `Trajectory.plot` call them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.errors import CatenaError

_painters: dict[str, Callable[..., Any]] = {}


def register_pictures(**painters: Callable[..., Any]) -> None:
    """Register functions by the names of the methods that call them: plot, report, view, save_html, save_video,
    save_drawing. Each is given the object itself and then what the method was given."""
    _painters.update(painters)


def picture(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the registered function of this name."""
    if name not in _painters:
        raise CatenaError(
            f"{name} has nothing to draw with: `import catena` registers it, "
            f"or call catena.mechanism.register_pictures({name}=...) yourself"
        )
    return _painters[name](*arguments, **options)
