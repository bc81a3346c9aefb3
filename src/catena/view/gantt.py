"""A schedule as a Gantt picture: processors above each other, tasks as bars along the time, one colour for each body,
or for each step where there are many bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.equations.scheduled import OperationSchedule
from catena.view import theme
from catena.view.plotting import literal, require_matplotlib

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#7fa3cc", "#e07b2e", "#997700", "#44bb99",
)  # fmt: skip
MOST_BODIES = len(COLOURS)


def gantt(schedule: OperationSchedule, ax: Any = None) -> Any:
    """Draw a schedule and return the axes. Tasks of the critical path have a dark edge."""
    pyplot = require_matplotlib()
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    flow = schedule.flow
    shown = np.flatnonzero(schedule.processor >= 0)
    group = flow.bodies if len({flow.bodies[k] for k in shown}) <= MOST_BODIES else flow.steps
    owners = list(dict.fromkeys(group[k] for k in shown))
    colour = {who: COLOURS[i % len(COLOURS)] for i, who in enumerate(owners)}
    if ax is None:
        high = float(np.clip(max(1.4 + 0.28 * schedule.processors, 0.9 + 0.2 * len(owners)), 2.6, 9.0))
        ax = pyplot.figure(figsize=(9.0, high), layout="constrained").add_subplot()
    bars = [_bar(schedule, int(k)) for k in shown]
    ax.add_collection(
        PolyCollection(
            bars, facecolors=[colour[group[k]] for k in shown], edgecolors=theme.PAPER, linewidths=0.4
        )
    )
    critical = [k for k in flow.critical_path if schedule.processor[k] >= 0]
    ax.add_collection(
        PolyCollection(
            [_bar(schedule, k) for k in critical], facecolors="none", edgecolors=theme.INK, linewidths=0.9
        )
    )
    ax.set_xlim(0.0, max(schedule.time, 1e-12))
    ax.set_ylim(schedule.processors - 0.4, -0.6)
    ax.set_yticks(
        range(schedule.processors) if schedule.processors <= 16 else range(0, schedule.processors, 8)
    )
    ax.set(xlabel="time", ylabel="processor")
    ax.set_title(
        f"{literal(flow.name)}: {schedule.time:g} on {schedule.processors} processors, {flow.serial_time:g} on one, "
        f"critical path {flow.critical_time:g}",
        fontsize=10, color=theme.INK, loc="left",
    )  # fmt: skip
    handles = [Patch(facecolor=colour[who], label=literal(who)) for who in owners]
    handles.append(Patch(facecolor="none", edgecolor=theme.INK, label="critical path"))
    ax.legend(handles=handles, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bar(schedule: OperationSchedule, k: int) -> list[tuple[float, float]]:
    left, right, y = schedule.start[k], schedule.finish[k], schedule.processor[k]
    return [(left, y - 0.4), (right, y - 0.4), (right, y + 0.4), (left, y + 0.4)]
