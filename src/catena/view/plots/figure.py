"""A figure of a run: panels in a grid."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from catena.errors import FormatError
from catena.formats.complete import file_path, write_complete
from catena.simulation import Trajectory
from catena.validation import printable, shown
from catena.view import theme
from catena.view.plots.drawing import BAND, LINES, draw_panel, draw_path, flat_axes
from catena.view.plots.panels import AnyPanel, Panel, PathPanel, chosen_panels, default_panels
from catena.view.plotting import literal, require_matplotlib

WIDTH, HEIGHT = 5.6, 2.5
"""The size of a panel in inches."""


def plot(run: Trajectory, *what: Any, show: bool = False, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw a run and return the matplotlib `Figure`.

    Without `what`: positions, velocities, control forces (if there are any), energy and its balance, and the error of
    the loops. `what` chooses panels ("positions", "velocities", "forces", "energy", "power", "momentum", "reactions",
    "closure", "contacts"), joints by name, lists of joints, or frames and bodies, whose path is drawn. Curves pause
    where a joint is not there. Of a batch all motions are drawn as thin lines, or as median and band where they are
    many. `path` writes the figure to a file, `show` opens a window.
    """
    if not isinstance(show, bool):
        raise FormatError(f"show is {shown(show)}: give True or False")
    pyplot = require_matplotlib()
    panels = chosen_panels(run, what) if what else default_panels(run)
    if not panels:
        raise FormatError(f"There is nothing to plot in {shown(what)}: name panels, joints, frames or bodies")
    figure = figure_of(run, panels, title=_title(run), canvas=pyplot if show else None)
    if path is not None:
        save_figure(figure, path)
    if show:
        pyplot.show()
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, in the format that the ending of its name says."""
    write_complete(file_path(path), _content(figure, file_path(path)))


def figure_of(run: Trajectory, panels: Sequence[AnyPanel], title: str = "", canvas: Any = None) -> Any:
    """Return a figure with a grid of panels; one that belongs to `canvas` (pyplot), or to nobody."""
    from matplotlib.figure import Figure

    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    heights = [1.5 if _is_path(panels[columns * k : columns * (k + 1)]) else 1.0 for k in range(rows)]
    size = (WIDTH * columns, HEIGHT * sum(heights) + (0.5 if title else 0.1))
    make: Any = Figure if canvas is None else canvas.figure
    figure = make(figsize=size, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08, hspace=0.04, wspace=0.04)
    grid = figure.add_gridspec(rows, columns, height_ratios=heights)
    for k, panel in enumerate(panels):
        where = grid[k // columns, k % columns]
        if isinstance(panel, PathPanel):
            flat = flat_axes(panel.points) is not None
            draw_path(figure.add_subplot(where, projection=None if flat else "3d"), panel)
        else:
            ax = figure.add_subplot(where)
            draw_panel(ax, run.t, panel)
            _mark_events(ax, run, panel, is_named=k == 0)
    if title:
        figure.suptitle(literal(title), x=0.01, ha="left", fontsize=11, color=theme.INK, fontweight="bold")
    return figure


def _content(figure: Any, file: Path) -> bytes:
    """Return the figure in the format that the ending of a name says."""
    stream = io.BytesIO()
    formats = figure.canvas.get_supported_filetypes()
    ending = file.suffix.lower().removeprefix(".")
    if ending not in formats:
        raise FormatError(f"{file}: {ending!r} is no format for pictures: name a .png, .svg or .pdf file")
    figure.savefig(stream, format=ending, dpi=150, facecolor=theme.PAPER)
    return stream.getvalue()


def _is_path(panels: Sequence[AnyPanel]) -> bool:
    return any(isinstance(panel, PathPanel) for panel in panels)


def _title(run: Trajectory) -> str:
    states = prod(run.batch)
    title = run.all_segments[0].system.mechanism.name
    if states == 1:
        return title
    shown = f"median and {BAND[0]:g}-{BAND[1]:g} % band" if states > LINES else "each a line"
    return f"{title}: {states} motions, {shown}"


def _mark_events(ax: Any, run: Trajectory, panel: Panel, is_named: bool) -> None:
    """Thin vertical lines where segments of a single motion begin and where it met events, which are named in the
    first panel only."""
    if run.batch or not panel.curves:
        return
    for t in run.changes:
        ax.axvline(t, color=theme.FAINT_INK, linewidth=0.7)
    for found in run.events:
        ax.axvline(
            found.t, color=theme.FAINT_INK, linewidth=0.7, linestyle=":", gid=f"event:{printable(found.name)}"
        )
    # Names would cover each other where events are many.
    if is_named and run.events and len(run.events) <= 4:
        for found in run.events:
            ax.annotate(
                literal(found.name), (found.t, 1.0), xycoords=("data", "axes fraction"), xytext=(2, -2), rotation=90,
                va="top", textcoords="offset points", fontsize=7, color=theme.FAINT_INK,
            )  # fmt: skip
