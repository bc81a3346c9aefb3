"""A run as one self-contained page: what was simulated and how, figures, events, and the audit in words.

The page needs no network and no other file. Figures are inline SVG whose ink follows the reader's light or dark theme,
with their text as text and a description for those who cannot see them.
"""

from __future__ import annotations

import base64
import html
import io
import os
import re
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import FormatError
from catena.formats.complete import own_name, write_complete
from catena.mechanism import GROUND
from catena.simulation import Segment, Trajectory
from catena.simulation.results.audit import Audit
from catena.simulation.results.batch import StateByState
from catena.simulation.results.sizing import HEADS, MotorUse
from catena.system import System
from catena.validation import printable_lines, shown
from catena.view import theme
from catena.view.drawing import draw
from catena.view.exports import page_path
from catena.view.movie import movie
from catena.view.player.page import POLICY, fragment, styles
from catena.view.plots.figure import figure_of
from catena.view.plots.panels import PANELS, AnyPanel, PathPanel, default_panels
from catena.view.plots.sizing import sizing_figure
from catena.view.plotting import require_matplotlib
from catena.view.structure_diagram import graph_edges, structure_diagram, tree_layout

# Above so many bodies a picture of the mechanism is a thicket.
FEW_BODIES = 60
# Up to so many bodies the joints are named in the graph; otherwise the table has their names.
NAMED_JOINTS = 16
# So many motors get a picture; the table has them all.
MOST_MOTORS = 12
# So many common times a page has of states that moved one by one.
SAMPLES = 101
# Tables longer than this open on request.
SHORT = 12
LEVELS = {"ok": "fine", "note": "note", "warn": "warning"}
# Colours of figures that depend on the theme, as variables of the page.
INKS = {
    theme.INK: "var(--ink)",
    theme.FAINT_INK: "var(--faint)",
    theme.PAPER: "var(--card)",
    theme.JOINT: "var(--joint)",
    "#000000": "var(--ink)",
    "#dce7f3": "var(--box)",
    "#dfe2e6": "var(--ground)",
}


def report(
    run: Trajectory,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> None:
    """Write the page of a run to a file, run.html unless a path is given; it appears complete or not at all."""
    if title is not None and not isinstance(title, str):
        raise FormatError(f"the title is {shown(title)}: give a string")
    file = own_name(Path("run.html")) if path is None else page_path(path)
    write_complete(file, page(run, title).encode("utf-8"))


def page(run: Trajectory, title: str | None = None) -> str:
    """Return the page as HTML text."""
    require_matplotlib()
    name = title or f"{run.all_segments[0].system.mechanism.name}: {_duration(run)} of motion"
    parts = [*_parts(run, name), f"<footer>Written by Catena{_version()}.</footer>"]
    body = "\n".join(part for part in parts if part)
    policy = POLICY.format(talk="'none'")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(name)}</title>\n<style>{STYLE}</style>\n{styles()}\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _duration(run: Trajectory) -> str:
    parts = run.all_segments
    return f"{max(part.t[-1] for part in parts) - min(part.t[0] for part in parts):g} s"


def _parts(run: Trajectory, name: str) -> list[str]:
    """Return what there is to tell of a run: the whole motion, what changed in it, and the mechanism that it begins
    with."""
    if isinstance(run, StateByState):
        # Plots need common times, of which a page has room for some.
        run = run.resample(SAMPLES)
    audit, first = run.audit(), run.all_segments[0]
    panels = default_panels(run)
    panels += PANELS["power"](run) if any(np.any(x) for x in run.power.values()) else []
    panels += PANELS["reactions"](run)
    return [
        f"<header><h1>{escape(name)}</h1><p>{_summary(run)}</p>{_verdict(audit)}</header>",
        _section("Audit", _audit_table(audit)),
        _section("Animation", _animation(run)),
        _section("Changes", _changes(run)) if run.transitions else "",
        _section("Structures", _structures(run, audit)) if len(audit.parts) > 1 else "",
        _section("Motion", _figures(run, panels)),
        _motors(run),
        _section("Events", _events(run)) if run.events or run.ended else "",
        _section("Mechanism" if len(run.all_segments) == 1 else "Mechanism at the start", _mechanism(first)),
        _section("Settings", _settings(first)),
    ]


def _changes(run: Trajectory) -> str:
    """Return what happened between segments, as a table."""
    rows = [
        (
            f"{change.t:.9g} s", escape(change.name), f"{change.energy_loss:.4g}",
            "<br>".join(escape(line) for line in change.told),
        )
        for change in run.transitions
    ]  # fmt: skip
    return _table(("Time", "What", "Energy lost [J]", "In words"), rows, numbers=(0, 2))


