"""Where mechanisms and trajectories reach rooms that theirs must not import: planning, files, pictures.

Rooms import only upwards in reading order, yet `m.system()`, `m.save(path)` and `run.plot()` are where users look for
them. What such a method calls is listed here by module and name, and imported when it is called.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    "system": ("catena.system", "System"),
    "configuration": ("catena.changing", "Configuration"),
    "read_mesh": ("catena.formats.meshes", "read_mesh"),
    "save": ("catena.formats", "save"),
    "with_parameters": ("catena.formats.files", "with_parameters"),
    "plot": ("catena.view.plots", "plot"),
    "plot_sizing": ("catena.view.plots.sizing", "plot_sizing"),
    "report": ("catena.view.report", "report"),
    "course": ("catena.view.course", "Course"),
    "view": ("catena.view.live.view", "view"),
    "save_html": ("catena.view.exports", "save_html"),
    "save_video": ("catena.view.video", "save_video"),
}


def hook(name: str) -> Any:
    """Return the function or class that a method of a lower room calls, imported now."""
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)
