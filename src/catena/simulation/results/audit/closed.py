"""Whether loops are closed, and quaternions have length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.kinematics.loops.scales import scales_of
from catena.simulation.results.audit.lines import AuditLine, worst

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below: loops [rad or sizes of the mechanism; per second for a speed of 1
# or less, and for more a part of it], and lengths of quaternions.
CLOSURE, CLOSURE_RATE, QUATERNION = 1e-8, 1e-6, 1e-9


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
    position, rate = (np.abs(scales.errors(x)).max(axis=-1) for x in run.system.closure(run.q, run.v))
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
