"""Pictures of a study: outcomes over numbers, histograms, what matters most, and parallel coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import StateError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from catena.studies.study import Study

# More points than this are drawn by a part of them.
MOST_POINTS, MOST_LINES = 20_000, 500


def figure(width: float = 5.0, height: float = 3.6) -> Figure:
    """Return an empty figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure as Drawn
    except ImportError:
        raise StateError("Pictures need matplotlib: pip install 'catena-dynamics[plot]'.") from None
    return Drawn(figsize=(width, height), layout="constrained")


def single(study: Study, name: str) -> np.ndarray:
    """Return one number for each variant."""
    x = study[name]
    if x.ndim != 1 or x.dtype == object:
        raise StateError(f"{name!r} is not one number for each variant; name another.")
    return np.asarray(x, dtype=np.float64)


def _some(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def scatter(study: Study, x: str, y: str, colour: str | None = None) -> Figure:
    """Return a picture of one number over another."""
    made = figure()
    axes = made.add_subplot()
    some = _some(len(study), MOST_POINTS)
    shade: Any = None if colour is None else single(study, colour)[some]
    drawn = axes.scatter(single(study, x)[some], single(study, y)[some], s=8, c=shade)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if colour is not None:
        made.colorbar(drawn, label=colour)
    return made


def histogram(study: Study, name: str) -> Figure:
    """Return how often values of an outcome occur."""
    made = figure(4.0, 2.8)
    axes = made.add_subplot()
    values = single(study, name)
    axes.hist(values[np.isfinite(values)], bins=40)
    axes.set_xlabel(name)
    axes.set_ylabel("variants")
    return made


def rank_correlations(study: Study, outcome: str) -> dict[str, float]:
    """Return the rank correlation of an outcome with each number that is varied, the strongest first."""
    from scipy.stats import rankdata

    y = single(study, outcome)
    good = np.isfinite(y)
    found = {}
    for name, x in study.design.numbers.items():
        if x.ndim != 1 or good.sum() < 3 or np.ptp(x[good]) == 0.0 or np.ptp(y[good]) == 0.0:
            continue
        found[name] = float(np.corrcoef(rankdata(x[good]), rankdata(y[good]))[0, 1])
    return dict(sorted(found.items(), key=lambda pair: -abs(pair[1])))


def tornado(study: Study, outcome: str) -> Figure:
    """Return how strongly an outcome goes with each number that is varied: rank correlations, the strongest on top."""
    found = rank_correlations(study, outcome)
    made = figure(4.5, 0.8 + 0.35 * max(1, len(found)))
    axes = made.add_subplot()
    axes.barh(list(found)[::-1], list(found.values())[::-1])
    axes.set_xlim(-1.0, 1.0)
    axes.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    axes.set_xlabel(f"rank correlation with {outcome}")
    return made


def parallel(study: Study, outcome: str) -> Figure:
    """Return every variant as a line over all numbers that are varied, coloured by an outcome."""
    names = [name for name, x in study.design.numbers.items() if x.ndim == 1]
    made = figure(6.5, 3.2)
    axes = made.add_subplot()
    y = single(study, outcome)
    some = _some(len(study), MOST_LINES)
    some = some[np.isfinite(y[some])]
    columns = np.array([study.design.numbers[name][some] for name in names] + [y[some]])
    low, span = columns.min(axis=1, keepdims=True), np.ptp(columns, axis=1, keepdims=True)
    scaled = (columns - low) / np.where(span > 0.0, span, 1.0)
    from matplotlib import colormaps

    for k in range(len(some)):
        axes.plot(scaled[:, k], color=colormaps["viridis"](scaled[-1, k]), alpha=0.4, linewidth=0.8)
    axes.set_xticks(range(len(names) + 1), [*names, outcome], rotation=20)
    axes.set_yticks([0, 1], ["least", "most"])
    return made
