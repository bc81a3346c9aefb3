"""Catena: the dynamics of mechanisms whose chains branch, close into loops and change their structure while they move.

Describe a `Mechanism`, plan it with `m.system()`, compute with the `System`. The public names are listed in the stub
beside this file, and each is imported when it is first used.
"""

import lazy_loader

# Before any other module is loaded, see there.
from catena import sources as _sources  # noqa: F401

__version__ = "0.1.0"
_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_RENAMED = {
    "Found": "EventHit", "Moment": "Instant", "SegmentedTrajectory": "Trajectory", "turning": "OrientationPath",
    "turns": "OrientationPath.through",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Return a public name, imported now; one that has been renamed is refused with its new name."""
    if name in _RENAMED:
        from catena.errors import renamed

        renamed("ct", _RENAMED)(name)
    return _imported(name)
