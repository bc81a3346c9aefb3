"""Whether the states of a run are those of one motion: loops are closed, quaternions have length 1, and positions move
as velocities say."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from catena.joints import JointKind, described
from catena.kinematics.loops.scales import scales_of
from catena.simulation.results.audit.lines import COARSE, AuditLine, Level, percent, worst
from catena.simulation.stepping.faults import joint_of
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below: loops [rad or sizes of the mechanism; per second for a speed of 1
# or less, and for more a part of it], and lengths of quaternions.
CLOSURE, CLOSURE_RATE, QUATERNION = 1e-8, 1e-6, 1e-9
# Positions may move by so much otherwise than velocities say, measured by this part at least of the largest motion from
# sample to sample; what moves less than STILL [rad or sizes] stands still.
VELOCITY, PART, STILL = 0.2, 0.05, 1e-7
# Intervals in which accelerations change positions by more than this part say nothing.
BENT = 0.1


def closure(run: Segment) -> list[AuditLine]:
    """Return how far loops are open, and how fast they move apart."""
    if not run.system.mechanics.constrained:
        return []
    position, rate, speed = _openings(run)
    lines = []
    for name, what, x, bound, unit in (
        ("loops", "are open by", position, CLOSURE, "rad or sizes"),
        ("loop velocities", "move apart by", rate, CLOSURE_RATE * speed, "rad/s or sizes/s"),
    ):
        value, where = worst(run, x)
        if value <= bound:
            lines.append(
                AuditLine(name, value, bound, unit, "ok", f"The loops {what} at most {value:.2g} {unit}.")
            )
        else:
            text = (
                f"The loops {what} {value:.3g} {unit} at {where}. With drift='projection' they stay closed."
            )
            lines.append(AuditLine(name, value, bound, unit, "warn", text))
    return lines


def are_loops_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of: loops are closed, and stay so."""
    if not run.system.mechanics.constrained:
        return True
    position, rate, speed = _openings(run)
    return bool(position.max() <= CLOSURE and rate.max() <= CLOSURE_RATE * speed)


def _openings(run: Segment) -> tuple[np.ndarray, np.ndarray, float]:
    """Return how far loops are open and how fast they move apart, each (..., samples), and how fast joints move, 1 at
    least."""
    scales = scales_of(run.system.plan)
    position, rate = map(scales.largest, run.system.closure(run.q, run.v))
    return position, rate, float(np.max(np.abs(run.v / scales.units), initial=1.0))


def quaternions(run: Segment) -> list[AuditLine]:
    """Return how far quaternions are off length 1."""
    if not run.system.plan.quaternions:
        return []
    value, where = worst(run, np.max(_stretched(run), axis=0))
    if value <= QUATERNION:
        text = f"Quaternions have length 1 to {value:.2g}."
        return [AuditLine("quaternions", value, QUATERNION, "", "ok", text)]
    text = (
        f"A quaternion is off length 1 by {value:.3g} at {where}. Catena's own steps keep it; if these states come "
        f"from elsewhere, divide by the length."
    )
    return [AuditLine("quaternions", value, QUATERNION, "", "warn", text)]


def are_quaternions_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of: quaternions have length 1."""
    return all((x <= QUATERNION).all() for x in _stretched(run))


def _stretched(run: Segment) -> list[np.ndarray]:
    """Return how far the length of each quaternion is off 1, (..., samples)."""
    each = (run.q[..., k : k + 4] for _, k in run.system.plan.quaternions)
    return [np.abs(np.sqrt((x * x).sum(axis=-1)) - 1.0) for x in each]


def velocities(run: Segment) -> list[AuditLine]:
    """Return whether positions move as velocities say. Between two samples they move by h (v0 + v1) / 2 + h^2 (a0 -
    a1) / 12 up to the fifth power of h; intervals in which the second term is not small say nothing."""
    if _says_nothing(run):
        return []
    h = np.diff(run.t)[:, None]
    moved, mean, size, least = _motions(run, h)
    start, end = run.between.end_accelerations
    bent = h * h * (start - end) / 12.0
    off = np.abs(moved - mean - bent)
    turned = np.zeros_like(off, dtype=bool)
    # Steps in which nothing turns by a radian need not be looked through joint by joint.
    for i in range(1, run.system.plan.n) if np.abs(mean).max(initial=0.0) > 1.0 else ():
        kind, first = run.system.plan.kind[i], int(run.system.plan.v_start[i])
        if kind is not None and kind.turning:
            own = slice(first, first + kind.nv)
            turned[..., own] = np.max(np.abs(mean[..., own]), axis=-1, keepdims=True) > 1.0
    is_judged = (np.abs(bent) < BENT * (size + least)) & ~turned & ~run.between.jumps[..., None]
    part = np.where(is_judged, off / (size + least), 0.0)
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


def are_velocities_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of, without asking for accelerations: where these count, they change
    positions by less than the part `BENT`."""
    if _says_nothing(run):
        return True
    moved, mean, size, least = _motions(run, (run.t[1:] - run.t[:-1])[:, None])
    off, allowed = np.abs(moved - mean), (VELOCITY - BENT) * (size + least)
    return np.count_nonzero(off <= allowed) == off.size


def _says_nothing(run: Segment) -> bool:
    # Of a batch that stopped early some states rest at their end with the velocity they came with.
    return len(run.t) < 2 or bool(run.ended and run.batch) or run.lands


def _motions(run: Segment, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return how joints move over intervals of h (samples - 1, 1) seconds, and how by the mean of their velocities,
    the size of that, each (..., samples - 1, nv), and what is little."""
    before, after = run.v[..., :-1, :], run.v[..., 1:, :]
    q0, q1 = run.q[..., :-1, :], run.q[..., 1:, :]
    moved = q1 - q0 if _has_plain_positions(run.system.plan) else run.system.difference(q0, q1)
    half = 0.5 * h
    size = np.maximum(np.abs(moved), half * (np.abs(before) + np.abs(after)))
    # A joint that hardly moves, and a start from rest, are measured by the rest of the motion, and by what is nothing:
    # in the first step of a method of first order nothing moves at all.
    most = size.max(axis=(-1, -2), keepdims=True) if run.batch else size.max()
    least = STILL * scales_of(run.system.plan).units + PART * most
    return moved, half * (before + after), size, least


@lru_cache(maxsize=64)
def _has_plain_positions(plan: Plan) -> bool:
    """Return whether all joints move by the difference of their coordinates."""
    kinds = (described(kind) for kind in plan.kind)
    return all(kind is None or type(kind).difference is JointKind.difference for kind in kinds)
