"""All checks of a run, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError
from catena.simulation.results.audit.closed import closure, quaternions
from catena.simulation.results.audit.deformation import deformation
from catena.simulation.results.audit.energy import energy
from catena.simulation.results.audit.joints import actuators, limits
from catena.simulation.results.audit.lines import Audit, Line
from catena.simulation.results.audit.momentum import momentum
from catena.simulation.results.audit.velocities import velocities
from catena.simulation.results.audit.work import work

if TYPE_CHECKING:
    from catena.simulation.results.segment import Trajectory


def audit(run: Trajectory) -> Audit:
    """Check a run: energy against work, work against power, positions against velocities, momentum where nothing
    outside acts, loops, quaternions, limits, actuators. What cannot be checked is said in a line of its own."""
    lines: list[Line] = []
    for name, check in (
        ("end", _end), ("energy", energy), ("work", work), ("velocities", velocities), ("momentum", momentum),
        ("loops", closure), ("quaternions", quaternions), ("limits", limits), ("actuators", actuators),
        ("deformation", deformation),
    ):  # fmt: skip
        try:
            lines += check(run)
        except (CatenaError, np.linalg.LinAlgError) as error:
            text = f"The {name} of this run could not be checked: {error}"
            lines.append(Line(name, np.nan, np.inf, "", "note", text))
    return Audit(run.system.mechanism.name, tuple(lines))


def _end(run: Trajectory) -> list[Line]:
    if not run.ended:
        return []
    reason = run.ended[0].upper() + run.ended[1:].rstrip(".")
    return [
        Line(
            "end",
            float(run.t[-1]),
            np.inf,
            "s",
            "note",
            f"The run stopped at t = {run.t[-1]:.6g} s. {reason}.",
        )
    ]
