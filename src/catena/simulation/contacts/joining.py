"""Runs of one system that follow each other as one run, and what there is of a run up to a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from catena.simulation.results.segment import Segment


def joined(runs: Sequence[Segment]) -> Segment:
    """Return runs of one system, each beginning with the sample that the one before it ends with, as one. Forces that
    hold from a sample on are those of the later run there."""
    if len(runs) == 1:
        return runs[0]
    first = runs[0]

    def rows(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
        later = (np.take(x, range(1, x.shape[axis]), axis=axis) for x in parts[1:])
        return np.concatenate([parts[0], *later], axis=axis)

    def forces(parts: Sequence[np.ndarray]) -> np.ndarray:
        if not first.held:
            return rows(parts, -2)
        return np.concatenate([*(x[..., :-1, :] for x in parts[:-1]), parts[-1]], axis=-2)

    work = {}
    for name in first.work:
        total, parts = 0.0, []
        for run in runs:
            parts.append(run.work[name] + total)
            total = float(parts[-1][-1])
        work[name] = rows(parts, -1)
    return replace(
        first,
        t=rows([run.t for run in runs], 0),
        q=rows([run.q for run in runs], -2),
        v=rows([run.v for run in runs], -2),
        tau=forces([run.tau for run in runs]),
        steps=sum(run.steps for run in runs),
        work=work,
        wrenches={name: forces([run.wrenches[name] for run in runs]) for name in first.wrenches},
        driven={name: rows([run.driven[name] for run in runs], -2) for name in first.driven},
        loop_forces={
            name: forces([run.force(name) for run in runs])
            for name in dict.fromkeys(name for run in runs for name in run.loop_forces)
        },
        stop_forces={name: forces([run.stop_forces[name] for run in runs]) for name in first.stop_forces},
        loop_positions={
            name: rows([run.loop_positions[name] for run in runs], -2) for name in first.loop_positions
        },
        events=tuple(event for run in runs for event in run.events),
        ended=runs[-1].ended,
    )


def cut(run: Segment, t: float) -> Segment:
    """Return a run up to a time, with the events that it has met by then."""
    events = tuple(event for event in run.events if event.t <= t)
    if t <= run.t[0]:
        done = {name: x[..., :1] for name, x in run.work.items()}
        wrenches, driven = ({n: x[..., :1, :] for n, x in y.items()} for y in (run.wrenches, run.driven))
        besides = run.besides.at(slice(1))
        return replace(
            run, t=run.t[:1], q=run.q[:1], v=run.v[:1], tau=run.tau[:1], work=done, wrenches=wrenches, driven=driven,
            events=events, ended="", loop_forces=besides.motors, stop_forces=besides.stops,
            loop_positions=besides.near,
        )  # fmt: skip
    if t < run.t[-1]:
        some = run.resample(np.append(run.t[run.t < t], t))
        return replace(some, events=events, ended="", held=run.held)
    return run
