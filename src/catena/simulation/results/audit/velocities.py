"""Whether positions move as velocities say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.kinematics.loops.scales import scales_of
from catena.simulation.results.audit.lines import COARSE, AuditLine, Level, percent, worst
from catena.simulation.stepping.faults import joint_of

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# Positions may move by so much otherwise than velocities say, measured by this part at least of the largest motion from
# sample to sample; what moves less than STILL [rad or sizes] stands still.
VELOCITY, PART, STILL = 0.2, 0.05, 1e-7


def velocities(run: Segment) -> list[AuditLine]:
    """Return whether positions move as velocities say. Between two samples they move by h (v0 + v1) / 2 + h^2 (a0 -
    a1) / 12 up to the fifth power of h; intervals in which the second term is not small say nothing."""
    # Of a batch that stopped early some states rest at their end with the velocity they came with.
    if len(run.t) < 2 or (run.ended and run.batch) or run.lands:
        return []
    h = np.diff(run.t)[:, None]
    moved = run.system.difference(run.q[..., :-1, :], run.q[..., 1:, :])
    start, end = run._end_accelerations
    mean = 0.5 * h * (run.v[..., :-1, :] + run.v[..., 1:, :])
    bent = h * h * (start - end) / 12.0
    off = np.abs(moved - mean - bent)
    size = np.maximum(np.abs(moved), 0.5 * h * (np.abs(run.v[..., :-1, :]) + np.abs(run.v[..., 1:, :])))
    # A joint that hardly moves, and a start from rest, are measured by the rest of the motion, and by what is nothing:
    # in the first step of a method of first order nothing moves at all.
    least = STILL * scales_of(run.system.plan).units + PART * np.max(size, axis=(-1, -2), keepdims=True)
    turned = np.zeros_like(off, dtype=bool)
    # Steps in which nothing turns by a radian need not be looked through joint by joint.
    for i in range(1, run.system.plan.n) if np.abs(mean).max(initial=0.0) > 1.0 else ():
        kind, first = run.system.plan.kind[i], int(run.system.plan.v_start[i])
        if kind is not None and kind.turning:
            own = slice(first, first + kind.nv)
            turned[..., own] = np.max(np.abs(mean[..., own]), axis=-1, keepdims=True) > 1.0
    told = (np.abs(bent) < 0.1 * (size + least)) & ~turned & ~run._jumps[..., None]
    part = np.where(told, off / (size + least), 0.0)
    value, where = worst(run, np.concatenate([np.zeros((*run.batch, 1)), np.max(part, axis=-1)], axis=-1))
    if value <= VELOCITY:
        text = f"Positions move as velocities say, to {percent(value)} from sample to sample."
        return [AuditLine("velocities", value, VELOCITY, "", "ok", text)]
    component = np.unravel_index(int(np.argmax(part)), part.shape)[-1]
    joint = joint_of(run.system, int(component))
    text = (
        f"Joint {joint!r} moves otherwise than its velocity says, by {percent(value)} just before {where}: the states "
        f"do not belong to one motion, or the samples are too far apart for it. Take more samples, and for states from "
        f"elsewhere the velocities of their motion."
    )
    # With many steps between two samples these do not show what happened there.
    level: Level = "note" if COARSE * len(run.t) < run.steps else "warn"
    return [AuditLine("velocities", value, VELOCITY, "", level, text)]
