"""Where the examples put what they draw: figures and a film in one folder, each told on a line of the report.

`tools/write_gallery.py` takes the film over into docs/gallery.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import Course

SIZE, RATE, SECONDS = (480, 360), 12.0, 3.0
"""How films look: pixels, pictures a second and seconds."""


class Pictures:
    """The folder that an example writes to: the one on its command line, or out/NAME beside the examples."""

    def __init__(self, example: str, arguments: list[str]) -> None:
        here = Path(example).resolve()
        self.folder = Path(arguments[0]) if arguments else here.parents[1] / "out" / here.stem
        self.folder.mkdir(parents=True, exist_ok=True)

    def figure(self, figure: Figure, name: str, dpi: int = 110) -> None:
        """Write a figure; axes with curves get a light grid."""
        for ax in figure.axes:
            if ax.lines and ax.axison:
                ax.grid(alpha=0.3)
        figure.savefig(self.folder / name, dpi=dpi)
        self.tell(name)

    def film(self, run: ct.Trajectory | Course, **options: Any) -> None:
        """Write the moving picture of a motion, motion.webp, which lasts as long as those of other examples."""
        speed = float(run.t[-1] - run.t[0]) / SECONDS
        run.save_video(self.folder / "motion.webp", speed=speed, **FILM, **options)
        self.tell("motion.webp")

    def tell(self, name: str) -> None:
        """Print where a file is."""
        print(f"    {self.folder / name}")


def alike(figure: Figure, zoom: float = 1.0) -> None:
    """Let all 3-D pictures of a figure show the same part of space at the same scale, so that one sees what moves."""
    pictures = [ax for ax in figure.axes if ax.name == "3d"]
    seen = np.array([[ax.get_xlim3d(), ax.get_ylim3d(), ax.get_zlim3d()] for ax in pictures])
    low, high = seen[..., 0].min(axis=0), seen[..., 1].max(axis=0)
    half = 0.5 * float(np.max(high - low)) / zoom
    for ax in pictures:
        for setter, middle in zip((ax.set_xlim3d, ax.set_ylim3d, ax.set_zlim3d), 0.5 * (low + high)):
            setter(middle - half, middle + half)


FILM: dict[str, Any] = {"size": SIZE, "rate": RATE, "clock": False, "progress": False}
