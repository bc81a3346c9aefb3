"""The hook through which a trajectory reaches its pictures.

Plots and reports live in a folder that this one must not import, so the package registers the functions that draw when
it is imported, and `Trajectory.plot` and `Trajectory.report` call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.errors import CatenaError

_painters: dict[str, Callable[..., Any]] = {}


def register_pictures(plot: Callable[..., Any], report: Callable[..., Any]) -> None:
    """Register `plot(run, *what, show=..., path=...)` and `report(run, path, title)`."""
    _painters.update(plot=plot, report=report)


def picture(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the registered function "plot" or "report"."""
    if name not in _painters:
        raise CatenaError(
            f"Trajectory.{name} has nothing to draw with: `import catena` registers it, "
            "or call catena.simulation.register_pictures(plot, report) yourself"
        )
    return _painters[name](*arguments, **options)
