"""The time to load a model file, with all checks: a humanoid of 36 freedoms from URDF, and from the native file."""

import tempfile
import warnings
from pathlib import Path

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.mechanism.generators import humanoid

NOT_SHOWN = "reading meshes, which loading does not do; planning; files on slow disks."


def report() -> str:
    """The table of this benchmark as Markdown."""
    rows = [
        Figure(
            f"loading a humanoid of 36 freedoms from .{ending}, checks included", seconds * 1e3, "ms", "<= 50"
        )
        for ending, seconds in seconds_to_load().items()
    ]
    return figure_table("Loading", rows, NOT_SHOWN)


def seconds_to_load() -> dict[str, float]:
    """The least seconds to load the same humanoid from each format."""
    mechanism = humanoid()
    assert mechanism.system().nv == 36
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        found = {}
        for ending in ("urdf", "toml"):
            file = Path(folder) / f"humanoid.{ending}"
            mechanism.save(file)
            found[ending] = best_of({ending: lambda file=file: ct.load(file)})[ending]
    return found
