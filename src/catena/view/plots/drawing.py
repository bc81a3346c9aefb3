"""Drawing panels on axes: curves of one motion or of many, a path in space, legends beside the data."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from catena.validation import printable
from catena.view import theme
from catena.view.plots.panels import Curve, Panel, PathPanel
from catena.view.plotting import literal

COLOURS = ("#3b74bd", "#e07b2e", "#2b9c78", "#b9549f", "#b8921d", "#4fa3d1", "#8b66d1", "#d0524e")
OTHERS = "#9aa3ad"
# So many motions are drawn as lines; of more there is the median and a band.
LINES = 12
BAND = (5.0, 95.0)
# A way that leaves a plane by less than this part of its extent lies in it.
FLAT = 1e-6


def draw_panel(ax: Any, t: np.ndarray, panel: Panel) -> None:
    """Draw curves over time, with a legend on the right-hand side of the axes."""
    style(ax, panel.title)
    ax.set_xlabel("time [s]")
    if panel.logarithmic:
        ax.set_yscale("log")
    bright, others = _shared_out(panel.curves)
    for curve in others:
        _draw_curve(ax, t, curve, OTHERS, 0.6)
    for curve, colour in zip(bright, COLOURS):
        _draw_curve(ax, t, curve, colour, 1.4)
    ax.margins(x=0.0)
    if len(t) > 1:
        ax.set_xlim(t[0], t[-1])
    _widen(ax, panel)
    ax.set_ylabel(f"[{_scaled(ax, panel)}]")
    _legend(ax, [curve.name for curve in bright], len(others), [curve.dashed for curve in bright])


def _shared_out(curves: tuple[Curve, ...]) -> tuple[list[Curve], list[Curve]]:
    """Return the curves that get a colour, and the rest: of many, those that vary most stand out."""
    if len(curves) <= len(COLOURS):
        return list(curves), []
    spread = [float(np.ptp(curve.values)) for curve in curves]
    chosen = set(np.argsort(spread, kind="stable")[::-1][: len(COLOURS)].tolist())
    bright = [curve for k, curve in enumerate(curves) if k in chosen]
    return bright, [curve for k, curve in enumerate(curves) if k not in chosen]


def _draw_curve(ax: Any, t: np.ndarray, curve: Curve, colour: str, width: float) -> None:
    rows = curve.values.reshape(-1, len(t))
    dashes = {"linestyle": (0, (4, 2))} if curve.dashed else {}
    marker = {"marker": "o", "markersize": 4} if len(t) == 1 else {}
    name = f"curve:{printable(curve.name)}"
    if len(rows) == 1:
        ax.plot(t, rows[0], color=colour, linewidth=width, gid=name, **dashes, **marker)
        return
    if len(rows) <= LINES:
        for row in rows:
            ax.plot(t, row, color=colour, linewidth=0.6 * width, alpha=0.8, gid=name, **dashes, **marker)
        return
    low, median, high = np.percentile(rows, (BAND[0], 50.0, BAND[1]), axis=0)
    ax.fill_between(
        t, low, high, color=colour, alpha=0.12, linewidth=0.0, gid=f"band:{printable(curve.name)}"
    )
    for edge in (low, high):
        ax.plot(t, edge, color=colour, linewidth=0.5, alpha=0.7)
    ax.plot(t, median, color=colour, linewidth=width, gid=name, **dashes, **marker)


def _widen(ax: Any, panel: Panel) -> None:
    """Give a curve that does not vary an axis that does not magnify its rounding."""
    if panel.logarithmic or not panel.curves:
        return
    low = min(float(np.min(curve.values)) for curve in panel.curves)
    high = max(float(np.max(curve.values)) for curve in panel.curves)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        size = max(abs(low), abs(high), 1e-300) if max(abs(low), abs(high)) > 1e-12 else 1.0
        ax.set_ylim(low - 0.1 * size, high + 0.1 * size)


def _scaled(ax: Any, panel: Panel) -> str:
    """Return the unit, with the power of ten that very small or large numbers are counted in."""
    unit = panel.unit or "1"
    size = max(map(abs, ax.get_ylim()))
    if panel.logarithmic or 1e-3 <= size < 1e5:
        return unit
    power = 3 * int(np.floor(np.log10(size) / 3.0))
    ax.yaxis.set_major_formatter(lambda y, _: f"{y / 10.0**power:.4g}".replace("-", "\N{MINUS SIGN}"))
    return f"$10^{{{power}}}$ {unit}"


def _legend(ax: Any, names: list[str], others: int, dashed: list[bool]) -> None:
    from matplotlib.lines import Line2D

    if len(names) == 1 and not others and names[0] == "error":
        return
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            linewidth=1.6,
            linestyle=(0, (4, 2)) if is_dashed else "-",
            label=literal(name),
        )
        for name, colour, is_dashed in zip(names, COLOURS, dashed)
    ]
    if others:
        handles.append(Line2D([], [], color=OTHERS, linewidth=0.8, label=f"{others} others"))
    if handles:
        ax.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=8,
            labelcolor=theme.INK, handlelength=1.6, borderaxespad=0.0, labelspacing=0.35,
        )  # fmt: skip


def style(ax: Any, title: str) -> None:
    """The look all panels share."""
    ax.set_title(literal(title), loc="left", fontsize=10, color=theme.INK, pad=8)
    ax.patch.set_alpha(0.0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.FAINT_INK)
        spine.set_linewidth(0.8)
    ax.tick_params(colors=theme.FAINT_INK, labelcolor=theme.INK, labelsize=8, width=0.8)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=theme.INK, fontsize=8)
    ax.grid(True, color=theme.FAINT_INK, alpha=0.22, linewidth=0.6)


def flat_axes(points: np.ndarray) -> tuple[int, int] | None:
    """Return the two coordinates of a way (..., 3) that stays in a plane across the third, else None."""
    rows = points.reshape(-1, 3)
    extent = np.ptp(rows, axis=0)
    across = int(np.argmin(extent))
    if extent[across] > FLAT * max(float(np.max(extent)), 1e-12):
        return None
    first, second = (k for k in range(3) if k != across)
    return first, second


def draw_path(ax: Any, panel: PathPanel) -> None:
    """Draw the way of a point, face-on where it stays in a plane of the ground's axes, with its start and end."""
    from matplotlib.lines import Line2D

    samples = panel.points.shape[-2]
    ways = panel.points.reshape(prod(panel.points.shape[:-2]), samples, 3)
    plane = flat_axes(panel.points)
    axes = plane if plane else (0, 1, 2)
    letters = [f"{'xyz'[k]} [m]" for k in axes]
    if plane:
        style(ax, panel.title)
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
    else:
        _style_space(ax, panel.title, ways.reshape(-1, 3))
        ax.set_zlabel(letters[2], color=theme.INK, fontsize=8)
    ax.set_xlabel(letters[0], color=theme.INK, fontsize=8)
    ax.set_ylabel(letters[1], color=theme.INK, fontsize=8)
    width, alpha = (1.4, 1.0) if len(ways) == 1 else (0.8, 0.6)
    for way in ways[: 4 * LINES]:
        ax.plot(*way[:, axes].T, color=COLOURS[0], linewidth=width, alpha=alpha, gid="path")
        ax.plot(*way[:1, axes].T, "o", color=COLOURS[2], markersize=5)
        ax.plot(*way[-1:, axes].T, "s", color=COLOURS[1], markersize=5)
    marks = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=5, label=name)
        for marker, colour, name in (("o", COLOURS[2], "start"), ("s", COLOURS[1], "end"))
    ]
    ax.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=8,
        labelcolor=theme.INK, borderaxespad=0.0,
    )  # fmt: skip


