"""What is kept of a run whose contacts or structure change: numbers of all its segments together.

The steps of such a run are there until it ends. Then the numbers follow from them as they do elsewhere (`tally`),
segment by segment, and what was not asked for is dropped. Joints that are locked keep their values. While a joint that
a signal names is not there, the signal is not: extremes, integrals and crossings are those of the rest, and samples are
NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormulaError, UnknownNameError
from catena.simulation.keeping.choice import Keep, Signal
from catena.simulation.keeping.tally import Tally
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory

# Steps of such runs are those of an adaptive method of fifth order: signals are followed within them by two parabolas.
PARTS = 2


def keeping(run: Trajectory, keep: Keep, parameters: Mapping[str, float], samples: Any) -> Trajectory:
    """Return the start and the end of a run of one state that has all its steps, with what is kept of it; `samples` are
    those at which signals were asked for."""
    found: dict[str, np.ndarray] = {}
    seen = run if samples is None or not keep.sampled else run.resample(samples)
    for one in keep.signals:
        _require_known(one, run, parameters)
        parts = [_of_segment(one, part, parameters) for part in (run if one.tally else seen).segments]
        found[one.name] = _together(one.tally, parts, run) if one.tally else np.concatenate(parts)
    ends = run.resample([run.t[0], run.t[-1]])
    first, *rest = ends.segments
    return Trajectory(
        [replace(first, kept=found), *rest], run.transitions, run.note, run.failed, ends.given_before
    )


def _require_known(one: Signal, run: Trajectory, parameters: Mapping[str, float]) -> None:
    """Raise an error where a signal names what no segment has."""
    unknown: CatenaError | None = None
    for part in run.segments:
        try:
            one.on(part.system, parameters)
        except (FormulaError, UnknownNameError) as error:
            unknown = unknown or error
        else:
            return
    if unknown is not None:
        raise unknown


def _of_segment(one: Signal, part: Segment, parameters: Mapping[str, float]) -> np.ndarray:
    """The values of a signal at the samples of a segment, or what a tally needs to know of them: an integral, a value
    at the end, a time, or an extreme and its time."""
    try:
        if not one.tally:
            return one.on(part.system, parameters)(part.t, part.q, part.v)
        tallies = (replace(one, tally=tally) for tally in _NEEDED[one.tally])
        tally = Tally(
            tuple(replace(each, name=each.tally) for each in tallies), part.system, parameters, part.t[:1], part.q[:1],
            part.v[:1], PARTS,
        )  # fmt: skip
    except (FormulaError, UnknownNameError):
        return np.full(len(part.t) if not one.tally else len(_NEEDED[one.tally]), np.nan)
    if len(part.t) > 1:
        who = np.zeros(len(part.t) - 1, dtype=np.int64)
        tally.add(who, part.t[1:], part.q[1:], part.v[1:], part.acceleration[:-1])
    tallied = tally.results()
    return np.array([tallied[name][0] for name in _NEEDED[one.tally]])


_NEEDED = {
    "last": ("last",), "min": ("min", "time_of_min"), "max": ("max", "time_of_max"), "mean": ("integral",),
    "integral": ("integral",), "time_of_min": ("min", "time_of_min"), "time_of_max": ("max", "time_of_max"),
    "crossing": ("crossing",),
}  # fmt: skip


def _together(tally: str, parts: list[np.ndarray], run: Trajectory) -> np.ndarray:
    """What follows for the whole run from its segments."""
    there = [(part, piece) for part, piece in zip(parts, run.segments, strict=True) if not np.isnan(part[0])]
    if not there:
        return np.array(np.nan)
    if tally == "last":
        return np.array(there[-1][0][0])
    if tally == "crossing":
        return np.array(there[0][0][0])
    if tally in ("mean", "integral"):
        total = sum(part[0] for part, _ in there)
        over = sum(piece.t[-1] - piece.t[0] for _, piece in there)
        return np.array(total if tally == "integral" or over == 0.0 else total / over)
    pick = min if tally.endswith("min") else max
    extreme = pick(part[0] for part, _ in there)
    if not tally.startswith("time_of"):
        return np.array(extreme)
    return np.array(next(part[1] for part, _ in there if part[0] == extreme))