def _structures(run: Trajectory, audit: Audit) -> str:
    """Return the segments of a run, or the states of a batch that moved one by one, with what the audit says of
    each."""
    if isinstance(run, StateByState):
        parts, heads = [one.segments[0] for one in run.states], "State"
        titles = [str(k) for k in range(len(parts))]
    else:
        parts, heads = list(run.segments), "From, to"
        titles = [f"{part.t[0]:.6g} to {part.t[-1]:.6g} s" for part in parts]
    rows = [
        (
            title, str(part.system.nv), str(len(part.system.loops)),
            "nothing to warn of" if own.ok else escape("; ".join(line.text for line in own if not line.ok)),
        )
        for title, part, own in zip(titles, parts, audit.parts, strict=True)
    ]  # fmt: skip
    return _table((heads, "Velocity coordinates", "Loop joints", "Audit"), rows, numbers=(1, 2))


def _animation(run: Trajectory) -> str:
    """Return the motion in space, to be played, with plots beside it that have its time; all plots are below, for
    paper."""
    return f'<div class="player">{fragment(movie(run), "player")}</div>'


def _summary(run: Trajectory) -> str:
    system = run.all_segments[0].system
    states = f"{prod(run.batch)} motions, " if run.batch else ""
    changes = (
        f", with {_count(len(run.transitions), 'change')} of structure or contacts" if run.transitions else ""
    )
    bodies = len(system.mechanism.bodies) - 1
    loops = f", {_count(len(system.loops), 'loop joint')}" if system.loops else ""
    return escape(
        f"{states}{_duration(run)} in {run.steps} steps and {len(run.t)} samples{changes}. The mechanism has "
        f"{_count(bodies, 'moving body', 'moving bodies')} and {_count(system.nv, 'velocity coordinate')}{loops}."
    )


def _verdict(audit: Audit) -> str:
    bad = sum(not line.ok for line in audit)
    if not bad:
        return '<p class="verdict ok">The audit found nothing to warn of.</p>'
    return f'<p class="verdict warn">The audit has {_count(bad, "warning")}.</p>'


def _audit_table(audit: Audit) -> str:
    rows = [
        (
            f'<span class="level {line.level}">{LEVELS[line.level]}</span>',
            escape(line.name),
            f"{line.value:.2g}" + (f" {escape(line.unit)}" if line.unit else ""),
            f"{line.bound:.0e}" if np.isfinite(line.bound) else "none",
            escape(line.text),
        )
        for line in audit
    ]
    table = _table(("", "What", "Worst value", "Bound", "In words"), rows, numbers=(2, 3))
    return f'<div class="stacked">{table}</div>'


def _figures(run: Trajectory, panels: Sequence[AnyPanel]) -> str:
    figures = []
    for k, panel in enumerate(panels):
        svg = _svg(figure_of(run, [panel]), f"p{k}", _description(run, panel))
        figures.append(f"<figure>{svg}</figure>")
    return f'<div class="grid">{"".join(figures)}</div>'


def _motors(run: Trajectory) -> str:
    """Return what the motion asks of its motors, where it has any: the table, and efforts over speeds."""
    sizing = run.sizing()
    if not sizing.motors:
        return ""
    rows = [tuple(map(escape, motor.cells())) for motor in sizing]
    figures = "".join(
        f"<figure>{_svg(sizing_figure((motor,)), f'm{k}', _motor_in_words(motor))}</figure>"
        for k, motor in enumerate(sizing.motors[:MOST_MOTORS])
    )
    table = _folded(sizing.title.removesuffix(":"), rows, HEADS, numbers=range(2, len(HEADS)))
    return _section("Motors", f'{table}<div class="grid">{figures}</div>')


def _motor_in_words(motor: MotorUse) -> str:
    """Return the cloud of a motor in words, for those who cannot see it."""
    of = f"; of its limits: {motor.cells()[-2]}" if motor.is_limited else ""
    return (
        f"Effort of motor {motor.name} in {motor.units[0]} between {np.min(motor.effort):.3g} and "
        f"{np.max(motor.effort):.3g} over its speed in {motor.units[1]} between {np.min(motor.speed):.3g} and "
        f"{np.max(motor.speed):.3g}{of}."
    )


def _description(run: Trajectory, panel: AnyPanel) -> str:
    """Return a panel in words, for those who cannot see it."""
    if isinstance(panel, PathPanel):
        return f"{panel.title} in ground."
    ranges = [
        f"{curve.name} between {np.nanmin(curve.values):.3g} and {np.nanmax(curve.values):.3g}"
        for curve in panel.curves[:8]
    ]
    if len(panel.curves) > 8:
        ranges.append(f"and {len(panel.curves) - 8} more curves")
    unit = f" in {panel.unit}" if panel.unit else ""
    return f"{panel.title}{unit} from {run.t[0]:g} s to {run.t[-1]:g} s: {'; '.join(ranges) or 'nothing'}."


