"""Whether the energy changes by the work done and nothing else, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.errors import LoopError, StateError
from catena.simulation.results.audit.energy_balance import (
    ENERGY,
    ESTIMATED_ENERGY,
    Balance,
    balance_of_segment,
    exchanges_energy,
    least_energy,
)
from catena.simulation.results.audit.lines import COARSE, AuditLine, listed, percent, worst

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# Steps of fixed size that contacts land in are of second order, and are taken where a percent is good enough.
LANDING_ENERGY = 1e-2
# So many samples are quicker one by one than together.
FEW = 4


def energy(run: Segment) -> list[AuditLine]:
    """Return how much the energy changes beyond the work that is known."""
    try:
        balance = balance_of_segment(run)
    except (LoopError, StateError) as error:
        text = (
            f"The samples are too far apart to tell what work was done between them, so the energy says nothing: "
            f"{error}"
        )
        return [AuditLine("energy", np.nan, np.inf, "", "note", text)]
    bound = _bound(run, balance)
    value, where = worst(run, np.abs(balance.rest) / np.maximum(balance.moved, 1e-300)[..., None])
    size = f"{percent(value)} of the {float(np.max(balance.moved)):.3g} J that were moved about"
    known = f" the work of {listed(list(balance.works))}" if balance.works else ""
    if not balance.is_estimate:
        beyond = f" beyond{known}" if known else ""
        if value <= bound:
            text = f"The energy changes by at most {size}{beyond}: the motion is accurate in this respect."
            return [AuditLine("energy", value, bound, "", "ok", text)]
        text = (
            f"The energy changes by {size}{beyond}, most at {where}, and should not change: the steps are too large "
            f"for this motion. Take a smaller step or rtol, or an integrator of higher order."
        )
        return [AuditLine("energy", value, bound, "", "warn", text)]
    text = (
        f"The energy changes by at most {size} beyond{known}, which was not counted during the run but estimated from "
        f"the samples"
    )
    if value <= bound:
        return [
            AuditLine(
                "energy", value, bound, "", "ok", f"{text}: as far as that tells, the motion is accurate."
            )
        ]
    if COARSE * len(run.t) < run.steps:
        text += f"; most at {where}. With {run.steps} steps between {len(run.t)} samples that says little."
        return [AuditLine("energy", value, bound, "", "note", text)]
    text += (
        f"; most at {where}. Either the samples are too far apart for forces that vary between them, or the steps are "
        f"too large for this motion: take more samples, and if this stays, a smaller step or rtol."
    )
    return [AuditLine("energy", value, bound, "", "warn", text)]


def is_energy_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of, or said: the energy changes by less than its bound."""
    if len(run.t) <= FEW and not (run.batch or run.work or run.lands) and not exchanges_energy(run):
        T, V = (x.tolist() for x in run.energies)
        each, least = list(zip(T, V, strict=True)), least_energy(run)
        moved = max(t + abs(x - V[0]) for t, x in each) + least
        return all(abs(t + x - (T[0] + V[0])) <= ENERGY * moved for t, x in each)
    balance = balance_of_segment(run)
    return bool((np.abs(balance.rest).max(axis=-1) <= _bound(run, balance) * balance.moved).all())


def _bound(run: Segment, balance: Balance) -> float:
    return LANDING_ENERGY if run.lands else ESTIMATED_ENERGY if balance.is_estimate else ENERGY
