"""What an audit tells of the changes between segments: energy lost, impulses, and the momentum of what touches
nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.changing.transfer import energy_text
from catena.simulation.results.audit.lines import Audit, AuditLine, Level

if TYPE_CHECKING:
    from catena.simulation.results.trajectory import Trajectory

# A change of structure keeps the momentum of what touches nothing to this part of what is summed up in it.
MOMENTUM = 1e-9
# So many changes are told line by line; of more of them only those that warn, and how much they lost together.
FEW = 8


def audit_of_changes(run: Trajectory) -> Audit:
    """Check what happened between the segments of a run, and nothing else."""
    return Audit(run.all_segments[0].system.mechanism.name, change_lines(run))


def change_lines(run: Trajectory) -> tuple[AuditLine, ...]:
    """Return what is told of the changes of a run: of each, where they are few."""
    lines = []
    for k, change in enumerate(run.transitions, 1):
        size = {name: float(np.linalg.norm(x[-3:])) for name, x in change.impulse.items()}
        hardest = max(size, key=lambda name: size[name], default="")
        impulse = (
            f", the largest impulse {size[hardest]:.4g} N s at {hardest!r}"
            if hardest and size[hardest]
            else ""
        )
        error = change.momentum_error
        momentum = f"; momentum of what touches nothing kept to {error:.1e}" if error == error else ""
        energy = energy_text(change.energy_loss, 4)
        text = f"{change.name} at t = {change.t:.6g} s: {energy}{impulse}{momentum}."
        level: Level = "warn" if error > MOMENTUM else "ok"
        if level == "warn":
            text += " It should be: let the event return the changed mechanism, and ct.transfer carry the state over."
        lines.append(AuditLine(f"change {k}", change.energy_loss, np.inf, "J", level, text))
    shown = [line for line in lines if len(lines) <= FEW or line.level != "ok"][:FEW]
    if len(shown) < len(lines):
        lost = sum(line.value for line in lines)
        rest = len(lines) - len(shown)
        who = f"{rest} more changes" if shown else f"{rest} changes"
        text = f"{who}; all together lose {lost:.4g} J. run.transitions tells each."
        shown.append(AuditLine("changes", lost, np.inf, "J", "ok", text))
    return tuple(shown)