def _events(run: Trajectory) -> str:
    rows = [
        (
            escape(found.name),
            f"{found.t:.9g} s",
            escape(", ".join(map(str, np.atleast_1d(found.state)))) or "the only one",
        )
        for found in run.events
    ]
    text = f"<p>The run stopped early: {escape(run.ended)}</p>" if run.ended else ""
    return text + (_table(("Event", "Time", "State"), rows, numbers=(1,)) if rows else "")


def _mechanism(run: Segment) -> str:
    system, mechanism = run.system, run.system.mechanism
    pictures = _pictures(run) if len(mechanism.bodies) <= FEW_BODIES else ""
    roles = dict.fromkeys(system.joints, "tree") | dict.fromkeys(system.loops, "closes a loop")
    roles |= dict.fromkeys(run.driven, "motion prescribed")
    joints = [
        (
            escape(name), escape(type(joint.kind).__name__), f"{escape(joint.parent)} to {escape(joint.child)}",
            "locked" if joint.locked else roles.get(name, "fixed"),
            _numbers(joint.damping), _numbers(joint.friction), _limits(joint.limits),
        )
        for name, joint in mechanism.joints.items()
    ]  # fmt: skip
    bodies = [
        (escape(name), f"{body.mass:.6g}", _numbers(np.diag(body.inertia)))
        for name, body in mechanism.bodies.items()
        if name != GROUND
    ]
    heads = ("Joint", "Kind", "From parent to child", "Role", "Damping", "Friction", "Limits [rad or m]")
    gravity = f"<p>Gravity: ({', '.join(f'{g:g}' for g in mechanism.gravity)}) m/s².</p>"
    return (
        pictures
        + gravity
        + _folded("Joints", joints, heads, numbers=(4, 5, 6))
        + _folded("Bodies", bodies, ("Body", "Mass [kg]", "Moments of inertia [kg m²]"), numbers=(1, 2))
        + _elements(run)
    )


def _elements(run: Segment) -> str:
    """Return what acts on the mechanism, in lists of names."""
    mechanism = run.system.mechanism
    named = (
        ("Actuators", mechanism.actuators),
        ("Springs", mechanism.springs),
        ("Wrenches", mechanism.wrenches),
        ("Forces", mechanism.forces),
    )
    texts = [f"{what}: {escape(', '.join(parts))}." for what, parts in named if parts]
    return f"<p>{' '.join(texts)}</p>" if texts else ""


