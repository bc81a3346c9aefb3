"""Whether flexible bodies stay in the range that modes hold in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.mechanism import MODES
from catena.simulation.results.audit.lines import AuditLine, percent, worst

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# A deflection up to this part of a body's length is small: modes are good to about one part in a hundred there.
SMALL_RANGE = 0.13


def deformation(run: Segment) -> list[AuditLine]:
    """Return how far flexible bodies are deformed, as a part of their length."""
    lines = list[AuditLine]()
    if run.system.plan.owner is None:
        return lines
    for name, body in run.system.mechanism.bodies.items():
        if body.flexible is None or name + MODES not in run.system.joints:
            continue
        value, when = worst(run, body.flexible.deflection(run[name + MODES]))
        text = f"Body {name!r} deflects by up to {percent(value)} of its length."
        if value <= SMALL_RANGE:
            lines.append(AuditLine(f"deformation of {name}", value, SMALL_RANGE, "", "ok", text))
            continue
        text = (
            f"Body {name!r} deflects by {percent(value)} of its length, most at {when}, which is beyond the small "
            f"range (up to {percent(SMALL_RANGE)}) that modes hold in: split it into segments with ct.segmented, or "
            f"into several flexible bodies."
        )
        lines.append(AuditLine(f"deformation of {name}", value, SMALL_RANGE, "", "warn", text))
    return lines
