"""Efforts of motors over their speeds, with what each of them can give."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from catena.errors import FormatError
from catena.simulation.results.sizing import MotorUse, Sizing
from catena.validation import shown
from catena.view import theme
from catena.view.plots.drawing import COLOURS, style
from catena.view.plots.figure import save_figure
from catena.view.plotting import literal, require_matplotlib

WIDTH, HEIGHT = 4.6, 3.4
"""The size of a panel in inches."""
MOST_POINTS = 3000
"""So many points of a cloud are drawn."""
MARGIN = 1.12
"""How far the axes go beyond what is drawn in them."""


def plot_sizing(sizing: Sizing, *, show: bool = False, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw what a run asks of its motors, a panel for each, and return the matplotlib `Figure`."""
    if not isinstance(show, bool):
        raise FormatError(f"show is {shown(show)}: give True or False")
    if not sizing.motors:
        raise FormatError(f"{sizing.title} There is nothing to plot: drive a joint, or prescribe its motion")
    pyplot = require_matplotlib()
    figure = sizing_figure(sizing.motors, pyplot if show else None)
    if path is not None:
        save_figure(figure, path)
    if show:
        pyplot.show()
    return figure


def sizing_figure(motors: tuple[MotorUse, ...], canvas: Any = None) -> Any:
    """Return a figure with a panel for each motor; one that belongs to `canvas` (pyplot), or to nobody."""
    from matplotlib.figure import Figure

    columns = min(len(motors), 3)
    rows = -(-len(motors) // columns)
    make: Any = Figure if canvas is None else canvas.figure
    figure = make(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
    for k, motor in enumerate(motors):
        draw_motor(figure.add_subplot(rows, columns, k + 1), motor)
    return figure


def draw_motor(ax: Any, motor: MotorUse) -> None:
    """Draw the cloud of a motor, what it can give, and the rms of effort and speed as a cross."""
    style(ax, motor.name if motor.gear == 1.0 else f"{motor.name}, gear {motor.gear:.4g}")
    speed, effort = (x.reshape(-1)[:: max(1, x.size // MOST_POINTS)] for x in (motor.speed, motor.effort))
    reach = MARGIN * (max(float(np.max(np.abs(motor.speed))), _useful(motor.no_load_speed)) or 1.0)
    if motor.is_limited:
        _draw_limits(ax, motor, reach)
    ax.plot(speed, effort, ".", markersize=3, color=COLOURS[0], gid="cloud", label="run")
    rms = float(np.max(motor.rms_speed)), float(np.max(motor.rms_effort))
    ax.plot(*rms, "P", markersize=7, color=COLOURS[1], markeredgecolor=theme.PAPER, gid="rms", label="rms")
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=theme.FAINT_INK, linewidth=0.6, zorder=0)
    ax.set_xlim(-reach, reach)
    largest = max(float(np.max(np.abs(motor.effort))), *(_useful(abs(limit)) for limit in motor.limits))
    top = MARGIN * (largest or 1.0)
    ax.set_ylim(-top, top)
    ax.set_xlabel(f"speed [{literal(motor.units[1])}]")
    ax.set_ylabel(f"effort [{literal(motor.units[0])}]")
    ax.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=7, frameon=False, handletextpad=0.4,
        columnspacing=1.0, borderaxespad=0.2,
    )  # fmt: skip


def _draw_limits(ax: Any, motor: MotorUse, reach: float) -> None:
    corners = [x for x in (-motor.no_load_speed, 0.0, motor.no_load_speed) if np.isfinite(x)]
    speeds = np.unique([-reach, *corners, reach])
    low, high = motor.available(speeds)
    bounded = np.isfinite(low) & np.isfinite(high)
    if bounded.all():
        ax.fill_between(speeds, low, high, color=COLOURS[2], alpha=0.12, linewidth=0.0, gid="limits")
    for bound in (low, high):
        if np.isfinite(bound).all():
            ax.plot(speeds, bound, color=COLOURS[2], linewidth=1.2, gid="limit")
    ax.plot([], [], color=COLOURS[2], linewidth=1.2, label="limits")


def _useful(value: float) -> float:
    return value if np.isfinite(value) else 0.0
