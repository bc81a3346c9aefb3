"""All checks of a run as one report: those of its segments, of which the worst is told, and of what is between them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError
from catena.kernels.evaluation import Evaluator
from catena.simulation.results.audit.changes import change_lines
from catena.simulation.results.audit.consistency import (
    are_loops_fine,
    are_quaternions_fine,
    are_velocities_fine,
    closure,
    quaternions,
    velocities,
)
from catena.simulation.results.audit.deformation import deformation
from catena.simulation.results.audit.energy import energy, is_energy_fine, work
from catena.simulation.results.audit.joints import actuators, limited, limits
from catena.simulation.results.audit.lines import Audit, AuditLine
from catena.simulation.results.audit.momentum import flies, is_momentum_fine, momentum
from catena.simulation.results.batch import StateByState

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment
    from catena.simulation.results.trajectory import Trajectory

CHECKS = {
    "energy": energy, "work": work, "velocities": velocities, "momentum": momentum, "loops": closure,
    "quaternions": quaternions, "limits": limits, "actuators": actuators, "deformation": deformation,
}  # fmt: skip
# Of some of these a short look tells that nothing is off.
SHORT = {
    "energy": is_energy_fine, "velocities": are_velocities_fine, "momentum": is_momentum_fine, "loops": are_loops_fine,
    "quaternions": are_quaternions_fine,
}  # fmt: skip
_RANK = {"ok": 0, "note": 1, "warn": 2}


def audit(run: Trajectory) -> Audit:
    """Check a run: of each segment energy against work, work against power, positions against velocities, momentum
    where nothing outside acts, loops, quaternions, limits, actuators; and the changes between segments. What cannot be
    checked is said in a line of its own."""
    if isinstance(run, StateByState):
        states = [audit(one) for one in run.states]
        names = [_state(run.batch, k) for k in range(len(states))]
        over = f"{len(states)} states"
        return Audit(states[0].mechanism, _worst(states, names), tuple(states), over)
    parts = [audit_of_segment(part) for part in run.segments]
    if len(parts) == 1:
        lines, over = parts[0].lines, ""
    else:
        lines, over = _worst(parts, [f"Segment {k}" for k in range(len(parts))]), f"{len(parts)} segments"
    return Audit(parts[0].mechanism, (*_end(run), *lines, *change_lines(run)), tuple(parts), over)


def audit_of_segment(part: Segment) -> Audit:
    """Check a motion of one structure."""
    lines = [line for name in CHECKS for line in _checked(name, part)]
    return Audit(part.system.mechanism.name, tuple(lines))


def warn_of(part: Segment) -> None:
    """Warn of what is off in a motion of one structure. What a short look finds in order is not asked in full."""
    lines = list[AuditLine]()
    for name in part.system.mechanics.evaluator.once(_asked):
        with suppress(CatenaError, np.linalg.LinAlgError):
            if name in SHORT and SHORT[name](part):
                continue
        lines += _checked(name, part)
    if lines:
        Audit(part.system.mechanism.name, tuple(lines)).warn()


def _asked(evaluator: Evaluator) -> tuple[str, ...]:
    """Return the checks that may have something to say of motions of a mechanism."""
    plan = evaluator.plan
    idle = {
        "momentum": not flies(plan), "loops": not plan.total_constraints, "quaternions": not plan.quaternions,
        "limits": not limited(evaluator), "deformation": plan.owner is None,
    }  # fmt: skip
    return tuple(name for name in CHECKS if not idle.get(name, False))


def _checked(name: str, part: Segment) -> list[AuditLine]:
    """Return what a check finds, or that nothing could be found."""
    try:
        return CHECKS[name](part)
    except (CatenaError, np.linalg.LinAlgError) as error:
        text = f"The {name} of this run could not be checked: {error}"
        return [AuditLine(name, np.nan, np.inf, "", "note", text)]


def _end(run: Trajectory) -> list[AuditLine]:
    if not run.ended:
        return []
    reason = run.ended[0].upper() + run.ended[1:].rstrip(".")
    text = f"The run stopped at t = {run.t[-1]:.6g} s. {reason}."
    return [AuditLine("end", float(run.t[-1]), np.inf, "s", "note", text)]


def _worst(audits: Sequence[Audit], names: Sequence[str]) -> tuple[AuditLine, ...]:
    """Return of each thing that was checked the line of the part in which it is worst, and which part that is."""
    found: dict[str, tuple[AuditLine, str]] = {}
    for part, name in zip(audits, names, strict=True):
        for line in part:
            if line.name not in found or _badness(line) > _badness(found[line.name][0]):
                found[line.name] = line, name
    return tuple(
        AuditLine(line.name, line.value, line.bound, line.unit, line.level, f"{name}: {line.text}")
        for line, name in found.values()
    )


def _badness(line: AuditLine) -> tuple[int, float]:
    """Return how bad a line is, to be compared with others of its name."""
    part = line.value / line.bound if line.bound > 0.0 else line.value
    return _RANK[line.level], part if np.isfinite(part) else 0.0


def _state(batch: tuple[int, ...], number: int) -> str:
    index = tuple(int(k) for k in np.unravel_index(number, batch))
    return f"State {index[0] if len(index) == 1 else index}"
