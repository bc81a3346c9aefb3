"""Whether the works that a run counted are the integrals of its powers, where joints are driven.

A prescribed motion follows its course whatever acts. What a step overlooks is missing in the work of the drive as it is
in that of the force, and the energy does not show it. Powers at samples do, where there are more of these than steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.simulation.results.audit.energy_balance import ESTIMATED_ENERGY, balance_of_segment
from catena.simulation.results.audit.lines import AuditLine, percent, worst

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# So many samples at least say something.
FEW = 9
# Integrals over all samples are trusted to so many times their difference to those over every second.
TRUST = 3.0
# The drives' own work is what the others leave over.
COMPARED = ("actuators", "friction", "wrenches")


def work(run: Segment) -> list[AuditLine]:
    """Return how far the works differ from the integrals of the powers over the samples, beyond what these leave
    open. Where there are more steps than samples, it is the steps that have seen more."""
    if not run.driven or not run.work or len(run.t) < max(FEW, run.steps):
        return []
    moved = balance_of_segment(run).moved
    found = []
    for name in COMPARED:
        power, t = run.power[name], run.t
        fine, coarse = _integral(t, power)[..., ::2], _integral(t[::2], power[..., ::2])
        moved = moved + np.max(np.abs(fine), axis=-1)
        missed = np.abs(run.work[name][..., ::2] - fine) - TRUST * np.abs(fine - coarse)
        found.append((name, np.repeat(np.maximum(missed, 0.0), 2, axis=-1)[..., : len(t)]))
    lines = []
    for name, missed in found:
        value, where = worst(run, missed / np.maximum(moved, 1e-300)[..., None])
        if value > ESTIMATED_ENERGY:
            text = (
                f"The work of {name} differs from the integral of its power over the samples by {percent(value)} of "
                f"the {float(np.max(moved)):.3g} J that were moved about, most at {where}: the steps are too large for "
                f"what acts while joints are driven. Take a smaller step or rtol, or an adaptive integrator."
            )
            lines.append(AuditLine("work", value, ESTIMATED_ENERGY, "", "warn", text))
    return lines


def _integral(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the integral of x (..., n) over t (n,) from its start, by trapezoids."""
    found = np.zeros(x.shape)
    np.cumsum(0.5 * (x[..., 1:] + x[..., :-1]) * np.diff(t), axis=-1, out=found[..., 1:])
    return found