def _pictures(run: Segment) -> str:
    """Return the mechanism at the first and last sample (of the first motion), and its graph."""
    from matplotlib.figure import Figure

    system = run.system
    q = run.q.reshape(-1, len(run.t), system.nq)[0]
    figures = []
    for words, state in (("At the start", q[0]), ("At the end", q[-1])):
        figure = Figure(figsize=(4.6, 4.6))
        draw(system, state, figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d"), title="")
        figures.append(_captioned(_png(figure, f"The mechanism {words.lower()}."), words))
    is_small = len(system.mechanism.bodies) <= NAMED_JOINTS
    figure = Figure(figsize=_graph_size(system, is_small))
    structure_diagram(system, figure.add_axes((0.01, 0.02, 0.98, 0.96)), joint_names=is_small, title=False)
    kinds = f"Graph with {len(system.joints)} joints in the tree and {len(system.loops)} that close loops."
    graph = _captioned(
        _svg(figure, "graph", kinds),
        "Bodies and joints; the tree that carries the coordinates grows to the right",
    )
    wide = f'<div class="wide" style="--least: {0.62 * figure.get_size_inches()[0]:.1f}in">{graph}</div>'
    return f'<div class="grid">{"".join(figures)}</div>{wide}'


def _graph_size(system: System, joint_names: bool) -> tuple[float, float]:
    """Inches in which the names of bodies, and perhaps of joints, have room beside each other."""
    tree = [edge for edge in graph_edges(system) if not edge.is_loop]
    columns, rows = zip(*tree_layout(tree, list(system.mechanism.bodies)).values())
    longest = max(map(len, system.mechanism.bodies))
    beside = max(map(len, system.mechanism.joints)) if joint_names else 4
    return 1.0 + (0.08 * (longest + beside) + 0.6) * (max(columns) + 1.0), 1.2 + 0.55 * (
        max(rows) - min(rows) + 1.0
    )


def _settings(run: Segment) -> str:
    rows = [(escape(str(key)), escape(str(value))) for key, value in run.settings.items()]
    rows += [
        ("steps", str(run.steps)),
        ("samples", str(len(run.t))),
        (
            "control",
            "held between samples" if run.held else "varies between samples" if np.any(run.tau) else "none",
        ),
    ]
    named = {key.lower() for key in map(str, run.settings)}
    rows = [row for k, row in enumerate(rows) if k < len(run.settings) or row[0] not in named]
    return _table(("Setting", "Value"), rows)


def _svg(figure: Any, prefix: str, description: str) -> str:
    """Return a figure as inline SVG: inks as variables of the page, names of parts unique on the page, and a
    description."""
    import matplotlib

    stream = io.StringIO()
    options: Any = {"svg.fonttype": "none", "svg.hashsalt": prefix, "font.family": "sans-serif"}
    with matplotlib.rc_context(options):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    # The page's own font, and a size that follows the width of the column.
    text = re.sub(r"'?DejaVu Sans'?(, [^;\"]*)?", "inherit", text)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    head = (
        f'<svg role="img" aria-label="{escape(description)}" {box[0]} xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    text = head + text[text.index(">") + 1 :]
    for colour, variable in INKS.items():
        text = re.sub(rf"(?<=[:\s]){colour}(?=[;\"\s])", variable, text)
    return text


def _png(figure: Any, description: str) -> str:
    """Return a picture of many polygons, which is smaller as pixels."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=150, transparent=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{data}">'


def _captioned(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def escape(text: str) -> str:
    """Return a text as it stands in a page, in elements and in attributes; what has no glyph is told, because the order
    of letters is turned around and pages are broken by what cannot be seen."""
    return html.escape(printable_lines(text))


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _folded(
    title: str, rows: Sequence[Sequence[str]], heads: Sequence[str], numbers: Iterable[int] = ()
) -> str:
    is_open = " open" if len(rows) <= SHORT else ""
    return f"<details{is_open}><summary>{escape(title)} ({len(rows)})</summary>{_table(heads, rows, numbers)}</details>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """Return a table; cells are HTML, and the columns `numbers` are set to the right."""
    right = set(numbers)

    def cell(tag: str, k: int, text: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{' class=number' if k in right else ''}>{text}</{tag}>"

    head = "".join(cell("th", k, text or '<span class="hidden">Level</span>') for k, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', k, text) for k, text in enumerate(row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _numbers(values: np.ndarray) -> str:
    """One number where all are the same, nothing where there are none."""
    if not len(values) or not np.any(values):
        return "0" if len(values) else ""
    return f"{values[0]:.4g}" if np.all(values == values[0]) else ", ".join(f"{x:.4g}" for x in values)


def _limits(limits: np.ndarray | None) -> str:
    return "" if limits is None else "; ".join(f"{low:.4g} to {high:.4g}" for low, high in limits)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _version() -> str:
    # Reading the data of packages takes long to import.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f" {version('catena-dynamics')}"
    except PackageNotFoundError:
        return ""


STYLE = """
:root { --ink: #1f2933; --faint: #6b7683; --paper: #ffffff; --card: #f6f7f9; --line: #dde1e6; --joint: #3d4a5c;
  --box: #dce7f3; --ground: #dfe2e6; --good: #1e7a55; --bad: #b4410f; --hint: #4b5a6b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaef; --faint: #9aa6b4; --paper: #14181d; --card: #1b2027; --line: #303842; --joint: #b9c4d2;
    --box: #2a3b50; --ground: #343b44; --good: #5cc79a; --bad: #f0935f; --hint: #a9b6c6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
header p { margin: 0 0 .6rem; color: var(--faint); }
header .verdict { display: inline-block; padding: .25rem .7rem; border-radius: .4rem; border: 1px solid currentColor;
  font-weight: 600; }
.verdict.ok, .level.ok { color: var(--good); } .verdict.warn, .level.warn { color: var(--bad); }
.level { font-weight: 600; } .level.note { color: var(--hint); }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .6rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.player { height: min(34rem, 80vh); border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.player > div { height: 100%; }
.wide { margin-top: 1rem; } .wide figure { overflow-x: auto; }
.wide svg { min-width: var(--least); max-height: none; }
figcaption { color: var(--faint); font-size: .85rem; text-align: center; }
svg text { fill: var(--ink); }
svg, img { display: block; width: 100%; object-fit: contain; height: auto; max-height: 34rem; font-family: inherit; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .7rem .38rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; } td.number, th.number { text-align: right; white-space: nowrap; }
details { margin: .8rem 0; } summary { cursor: pointer; font-weight: 600; }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .85rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 640px) {
  .stacked thead, .stacked td:nth-child(4) { display: none; }
  .stacked tr, .stacked td { display: block; text-align: left; border: 0; padding: 0; }
  .stacked tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .stacked td:nth-child(-n+3) { display: inline-block; margin-right: .8rem; } }
@media print { details > * { display: block; } figure { break-inside: avoid; } }
"""
