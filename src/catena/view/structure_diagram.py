"""The graph of a mechanism: bodies are boxes, joints lines, the tree grows to the right, loops are orange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints import Free
from catena.mechanism import GROUND, VIRTUAL_ROOT, Joint
from catena.system import System
from catena.validation import printable
from catena.view import theme
from catena.view.plotting import literal, require_matplotlib

Place = tuple[float, float]


@dataclass(frozen=True)
class Edge:
    """A joint between two bodies as the diagram shows it."""

    joint: str
    near: str
    far: str
    letters: str
    word: str
    is_loop: bool
    constraints: int


def structure_diagram(
    system: System, ax: Any = None, *, joint_names: bool = False, title: bool = True
) -> Any:
    """Draw the planned graph of a system and return the axes.

    Each body is a box, ground the grey one on the left; each joint is a line with the letters of its kind
    (and its name, with `joint_names`). Solid lines are the tree that carries the coordinates, dashed orange
    ones the joints that close loops, with the number of constraints each imposes.
    """
    pyplot = require_matplotlib()
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    edges = graph_edges(system)
    place = tree_layout([edge for edge in edges if not edge.is_loop], list(system.mechanism.bodies))
    depth = max(x for x, _ in place.values())
    breadth = max(y for _, y in place.values()) - min(y for _, y in place.values())
    longest = max(len(name) for name in place)
    if ax is None:
        # Room for a name and a line in every column, but never larger than a screen.
        wide = float(np.clip(1.2 + (0.085 * longest + 0.85) * (depth + 1), 6.5, 16.0))
        high = float(np.clip(1.6 + 0.5 * (breadth + 1), 2.4, 10.0))
        ax = pyplot.figure(figsize=(wide, high)).add_axes((0.01, 0.02, 0.98, 1.0 - 0.4 / high))
    ax.set_axis_off()
    ax.set_xlim(-0.55, depth + 0.55)
    rows = [y for _, y in place.values()]
    # Room at the bottom for the legend.
    ax.set_ylim(min(rows) - 1.1, max(rows) + 0.7)

    width_of_column = _points_per_unit(ax)[0]
    fontsize = max(4.0, min(8.5, 0.62 * width_of_column / (0.60 * max(longest, 4))))
    small = max(4.0, 0.9 * fontsize)
    has_text = len(place) <= 150

    for edge in edges:
        curve = _curve(place[edge.near], place[edge.far], edge.is_loop)
        colour = theme.LOOP if edge.is_loop else theme.JOINT
        line = PathPatch(
            Path(curve, [Path.MOVETO, Path.CURVE3, Path.CURVE3]), fill=False, edgecolor=colour, linewidth=1.3,
            linestyle="--" if edge.is_loop else "-", zorder=2 if edge.is_loop else 1,
        )  # fmt: skip
        line.set_gid(f"{'loop' if edge.is_loop else 'tree'}:{printable(edge.joint)}")
        ax.add_patch(line)
        if has_text:
            text = f"{literal(edge.joint)}\n{edge.letters}" if joint_names else edge.letters
            if edge.is_loop and edge.constraints:
                text += f" −{edge.constraints}"
            label = ax.text(
                *_on_curve(curve, 0.4 if edge.is_loop else 0.5), text, ha="center", va="center",
                fontsize=small, color=colour, zorder=3,
                bbox={"boxstyle": "round,pad=0.18", "facecolor": theme.PAPER, "edgecolor": "none"},
            )  # fmt: skip
            label.set_gid(f"kind:{printable(edge.joint)}")
    for name, (x, y) in place.items():
        is_ground = name == GROUND
        box = ax.text(
            x, y, literal(name) if has_text else " ", ha="center", va="center", fontsize=fontsize,
            color=theme.INK, zorder=4,
            bbox={
                "boxstyle": "round,pad=0.35,rounding_size=0.5",
                "facecolor": "#dfe2e6" if is_ground else "#dce7f3",
                "edgecolor": theme.FAINT_INK if is_ground else theme.BODIES[0],
                "linewidth": 1.0,
            },
        )  # fmt: skip
        box.set_gid(f"body:{printable(name)}")
    _legend(ax, edges)
    if title:
        plural = "" if len(system.loops) == 1 else "s"
        ax.set_title(
            f"{literal(system.mechanism.name)}: {len(place) - 1} bodies, {len(edges)} joints, "
            f"{system.nv} velocity coordinates, {len(system.loops)} loop joint{plural}",
            fontsize=10, color=theme.INK,
        )  # fmt: skip
    return ax


def graph_edges(system: System) -> list[Edge]:
    """Return the joints of the mechanism as edges; the tree's virtual root joint too, if the plan has one."""
    constraints = {loop.name: loop.constraints for loop in system.plan.loop_joints}
    edges = []
    for name, joint in system.mechanism.joints.items():
        is_loop = name in constraints
        edges.append(
            Edge(name, joint.parent, joint.child, *_kind_text(joint), is_loop, constraints.get(name, 0))
        )
    for name in system.joints:
        if name.startswith(VIRTUAL_ROOT):
            edges.append(
                Edge(name, GROUND, name.removeprefix(VIRTUAL_ROOT), Free.letters, Free.words, False, 0)
            )
    return edges


