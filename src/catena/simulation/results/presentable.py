"""What is made of a run for people: an audit in words, plots, pages, films, tables and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from catena.hooks import hook

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from catena.simulation.results.audit import Audit
    from catena.simulation.results.recording.table import RunTable
    from catena.simulation.results.sizing import Sizing, TriedMotor
    from catena.simulation.results.trajectory import Trajectory
    from catena.view.live.view import View

PathLike = str | os.PathLike[str]


class Presentable:
    """A trajectory that can be looked at and kept."""

    @property
    def _run(self) -> Trajectory:
        return cast("Trajectory", self)

    def sizing(self, motors: Mapping[str, TriedMotor] | None = None) -> Sizing:
        """Return what the motion asks of each motor: effort, speed and power, peak, mean and regenerated, at the
        motor's side of its gear and against its limits. Print it, or `plot()` it. `motors` tries others, by joint:
        {"elbow": {"gear": 50, "limits": 2.0, "no_load_speed": 300}}. A joint that is not there asks for nothing."""
        from catena.simulation.results.sizing import sizing

        return sizing(self._run, motors)

    def audit(self) -> Audit:
        """Check energy, momentum, loops, quaternions, limits and actuators of this run, and what happened between its
        segments; print the result. Of several segments it tells the worst of each kind, and `parts` all of each."""
        from catena.simulation.results.audit import audit

        return audit(self._run)

    def plot(self, *what: str | Sequence[str], show: bool = False, path: PathLike | None = None) -> Figure:
        """Draw the run with matplotlib and return the figure: by default positions, velocities, control forces, energy
        and loops. `what` chooses: "positions", "velocities", "forces", "energy", "power", "reactions", "closure",
        "contacts", the name of a joint or a list of joints, or the name of a frame or body for its path. Curves pause
        where a joint is not there. `path` writes a file."""
        return hook("plot")(self, *what, show=show, path=path)

    def report(self, path: PathLike | None = None, title: str | None = None) -> None:
        """Write one self-contained page, run.html unless a path is given: the motion to be played, what was simulated
        and how, what changed and when, plots, events, and the audit in words."""
        hook("report")(self, path, title)

    def view(self, **options: Any) -> View:
        """Play the run in a browser or a notebook and return the view, whose `url` is on this computer only.

        `ghost` is another run to compare with, `traces` are frames or bodies whose ways are drawn, `motion` says which
        of a batch is the main one, `forces=False` leaves out the arrows; `show` opens it at once, `host` and `port` say
        where it is served. The others of a batch accompany the main motion.
        """
        return hook("view")(self, **options)

    def save_html(self, path: PathLike, **options: Any) -> None:
        """Write one self-contained page: the motion in space and plots beside it, with one time cursor. It opens from
        disk and asks no network for anything. Options are those of `view`."""
        hook("save_html")(self, path, **options)

    def save_video(self, path: PathLike, **options: Any) -> None:
        """Write the motion as a film: .mp4 (needs `pip install "catena-dynamics[view]"`), .gif or .webp. `size` are
        pixels, `rate` pictures a second, `speed` how fast it goes, `camera` the elevation and azimuth of the eye
        [degrees]."""
        hook("save_video")(self, path, **options)

    def to_xarray(self) -> Dataset:
        """Return the run as an `xarray.Dataset` with named coordinates; needs `pip install
        "catena-dynamics[record]"`. Where q has the same joints it holds q, v and tau, otherwise the columns of `table`
        by joint."""
        from catena.simulation.results.recording.dataset import to_dataset

        return to_dataset(self._run)

    def table(
        self,
        reactions: bool | Sequence[str] = False,
        frames: bool | Sequence[str] = (),
        power: bool = False,
        acceleration: bool = False,
    ) -> RunTable:
        """Return the run as columns with names and units, as tables in files have it: t, q.joint, v.joint, tau.joint,
        energies. `reactions` and `frames` add those of all joints or frames (True) or of those named, `power` and
        `acceleration` what they say. `dict(run.table())` is what data frames are made of."""
        from catena.simulation.results.recording.table import table

        return table(self._run, reactions, frames, power, acceleration)

    def save(
        self,
        path: PathLike,
        reactions: bool | Sequence[str] = False,
        frames: bool | Sequence[str] = (),
        power: bool = False,
        acceleration: bool = False,
        units: bool = False,
    ) -> None:
        """Write the run to a file; the ending of its name says the format: .nc or .h5 (NetCDF 4, which is HDF5, with
        the mechanisms in it; `load_run` reads it back to the last digit), or a table: .csv, .xlsx (Excel), .parquet or
        .mat (MATLAB). The others choose what a table has, as in `table`; `units` puts them into the names of a .csv
        file. The file appears complete or not at all."""
        from catena.simulation.results.recording import save_run

        save_run(
            self._run, path, units, reactions=reactions, frames=frames, power=power, acceleration=acceleration
        )