def _style_space(ax: Any, title: str, points: np.ndarray) -> None:
    """The look of a path in space: equal scales, and some depth for one that is nearly straight."""
    ax.set_proj_type("ortho")
    ax.set_title(literal(title), loc="left", fontsize=10, color=theme.INK)
    ax.patch.set_alpha(0.0)
    low, high = points.min(axis=0), points.max(axis=0)
    sides = np.maximum(high - low, 0.45 * np.max(high - low)) * 1.06
    for k, (axis, name) in enumerate(((ax.xaxis, "x"), (ax.yaxis, "y"), (ax.zaxis, "z"))):
        middle = 0.5 * (low[k] + high[k])
        getattr(ax, f"set_{name}lim")(middle - 0.5 * sides[k], middle + 0.5 * sides[k])
        axis.set_major_locator(_few_ticks(sides[k] < 0.7 * np.max(sides)))
        axis.set_pane_color((0.5, 0.5, 0.5, 0.06))
        axis.line.set_color(theme.FAINT_INK)
        axis._axinfo["grid"].update(color=(0.5, 0.5, 0.5, 0.35), linewidth=0.5)
    ax.set_box_aspect(sides, zoom=0.9)
    ax.tick_params(colors=theme.FAINT_INK, labelcolor=theme.INK, labelsize=7, pad=0)
    # Room for the minus signs of the upright axis, and for its name beyond them.
    ax.tick_params(axis="z", pad=4)
    ax.zaxis.labelpad = 8


def _few_ticks(is_short: bool) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(3 if is_short else 5)
