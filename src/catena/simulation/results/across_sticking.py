"""Values between two samples where dry friction begins to stick, or a joint turns round or breaks loose.

Accelerations jump on the way there, at a time that samples do not tell, so no polynomial belongs to it. The motion is
followed once more from the sample before, under the forces that a segment knows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import CatenaError

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# Intervals below this part of a second, or of the time, are steps that end where friction begins to stick.
SHORT = 1e-9


def follow_across(part: Segment, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Write the states at `times` (n,) between samples of which friction changes on the way into q (..., n, nq) and v
    (..., n, nv), for a segment without contacts, driven joints and forces at loop joints."""
    senses = np.concatenate([np.sign(part.velocity(joint)) for joint in part.stop_forces], axis=-1)
    turned = (senses[..., 1:, :] != senses[..., :-1, :]).any(axis=-1)
    first = np.clip(np.searchsorted(part.t, times, side="right") - 1, 0, len(part.t) - 2)
    for state in np.ndindex(part.batch):
        own = part.state(*state) if state else part
        for k in np.unique(first[turned[state][first]]):
            here = np.flatnonzero((first == k) & (times > part.t[k]) & (times < part.t[k + 1]))
            h = float(part.t[k + 1] - part.t[k])
            if len(here) and h > SHORT * max(1.0, abs(float(part.t[k]))):
                with suppress(CatenaError):
                    q[(*state, here)], v[(*state, here)] = _followed(
                        own, int(k), np.unique(times[here]), times[here]
                    )


def _followed(part: Segment, k: int, asked: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q (n, nq) and v (n, nv) of one motion at times (n,) behind its sample k, from those `asked`, in order."""
    from catena.simulation.simulate import simulate

    end = float(part.t[k + 1])
    acting: dict[str, Any] = {}
    if part.tau[k : k + 2].any():
        acting["control"] = lambda t, q, v: part.between.forces_at(np.array([min(t, end)]))[0]
        if part.held:
            # From this sample to the next they stay what they are.
            acting["control"] = lambda t, q, v: part.tau[k]
    around = slice(max(k - 1, 0), k + 3)
    near_by = replace(part, t=part.t[around], wrenches={f: w[around] for f, w in part.wrenches.items()})
    if part.wrenches:
        acting["forces"] = {
            f: lambda t, f=f: near_by.between.wrenches_at(np.array([min(t, end)]))[f][0]
            for f in part.wrenches
        }
    run = simulate(
        part.system, part.q[k], part.v[k], end - float(part.t[k]), start=float(part.t[k]), progress=False,
        samples=[part.t[k], *asked, end], check=False, near={j: x[k] for j, x in part.loop_positions.items()}, **acting,
    )  # fmt: skip
    at = 1 + np.searchsorted(asked, times)
    return run.q[at], run.v[at]