def tree_layout(edges: list[Edge], bodies: list[str]) -> dict[str, Place]:
    """Return a place (column, row) for every body: the column counts joints from ground, and a body stands in the
    middle of the rows of those it carries."""
    neighbours: dict[str, list[str]] = {name: [] for name in bodies}
    for edge in edges:
        neighbours[edge.near].append(edge.far)
        neighbours[edge.far].append(edge.near)
    place: dict[str, Place] = {}
    carried: dict[str, list[str]] = {}
    depth = {GROUND: 0}
    order = [GROUND]
    for name in order:
        carried[name] = [other for other in neighbours[name] if other not in depth]
        for other in carried[name]:
            if other not in depth:
                depth[other] = depth[name] + 1
                order.append(other)
    row = 0.0
    waiting = [GROUND]
    rows: dict[str, float] = {}
    # Leaves get rows in the order a walk along the branches meets them; a list has no depth limit.
    while waiting:
        name = waiting.pop()
        if not carried[name]:
            rows[name] = row
            row -= 1.0
        waiting += reversed(carried[name])
    for name in reversed(order):
        if carried[name]:
            rows[name] = sum(rows[other] for other in carried[name]) / len(carried[name])
    for name in order:
        place[name] = (float(depth[name]), rows[name])
    return place


def _kind_text(joint: Joint) -> tuple[str, str]:
    """Return the letters on the line and the words in the legend for a joint."""
    if joint.locked:
        return "locked", "held at a position"
    return joint.kind.letters or type(joint.kind).__name__, joint.kind.words


def _curve(near: Place, far: Place, is_loop: bool) -> list[Place]:
    """Return the three points of a quadratic Bezier curve: straight for the tree; a loop leaves its shallower body
    level and rises late, so that it passes between the boxes of the tree."""
    if not is_loop:
        return [near, (0.5 * (near[0] + far[0]), 0.5 * (near[1] + far[1])), far]
    if near[0] > far[0]:
        near, far = far, near
    dx, dy = far[0] - near[0], far[1] - near[1]
    if dx == 0.0:
        return [near, (near[0] + 0.9, near[1] + 0.5 * dy), far]
    if dy == 0.0:
        return [near, (near[0] + 0.5 * dx, near[1] + 0.9), far]
    return [near, (near[0] + 0.6 * dx, near[1] + 0.15 * dy), far]


def _on_curve(curve: list[Place], t: float) -> Place:
    a, b, c = (1.0 - t) ** 2, 2.0 * t * (1.0 - t), t**2
    return (
        a * curve[0][0] + b * curve[1][0] + c * curve[2][0],
        a * curve[0][1] + b * curve[1][1] + c * curve[2][1],
    )


def _points_per_unit(ax: Any) -> tuple[float, float]:
    box = ax.get_window_extent()
    per = 72.0 / ax.figure.dpi
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return per * box.width / (x1 - x0), per * box.height / (y1 - y0)


def _legend(ax: Any, edges: list[Edge]) -> None:
    """One line below the graph that explains the letters and the dashes."""
    words = {edge.letters: edge.word for edge in edges if edge.word}
    entries = [f"{letters}  {word}" for letters, word in words.items()]
    if any(edge.is_loop for edge in edges):
        entries.append("dashed  closes a loop, −n: takes away n degrees of freedom")
    text = ax.text(
        0.5, 0.0, "      ".join(entries), transform=ax.transAxes, ha="center", va="bottom", fontsize=8,
        color=theme.FAINT_INK,
    )  # fmt: skip
    text.set_gid("legend")
    text.set_in_layout(False)
