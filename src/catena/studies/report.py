"""One HTML page about a study."""

from __future__ import annotations

import base64
import html
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import FormatError
from catena.studies.pictures import histogram, parallel, rank_correlations, scatter, tornado

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from catena.studies.study import Study

STYLE = """:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --code: #f4f4f4 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
table { border-collapse: collapse } td, th { padding: .15rem .8rem; text-align: right;
  border-bottom: 1px solid var(--line) }
td:first-child, th:first-child { text-align: left } img { max-width: 49%; vertical-align: top }
code { background: var(--code) }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaef; --paper: #14181d; --line: #353e49; --code: #232a33 }
  img { background: #eef1f5; margin: 2px; max-width: 48% } }
@media (max-width: 40rem) { img { max-width: 100% } }"""
# So many outcomes have pictures, and so many failures are listed.
DRAWN, LISTED = 8, 20


def write_report(study: Study, path: str | os.PathLike[str]) -> None:
    """Write the page."""
    text = page(study)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{os.fspath(path)}: the report cannot be written ({error.strerror}).") from error


def page(study: Study) -> str:
    """Return the page as text."""
    name = study.job.scenario.mechanism.name
    outcomes = [
        n for n in [*study.job.outcomes, *(s.name for s in study.job.keep.signals)] if _is_number(study, n)
    ]
    parts = [f"<h1>{html.escape(name)}: {len(study)} variants</h1>", f"<p>{html.escape(repr(study))}</p>"]
    parts += ["<h2>Numbers</h2>", _table(study, [*study.design.numbers, *outcomes])]
    for outcome in [n for n in outcomes if np.isfinite(study[n]).any()][:DRAWN]:
        parts.append(f"<h2>{html.escape(outcome)}</h2>")
        strongest = list(rank_correlations(study, outcome))[:2]
        pictures = {
            f"how often values of {outcome} occur": histogram(study, outcome),
            f"what {outcome} goes with most": tornado(study, outcome),
            **{f"{outcome} over {x}": scatter(study, x, outcome) for x in strongest},
        }
        if len(strongest) == 2:
            x, y = strongest
            pictures[f"{outcome} over {x} and {y}"] = scatter(study, x, y, outcome)
        pictures[f"all numbers of each variant, coloured by {outcome}"] = parallel(study, outcome)
        parts += [_picture(one, words) for words, one in pictures.items()]
    failed = study.failed
    if failed:
        parts.append(f"<h2>{len(failed)} variants failed</h2><ul>")
        parts += [
            f"<li><code>study.run({k})</code>: {html.escape(words)}</li>"
            for k, words in list(failed.items())[:LISTED]
        ]
        parts.append("</ul>" + (f"<p>and {len(failed) - LISTED} more</p>" if len(failed) > LISTED else ""))
    title = html.escape(f"Study of {name}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _is_number(study: Study, name: str) -> bool:
    try:
        return study[name].ndim == 1
    except KeyError:
        return False


def _table(study: Study, names: list[str]) -> str:
    rows = []
    for name in names:
        x = study[name]
        if x.ndim != 1:
            continue
        good = x[np.isfinite(x)]
        numbers = [good.min(), np.median(good), good.mean(), good.max()] if len(good) else []
        cells = "".join(f"<td>{value:.6g}</td>" for value in numbers)
        rows.append(f"<tr><td>{html.escape(name)}</td><td>{len(good)}</td>{cells}</tr>")
    head = "".join(f"<th>{word}</th>" for word in ("", "variants", "least", "median", "mean", "most"))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _picture(made: Figure, words: str) -> str:
    """Return a picture without a background of its own, with words for those who do not see it."""
    stream = io.BytesIO()
    made.savefig(stream, format="png", dpi=110, transparent=True)
    data = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="{html.escape(words, quote=True)}" src="data:image/png;base64,{data}">'
